//! The settings that a settings file had when it was last applied.
//!
//! Operators change queues in the backoffice too. A restart or reload must not undo that during a sale, so the store keeps
//! the last applied settings of the file, and only entries that have changed in the file are written.

use std::sync::Arc;

use serde_json::{Map, Value};
use tracing::{debug, error, info, warn};
use vestibule_admin::{Via, audit_job_queues, audit_queue, audit_tenant};
use vestibule_core::fields::joined;
use vestibule_core::jobs::{JobQueueId, JobQueueSettings};
use vestibule_core::settings::{
    Document, FieldChange, KeptReason, Plan, QueueError, Settings, StoredSettings, Tenant, differences,
};
use vestibule_core::store::{SettingsStore, StoreError};
use vestibule_core::{Micros, QueueId};
use vestibule_records::{DocumentKind, DocumentOutcome, RecordStore};
use vestibule_runtime::JobQueuesWritten;

/// What a snapshot has of them.
const SAVED: [DocumentKind; 2] = [DocumentKind::FileQueues, DocumentKind::FileTenants];

/// The last applied settings of a settings file, kept in the store.
#[derive(Clone)]
pub(crate) struct LastAppliedSettings {
    records: Arc<dyn RecordStore>,
}

impl LastAppliedSettings {
    pub(crate) fn new(records: Arc<dyn RecordStore>) -> Self {
        Self { records }
    }

    /// Reads them. Entries that cannot be read are left out, so that the file replaces them.
    pub(crate) async fn read(&self) -> Result<Document, StoreError> {
        let queues = self.records.list_documents(DocumentKind::FileQueues).await?;
        let tenants = self.records.list_documents(DocumentKind::FileTenants).await?;
        let job_queues = self.records.list_documents(DocumentKind::FileJobQueues).await?;
        // Parsed before they are compared, so that queues of another version have the defaults of this one.
        let queue = |text: &str| Settings::from_stored(&serde_json::from_str::<Value>(text).ok()?).ok();
        let job_queue = |text: &str| JobQueueSettings::from_stored(&serde_json::from_str::<Value>(text).ok()?).ok();
        Ok(Document {
            queues: queues.iter().filter_map(|(_, record)| queue(&record.text)).collect(),
            tenants: tenants.iter().filter_map(|(_, record)| serde_json::from_str(&record.text).ok()).collect(),
            job_queues: job_queues.iter().filter_map(|(_, record)| job_queue(&record.text)).collect(),
        })
    }

    /// Those of queues and tenants as JSON, for a snapshot of a store that ends with the process. Job queues are in no snapshot, so the
    /// file creates them again.
    pub(crate) async fn saved(&self) -> Result<Value, StoreError> {
        let mut saved = Map::new();
        for kind in SAVED {
            let documents = self.records.list_documents(kind).await?.into_iter();
            let texts: Map<_, _> = documents.map(|(id, record)| (id, Value::String(record.text))).collect();
            saved.insert(kind.as_str().to_owned(), Value::Object(texts));
        }
        Ok(Value::Object(saved))
    }

    /// Restores what [`Self::saved`] returned.
    pub(crate) async fn restore(&self, saved: &Value) -> Result<(), StoreError> {
        for kind in SAVED {
            for (id, text) in saved[kind.as_str()].as_object().into_iter().flatten() {
                self.put(kind, id, text.as_str().unwrap_or_default()).await?;
            }
        }
        Ok(())
    }

    /// Writes the audit events of an applied plan. `before` is what the store had before the first attempt to apply it.
    /// Queues in `left` were not removed.
    pub(crate) async fn audit(
        &self,
        store: &dyn SettingsStore,
        before: &StoredSettings,
        plan: &Plan,
        left: &[QueueId],
    ) {
        for tenant in &plan.tenants_after {
            audit_tenant(&*self.records, Via::SettingsFile, before.tenant(&tenant.id), Some(tenant)).await;
        }
        for written in &plan.queues_after {
            let stored = before.queue(&written.id);
            if stored.is_some_and(|stored| differences(&stored.to_value(), &written.to_value()).is_empty()) {
                continue;
            }
            // With its new revision.
            let after = store.settings(&written.id).await.ok().flatten();
            audit_queue(&*self.records, Via::SettingsFile, stored, after.as_ref().or(Some(written))).await;
        }
        for id in plan.removed.iter().filter(|id| !left.contains(id)) {
            audit_queue(&*self.records, Via::SettingsFile, before.queue(id), None).await;
        }
    }

    /// Writes the audit events of job queues.
    pub(crate) async fn audit_job_queues(&self, plan: &Plan, written: &JobQueuesWritten) {
        audit_job_queues(&*self.records, Via::SettingsFile, &plan.job_queues, written).await;
    }

    /// The store's clock.
    pub(crate) async fn now(&self) -> Result<Micros, StoreError> {
        self.records.now().await
    }

    /// Saves the settings of an applied file, except those that the plan left out because events are locked: the next
    /// reload tries them again.
    pub(crate) async fn save(&self, file: &Document, plan: &Plan) -> Result<(), StoreError> {
        let is_locked = |id: &QueueId| plan.kept_because(KeptReason::EventLocked).any(|kept| kept == id);
        for queue in file.queues.iter().filter(|queue| !is_locked(&queue.id)) {
            self.put(DocumentKind::FileQueues, &queue.id.to_string(), &queue.to_value().to_string()).await?;
        }
        for tenant in &file.tenants {
            self.put(DocumentKind::FileTenants, &tenant.id.to_string(), &text_of(tenant)).await?;
        }
        for job_queue in &file.job_queues {
            self.put(DocumentKind::FileJobQueues, job_queue.id.as_str(), &job_queue.to_value().to_string()).await?;
        }
        Ok(())
    }

    /// Forgets a queue that was removed because the file no longer has it. If the file adds it again, it is created again.
    pub(crate) async fn forget(&self, queue: &QueueId) -> Result<(), StoreError> {
        self.records.remove_document(DocumentKind::FileQueues, queue.as_str()).await.map(drop)
    }

    /// Forgets job queues that were removed because the file no longer has them.
    pub(crate) async fn forget_job_queues(&self, removed: &[JobQueueId]) -> Result<(), StoreError> {
        for id in removed {
            self.records.remove_document(DocumentKind::FileJobQueues, id.as_str()).await?;
        }
        Ok(())
    }

    async fn put(&self, kind: DocumentKind, id: &str, text: &str) -> Result<(), StoreError> {
        let before = self.records.get_document(kind, id).await?;
        if before.as_ref().is_some_and(|record| record.text == text) {
            return Ok(());
        }
        let over = before.map_or(0, |record| record.revision);
        if self.records.put_document(kind, id, text, over).await? == DocumentOutcome::Full {
            debug!(
                id,
                "too many queues to save the last applied settings of this one; the settings file replaces it at every start"
            );
        }
        Ok(())
    }
}

/// Logs what operators should know before a settings file is applied.
pub(crate) fn log_plan(plan: &Plan) {
    for (queue, reason) in &plan.kept {
        match reason {
            KeptReason::ChangedElsewhere => {
                info!(%queue, "kept the changes of the backoffice: the settings file has not changed this queue");
            }
            KeptReason::RemovedElsewhere => info!(
                %queue,
                "not created again: it was removed in the backoffice, and the settings file has not changed it"
            ),
            KeptReason::NotListed | KeptReason::Unreadable | KeptReason::EventLocked => {}
        }
    }
    for change in plan.queues.iter().filter(|change| change.overrides) {
        let queue = &change.settings.id;
        let shown = |it: &FieldChange| format!("{}: {} -> {}", it.field, it.from, it.to);
        let changes = change.changes.iter().filter(|it| it.field != "epoch").map(shown).collect::<Vec<_>>().join(", ");
        warn!(%queue, changes, "the settings file replaces changes from another source");
    }
    for warning in plan.warnings() {
        warn!(%warning, "a value of the settings file is probably a mistake");
    }
}

/// Logs the locked changes of events, and the queues that keep their stored settings for them.
pub(crate) fn log_locked(plan: &Plan, locked: &[QueueError]) {
    for queue in plan.kept_because(KeptReason::EventLocked) {
        let own = locked.iter().filter(|(id, _)| id == queue).map(|(_, error)| error.clone().within(queue));
        let fields = joined(&own.collect::<Vec<_>>());
        error!(
            %queue,
            fields,
            "the settings file changes locked fields of an event: the queue keeps all of its stored settings; correct the \
             file and reload it"
        );
    }
}

fn text_of(tenant: &Tenant) -> String {
    serde_json::to_string(tenant).unwrap_or_default()
}

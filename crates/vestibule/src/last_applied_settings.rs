//! Merges a settings file with the store, as a three-way merge with the settings that the file had when it was last applied.
//!
//! Operators change queues in the backoffice too. A restart or reload must not undo that during a sale, so the store keeps
//! the last applied settings of the file, and only entries that have changed in the file are written.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use tracing::{debug, info, warn};
use vestibule_admin::{Via, audit_queue, audit_tenant};
use vestibule_core::QueueId;
use vestibule_core::settings::{Document, Settings, Tenant};
use vestibule_core::store::{SettingsStore, StoreError};
use vestibule_records::{DocumentKind, DocumentOutcome, RecordStore};

/// The queues and tenants in the store before a file is applied.
pub(crate) struct PreviousSettings {
    tenants: Vec<Tenant>,
    queues: BTreeMap<QueueId, Option<Settings>>,
}

/// The last applied settings of a settings file, kept in the store.
pub(crate) struct LastAppliedSettings {
    store: Arc<dyn SettingsStore>,
    records: Arc<dyn RecordStore>,
}

impl LastAppliedSettings {
    pub(crate) fn new(store: Arc<dyn SettingsStore>, records: Arc<dyn RecordStore>) -> Self {
        Self { store, records }
    }

    /// The settings to write: entries that have not changed in the file keep the store's version, the others get the file's.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn merge(&self, file: &Document) -> Result<Document, StoreError> {
        let mut document = file.clone();
        let last = self.records.list_documents(DocumentKind::FileQueues).await?;
        let removed = self.removed().await?;
        let mut queues = Vec::with_capacity(file.queues.len());
        for queue in &file.queues {
            let recorded =
                last.iter().find(|(id, _)| *id == queue.id.to_string()).and_then(|(_, record)| read(&record.text));
            let stored = self.store.settings(&queue.id).await?;
            let unchanged = recorded.as_ref().is_some_and(|recorded| unchanged_in_file(recorded, queue));
            match stored {
                Some(stored) if unchanged => {
                    if !stored.eq_ignoring_revision(queue) {
                        info!(queue = %queue.id, "kept the changes of the backoffice: the settings file has not changed this queue");
                    }
                    queues.push(stored);
                }
                None if unchanged && removed.contains(&queue.id) => {
                    info!(queue = %queue.id, "not created again: it was removed in the backoffice, and the settings file has not changed it");
                }
                stored => {
                    let changed_elsewhere = |stored: &Settings| {
                        let same_as_file = stored.eq_ignoring_revision(queue);
                        !same_as_file && !recorded.as_ref().is_some_and(|last| last.eq_ignoring_revision(stored))
                    };
                    if let Some(stored) = stored.filter(changed_elsewhere) {
                        let changes = differences(&stored, queue);
                        warn!(queue = %queue.id, changes, "the settings file replaces changes from another source");
                    }
                    queues.push(queue.clone());
                }
            }
        }
        document.queues = queues;
        self.merge_tenants(&mut document).await?;
        Ok(document)
    }

    /// Reads the current settings of the queues in a document and of those to be removed.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn previous(
        &self,
        document: &Document,
        removed_ids: &[QueueId],
    ) -> Result<PreviousSettings, StoreError> {
        let mut queues = BTreeMap::new();
        for id in document.queues.iter().map(|queue| &queue.id).chain(removed_ids) {
            queues.insert(id.clone(), self.store.settings(id).await?);
        }
        Ok(PreviousSettings { tenants: self.store.tenants().await?, queues })
    }

    /// Writes audit events for an applied document. Queues in `left` were not removed.
    pub(crate) async fn audit(&self, before: PreviousSettings, document: &Document, left: &[QueueId]) {
        for tenant in &document.tenants {
            let stored = before.tenants.iter().find(|stored| stored.id == tenant.id);
            audit_tenant(&*self.records, Via::SettingsFile, stored, Some(tenant)).await;
        }
        for (id, stored) in before.queues.iter().filter(|(id, _)| !left.contains(id)) {
            let written = document.queues.iter().find(|queue| queue.id == *id);
            if stored.as_ref().zip(written).is_some_and(|(stored, written)| stored.eq_ignoring_revision(written)) {
                continue;
            }
            // With its new revision and epoch.
            let after = self.store.settings(id).await.ok().flatten();
            let after = after.as_ref().filter(|_| written.is_some()).or(written);
            audit_queue(&*self.records, Via::SettingsFile, stored.as_ref(), after).await;
        }
    }

    /// Queues that were removed rather than lost.
    async fn removed(&self) -> Result<Vec<QueueId>, StoreError> {
        Ok(self.store.queues().await?.into_iter().filter(|(_, revision)| *revision == 0).map(|(id, _)| id).collect())
    }

    async fn merge_tenants(&self, document: &mut Document) -> Result<(), StoreError> {
        let last = self.records.list_documents(DocumentKind::FileTenants).await?;
        let stored = self.store.tenants().await?;
        for tenant in &mut document.tenants {
            let unchanged =
                last.iter().any(|(id, record)| *id == tenant.id.to_string() && record.text == text_of(tenant));
            if let Some(stored) = stored.iter().find(|stored| unchanged && stored.id == tenant.id) {
                *tenant = stored.clone();
            }
        }
        Ok(())
    }

    /// Saves the settings of an applied file.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn save(&self, file: &Document) -> Result<(), StoreError> {
        for queue in &file.queues {
            self.put(DocumentKind::FileQueues, &queue.id.to_string(), &queue.to_value().to_string()).await?;
        }
        for tenant in &file.tenants {
            self.put(DocumentKind::FileTenants, &tenant.id.to_string(), &text_of(tenant)).await?;
        }
        Ok(())
    }

    /// Forgets a queue that was removed because the file no longer has it. If the file adds it again, it is created again.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn forget(&self, queue: &QueueId) -> Result<(), StoreError> {
        self.records.remove_document(DocumentKind::FileQueues, queue.as_str()).await.map(drop)
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

/// A saved queue. Parsed before it is compared, so that settings of a newer version get their defaults.
fn read(record: &str) -> Option<Settings> {
    let value: Value = serde_json::from_str(record).ok()?;
    Settings::from_stored(&value).ok()
}

/// Whether the file has the same settings for a queue as when it was last applied.
fn unchanged_in_file(recorded: &Settings, queue: &Settings) -> bool {
    recorded.eq_ignoring_revision(queue) && recorded.line.epoch == queue.line.epoch
}

/// The changed fields, as `quota: 7 -> 2`.
fn differences(before: &Settings, after: &Settings) -> String {
    let (before, after) = (before.to_value(), after.to_value());
    let fields =
        after.as_object().into_iter().flatten().filter(|(name, _)| !["revision", "epoch"].contains(&name.as_str()));
    let changed = fields.filter(|(name, value)| before[name.as_str()] != **value);
    changed.map(|(name, value)| format!("{name}: {} -> {value}", before[name.as_str()])).collect::<Vec<_>>().join(", ")
}

fn text_of(tenant: &Tenant) -> String {
    serde_json::to_string(tenant).unwrap_or_default()
}

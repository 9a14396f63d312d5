//! What of a settings file is to be written to the store: what the file says otherwise than when it was last written.
//!
//! The backoffice changes queues too. A program that starts again, or reads its file again, must not undo that in the
//! middle of a sale, so the store keeps what the file said. Turned down: to write a file only where there is no queue
//! yet, since then a change of the file would never arrive.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use tracing::{debug, info, warn};
use vestibule_admin::{Via, audit_queue, audit_tenant};
use vestibule_core::records::{DocumentKind, DocumentOutcome, RecordStore};
use vestibule_core::settings::{Document, Settings, Tenant};
use vestibule_core::{QueueId, Store, StoreError};

/// What the store had of queues and tenants before a file was written.
pub(crate) struct Before {
    tenants: Vec<Tenant>,
    queues: BTreeMap<QueueId, Option<Settings>>,
}

/// The store's record of a settings file.
pub(crate) struct FileRecord {
    store: Arc<dyn Store>,
    records: Arc<dyn RecordStore>,
}

impl FileRecord {
    pub(crate) fn new(store: Arc<dyn Store>, records: Arc<dyn RecordStore>) -> Self {
        Self { store, records }
    }

    /// The document that holds now: of queues and tenants that the file says as it said them before, what the store has
    /// of them; of the others what the file says.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn in_force(&self, file: &Document) -> Result<Document, StoreError> {
        let mut document = file.clone();
        let said = self.records.records(DocumentKind::FileQueues).await?;
        let removed = self.removed().await?;
        let mut queues = Vec::with_capacity(file.queues.len());
        for queue in &file.queues {
            let recorded =
                said.iter().find(|(id, _)| *id == queue.id.to_string()).and_then(|(_, record)| read(&record.text));
            let stored = self.store.settings(&queue.id).await?;
            let again = recorded.as_ref().is_some_and(|recorded| says_the_same(recorded, queue));
            match stored {
                Some(stored) if again => {
                    if !stored.eq_ignoring_revision(queue) {
                        info!(queue = %queue.id, "kept as the backoffice changed it, since the settings file says what it said before");
                    }
                    queues.push(stored);
                }
                None if again && removed.contains(&queue.id) => {
                    info!(queue = %queue.id, "stays removed, as the backoffice removed it and the settings file says what it said before");
                }
                stored => {
                    let changed_meanwhile = |stored: &Settings| {
                        let as_in_the_file = stored.eq_ignoring_revision(queue);
                        !as_in_the_file && !recorded.as_ref().is_some_and(|said| said.eq_ignoring_revision(stored))
                    };
                    if let Some(stored) = stored.filter(changed_meanwhile) {
                        let changes = differences(&stored, queue);
                        warn!(queue = %queue.id, changes, "the settings file replaces what the store has, and not from this file");
                    }
                    queues.push(queue.clone());
                }
            }
        }
        document.queues = queues;
        self.keep_tenants(&mut document).await?;
        Ok(document)
    }

    /// What the store has of all that a document names, and of the queues that are to go.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn before(&self, document: &Document, gone: &[QueueId]) -> Result<Before, StoreError> {
        let mut queues = BTreeMap::new();
        for id in document.queues.iter().map(|queue| &queue.id).chain(gone) {
            queues.insert(id.clone(), self.store.settings(id).await?);
        }
        Ok(Before { tenants: self.store.tenants().await?, queues })
    }

    /// Audits what a document that was written has changed, but for the queues that were `left` though it names them no more.
    pub(crate) async fn audit(&self, before: Before, document: &Document, left: &[QueueId]) {
        for tenant in &document.tenants {
            let stored = before.tenants.iter().find(|stored| stored.id == tenant.id);
            audit_tenant(&*self.records, Via::SettingsFile, stored, Some(tenant)).await;
        }
        for (id, stored) in before.queues.iter().filter(|(id, _)| !left.contains(id)) {
            let written = document.queues.iter().find(|queue| queue.id == *id);
            if stored.as_ref().zip(written).is_some_and(|(stored, written)| stored.eq_ignoring_revision(written)) {
                continue;
            }
            // With the revision and epoch that it got.
            let after = self.store.settings(id).await.ok().flatten();
            let after = after.as_ref().filter(|_| written.is_some()).or(written);
            audit_queue(&*self.records, Via::SettingsFile, stored.as_ref(), after).await;
        }
    }

    /// Queues that were removed, and not lost.
    async fn removed(&self) -> Result<Vec<QueueId>, StoreError> {
        Ok(self.store.queues().await?.into_iter().filter(|(_, revision)| *revision == 0).map(|(id, _)| id).collect())
    }

    async fn keep_tenants(&self, document: &mut Document) -> Result<(), StoreError> {
        let said = self.records.records(DocumentKind::FileTenants).await?;
        let stored = self.store.tenants().await?;
        for tenant in &mut document.tenants {
            let again = said.iter().any(|(id, record)| *id == tenant.id.to_string() && record.text == text_of(tenant));
            if let Some(stored) = stored.iter().find(|stored| again && stored.id == tenant.id) {
                *tenant = stored.clone();
            }
        }
        Ok(())
    }

    /// Keeps what the file said, once it is in force.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn keep(&self, file: &Document) -> Result<(), StoreError> {
        for queue in &file.queues {
            self.put(DocumentKind::FileQueues, &queue.id.to_string(), &queue.to_value().to_string()).await?;
        }
        for tenant in &file.tenants {
            self.put(DocumentKind::FileTenants, &tenant.id.to_string(), &text_of(tenant)).await?;
        }
        Ok(())
    }

    /// Forgets a queue that the file no longer names and that was removed for it: should the file name it again, that is
    /// news, and the removal was not the backoffice's.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn forget(&self, queue: &QueueId) -> Result<(), StoreError> {
        self.records.remove_document(DocumentKind::FileQueues, queue.as_str()).await.map(drop)
    }

    async fn put(&self, kind: DocumentKind, id: &str, text: &str) -> Result<(), StoreError> {
        let before = self.records.record(kind, id).await?;
        if before.as_ref().is_some_and(|record| record.text == text) {
            return Ok(());
        }
        let over = before.map_or(0, |record| record.revision);
        if self.records.put_document(kind, id, text, over).await? == DocumentOutcome::Full {
            debug!(id, "there are too many to keep what the settings file says of this one: it rules at every start");
        }
        Ok(())
    }
}

/// A queue as a record has it. Read before it is compared, so that a setting that did not exist when it was written makes
/// no difference.
fn read(record: &str) -> Option<Settings> {
    let value: Value = serde_json::from_str(record).ok()?;
    Settings::from_stored(&value).ok()
}

/// Whether a settings file says of a queue what it said when it was recorded.
fn says_the_same(recorded: &Settings, queue: &Settings) -> bool {
    recorded.eq_ignoring_revision(queue) && recorded.line.epoch == queue.line.epoch
}

/// The fields that change, as `quota: 7 -> 2`.
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

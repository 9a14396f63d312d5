//! What of a settings file is to be written to the store: what the file says otherwise than when it was last written.
//!
//! The backoffice changes queues too. A program that starts again, or reads its file again, must not undo that in the
//! middle of a sale, so the store keeps what the file said. Turned down: to write a file only where there is no queue
//! yet, since then a change of the file would never arrive.

use std::sync::Arc;

use serde_json::Value;
use tracing::{debug, info};
use vestibule_core::records::{RecordKind, RecordOutcome, Records};
use vestibule_core::settings::{Document, Settings, Tenant};
use vestibule_core::{QueueId, Store, StoreError};

/// The store's record of a settings file.
pub(crate) struct FileRecord {
    store: Arc<dyn Store>,
    records: Arc<dyn Records>,
}

impl FileRecord {
    pub(crate) fn new(store: Arc<dyn Store>, records: Arc<dyn Records>) -> Self {
        Self { store, records }
    }

    /// The document that holds now: of queues and tenants that the file says as it said them before, what the store has
    /// of them; of the others what the file says.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn in_force(&self, file: &Document) -> Result<Document, StoreError> {
        let mut document = file.clone();
        let said = self.records.records(RecordKind::FileQueues).await?;
        let removed = self.removed().await?;
        let mut queues = Vec::with_capacity(file.queues.len());
        for queue in &file.queues {
            let again = said.iter().any(|(id, record)| *id == queue.id.to_string() && says(&record.text, queue));
            if !again {
                queues.push(queue.clone());
            } else if let Some(stored) = self.store.settings(&queue.id).await? {
                if !stored.same_but_for_revision(queue) {
                    info!(queue = %queue.id, "kept as the backoffice changed it, since the settings file says what it said before");
                }
                queues.push(stored);
            } else if !removed.contains(&queue.id) {
                queues.push(queue.clone());
            }
        }
        document.queues = queues;
        self.keep_tenants(&mut document).await?;
        Ok(document)
    }

    /// Queues that were removed, and not lost.
    async fn removed(&self) -> Result<Vec<QueueId>, StoreError> {
        Ok(self.store.queues().await?.into_iter().filter(|(_, revision)| *revision == 0).map(|(id, _)| id).collect())
    }

    async fn keep_tenants(&self, document: &mut Document) -> Result<(), StoreError> {
        let said = self.records.records(RecordKind::FileTenants).await?;
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
            self.put(RecordKind::FileQueues, &queue.id.to_string(), &queue.to_value().to_string()).await?;
        }
        for tenant in &file.tenants {
            self.put(RecordKind::FileTenants, &tenant.id.to_string(), &text_of(tenant)).await?;
        }
        Ok(())
    }

    async fn put(&self, kind: RecordKind, id: &str, text: &str) -> Result<(), StoreError> {
        let before = self.records.record(kind, id).await?;
        if before.as_ref().is_some_and(|record| record.text == text) {
            return Ok(());
        }
        let over = before.map_or(0, |record| record.revision);
        if self.records.put_record(kind, id, text, over).await? == RecordOutcome::Full {
            debug!(id, "there are too many to keep what the settings file says of this one: it rules at every start");
        }
        Ok(())
    }
}

/// Whether a record says what the file says of a queue. Read before it is compared, so that a setting that did not exist
/// when it was written makes no difference.
fn says(record: &str, queue: &Settings) -> bool {
    let value: Option<Value> = serde_json::from_str(record).ok();
    let recorded = value.and_then(|value| Settings::from_value(&value).ok());
    recorded.is_some_and(|said| said.same_but_for_revision(queue) && said.line.epoch == queue.line.epoch)
}

fn text_of(tenant: &Tenant) -> String {
    serde_json::to_string(tenant).unwrap_or_default()
}

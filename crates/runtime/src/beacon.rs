//! Records the value of the beacon of a draw (rule 16).

use vestibule_core::settings::{BeaconRefusal, Settings};
use vestibule_core::{EventId, PutMode, PutOutcome, QueueId, Store, StoreError};

/// Attempts to record a value over concurrent changes of the queue.
const ATTEMPTS: usize = 5;

/// Why a value is not recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordBeaconError {
    /// The queue has no such event.
    #[error("the queue has no such event")]
    NoEvent,
    /// The value is not recorded.
    #[error(transparent)]
    Refused(#[from] BeaconRefusal),
    /// Others change the queue all the time.
    #[error("the queue was changed by others at the same time")]
    Contended,
    /// The store could not be read.
    #[error(transparent)]
    Read(StoreError),
    /// The store failed to write the value, which may or may not be recorded.
    #[error(transparent)]
    Write(StoreError),
}

/// The settings of a queue before and after a value was recorded.
#[derive(Debug)]
pub struct RecordedBeacon {
    /// Before.
    pub before: Settings,
    /// Afterwards, with the new revision.
    pub after: Settings,
}

/// Records this signature of a round as the value of the beacon of an event. The clock of the store says when it was received.
/// Concurrent changes of the queue are kept.
///
/// # Errors
/// Returns why the value is not recorded.
pub async fn record_beacon(
    store: &dyn Store,
    queue: &QueueId,
    event: &EventId,
    round: u64,
    signature: &str,
) -> Result<RecordedBeacon, RecordBeaconError> {
    for _ in 0..ATTEMPTS {
        let found = store.settings(queue).await.map_err(RecordBeaconError::Read)?;
        let before = found.ok_or_else(|| RecordBeaconError::Read(StoreError::UnknownQueue(queue.clone())))?;
        let now = store.stats(queue).await.map_err(RecordBeaconError::Read)?.now;
        let awaiting = before.line.events.iter().find(|found| found.id == *event).ok_or(RecordBeaconError::NoEvent)?;
        let recorded = awaiting.with_beacon_value(round, signature, now)?;
        let mut after = before.clone();
        after.line.events = before.line.events.with(&recorded);
        let over = PutMode::IfRevision(before.line.revision);
        match store.put_settings(&after, over).await.map_err(RecordBeaconError::Write)? {
            PutOutcome::Stored(revision) => {
                after.line.revision = revision;
                return Ok(RecordedBeacon { before, after });
            }
            PutOutcome::Conflict(_) | PutOutcome::Removed => {}
        }
    }
    Err(RecordBeaconError::Contended)
}

//! When the schedules of job queues ran last, as the store remembers it (S1, S2).

#![expect(clippy::missing_errors_doc, reason = "functions without that section return the error of the store")]

use sha2::{Digest as _, Sha256};
use vestibule_core::jobs::{JobQueueId, JobSchedule};
use vestibule_core::{Micros, StoreError, hex};
use vestibule_records::{EPHEMERAL_TTL_MAX, EphemeralKey, EphemeralKind, RecordStore};

/// Bytes of the hash that identifies a schedule.
const KEY_BYTES: usize = 16;
/// How long the last run is remembered, in seconds. A schedule for 29 February runs every four years, once every eight, and metrics show two
/// occurrences without a job. What a removed schedule leaves is a short key.
const REMEMBERED: u64 = EPHEMERAL_TTL_MAX;

/// Identifies a schedule. With other times it is another schedule, which has not run yet.
pub fn schedule_key(job_queue: &JobQueueId, schedule: &JobSchedule) -> String {
    let JobSchedule { id, cron, time_zone, .. } = schedule;
    let digest = Sha256::digest(format!("{job_queue}\n{id}\n{cron}\n{time_zone}"));
    hex(&digest[..KEY_BYTES])
}

fn stored(key: &str) -> EphemeralKey {
    EphemeralKey::new(EphemeralKind::Schedule, key)
}

/// The instant until which the occurrences of the schedule with this key are settled; `None` if it is new, or the store has lost it.
pub async fn last_run(records: &dyn RecordStore, key: &str) -> Result<Option<Micros>, StoreError> {
    let text = records.get_ephemeral(&stored(key)).await?;
    Ok(text.and_then(|text| Some(Micros(0).add_seconds(text.parse().ok()?))))
}

/// Stores the instant until which the occurrences of the schedule with this key are settled.
pub async fn set_last_run(records: &dyn RecordStore, key: &str, at: Micros) -> Result<(), StoreError> {
    records.set_ephemeral(&stored(key), &at.seconds().to_string(), REMEMBERED).await
}

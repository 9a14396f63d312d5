//! Limits the changes of an operator in a day, so that nobody can displace the audit log.

use tracing::debug;
use vestibule_core::Micros;
use vestibule_records::{EphemeralKey, EphemeralKind, RecordStore};

use crate::problem::Problem;
use crate::secret::hash;

/// Maximum number of changes of an operator in a day (UTC). Well below what the log of a tenant keeps.
pub(crate) const CHANGES_MAX: u64 = 10_000;
/// Seconds of a day.
const DAY: u64 = 86_400;

/// Rejects an operator who has reached the limit, until the next day.
pub(crate) async fn may_change(records: &dyn RecordStore, operator: &str) -> Result<(), Problem> {
    let now = records.now().await?;
    let made = records.get_ephemeral(&key(operator, now)).await?.and_then(|text| text.parse().ok()).unwrap_or(0_u64);
    if made < CHANGES_MAX {
        return Ok(());
    }
    Err(Problem::TooManyChanges { most: CHANGES_MAX, seconds: DAY - now.seconds() % DAY })
}

/// Counts a change. A change that cannot be counted is audited all the same.
pub(crate) async fn count_change(records: &dyn RecordStore, operator: &str) {
    let counted = async { records.increment(&key(operator, records.now().await?), DAY).await };
    drop(counted.await.inspect_err(|error| debug!(%error, operator, "a change could not be counted")));
}

fn key(operator: &str, now: Micros) -> EphemeralKey {
    EphemeralKey::new(EphemeralKind::Changes, format!("{}-{}", hash(operator), now.seconds() / DAY))
}

//! Limits the changes of an operator in a day, so that nobody can displace the audit log.

use tracing::debug;
use vestibule_records::{EphemeralKey, EphemeralKind, RecordStore};

use crate::problem::Problem;
use crate::secret::hash;

/// Maximum number of changes of an operator within [`WINDOW`]. Well below what the log of a tenant keeps.
pub(crate) const CHANGES_MAX: u64 = 10_000;
/// Seconds within which changes are counted.
const WINDOW: u64 = 86_400;

/// Rejects an operator who has reached the limit.
pub(crate) async fn may_change(records: &dyn RecordStore, operator: &str) -> Result<(), Problem> {
    let made = records.get_ephemeral(&key(operator)).await?.and_then(|text| text.parse().ok()).unwrap_or(0_u64);
    if made < CHANGES_MAX { Ok(()) } else { Err(Problem::TooManyChanges(CHANGES_MAX)) }
}

/// Counts a change. A change that cannot be counted is audited all the same.
pub(crate) async fn count_change(records: &dyn RecordStore, operator: &str) {
    let counted = records.increment(&key(operator), WINDOW).await;
    drop(counted.inspect_err(|error| debug!(%error, operator, "a change could not be counted")));
}

fn key(operator: &str) -> EphemeralKey {
    EphemeralKey::new(EphemeralKind::Changes, hash(operator))
}

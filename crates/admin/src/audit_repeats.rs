//! Counts the events of accounts, so that neither strangers nor an operator with a password can displace others in the log of
//! sign-ins. What is not stored is in the log of the process.

use tracing::debug;
use vestibule_records::{EphemeralKey, EphemeralKind, RecordStore};

use crate::secret::hash;

/// How many events of the same action and account are stored within a time.
struct RepeatLimit {
    /// The first events, which are stored one by one. Of the others the hundredth, the thousandth and so on are.
    single: u64,
    /// Seconds within which events are counted.
    within: u64,
    /// The field that tells how many events there were.
    field: &'static str,
}

/// Attempts that failed: anyone can make them.
const FAILED: RepeatLimit = RepeatLimit { single: 1, within: 3600, field: "failures" };
/// All others: only the operator can.
const SUCCEEDED: RepeatLimit = RepeatLimit { single: 10, within: 86_400, field: "count" };

impl RepeatLimit {
    fn of(action: &str) -> Self {
        if action.ends_with("_failed") || action.ends_with("_rejected") { FAILED } else { SUCCEEDED }
    }

    const fn apply(&self, count: u64) -> Repeats {
        let stands_for_others = self.single == 1 || count > self.single;
        Repeats {
            is_stored: count <= self.single || 10_u64.pow(count.ilog10()) == count,
            total: if stands_for_others { Some((self.field, count)) } else { None },
        }
    }
}

/// What becomes of an event of an account.
pub(crate) struct Repeats {
    /// Whether to store it.
    pub(crate) is_stored: bool,
    /// How many there were, and in which field the event says so, if it represents others.
    pub(crate) total: Option<(&'static str, u64)>,
}

impl Repeats {
    /// Counts an event with this action, operator and subject. Unknown operators are counted together.
    pub(crate) async fn count(
        records: &dyn RecordStore,
        action: &str,
        operator: Option<&str>,
        subject: Option<&str>,
    ) -> Self {
        let limit = RepeatLimit::of(action);
        let id = hash(&format!("{action} {} {}", operator.unwrap_or(""), subject.unwrap_or("")));
        let key = EphemeralKey::new(EphemeralKind::AccountEvents, id);
        match records.increment(&key, limit.within).await {
            Ok(count) => limit.apply(count.max(1)),
            Err(error) => {
                debug!(%error, action, "an event could not be counted");
                Self { is_stored: true, total: None }
            }
        }
    }
}

//! Constants shared by the Lua library and Rust: numbers, formats and field names, defined here and
//! written into the library.

use std::fmt::Write as _;

use serde_json::Value;
use vestibule_core::line::{
    ACTIVE_REFRESH_SHARE, ADMISSION_COST, ADVANCE_BATCH, CLOCK_GRAIN, Counters, GAP_MIN, LineRules, PACE_WINDOW,
    PAGE_MAX, PURGE_BATCH, REAP_BATCH, RELEASE_BATCH, WAIT_BUCKETS, WAITING_REFRESH_SHARE,
};
use vestibule_core::{MICROS_PER_SECOND, SessionId, StoreError};

macro_rules! codes {
    ($($name:ident = $value:literal),* $(,)?) => {
        $(pub(crate) const $name: i64 = $value;)*
        const CODES: &str = concat!($("local ", stringify!($name), " = ", $value, "\n"),*);
    };
}

codes! {
    // The result of the operation.
    DONE = 0, UNKNOWN_QUEUE = 1,
    // How the session of a visit was found; added to it if it joined, and if the queue's numbers
    // follow.
    NOT_JOINED = 0, RENEWED = 1, RESTORED = 2, JOINED = 3, BY_JOINING = 10, CHANGED = 100,
    // The state of a session found by a lookup.
    ABSENT = 0, WAITING = 4, ADMITTED = 5, ENDED_BEFORE = 6,
    // Removals.
    REMOVED_WAITING = 1, REMOVED_ACTIVE = 2, REMOVED_ABSENT = 3,
    // Conditions for writing settings, and the outcome.
    ALWAYS = 1, IF_REVISION = 2, RESTORE = 3,
    STORED = 1, CREATED = 2, CONFLICT = 3, REMOVED = 4, FULL = 5, NO_OTHER = 6,
}

/// The ticket's session, flags, arrival, time of admission (-1 while waiting), signing time, epoch,
/// the number of active sessions and the arrival reached at signing (-1 each without a ticket; the
/// last two also if the ticket lacks them); then the session that joins.
pub(crate) const VISIT_FORMAT: &str = ">c14Bddddddc14";
/// Size of a visit in that format, in bytes.
pub(crate) const VISIT_SIZE: usize = SessionId::SIZE + 1 + 6 * size_of::<f64>() + SessionId::SIZE;
/// Flags of a visit: it has a ticket; the ticket is of an unconfirmed session; a visitor without a
/// position joins.
pub(crate) const HAS_TICKET: u8 = 1;
pub(crate) const UNCONFIRMED: u8 = 2;
pub(crate) const JOINS: u8 = 4;

/// A script passes a batch to a command as that many arguments, at most twice; Lua's stack holds
/// 8000.
const _: () = assert!(ADVANCE_BATCH <= 1000 && REAP_BATCH <= 1000 && PURGE_BATCH <= 1000 && RELEASE_BATCH <= 1000);
const _: () = assert!(PAGE_MAX <= 1000);

/// Definitions of the constants that are prepended to the library.
pub(crate) fn header_as_lua() -> String {
    let limits = [
        ("SECOND", MICROS_PER_SECOND),
        ("ADMISSION_COST", ADMISSION_COST),
        ("PACE_WINDOW", PACE_WINDOW),
        ("CLOCK_GRAIN", CLOCK_GRAIN),
        ("GAP_MIN", GAP_MIN),
        ("ADVANCE_BATCH", ADVANCE_BATCH as u64),
        ("REAP_BATCH", REAP_BATCH as u64),
        ("PURGE_BATCH", PURGE_BATCH as u64),
        ("RELEASE_BATCH", RELEASE_BATCH as u64),
        ("PAGE_MAX", PAGE_MAX as u64),
        ("LINE_SHARE", WAITING_REFRESH_SHARE.0),
        ("LINE_OF", WAITING_REFRESH_SHARE.1),
        ("ACTIVE_SHARE", ACTIVE_REFRESH_SHARE.0),
        ("ACTIVE_OF", ACTIVE_REFRESH_SHARE.1),
        ("VISIT_SIZE", VISIT_SIZE as u64),
        ("UNCONFIRMED", UNCONFIRMED.into()),
        ("JOINS", JOINS.into()),
    ];
    let mut lua = CODES.to_owned();
    for (name, value) in limits {
        let _ = writeln!(lua, "local {name} = {value}");
    }
    let _ = writeln!(lua, "local VISIT_FORMAT = '{VISIT_FORMAT}'");
    let bounds: Vec<String> = WAIT_BUCKETS.iter().map(u64::to_string).collect();
    let _ = writeln!(lua, "local WAIT_BUCKETS = {{ {} }}", bounds.join(", "));
    let rules: Vec<String> = rule_names().iter().map(|name| format!("{name} = true")).collect();
    let _ = writeln!(lua, "local KNOWN_RULES = {{ {} }}", rules.join(", "));
    // The counter fields of the state: events, buckets of the wait histogram, sum of waits.
    let events = Counters::default().named().map(|(name, _)| format!("'{name}'"));
    let buckets = (0..=WAIT_BUCKETS.len()).map(|bucket| format!("'waits:{bucket}'"));
    let counters: Vec<String> = events.into_iter().chain(buckets).chain(["'waits_us'".to_owned()]).collect();
    let _ = writeln!(lua, "local COUNTER_FIELDS = {{ {} }}", counters.join(", "));
    lua
}

/// The rules as stored: a map of named fields that other versions can read. A rule that is not set
/// is left out.
///
/// # Errors
/// None for valid rules.
pub(crate) fn pack_rules(rules: &LineRules) -> Result<Vec<u8>, StoreError> {
    rmp_serde::to_vec_named(rules).map_err(|error| StoreError::Corrupt(format!("the rules: {error}")))
}

/// Reads stored rules leniently: unknown fields are ignored, missing fields have their defaults.
///
/// # Errors
/// Returns an error if the bytes are not a map of rules.
pub(crate) fn unpack_rules(packed: &[u8]) -> Result<LineRules, StoreError> {
    rmp_serde::from_slice(packed).map_err(|error| StoreError::Corrupt(format!("the rules: {error}")))
}

/// The names of all rules.
fn rule_names() -> Vec<String> {
    match serde_json::to_value(LineRules::default()) {
        Ok(Value::Object(fields)) => fields.into_iter().map(|(name, _)| name).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vestibule_core::line::Mode;

    use super::*;

    #[test]
    fn rules_survive_packing() {
        let rules = LineRules {
            mode: Mode::Draining,
            quota: 10_000_000,
            admissions_per_minute: Some(0),
            waiting_ttl: 60,
            active_ttl: 600,
            claim_ttl: 30,
            hold_ttl: 601,
            max_session: None,
            credential_ttl: 2,
            epoch: 1 << 53,
            revision: 7,
        };
        assert_eq!(unpack_rules(&pack_rules(&rules).unwrap()).unwrap(), rules);
    }

    #[test]
    fn rules_of_other_versions_are_read_leniently() {
        let read = |value: Value| unpack_rules(&rmp_serde::to_vec_named(&value).unwrap());
        let rules = read(json!({ "mode": "open", "opens_at": 1_700_000_000 })).unwrap();
        assert_eq!((rules.mode, rules.credential_ttl, rules.max_session), (Mode::Open, 0, None));
        assert_eq!(read(json!({ "mode": "scheduled" })).unwrap().mode, Mode::Paused);
        assert!(matches!(read(json!({ "mode": "open", "quota": "many" })), Err(StoreError::Corrupt(_))));
        assert!(matches!(unpack_rules(b"?"), Err(StoreError::Corrupt(_))));
    }
}

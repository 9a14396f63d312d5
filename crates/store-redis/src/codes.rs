//! What scripts and Rust mean the same by: numbers and the fields of the rules, defined once, written into every script.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use vestibule_core::line::{
    ACTIVE_REFRESH_SHARE, ADMISSION_COST, ADVANCE_BATCH, CLOCK_GRAIN, Counters, GAP_MIN, LineRules, Mode, PACE_WINDOW,
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
    // What became of the operation.
    DONE = 0, UNKNOWN_QUEUE = 1,
    // How a visitor came to be there; what is added if they came by joining, and if the queue's numbers follow.
    NOT_JOINED = 0, RENEWED = 1, RESTORED = 2, JOINED = 3, BY_JOINING = 10, CHANGED = 100,
    // Where a session was found.
    ABSENT = 0, WAITING = 4, ADMITTED = 5, ENDED_BEFORE = 6,
    // Removals.
    REMOVED_WAITING = 1, REMOVED_ACTIVE = 2, REMOVED_ABSENT = 3,
    // How settings are to be written, and what became of it.
    ALWAYS = 1, IF_REVISION = 2, RESTORE = 3,
    STORED = 1, CREATED = 2, CONFLICT = 3, REMOVED = 4,
}

/// The ticket's session, flags, arrival, admitted at (-1 of a waiting ticket), signed at, epoch, the number of active sessions
/// then and the arrival reached by then (-1 each without a ticket, the last two also if the ticket does not say them); then the
/// session that joins.
pub(crate) const VISIT_FORMAT: &str = ">c14Bddddddc14";
/// Bytes of a visit in that format.
pub(crate) const VISIT_SIZE: usize = SessionId::SIZE + 1 + 6 * size_of::<f64>() + SessionId::SIZE;
/// Flags of a visit: it has a ticket; that ticket is of a session whose client had not returned one; who has no position
/// joins.
pub(crate) const HAS_TICKET: u8 = 1;
pub(crate) const UNCONFIRMED: u8 = 2;
pub(crate) const JOINS: u8 = 4;

/// A script passes a batch to a command as that many arguments, at most twice, and Lua's stack takes 8000.
const _: () = assert!(ADVANCE_BATCH <= 1000 && REAP_BATCH <= 1000 && PURGE_BATCH <= 1000 && RELEASE_BATCH <= 1000);
const _: () = assert!(PAGE_MAX <= 1000);

/// Names and values in front of every script.
pub(crate) fn as_lua() -> String {
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
    let limits: Vec<String> = limits.iter().map(|(name, value)| format!("local {name} = {value}")).collect();
    format!("{CODES}{}\nlocal VISIT_FORMAT = '{VISIT_FORMAT}'\n", limits.join("\n"))
}

/// The fields of the rules as the queue's settings hold them, in the order in which scripts read them. Read leniently: a
/// field of another version is left alone, one that is missing is 0.
pub(crate) struct RuleFields(Map<String, Value>);

impl RuleFields {
    /// The fields, by any rules.
    pub(crate) fn new() -> Self {
        let none = LineRules {
            mode: Mode::Paused,
            quota: 0,
            admissions_per_minute: None,
            waiting_ttl: 0,
            active_ttl: 0,
            claim_ttl: 0,
            hold_ttl: 0,
            max_session: None,
            credential_ttl: 0,
            epoch: 0,
            revision: 0,
        };
        Self::of(&none)
    }

    /// These rules.
    pub(crate) fn of(rules: &LineRules) -> Self {
        match serde_json::to_value(rules) {
            Ok(Value::Object(fields)) => Self(fields),
            _ => Self(Map::new()),
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Names and values as a script takes them; no value is empty.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&str, String)> {
        self.0.iter().map(|(name, value)| {
            let text = match value {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            (name.as_str(), text)
        })
    }

    /// The rules with these values, in the order of the names. A mode that this version does not know admits nobody.
    pub(crate) fn read(mut self, values: Vec<Option<String>>) -> Result<LineRules, StoreError> {
        for ((name, field), value) in self.0.iter_mut().zip(values) {
            let Some(value) = value else { continue };
            let known_mode = || serde_json::from_value::<Mode>(value.as_str().into()).is_ok();
            match field {
                Value::String(_) if known_mode() => *field = value.into(),
                Value::String(_) => tracing::warn!(
                    mode = value,
                    "a newer version set a mode that this one does not know: nobody is admitted"
                ),
                _ => {
                    let number = value.parse::<u64>();
                    *field = number.map_err(|_| StoreError::Corrupt(format!("the rule {name} is {value}")))?.into();
                }
            }
        }
        serde_json::from_value(Value::Object(self.0)).map_err(|error| StoreError::Corrupt(format!("rules: {error}")))
    }

    /// The locals of a script, one for each rule.
    pub(crate) fn locals_as_lua(&self) -> String {
        let names: Vec<&str> = self.names().collect();
        format!("local rule_values, {}\n", names.join(", "))
    }

    /// What reads the rules into these locals.
    pub(crate) fn reading_as_lua(&self) -> String {
        let names: Vec<String> = self.names().map(|name| format!("'{name}'")).collect();
        let mut lua = format!("rule_values = call('HMGET', SETTINGS, {})\n", names.join(", "));
        for ((name, value), number) in self.0.iter().zip(1..) {
            let read = match value {
                Value::String(_) => format!("rule_values[{number}]"),
                Value::Null => format!("tonumber(rule_values[{number}])"),
                _ => format!("tonumber(rule_values[{number}]) or 0"),
            };
            let _ = writeln!(lua, "{name} = {read}");
        }
        lua
    }
}

/// The bounds of the wait histogram, for the scripts that admit somebody.
pub(crate) fn wait_buckets_as_lua() -> String {
    let bounds: Vec<String> = WAIT_BUCKETS.iter().map(u64::to_string).collect();
    format!("local function wait_buckets() return {{ {} }} end\n", bounds.join(", "))
}

/// The fields of the state that count: events, the wait histogram's buckets, the sum of waits.
pub(crate) fn counter_fields_as_lua() -> String {
    let events = Counters::default().named().map(|(name, _)| format!("'{name}'"));
    let buckets = (0..=WAIT_BUCKETS.len()).map(|bucket| format!("'waits:{bucket}'"));
    let fields: Vec<String> = events.into_iter().chain(buckets).chain(["'waits_us'".to_owned()]).collect();
    format!("local function counter_fields() return {{ {} }} end\n", fields.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_come_back_as_they_were_written() {
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
        let written = RuleFields::of(&rules);
        let values = written.named().map(|(_, value)| (!value.is_empty()).then_some(value)).collect();
        assert_eq!(RuleFields::new().read(values).unwrap(), rules);
    }

    #[test]
    fn what_another_version_left_out_or_calls_otherwise_is_read_leniently() {
        let names: Vec<String> = RuleFields::new().names().map(str::to_owned).collect();
        let values = |of: &dyn Fn(&str) -> Option<&str>| names.iter().map(|name| of(name).map(str::to_owned)).collect();
        let read = |of: &dyn Fn(&str) -> Option<&str>| RuleFields::new().read(values(of));
        let rules = read(&|name| (name == "mode").then_some("open")).unwrap();
        assert_eq!((rules.mode, rules.credential_ttl, rules.max_session), (Mode::Open, 0, None));
        assert_eq!(read(&|name| (name == "mode").then_some("scheduled")).unwrap().mode, Mode::Paused);
        assert!(matches!(read(&|name| (name == "quota").then_some("many")), Err(StoreError::Corrupt(_))));
    }
}

//! Constants shared by the Lua library and Rust: numbers, formats and field names, defined here and
//! written into the library.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;
use vestibule_core::fields::{Reader, Reading, joined};
use vestibule_core::jobs::{
    ATTEMPTS_KEPT, BLOCKING_SEARCH, CONCURRENCY_MAX, DELIVERED_SECONDS, DRAIN_BATCH, ENQUEUES_WINDOW,
    FAILED_RESPONSES_PART, JOB_BATCH, JOB_REAP_BATCH, JobId, ORDER_REJECTED, PROGRESS_KEPT, RECEIVE_BYTES,
    REMOVED_SECONDS, REPLAY_BATCH, RESPONSE_KEPT, RETRY_AFTER_MAX,
};
use vestibule_core::line::{
    ACTIVE_REFRESH_SHARE, ADDRESS_LIMITS_FROM, ADMISSION_COST, ADVANCE_BATCH, ATTACK_LIMIT_PART, ATTACK_MODE_MAX,
    BLOCKED_RETRY, CHECKPOINTS_EXACT, CLOCK_GRAIN, CREDIT_MAX, Counters, DELAY_MAX, DELAY_PER_DIFFICULTY, DELAYED_MIN,
    DELAYED_SHARE, ELAPSED_MAX, ENDING_MAX, GAP_MIN, HISTOGRAM_CELLS, JOIN_SLOT, LARGEST_NETWORKS_FROM,
    LARGEST_NETWORKS_MAX, LimitCounters, LineRules, Mode, PACE_WINDOW, PAGE_MAX, PAGE_SKIP_MAX, PRESENCE_SHARE,
    PURGE_BATCH, RATE_RETRY_MAX, REAP_BATCH, RELEASE_BATCH, WAIT_BUCKETS, WAITING_REFRESH_SHARE, WindowEvents,
};
use vestibule_core::settings::{Access, BetweenEvents, ClassifiedNetworks, Event, NetworkListNames};
use vestibule_core::{
    ADDRESS_SHARE, ATTACK_FACTOR, BASE_MAX, CELL_MAX, DIFFICULTY_MAX, JOIN_WINDOW, MICROS_PER_SECOND, Micros,
    NETWORK_SHARE, NetworkClass, NetworkPrefix, RATE_FACTOR_MAX, SHARED_PART, SUSPICIOUS_MIN, SessionId, StoreError,
};

macro_rules! codes {
    ($($name:ident = $value:literal),* $(,)?) => {
        $(pub(crate) const $name: i64 = $value;)*
        const CODES: &str = concat!($("local ", stringify!($name), " = ", $value, "\n"),*);
    };
}

/// The text `NAME = value` of each constant; `NAME = CONSTANT` if it has another name in Lua.
macro_rules! assignments {
    (@value $name:ident) => { $name };
    (@value $name:ident $value:expr) => { $value };
    ($($name:ident $(= $value:expr)?),* $(,)?) => {
        [$(format!("{} = {}", stringify!($name), assignments!(@value $name $($value)?))),*]
    };
}

codes! {
    // The result of the operation.
    DONE = 0, UNKNOWN_QUEUE = 1,
    // How the session of a visit was found, or that newcomers found the line full or the lobby open, need an invitation or a pre-ticket, or were rejected;
    // added to it if it joined, if that was by a pre-ticket, and if the queue's numbers follow.
    NOT_JOINED = 0, RENEWED = 1, RESTORED = 2, JOINED = 3, LINE_FULL = 4, IN_LOBBY = 5, UNINVITED = 6, NEEDS_PRE_TICKET = 7, REJECTED = 8,
    BY_JOINING = 10, BY_REDEEMING = 20, CHANGED = 100,
    // The state of a session found by a lookup.
    ABSENT = 0, WAITING = 4, ADMITTED = 5, ENDED_BEFORE = 6,
    // Removals.
    REMOVED_WAITING = 1, REMOVED_ACTIVE = 2, REMOVED_ABSENT = 3,
    // Conditions for writing settings, and the outcome.
    ALWAYS = 1, IF_REVISION = 2, RESTORE = 3, REPLACE_UNREADABLE = 4,
    STORED = 1, CREATED = 2, CONFLICT = 3, REMOVED = 4, FULL = 5, NO_OTHER = 6,
}

/// The ticket's session, flags, arrival, time of admission (-1 while waiting), signing time, when the
/// turn is due by the wait shown, epoch, the number of active sessions and the arrival reached at
/// signing (-1 each without a ticket; the turn and the last two also if the ticket lacks them; a lobby ticket that was converted
/// just now has the time at which its bearer came to the lobby instead of the turn); then
/// the session that joins and its head start (-1 without an invitation). Of a pre-ticket: its session, flags, the first visit
/// as the arrival, the end of the challenge (-1 if there is none) as the time when the turn is due, epoch, the difficulty that is
/// proven as the active sessions, and that which was required last (-1 if none was) as the arrival reached.
pub(crate) const VISIT_FORMAT: &str = ">c14Bdddddddc14d";
/// Size of a visit in that format, in bytes.
pub(crate) const VISIT_SIZE: usize = SessionId::SIZE + 1 + 7 * size_of::<f64>() + SessionId::SIZE + size_of::<f64>();
/// Flags of a visit: it has a ticket; the ticket is of an unconfirmed session; a visitor without a
/// position joins; the ticket is a lobby ticket that was converted just now; it only reads; it has a pre-ticket, which came from
/// the network of the first visit, and whose arrival is preserved.
pub(crate) const HAS_TICKET: u8 = 1;
pub(crate) const UNCONFIRMED: u8 = 2;
pub(crate) const JOINS: u8 = 4;
pub(crate) const FROM_LOBBY: u8 = 8;
pub(crate) const READ_ONLY: u8 = 16;
pub(crate) const REDEEMS: u8 = 32;
pub(crate) const SAME_NETWORK: u8 = 64;
pub(crate) const PRESERVED: u8 = 128;

/// The flags of a client and the class of its network, and the numbers of its address and of its network, and the network itself.
pub(crate) const CLIENT_FORMAT: &str = ">BI4I4I4I4c7";
/// Size of a client in that format, in bytes.
pub(crate) const CLIENT_SIZE: usize = 1 + 4 * size_of::<u32>() + NetworkPrefix::SIZE;
/// Flags of a client: its address is usable; it came through more proxies than are trusted; its network may be listed. Classes are multiples of the unit.
pub(crate) const HAS_ADDRESS: u8 = 1;
pub(crate) const EXTRA_HOPS: u8 = 2;
pub(crate) const HAS_NETWORK: u8 = 4;
pub(crate) const CLASS_UNIT: u8 = 8;
/// What a visit says of accounts: flags, and the session of the account.
pub(crate) const ACCOUNTS_FORMAT: &str = ">Bc14";
/// Size of it in bytes.
pub(crate) const ACCOUNTS_SIZE: usize = 1 + SessionId::SIZE;
/// Flags: a verified token named the account; the session of the ticket is that of an account; it is that of an invitation.
pub(crate) const VERIFIED: u8 = 1;
pub(crate) const OF_TICKET: u8 = 2;
pub(crate) const OF_INVITATION: u8 = 4;
/// Added to how the session of a visit was found if it is that of an account.
pub(crate) const BY_ACCOUNT: i64 = 30;
/// Why a newcomer was rejected.
pub(crate) const REJECTED_BLOCKED: i64 = 1;
pub(crate) const REJECTED_RATE: i64 = 2;
pub(crate) const REJECTED_LIMIT: i64 = 3;
/// The code of a visit by a newcomer who has to prove work. It is a field of the table of limits.
pub(crate) const NEEDS_PROOF: i64 = 9;
/// The classes of networks.
const CLASS_TRUSTED: u8 = 1;
const CLASS_SHARED: u8 = 2;
const CLASS_SUSPICIOUS: u8 = 3;
const CLASS_BLOCKED: u8 = 4;
/// Seconds after the first join of a window in which the counters of joins expire: both windows are over by then.
const JOINS_TTL: u64 = 3 * JOIN_WINDOW;

/// Numbers in the record of joins: window, counters, four totals of each half, five of recent joins and rejections, and the floor
/// of the largest networks.
pub(crate) const JOIN_RECORD_SIZE: usize = 18;
/// Where that record has the joins in the window of the largest network that is not listed.
const JOIN_RECORD_FLOOR: usize = 16;
/// Where it has delayed joins in the current slot; those in the slot before follow.
const JOIN_RECORD_DELAYED: usize = 17;
/// Size of the histograms of one half, by address and by network, in bytes.
pub(crate) const HISTOGRAMS_SIZE: usize = 2 * HISTOGRAM_CELLS * size_of::<u32>();
/// The score of a network is its joins in the window, plus this number in the other half. Joins of a window are below it.
pub(crate) const HALF_SCORE: u64 = 1 << 20;
const _: () = assert!((CELL_MAX as u64) < HALF_SCORE);

/// A script passes a batch to a command as that many arguments, at most twice; Lua's stack holds
/// 8000.
const _: () = assert!(ADVANCE_BATCH <= 1000 && REAP_BATCH <= 1000 && PURGE_BATCH <= 1000 && RELEASE_BATCH <= 1000);
const _: () = assert!(PAGE_MAX <= 1000);

/// The code of a class of networks.
pub(crate) const fn class_code(class: NetworkClass) -> u8 {
    match class {
        NetworkClass::Trusted => CLASS_TRUSTED,
        NetworkClass::Shared => CLASS_SHARED,
        NetworkClass::Suspicious => CLASS_SUSPICIOUS,
        NetworkClass::Blocked => CLASS_BLOCKED,
    }
}

/// The constants of limits, as fields of one table: a chunk has at most 200 local variables.
fn limit_constants() -> String {
    let constants = assignments! {
        CLIENT_SIZE, HAS_ADDRESS, EXTRA_HOPS, CLASS_UNIT, CLASS_TRUSTED, CLASS_SHARED, CLASS_SUSPICIOUS, CLASS_BLOCKED,
        REJECTED_BLOCKED, REJECTED_RATE, REJECTED_LIMIT, JOIN_WINDOW, JOINS_TTL, JOIN_SLOT, ADDRESS_LIMITS_FROM, BLOCKED_RETRY,
        RATE_RETRY_MAX, SHARED_PART, HAS_NETWORK, RECORD_SIZE = JOIN_RECORD_SIZE, FLOOR = JOIN_RECORD_FLOOR,
        DELAYED = JOIN_RECORD_DELAYED, HISTOGRAM_CELLS, HISTOGRAMS_SIZE, HALF_SCORE, LARGEST_NETWORKS_FROM,
        LARGEST_NETWORKS_MAX, ATTACK_LIMIT_PART, ATTACK_MODE_MAX, ATTACK_FACTOR, NEEDS_PROOF, ADDRESS_SHARE, NETWORK_SHARE,
        BASE_MAX, RATE_FACTOR_MAX, SUSPICIOUS_MIN, DIFFICULTY_MAX, DELAY_PER_DIFFICULTY, DELAY_MAX, DELAYED_SHARE, DELAYED_MIN,
    };
    constants.join(", ")
}

/// What became of a job to enqueue that is no duplicate, or of a progress message. They are fields of the table of jobs.
pub(crate) const JOB_FULL: i64 = 0;
pub(crate) const JOB_ACCEPTED: i64 = 1;
pub(crate) const JOB_TOO_MANY: i64 = 2;
pub(crate) const JOB_NOT_LEASED: i64 = 3;
pub(crate) const JOB_REMOVED: i64 = 4;
/// What became of a job to cancel.
pub(crate) const JOB_UNKNOWN: i64 = 0;
pub(crate) const JOB_CANCELED: i64 = 1;
pub(crate) const JOB_LEASED: i64 = 2;
pub(crate) const JOB_FINISHED: i64 = 3;
/// What became of a job that a message brings; or `JOB_FINISHED`.
pub(crate) const JOB_STARTED: i64 = 0;
pub(crate) const JOB_WAITS: i64 = 1;
pub(crate) const JOB_LOST: i64 = 2;
pub(crate) const JOB_NEEDS_PAYLOAD: i64 = 4;
/// The longest time after which a message is looked at again, unless its job is due later; reservations are not made beyond it.
const MESSAGE_WAIT_MAX: u64 = 900;
/// Bounds of the time after which a message of a paused job queue, or one without a free slot, is looked at again. The second one is
/// also the time if a handler has paused the job queue.
const PAUSE_WAIT_MIN: u64 = 5;
const SLOT_WAIT_MAX: u64 = 60;
/// A job without a free slot is looked at again after this part of its age at least: in 10 days that is about 550 times. SQS keeps a
/// message that was received 1,000 times apart.
const SLOT_WAIT_PART: u64 = 50;
/// How long after the instant that it has reserved a job stays ahead of the others that the rate delays.
const RESERVED_FOR: u64 = 5;
/// The longest time for which a message queue keeps a message.
const MESSAGE_RETENTION: u64 = 14 * 86_400;
/// Arguments after which a script executes a command that it has deferred.
const JOB_ARGUMENTS_MAX: usize = 1000;
const _: () =
    assert!(DRAIN_BATCH + CONCURRENCY_MAX as usize <= 2000 && JOB_REAP_BATCH <= DRAIN_BATCH && 2 * JOB_BATCH <= 1000);

/// The constants of job queues, as fields of one table.
fn job_constants() -> String {
    let constants = assignments! {
        ACCEPTED = JOB_ACCEPTED, FULL = JOB_FULL, TOO_MANY = JOB_TOO_MANY, REMOVED = JOB_REMOVED, NOT_LEASED = JOB_NOT_LEASED, UNKNOWN = JOB_UNKNOWN,
        CANCELED = JOB_CANCELED, LEASED = JOB_LEASED, FINISHED = JOB_FINISHED, STARTED = JOB_STARTED, WAITS = JOB_WAITS,
        LOST = JOB_LOST, NEEDS_PAYLOAD = JOB_NEEDS_PAYLOAD, WAIT_MAX = MESSAGE_WAIT_MAX, PAUSE_WAIT_MIN, SLOT_WAIT_MAX,
        SLOT_WAIT_PART, RESERVED_FOR, MESSAGE_RETENTION, DRAIN_BATCH, REPLAY_BATCH, REJECTED = ORDER_REJECTED,
        ID_SIZE = JobId::SIZE, BATCH = JOB_BATCH, REAP_BATCH = JOB_REAP_BATCH, BLOCKING_SEARCH, ENQUEUES_WINDOW,
        DELIVERED = DELIVERED_SECONDS, PROGRESS_KEPT, RETRY_AFTER_MAX, ATTEMPTS_KEPT, RESPONSE_KEPT,
        FAILED_PART = FAILED_RESPONSES_PART, REMOVED_SECONDS, RECEIVE_BYTES, ARGUMENTS_MAX = JOB_ARGUMENTS_MAX,
    };
    constants.join(", ")
}

/// Definitions of the constants that are prepended to the library.
pub(crate) fn header_as_lua() -> String {
    let limits = assignments! {
        SECOND = MICROS_PER_SECOND, ADMISSION_COST, CREDIT_MAX, ELAPSED_MAX, PACE_WINDOW, CHECKPOINTS_EXACT, CLOCK_GRAIN,
        GAP_MIN, ADVANCE_BATCH, REAP_BATCH, PURGE_BATCH, RELEASE_BATCH, PAGE_MAX, PAGE_SKIP_MAX,
        LINE_SHARE = WAITING_REFRESH_SHARE.0, LINE_OF = WAITING_REFRESH_SHARE.1, ACTIVE_SHARE = ACTIVE_REFRESH_SHARE.0,
        ACTIVE_OF = ACTIVE_REFRESH_SHARE.1, PRESENCE_SHARE, VISIT_SIZE, UNCONFIRMED, JOINS, FROM_LOBBY, READ_ONLY, REDEEMS,
        SAME_NETWORK, PRESERVED, ENDING_MAX,
    };
    let mut lua = CODES.to_owned();
    for limit in limits {
        let _ = writeln!(lua, "local {limit}");
    }
    let _ = writeln!(lua, "local VISIT_FORMAT = '{VISIT_FORMAT}'");
    let record_format = ["%d"; JOIN_RECORD_SIZE].join(" ");
    let events = WindowEvents::names().map(|name| format!("'{name}'")).join(", ");
    let _ = writeln!(
        lua,
        "local LIMITS = {{ CLIENT_FORMAT = '{CLIENT_FORMAT}', RECORD_FORMAT = '{record_format}', EVENTS = {{ {events} }}, {} }}",
        limit_constants()
    );
    let _ = writeln!(
        lua,
        "local ACCOUNTS = {{ FORMAT = '{ACCOUNTS_FORMAT}', SIZE = {ACCOUNTS_SIZE}, VERIFIED = {VERIFIED}, OF_TICKET = {OF_TICKET}, \
         OF_INVITATION = {OF_INVITATION}, BY_ACCOUNT = {BY_ACCOUNT} }}"
    );
    let _ = writeln!(lua, "local jobs = {{ {} }}", job_constants());
    let bounds: Vec<String> = WAIT_BUCKETS.iter().map(u64::to_string).collect();
    let _ = writeln!(lua, "local WAIT_BUCKETS = {{ {} }}", bounds.join(", "));
    let rules: Vec<String> = rule_names().iter().map(|name| format!("{name} = true")).collect();
    let _ = writeln!(lua, "local KNOWN_RULES = {{ {} }}", rules.join(", "));
    // The counter fields of the state: events, buckets of the wait histogram, sum of waits.
    let events = Counters::default().named().map(|(name, _)| format!("'{name}'"));
    let buckets = (0..=WAIT_BUCKETS.len()).map(|bucket| format!("'waits:{bucket}'"));
    let counters = events.into_iter().chain(buckets).chain(["'waits_us'".to_owned()]);
    let limits = LimitCounters::default().named().map(|(name, _)| format!("'{name}'"));
    let counters: Vec<String> = counters.chain(limits).collect();
    let _ = writeln!(lua, "local COUNTER_FIELDS = {{ {} }}", counters.join(", "));
    lua
}

/// The rules as stored: a map of named fields that other versions can read. A rule that is not set
/// is left out.
///
/// # Errors
/// None for valid rules.
pub(crate) fn pack_rules(rules: &LineRules) -> Result<Vec<u8>, StoreError> {
    let mut stored = rules.in_mode(rules.mode);
    // Gates classify networks; scripts do not need them.
    stored.protection.lists = NetworkListNames::default();
    stored.protection.networks = ClassifiedNetworks::default();
    stored.protection.identity = None;
    rmp_serde::to_vec_named(&stored).map_err(|error| StoreError::Corrupt(format!("the rules: {error}")))
}

/// The times of an event, in microseconds.
#[expect(clippy::struct_field_names, reason = "the names that scripts read")]
#[derive(Serialize)]
struct EventTimes {
    lobby_at: Micros,
    starts_at: Micros,
    /// Absent for an event in order of arrival; the end of the event while the value of its beacon is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    draw_ends_at: Option<Micros>,
    ends_at: Micros,
}

/// The events of a queue, and what it does between them if it follows them.
#[derive(Serialize)]
struct Plan {
    #[serde(skip_serializing_if = "Option::is_none")]
    between_events: Option<BetweenEvents>,
    events: Vec<EventTimes>,
}

/// The events of a queue, for `put_settings.lua`; empty for a queue that has none and is not scheduled.
///
/// # Errors
/// None for valid rules.
pub(crate) fn pack_schedule(rules: &LineRules) -> Result<Vec<u8>, StoreError> {
    let is_scheduled = rules.mode == Mode::Scheduled;
    if !is_scheduled && rules.events.is_empty() {
        return Ok(Vec::new());
    }
    let times = |event: &Event| EventTimes {
        lobby_at: event.lobby_at().micros(),
        starts_at: event.starts_at.micros(),
        draw_ends_at: event.draw_phase_ends_at(),
        ends_at: event.ends_at.micros(),
    };
    let events = rules.events.planned().map(times).collect();
    let between_events = is_scheduled.then(|| rules.between_events.unwrap_or_default());
    let plan = Plan { between_events, events };
    rmp_serde::to_vec_named(&plan).map_err(|error| StoreError::Corrupt(format!("the events: {error}")))
}

/// Reads stored rules leniently: unknown fields are ignored, missing fields have their defaults, and so do values that this
/// version does not know.
///
/// # Errors
/// Returns an error if the bytes are not a map of rules.
pub(crate) fn unpack_rules(packed: &[u8]) -> Result<LineRules, StoreError> {
    rmp_serde::from_slice(packed).or_else(|error| {
        let corrupt = |error: &dyn std::fmt::Display| StoreError::Corrupt(format!("the rules: {error}"));
        let stored: Value = rmp_serde::from_slice(packed).map_err(|_| corrupt(&error))?;
        let rules = Reader::read::<LineRules>(&stored, Reading::Stored).map_err(|errors| corrupt(&joined(&errors)))?;
        Ok(LineRules { credential_ttl: stored["credential_ttl"].as_u64().unwrap_or_default(), ..rules })
    })
}

/// Whether scripts can read the packed schedule of a queue.
///
/// # Errors
/// Returns an error if the bytes are not a map.
pub(crate) fn check_schedule(packed: &[u8]) -> Result<(), StoreError> {
    let found: Result<BTreeMap<String, Value>, _> = rmp_serde::from_slice(packed);
    found.map(drop).map_err(|error| StoreError::Corrupt(format!("the schedule: {error}")))
}

/// The names of all rules that scripts read, also those that are not written while they have their defaults.
fn rule_names() -> Vec<String> {
    let rules = LineRules { access: Some(Access::Anyone), ..LineRules::default() };
    match serde_json::to_value(rules) {
        Ok(Value::Object(fields)) => fields.into_iter().map(|(name, _)| name).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vestibule_core::settings::{Events, Protection};

    use super::*;

    #[test]
    fn rules_survive_packing() {
        let rules = LineRules {
            mode: Mode::Draining,
            between_events: None,
            events: Events::default(),
            quota: 10_000_000,
            admissions_per_minute: Some(0),
            admissions_every: Some(15),
            max_waiting: Some(1),
            access: Some(Access::Invited),
            waiting_ttl: 60,
            active_ttl: 600,
            claim_ttl: 30,
            hold_ttl: 601,
            max_session: None,
            protection: Protection { pre_ticket_from: None, pre_ticket_max_age: 0, ..Protection::default() },
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
        assert_eq!(read(json!({ "mode": "raffle" })).unwrap().mode, Mode::Paused);
        assert!(matches!(read(json!({ "mode": "open", "quota": "many" })), Err(StoreError::Corrupt(_))));
        let nested = json!({ "quota": 7, "credential_ttl": 9, "protection": { "on_exceed": "call" } });
        let rules = read(nested).unwrap();
        assert_eq!((rules.quota, rules.credential_ttl, rules.protection), (7, 9, Protection::default()));
        assert!(matches!(unpack_rules(b"?"), Err(StoreError::Corrupt(_))));
    }
}

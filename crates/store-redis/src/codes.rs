//! The numbers that scripts and Rust mean the same by: defined once, written into every script.

use vestibule_core::line::{
    ADMISSION_COST, ADVANCE_BATCH, Counters, LINE_SLACK, Mode, PACE_WINDOW, PAGE_MAX, PLACES_SLACK, PURGE_BATCH,
    REAP_BATCH, RELEASE_BATCH, WAIT_BUCKETS,
};
use vestibule_core::{MICROS_PER_SECOND, SessionId};

macro_rules! codes {
    ($($name:ident = $value:literal),* $(,)?) => {
        $(pub(crate) const $name: i64 = $value;)*
        const CODES: &str = concat!($("local ", stringify!($name), " = ", $value, "\n"),*);
    };
}

codes! {
    // What became of the operation.
    DONE = 0, UNKNOWN_QUEUE = 1,
    // Modes of a queue.
    OPEN = 0, BYPASS = 1, PAUSED = 2, CLOSED = 3, DRAINING = 4,
    // By what a visitor is there.
    NOBODY = 0, BY_TICKET = 1, BY_JOINING = 2,
    // Presentations, and where a session was found.
    ABSENT = 0, PRESENT = 1, RETURNED = 2, JOINED = 3, WAITING = 4, ADMITTED = 5, ENDED_BEFORE = 6,
    // Removals.
    WAITED = 1, WAS_ADMITTED = 2, WAS_ABSENT = 3,
    // How settings are to be written, and what became of it.
    ALWAYS = 1, IF_REVISION = 2, RESTORE = 3,
    STORED = 1, CREATED = 2, CONFLICT = 3, REMOVED = 4,
}

/// Mode, quota, admissions a minute, waiting, active, claim and hold time, longest session, epoch, revision.
pub(crate) const RULES_FORMAT: &str = ">dddddddddd";
/// The ticket's session, flags, present until (-1 if it does not say so), arrival, admitted at (of a waiting ticket -1, or less:
/// see visit.lua), signed at and epoch (-1 without a ticket); then the session that joins.
pub(crate) const VISIT_FORMAT: &str = ">c14Bdddddc14";
/// Bytes of a visit in that format.
pub(crate) const VISIT_SIZE: usize = SessionId::SIZE + 1 + 5 * size_of::<f64>() + SessionId::SIZE;
/// Flags of a visit: who has no place joins; and the bearer was let in, by the ticket or by the word of the process.
pub(crate) const JOINS: u8 = 1;
pub(crate) const LET_IN: u8 = 2;
/// Of the visits with a ticket, which come first: how many they are, of how many the bearer was let in, the epoch of all of
/// their tickets, or -1, and when the oldest was signed.
pub(crate) const TICKETS_FORMAT: &str = ">dddd";

/// A script passes a batch to a command as that many arguments, at most twice, and Lua's stack takes 8000.
const _: () = assert!(ADVANCE_BATCH <= 1000 && REAP_BATCH <= 1000 && PURGE_BATCH <= 1000 && RELEASE_BATCH <= 1000);
const _: () = assert!(PAGE_MAX <= 1000);

/// The modes with their codes.
pub(crate) const MODES: [(Mode, i64); 5] = [
    (Mode::Open, OPEN),
    (Mode::Bypass, BYPASS),
    (Mode::Paused, PAUSED),
    (Mode::Closed, CLOSED),
    (Mode::Draining, DRAINING),
];

/// Names and values in front of every script.
pub(crate) fn as_lua() -> String {
    let limits = [
        ("SECOND", MICROS_PER_SECOND),
        ("ADMISSION_COST", ADMISSION_COST),
        ("PACE_WINDOW", PACE_WINDOW),
        ("ADVANCE_BATCH", ADVANCE_BATCH as u64),
        ("REAP_BATCH", REAP_BATCH as u64),
        ("PURGE_BATCH", PURGE_BATCH as u64),
        ("RELEASE_BATCH", RELEASE_BATCH as u64),
        ("PAGE_MAX", PAGE_MAX as u64),
        ("LINE_SHARE", LINE_SLACK.0),
        ("LINE_OF", LINE_SLACK.1),
        ("PLACES_SHARE", PLACES_SLACK.0),
        ("PLACES_OF", PLACES_SLACK.1),
        ("VISIT_SIZE", VISIT_SIZE as u64),
        ("SESSION_SIZE", SessionId::SIZE as u64),
        ("JOINS", JOINS.into()),
        ("LET_IN", LET_IN.into()),
    ];
    let limits: Vec<String> = limits.iter().map(|(name, value)| format!("local {name} = {value}")).collect();
    let limits = limits.join("\n");
    let formats = format!("local RULES_FORMAT, VISIT_FORMAT = '{RULES_FORMAT}', '{VISIT_FORMAT}'\n");
    format!("{CODES}{limits}\n{formats}local TICKETS_FORMAT = '{TICKETS_FORMAT}'\n")
}

/// The bounds of the wait histogram, for the scripts that let somebody in.
pub(crate) fn wait_buckets_as_lua() -> String {
    let bounds: Vec<String> = WAIT_BUCKETS.iter().map(u64::to_string).collect();
    format!("local function wait_buckets() return {{ {} }} end\n", bounds.join(", "))
}

/// The fields of the state that count: events, the wait histogram's buckets, the sum of waits.
pub(crate) fn event_fields_as_lua() -> String {
    let events = Counters::default().named().map(|(name, _)| format!("'{name}'"));
    let buckets = (0..=WAIT_BUCKETS.len()).map(|bucket| format!("'waits:{bucket}'"));
    let fields: Vec<String> = events.into_iter().chain(buckets).chain(["'waits_us'".to_owned()]).collect();
    format!("local function event_fields() return {{ {} }} end\n", fields.join(", "))
}

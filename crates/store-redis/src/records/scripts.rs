//! The scripts over records, streams and notes.

use std::sync::LazyLock;

use vestibule_core::MICROS_PER_SECOND;

use crate::scripts::Script;

/// What became of a record's write.
pub(super) const STORED: i64 = 1;
pub(super) const CONFLICT: i64 = 2;
pub(super) const FULL: i64 = 3;
pub(super) const NO_OTHER: i64 = 4;

/// One script an operation.
pub(super) struct Scripts {
    pub(super) put_record: Script,
    pub(super) append: Script,
    pub(super) entries: Script,
    pub(super) put_note: Script,
    pub(super) claim: Script,
    pub(super) count: Script,
    pub(super) uncount: Script,
    pub(super) read_note: Script,
    pub(super) take_note: Script,
}

pub(super) static SCRIPTS: LazyLock<Scripts> = LazyLock::new(|| {
    const NOTE: &str = include_str!("../lua/records/note.lua");
    const STREAM: &str = include_str!("../lua/records/stream.lua");
    let writes = |parts: &[&str]| script("#!lua", parts);
    let reads = |parts: &[&str]| script("#!lua flags=no-writes", parts);
    Scripts {
        put_record: writes(&[include_str!("../lua/records/put_record.lua")]),
        append: writes(&[STREAM, include_str!("../lua/records/append.lua")]),
        entries: reads(&[STREAM, include_str!("../lua/records/entries.lua")]),
        put_note: writes(&[NOTE, include_str!("../lua/records/put_note.lua")]),
        claim: writes(&[NOTE, include_str!("../lua/records/claim.lua")]),
        count: writes(&[NOTE, include_str!("../lua/records/count.lua")]),
        uncount: writes(&[NOTE, include_str!("../lua/records/uncount.lua")]),
        read_note: reads(&[NOTE, include_str!("../lua/records/read_note.lua")]),
        take_note: writes(&[NOTE, include_str!("../lua/records/take_note.lua")]),
    }
});

fn script(first: &str, parts: &[&str]) -> Script {
    let codes = format!(
        "local STORED, CONFLICT, FULL, NO_OTHER, SECOND = {STORED}, {CONFLICT}, {FULL}, {NO_OTHER}, {MICROS_PER_SECOND}\n"
    );
    Script::new(format!("{first}\n{codes}{}{}", include_str!("../lua/records/now.lua"), parts.concat()))
}

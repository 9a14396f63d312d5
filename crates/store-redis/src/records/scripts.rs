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
    pub(super) put_document: Script,
    pub(super) append: Script,
    pub(super) entries: Script,
    pub(super) set_ephemeral: Script,
    pub(super) claim: Script,
    pub(super) count: Script,
    pub(super) uncount: Script,
    pub(super) read_note: Script,
    pub(super) take_ephemeral: Script,
}

pub(super) static SCRIPTS: LazyLock<Scripts> = LazyLock::new(|| {
    const NOTE: &str = include_str!("../lua/records/note.lua");
    const STREAM: &str = include_str!("../lua/records/stream.lua");
    let writes = |parts: &[&str]| script("#!lua", parts);
    let reads = |parts: &[&str]| script("#!lua flags=no-writes", parts);
    Scripts {
        put_document: writes(&[include_str!("../lua/records/put_document.lua")]),
        append: writes(&[STREAM, include_str!("../lua/records/append.lua")]),
        entries: reads(&[STREAM, include_str!("../lua/records/entries.lua")]),
        set_ephemeral: writes(&[NOTE, include_str!("../lua/records/set_ephemeral.lua")]),
        claim: writes(&[NOTE, include_str!("../lua/records/claim.lua")]),
        count: writes(&[NOTE, include_str!("../lua/records/count.lua")]),
        uncount: writes(&[NOTE, include_str!("../lua/records/uncount.lua")]),
        read_note: reads(&[NOTE, include_str!("../lua/records/read_note.lua")]),
        take_ephemeral: writes(&[NOTE, include_str!("../lua/records/take_ephemeral.lua")]),
    }
});

fn script(first: &str, parts: &[&str]) -> Script {
    let codes = format!(
        "local STORED, CONFLICT, FULL, NO_OTHER, SECOND = {STORED}, {CONFLICT}, {FULL}, {NO_OTHER}, {MICROS_PER_SECOND}\n"
    );
    Script::new(format!("{first}\n{codes}{}{}", include_str!("../lua/records/now.lua"), parts.concat()))
}

//! The scripts: what they share in front, one file an operation at the end.

use std::sync::LazyLock;

use fred::bytes_utils::Str;
use fred::util::sha1_hash;

use crate::codes::{RuleFields, as_lua, counter_fields_as_lua, wait_buckets_as_lua};

/// A script, and the hash it is called by.
pub(crate) struct Script {
    pub(crate) source: Str,
    pub(crate) hash: Str,
}

impl Script {
    pub(crate) fn new(source: String) -> Self {
        Self { hash: sha1_hash(&source).into(), source: source.into() }
    }

    /// A script over the keys of one queue: the codes, how it begins, what it shares, and its own.
    fn over_a_queue(kind: Kind, parts: &[&str]) -> Self {
        let (first, writes, creates) = match kind {
            Kind::Reads => ("#!lua flags=no-writes", false, false),
            Kind::Writes => ("#!lua", true, false),
            Kind::Frees => ("#!lua flags=allow-oom", true, false),
            Kind::Creates => ("#!lua", true, true),
        };
        let rules = RuleFields::new();
        let begins = format!(
            "local call = redis.call\n\
             local LINE, ACTIVE, POOL, ENDED, STATE, SETTINGS = unpack(KEYS)\n\
             local WRITES, CREATES = {writes}, {creates}\n{}{}",
            rules.locals_as_lua(),
            rules.reading_as_lua(),
        );
        Self::new(format!("{first}\n{}{begins}{LOAD}{}", as_lua(), parts.concat()))
    }

    /// A script over what is kept for all queues together.
    fn beside_queues(own: &str) -> Self {
        Self::new(format!("#!lua\n{}{own}", as_lua()))
    }
}

/// What a script does to a queue.
#[derive(Clone, Copy)]
enum Kind {
    /// It changes nothing.
    Reads,
    /// It changes a queue that is there.
    Writes,
    /// It makes room, so it runs on a server that is short of memory too.
    Frees,
    /// It makes a queue where there is none.
    Creates,
}

const LOAD: &str = include_str!("lua/shared/load.lua");
const RULES: &str = include_str!("lua/shared/rules.lua");
const LINE: &str = include_str!("lua/shared/line.lua");

/// One script an operation.
pub(crate) struct Scripts {
    pub(crate) visit: Script,
    pub(crate) away: Script,
    pub(crate) leave: Script,
    pub(crate) end: Script,
    pub(crate) release: Script,
    pub(crate) admit: Script,
    pub(crate) purge: Script,
    pub(crate) stats: Script,
    pub(crate) find: Script,
    pub(crate) page: Script,
    pub(crate) reset: Script,
    pub(crate) put_settings: Script,
    pub(crate) remove_queue: Script,
    pub(crate) list_queue: Script,
    pub(crate) set_last_purge: Script,
}

pub(crate) static SCRIPTS: LazyLock<Scripts> = LazyLock::new(|| {
    use Kind::{Creates, Frees, Reads, Writes};
    let line = wait_buckets_as_lua() + LINE;
    let read_rules = format!("local function read_rules()\n{}end\n", RuleFields::new().reading_as_lua());
    let script = Script::over_a_queue;
    Scripts {
        visit: script(Writes, &[RULES, &line, include_str!("lua/visit.lua")]),
        away: script(Frees, &[&line, include_str!("lua/away.lua")]),
        leave: script(Frees, &[&line, include_str!("lua/leave.lua")]),
        end: script(Frees, &[&line, include_str!("lua/end.lua")]),
        release: script(Writes, &[&line, include_str!("lua/release.lua")]),
        admit: script(Writes, &[&line, include_str!("lua/admit.lua")]),
        purge: script(Frees, &[RULES, &line, include_str!("lua/purge.lua")]),
        stats: script(Reads, &[&counter_fields_as_lua(), include_str!("lua/stats.lua")]),
        find: script(Reads, &[include_str!("lua/find.lua")]),
        page: script(Reads, &[include_str!("lua/page.lua")]),
        reset: script(Writes, &[RULES, include_str!("lua/reset.lua")]),
        put_settings: script(Creates, &[RULES, &line, &read_rules, include_str!("lua/put_settings.lua")]),
        remove_queue: script(Creates, &[include_str!("lua/remove_queue.lua")]),
        list_queue: Script::beside_queues(include_str!("lua/list_queue.lua")),
        set_last_purge: Script::beside_queues(include_str!("lua/set_last_purge.lua")),
    }
});

//! The library of functions that the server runs: one function an operation, from `src/lua`.
//!
//! The server compiles the library once and creates its functions once, so that a call costs what it does and nothing more. The
//! names of library and functions carry a hash of the source: processes of several versions work side by side, each with
//! functions of its own. A server that does not know a function is given the library, see [`crate::connection`].

use std::fmt::Write as _;
use std::sync::LazyLock;

use fred::bytes_utils::Str;
use fred::util::sha1_hash;

use crate::codes::header_as_lua;

/// Hexadecimal digits of the hash in a name.
const VERSION_LEN: usize = 12;

/// The name of a function of the library.
pub(crate) struct Function(pub(crate) Str);

/// How a function accesses data. The server enforces it.
#[derive(Clone, Copy)]
enum Access {
    /// Read-only.
    Read,
    /// Writes.
    Write,
    /// Writes, also on a server that is out of memory: it frees memory, or operators need it and it writes little.
    Essential,
    /// The same, and may create a queue.
    Create,
}

impl Access {
    const fn flags(self) -> &'static str {
        match self {
            Self::Read => "'no-writes'",
            Self::Essential | Self::Create => "'allow-oom'",
            Self::Write => "",
        }
    }
}

/// The data that a function works on.
#[derive(Clone, Copy)]
enum Subject {
    /// The keys of one queue, which must exist unless the function creates queues.
    Queue,
    /// Data shared by all queues.
    Index,
    /// A document, a log or an ephemeral key.
    Record,
    /// The keys of one job queue, which are created as they are needed.
    JobQueue,
}

/// A function before it is named.
struct Definition {
    name: &'static str,
    subject: Subject,
    access: Access,
    body: &'static str,
}

impl Definition {
    /// Registers the function in the library.
    fn as_lua(&self, version: &str) -> String {
        let Self { name, subject, access, body } = self;
        let creates = matches!(access, Access::Create);
        let begin = match subject {
            Subject::Queue => {
                let writes = !matches!(access, Access::Read);
                let refuse = if creates { "" } else { "if not rules then return { UNKNOWN_QUEUE } end\n" };
                format!("begin_call(KEYS, ARGV, {writes}, {creates})\n{refuse}")
            }
            Subject::Record => "begin_record(KEYS, ARGV)\n".to_owned(),
            Subject::JobQueue => "jobs.begin(KEYS, ARGV)\n".to_owned(),
            Subject::Index => String::new(),
        };
        format!(
            "redis.register_function{{ function_name = '{name}_{version}', flags = {{ {} }}, callback = function(KEYS, ARGV)\n\
             {begin}{body}end }}\n",
            access.flags(),
        )
    }
}

macro_rules! functions {
    ($($name:ident: $subject:ident, $access:ident, $file:literal;)*) => {
        /// The functions by operation.
        pub(crate) struct Functions {
            $(pub(crate) $name: Function,)*
        }

        impl Functions {
            fn of(version: &str) -> Self {
                Self { $($name: Function(format!("{}_{version}", stringify!($name)).into()),)* }
            }
        }

        const DEFINITIONS: &[Definition] = &[$(Definition {
            name: stringify!($name),
            subject: Subject::$subject,
            access: Access::$access,
            body: include_str!(concat!("lua/", $file)),
        },)*];
    };
}

functions! {
    visit: Queue, Write, "visit.lua";
    away: Queue, Essential, "away.lua";
    leave: Queue, Essential, "leave.lua";
    end: Queue, Essential, "end.lua";
    release: Queue, Write, "release.lua";
    admit: Queue, Write, "admit.lua";
    purge: Queue, Essential, "purge.lua";
    attack_mode: Queue, Essential, "attack_mode.lua";
    stats: Queue, Read, "stats.lua";
    protection: Queue, Read, "protection.lua";
    line: Queue, Read, "line.lua";
    find: Queue, Read, "find.lua";
    page: Queue, Read, "page.lua";
    reset: Queue, Essential, "reset.lua";
    put_settings: Queue, Create, "put_settings.lua";
    remove_queue: Queue, Create, "remove_queue.lua";
    list_queue: Index, Essential, "list_queue.lua";
    replace_tenant: Index, Essential, "replace_tenant.lua";
    forget_queue: Index, Essential, "forget_queue.lua";
    check_writable: Index, Write, "check_writable.lua";
    set_last_purge: Index, Essential, "set_last_purge.lua";
    put_document: Record, Essential, "records/put_document.lua";
    append: Record, Essential, "records/append.lua";
    trim: Record, Essential, "records/trim.lua";
    entries: Record, Read, "records/entries.lua";
    set_ephemeral: Record, Essential, "records/set_ephemeral.lua";
    set_ephemeral_if_absent: Record, Essential, "records/set_ephemeral_if_absent.lua";
    set_ephemeral_if_present: Record, Essential, "records/set_ephemeral_if_present.lua";
    increment: Record, Essential, "records/increment.lua";
    decrement: Record, Essential, "records/decrement.lua";
    get_ephemeral: Record, Read, "records/get_ephemeral.lua";
    take_ephemeral: Record, Essential, "records/take_ephemeral.lua";
    enqueue_jobs: JobQueue, Write, "jobs/enqueue.lua";
    register_jobs: JobQueue, Write, "jobs/register.lua";
    messages_to_send: JobQueue, Essential, "jobs/messages_to_send.lua";
    message_deleted: JobQueue, Essential, "jobs/message_deleted.lua";
    withdraw_jobs: JobQueue, Essential, "jobs/withdraw.lua";
    restore_job: JobQueue, Write, "jobs/restore.lua";
    start_jobs: JobQueue, Essential, "jobs/start.lua";
    keep_payload: JobQueue, Write, "jobs/keep_payload.lua";
    receive_jobs: JobQueue, Essential, "jobs/receive.lua";
    extend_leases: JobQueue, Essential, "jobs/extend.lua";
    settle_jobs: JobQueue, Essential, "jobs/settle.lua";
    get_jobs: JobQueue, Essential, "jobs/get.lua";
    add_progress: JobQueue, Write, "jobs/add_progress.lua";
    mark_delivered: JobQueue, Essential, "jobs/mark_delivered.lua";
    cancel_jobs: JobQueue, Essential, "jobs/cancel.lua";
    drain_jobs: JobQueue, Essential, "jobs/drain.lua";
    dead_letters: JobQueue, Essential, "jobs/dead_letters.lua";
    delete_dead: JobQueue, Essential, "jobs/delete_dead.lua";
    replay_jobs: JobQueue, Write, "jobs/replay.lua";
    replay_all_jobs: JobQueue, Write, "jobs/replay_all.lua";
    resolve_job: JobQueue, Essential, "jobs/resolve.lua";
    remove_jobs: JobQueue, Essential, "jobs/remove.lua";
    create_job_queue: JobQueue, Essential, "jobs/create.lua";
    reap_jobs: JobQueue, Essential, "jobs/reap.lua";
    job_stats: JobQueue, Essential, "jobs/stats.lua";
}

/// The source of the library and the names of its functions.
pub(crate) struct Library {
    /// The argument of `FUNCTION LOAD`.
    pub(crate) source: Str,
    pub(crate) functions: Functions,
}

pub(crate) static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    let shared = [
        &header_as_lua(),
        include_str!("lua/clock.lua"),
        include_str!("lua/rate.lua"),
        include_str!("lua/jobs/queue.lua"),
        include_str!("lua/queue.lua"),
        include_str!("lua/limits.lua"),
        include_str!("lua/presence.lua"),
        include_str!("lua/records/records.lua"),
    ]
    .concat();
    let bodies: String = DEFINITIONS.iter().map(|definition| definition.as_lua("")).collect();
    let version = &sha1_hash(&(shared.clone() + &bodies))[..VERSION_LEN];
    let mut source = format!("#!lua name=vestibule_{version}\n{shared}");
    for definition in DEFINITIONS {
        let _ = write!(source, "{}", definition.as_lua(version));
    }
    Library { source: source.into(), functions: Functions::of(version) }
});

/// The functions of the library.
pub(crate) fn functions() -> &'static Functions {
    &LIBRARY.functions
}

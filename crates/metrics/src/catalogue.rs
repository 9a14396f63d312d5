//! Every metric there is: its name, what it is, its labels and its help. Named by Prometheus' conventions: base units,
//! the unit last, `_total` on what counts.

use prometheus::proto::MetricType;

/// What one metric is.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// `vestibule_queue_waiting`
    pub name: &'static str,
    /// Whether it counts, measures or distributes.
    pub kind: MetricType,
    /// Names of its labels, in the order in which their values are given.
    pub labels: &'static [&'static str],
    /// What it means, in a sentence.
    pub help: &'static str,
}

const NONE: &[&str] = &[];
/// What every metric of a queue is told apart by.
const QUEUE: &[&str] = &["tenant", "queue"];

macro_rules! metrics {
    ($($constant:ident = $kind:ident $name:literal $labels:expr, $help:literal;)*) => {
        $(pub(crate) const $constant: Metric =
            Metric { name: $name, kind: MetricType::$kind, labels: $labels, help: $help };)*
        /// All metrics, in the order in which they are written.
        pub const CATALOGUE: &[Metric] = &[$($constant),*];
    };
}

metrics! {
    UP = GAUGE "vestibule_up" NONE, "1 if the store answers and every queue could be read, else 0.";
    STORE_UP = GAUGE "vestibule_store_up" NONE, "1 if the store answers, else 0.";
    STORE_PING = GAUGE "vestibule_store_ping_seconds" NONE, "How long the store took to answer the least question.";
    BUILD_INFO = GAUGE "vestibule_build_info" &["version", "architecture"], "Always 1; the labels say what runs.";
    QUEUES = GAUGE "vestibule_queues" NONE, "How many queues the store lists.";

    QUEUE_UP = GAUGE "vestibule_queue_up" QUEUE, "1 if the queue could be read, else 0.";
    WAITING = GAUGE "vestibule_queue_waiting" QUEUE, "Sessions that wait in line.";
    ACTIVE = GAUGE "vestibule_queue_active" QUEUE, "Places that are taken: sessions that are let in.";
    QUOTA = GAUGE "vestibule_queue_quota" QUEUE, "Most sessions that may be let in at once.";
    OLDEST_WAIT = GAUGE "vestibule_queue_oldest_wait_seconds" QUEUE,
        "How long the head of the line has waited; 0 if nobody waits.";
    ADMISSIONS = GAUGE "vestibule_queue_admissions_per_second" QUEUE,
        "Admissions out of the line, over the last five minutes at most.";
    ADMISSIONS_LIMIT = GAUGE "vestibule_queue_admissions_per_second_limit" QUEUE,
        "What admissions_per_minute allows; absent where there is no limit.";
    RECOVERING = GAUGE "vestibule_queue_recovering" QUEUE,
        "1 while a lost state is being taken back and nobody new is admitted.";
    MODE = GAUGE "vestibule_queue_mode" &["tenant", "queue", "mode"],
        "1 for the mode that the queue is in, 0 for the others.";

    JOINED = COUNTER "vestibule_queue_joined_total" QUEUE, "Sessions that joined.";
    CONFIRMED = COUNTER "vestibule_queue_confirmed_total" QUEUE,
        "Sessions whose ticket came back for the first time.";
    RETURNED = COUNTER "vestibule_queue_returned_total" QUEUE, "Sessions that came back by their ticket.";
    ADMITTED = COUNTER "vestibule_queue_admitted_total" QUEUE, "Sessions admitted by the rules.";
    RELEASED = COUNTER "vestibule_queue_released_total" QUEUE, "Sessions admitted by an operator's release.";
    LEFT = COUNTER "vestibule_queue_left_total" QUEUE, "Sessions that left by themselves.";
    ENDED = COUNTER "vestibule_queue_ended_total" QUEUE, "Sessions ended by an operator or by max_session.";
    WENT_AWAY = COUNTER "vestibule_queue_went_away_total" QUEUE, "Waiting sessions whose page was closed.";
    EXPIRED = COUNTER "vestibule_queue_expired_total" &["tenant", "queue", "state"],
        "Sessions that lapsed, by where they were: line or places.";
    WAIT = HISTOGRAM "vestibule_queue_wait_seconds" QUEUE, "How long the admitted had waited.";

    PURGE_TIMESTAMP = GAUGE "vestibule_purge_timestamp_seconds" NONE,
        "When the last purge ended, in seconds since 1970 by the store's clock.";
    PURGE_DURATION = GAUGE "vestibule_purge_duration_seconds" NONE, "How long the last purge took.";
    PURGE_QUEUES = GAUGE "vestibule_purge_queues" NONE, "Queues that the last purge looked at.";
    PURGE_FAILED = GAUGE "vestibule_purge_failed_queues" NONE, "Queues that the last purge could not purge.";
    PURGE_EXPIRED = GAUGE "vestibule_purge_expired_sessions" NONE, "Lapsed sessions that the last purge removed.";
    PURGE_TOMBSTONES = GAUGE "vestibule_purge_tombstones" NONE, "Old tombstones that the last purge removed.";
    PURGE_ADMITTED = GAUGE "vestibule_purge_admitted_sessions" NONE,
        "Sessions that the last purge admitted into the places it freed.";
    PURGE_UNFINISHED = GAUGE "vestibule_purge_unfinished" NONE,
        "1 if the last purge ran out of time before it ran out of work.";

    REQUESTS = COUNTER "vestibule_requests_total" &["outcome"], "Requests that this process answered.";
    REQUEST_DURATION = HISTOGRAM "vestibule_request_duration_seconds" &["outcome"],
        "Time from a request to the head of its answer, the origin's share included.";
    STORE_DURATION = HISTOGRAM "vestibule_request_store_seconds" NONE,
        "Time that the store took of a request that asked it.";
}

//! All metrics: name, type, labels and help. Names follow the conventions of Prometheus: base units, the unit last,
//! `_total` for counters.

use prometheus::proto::MetricType;

/// The description of a metric.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// `vestibule_queue_waiting`
    pub name: &'static str,
    /// Counter, gauge or histogram.
    pub kind: MetricType,
    /// Label names, in the order of the label values.
    pub labels: &'static [&'static str],
    /// Meaning, in one sentence.
    pub help: &'static str,
}

const NONE: &[&str] = &[];
/// The labels of every metric of a queue.
const QUEUE: &[&str] = &["tenant", "queue"];
const JOB_QUEUE: &[&str] = &["job_queue"];

macro_rules! metrics {
    ($($constant:ident = $kind:ident $name:literal $labels:expr, $help:literal;)*) => {
        $(pub(crate) const $constant: Metric =
            Metric { name: $name, kind: MetricType::$kind, labels: $labels, help: $help };)*
        /// All metrics, in the order in which they are written.
        pub const CATALOG: &[Metric] = &[$($constant),*];
    };
}

metrics! {
    UP = GAUGE "vestibule_up" NONE, "1 if the store answers and every queue and job queue could be read, else 0.";
    STORE_UP = GAUGE "vestibule_store_up" NONE, "1 if the store answers, else 0.";
    STORE_ROUND_TRIP = GAUGE "vestibule_store_round_trip_seconds" NONE,
        "Round-trip time of a minimal store command in seconds.";
    BUILD_INFO = GAUGE "vestibule_build_info" &["version", "architecture"],
        "Always 1; the labels identify the running version.";
    QUEUES = GAUGE "vestibule_queues" NONE, "Number of queues in the store.";

    QUEUE_UP = GAUGE "vestibule_queue_up" QUEUE, "1 if the queue could be read, else 0.";
    WAITING = GAUGE "vestibule_queue_waiting" QUEUE, "Waiting sessions.";
    MAX_WAITING = GAUGE "vestibule_queue_max_waiting" QUEUE,
        "Maximum number of waiting sessions; absent without a limit.";
    ACTIVE = GAUGE "vestibule_queue_active" QUEUE, "Active sessions.";
    RESERVED = GAUGE "vestibule_queue_reserved" QUEUE,
        "Slots reserved for active sessions that have not returned since state was lost, for active_ttl at most.";
    QUOTA = GAUGE "vestibule_queue_quota" QUEUE, "Maximum number of active sessions.";
    OLDEST_WAIT = GAUGE "vestibule_queue_oldest_wait_seconds" QUEUE,
        "Wait of the first session in line in seconds; 0 if the line is empty.";
    ADMISSIONS = GAUGE "vestibule_queue_admissions_per_second" QUEUE,
        "Admissions from the line per second, over the last five minutes at most.";
    ADMISSIONS_LIMIT = GAUGE "vestibule_queue_admissions_per_second_limit" QUEUE,
        "Admission limit per second; absent without a limit.";
    ADMISSIONS_STEP = GAUGE "vestibule_queue_admissions_step_seconds" QUEUE,
        "Seconds between stepped admissions; absent without steps.";
    RECOVERING = GAUGE "vestibule_queue_recovering" QUEUE,
        "1 while the queue recovers lost state and admits nobody new.";
    PRE_TICKET_REQUIRED = GAUGE "vestibule_queue_pre_ticket_required" QUEUE,
        "1 while newcomers need a pre-ticket to join, else 0.";
    ATTACK_MODE = GAUGE "vestibule_queue_attack_mode" QUEUE, "1 while the queue is in attack mode, else 0.";
    LIMITS_ENFORCED = GAUGE "vestibule_queue_limits_enforced" QUEUE,
        "1 while limits of joins and proof of work apply: in mode enforce and in attack mode, else 0.";
    WINDOW_JOINS = GAUGE "vestibule_queue_window_joins" QUEUE,
        "Joins in the current window of 300 seconds and the one before.";
    LARGEST_NETWORK_JOINS = GAUGE "vestibule_queue_largest_network_joins" QUEUE,
        "Joins of the largest network in these windows, 0 below 16; absent if networks are not shown.";
    MODE = GAUGE "vestibule_queue_mode" &["tenant", "queue", "mode"],
        "1 for the current mode of the queue, 0 for the others.";

    PHASE = GAUGE "vestibule_queue_phase" &["tenant", "queue", "phase"],
        "1 for the current phase of a scheduled queue, 0 for the others.";
    EVENT_STARTS_IN = GAUGE "vestibule_queue_event_starts_in_seconds" QUEUE,
        "Seconds until the current or next event of a scheduled queue starts, negative afterwards.";
    LOBBY_TICKETS = COUNTER "vestibule_queue_lobby_tickets_total" QUEUE,
        "Lobby tickets issued for the current event of a scheduled queue.";
    SALE_KEY_MISSING = GAUGE "vestibule_queue_sale_key_missing" QUEUE,
        "1 if the gates do not know the sale key of a draw or of invitations that can still be used, else 0; absent if there are none.";
    BEACON_MISSING = GAUGE "vestibule_queue_event_beacon_missing_seconds" QUEUE,
        "Seconds since the round of the beacon was published that the draw of the current event waits for; absent unless its value is missing.";

    JOINED = COUNTER "vestibule_queue_joined_total" QUEUE, "Sessions that joined.";
    CONFIRMED = COUNTER "vestibule_queue_confirmed_total" QUEUE, "Sessions confirmed by a returned ticket.";
    RETURNED = COUNTER "vestibule_queue_returned_total" QUEUE, "Sessions restored from a ticket.";
    ADMITTED = COUNTER "vestibule_queue_admitted_total" QUEUE, "Sessions admitted by the rules.";
    RELEASED = COUNTER "vestibule_queue_released_total" QUEUE, "Sessions admitted by an operator's release.";
    LEFT = COUNTER "vestibule_queue_left_total" QUEUE, "Sessions ended by their visitor.";
    ENDED = COUNTER "vestibule_queue_ended_total" QUEUE, "Sessions ended by an operator or by max_session.";
    AWAY = COUNTER "vestibule_queue_away_total" QUEUE, "Waiting sessions whose page was closed.";
    PRE_TICKETS_ISSUED = COUNTER "vestibule_queue_pre_tickets_issued_total" QUEUE, "Pre-tickets issued to first visits.";
    PRE_TICKETS_REDEEMED = COUNTER "vestibule_queue_pre_tickets_redeemed_total" QUEUE,
        "Sessions that joined by a pre-ticket.";
    IDENTITIES = COUNTER "vestibule_queue_identities_total" &["tenant", "queue", "result"],
        "Verified tokens of accounts by result: accepted or rejected.";
    JOINS_REJECTED = COUNTER "vestibule_queue_joins_rejected_total" &["tenant", "queue", "reason"],
        "Rejected joins by reason: blocked, full, rate or limit.";
    JOINS_OVER_LIMIT = COUNTER "vestibule_queue_joins_over_limit_total" &["tenant", "queue", "scope"],
        "Joins above per_address or per_network by scope: address or network. In mode monitor they are not rejected.";
    JOINS_CHALLENGED = COUNTER "vestibule_queue_joins_challenged_total" QUEUE,
        "Newcomers who had to prove work, or more of it, before they join.";
    PROOFS = COUNTER "vestibule_queue_proofs_total" &["tenant", "queue", "result"],
        "Proofs of work by result: valid or invalid.";
    DELAYED_JOINS = COUNTER "vestibule_queue_delayed_joins_total" QUEUE,
        "Joins without the proof of work that they need, after a waiting time.";
    CLIENT_ADDRESS_STATE = GAUGE "vestibule_queue_client_address_state" &["tenant", "queue", "state"],
        "1 for the current state of client addresses, 0 for the others: ok, unusable or extra_proxy.";
    EXPIRED = COUNTER "vestibule_queue_expired_total" &["tenant", "queue", "state"],
        "Expired sessions by state: waiting or active.";
    WAIT = HISTOGRAM "vestibule_queue_wait_seconds" QUEUE, "Wait of admitted sessions in seconds.";

    JOB_QUEUE_JOBS = GAUGE "vestibule_job_queue_jobs" &["job_queue", "state"],
        "Jobs by state: ready, delayed, running or dead.";
    JOB_QUEUE_OLDEST_AGE = GAUGE "vestibule_job_queue_oldest_age_seconds" JOB_QUEUE,
        "Seconds since the oldest job that is not finished was accepted; 0 without one.";
    JOB_QUEUE_BLOCKED_GROUP_AGE = GAUGE "vestibule_job_queue_blocked_group_age_seconds" JOB_QUEUE,
        "Seconds for which the first job of a group has failed while others of the group wait; of the group blocked longest, 0 without one.";
    JOBS = COUNTER "vestibule_jobs_total" &["job_queue", "event"],
        "Jobs by event: enqueued, duplicate, acknowledged, failed, requeued, dead, unknown, resolved, canceled, replayed, refused or lost.";
    HELD_ORDERS = COUNTER "vestibule_held_orders_total" &["job_queue", "outcome"],
        "Held orders by outcome: completed, failed or unknown. A late result of an unknown order counts, too.";
    ORDERS_NOT_HELD = COUNTER "vestibule_orders_not_held_total" &["job_queue", "action"],
        "Orders that this process could not store, by what it did with them: forwarded or refused.";
    SCHEDULE_LAST_SUCCESS = GAUGE "vestibule_schedule_last_success_timestamp_seconds" &["job_queue", "schedule"],
        "When a job of the schedule was last enqueued at its time, or its times were set, in seconds since 1970.";
    SCHEDULE_MISSED = GAUGE "vestibule_schedule_missed_timestamp_seconds" &["job_queue", "schedule"],
        "When the second occurrence after the last success is due, in seconds since 1970.";
    WEBHOOK_EVENTS_DROPPED = COUNTER "vestibule_webhook_events_dropped_total" JOB_QUEUE,
        "Webhook events that this process could not enqueue in the job queue that delivers them.";

    PURGE_TIMESTAMP = GAUGE "vestibule_purge_timestamp_seconds" NONE,
        "End of the last purge, in seconds since 1970 by the store's clock.";
    PURGE_DURATION = GAUGE "vestibule_purge_duration_seconds" NONE, "Duration of the last purge in seconds.";
    PURGE_FAILED = GAUGE "vestibule_purge_failed_queues" NONE, "Queues that failed in the last purge.";
    PURGE_EXPIRED = GAUGE "vestibule_purge_expired_sessions" NONE, "Expired sessions removed by the last purge.";
    PURGE_TOMBSTONES = GAUGE "vestibule_purge_tombstones" NONE, "Old tombstones removed by the last purge.";
    PURGE_ADMITTED = GAUGE "vestibule_purge_admitted_sessions" NONE,
        "Sessions admitted by the last purge to slots that it freed.";
    PURGE_UNFINISHED = GAUGE "vestibule_purge_unfinished" NONE, "1 if the last purge ran out of time.";

    REQUESTS = COUNTER "vestibule_requests_total" &["outcome"], "Requests answered by this process.";
    REQUEST_DURATION = HISTOGRAM "vestibule_request_duration_seconds" &["outcome"],
        "Time from a request to the head of its response in seconds, including the origin.";
    STORE_DURATION = HISTOGRAM "vestibule_request_store_seconds" NONE,
        "Time spent on store calls per request in seconds.";

    CONNECTIONS = GAUGE "vestibule_connections" NONE, "Open connections of visitors to this process.";
    CONNECTIONS_LIMIT = GAUGE "vestibule_connections_limit" NONE, "Maximum number of open connections.";
    CONNECTIONS_REFUSED = COUNTER "vestibule_connections_refused_total" NONE, "Connections refused at a limit.";
    CONNECTIONS_DISPLACED = COUNTER "vestibule_connections_displaced_total" NONE, "Connections closed at a limit, to make room for others.";
    TUNNELS = GAUGE "vestibule_tunnels" NONE, "Open tunnels through this process, such as those of web sockets.";
    TUNNELS_LIMIT = GAUGE "vestibule_tunnels_limit" NONE, "Maximum number of open tunnels.";
    STREAMS = GAUGE "vestibule_streams" NONE, "Open streams of this process.";
    STREAMS_LIMIT = GAUGE "vestibule_streams_limit" NONE, "Maximum number of open streams; 0 if streams are off.";

    JOB_DURATION = HISTOGRAM "vestibule_job_duration_seconds" JOB_QUEUE,
        "Duration of the calls of this process' worker in seconds.";
}

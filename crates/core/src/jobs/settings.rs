//! Settings of a job queue.

use serde_json::{Map, Value};

use super::LEASE_SECONDS;
use super::id::JobQueueId;
use super::media_type::MediaType;
use super::schedule::{JobSchedule, SCHEDULE_PAYLOADS_MAX, SCHEDULES_MAX};
use super::target::{JobTarget, JobTargetKind, fingerprint};
use super::webhook::{JobWebhook, WebhookEvent};
use crate::fields::FieldErrorCode as Code;
use crate::fields::{Bounded, FieldError, Flag, List, Object as _, ObjectReader, Omissible, Reader, Reading};
use crate::time::MICROS_PER_SECOND;
use crate::{Message, TenantId};

/// Maximum size of a payload in bytes (J15).
pub const PAYLOAD_MAX: usize = 256 * 1024;
/// Maximum number of leases of a job queue at a time.
pub const CONCURRENCY_MAX: u64 = 1_000;
/// Maximum of `dispatches_per_minute`.
const DISPATCHES_MAX: u64 = 600_000;
/// Maximum of `max_attempts`.
const ATTEMPTS_MAX: u64 = 100;
/// Maximum of `min_backoff` and `max_backoff`, in seconds.
const BACKOFF_MAX: u64 = 3_600;
/// Maximum of `timeout`, in seconds.
const TIMEOUT_MAX: u64 = 900;
/// Maximum of `max_jobs`.
const JOBS_MAX: u64 = 10_000_000;
/// Maximum of `max_bytes`.
const BYTES_MAX: u64 = 4 << 30;
/// Default of `max_bytes`.
const BYTES: u64 = 64 << 20;
/// Seconds of a day.
const DAY: u64 = 86_400;
/// Bounds of `retention`: one minute to ten days.
const RETENTION_MIN: u64 = 60;
const RETENTION_MAX: u64 = 10 * DAY;
/// Maximum of `enqueues_per_minute`.
const ENQUEUES_MAX: u64 = 600;
/// Maximum number of content types in `accepts`.
const ACCEPTS_MAX: usize = 20;
/// Default of `accepts`: JSON, forms and plain text.
const ACCEPTS: [&str; 4] =
    ["application/json", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];
/// Defaults of `timeout` and `retention` for held orders: visitors wait for them.
const HELD_TIMEOUT: u64 = 60;
const HELD_RETENTION: u64 = 900;
/// Bounds of `dead_letter_retention`: one day to two weeks.
const DEAD_RETENTION_MAX: u64 = 14 * DAY;

/// Who may enqueue jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobProducers {
    /// Clients of the API.
    Api,
    /// Active sessions of the tenant's queues, too.
    Active,
    /// Every visitor with a valid ticket of the tenant's queues, too.
    Visitors,
}

crate::word_field!(JobProducers { Api = "api", Active = "active", Visitors = "visitors" });

/// Which held orders are sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobRetry {
    /// Those that the origin has certainly not processed.
    Safe,
    /// Also those that it may have processed, for origins that honor `Idempotency-Key`.
    Always,
}

crate::word_field!(JobRetry { Safe = "safe", Always = "always" });

crate::fields! {
    /// The settings of a job queue. Times are in seconds.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct JobQueueSettings as "JobQueueDraft" {
        /// ID of the job queue. A FIFO job queue ends with `.fifo`.
        pub id: JobQueueId,
        /// ID of the tenant.
        pub tenant: TenantId,
        /// Where jobs go.
        pub target: JobTarget,
        /// Who enqueues jobs beside clients of the API: `active` sessions, or all `visitors` with a valid ticket. `api` is nobody
        /// else.
        pub producers: JobProducers = JobProducers::Api,
        /// Content types that visitors can enqueue. The API takes every type.
        pub accepts: List<MediaType, 1, ACCEPTS_MAX> = ACCEPTS.iter().filter_map(|text| text.parse().ok()).collect(),
        /// Maximum number of jobs that a session enqueues per minute.
        pub enqueues_per_minute: Bounded<1, ENQUEUES_MAX> = 10,
        /// Seconds after which a call of the handler has failed. For the target `origin` the default is 60.
        pub timeout: Bounded<1, TIMEOUT_MAX> = 300,
        /// Maximum number of jobs that run at a time.
        pub concurrency: Bounded<1, CONCURRENCY_MAX> = 10,
        /// Maximum number of jobs that start per minute; no limit if it is absent.
        pub dispatches_per_minute: Omissible<Bounded<1, DISPATCHES_MAX>>,
        /// Failed attempts after which a job becomes a dead letter.
        pub max_attempts: Bounded<1, ATTEMPTS_MAX> = 8,
        /// Seconds until the second attempt. Each further attempt doubles them.
        pub min_backoff: Bounded<1, BACKOFF_MAX> = 5,
        /// The most seconds between two attempts.
        pub max_backoff: Bounded<1, BACKOFF_MAX> = 900,
        /// Seconds after acceptance during which an equal job of a FIFO job queue is a duplicate.
        pub deduplication_interval: Bounded<0, DAY> = 300,
        /// Seconds after which a job that is not finished becomes a dead letter. For the target `origin` the default is 900.
        pub retention: Bounded<RETENTION_MIN, RETENTION_MAX> = 4 * DAY,
        /// Seconds for which dead letters are kept.
        pub dead_letter_retention: Bounded<DAY, DEAD_RETENTION_MAX> = DEAD_RETENTION_MAX,
        /// Seconds for which the result of a completed job is kept. For the target `origin` at least `deduplication_interval`.
        pub result_ttl: Bounded<60, DAY> = 3_600,
        /// Maximum number of jobs, dead letters included.
        pub max_jobs: Bounded<1, JOBS_MAX> = 1_000_000,
        /// Maximum size of all payloads together in bytes, with their content types and parameters, dead letters included.
        pub max_bytes: Bounded<1, BYTES_MAX> = BYTES,
        /// Which held orders are sent again: `safe`, those that the origin has certainly not processed; `always`, also those that
        /// it may have processed, for origins that honor `Idempotency-Key`. For the target `origin` only.
        pub retry: JobRetry = JobRetry::Safe,
        /// Jobs that are enqueued at fixed times.
        pub schedules: List<JobSchedule, 0, SCHEDULES_MAX> = Vec::new(),
        /// Events of the tenant that are delivered as jobs. For the target `http` only.
        pub webhook: Omissible<JobWebhook>,
        /// Whether jobs are accepted but none is started.
        pub paused: Flag = false,
    }
    check = check_settings;
}

fn check_settings(settings: &mut JobQueueSettings, object: &mut ObjectReader<'_>) {
    if settings.holds_orders() {
        check_held_orders(settings, object);
    } else if settings.retry != JobRetry::Safe {
        settings.retry = JobRetry::Safe;
        if !object.is_stored() {
            object.error("retry", Code::OriginTargetOnly);
        }
    }
    if settings.webhook.is_some() {
        check_webhook(settings, object);
    }
    if !object.is_stored() {
        check_schedules(settings, object);
    }
    if object.has_errors() || settings.max_backoff >= settings.min_backoff {
        return;
    }
    if object.is_stored() {
        settings.max_backoff = settings.min_backoff;
    } else {
        object.error("max_backoff", Code::MaxBackoffTooShort);
    }
}

fn check_held_orders(settings: &mut JobQueueSettings, object: &mut ObjectReader<'_>) {
    for (name, value, default) in
        [("timeout", &mut settings.timeout, HELD_TIMEOUT), ("retention", &mut settings.retention, HELD_RETENTION)]
    {
        if !object.has(name) {
            *value = default;
        }
    }
    if !settings.id.is_fifo() {
        object.error("target.kind", Code::OriginNeedsFifo);
    }
    if settings.producers != JobProducers::Api {
        settings.producers = JobProducers::Api;
        if !object.is_stored() {
            object.error("producers", Code::OriginProducers);
        }
    }
}

fn check_webhook(settings: &mut JobQueueSettings, object: &mut ObjectReader<'_>) {
    if settings.target.kind != JobTargetKind::Http {
        settings.webhook = None;
        if !object.is_stored() {
            object.error("webhook", Code::HttpTargetOnly);
        }
    } else if settings.producers != JobProducers::Api {
        // Their jobs have the same signature.
        settings.producers = JobProducers::Api;
        if !object.is_stored() {
            object.error("producers", Code::WebhookProducers);
        }
    }
}

fn check_schedules(settings: &JobQueueSettings, object: &mut ObjectReader<'_>) {
    if settings.holds_orders() && !settings.schedules.is_empty() {
        object.error("schedules", Code::ScheduleOfOrders);
        return;
    }
    let payloads = settings.schedules.iter().map(|schedule| schedule.payload.len()).sum::<usize>();
    if payloads > SCHEDULE_PAYLOADS_MAX {
        object.error("schedules", Code::SchedulePayloadsTooLarge.with("most", SCHEDULE_PAYLOADS_MAX));
    }
    for (index, JobSchedule { id, group_id, .. }) in settings.schedules.iter().enumerate() {
        let mut error = |field: &str, fault: Message| object.error(&format!("schedules[{index}].{field}"), fault);
        match (settings.id.is_fifo(), group_id) {
            (true, None) => error("group_id", Code::ScheduleGroup.into()),
            (false, Some(_)) => error("group_id", Code::ScheduleGroupUnused.into()),
            _ => {}
        }
        if settings.schedules[..index].iter().any(|other| other.id == *id) {
            error("id", Code::ScheduleIdTaken.with("id", id.as_str()));
        }
    }
}

impl JobQueueSettings {
    /// All settings as they are stored, with the signing secret.
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        self.write(&mut map);
        map.into()
    }

    /// The settings for plans and audit events: in place of the signing secret and of payloads (J19), their fingerprints.
    pub fn to_shown_value(&self) -> Value {
        let mut shown = self.to_value();
        if let Some(secret) = &self.target.secret {
            shown["target"]["secret"] = secret.fingerprint().into();
        }
        for (index, schedule) in self.schedules.iter().enumerate() {
            shown["schedules"][index]["payload"] = fingerprint(schedule.payload.as_bytes()).into();
        }
        shown
    }

    /// Parses stored settings. Unknown fields are ignored, and invalid optional ones have their defaults.
    ///
    /// # Errors
    /// Returns the invalid fields without which a job queue is nothing.
    pub fn from_stored(value: &Value) -> Result<Self, Vec<FieldError>> {
        Reader::read(value, Reading::Stored)
    }

    /// Completes settings that replace those stored `before`: an absent signing secret stays. Returns what cannot change, since
    /// stored jobs would be lost or sent elsewhere.
    pub fn continue_from(&mut self, before: &Self) -> Vec<FieldError> {
        if self.target.kind == JobTargetKind::Http && self.target.secret.is_none() {
            self.target.secret.clone_from(&before.target.secret);
        }
        let mut errors = Vec::new();
        if self.tenant != before.tenant {
            errors.push(FieldError::new("tenant", Code::JobQueueTenant));
        }
        if self.holds_orders() != before.holds_orders() {
            errors.push(FieldError::new("target.kind", Code::OrdersKind));
        }
        errors
    }

    /// Whether the jobs are held orders, which are sent to the origin of their queue.
    pub fn holds_orders(&self) -> bool {
        self.target.kind == JobTargetKind::Origin
    }

    /// Whether rules of this tenant's queues can hold orders in it (H1).
    pub fn holds_orders_of(&self, tenant: &TenantId) -> bool {
        self.tenant == *tenant && self.holds_orders()
    }

    /// Whether it delivers this webhook event: one of its own tenant, of those that its webhook names.
    pub fn delivers(&self, event: &WebhookEvent) -> bool {
        self.tenant == event.tenant && self.webhook.as_ref().is_some_and(|webhook| webhook.delivers(event))
    }

    /// H8: whether an order that the origin may have received is not sent again.
    pub fn sends_once(&self) -> bool {
        self.holds_orders() && self.retry == JobRetry::Safe
    }

    /// J15: the most jobs, and the most bytes of them, with which a job is accepted. Jobs of visitors leave a tenth to the API,
    /// rounded up, unless the jobs are held orders, which only visitors have.
    pub fn room(&self, by_visitor: bool) -> (u64, u64) {
        let left = |most: u64| if by_visitor && !self.holds_orders() { most.div_ceil(10).min(most - 1) } else { 0 };
        (self.max_jobs - left(self.max_jobs), self.max_bytes - left(self.max_bytes))
    }

    /// J9: seconds of the lease of a received job.
    pub fn lease_seconds(&self) -> u64 {
        if self.target.kind == JobTargetKind::Pull { self.timeout } else { LEASE_SECONDS }
    }

    /// J7: seconds after acceptance during which an equal job is a duplicate. An order that waits is one order, however long it
    /// waits, also if `retention` or `timeout` is raised meanwhile; its end decides until when it has duplicates (H8).
    pub fn duplicate_seconds(&self) -> u64 {
        let interval = self.deduplication_interval;
        if self.holds_orders() && interval > 0 { RETENTION_MAX + TIMEOUT_MAX } else { interval }
    }

    /// J18: seconds after its end for which the result of a completed job is kept. That of an order is kept at least as long as an
    /// equal order is a duplicate, whose visitor gets that result (H8).
    pub fn result_seconds(&self) -> u64 {
        if self.holds_orders() { self.result_ttl.max(self.deduplication_interval) } else { self.result_ttl }
    }

    /// Whether visitors can enqueue content of this type.
    pub fn accepts(&self, content_type: &str) -> bool {
        MediaType::of_header(content_type).is_some_and(|media_type| self.accepts.contains(&media_type))
    }

    /// J10: microseconds from failed attempt `attempt`, counted from 1, to the next one. `spread` is uniform from 0 to 255 and
    /// moves it by up to 20 % either way.
    pub fn backoff(&self, attempt: u64, spread: u8) -> u64 {
        let doubled = self
            .min_backoff
            .saturating_mul(1_u64.checked_shl(attempt.saturating_sub(1).min(63) as u32).unwrap_or(u64::MAX));
        let seconds = doubled.min(self.max_backoff);
        seconds * MICROS_PER_SECOND / 1_000 * (800 + 400 * u64::from(spread) / 255)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fields::joined;

    fn draft(more: &Value) -> Value {
        let secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
        let target = json!({ "kind": "http", "url": "https://crm.acme.example/jobs", "secret": secret });
        let mut value = json!({ "id": "emails", "tenant": "acme", "target": target });
        value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        value
    }

    fn payloads(schedules: usize, size: usize) -> Vec<Value> {
        let schedule = |number| {
            let payload = "x".repeat(size);
            json!({ "id": format!("s{number}"), "cron": "@daily", "payload": payload, "content_type": "text/plain" })
        };
        (0..schedules).map(schedule).collect()
    }

    fn errors(more: &Value) -> String {
        joined(&JobQueueSettings::from_json(&draft(more)).unwrap_err())
    }

    #[test]
    fn settings_round_trip() {
        let schedule = json!({ "id": "nightly", "cron": "@daily", "payload": "{\"key\":4711}" });
        let webhook = json!({ "event_types": ["queue.reset"], "queues": ["tour"] });
        let given = json!({ "dispatches_per_minute": 600, "concurrency": 3, "paused": true, "schedules": [schedule], "webhook": webhook });
        let settings = JobQueueSettings::from_json(&draft(&given)).unwrap();
        assert_eq!((settings.max_attempts, settings.retention, settings.timeout), (8, 345_600, 300));
        assert_eq!(JobQueueSettings::from_json(&settings.to_value()).unwrap(), settings);
        let shown = settings.to_shown_value().to_string();
        assert!(shown.contains("sha256:") && !shown.contains("whsec_") && !shown.contains("4711"), "{shown}");
    }

    #[test]
    fn stored_payloads_above_the_limit_stay() {
        let stored = draft(&json!({ "schedules": payloads(4, SCHEDULE_PAYLOADS_MAX / 2) }));
        assert_eq!(JobQueueSettings::from_stored(&stored).unwrap().schedules.len(), 4);
        let fitting = draft(&json!({ "schedules": payloads(2, SCHEDULE_PAYLOADS_MAX / 2) }));
        assert!(JobQueueSettings::from_json(&fitting).is_ok());
    }

    #[test]
    fn invalid_settings_name_the_field() {
        for (more, expected) in [
            (json!({ "id": "e mails" }), "id: must be 1 to 40 characters A-Z"),
            (json!({ "concurrency": 0 }), "concurrency: must be a whole number from 1 to 1000; got 0"),
            (json!({ "min_backoff": 60, "max_backoff": 59 }), "max_backoff: must not be below min_backoff"),
            (json!({ "target": null }), "target: is required"),
            (json!({ "target": { "kind": "push" } }), "target.kind: must be one of \"http\", \"pull\", \"origin\""),
            (json!({ "target": { "kind": "http" } }), "target.url: is required"),
            (json!({ "target": { "kind": "origin" } }), "target.kind: the kind \"origin\" needs a FIFO job queue"),
            (json!({ "retry": "always" }), "retry: applies to the target kind \"origin\" only"),
            (json!({ "producers": "all" }), "producers: must be one of \"api\", \"active\", \"visitors\""),
            (json!({ "accepts": ["json"] }), "accepts[0]: must be a media type"),
            (json!({ "enqueues_per_minute": 0 }), "enqueues_per_minute: must be a whole number from 1 to 600; got 0"),
            (
                json!({ "schedules": [{ "id": "a", "cron": "@daily", "payload": "{}", "group_id": "g" }] }),
                "schedules[0].group_id: must be left out",
            ),
            (
                json!({ "id": "a.fifo", "schedules": [{ "id": "a", "cron": "@daily", "payload": "{}" }] }),
                "schedules[0].group_id: is required",
            ),
            (
                json!({ "schedules": [{ "id": "a", "cron": "@daily", "payload": "{}" }, { "id": "a", "cron": "@daily", "payload": "{}" }] }),
                "schedules[1].id: is already used",
            ),
            (
                json!({ "schedules": payloads(3, SCHEDULE_PAYLOADS_MAX / 3 + 1) }),
                "schedules: must have payloads of at most 32768 bytes together",
            ),
            (
                json!({ "webhook": { "event_types": ["queue.reset"] }, "target": { "kind": "pull" } }),
                "webhook: applies to the target kind \"http\" only",
            ),
            (
                json!({ "webhook": { "event_types": ["queue.reset"] }, "producers": "active" }),
                "producers: must be \"api\" for a job queue with a webhook",
            ),
            (
                json!({ "webhook": { "event_types": ["reset"] } }),
                "webhook.event_types[0]: must be one of \"queue.updated\"",
            ),
            (json!({ "from_a_later_version": 1 }), "from_a_later_version: is unknown"),
        ] {
            assert!(errors(&more).contains(expected), "{more}: {}", errors(&more));
        }
    }

    #[test]
    fn held_orders_have_defaults_of_their_own() {
        let orders = |more: &Value| {
            let mut value = json!({ "id": "orders.fifo", "tenant": "acme", "target": { "kind": "origin" } });
            value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            JobQueueSettings::from_json(&value)
        };
        let settings = orders(&json!({ "timeout": null })).unwrap();
        assert_eq!((settings.timeout, settings.retention, settings.retry), (60, 900, JobRetry::Safe));
        assert_eq!(JobQueueSettings::from_json(&settings.to_value()).unwrap(), settings);
        let settings = orders(&json!({ "timeout": 300, "retention": 3_600, "retry": "always" })).unwrap();
        assert_eq!((settings.timeout, settings.retention, settings.retry), (300, 3_600, JobRetry::Always));
        let error = orders(&json!({ "producers": "visitors" })).unwrap_err();
        assert!(error[0].to_string().starts_with("producers: must be \"api\" for the target kind"), "{error:?}");
    }

    #[test]
    fn stored_jobs_keep_their_tenant_and_kind() {
        let orders = json!({ "id": "emails.fifo", "target": { "kind": "origin" } });
        let stored = JobQueueSettings::from_json(&draft(&json!({}))).unwrap();
        for (more, expected) in [
            (json!({ "target": { "kind": "pull" } }), ""),
            (json!({ "tenant": "blue" }), "tenant: cannot change, since stored jobs belong to the tenant"),
            (orders, "target.kind: cannot change between \"origin\" and other kinds"),
        ] {
            let mut settings = JobQueueSettings::from_json(&draft(&more)).unwrap();
            let errors = joined(&settings.continue_from(&stored));
            assert!(errors.starts_with(expected) && errors.is_empty() == expected.is_empty(), "{more}: {errors}");
        }
    }

    #[test]
    fn content_types_are_compared_without_parameters() {
        let settings = JobQueueSettings::from_json(&draft(&json!({}))).unwrap();
        for good in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/x-www-form-urlencoded",
            "application/www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "text/plain",
        ] {
            assert!(settings.accepts(good), "{good}");
        }
        for bad in ["", "text/html", "application/jsonp", "json", "application/json, text/plain"] {
            assert!(!settings.accepts(bad), "{bad}");
        }
        let settings = JobQueueSettings::from_json(&draft(&json!({ "accepts": ["text/csv"] }))).unwrap();
        assert!(settings.accepts("text/csv; header=present") && !settings.accepts("text/plain"));
    }

    #[test]
    fn pulled_jobs_are_leased_for_the_timeout() {
        let settings = |target: Value| JobQueueSettings::from_json(&draft(&json!({ "target": target }))).unwrap();
        assert_eq!(settings(json!({ "kind": "pull" })).lease_seconds(), 300);
        assert_eq!(settings(draft(&json!({}))["target"].clone()).lease_seconds(), LEASE_SECONDS);
    }

    #[test]
    fn backoff_doubles_up_to_its_maximum() {
        let settings = JobQueueSettings::from_json(&draft(&json!({ "min_backoff": 5, "max_backoff": 60 }))).unwrap();
        let milliseconds = |attempt| [0, 255].map(|spread| settings.backoff(attempt, spread) / 1_000);
        assert_eq!(milliseconds(1), [4_000, 6_000]);
        assert_eq!(milliseconds(2), [8_000, 12_000]);
        assert_eq!(milliseconds(4), [32_000, 48_000]);
        for attempt in [5, 6, 64, 65, 100, u64::MAX] {
            assert_eq!(milliseconds(attempt), [48_000, 72_000], "{attempt}");
        }
    }

    #[test]
    fn stored_backoffs_stay_in_order() {
        let stored = draft(&json!({ "min_backoff": 60, "max_backoff": 5, "from_a_later_version": 1 }));
        let settings = JobQueueSettings::from_stored(&stored).unwrap();
        assert_eq!((settings.min_backoff, settings.max_backoff), (60, 60));
    }
}

//! Settings of a job queue.

use serde_json::{Map, Value};

use super::id::JobQueueId;
use super::target::JobTarget;
use crate::TenantId;
use crate::fields::FieldWording as W;
use crate::fields::{Bounded, FieldError, Flag, Object as _, ObjectReader, Omissible, Reader, Reading};
use crate::time::MICROS_PER_SECOND;

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
/// Bounds of `dead_letter_retention`: one day to two weeks.
const DEAD_RETENTION_MAX: u64 = 14 * DAY;

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
        /// Seconds after which a call of the handler has failed.
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
        /// Seconds after which a job that is not finished becomes a dead letter.
        pub retention: Bounded<RETENTION_MIN, RETENTION_MAX> = 4 * DAY,
        /// Seconds for which dead letters are kept.
        pub dead_letter_retention: Bounded<DAY, DEAD_RETENTION_MAX> = DEAD_RETENTION_MAX,
        /// Seconds for which the result of a completed job is kept.
        pub result_ttl: Bounded<60, DAY> = 3_600,
        /// Maximum number of jobs, dead letters included.
        pub max_jobs: Bounded<1, JOBS_MAX> = 1_000_000,
        /// Maximum size of all payloads together in bytes, dead letters included.
        pub max_bytes: Bounded<1, BYTES_MAX> = BYTES,
        /// Whether jobs are accepted but none is started.
        pub paused: Flag = false,
    }
    check = check_settings;
}

fn check_settings(settings: &mut JobQueueSettings, object: &mut ObjectReader<'_>) {
    if object.has_errors() || settings.max_backoff >= settings.min_backoff {
        return;
    }
    if object.is_stored() {
        settings.max_backoff = settings.min_backoff;
    } else {
        object.error("max_backoff", W::MaxBackoffTooShort);
    }
}

impl JobQueueSettings {
    /// All settings as they are stored, with the signing secret.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        self.write(&mut map);
        map.into()
    }

    /// The settings for plans and audit events: in place of the signing secret, its fingerprint.
    #[must_use]
    pub fn to_shown_value(&self) -> Value {
        let mut shown = self.to_value();
        if let Some(secret) = &self.target.secret {
            shown["target"]["secret"] = secret.fingerprint().into();
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

    /// J10: microseconds from failed attempt `attempt`, counted from 1, to the next one. `spread` is uniform from 0 to 255 and
    /// moves it by up to 20 % either way.
    #[must_use]
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

    fn draft(more: &Value) -> Value {
        let secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
        let target = json!({ "kind": "http", "url": "https://crm.acme.example/jobs", "secret": secret });
        let mut value = json!({ "id": "emails", "tenant": "acme", "target": target });
        value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        value
    }

    fn errors(more: &Value) -> String {
        let errors = JobQueueSettings::from_json(&draft(more)).unwrap_err();
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn settings_round_trip() {
        let given = json!({ "dispatches_per_minute": 600, "concurrency": 3, "paused": true });
        let settings = JobQueueSettings::from_json(&draft(&given)).unwrap();
        assert_eq!((settings.max_attempts, settings.retention, settings.timeout), (8, 345_600, 300));
        assert_eq!(JobQueueSettings::from_json(&settings.to_value()).unwrap(), settings);
        let shown = settings.to_shown_value().to_string();
        assert!(shown.contains("sha256:") && !shown.contains("whsec_"), "{shown}");
    }

    #[test]
    fn invalid_settings_name_the_field() {
        for (more, expected) in [
            (json!({ "id": "e mails" }), "id: must be 1 to 40 characters A-Z"),
            (json!({ "concurrency": 0 }), "concurrency: must be a whole number from 1 to 1000; got 0"),
            (json!({ "min_backoff": 60, "max_backoff": 59 }), "max_backoff: must not be below min_backoff"),
            (json!({ "target": null }), "target: is required"),
            (json!({ "target": { "kind": "pull" } }), "target.kind: must be one of \"http\""),
            (json!({ "producers": "api" }), "producers: is unknown"),
        ] {
            assert!(errors(&more).contains(expected), "{more}: {}", errors(&more));
        }
    }

    #[test]
    fn stored_backoffs_stay_in_order() {
        let stored = draft(&json!({ "min_backoff": 60, "max_backoff": 5, "from_a_later_version": 1 }));
        let settings = JobQueueSettings::from_stored(&stored).unwrap();
        assert_eq!((settings.min_backoff, settings.max_backoff), (60, 60));
    }
}

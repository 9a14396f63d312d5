//! Schedules: jobs that a job queue gets at fixed times.
//!
//! A schedule is part of its job queue, so that it is written, exported, audited and removed with it and can't name a job queue
//! that does not exist.

use std::fmt;
use std::str::FromStr;

use chrono::offset::LocalResult;
use chrono::{DateTime, NaiveDateTime, TimeDelta, TimeZone as _, Utc};
use chrono_tz::Tz;
use croner::parser::{CronParser, Seconds, Year};
use serde_json::Value;

use super::content::Payload;
use super::id::{DeduplicationId, JobGroupId};
use super::media_type::MediaType;
use crate::ScheduleId;
use crate::fields::FieldErrorCode as Code;
use crate::fields::{ObjectReader, Omissible, Text};
use crate::time::{MICROS_PER_SECOND, Micros};

/// Maximum number of schedules of a job queue.
pub const SCHEDULES_MAX: usize = 20;
/// Maximum size of the payloads of all schedules of a job queue together, in bytes. Every process reads them with the settings.
pub(super) const SCHEDULE_PAYLOADS_MAX: usize = 32 * 1024;
/// Maximum size of the payload of a schedule, in bytes.
const SCHEDULE_PAYLOAD_MAX: usize = 16 * 1024;
/// Maximum length of a cron expression.
const CRON_MAX: usize = 100;
/// How many values the fields of a cron expression have: minutes, hours, days of the month, months, days of the week.
const FIELD_VALUES: [u32; 5] = [60, 24, 31, 12, 7];
/// After downtime a missed occurrence runs if it is at most this many seconds old (S2).
pub const MISSED_MAX: u64 = 3_600;
/// The longest time that a change of clocks skips, in minutes: some zones have left out a day.
const SKIPPED_MAX: i64 = 25 * 60;

crate::fields! {
    /// A job that is enqueued at fixed times.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct JobSchedule {
        /// ID of the schedule, unique in the job queue.
        pub id: ScheduleId,
        /// When the job is enqueued: minute, hour, day of the month, month and day of the week, such as `30 4 * * 1-5`, or `@hourly`,
        /// `@daily`, `@weekly`, `@monthly` or `@yearly`. `L` is the last day of a month. Times that a change of clocks skips are made up for right after it, and times that
        /// occur twice count once.
        pub cron: Cron,
        /// Time zone of `cron`, such as `Europe/Berlin`.
        pub time_zone: TimeZone = TimeZone::UTC,
        /// Group of the jobs. A FIFO job queue needs it, others have none.
        pub group_id: Omissible<JobGroupId>,
        /// Payload of the jobs.
        pub payload: Text<SCHEDULE_PAYLOAD_MAX>,
        /// Content type of the payload.
        pub content_type: MediaType = MediaType::json(),
    }
    check = check_schedule;
}

fn check_schedule(schedule: &mut JobSchedule, object: &mut ObjectReader<'_>) {
    if object.is_stored() {
        return;
    }
    let payload = schedule.payload();
    if payload.bytes.is_empty() {
        object.error("payload", Code::SchedulePayload);
    } else if payload.is_json() && serde_json::from_slice::<Value>(&payload.bytes).is_err() {
        object.error("payload", Code::SchedulePayloadJson);
    }
}

impl JobSchedule {
    /// The payload of its jobs.
    pub fn payload(&self) -> Payload {
        Payload { content_type: self.content_type.to_string(), bytes: self.payload.clone().into_bytes() }
    }

    /// What identifies the job of a run (S1): of the occurrence at this time in seconds, or of one that somebody asked for. `None`
    /// if the text of the run is too long.
    pub fn deduplication_id(&self, run: impl fmt::Display) -> Option<DeduplicationId> {
        format!("{}@{run}", self.id).parse().ok()
    }

    /// The first occurrence after an instant; `None` if there is none.
    pub fn next_after(&self, after: Micros) -> Option<Micros> {
        let zone = self.time_zone.0;
        let after = DateTime::<Utc>::from_timestamp(after.seconds().cast_signed(), 0)?;
        let mut local = after.with_timezone(&zone).naive_local();
        // In the hour that occurs twice, the local times are those of occurrences that have already been.
        loop {
            local = self.cron.next_local(local)?;
            let instant = instant_of(local, zone)?;
            if instant > after {
                return Some(Micros(0).add_seconds(u64::try_from(instant.timestamp()).ok()?));
            }
        }
    }

    /// The occurrence that is to run at `now` if the last one ran at `last`, or the schedule was first seen then: the latest one
    /// that is not too old (S2).
    pub fn due(&self, last: Micros, now: Micros) -> Option<Micros> {
        let oldest = Micros(now.0.saturating_sub(MISSED_MAX * MICROS_PER_SECOND));
        let upcoming = |after: &Micros| self.next_after(*after).filter(|occurrence| *occurrence <= now);
        std::iter::successors(upcoming(&last.max(oldest)), upcoming).last()
    }
}

/// The instant of a local time. One that a change of clocks skips is the instant of the change, and one that occurs twice is the
/// first (S3).
fn instant_of(local: NaiveDateTime, zone: Tz) -> Option<DateTime<Utc>> {
    let minutes = (0..=SKIPPED_MAX).map(TimeDelta::minutes);
    let valid = minutes.filter_map(|later| match zone.from_local_datetime(&local.checked_add_signed(later)?) {
        LocalResult::Single(instant) | LocalResult::Ambiguous(instant, _) => Some(instant.to_utc()),
        LocalResult::None => None,
    });
    valid.into_iter().next()
}

/// A cron expression of five fields, or a nickname.
#[derive(Debug, Clone)]
pub struct Cron {
    text: String,
    pattern: croner::Cron,
}

impl PartialEq for Cron {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Cron {}

impl Cron {
    fn next_local(&self, after: NaiveDateTime) -> Option<NaiveDateTime> {
        // The pattern is evaluated for local times, which have no zone: UTC has neither gaps nor repetitions.
        let next = self.pattern.find_next_occurrence(&after.and_utc(), false).ok()?;
        Some(next.naive_utc())
    }
}

/// Whether the steps of a field are less than its number of values. `*/90` minutes would be every hour.
fn are_steps_possible((field, values): (&str, u32)) -> bool {
    let steps = field.split(',').filter_map(|part| Some(part.split_once('/')?.1));
    steps.map(str::parse::<u32>).all(|step| step.is_ok_and(|step| step < values))
}

impl FromStr for Cron {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_plain = text.len() <= CRON_MAX && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let is_valid = is_plain && text.split_whitespace().zip(FIELD_VALUES).all(are_steps_possible);
        let pattern = parser.parse(text).map_err(drop).ok().filter(|_| is_valid).ok_or(())?;
        let cron = Self { text: text.trim().to_owned(), pattern };
        // Such as 30 February.
        if cron.next_local(DateTime::UNIX_EPOCH.naive_utc()).is_some() { Ok(cron) } else { Err(()) }
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A time zone of the IANA database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeZone(Tz);

impl TimeZone {
    /// Coordinated universal time.
    pub const UTC: Self = Self(Tz::UTC);
}

impl FromStr for TimeZone {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        text.parse().map(Self).map_err(drop)
    }
}

impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

crate::text_field! {
    Cron: Code::Cron, { "maxLength": CRON_MAX };
    TimeZone: Code::TimeZone, { "maxLength": 64 };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fields::{Field as _, Object as _};

    fn schedule(cron: &str, time_zone: &str) -> JobSchedule {
        let value = json!({ "id": "import", "cron": cron, "time_zone": time_zone, "payload": "{}" });
        JobSchedule::from_json(&value).unwrap()
    }

    fn at(text: &str) -> Micros {
        let time = DateTime::parse_from_rfc3339(text).unwrap();
        Micros(0).add_seconds(time.timestamp().cast_unsigned())
    }

    /// The occurrences after `from`, up to and with `until`.
    fn occurrences(schedule: &JobSchedule, from: &str, until: &str) -> Vec<String> {
        let next = |after: &Micros| schedule.next_after(*after).filter(|next| *next <= at(until));
        let all = std::iter::successors(next(&at(from)), next);
        all.map(|it| DateTime::from_timestamp(it.seconds().cast_signed(), 0).unwrap().format("%d %H:%M").to_string())
            .collect()
    }

    #[test]
    fn occurrences_follow_the_time_zone() {
        let nightly = schedule("30 4 * * *", "Europe/Berlin");
        assert_eq!(occurrences(&nightly, "2027-07-01T00:00:00Z", "2027-07-03T00:00:00Z"), ["01 02:30", "02 02:30"]);
        assert_eq!(occurrences(&nightly, "2027-01-01T00:00:00Z", "2027-01-02T00:00:00Z"), ["01 03:30"]);
        let weekdays = schedule("0 9 * * 1-5", "UTC");
        assert_eq!(
            occurrences(&weekdays, "2027-03-05T09:00:00Z", "2027-03-08T09:00:00Z"),
            ["08 09:00"],
            "not the same"
        );
        assert_eq!(
            occurrences(&schedule("@hourly", "UTC"), "2027-03-05T09:00:30Z", "2027-03-05T10:59:59Z"),
            ["05 10:00"]
        );
    }

    #[test]
    fn skipped_times_run_right_after_the_change_of_clocks() {
        // On 28 March 2027 clocks in Berlin go from 02:00 to 03:00, at 01:00 UTC.
        let nightly = schedule("30 2 * * *", "Europe/Berlin");
        assert_eq!(
            occurrences(&nightly, "2027-03-27T00:00:00Z", "2027-03-29T12:00:00Z"),
            ["27 01:30", "28 01:00", "29 00:30"]
        );
        let often = schedule("*/20 * * * *", "Europe/Berlin");
        assert_eq!(
            occurrences(&often, "2027-03-28T00:30:00Z", "2027-03-28T01:20:00Z"),
            ["28 00:40", "28 01:00", "28 01:20"],
            "once, although four times fall on 01:00 UTC"
        );
    }

    #[test]
    fn repeated_times_run_once() {
        // On 31 October 2027 clocks in Berlin go from 03:00 back to 02:00, at 01:00 UTC.
        let nightly = schedule("30 2 * * *", "Europe/Berlin");
        assert_eq!(
            occurrences(&nightly, "2027-10-30T00:00:00Z", "2027-11-01T12:00:00Z"),
            ["30 00:30", "31 00:30", "01 01:30"]
        );
        let hourly = schedule("0 * * * *", "Europe/Berlin");
        assert_eq!(occurrences(&hourly, "2027-10-31T00:00:00Z", "2027-10-31T02:00:00Z"), ["31 02:00"]);
        assert_eq!(nightly.next_after(at("2027-10-31T01:10:00Z")), Some(at("2027-11-01T01:30:00Z")), "from within");
    }

    #[test]
    fn one_missed_occurrence_runs_if_it_is_young() {
        let often = schedule("*/10 * * * *", "UTC");
        let last = at("2027-03-05T09:00:00Z");
        assert_eq!(often.due(last, at("2027-03-05T09:09:59Z")), None);
        assert_eq!(often.due(last, at("2027-03-05T09:10:00Z")), Some(at("2027-03-05T09:10:00Z")));
        assert_eq!(often.due(last, at("2027-03-05T12:34:00Z")), Some(at("2027-03-05T12:30:00Z")), "the latest");
        let daily = schedule("@daily", "UTC");
        assert_eq!(daily.due(last, at("2027-03-06T00:59:59Z")), Some(at("2027-03-06T00:00:00Z")));
        assert_eq!(daily.due(last, at("2027-03-06T01:00:00Z")), None, "too old");
    }

    #[test]
    fn invalid_schedules_name_the_field() {
        let error = |more: Value| {
            let mut value = json!({ "id": "import", "cron": "@daily", "payload": "{}" });
            value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            JobSchedule::from_json(&value).unwrap_err()[0].to_string()
        };
        for cron in [
            "daily",
            "* * * *",
            "0 * * * * *",
            "60 * * * *",
            "0 0 30 2 *",
            "0 0 * * 8",
            "*/90 * * * *",
            "0 1-20/24 * * *",
        ] {
            assert!(error(json!({ "cron": cron })).starts_with("cron: must be a cron expression"), "{cron}");
        }
        assert!(error(json!({ "time_zone": "Berlin" })).starts_with("time_zone: must be a time zone"));
        assert!(error(json!({ "payload": "" })).starts_with("payload: must not be empty"));
        assert!(error(json!({ "payload": "{" })).starts_with("payload: must be JSON"));
        assert!(error(json!({ "content_type": "json" })).starts_with("content_type: must be a media type"));
    }

    #[test]
    fn schedule_round_trips() {
        let value = json!({
            "id": "import", "cron": "30 4 * * 1-5", "time_zone": "Asia/Kathmandu", "group_id": "stock", "payload": "now",
            "content_type": "text/plain",
        });
        let schedule = JobSchedule::from_json(&value).unwrap();
        assert_eq!(JobSchedule::to_json(&schedule), value);
    }
}

//! Jobs to enqueue.

use std::fmt;

use super::content::{DeduplicationKey, JobParams, Payload};
use super::id::{DeduplicationId, JobGroupId, JobId, JobQueueId};
use super::schedule::JobSchedule;
use super::webhook::WebhookEvent;
use crate::SessionId;

/// A job to enqueue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// Its ID, chosen by the process that enqueues (J2).
    pub id: JobId,
    /// Its group; a job of a FIFO job queue has one, a standard job has none.
    pub group: Option<JobGroupId>,
    /// What identifies duplicates in a FIFO job queue, in place of the content (J7).
    pub deduplication_id: Option<DeduplicationId>,
    /// Seconds until it is due; 0 in a FIFO job queue.
    pub delay_seconds: u64,
    /// The user of the producer's site for whom the job runs.
    pub user_id: Option<String>,
    /// The session that may follow the job.
    pub session: Option<SessionId>,
    /// Whether the session enqueues it itself, which `enqueues_per_minute` limits.
    pub by_visitor: bool,
    /// What the request that enqueued it has beside its body.
    pub params: Option<JobParams>,
    /// What an equal job is known by that its visitor enqueued before signing in. It is a duplicate of that one, too (J7).
    pub former: Option<FormerJob>,
    /// Its content.
    pub payload: Payload,
}

/// What an earlier job is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormerJob {
    /// Its key of deduplication, in a FIFO job queue.
    Key(DeduplicationKey),
    /// Its ID, in a standard job queue.
    Id(JobId),
}

impl NewJob {
    /// A standard job that is due at once and belongs to nobody.
    pub const fn new(id: JobId, payload: Payload) -> Self {
        Self {
            id,
            group: None,
            deduplication_id: None,
            delay_seconds: 0,
            user_id: None,
            session: None,
            by_visitor: false,
            params: None,
            former: None,
            payload,
        }
    }

    /// The job of a run of a schedule. The same run always has the same job, so any number of processes enqueue one (S1). `None`
    /// if the text of the run is too long.
    pub fn of_schedule(job_queue: &JobQueueId, schedule: &JobSchedule, run: impl fmt::Display) -> Option<Self> {
        let deduplication_id = schedule.deduplication_id(run)?;
        let id = JobId::of_deduplication(job_queue, None, &deduplication_id);
        let group = schedule.group_id.clone();
        let deduplication_id = group.is_some().then_some(deduplication_id);
        Some(Self { group, deduplication_id, ..Self::new(id, schedule.payload()) })
    }

    /// The job that delivers a webhook event. The same event always has the same job, so any number of processes enqueue one (W2).
    /// `None` if the texts that identify it are too long.
    pub fn of_webhook_event(job_queue: &JobQueueId, event: &WebhookEvent) -> Option<Self> {
        let deduplication_id = event.deduplication_id()?;
        let id = JobId::of_deduplication(job_queue, None, &deduplication_id);
        let group = if job_queue.is_fifo() { Some(event.group()?) } else { None };
        let deduplication_id = group.is_some().then_some(deduplication_id);
        Some(Self { group, deduplication_id, ..Self::new(id, event.payload()) })
    }

    /// Size of what it carries in bytes, which `max_bytes` limits: payload, content type and parameters (J15).
    pub fn size(&self) -> u64 {
        let params = self.params.as_ref().map_or(0, |params| params.as_str().len());
        (self.payload.bytes.len() + self.payload.content_type.len() + params) as u64
    }

    /// What identifies equal jobs; `None` for a standard job, of which only the ID counts (J7).
    pub fn deduplication_key(&self) -> Option<DeduplicationKey> {
        let group = self.group.clone()?;
        let visitor = self.session.filter(|_| self.by_visitor);
        Some(DeduplicationKey::of(group, visitor, self.deduplication_id.clone(), &self.payload))
    }

    /// What identifies equal jobs in this group that the visitor with this session enqueues.
    pub fn key_in(&self, group: JobGroupId, session: SessionId) -> DeduplicationKey {
        DeduplicationKey::of(group, Some(session), self.deduplication_id.clone(), &self.payload)
    }
}

/// What became of a job to enqueue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// It is stored (J3).
    Accepted,
    /// It equals this earlier job and was not queued (J2, J7).
    Duplicate(JobId),
    /// The job queue is full and it was not queued (J15).
    Full,
    /// Its session has enqueued `enqueues_per_minute` jobs within [`super::ENQUEUES_WINDOW`], and it was not queued (J15).
    TooMany,
    /// The job queue was removed, and it was not queued (J3).
    Removed,
    /// The backend could not store it, and it was not queued. The backend logs the cause.
    NotSent,
    /// The backend was not told whether it is stored: it may or may not be queued. The backend logs the cause.
    Unconfirmed,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fields::Object as _;

    #[test]
    fn each_run_of_a_schedule_has_one_job() {
        let (emails, stock): (JobQueueId, JobQueueId) = ("emails".parse().unwrap(), "stock.fifo".parse().unwrap());
        let import = JobSchedule::from_json(&json!({ "id": "import", "cron": "@daily", "payload": "{}" })).unwrap();
        let job = NewJob::of_schedule(&emails, &import, 60).unwrap();
        assert_eq!((job.payload.content_type.as_str(), &job.payload.bytes[..]), ("application/json", &b"{}"[..]));
        assert_eq!(NewJob::of_schedule(&emails, &import, 60).unwrap(), job);
        assert_ne!(NewJob::of_schedule(&emails, &import, 120).unwrap().id, job.id);
        assert_ne!(NewJob::of_schedule(&stock, &import, 60).unwrap().id, job.id);
        let grouped = JobSchedule { group_id: Some("stock".parse().unwrap()), ..import };
        let job = NewJob::of_schedule(&stock, &grouped, 60).unwrap();
        assert_eq!(job.deduplication_id.unwrap().as_str(), "import@60");
    }
}

//! The messages that carry jobs. Fields that this version does not know are ignored.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use vestibule_core::jobs::{DeduplicationId, JobGroupId, JobId, JobParams, JobQueueId, JobView, NewJob, Payload};
use vestibule_core::{Micros, SessionId};
use vestibule_store_redis::MessageId;

/// SQS allows a message group of at most this many characters.
const MESSAGE_GROUP_MAX: usize = 128;

/// Everything that is needed to run a job, and to register it again.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct JobMessage {
    pub(crate) job_queue: JobQueueId,
    job: JobId,
    /// Which of the job's messages this is.
    number: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<JobGroupId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deduplication_id: Option<DeduplicationId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<SessionId>,
    #[serde(default)]
    by_visitor: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    params: Option<JobParams>,
    #[serde(default)]
    pub(crate) delay_seconds: u64,
    content_type: String,
    /// The bytes of the payload, in base64.
    payload: String,
    /// Whether another message with this number may have been sent before.
    #[serde(default)]
    is_repeated: bool,
}

impl JobMessage {
    /// The message of a new job.
    pub(crate) fn of(job_queue: &JobQueueId, job: NewJob, number: u64) -> Self {
        Self {
            job_queue: job_queue.clone(),
            job: job.id,
            number,
            group: job.group,
            deduplication_id: job.deduplication_id,
            user_id: job.user_id,
            session: job.session,
            by_visitor: job.by_visitor,
            params: job.params,
            delay_seconds: job.delay_seconds,
            content_type: job.payload.content_type,
            payload: STANDARD.encode(job.payload.bytes),
            is_repeated: false,
        }
    }

    /// The message of this earlier job, which `duplicate` equals.
    pub(crate) fn repeated(job_queue: &JobQueueId, earlier: JobId, duplicate: NewJob, number: u64) -> Self {
        let job = NewJob { id: earlier, ..duplicate };
        Self { is_repeated: true, ..Self::of(job_queue, job, number) }
    }

    /// Whether another message with this number may have been sent before.
    pub(crate) const fn is_repeated(&self) -> bool {
        self.is_repeated
    }

    /// The message of a job that was replayed; `None` if its payload is not known.
    pub(crate) fn replayed(job_queue: &JobQueueId, view: JobView) -> Option<Self> {
        let job = NewJob {
            group: view.group,
            user_id: view.user_id,
            session: view.session,
            params: view.params,
            ..NewJob::new(view.id, view.payload?)
        };
        Some(Self::of(job_queue, job, view.sequence))
    }

    pub(crate) const fn id(&self) -> MessageId {
        MessageId { job: self.job, number: self.number }
    }

    /// The message group: that of the job, or for a standard job its job queue, since SQS lets job queues take turns then.
    pub(crate) fn group(&self) -> String {
        let Some(group) = &self.group else { return self.job_queue.to_string() };
        let name = format!("{}/{group}", self.job_queue);
        if name.len() <= MESSAGE_GROUP_MAX {
            return name;
        }
        Sha256::digest(name).iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    /// What SQS knows two sends of one message by.
    pub(crate) fn deduplication_id(&self) -> String {
        format!("{}/{}/{}", self.job_queue, self.job, self.number)
    }

    /// The payload; `None` if the message is damaged.
    fn payload(&self) -> Option<Payload> {
        Some(Payload { content_type: self.content_type.clone(), bytes: STANDARD.decode(&self.payload).ok()? })
    }
}

/// A message that SQS has delivered.
pub(crate) struct Delivery {
    /// What it is deleted and hidden by.
    pub(crate) handle: String,
    /// When it was sent.
    pub(crate) sent_at: Micros,
    /// Whether SQS has delivered it before, or another one of its number may have been sent before.
    pub(crate) may_be_repeated: bool,
    pub(crate) message: JobMessage,
    pub(crate) payload: Payload,
}

impl Delivery {
    /// A delivery of a message with this body; `None` if it carries no job.
    pub(crate) fn of(handle: String, body: &str, sent_at: Micros, is_first: bool) -> Option<Self> {
        let mut message: JobMessage = serde_json::from_str(body).ok()?;
        let payload = message.payload()?;
        message.payload = String::new();
        let may_be_repeated = !is_first || message.is_repeated;
        Some(Self { handle, sent_at, may_be_repeated, message, payload })
    }

    /// The job as it was enqueued.
    pub(crate) fn new_job(&self) -> NewJob {
        let JobMessage { job, group, deduplication_id, user_id, session, by_visitor, params, delay_seconds, .. } =
            self.message.clone();
        NewJob {
            group,
            deduplication_id,
            delay_seconds,
            user_id,
            session,
            by_visitor,
            params,
            ..NewJob::new(job, self.payload.clone())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(group: Option<&str>) -> NewJob {
        let payload = Payload { content_type: "application/octet-stream".to_owned(), bytes: (0..=255).collect() };
        NewJob {
            group: group.map(|group| group.parse().unwrap()),
            user_id: Some("user 17 \u{1f3ab}".to_owned()),
            session: Some(SessionId::random()),
            by_visitor: true,
            delay_seconds: 7,
            ..NewJob::new(JobId::random(), payload)
        }
    }

    #[test]
    fn message_carries_the_whole_job() {
        let (job_queue, job) = ("updates.fifo".parse().unwrap(), job(Some("a")));
        let body = serde_json::to_string(&JobMessage::of(&job_queue, job.clone(), 3)).unwrap();
        let delivery = Delivery::of("handle".to_owned(), &body, Micros(1), true).unwrap();
        assert_eq!((delivery.new_job(), delivery.may_be_repeated), (job.clone(), false));
        assert_eq!(delivery.message.id(), MessageId { job: job.id, number: 3 });
        assert!(Delivery::of(String::new(), &body, Micros(1), false).unwrap().may_be_repeated);
        let earlier = JobId::random();
        let body = serde_json::to_string(&JobMessage::repeated(&job_queue, earlier, job, 3)).unwrap();
        let delivery = Delivery::of(String::new(), &body, Micros(1), true).unwrap();
        assert!(delivery.may_be_repeated && delivery.message.id().job == earlier);
        for damaged in ["", "{}", "hello"] {
            assert!(Delivery::of(String::new(), damaged, Micros(1), true).is_none(), "{damaged}");
        }
    }

    #[test]
    fn groups_of_messages_are_short_and_separate() {
        let of =
            |job_queue: &str, group: Option<&str>| JobMessage::of(&job_queue.parse().unwrap(), job(group), 1).group();
        assert_eq!(of("mails", None), "mails");
        assert_eq!(of("updates.fifo", Some("user-17")), "updates.fifo/user-17");
        let (queue, long) = (format!("{}.fifo", "q".repeat(40)), "g".repeat(100));
        assert_eq!(of(&queue, Some(&long)).len(), 64);
        assert_ne!(of(&queue, Some(&long)), of(&queue, Some(&"h".repeat(100))));
    }
}

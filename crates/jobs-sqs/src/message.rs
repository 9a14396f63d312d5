//! The messages that carry jobs. Fields that this version does not know are ignored.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use vestibule_core::jobs::{
    DeduplicationId, JobGroupId, JobId, JobParams, JobQueueId, JobQueueSettings, JobView, NewJob, Payload,
};
use vestibule_core::{Micros, SessionId, TenantId, hex};
use vestibule_store_redis::MessageId;

/// SQS allows a message group and a deduplication ID of at most this many characters.
const NAME_MAX: usize = 128;

/// Everything that is needed to run a job, and to register it again.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct JobMessage {
    tenant: TenantId,
    pub(crate) job_queue: JobQueueId,
    /// Which of the job queues of this name it is: earlier ones were removed.
    generation: u64,
    job: JobId,
    /// Which of the job's messages this is.
    number: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<JobGroupId>,
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
    /// The message with this ID of a new job, or of the earlier one that this job duplicates, of which a message may have been sent
    /// before.
    pub(crate) fn of(settings: &JobQueueSettings, job: NewJob, id: MessageId, is_repeated: bool) -> Self {
        Self {
            tenant: settings.tenant.clone(),
            job_queue: settings.id.clone(),
            generation: id.generation,
            job: id.job,
            number: id.number,
            group: job.group,
            deduplication_id: job.deduplication_id,
            user_id: job.user_id,
            session: job.session,
            by_visitor: job.by_visitor,
            params: job.params,
            delay_seconds: job.delay_seconds,
            content_type: job.payload.content_type,
            payload: STANDARD.encode(job.payload.bytes),
            is_repeated,
        }
    }

    /// The message with this ID of a job that was replayed; `None` if its payload is not known.
    pub(crate) fn replayed(settings: &JobQueueSettings, view: JobView, id: MessageId) -> Option<Self> {
        let job = NewJob {
            group: view.group,
            user_id: view.user_id,
            session: view.session,
            params: view.params,
            ..NewJob::new(view.id, view.payload?)
        };
        Some(Self::of(settings, job, id, false))
    }

    pub(crate) const fn id(&self) -> MessageId {
        MessageId { job: self.job, generation: self.generation, number: self.number }
    }

    /// Whether its job is in this job queue. A removed one of another tenant can have had the same ID.
    pub(crate) fn is_of(&self, settings: &JobQueueSettings) -> bool {
        self.tenant == settings.tenant && self.job_queue == settings.id
    }

    /// The message group: that of the job, or for a standard job its job queue, since SQS lets job queues take turns then.
    pub(crate) fn group(&self) -> String {
        let job_queue = format!("{}/{}", self.tenant, self.job_queue);
        shortened(match self.group.as_ref().map(|group| (group, group.visitor())) {
            None => job_queue,
            Some((group, None)) => format!("{job_queue}/{group}"),
            // SQS allows no spaces.
            Some((group, Some(session))) => format!("{job_queue}/{group}/{session}"),
        })
    }

    /// What SQS knows two sends of one message by.
    pub(crate) fn deduplication_id(&self) -> String {
        let Self { tenant, job_queue, generation, job, number, .. } = self;
        shortened(format!("{tenant}/{job_queue}/{generation}/{job}/{number}"))
    }

    /// The payload; `None` if the message is damaged.
    fn payload(&self) -> Option<Payload> {
        Some(Payload { content_type: self.content_type.clone(), bytes: STANDARD.decode(&self.payload).ok()? })
    }
}

/// The name, or its hash if SQS does not allow that length.
fn shortened(name: String) -> String {
    if name.len() <= NAME_MAX {
        return name;
    }
    hex(Sha256::digest(name))
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
    use serde_json::json;
    use vestibule_core::fields::Object as _;

    use super::*;

    fn settings(tenant: &str, id: &str) -> JobQueueSettings {
        let target = json!({ "kind": "http", "url": "https://crm.acme.example/jobs" });
        JobQueueSettings::from_json(&json!({ "id": id, "tenant": tenant, "target": target })).unwrap()
    }

    fn of(settings: &JobQueueSettings, job: NewJob, generation: u64) -> JobMessage {
        let id = MessageId { job: job.id, generation, number: 3 };
        JobMessage::of(settings, job, id, false)
    }

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
        let (settings, job) = (settings("acme", "updates.fifo"), job(Some("a")));
        let body = serde_json::to_string(&of(&settings, job.clone(), 7)).unwrap();
        let delivery = Delivery::of("handle".to_owned(), &body, Micros(1), true).unwrap();
        assert_eq!((delivery.new_job(), delivery.may_be_repeated), (job.clone(), false));
        assert_eq!(delivery.message.id(), MessageId { job: job.id, generation: 7, number: 3 });
        assert!(Delivery::of(String::new(), &body, Micros(1), false).unwrap().may_be_repeated);
        let earlier = MessageId { job: JobId::random(), generation: 7, number: 3 };
        let body = serde_json::to_string(&JobMessage::of(&settings, job, earlier, true)).unwrap();
        let delivery = Delivery::of(String::new(), &body, Micros(1), true).unwrap();
        assert!(delivery.may_be_repeated && delivery.message.id() == earlier);
        for damaged in ["", "{}", "hello"] {
            assert!(Delivery::of(String::new(), damaged, Micros(1), true).is_none(), "{damaged}");
        }
    }

    #[test]
    fn groups_of_messages_are_short_and_separate() {
        let group = |job_queue: &str, group| of(&settings("acme", job_queue), job(group), 0).group();
        assert_eq!(group("mails", None), "acme/mails");
        assert_eq!(group("updates.fifo", Some("user-17")), "acme/updates.fifo/user-17");
        let session = SessionId::from_bytes([0; 14]);
        let of_visitor = job(Some("user-17"));
        let of_visitor = NewJob { group: of_visitor.group.map(|group| group.of_visitor(session)), ..of_visitor };
        let message = of(&settings("acme", "updates.fifo"), of_visitor, 0);
        assert_eq!(message.group(), format!("acme/updates.fifo/user-17/{session}"));
        let (queue, long) = (format!("{}.fifo", "q".repeat(40)), "g".repeat(100));
        assert_eq!(group(&queue, Some(&long)).len(), 64);
        assert_ne!(group(&queue, Some(&long)), group(&queue, Some(&"h".repeat(100))));
    }

    /// A job with a deduplication ID has the same job ID in every job queue of the same name.
    #[test]
    fn messages_of_job_queues_of_one_name_differ() {
        let (job, long) = (job(None), "t".repeat(63));
        let of = |tenant, generation| of(&settings(tenant, "mails"), job.clone(), generation);
        let messages = [of("acme", 0), of("acme", 1), of("other", 0), of(&long, u64::MAX)];
        let ids: std::collections::HashSet<_> = messages.iter().map(JobMessage::deduplication_id).collect();
        assert_eq!(ids.len(), 4);
        assert!(ids.iter().all(|id| id.len() <= NAME_MAX), "{ids:?}");
        let acme = settings("acme", "mails");
        assert_eq!(messages.each_ref().map(|message| message.is_of(&acme)), [true, true, false, false]);
        assert_ne!(messages[0].group(), messages[2].group());
    }
}

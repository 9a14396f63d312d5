//! Webhooks: events of the queues and job queues of a tenant, which a job queue delivers to its handler.
//!
//! A webhook is part of its job queue. Delivery, signatures, retries and dead letters are those of its jobs.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value, json};

use super::content::Payload;
use super::id::{DeduplicationId, JobGroupId, JobId, JobQueueId};
use super::media_type::MediaType;
use crate::fields::FieldErrorCode as Code;
use crate::fields::List;
use crate::time::{Micros, Timestamp};
use crate::{IdError, QueueId, TenantId};

/// Number of types of events that can be chosen.
const EVENT_TYPES: usize = 7;
/// Maximum number of queues that a webhook names.
const WEBHOOK_QUEUES_MAX: usize = 100;
/// Selects all queues.
const ALL_QUEUES: &str = "*";

/// The type of a webhook event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookEventType {
    /// The settings of a queue were changed with the API.
    QueueUpdated,
    /// An operator reset a queue.
    QueueReset,
    /// The effective mode of a queue changed, or visitors began or ceased to wait.
    QueueStateChanged,
    /// Visitors were admitted.
    QueueAdmitted,
    /// A queue needs an operator.
    QueueAttention,
    /// A job became a dead letter.
    JobDeadLettered,
    /// The outcome of a held order became unknown.
    OrderOutcomeUnknown,
    /// An operator tested the webhook.
    Test,
}

// Types of a later version are left out, and the others stay.
crate::word_field!(WebhookEventType {
    QueueUpdated = "queue.updated",
    QueueReset = "queue.reset",
    QueueStateChanged = "queue.state_changed",
    QueueAdmitted = "queue.admitted",
    QueueAttention = "queue.attention",
    JobDeadLettered = "job.dead_lettered",
    OrderOutcomeUnknown = "order.outcome_unknown",
} only shown { Test = "webhook.test" }, DROPPED_IF_INVALID);

impl WebhookEventType {
    /// Whether events of this type are found by comparing statistics.
    const fn is_of_statistics(self) -> bool {
        matches!(self, Self::QueueStateChanged | Self::QueueAdmitted | Self::QueueAttention)
    }
}

/// The queues that a webhook names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookQueue {
    /// All queues of the tenant.
    All,
    /// One queue.
    One(QueueId),
}

impl WebhookQueue {
    fn includes(&self, queue: &QueueId) -> bool {
        match self {
            Self::All => true,
            Self::One(id) => id == queue,
        }
    }
}

impl FromStr for WebhookQueue {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        if text == ALL_QUEUES { Ok(Self::All) } else { text.parse().map(Self::One) }
    }
}

impl fmt::Display for WebhookQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => ALL_QUEUES,
            Self::One(id) => id.as_str(),
        })
    }
}

crate::text_field! {
    WebhookQueue: Code::WebhookQueue, { "pattern": "^(\\*|[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)$" };
}

crate::fields! {
    /// The events that a job queue delivers as jobs.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct JobWebhook {
        /// Types of the events.
        pub event_types: List<WebhookEventType, 1, EVENT_TYPES>,
        /// IDs of the queues whose events are delivered, or `*` for all queues of the tenant. Events of jobs do not depend on it.
        pub queues: List<WebhookQueue, 1, WEBHOOK_QUEUES_MAX> = vec![WebhookQueue::All],
    }
}

impl JobWebhook {
    /// Whether it delivers this event.
    pub fn delivers(&self, event: &WebhookEvent) -> bool {
        let is_of_its_queues = match &event.subject {
            WebhookSubject::Queue(queue) => self.includes(queue),
            WebhookSubject::JobQueue(_) | WebhookSubject::Job(..) => true,
        };
        self.event_types.contains(&event.event_type) && is_of_its_queues
    }

    /// Whether it delivers events for which the statistics of this queue are compared.
    pub fn watches(&self, queue: &QueueId) -> bool {
        self.event_types.iter().any(|it| it.is_of_statistics()) && self.includes(queue)
    }

    fn includes(&self, queue: &QueueId) -> bool {
        self.queues.iter().any(|it| it.includes(queue))
    }
}

/// What a webhook event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookSubject {
    /// A queue.
    Queue(QueueId),
    /// A job queue.
    JobQueue(JobQueueId),
    /// A job of a job queue.
    Job(JobQueueId, JobId),
}

/// Something that happened, for webhooks. It has neither payloads nor responses of jobs (J19).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookEvent {
    /// Its type.
    pub event_type: WebhookEventType,
    /// The tenant whose webhooks deliver it.
    pub tenant: TenantId,
    /// What it is about.
    pub subject: WebhookSubject,
    /// When it happened.
    pub at: Micros,
    /// What tells it from other events of its type and subject (W2): when it happened or the instant of the statistics that were
    /// compared with later ones, in microseconds; of a job the receive count of the lease that ended.
    pub occasion: u64,
    /// What happened.
    pub details: Map<String, Value>,
}

impl WebhookEvent {
    /// An event without details that happened at an instant, which is its occasion.
    pub fn new(event_type: WebhookEventType, tenant: TenantId, subject: WebhookSubject, at: Micros) -> Self {
        Self { event_type, tenant, subject, at, occasion: at.0, details: Map::new() }
    }

    /// With a detail.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// The body, as Standard Webhooks says.
    pub(super) fn payload(&self) -> Payload {
        let mut data = Map::from_iter([("tenant".to_owned(), self.tenant.as_str().into())]);
        match &self.subject {
            WebhookSubject::Queue(queue) => data.extend([("queue".to_owned(), queue.as_str().into())]),
            WebhookSubject::JobQueue(job_queue) => data.extend([("job_queue".to_owned(), job_queue.as_str().into())]),
            WebhookSubject::Job(job_queue, job) => data.extend([
                ("job_queue".to_owned(), job_queue.as_str().into()),
                ("job_id".to_owned(), job.to_string().into()),
            ]),
        }
        data.extend(self.details.clone());
        let timestamp = Timestamp::of(self.at).to_string();
        let body = json!({ "type": self.event_type.as_str(), "timestamp": timestamp, "data": data });
        Payload { content_type: MediaType::json().to_string(), bytes: body.to_string().into_bytes() }
    }

    /// Its group in a FIFO job queue: events of one queue or job queue are delivered in order.
    pub(super) fn group(&self) -> Option<JobGroupId> {
        match &self.subject {
            WebhookSubject::Queue(queue) => queue.as_str().parse().ok(),
            WebhookSubject::JobQueue(job_queue) | WebhookSubject::Job(job_queue, _) => job_queue.as_str().parse().ok(),
        }
    }

    /// What identifies it (W2). The occasion is in hexadecimal digits, so that the longest ID fits.
    pub(super) fn deduplication_id(&self) -> Option<DeduplicationId> {
        let subject = match &self.subject {
            WebhookSubject::Queue(queue) => queue.to_string(),
            WebhookSubject::JobQueue(job_queue) => job_queue.to_string(),
            WebhookSubject::Job(_, job) => job.to_string(),
        };
        format!("{subject}/{}@{:x}", self.event_type.as_str(), self.occasion).parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fields::{Field as _, Object as _, Reader, Reading, joined};
    use crate::jobs::NewJob;

    fn webhook(value: &Value) -> Result<JobWebhook, String> {
        let read = JobWebhook::from_json(value);
        read.map_err(|errors| joined(&errors))
    }

    fn event(event_type: WebhookEventType, queue: &str) -> WebhookEvent {
        let subject = WebhookSubject::Queue(queue.parse().unwrap());
        WebhookEvent::new(event_type, "acme".parse().unwrap(), subject, Micros(1_804_237_200_500_000))
    }

    #[test]
    fn webhook_round_trips() {
        let value = json!({ "event_types": ["queue.reset", "job.dead_lettered"], "queues": ["tour", "*"] });
        assert_eq!(JobWebhook::to_json(&webhook(&value).unwrap()), value);
        let value = webhook(&json!({ "event_types": "queue.admitted" })).unwrap();
        assert_eq!(JobWebhook::to_json(&value), json!({ "event_types": ["queue.admitted"], "queues": ["*"] }));
    }

    #[test]
    fn invalid_webhooks_name_the_field() {
        let error = |value: &Value| webhook(value).unwrap_err();
        let unknown = error(&json!({ "event_types": ["queue.created"] }));
        assert!(unknown.starts_with("event_types[0]: must be one of \"queue.updated\", \"queue.reset\""), "{unknown}");
        assert!(error(&json!({ "event_types": ["webhook.test"] })).starts_with("event_types[0]: must be one of"));
        let none = error(&json!({ "event_types": [] }));
        assert!(none.starts_with("event_types: is empty; it must be a list of 1 to 7"), "{none}");
        assert!(error(&json!({ "queues": ["*"] })).starts_with("event_types: is required"));
        let queues = error(&json!({ "event_types": ["queue.reset"], "queues": ["Tour"] }));
        assert!(queues.starts_with("queues[0]: must be the ID of a queue, or \"*\""), "{queues}");
    }

    #[test]
    fn stored_types_of_a_later_version_are_left_out() {
        let stored = json!({ "event_types": ["queue.reset", "from.a_later_version"] });
        let webhook = Reader::read::<JobWebhook>(&stored, Reading::Stored).unwrap();
        assert_eq!(webhook.event_types, [WebhookEventType::QueueReset]);
    }

    #[test]
    fn webhook_delivers_its_types_of_its_queues() {
        use WebhookEventType::{JobDeadLettered, QueueAdmitted, QueueReset, Test};
        let one = webhook(&json!({ "event_types": ["queue.reset", "job.dead_lettered"], "queues": ["tour"] })).unwrap();
        assert!(one.delivers(&event(QueueReset, "tour")));
        assert!(!one.delivers(&event(QueueReset, "tours")) && !one.delivers(&event(QueueAdmitted, "tour")));
        let job = WebhookSubject::Job("mails".parse().unwrap(), JobId::random());
        assert!(one.delivers(&WebhookEvent { subject: job, ..event(JobDeadLettered, "tour") }));
        assert!(!one.watches(&"tour".parse().unwrap()), "no statistics are needed");
        let all = webhook(&json!({ "event_types": ["queue.admitted"] })).unwrap();
        assert!(all.delivers(&event(QueueAdmitted, "tours")) && all.watches(&"tours".parse().unwrap()));
        assert!(!all.delivers(&event(Test, "tours")), "only the operator who asks gets a test");
    }

    #[test]
    fn body_is_that_of_standard_webhooks() {
        let event = event(WebhookEventType::QueueReset, "tour").with("epoch", 2);
        let job = NewJob::of_webhook_event(&"hooks".parse().unwrap(), &event).unwrap();
        let body: Value = serde_json::from_slice(&job.payload.bytes).unwrap();
        let data = json!({ "tenant": "acme", "queue": "tour", "epoch": 2 });
        assert_eq!(body, json!({ "type": "queue.reset", "timestamp": "2027-03-05T09:00:00Z", "data": data }));
        assert_eq!((job.payload.content_type.as_str(), job.group), ("application/json", None));
    }

    #[test]
    fn queue_type_and_instant_identify_an_event() {
        let (hooks, fifo): (JobQueueId, JobQueueId) = ("hooks".parse().unwrap(), "hooks.fifo".parse().unwrap());
        let job = |event: &WebhookEvent| NewJob::of_webhook_event(&hooks, event).unwrap().id;
        let reset = event(WebhookEventType::QueueReset, "tour");
        let later = WebhookEvent { at: Micros(reset.at.0 + 1), ..reset.clone() };
        assert_eq!(job(&reset), job(&later.with("epoch", 2)), "the same event, found again");
        assert_ne!(job(&reset), job(&WebhookEvent { occasion: reset.occasion + 1, ..reset.clone() }));
        assert_ne!(job(&reset), job(&event(WebhookEventType::QueueReset, "tours")));
        assert_ne!(job(&reset), job(&event(WebhookEventType::QueueUpdated, "tour")));
        let longest = event(WebhookEventType::QueueStateChanged, &"q".repeat(63));
        let job = NewJob::of_webhook_event(&fifo, &longest).unwrap();
        assert_eq!(job.group.unwrap().as_str(), "q".repeat(63));
        assert!(job.deduplication_id.unwrap().as_str().len() <= 100);
    }
}

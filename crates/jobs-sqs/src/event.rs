//! The messages that Lambda receives and hands to a function.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use vestibule_core::Micros;
use vestibule_core::jobs::{BackendResult, JobBackendError, JobGroupId, JobQueueId, JobQueueSettings};

use crate::backend::{MessageOutcome, SqsJobs};
use crate::message::Delivery;

/// The event with which Lambda hands messages to a function.
#[derive(Deserialize)]
struct Event {
    #[serde(rename = "Records")]
    records: Vec<Record>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    message_id: String,
    receipt_handle: String,
    body: String,
    attributes: Attributes,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Attributes {
    approximate_receive_count: String,
    sent_timestamp: String,
}

/// A message that brings a job.
pub struct SqsMessage {
    id: String,
    delivery: Delivery,
}

/// The messages of an event.
#[derive(Default)]
pub struct SqsMessages {
    /// Those that bring jobs, in their order.
    pub jobs: Vec<SqsMessage>,
    /// The IDs of those that bring none.
    pub others: Vec<String>,
}

impl SqsMessages {
    /// Reads the event that Lambda makes of messages.
    ///
    /// # Errors
    /// Returns an error if the event is another one.
    pub fn of_event(event: Value) -> Result<Self, serde_json::Error> {
        let mut messages = Self::default();
        for Record { message_id, receipt_handle, body, attributes } in Event::deserialize(event)?.records {
            let sent_at = Micros(attributes.sent_timestamp.parse().unwrap_or(0_u64).saturating_mul(1_000));
            let is_first = attributes.approximate_receive_count == "1";
            match Delivery::of(receipt_handle, &body, sent_at, is_first) {
                Some(delivery) => messages.jobs.push(SqsMessage { id: message_id, delivery }),
                None => messages.others.push(message_id),
            }
        }
        Ok(messages)
    }
}

impl SqsMessage {
    /// The ID that SQS gave the message.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The job queue of the job.
    pub const fn job_queue(&self) -> &JobQueueId {
        &self.delivery.message.job_queue
    }

    /// Whether its job is in this job queue. A removed one of another tenant can have had the same ID.
    pub fn is_of(&self, settings: &JobQueueSettings) -> bool {
        self.delivery.message.is_of(settings)
    }

    /// The group of the job; `None` in a standard job queue.
    pub const fn group(&self) -> Option<&JobGroupId> {
        self.delivery.message.group.as_ref()
    }
}

impl SqsJobs {
    /// Starts the job of a message that Lambda has received, if it can start.
    ///
    /// # Errors
    /// Returns the error of Redis. The message comes again.
    pub async fn start_message(
        &self,
        settings: &JobQueueSettings,
        message: SqsMessage,
    ) -> BackendResult<MessageOutcome> {
        self.forget_expired();
        // Boxed, because every invocation carries this future.
        let brought = Box::pin(self.start(settings, vec![message.delivery])).await?.pop();
        brought.ok_or_else(|| JobBackendError::Corrupt("no answer for a message".to_owned()))
    }

    /// Hides messages for this time. Those of one call must be of one kind of job queues, as those of an event are.
    pub async fn hide_messages(&self, messages: impl IntoIterator<Item = &SqsMessage>, time: Duration) {
        let mut is_fifo = false;
        let hidden: Vec<_> = messages
            .into_iter()
            .map(|message| {
                is_fifo = message.job_queue().is_fifo();
                (message.delivery.handle.clone(), time)
            })
            .collect();
        self.hide(is_fifo, hidden).await;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vestibule_core::fields::Object as _;
    use vestibule_core::jobs::{JobId, NewJob, Payload};
    use vestibule_store_redis::MessageId;

    use super::*;
    use crate::message::JobMessage;

    #[test]
    fn event_is_read() {
        let payload = Payload { content_type: "text/plain".to_owned(), bytes: b"hello".to_vec() };
        let job = NewJob { group: Some("a".parse().unwrap()), ..NewJob::new(JobId::random(), payload) };
        let target = json!({ "kind": "http", "url": "https://crm.acme.example/jobs" });
        let settings = |tenant: &str| {
            let settings = json!({ "id": "mails.fifo", "tenant": tenant, "target": target });
            JobQueueSettings::from_json(&settings).unwrap()
        };
        let id = MessageId { job: job.id, generation: 1, number: 7 };
        let body = serde_json::to_string(&JobMessage::of(&settings("acme"), job.clone(), id, false)).unwrap();
        // As the documentation of Lambda prints it.
        let record = |id: &str, body: &str, count: &str| {
            json!({
                "messageId": id, "receiptHandle": format!("handle-{id}"), "body": body,
                "attributes": {
                    "ApproximateReceiveCount": count, "SentTimestamp": "1545082649183", "SequenceNumber": "18849496460467696128",
                    "MessageGroupId": "1", "SenderId": "AIDAIO23YVJENQZJOL4VO", "MessageDeduplicationId": "1",
                    "ApproximateFirstReceiveTimestamp": "1545082649185",
                },
                "messageAttributes": {}, "md5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
                "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:us-east-2:123456789012:fifo.fifo", "awsRegion": "us-east-2",
            })
        };
        let event =
            json!({ "Records": [record("m1", &body, "1"), record("m2", "hello", "1"), record("m3", &body, "2")] });
        let SqsMessages { jobs, others } = SqsMessages::of_event(event).unwrap();
        assert_eq!(others, ["m2"]);
        let ids: Vec<_> = jobs.iter().map(SqsMessage::id).collect();
        assert_eq!(ids, ["m1", "m3"]);
        assert_eq!((jobs[0].job_queue().as_str(), jobs[0].group()), ("mails.fifo", job.group.as_ref()));
        assert!(jobs[0].is_of(&settings("acme")) && !jobs[0].is_of(&settings("globex")));
        assert_eq!((jobs[0].delivery.may_be_repeated, jobs[1].delivery.may_be_repeated), (false, true));
        assert_eq!(jobs[0].delivery.sent_at, Micros(1_545_082_649_183_000));
        assert_eq!(jobs[0].delivery.new_job(), job);
        for other in [json!(null), json!({}), json!({ "Records": [{ "s3": {} }] })] {
            assert!(SqsMessages::of_event(other).is_err());
        }
    }
}

//! The two SQS queues: what is asked of them, and what their errors mean.

use std::error::Error;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::Builder;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::operation::RequestId;
use aws_sdk_sqs::types::{
    BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, Message,
    MessageSystemAttributeName, SendMessageBatchRequestEntry,
};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use tokio::sync::OnceCell;
use tracing::warn;
use vestibule_aws::{AwsServer, Configuration, Timeouts};
use vestibule_core::jobs::{BackendResult, JobBackendError, LEASE_SECONDS};
use vestibule_core::{Micros, with_causes};

use crate::address::SqsPrefix;
use crate::message::{Delivery, JobMessage};

/// Maximum number of messages that SQS takes or returns at a time.
pub(crate) const BATCH: usize = 10;
/// SQS takes at most 1 MiB at a time, with what surrounds the messages.
const BATCH_BYTES: usize = 1_000_000;
/// SQS hides a message for at most 12 hours.
const HIDDEN_MAX: Duration = Duration::from_hours(12);

const TIMEOUTS: Timeouts = Timeouts { response: Duration::from_secs(4), operation: Duration::from_secs(8) };

/// A message that was not sent, or may not have been.
#[derive(Debug, Clone)]
pub(crate) struct SendError {
    /// Whether SQS has certainly not stored it.
    pub(crate) is_certain: bool,
    pub(crate) reason: String,
}

/// The SQS queues of a deployment.
pub(crate) struct Queues {
    prefix: SqsPrefix,
    server: Option<AwsServer>,
    client: OnceCell<Client>,
    urls: [OnceCell<String>; 2],
}

impl Queues {
    /// The queues with this prefix, on this server or where the AWS environment says. Sends no request yet.
    pub(crate) fn new(prefix: SqsPrefix, server: Option<AwsServer>) -> Self {
        Self { prefix, server, client: OnceCell::new(), urls: [OnceCell::new(), OnceCell::new()] }
    }

    async fn client(&self) -> Result<&Client, String> {
        self.client.get_or_try_init(|| connect(self.server.as_ref())).await
    }

    async fn url(&self, is_fifo: bool) -> Result<&str, String> {
        let url = self.urls[usize::from(is_fifo)].get_or_try_init(|| async {
            let name = self.prefix.queue_name(is_fifo);
            let found = self.client().await?.get_queue_url().queue_name(&name).send().await;
            let found = found.map_err(|error| format!("the SQS queue {name}: {}", describe(&error)))?;
            found.queue_url().map(str::to_owned).ok_or_else(|| format!("SQS named no URL of its queue {name}"))
        });
        url.await.map(String::as_str)
    }

    /// Sends messages; `delays` says whether SQS delays them. The answers are in their order.
    pub(crate) async fn send(
        &self,
        is_fifo: bool,
        messages: &[JobMessage],
        delays: bool,
    ) -> Vec<Result<(), SendError>> {
        let (mut sent, mut entries, mut bytes) = (Vec::with_capacity(messages.len()), Vec::new(), 0);
        for message in messages {
            let entry = match entry(is_fifo, message, delays, entries.len()) {
                Ok(entry) => entry,
                Err(reason) => {
                    sent.extend(self.send_batch(is_fifo, std::mem::take(&mut entries)).await);
                    sent.push(Err(SendError { is_certain: true, reason }));
                    bytes = 0;
                    continue;
                }
            };
            let size = entry.message_body().len();
            if entries.len() == BATCH || bytes + size > BATCH_BYTES {
                sent.extend(self.send_batch(is_fifo, std::mem::take(&mut entries)).await);
                bytes = 0;
            }
            bytes += size;
            entries.push(entry);
        }
        sent.extend(self.send_batch(is_fifo, entries).await);
        sent
    }

    async fn send_batch(
        &self,
        is_fifo: bool,
        mut entries: Vec<SendMessageBatchRequestEntry>,
    ) -> Vec<Result<(), SendError>> {
        let count = entries.len();
        if count == 0 {
            return Vec::new();
        }
        for (index, entry) in entries.iter_mut().enumerate() {
            entry.id = index.to_string();
        }
        let all = |is_certain, reason: String| vec![Err(SendError { is_certain, reason }); count];
        let (client, url) = match (self.client().await, self.url(is_fifo).await) {
            (Ok(client), Ok(url)) => (client, url),
            (Err(reason), _) | (_, Err(reason)) => return all(true, reason),
        };
        // Once: of a repeated attempt nobody would know whether the first one was stored.
        let once = Builder::new().retry_config(RetryConfig::disabled());
        let batch = client.send_message_batch().queue_url(url).set_entries(Some(entries));
        let output = match batch.customize().config_override(once).send().await {
            Ok(output) => output,
            Err(error) => return all(is_refusal(&error), describe(&error)),
        };
        let mut sent = all(false, "SQS did not say whether it stored the message".to_owned());
        let index = |id: &str| id.parse::<usize>().ok().filter(|index| *index < count);
        for index in output.successful().iter().filter_map(|entry| index(entry.id())) {
            sent[index] = Ok(());
        }
        for entry in output.failed() {
            let Some(index) = index(entry.id()) else { continue };
            sent[index] = Err(SendError { is_certain: entry.sender_fault(), reason: describe_entry(entry) });
        }
        sent
    }

    /// Receives up to [`BATCH`] messages. Those that carry no job are logged; SQS moves them to its dead-letter queue in the end.
    pub(crate) async fn receive(&self, is_fifo: bool, max: usize) -> BackendResult<Vec<Delivery>> {
        let request = self.client().await.map_err(unavailable)?.receive_message();
        let request = request
            .queue_url(self.url(is_fifo).await.map_err(unavailable)?)
            .max_number_of_messages(i32::try_from(max.min(BATCH)).unwrap_or_default())
            .visibility_timeout(LEASE_SECONDS as i32)
            .message_system_attribute_names(MessageSystemAttributeName::ApproximateReceiveCount)
            .message_system_attribute_names(MessageSystemAttributeName::SentTimestamp);
        let output = request.send().await.map_err(|error| unavailable(describe(&error)))?;
        Ok(output.messages().iter().filter_map(delivery).collect())
    }

    /// Deletes messages. Returns which ones were; the others are delivered again.
    pub(crate) async fn delete(&self, is_fifo: bool, handles: &[String]) -> Vec<bool> {
        let mut deleted = Vec::with_capacity(handles.len());
        let entry = |(index, handle): (usize, &String)| {
            DeleteMessageBatchRequestEntry::builder().id(index.to_string()).receipt_handle(handle).build()
        };
        for batch in handles.chunks(BATCH) {
            let outcome = async {
                let entries = batch.iter().enumerate().map(entry).collect::<Result<Vec<_>, _>>();
                let entries = entries.map_err(|error| error.to_string())?;
                let request = self.client().await?.delete_message_batch().queue_url(self.url(is_fifo).await?);
                let output = request.set_entries(Some(entries)).send().await;
                output.map_err(|error| describe(&error))
            };
            let (failed, error) = match outcome.await {
                Ok(output) => {
                    let is_deleted = |index: usize| output.successful().iter().any(|it| it.id() == index.to_string());
                    deleted.extend((0..batch.len()).map(is_deleted));
                    (output.failed().len(), failures(output.failed()).err())
                }
                Err(error) => {
                    deleted.extend(batch.iter().map(|_| false));
                    (batch.len(), Some(error))
                }
            };
            if let Some(error) = error {
                warn!(error, messages = failed, "messages could not be deleted from SQS; they are delivered again");
            }
        }
        deleted
    }

    /// Hides messages for these times. One that is not hidden is delivered again when its lease ends.
    pub(crate) async fn hide(&self, is_fifo: bool, hidden: Vec<(String, Duration)>) {
        let entry = |(index, (handle, time)): (usize, &(String, Duration))| {
            let seconds = time.min(&HIDDEN_MAX).as_micros().div_ceil(1_000_000) as i32;
            ChangeMessageVisibilityBatchRequestEntry::builder()
                .id(index.to_string())
                .receipt_handle(handle)
                .visibility_timeout(seconds)
                .build()
        };
        for batch in hidden.chunks(BATCH) {
            let outcome = async {
                let entries: Result<Vec<_>, BuildError> = batch.iter().enumerate().map(entry).collect();
                let entries = entries.map_err(|error| error.to_string())?;
                let client = self.client().await?;
                let request = client.change_message_visibility_batch().queue_url(self.url(is_fifo).await?);
                let output = request.set_entries(Some(entries)).send().await;
                failures(output.map_err(|error| describe(&error))?.failed())
            };
            if let Err(error) = outcome.await {
                warn!(
                    error,
                    messages = batch.len(),
                    "messages could not be hidden in SQS; they may be delivered early"
                );
            }
        }
    }
}

async fn connect(server: Option<&AwsServer>) -> Result<Client, String> {
    let configuration = vestibule_aws::configuration(server, "SQS", TIMEOUTS).await;
    let Configuration { shared, endpoint } =
        configuration.map_err(|error| format!("{error} to the region of the SQS queues"))?;
    let mut config = Builder::from(&shared);
    config.set_endpoint_url(endpoint);
    Ok(Client::from_conf(config.build()))
}

fn entry(
    is_fifo: bool,
    message: &JobMessage,
    delays: bool,
    index: usize,
) -> Result<SendMessageBatchRequestEntry, String> {
    let body = serde_json::to_string(message).map_err(|error| error.to_string())?;
    let mut entry = SendMessageBatchRequestEntry::builder()
        .id(index.to_string())
        .message_body(body)
        .message_group_id(message.group());
    if is_fifo {
        entry = entry.message_deduplication_id(message.deduplication_id());
    } else if delays {
        entry = entry.delay_seconds(message.delay_seconds as i32);
    }
    entry.build().map_err(|error| error.to_string())
}

fn delivery(message: &Message) -> Option<Delivery> {
    let number = |name: MessageSystemAttributeName| -> Option<u64> { message.attributes()?.get(&name)?.parse().ok() };
    let is_first = number(MessageSystemAttributeName::ApproximateReceiveCount) == Some(1);
    let sent_at = Micros(number(MessageSystemAttributeName::SentTimestamp).unwrap_or_default() * 1_000);
    let body = message.body().unwrap_or_default();
    let delivery = Delivery::of(message.receipt_handle()?.to_owned(), body, sent_at, is_first);
    if delivery.is_none() {
        let id = message.message_id().unwrap_or("unknown");
        warn!(message = id, "a message of SQS carries no job; is the SQS queue used for anything else?");
    }
    delivery
}

fn unavailable(reason: String) -> JobBackendError {
    JobBackendError::Unavailable(reason)
}

/// Whether the answer means that nothing was stored.
fn is_refusal<E>(error: &SdkError<E, HttpResponse>) -> bool {
    match error {
        SdkError::ConstructionFailure(_) => true,
        SdkError::ServiceError(error) => error.raw().status().is_client_error(),
        _ => false,
    }
}

fn describe<E>(error: &SdkError<E, HttpResponse>) -> String
where
    E: ProvideErrorMetadata + Error + 'static,
{
    let SdkError::ServiceError(answer) = error else { return with_causes(error) };
    let status = answer.raw().status().as_u16();
    let (code, message) = (error.code().unwrap_or("no code"), error.message().unwrap_or("no message"));
    format!("SQS answered {status} {code}: {message} (request {})", error.request_id().unwrap_or("unknown"))
}

fn describe_entry(entry: &BatchResultErrorEntry) -> String {
    format!("SQS answered {}: {}", entry.code(), entry.message().unwrap_or("no message"))
}

fn failures(failed: &[BatchResultErrorEntry]) -> Result<(), String> {
    failed.first().map_or(Ok(()), |entry| Err(describe_entry(entry)))
}

//! `vestibule push`: enqueues a job.

use std::io::Read as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use clap::Args;
use http::{HeaderName, Method, header};
use serde::de::IgnoredAny;
use serde_json::Value;
use vestibule_core::SessionId;
use vestibule_core::content_type::JSON;
use vestibule_core::jobs::{DeduplicationId, JobGroupId, JobQueueId, PAYLOAD_MAX};

use crate::api_client::{ApiClient, ApiOptions, ApiRequest, print_job};
use crate::arguments::whole;

/// Interval at which `--wait` asks for the job.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Args)]
pub(crate) struct PushOptions {
    /// ID of the job queue
    #[arg(value_name = "JOB_QUEUE")]
    job_queue: JobQueueId,

    /// Payload: a text, @FILE for the content of a file, or - for standard input
    #[arg(default_value = "-", value_name = "PAYLOAD")]
    payload: String,

    /// Group of the job; required in a FIFO job queue
    #[arg(long, value_name = "ID")]
    group: Option<JobGroupId>,

    /// A job with the ID of an earlier one is a duplicate and is not queued
    #[arg(long, value_name = "ID")]
    deduplication_id: Option<DeduplicationId>,

    /// Seconds until the job is due (0 to 900); standard job queues only
    #[arg(long, default_value_t = 0, value_parser = whole::<u64>(0..=900), value_name = "SECONDS")]
    delay: u64,

    /// Content type of the payload [default: application/json if it is JSON, text/plain if it is text]
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,

    /// User of your site for whom the job runs
    #[arg(long, value_name = "ID")]
    user_id: Option<String>,

    /// Session of the visitor who may follow the job
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,

    /// Wait until the job is completed; exit status 1 if it becomes a dead letter
    #[arg(long)]
    wait: bool,

    #[command(flatten)]
    api: ApiOptions,
}

/// Enqueues a job, and prints its ID.
pub(crate) async fn push(options: PushOptions) -> anyhow::Result<ExitCode> {
    if options.job_queue.is_fifo() && options.group.is_none() {
        bail!("{} is a FIFO job queue, which needs the group of the job: give it with --group", options.job_queue);
    }
    let client = options.api.client()?;
    let payload = payload(&options.payload)?;
    let content_type = options.content_type.clone().unwrap_or_else(|| content_type_of(&payload).to_owned());
    if content_type.starts_with("text/") && payload.starts_with(b"{") {
        eprintln!("the payload is no valid JSON; it is sent as text");
    }
    let PushOptions { job_queue, group, deduplication_id, delay, user_id, session, wait, .. } = options;
    let mut path = format!("/job-queues/{job_queue}/jobs?delay={delay}");
    if let Some(group) = group {
        path.push_str("&group_id=");
        path.push_str(&encoded(group.as_str()));
    }
    let mut request = ApiRequest::new(Method::POST, &path);
    request.headers.push((header::CONTENT_TYPE, content_type));
    let more = [
        ("idempotency-key", deduplication_id.map(|id| id.to_string())),
        ("vestibule-user-id", user_id),
        ("vestibule-session", session.map(|id| id.to_string())),
    ];
    let more = more.into_iter().filter_map(|(name, value)| Some((HeaderName::from_static(name), value?)));
    request.headers.extend(more);
    request.body = payload;
    let enqueued = client.send(request).await?;
    print_job(&enqueued)?;
    if enqueued["duplicate"] == true {
        eprintln!("a duplicate of an earlier job; nothing was queued");
    }
    let id = enqueued["job_id"].as_str().unwrap_or_default();
    if wait { wait_for(&client, &job_queue, id).await } else { Ok(ExitCode::SUCCESS) }
}

/// The payload: from a file, standard input, or the argument itself.
fn payload(argument: &str) -> anyhow::Result<Bytes> {
    let bytes = match argument.strip_prefix('@') {
        Some(path) => std::fs::read(path).with_context(|| format!("cannot read {path}"))?,
        None if argument == "-" => {
            let mut bytes = Vec::new();
            let most = PAYLOAD_MAX as u64 + 1;
            std::io::stdin().lock().take(most).read_to_end(&mut bytes).context("cannot read standard input")?;
            bytes
        }
        None => argument.as_bytes().to_vec(),
    };
    if bytes.len() > PAYLOAD_MAX {
        bail!("the payload exceeds {PAYLOAD_MAX} bytes");
    }
    Ok(bytes.into())
}

fn content_type_of(payload: &[u8]) -> &'static str {
    if serde_json::from_slice::<IgnoredAny>(payload).is_ok() {
        return JSON;
    }
    if std::str::from_utf8(payload).is_ok() { "text/plain; charset=utf-8" } else { "application/octet-stream" }
}

/// A value of a query.
fn encoded(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    let written = |byte: u8| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(written).collect()
}

/// Waits until a job is finished, and says which attempts failed.
async fn wait_for(client: &ApiClient, job_queue: &JobQueueId, id: &str) -> anyhow::Result<ExitCode> {
    let path = format!("/job-queues/{job_queue}/jobs/{id}");
    let mut failed = 0;
    loop {
        let job: Value = client.send(ApiRequest::new(Method::GET, &path)).await?;
        let failed_now = job["failed_attempts"].as_u64().unwrap_or_default();
        if failed_now > failed {
            failed = failed_now;
            eprintln!("{}", failed_attempt(&job));
        }
        match job["state"].as_str() {
            Some("completed") => {
                println!("completed");
                return Ok(ExitCode::SUCCESS);
            }
            Some("queued" | "running" | "retrying") => tokio::time::sleep(POLL_INTERVAL).await,
            state => {
                println!("{}: {}", state.unwrap_or("unknown"), job["reason"].as_str().unwrap_or("no reason"));
                return Ok(ExitCode::FAILURE);
            }
        }
    }
}

/// What is said of the last attempt, which failed.
fn failed_attempt(job: &Value) -> String {
    let last = job["attempts"].as_array().and_then(|attempts| attempts.last()).unwrap_or(&Value::Null);
    let why = match (last["status"].as_u64(), last["reason"].as_str()) {
        (Some(status), _) => format!(": the handler answered {status}"),
        (None, Some(reason)) => format!(": {reason}"),
        (None, None) => String::new(),
    };
    let next = match (job["due_at"].as_u64(), last["ended_at"].as_u64()) {
        (Some(due_at), Some(ended_at)) => format!("; the next one is {} s later", due_at.saturating_sub(ended_at)),
        _ => String::new(),
    };
    format!("attempt {} failed{why}{next}", job["failed_attempts"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn failed_attempt_says_why_and_when_the_next_one_is() {
        let attempts = json!([{ "status": 401, "reason": "status", "ended_at": 100 }]);
        let job = json!({ "failed_attempts": 2, "due_at": 105, "attempts": attempts });
        assert_eq!(failed_attempt(&job), "attempt 2 failed: the handler answered 401; the next one is 5 s later");
        let job =
            json!({ "failed_attempts": 1, "due_at": null, "attempts": [{ "reason": "timeout", "ended_at": 100 }] });
        assert_eq!(failed_attempt(&job), "attempt 1 failed: timeout");
    }

    #[test]
    fn content_type_follows_the_payload() {
        assert_eq!(content_type_of(b"{\"a\":1}"), JSON);
        assert_eq!(content_type_of("gr\u{fc}n".as_bytes()), "text/plain; charset=utf-8");
        assert_eq!(content_type_of(&[0xff, 0]), "application/octet-stream");
    }

    #[test]
    fn group_is_encoded() {
        assert_eq!(encoded("user-17&x=a/b"), "user-17%26x%3Da%2Fb");
    }
}

//! The call of a handler: one job, one request.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};
use vestibule_core::jobs::{
    FailureReason, HandlerUrl, JobQueueId, JobQueueSettings, JobTarget, LeasedJob, Outcome, SigningSecret,
};
use vestibule_core::settings::{Reach, RetiredSecret};
use vestibule_core::{Clock as _, SystemClock};
use vestibule_http_client::{HttpClient, Options};
use vestibule_runtime::{CachedJobQueue, progress_target};

use crate::permissions::{address_check, permissions};
use crate::response::{RESPONSE_MAX, log_cause, outcome, without_response};
use crate::signature::signature;

/// How long an idle connection to a handler is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Content type of a payload whose own cannot be a header.
const UNKNOWN_CONTENT: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// Why a handler can't be called.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HandlerError {
    #[error("the job queue has no signing secret")]
    NoSecret,
    #[error("the address of the handler is invalid")]
    Address,
    #[error(transparent)]
    Tls(#[from] vestibule_http_client::TlsError),
}

/// The handler of a job queue, with connections of its own.
pub(crate) struct Handler {
    job_queue: JobQueueId,
    url: Uri,
    secret: SigningSecret,
    /// Signs, too, for a while.
    retired_secret: Option<RetiredSecret>,
    timeout: u64,
    /// Whether the tenant's list of origins contains this handler.
    is_allowed: bool,
    reach: Reach,
    client: HttpClient,
    /// Where handlers reach the gate.
    public_url: Option<Arc<str>>,
    clock: SystemClock,
}

impl Handler {
    pub(crate) fn new(
        job_queue: &CachedJobQueue,
        public_url: Option<Arc<str>>,
        is_function: bool,
    ) -> Result<Self, HandlerError> {
        let JobQueueSettings { id, target, timeout, .. } = &job_queue.settings;
        let (is_allowed, reach) = permissions_of(job_queue);
        let client = HttpClient::new(Options {
            timeout: Duration::from_secs(*timeout),
            response_max: RESPONSE_MAX,
            idle_timeout: IDLE_TIMEOUT,
            check: address_check(reach.clone(), is_function),
            ..Options::default()
        })?;
        Ok(Self {
            job_queue: id.clone(),
            url: address(target).ok_or(HandlerError::Address)?,
            secret: target.secret.clone().ok_or(HandlerError::NoSecret)?,
            retired_secret: job_queue.retired_secret.clone(),
            timeout: *timeout,
            is_allowed,
            reach,
            client,
            public_url,
            clock: SystemClock::new(),
        })
    }

    /// Whether this is still the handler of the job queue.
    pub(crate) fn is_of(&self, job_queue: &CachedJobQueue) -> bool {
        let JobQueueSettings { target, timeout, .. } = &job_queue.settings;
        let is_same_target = address(target).is_some_and(|url| url == self.url)
            && target.secret.as_ref() == Some(&self.secret)
            && job_queue.retired_secret == self.retired_secret;
        is_same_target && *timeout == self.timeout && permissions_of(job_queue) == (self.is_allowed, self.reach.clone())
    }

    /// Calls the handler and says what its response means. Dropping the future closes the connection.
    pub(crate) async fn call(&self, job: LeasedJob) -> Outcome {
        if !self.is_allowed {
            return Outcome::Failed(without_response(FailureReason::AddressRefused));
        }
        let id = job.lease.job;
        let Some(request) = self.request(job, self.now()) else {
            return Outcome::Failed(without_response(FailureReason::AddressRefused));
        };
        let response = self.client.send_and_cut(request).await;
        outcome(response.inspect_err(|error| log_cause(id, error)), self.now())
    }

    fn now(&self) -> u64 {
        self.clock.now().seconds()
    }

    /// The value of `webhook-signature`: one signature for each secret, as the standard says of a rotation.
    fn signatures(&self, id: &str, now: u64, body: &[u8]) -> Option<String> {
        let retired = self.retired_secret.as_ref().and_then(|retired| retired.at(now));
        let secrets = std::iter::once(&self.secret).chain(retired);
        let signatures = secrets.map(|secret| signature(secret, id, now, body)).collect::<Option<Vec<_>>>();
        signatures.map(|signatures| signatures.join(" "))
    }

    fn request(&self, job: LeasedJob, now: u64) -> Option<Request<Bytes>> {
        let id = job.lease.job.to_string();
        let body = Bytes::from(job.payload.bytes);
        let mut headers = HeaderMap::new();
        let content_type = HeaderValue::from_bytes(job.payload.content_type.as_bytes()).unwrap_or(UNKNOWN_CONTENT);
        headers.insert(header::CONTENT_TYPE, content_type);
        let mut insert = |name: &'static str, value: &str| {
            // Every value has been checked when the job was enqueued.
            if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        insert("webhook-id", &id);
        insert("webhook-timestamp", &now.to_string());
        insert("webhook-signature", &self.signatures(&id, now, &body)?);
        insert("idempotency-key", &id);
        insert("vestibule-job-id", &id);
        insert("vestibule-job-queue", self.job_queue.as_str());
        insert("vestibule-sequence-number", &job.sequence.to_string());
        insert("vestibule-receive-count", &job.lease.receive_count.to_string());
        insert("vestibule-enqueued-at", &job.enqueued_at.seconds().to_string());
        insert("vestibule-deadline", &(now + self.timeout).to_string());
        if let Some(group) = &job.group {
            insert("vestibule-group-id", group.as_str());
        }
        let progress_url = self.public_url.as_deref().zip(progress_target(&self.secret, &self.job_queue, job.lease));
        if let Some((base, target)) = progress_url {
            insert("vestibule-progress-url", &format!("{base}{target}"));
        }
        if let Some(session) = job.session {
            insert("vestibule-session", &session.to_string());
        }
        if let Some(params) = &job.params {
            insert("vestibule-params", params.as_str());
        }
        if let Some(user_id) = &job.user_id {
            insert("vestibule-user-id", user_id);
        }
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        *request.headers_mut() = headers;
        Some(request)
    }
}

fn address(target: &JobTarget) -> Option<Uri> {
    target.url.as_ref()?.to_string().parse().ok()
}

/// Whether the handler may be called, and at which addresses.
fn permissions_of(job_queue: &CachedJobQueue) -> (bool, Reach) {
    let origin = job_queue.settings.target.url.as_ref().map(HandlerUrl::origin);
    origin.map_or((true, Reach::Public), |origin| permissions(job_queue.tenant.as_deref(), origin))
}

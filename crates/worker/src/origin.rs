//! The target of held orders: the site itself, to which an order is sent as the proxy would (H7).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Uri, header};
use parking_lot::Mutex;
use vestibule_core::jobs::{FailureReason, LeasedJob, Outcome};
use vestibule_core::settings::{Origin, Tenant};
use vestibule_core::{Clock as _, PassSigner, SystemClock};
use vestibule_http_client::{HttpClient, Options, TlsError};
use vestibule_runtime::{CachedJobQueue, HeldRequest};

use crate::permissions::{address_check, permissions};
use crate::response::{RESPONSE_MAX, held_outcome, log_cause, without_response};

/// Time limit of a connection. An origin that accepts none in this time has not received the order.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of clients that are kept, one for each origin.
const CLIENTS_MAX: usize = 64;
const PASS: HeaderName = HeaderName::from_static("x-vestibule-pass");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The sites of a job queue.
pub(crate) struct OriginTarget {
    tenant: Option<Arc<Tenant>>,
    timeout: u64,
    passes: Arc<PassSigner>,
    is_function: bool,
    clients: Mutex<HashMap<String, HttpClient>>,
    clock: SystemClock,
}

impl OriginTarget {
    pub(crate) fn new(job_queue: &CachedJobQueue, passes: Arc<PassSigner>, is_function: bool) -> Self {
        Self {
            tenant: job_queue.tenant.clone(),
            timeout: job_queue.settings.timeout,
            passes,
            is_function,
            clients: Mutex::default(),
            clock: SystemClock::new(),
        }
    }

    /// Whether this is still the target of the job queue.
    pub(crate) fn is_of(&self, job_queue: &CachedJobQueue) -> bool {
        job_queue.settings.holds_orders()
            && job_queue.settings.timeout == self.timeout
            && job_queue.tenant == self.tenant
    }

    /// Sends an order, and says what the response means. `confirm` records that it is about to be sent; without its consent
    /// nothing is sent. Dropping the future closes the connection.
    pub(crate) async fn send(&self, job: LeasedJob, confirm: impl Future<Output = bool>) -> Outcome {
        let refused = || Outcome::FailedForGood(without_response(FailureReason::AddressRefused));
        let Some(order) = HeldRequest::from_payload(&job.payload) else { return refused() };
        let Some(client) = self.client(&order.origin) else { return refused() };
        let Some(request) = self.request(&job, order) else { return refused() };
        if !confirm.await {
            return Outcome::Requeued;
        }
        let response = client.send_and_cut(request).await;
        held_outcome(response.inspect_err(|error| log_cause(job.lease.job, error)), self.clock.now().seconds())
    }

    /// A client for this origin, which opens a connection for each order; `None` if the tenant does not allow it.
    fn client(&self, origin: &Origin) -> Option<HttpClient> {
        let (is_allowed, reach) = permissions(self.tenant.as_deref(), origin);
        if !is_allowed {
            return None;
        }
        let mut clients = self.clients.lock();
        if let Some(client) = clients.get(&origin.to_string()) {
            return Some(client.clone());
        }
        let client = HttpClient::new(Options {
            timeout: Duration::from_secs(self.timeout),
            // Otherwise an order that was never sent would time out like one that was.
            connect_timeout: Some(CONNECT_TIMEOUT.min(Duration::from_secs(self.timeout) / 2)),
            response_max: RESPONSE_MAX,
            idle_timeout: Duration::ZERO,
            check: address_check(reach, self.is_function),
            ..Options::default()
        })
        .inspect_err(|error: &TlsError| tracing::warn!(%origin, %error, "orders cannot be sent"))
        .ok()?;
        if clients.len() >= CLIENTS_MAX {
            clients.clear();
        }
        clients.insert(origin.to_string(), client.clone());
        Some(client)
    }

    /// The visitor's request with a pass of its own, and the job ID as its `Idempotency-Key` unless the visitor sent one. An empty one
    /// is none.
    fn request(&self, job: &LeasedJob, order: HeldRequest) -> Option<Request<Bytes>> {
        let id = job.lease.job;
        let mut headers = order.headers;
        if headers.get(IDEMPOTENCY_KEY).is_none_or(HeaderValue::is_empty) {
            headers.insert(IDEMPOTENCY_KEY, HeaderValue::try_from(id.to_string()).ok()?);
        }
        let pass = self.passes.sign_for_job(&order.queue, job.session?, order.account, id, self.clock.now())?;
        headers.insert(PASS, HeaderValue::try_from(pass).ok()?);
        // Some sites refuse a POST without a body that does not say so.
        headers.insert(header::CONTENT_LENGTH, order.body.len().into());
        let mut request = Request::new(Bytes::from(order.body));
        *request.method_mut() = order.method;
        *request.uri_mut() = format!("{}{}", order.origin, order.target).parse::<Uri>().ok()?;
        *request.headers_mut() = headers;
        Some(request)
    }
}

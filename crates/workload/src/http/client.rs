//! The HTTP client that all visitors share.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, COOKIE, HOST, SET_COOKIE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use vestibule_core::content_type::{JSON, media_type};
use vestibule_core::{Proof, is_pre_ticket};
use vestibule_http_client::{HttpClient, HttpError, Options, ResponseBody, TlsError};

use super::response::{self, Tickets};
use super::solver::Solver;
use super::stream::{Block, EventReader};
use super::ticket::Ticket;
use super::{CookieJar, Target};
use crate::hostile::ClientAddresses;
use crate::sim_time::SimTime;
use crate::visitor::{GateResponse, PlannedRequest, ReportedStatus, RequestKind};
use crate::workload::Workload;

/// Maximum size of a response body.
const RESPONSE_MAX: usize = 16 << 20;
/// Timeout of a request, as on the queue page.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Idle connections are closed after this time, before the server closes them.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// Prefix of the `User-Agent` of a visitor; the visitor's number follows.
pub(crate) const USER_AGENT_PREFIX: &str = "vestibule-workload/1 (visitor ";
/// What a browser accepts for a page.
const PAGE_TYPES: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// A request to send.
#[derive(Debug)]
pub(crate) struct Job {
    /// The visitor who sends it.
    pub(crate) visitor: u32,
    /// The request.
    pub(crate) request: PlannedRequest,
    /// The visitor's cookies.
    pub(crate) cookies: CookieJar,
    /// When it was due.
    pub(crate) due: SimTime,
}

/// A request with its response.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// The request.
    pub(crate) job: Job,
    /// When it was sent.
    pub(crate) sent: SimTime,
    /// When the response was complete.
    pub(crate) received: SimTime,
    /// The time between the two, in microseconds.
    pub(crate) latency_us: u64,
    /// The response, as the visitor understands it.
    pub(crate) response: GateResponse,
    /// The status code; `None` without a response.
    pub(crate) status: Option<StatusCode>,
    /// Why the request failed.
    pub(crate) failure: Option<String>,
    /// The number of active visitors that the gate reports.
    pub(crate) reported_active: Option<u64>,
    /// The `Set-Cookie` headers.
    pub(crate) set_cookies: Vec<HeaderValue>,
    /// For a session that is admitted, the time since then in microseconds, by the store's clock.
    pub(crate) admitted_for_us: Option<u64>,
    /// Size of the request, in bytes.
    pub(crate) sent_bytes: usize,
    /// Size of the response, in bytes.
    pub(crate) received_bytes: usize,
}

/// What visitors receive.
#[derive(Debug)]
pub(crate) enum Received {
    /// The response to a request.
    Exchange(Box<Exchange>),
    /// A message of a stream.
    Stream {
        /// The visitor.
        visitor: u32,
        /// The number of the stream, as [`RequestPool::open_stream`] returned it.
        stream: u64,
        /// When it was received.
        at: SimTime,
        /// What it is.
        message: StreamMessage,
    },
}

/// What a stream brings.
#[derive(Debug)]
pub(crate) enum StreamMessage {
    /// The response to the request that opens it.
    Response(Box<Exchange>),
    /// A status.
    Update(Box<ReportedStatus>),
    /// Its end, and the milliseconds until the browser reconnects, if the server has sent them.
    End(Option<u32>),
}

/// A target that cannot be tested.
#[derive(Debug, thiserror::Error)]
pub enum TargetCheckError {
    /// No certificate authority can be trusted.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// No connection.
    #[error("cannot connect to {target} ({cause}): is the gate running, and is this its address?")]
    Unreachable {
        /// The target.
        target: String,
        /// The cause.
        cause: String,
    },
    /// Not a gate.
    #[error("{target} is not a Vestibule gate: /_vestibule/health returns {status} instead of 200")]
    NotAGate {
        /// The target.
        target: String,
        /// The status of the health endpoint.
        status: StatusCode,
    },
    /// A site that answers every path.
    #[error("{target} is not a Vestibule gate: /_vestibule/status returns no visitor status")]
    NoVisitorStatus {
        /// The target.
        target: String,
    },
    /// The gate has no such queue.
    #[error(
        "the gate at {target} has no such queue for the host {host:?} ({status}): pass --host and --queue as in its settings; a host with several queues needs --queue"
    )]
    NoQueue {
        /// The target.
        target: String,
        /// The host of the requests.
        host: String,
        /// The status of the status endpoint.
        status: StatusCode,
    },
    /// The gate's store is unavailable.
    #[error("the store of the gate at {target} is unavailable: start it first; use --faults to stop it during the run")]
    StoreUnavailable {
        /// The target.
        target: String,
    },
}

/// Sends requests with a limit on those in progress.
pub(crate) struct RequestPool {
    client: Arc<GateClient>,
    free: usize,
    /// Number of streams that were opened, open or not.
    streams: u64,
    sender: mpsc::UnboundedSender<Received>,
    receiver: mpsc::UnboundedReceiver<Received>,
}

struct GateClient {
    http: HttpClient,
    target: Target,
    /// The addresses that requests state, if there are hostile clients.
    addresses: Option<ClientAddresses>,
    solver: Solver,
    started: Instant,
}

impl RequestPool {
    /// A pool with a maximum number of requests in progress. Checks the target first.
    ///
    /// # Errors
    /// A target that is not a gate with this queue.
    pub(crate) async fn open(
        target: Target,
        workload: &Workload,
        max: usize,
        started: Instant,
    ) -> Result<Self, TargetCheckError> {
        let options = Options {
            timeout: REQUEST_TIMEOUT,
            response_max: RESPONSE_MAX,
            idle_timeout: IDLE_TIMEOUT,
            authorities: None,
            ..Options::default()
        };
        let addresses = ClientAddresses::new(workload.visitors, &workload.hostile);
        let client = Arc::new(GateClient {
            http: HttpClient::new(options)?,
            target,
            addresses,
            solver: Solver::new(workload),
            started,
        });
        client.check_target().await?;
        let (sender, receiver) = mpsc::unbounded_channel();
        Ok(Self { client, free: max, streams: 0, sender, receiver })
    }

    /// Whether another request can be sent now.
    pub(crate) fn has_capacity(&self) -> bool {
        self.free > 0
    }

    /// Sends a request.
    pub(crate) fn send(&mut self, job: Job) {
        self.free = self.free.saturating_sub(usize::from(is_limited(&job)));
        let (client, sender) = (Arc::clone(&self.client), self.sender.clone());
        tokio::spawn(async move {
            // Fails only if the run has ended.
            let _ = sender.send(Received::Exchange(Box::new(client.exchange(job).await)));
        });
    }

    /// Opens a stream, which is not limited: each has a connection of its own. Returns its number, and what closes it.
    pub(crate) fn open_stream(&mut self, job: Job) -> (u64, AbortHandle) {
        self.streams += 1;
        let (client, sender, stream) = (Arc::clone(&self.client), self.sender.clone(), self.streams);
        let task = tokio::spawn(async move {
            let visitor = job.visitor;
            let deliver = |message| {
                let at = client.sim_time(Instant::now());
                // Fails only if the run has ended.
                let _ = sender.send(Received::Stream { visitor, stream, at, message });
            };
            client.stream(job, deliver).await;
        });
        (stream, task.abort_handle())
    }

    /// Waits for responses. Cancel safe.
    pub(crate) async fn receive(&mut self, received: &mut Vec<Received>) {
        self.receiver.recv_many(received, usize::MAX).await;
        let is_done =
            |received: &&Received| matches!(received, Received::Exchange(exchange) if is_limited(&exchange.job));
        self.free += received.iter().filter(is_done).count();
    }
}

impl GateClient {
    async fn exchange(&self, job: Job) -> Exchange {
        if job.request.kind == RequestKind::Join {
            return self.join(job).await;
        }
        let request = self.request(&job);
        let sent_bytes = request_bytes(&request);
        let sent = Instant::now();
        let result = self.http.send(request).await;
        self.exchanged(job, sent_bytes, sent, result)
    }

    /// Gets a challenge, solves it, and joins. The times are those of the request that joins, or of that for the challenge if this
    /// fails.
    async fn join(&self, job: Job) -> Exchange {
        let mut request = self.request(&job);
        (*request.method_mut(), *request.uri_mut()) = (Method::GET, self.target.challenge());
        let sent_bytes = request_bytes(&request);
        let sent = Instant::now();
        let result = self.http.send(request).await;
        let challenge = result.as_ref().ok().filter(|response| response.status() == StatusCode::OK);
        let challenge = challenge.and_then(|response| serde_json::from_slice(response.body()).ok());
        let mut first = self.exchanged(job, sent_bytes, sent, result);
        let proof = match challenge {
            Some(challenge) => self.solver.solve(first.job.visitor, challenge).await,
            None => None,
        };
        let Some(body) = proof.and_then(|proof| serde_json::to_vec(&ProofBody { proof }).ok()) else { return first };
        // The challenge came with another pre-ticket, which says that the visitor is solving it.
        let cookies = first.job.cookies.updated(&first.set_cookies);
        let job = Job { cookies: cookies.unwrap_or(first.job.cookies), ..first.job };
        let mut request = self.request(&job).map(|_| Bytes::from(body));
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        let sent_bytes = first.sent_bytes + request_bytes(&request) + request.body().len();
        let sent = Instant::now();
        let result = self.http.send(request).await;
        let mut joined = self.exchanged(job, sent_bytes, sent, result);
        first.set_cookies.append(&mut joined.set_cookies);
        joined.set_cookies = first.set_cookies;
        joined.received_bytes += first.received_bytes;
        joined
    }

    /// Opens a stream and passes on what it brings, to its end.
    async fn stream(&self, job: Job, deliver: impl Fn(StreamMessage)) {
        let request = self.request(&job);
        let sent_bytes = request_bytes(&request);
        let sent = Instant::now();
        let opened = self.http.open(request).await;
        let (head, mut body) = match opened.map(Response::into_parts) {
            Ok((head, body)) => (Ok(Response::from_parts(head, Bytes::new())), Some(body)),
            Err(error) => (Err(error), None),
        };
        let exchange = self.exchanged(job, sent_bytes, sent, head);
        let is_open = exchange.response == GateResponse::Stream;
        deliver(StreamMessage::Response(Box::new(exchange)));
        if let Some(body) = body.as_mut().filter(|_| is_open) {
            deliver(StreamMessage::End(updates(body, &deliver).await));
        }
    }

    fn exchanged(
        &self,
        job: Job,
        sent_bytes: usize,
        sent: Instant,
        result: Result<Response<Bytes>, HttpError>,
    ) -> Exchange {
        let received = Instant::now();
        let mut exchange = Exchange {
            job,
            sent: self.sim_time(sent),
            received: self.sim_time(received),
            latency_us: received.duration_since(sent).as_micros() as u64,
            response: GateResponse::Failed { retry_after_ms: 0 },
            status: None,
            failure: None,
            reported_active: None,
            set_cookies: Vec::new(),
            admitted_for_us: None,
            sent_bytes,
            received_bytes: 0,
        };
        match result {
            Ok(response) => exchange.read(response),
            Err(error) => exchange.failure = Some(error.to_string()),
        }
        exchange
    }

    fn sim_time(&self, at: Instant) -> SimTime {
        SimTime(at.saturating_duration_since(self.started).as_millis() as u32)
    }

    /// Checks that the target is a healthy gate with this queue. HEAD requests do not join the line.
    async fn check_target(&self) -> Result<(), TargetCheckError> {
        let target = || self.target.url().to_owned();
        match self.probe(self.target.health()).await?.status() {
            StatusCode::OK => {}
            StatusCode::SERVICE_UNAVAILABLE => return Err(TargetCheckError::StoreUnavailable { target: target() }),
            status => return Err(TargetCheckError::NotAGate { target: target(), status }),
        }
        let response = self.probe(self.target.uri(RequestKind::Poll)).await?;
        let status = response.status();
        if status.is_success() {
            // A site that answers every path does so with pages.
            let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
            let is_json = content_type.is_some_and(|value| media_type(value) == JSON);
            return if is_json { Ok(()) } else { Err(TargetCheckError::NoVisitorStatus { target: target() }) };
        }
        let host = String::from_utf8_lossy(self.target.host.as_bytes()).into_owned();
        Err(TargetCheckError::NoQueue { target: target(), host, status })
    }

    async fn probe(&self, uri: Uri) -> Result<Response<Bytes>, TargetCheckError> {
        let mut request = Request::new(Bytes::new());
        *request.method_mut() = Method::HEAD;
        *request.uri_mut() = uri;
        request.headers_mut().insert(HOST, self.target.host.clone());
        let unreachable = |error: HttpError| TargetCheckError::Unreachable {
            target: self.target.url().to_owned(),
            cause: error.to_string(),
        };
        self.http.send(request).await.map_err(unreachable)
    }

    fn request(&self, job: &Job) -> Request<Bytes> {
        let kind = job.request.kind;
        let is_page = matches!(kind, RequestKind::Enter | RequestKind::Page);
        let is_get = is_page || matches!(kind, RequestKind::Poll | RequestKind::Stream);
        let mut request = Request::new(Bytes::new());
        *request.method_mut() = if is_get { Method::GET } else { Method::POST };
        *request.uri_mut() = self.target.uri(kind);
        let headers = request.headers_mut();
        headers.insert(HOST, self.target.host.clone());
        // Identifies the visitor in the access log of the origin.
        if let Ok(agent) = HeaderValue::try_from(format!("{USER_AGENT_PREFIX}{})", job.visitor)) {
            headers.insert(USER_AGENT, agent);
        }
        let accept = match kind {
            _ if is_page => PAGE_TYPES,
            RequestKind::Stream => "text/event-stream",
            _ => JSON,
        };
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        if is_page {
            headers.insert("sec-fetch-mode", HeaderValue::from_static("navigate"));
            headers.insert("sec-fetch-dest", HeaderValue::from_static("document"));
        }
        let address = self.addresses.as_ref().map(|addresses| addresses.of(job.visitor).to_string());
        if let Some(address) = address.and_then(|address| HeaderValue::try_from(address).ok()) {
            headers.insert("x-forwarded-for", address);
        }
        if let Some(cookie) = job.cookies.header() {
            headers.insert(COOKIE, cookie);
        }
        request
    }
}

/// The body of a request that joins with a proof of work.
#[derive(Serialize)]
struct ProofBody {
    proof: Proof,
}

/// Whether a request counts as one in progress. One that solves a challenge first takes no connection meanwhile.
fn is_limited(job: &Job) -> bool {
    job.request.kind != RequestKind::Join
}

impl Exchange {
    fn read(&mut self, response: Response<Bytes>) {
        let (head, body) = response.into_parts();
        self.status = Some(head.status);
        self.received_bytes = header_bytes(&head.headers) + "HTTP/1.1 200 OK\r\n\r\n".len() + body.len();
        self.set_cookies = head.headers.get_all(SET_COOKIE).into_iter().cloned().collect();
        let set = self.set_cookies.iter().any(sets_ticket);
        let ticket = Ticket::of(&self.set_cookies);
        self.admitted_for_us = ticket.and_then(|ticket| ticket.admitted_for_us);
        let lobby = ticket.is_some_and(|ticket| ticket.lobby);
        let slot_ms = ticket.and_then(|ticket| ticket.slot_ms);
        let tickets = Tickets { held: self.job.cookies.has_prefix("vestibule_"), set, lobby, slot_ms };
        let kind = self.job.request.kind;
        self.reported_active =
            response::active(&body).filter(|_| matches!(kind, RequestKind::Poll | RequestKind::Keepalive));
        match response::read(kind, &head, &body, tickets) {
            Ok(read) => self.response = read,
            Err(failure) => {
                let retry_after_ms = response::retry_after_ms(&head.headers).unwrap_or(0);
                // A browser reconnects after an error of the network, not after one of the server.
                let is_final = kind == RequestKind::Stream;
                self.response = if is_final { GateResponse::NoStream } else { GateResponse::Failed { retry_after_ms } };
                self.failure = Some(failure);
            }
        }
    }
}

/// Passes on the statuses of a stream. Returns the last `retry` in milliseconds.
async fn updates(body: &mut ResponseBody, deliver: &impl Fn(StreamMessage)) -> Option<u32> {
    let (mut reader, mut retry_ms) = (EventReader::default(), None);
    // A broken connection is the end of a stream, too.
    while let Ok(Some(bytes)) = body.next().await {
        for block in reader.read(&bytes) {
            match block {
                Block::Status(status) => deliver(StreamMessage::Update(status)),
                Block::Retry(ms) => retry_ms = Some(ms),
            }
        }
    }
    retry_ms
}

/// Whether this `Set-Cookie` sets the ticket of a session, not the pre-ticket of a first visit.
fn sets_ticket(cookie: &HeaderValue) -> bool {
    let pair = cookie.to_str().ok().and_then(|cookie| cookie.split(';').next()?.split_once('='));
    pair.is_some_and(|(name, token)| name.starts_with("vestibule_") && !is_pre_ticket(token))
}

fn request_bytes(request: &Request<Bytes>) -> usize {
    header_bytes(request.headers()) + request.uri().path().len() + "GET  HTTP/1.1\r\n\r\n".len()
}

fn header_bytes(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}

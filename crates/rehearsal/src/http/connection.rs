//! Connections that all visitors share: a few hundred, each with one request under way at a time.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, COOKIE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tower::{Service as _, ServiceExt as _};

use super::{Jar, Target};
use super::{answer, jar};
use crate::moment::Moment;
use crate::visitor::{Ask, Heard, Question};

/// Largest answer that is read.
const ANSWER_MAX: usize = 4 << 20;
/// How long an answer may take, as the queue page has it.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a connection may lie idle before another one is made in its place: servers close those that were silent.
const IDLE: Duration = Duration::from_secs(5);

/// A request to be made.
#[derive(Debug)]
pub(crate) struct Job {
    /// Whose it is.
    pub(crate) visitor: u32,
    /// What is asked.
    pub(crate) ask: Ask,
    /// The visitor's cookies.
    pub(crate) jar: Jar,
    /// When it should have been sent.
    pub(crate) due: Moment,
}

/// A request that was made, and what came of it.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// Which connection is free again.
    pub(crate) connection: usize,
    /// The request.
    pub(crate) job: Job,
    /// When it was sent.
    pub(crate) sent: Moment,
    /// When the answer was whole.
    pub(crate) heard_at: Moment,
    /// How long it took, in microseconds.
    pub(crate) took_us: u64,
    /// What the visitor hears.
    pub(crate) heard: Heard,
    /// The answer's status; `None` if there was none.
    pub(crate) status: Option<StatusCode>,
    /// Why it is no answer of a gate.
    pub(crate) failure: Option<String>,
    /// How many are in, by the gate's own word.
    pub(crate) active: Option<u64>,
    /// The cookies that it sets.
    pub(crate) set: Vec<HeaderValue>,
    /// Bytes of the request.
    pub(crate) sent_bytes: usize,
    /// Bytes of the answer.
    pub(crate) heard_bytes: usize,
}

/// A target that gives no answer of a gate.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// Nobody listens.
    #[error("nothing answers at {target} ({cause}): is the gate running, and is this its address?")]
    Unreachable {
        /// The target.
        target: String,
        /// What went wrong.
        cause: String,
    },
    /// Somebody else answers.
    #[error("what answers at {target} is no gate of Vestibule: /_vestibule/health says {status} and not 200")]
    NoGate {
        /// The target.
        target: String,
        /// What was answered.
        status: StatusCode,
    },
    /// The gate knows no such queue.
    #[error(
        "the gate at {target} has no such queue for the host {host:?} ({status}): give the host and the queue as its settings have them, with --host and --queue; a host with several queues needs --queue"
    )]
    NoQueue {
        /// The target.
        target: String,
        /// The host that was named.
        host: String,
        /// What was answered.
        status: StatusCode,
    },
    /// The gate can't work.
    #[error(
        "the gate at {target} says that its store is away: bring the store up first, and take it down by --faults if that is the drill"
    )]
    StoreAway {
        /// The target.
        target: String,
    },
}

type Sender = SendRequest<Empty<Bytes>>;
type Cause = Box<dyn Error + Send + Sync>;

/// The connections. Those that were used last are used first, so that no more are open than are needed.
pub(crate) struct Pool {
    lanes: Vec<mpsc::Sender<Job>>,
    idle: Vec<usize>,
    exchanges: mpsc::UnboundedReceiver<Exchange>,
}

struct Caller {
    target: Target,
    connector: HttpsConnector<HttpConnector>,
    began: Instant,
}

impl Pool {
    /// As many connections as this, none of them open yet, after asking the target whether it is a gate.
    ///
    /// # Errors
    /// A target that gives no answer of a gate.
    pub(crate) async fn open(target: Target, connections: usize, began: Instant) -> Result<Self, PoolError> {
        let caller = Arc::new(Caller { target, connector: connector(), began });
        caller.look().await?;
        let (finished, exchanges) = mpsc::unbounded_channel();
        let lanes: Vec<_> = (0..connections)
            .map(|number| {
                let (jobs, taken) = mpsc::channel(1);
                tokio::spawn(serve(Arc::clone(&caller), number, taken, finished.clone()));
                jobs
            })
            .collect();
        Ok(Self { idle: (0..lanes.len()).rev().collect(), lanes, exchanges })
    }

    /// Whether a request can be made now.
    #[must_use]
    pub(crate) fn is_free(&self) -> bool {
        !self.idle.is_empty()
    }

    /// Makes a request; gives it back if all connections are taken.
    ///
    /// # Errors
    /// The job, where there is no free connection.
    pub(crate) fn begin(&mut self, job: Job) -> Result<(), Job> {
        let Some(lane) = self.idle.pop() else { return Err(job) };
        // An idle lane has taken all that it was given.
        self.lanes[lane].try_send(job).map_err(tokio::sync::mpsc::error::TrySendError::into_inner)
    }

    /// Waits for requests that are done; cancelling it loses none.
    pub(crate) async fn finish(&mut self, exchanges: &mut Vec<Exchange>) {
        self.exchanges.recv_many(exchanges, self.lanes.len()).await;
        self.idle.extend(exchanges.iter().map(|exchange| exchange.connection));
    }
}

pub(super) fn connector() -> HttpsConnector<HttpConnector> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(PATIENCE));
    #[expect(clippy::expect_used, reason = "ring implements every version of TLS that is asked for")]
    let tls = HttpsConnectorBuilder::new()
        .with_provider_and_webpki_roots(rustls::crypto::ring::default_provider())
        .expect("ring speaks TLS");
    tls.https_or_http().enable_http1().wrap_connector(tcp)
}

async fn serve(
    caller: Arc<Caller>,
    number: usize,
    mut jobs: mpsc::Receiver<Job>,
    finished: mpsc::UnboundedSender<Exchange>,
) {
    let mut lane = Lane { caller, sender: None, used: Instant::now() };
    while let Some(job) = jobs.recv().await {
        let exchange = lane.exchange(number, job).await;
        if finished.send(exchange).is_err() {
            return;
        }
    }
}

struct Lane {
    caller: Arc<Caller>,
    sender: Option<Sender>,
    used: Instant,
}

impl Lane {
    async fn exchange(&mut self, connection: usize, job: Job) -> Exchange {
        let request = self.caller.request(&job);
        let sent_bytes = head_bytes(request.headers()) + request.uri().path().len() + "GET  HTTP/1.1\r\n\r\n".len();
        let began = Instant::now();
        let sent = self.caller.moment(began);
        let answer = timeout(PATIENCE, self.ask(&job)).await.unwrap_or_else(|_| Err("no answer in 10 s".into()));
        self.used = Instant::now();
        let took_us = self.used.duration_since(began).as_micros() as u64;
        let mut exchange = Exchange {
            connection,
            sent,
            heard_at: self.caller.moment(self.used),
            took_us,
            heard: Heard::Failed { retry_after_ms: 0 },
            status: None,
            failure: None,
            active: None,
            set: Vec::new(),
            sent_bytes,
            heard_bytes: 0,
            job,
        };
        match answer {
            Ok(answer) => exchange.take(answer),
            Err(error) => {
                self.sender = None;
                exchange.failure = Some(reason(error.as_ref()));
            }
        }
        exchange
    }

    /// Asks over the open connection, and once more over another one if that turns out to be gone.
    async fn ask(&mut self, job: &Job) -> Result<Response<Bytes>, Cause> {
        if self.used.elapsed() < IDLE
            && let Some(mut sender) = self.sender.take().filter(|sender| !sender.is_closed())
            && let Ok(response) = sender.send_request(self.caller.request(job)).await
        {
            return self.read(sender, response).await;
        }
        let mut sender = self.caller.connect().await?;
        let response = sender.send_request(self.caller.request(job)).await?;
        self.read(sender, response).await
    }

    async fn read(&mut self, sender: Sender, response: Response<Incoming>) -> Result<Response<Bytes>, Cause> {
        let (head, body) = response.into_parts();
        let body = Limited::new(body, ANSWER_MAX).collect().await?.to_bytes();
        self.sender = Some(sender);
        Ok(Response::from_parts(head, body))
    }
}

impl Exchange {
    fn take(&mut self, answer: Response<Bytes>) {
        let (head, body) = answer.into_parts();
        self.status = Some(head.status);
        self.heard_bytes = head_bytes(&head.headers) + "HTTP/1.1 200 OK\r\n\r\n".len() + body.len();
        self.set = jar::set_by(&head.headers);
        let came = self.set.iter().any(|cookie| cookie.as_bytes().starts_with(b"vestibule_"));
        let tickets = answer::Tickets { held: self.job.jar.has("vestibule_"), came };
        self.active =
            answer::active(&body).filter(|_| matches!(self.job.ask.question, Question::Poll | Question::Keepalive));
        match answer::read(self.job.ask.question, &head, &body, tickets) {
            Ok(said) => self.heard = said,
            Err(failure) => {
                self.heard = Heard::Failed { retry_after_ms: answer::retry_after_ms(&head.headers).unwrap_or(0) };
                self.failure = Some(failure);
            }
        }
    }
}

impl Caller {
    fn moment(&self, at: Instant) -> Moment {
        Moment(at.saturating_duration_since(self.began).as_millis() as u32)
    }

    async fn connect(&self) -> Result<Sender, Cause> {
        let mut connector = self.connector.clone();
        let stream = connector.ready().await?.call(self.target.connect.clone()).await?;
        let (sender, connection) = handshake(stream).await?;
        // It ends with its sender; what went wrong with it the sender is told.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(sender)
    }

    /// Asks whether this is a gate that works, and whether it has the queue. HEAD joins nobody.
    async fn look(&self) -> Result<(), PoolError> {
        let target = || self.target.shown().to_owned();
        match self.probe(self.target.health()).await? {
            StatusCode::OK => {}
            StatusCode::SERVICE_UNAVAILABLE => return Err(PoolError::StoreAway { target: target() }),
            status => return Err(PoolError::NoGate { target: target(), status }),
        }
        let status = self.probe(self.target.path(Question::Poll)).await?;
        if status.is_success() {
            return Ok(());
        }
        let host = String::from_utf8_lossy(self.target.host.as_bytes()).into_owned();
        Err(PoolError::NoQueue { target: target(), host, status })
    }

    /// The status with which this path is answered.
    async fn probe(&self, path: Uri) -> Result<StatusCode, PoolError> {
        let question = async {
            let mut request = Request::new(Empty::new());
            *request.method_mut() = Method::HEAD;
            *request.uri_mut() = path;
            request.headers_mut().insert(HOST, self.target.host.clone());
            let mut sender = self.connect().await?;
            Ok::<_, Cause>(sender.send_request(request).await?.status())
        };
        let answer = timeout(PATIENCE, question).await.unwrap_or_else(|_| Err("no answer in 10 s".into()));
        let target = || self.target.shown().to_owned();
        answer.map_err(|error| PoolError::Unreachable { target: target(), cause: reason(error.as_ref()) })
    }

    fn request(&self, job: &Job) -> Request<Empty<Bytes>> {
        let question = job.ask.question;
        let is_page = matches!(question, Question::Enter | Question::Page);
        let reads = is_page || question == Question::Poll;
        let mut request = Request::new(Empty::new());
        *request.method_mut() = if reads { Method::GET } else { Method::POST };
        *request.uri_mut() = self.target.path(question);
        let headers = request.headers_mut();
        headers.insert(HOST, self.target.host.clone());
        // The origin's access log tells by it who came.
        if let Ok(agent) = HeaderValue::try_from(format!("{AGENT}{})", job.visitor)) {
            headers.insert(USER_AGENT, agent);
        }
        headers.insert(ACCEPT, HeaderValue::from_static(if is_page { PAGES } else { "application/json" }));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        if is_page {
            headers.insert("sec-fetch-mode", HeaderValue::from_static("navigate"));
            headers.insert("sec-fetch-dest", HeaderValue::from_static("document"));
        }
        if let Some(cookie) = job.jar.header() {
            headers.insert(COOKIE, cookie);
        }
        request
    }
}

/// How the name of a visitor's browser begins; the visitor's number follows.
pub(crate) const AGENT: &str = "vestibule-rehearsal/1 (visitor ";
/// What a browser asks a page as.
const PAGES: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

fn head_bytes(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}

/// The last cause of an error: what the system said, without the layers that it came through.
fn reason(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}

//! One log line per request, if it is enabled, and an ID in all lines of a request.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use http::HeaderMap;
use tokio::time::Instant;
use tracing::{Level, enabled, info};
use vestibule_core::SessionId;

use crate::decision::Decision;

/// Prefix of the request numbers of this process, so that two processes never assign the same ID.
static PROCESS: LazyLock<String> = LazyLock::new(|| SessionId::random().to_string()[..8].to_owned());
/// Maximum length of an ID that the event source assigned.
const NAME_MAX: usize = 64;
static REQUESTS: AtomicU64 = AtomicU64::new(0);

tokio::task_local! {
    /// The current request. A tracing span would do the same, but is formatted for every request, even without a log line.
    static CURRENT: RequestId;
}

/// The ID of a request in the log; an extension of requests whose event source assigned one.
#[derive(Debug, Clone)]
pub struct RequestId(Name);

#[derive(Debug, Clone)]
enum Name {
    Given(Arc<str>),
    Own(u64),
}

impl RequestId {
    /// An ID that the runtime of a function assigned. Characters that a log format could not contain are left out.
    pub fn given(name: &str) -> Self {
        let plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | ':');
        Self(Name::Given(name.chars().filter(plain).take(NAME_MAX).collect::<String>().into()))
    }

    /// The ID of the current request.
    pub(crate) fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }

    fn next() -> Self {
        Self(Name::Own(REQUESTS.fetch_add(1, Ordering::Relaxed)))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Name::Given(name) => f.write_str(name),
            Name::Own(number) => write!(f, "{}-{number}", *PROCESS),
        }
    }
}

/// Logs the requests of a router.
///
/// Every line that is logged within a request contains its ID. At level info of the target `request`, each request has a line
/// of its own: the decision, the queue, and the time of the store and in total (until the head of the response); with
/// `request=debug` also the visitor's session. It never contains an address, a path, a query or a cookie.
pub fn log_requests(router: Router) -> Router {
    router.layer(from_fn(log_request))
}

async fn log_request(request: Request, next: Next) -> Response {
    let id: RequestId = request.extensions().get().cloned().unwrap_or_else(RequestId::next);
    if !enabled!(target: "request", Level::INFO) {
        return CURRENT.scope(id, next.run(request)).await;
    }
    let trace = trace_id(request.headers());
    let started = Instant::now();
    let response = CURRENT.scope(id.clone(), next.run(request)).await;
    write_line(&id, trace.as_deref(), started, &response);
    response
}

fn write_line(id: &RequestId, trace: Option<&str>, started: Instant, response: &Response) {
    let decision = response.extensions().get::<Decision>();
    let queue = decision.and_then(|decision| decision.queue.as_ref());
    let session = decision.and_then(|decision| decision.session);
    let session = session.filter(|_| enabled!(target: "request", Level::DEBUG));
    info!(
        target: "request",
        request_id = %id,
        trace_id = trace,
        queue = queue.map(tracing::field::display),
        decision = decision.map(|decision| decision.outcome.as_str()),
        status = response.status().as_u16(),
        store_ms = decision.and_then(|decision| decision.store_time).map(milliseconds),
        total_ms = milliseconds(started.elapsed()),
        session = session.map(tracing::field::display),
        "answered"
    );
}

/// Milliseconds with three decimals.
fn milliseconds(time: std::time::Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}

/// The trace ID that load balancers send in `X-Amzn-Trace-Id` and write to their own logs. Visitors can send that header, too,
/// so only a well-formed ID is accepted: `1-` and 8 and 24 hexadecimal digits.
fn trace_id(headers: &HeaderMap) -> Option<String> {
    let header = headers.get("x-amzn-trace-id")?.to_str().ok()?;
    let root = header.split(';').find_map(|part| part.trim().strip_prefix("Root="))?;
    let mut parts = root.split('-');
    let is_hex = |part: Option<&str>, length| {
        part.is_some_and(|part| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let well_formed = parts.next() == Some("1") && is_hex(parts.next(), 8) && is_hex(parts.next(), 24);
    (well_formed && parts.next().is_none()).then(|| root.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_well_formed_trace_ids_are_logged() {
        let trace = |header: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("x-amzn-trace-id", header.parse().unwrap());
            trace_id(&headers)
        };
        let root = "1-5c34e93e-4dea0086f9763ac0667b115a";
        assert_eq!(trace(&format!("Root={root}")).as_deref(), Some(root));
        assert_eq!(trace(&format!("Self=1-67891234-12456789abcdef012345678; Root={root};x=y")).as_deref(), Some(root));
        for other in ["", "Root=", "Root=secret", "Root=1-5c34e93e-4dea", &format!("Root={root}-1"), root] {
            assert_eq!(trace(other), None, "{other}");
        }
    }

    #[test]
    fn request_ids_are_unique() {
        let names = [RequestId::next().to_string(), RequestId::next().to_string()];
        assert_ne!(names[0], names[1]);
        assert_eq!(RequestId::given("a-b").to_string(), "a-b");
        assert_eq!(RequestId::given("a\"b\n}").to_string(), "ab");
    }
}

mod answer;
mod event;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, SERVER, UPGRADE};
use http::request::Parts;
use http::{Method, StatusCode};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::Function;
use answer::answer_of;
use event::{event_of, health_check};

/// The largest body of a request that is handed to a function.
pub const MAX_REQUEST: usize = 1 << 20;
/// The largest answer of a function, as JSON.
pub const MAX_RESPONSE: usize = 1 << 20;
/// The longest request line and the longest header line.
const LONGEST_LINE: usize = 16 << 10;
/// All header lines of a request together.
const LARGEST_HEAD: usize = 64 << 10;

/// An Application Load Balancer in front of a function, as AWS documents it.
///
/// HTTP comes in, an event goes to the function, its answer goes out as HTTP. What the documentation says of limits, of
/// headers and of what is refused holds here as well; where it says nothing (the order of query parameters, bytes that
/// are no UTF-8), this one does what is worst for a function that relies on it.
pub struct Balancer {
    address: String,
    target: Arc<Target>,
    server: JoinHandle<std::io::Result<()>>,
}

/// What the owner of a load balancer may set.
#[derive(Clone, Copy, Debug)]
pub struct BalancerOptions {
    /// Whether the target group hands over every value of a header and a query parameter, or the last.
    pub multi_value: bool,
    /// Whether the listener is an HTTPS one. Its TLS is left out: what reaches the function is the same without.
    pub https: bool,
}

impl Default for BalancerOptions {
    fn default() -> Self {
        Self { multi_value: true, https: false }
    }
}

struct Target {
    function: Function,
    options: BalancerOptions,
    port: u16,
    complaints: Mutex<Vec<String>>,
}

impl Balancer {
    /// Opens a listener in front of a function.
    pub async fn before(function: Function, options: BalancerOptions) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let target = Arc::new(Target { function, options, port: address.port(), complaints: Mutex::default() });
        let router = Router::new().fallback(forward).with_state(Arc::clone(&target));
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        let server = tokio::spawn(async move { axum::serve(listener, service).await });
        Self { address: address.to_string(), target, server }
    }

    /// `127.0.0.1:<port>`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The function behind it.
    pub fn function(&self) -> &Function {
        &self.target.function
    }

    /// Why requests were answered with 502 so far.
    pub fn complaints(&self) -> Vec<String> {
        self.target.complaints().clone()
    }

    /// Asks for a path as the health check of a target group does, and returns the status.
    pub async fn check_health(&self, path: &str) -> StatusCode {
        let event = health_check(path, self.target.options.multi_value);
        self.target.ask(&event).await.map_or_else(|refusal| refusal.0, |response| response.status())
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// A request that the load balancer answers by itself.
struct Refusal(StatusCode);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let page = format!("<html><head><title>{0}</title></head><body><h1>{0}</h1></body></html>", self.0);
        (self.0, [(SERVER, "awselb/2.0"), (CONTENT_TYPE, "text/html")], page).into_response()
    }
}

impl Target {
    fn complaints(&self) -> parking_lot::MutexGuard<'_, Vec<String>> {
        self.complaints.lock()
    }

    async fn ask(&self, event: &Value) -> Result<Response, Refusal> {
        let answer = self.function.invoke(event.to_string()).await;
        answer.and_then(|answer| answer_of(&answer, self.options.multi_value)).map_err(|complaint| {
            self.complaints().push(complaint);
            Refusal(StatusCode::BAD_GATEWAY)
        })
    }
}

async fn forward(
    State(target): State<Arc<Target>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    refuse_heads(&parts)?;
    let body = read(body).await?;
    let event = event_of(&parts, &body, peer, target.port, target.options);
    target.ask(&event).await
}

fn refuse_heads(parts: &Parts) -> Result<(), Refusal> {
    if parts.method == Method::TRACE {
        return Err(Refusal(StatusCode::METHOD_NOT_ALLOWED));
    }
    let lines = || parts.headers.iter().map(|(name, value)| name.as_str().len() + ": ".len() + value.len());
    let first = parts.method.as_str().len() + parts.uri.to_string().len() + "  HTTP/1.1".len();
    let fits = first.max(lines().max().unwrap_or(0)) <= LONGEST_LINE && lines().sum::<usize>() <= LARGEST_HEAD;
    let names_a_host = parts.headers.contains_key(HOST) || parts.uri.host().is_some();
    if !fits || !names_a_host || parts.headers.contains_key(UPGRADE) {
        return Err(Refusal(StatusCode::BAD_REQUEST));
    }
    Ok(())
}

async fn read(body: Body) -> Result<Bytes, Refusal> {
    to_bytes(body, MAX_REQUEST).await.map_err(|_| Refusal(StatusCode::PAYLOAD_TOO_LARGE))
}

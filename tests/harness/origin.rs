use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::{Json, Router};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt, stream};
use http::header::{CONNECTION, CONTENT_TYPE, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SET_COOKIE, UPGRADE};
use http::{HeaderMap, Method, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::free_port;

/// The largest body that is recorded.
const LARGEST_BODY: usize = 64 << 20;

/// A request as it reached the origin.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The method.
    pub method: Method,
    /// Path and query, as they came.
    pub uri: Uri,
    /// All headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

/// The site behind the gate. It records every request and answers by path:
///
/// | path | answer |
/// | --- | --- |
/// | `/echo` | the request as JSON: method, uri, headers (several values joined by `, `), body |
/// | `/cookies` | three `Set-Cookie` headers |
/// | `/slow?<milliseconds>` | after that time, 2000 if none is given |
/// | `/redirect` | 303 to `/thanks` |
/// | `/stream` | five lines, 100 ms between them |
/// | `/events` | a stream of events without an end, 50 ms between them |
/// | `/status/<code>` | that status |
/// | `/ws` | a WebSocket that says back what it hears |
/// | anything else | an HTML page `origin <path>` |
pub struct Origin {
    host: IpAddr,
    port: u16,
    requests: Requests,
    runtime: Option<Runtime>,
}

type Requests = Arc<Mutex<Vec<Recorded>>>;

impl Origin {
    /// Starts an origin on a free port.
    #[must_use]
    pub fn start() -> Self {
        Self::start_at(IpAddr::V4(Ipv4Addr::LOCALHOST))
    }

    /// Starts an origin at an address of this machine that is not loopback, which a worker in a function may call.
    #[must_use]
    pub fn start_in_network() -> Self {
        Self::start_at(network_address())
    }

    fn start_at(host: IpAddr) -> Self {
        let mut origin = Self { host, port: free_port(), requests: Requests::default(), runtime: None };
        origin.restart();
        origin
    }

    /// `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// `127.0.0.1:<port>`.
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The requests so far, in the order of their coming.
    pub fn requests(&self) -> Vec<Recorded> {
        self.requests.lock().clone()
    }

    /// Ends the origin with all its connections; new ones are refused.
    pub async fn stop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        let stopped = tokio::task::spawn_blocking(move || runtime.shutdown_timeout(Duration::from_secs(5)));
        stopped.await.unwrap();
    }

    /// Starts a stopped origin on its port again.
    pub fn restart(&mut self) {
        // A runtime of its own: to shut it down is to cut every connection, as the end of a process would.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = TcpListener::bind(self.address()).unwrap();
        listener.set_nonblocking(true).unwrap();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&self.requests));
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, router).await
        });
        if let Some(before) = self.runtime.replace(runtime) {
            before.shutdown_background();
        }
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The address from which this machine would send to others. Nothing is sent.
pub fn network_address() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("198.51.100.1:9").expect("this machine has a network");
    socket.local_addr().unwrap().ip()
}

async fn answer(State(requests): State<Requests>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let upgrade = hyper::upgrade::on(Request::from_parts(parts.clone(), ()));
    parts.extensions.clear();
    let body = to_bytes(body, LARGEST_BODY).await.unwrap_or_default();
    let recorded = Recorded { method: parts.method, uri: parts.uri, headers: parts.headers, body };
    requests.lock().push(recorded.clone());

    match recorded.uri.path() {
        "/echo" => echo(&recorded),
        "/cookies" => cookies(),
        "/slow" => slow(recorded.uri.query()).await,
        "/redirect" => Redirect::to("/thanks").into_response(),
        "/stream" => lines(),
        "/events" => events(),
        "/ws" => web_socket(&recorded.headers, upgrade),
        path => match path.strip_prefix("/status/").and_then(|code| code.parse().ok()) {
            Some(code) => StatusCode::from_u16(code).unwrap_or_default().into_response(),
            None => Html(format!("<!doctype html><title>origin {path}</title><h1>origin {path}</h1>")).into_response(),
        },
    }
}

fn echo(request: &Recorded) -> Response {
    let mut headers = BTreeMap::<_, String>::new();
    for (name, value) in &request.headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        let all = headers.entry(name.as_str()).or_default();
        *all = if all.is_empty() { value.into_owned() } else { format!("{all}, {value}") };
    }
    Json(json!({
        "method": request.method.as_str(),
        "uri": request.uri.to_string(),
        "headers": headers,
        "body": String::from_utf8_lossy(&request.body),
    }))
    .into_response()
}

fn cookies() -> Response {
    let mut response = "three cookies".into_response();
    for cookie in ["basket=1; Path=/", "theme=dark; Path=/; HttpOnly", "seen=yes; Path=/; SameSite=Lax"] {
        response.headers_mut().append(SET_COOKIE, cookie.parse().unwrap());
    }
    response
}

async fn slow(query: Option<&str>) -> Response {
    let milliseconds = query.and_then(|query| query.parse().ok()).unwrap_or(2000);
    sleep(Duration::from_millis(milliseconds)).await;
    "at last".into_response()
}

fn lines() -> Response {
    let lines = stream::iter(1..=5).then(async |number| {
        sleep(Duration::from_millis(100)).await;
        Ok::<_, Infallible>(format!("line {number}\n"))
    });
    Body::from_stream(lines).into_response()
}

fn events() -> Response {
    let events = stream::iter(1..).then(async |number: u64| {
        sleep(Duration::from_millis(50)).await;
        Ok::<_, Infallible>(format!("event: tick\ndata: {number}\n\n"))
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

fn web_socket(headers: &HeaderMap, upgrade: hyper::upgrade::OnUpgrade) -> Response {
    let Some(key) = headers.get(SEC_WEBSOCKET_KEY) else { return StatusCode::UPGRADE_REQUIRED.into_response() };
    let accept = derive_accept_key(key.as_bytes());
    tokio::spawn(async move {
        let Ok(upgraded) = upgrade.await else { return };
        let socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
        let (mut say, mut hear) = socket.split();
        while let Some(Ok(message)) = hear.next().await {
            let data = message.is_text() || message.is_binary();
            if data && say.send(message).await.is_err() {
                return;
            }
        }
    });
    let headers = [(CONNECTION, "upgrade"), (UPGRADE, "websocket"), (SEC_WEBSOCKET_ACCEPT, accept.as_str())];
    (StatusCode::SWITCHING_PROTOCOLS, headers).into_response()
}

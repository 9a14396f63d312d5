use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, COOKIE, HOST, SET_COOKIE};
use http::request::Builder;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{WebSocketStream, client_async, tungstenite};

use crate::EventStream;

/// How long a visitor waits for an answer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// An open WebSocket.
pub type WebSocket = WebSocketStream<TcpStream>;

/// A browser, as far as the gate can tell: it keeps cookies and follows no redirect.
///
/// A copy goes on with a jar of its own.
#[derive(Clone)]
pub struct Visitor {
    address: String,
    host: String,
    headers: HeaderMap,
    jar: BTreeMap<String, String>,
    client: Client<HttpConnector, Full<Bytes>>,
}

/// What a visitor got.
#[derive(Clone, Debug)]
pub struct TestResponse {
    /// The status.
    pub status: StatusCode,
    /// All headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

impl Visitor {
    /// A new visitor, without cookies, who asks `address` (`127.0.0.1:<port>`) for the site `host`.
    pub fn new(address: &str, host: &str) -> Self {
        Self {
            address: address.to_owned(),
            host: host.to_owned(),
            headers: HeaderMap::new(),
            jar: BTreeMap::new(),
            client: Client::builder(TokioExecutor::new()).build_http(),
        }
    }

    /// Sends a header with every request from now on: `X-Forwarded-For`, `User-Agent`.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        self
    }

    /// Opens a page, as a click on a link does.
    pub async fn navigate(&mut self, path: &str) -> TestResponse {
        let request = Request::get(path)
            .header(ACCEPT, "text/html,application/xhtml+xml")
            .header("sec-fetch-mode", "navigate")
            .header("sec-fetch-dest", "document")
            .header("upgrade-insecure-requests", "1");
        self.request(request, "").await
    }

    /// Asks for data, as a script does.
    pub async fn fetch(&mut self, path: &str) -> TestResponse {
        self.request(script(Method::GET, path), "").await
    }

    /// Sends an empty POST, as a script does.
    pub async fn post(&mut self, path: &str) -> TestResponse {
        self.request(script(Method::POST, path), "").await
    }

    /// Asks for the visitor's visitor status in a queue.
    pub async fn status(&mut self, queue: &str) -> TestResponse {
        self.fetch(&format!("/_vestibule/status?queue={queue}")).await
    }

    /// Says that the visitor is still there.
    pub async fn keepalive(&mut self, queue: &str) -> TestResponse {
        self.post(&format!("/_vestibule/keepalive?queue={queue}")).await
    }

    /// Says that the queue page was closed.
    pub async fn away(&mut self, queue: &str) -> TestResponse {
        self.post(&format!("/_vestibule/away?queue={queue}")).await
    }

    /// Gives up the position or slot.
    pub async fn leave(&mut self, queue: &str) -> TestResponse {
        self.post(&format!("/_vestibule/leave?queue={queue}")).await
    }

    /// Sends any request, cookies and `Host` added, and fails the test if no answer comes.
    pub async fn request(&mut self, request: Builder, body: impl Into<Bytes>) -> TestResponse {
        self.try_request(request, body).await.unwrap_or_else(|error| panic!("{}: {error:?}", self.address))
    }

    /// Sends any request, cookies and `Host` added.
    ///
    /// # Errors
    ///
    /// If the connection is refused or breaks before the head of the answer came.
    pub async fn try_request(&mut self, request: Builder, body: impl Into<Bytes>) -> Result<TestResponse, Error> {
        let request = self.dress(request.body(Full::new(body.into())).unwrap());
        let response = timeout(TIMEOUT, self.client.request(request)).await.expect("an answer in time")?;
        let (parts, body) = response.into_parts();
        self.keep_cookies(&parts.headers);
        let body = timeout(TIMEOUT, body.collect()).await.expect("a body in time").expect("a whole body").to_bytes();
        Ok(TestResponse { status: parts.status, headers: parts.headers, body })
    }

    /// Asks for a path with no headers but the visitor's own.
    ///
    /// # Errors
    ///
    /// As [`Self::try_request`].
    pub async fn try_get(&mut self, path: &str) -> Result<TestResponse, Error> {
        self.try_request(Request::get(path), "").await
    }

    /// Opens a stream of events.
    ///
    /// # Errors
    ///
    /// The response without a stream.
    pub async fn event_stream(&mut self, path: &str) -> Result<EventStream, Box<TestResponse>> {
        self.open_event_stream(script(Method::GET, path)).await
    }

    /// Opens a stream of events again, as a client that has lost its connection after this event.
    ///
    /// # Errors
    ///
    /// The response without a stream.
    pub async fn event_stream_after(&mut self, path: &str, id: &str) -> Result<EventStream, Box<TestResponse>> {
        self.open_event_stream(script(Method::GET, path).header("last-event-id", id)).await
    }

    async fn open_event_stream(&mut self, request: Builder) -> Result<EventStream, Box<TestResponse>> {
        let request = request.header(ACCEPT, "text/event-stream").header("accept-encoding", "gzip");
        let request = self.dress(request.body(Full::default()).unwrap());
        let response = timeout(TIMEOUT, self.client.request(request)).await.expect("an answer in time").unwrap();
        let (parts, body) = response.into_parts();
        self.keep_cookies(&parts.headers);
        if parts.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream") {
            return Ok(EventStream::new(parts.headers, body));
        }
        let body = body.collect().await.expect("a whole body").to_bytes();
        Err(Box::new(TestResponse { status: parts.status, headers: parts.headers, body }))
    }

    /// Opens a WebSocket.
    ///
    /// # Errors
    ///
    /// What was answered instead.
    pub async fn web_socket(&mut self, path: &str) -> Result<WebSocket, Box<TestResponse>> {
        let request = format!("ws://{}{path}", self.address).into_client_request().unwrap();
        let stream = TcpStream::connect(&self.address).await.unwrap();
        let opened = timeout(TIMEOUT, client_async(self.dress(request), stream)).await.expect("an answer in time");
        match opened {
            Ok((socket, response)) => {
                self.keep_cookies(response.headers());
                Ok(socket)
            }
            Err(tungstenite::Error::Http(response)) => {
                let (parts, body): (_, Option<Vec<u8>>) = Response::into_parts(*response);
                self.keep_cookies(&parts.headers);
                let body = body.unwrap_or_default().into();
                Err(Box::new(TestResponse { status: parts.status, headers: parts.headers, body }))
            }
            Err(error) => panic!("{}: {error}", self.address),
        }
    }

    /// A cookie's value.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        self.jar.get(name).map(String::as_str)
    }

    /// Puts a cookie into the jar.
    pub fn set_cookie(&mut self, name: &str, value: &str) {
        self.jar.insert(name.to_owned(), value.to_owned());
    }

    /// Empties the jar.
    pub fn forget_cookies(&mut self) {
        self.jar.clear();
    }

    /// Completes a request: where it goes, for which site, with which cookies and headers.
    fn dress<T>(&self, mut request: Request<T>) -> Request<T> {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let scheme = request.uri().scheme_str().unwrap_or("http");
        *request.uri_mut() = format!("{scheme}://{}{path}", self.address).parse().unwrap();
        let headers = request.headers_mut();
        headers.insert(HOST, HeaderValue::from_str(&self.host).unwrap());
        headers.extend(self.headers.clone());
        if !self.jar.is_empty() {
            let cookies: Vec<_> = self.jar.iter().map(|(name, value)| format!("{name}={value}")).collect();
            headers.insert(COOKIE, cookies.join("; ").parse().unwrap());
        }
        request
    }

    /// By name only: the host is always the same. `Max-Age=0` takes a cookie out.
    fn keep_cookies(&mut self, headers: &HeaderMap) {
        for cookie in headers.get_all(SET_COOKIE) {
            let mut parts = cookie.to_str().unwrap().split(';').map(str::trim);
            let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { continue };
            if parts.any(|attribute| attribute.eq_ignore_ascii_case("max-age=0")) {
                self.jar.remove(name);
            } else {
                self.set_cookie(name, value);
            }
        }
    }
}

impl TestResponse {
    /// A header's value, the first if there are several.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Whether this is the page of a job that still runs, which updates itself.
    pub fn follows_a_job(&self) -> bool {
        String::from_utf8_lossy(&self.body).contains("id=\"vestibule-job\"")
    }

    /// The body as JSON; fails the test, showing it, if it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }
}

fn script(method: Method, path: &str) -> Builder {
    Request::builder()
        .method(method)
        .uri(path)
        .header(ACCEPT, "application/json")
        .header("sec-fetch-mode", "cors")
        .header("sec-fetch-dest", "empty")
}

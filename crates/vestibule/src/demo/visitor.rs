//! One visitor of the crowd, as far as the gate can tell a browser: real HTTP, and a jar for one cookie.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::header::{ACCEPT, COOKIE, RETRY_AFTER, SET_COOKIE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use vestibule_core::VisitorStatus;

use super::queue::QUEUE;

/// Largest answer that is read.
const ANSWER_MAX: usize = 1024 * 1024;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a connection lies idle before it is closed: the gate closes those that were silent for longer.
const IDLE: Duration = Duration::from_secs(5);

/// The connections that a crowd shares.
pub(super) type Connections = Client<HttpConnector, Empty<Bytes>>;

/// Connections for a crowd.
pub(super) fn connections() -> Connections {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE).build(connector)
}

/// What the visitor sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// A page of the shop.
    Shop,
    /// The queue page, which asks again after this time.
    Line { again: Duration },
}

/// A visitor.
pub(super) struct Visitor {
    connections: Connections,
    gate: SocketAddr,
    cookie: Option<HeaderValue>,
}

impl Visitor {
    /// Somebody new, who asks the gate at this address.
    pub(super) const fn new(connections: Connections, gate: SocketAddr) -> Self {
        Self { connections, gate, cookie: None }
    }

    /// Opens a page. What it names (styles, images) is not loaded.
    pub(super) async fn open(&mut self, path: &str) -> anyhow::Result<Sight> {
        let answer = self.send(Method::GET, path, "text/html").await?;
        let again = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        Ok(again.map_or(Sight::Shop, |seconds| Sight::Line { again: Duration::from_secs(seconds) }))
    }

    /// Buys what is in the order.
    pub(super) async fn buy(&mut self, path: &str) -> anyhow::Result<()> {
        let answer = self.send(Method::POST, path, "text/html").await?;
        if answer.status() != StatusCode::SEE_OTHER {
            bail!("the shop sold nothing: {}", answer.status());
        }
        Ok(())
    }

    /// Asks for the visitor status, as the queue page does.
    pub(super) async fn visitor_status(&mut self) -> anyhow::Result<VisitorStatus> {
        self.own(Method::GET, "status").await
    }

    /// Keeps the place, as the page of a shop does.
    pub(super) async fn keepalive(&mut self) -> anyhow::Result<VisitorStatus> {
        self.own(Method::POST, "keepalive").await
    }

    /// Closes the queue page.
    pub(super) async fn close(&mut self) -> anyhow::Result<()> {
        self.send(Method::POST, &own_path("away"), "*/*").await.map(drop)
    }

    /// Leaves the shop.
    pub(super) async fn leave(&mut self) -> anyhow::Result<()> {
        self.send(Method::POST, &own_path("leave"), "*/*").await.map(drop)
    }

    /// Comes as somebody new from now on.
    pub(super) fn forget(&mut self) {
        self.cookie = None;
    }

    async fn own(&mut self, method: Method, endpoint: &str) -> anyhow::Result<VisitorStatus> {
        let answer = self.send(method, &own_path(endpoint), "application/json").await?;
        serde_json::from_slice(answer.body()).with_context(|| format!("{endpoint} answered {}", answer.status()))
    }

    async fn send(&mut self, method: Method, path: &str, accept: &'static str) -> anyhow::Result<Response<Bytes>> {
        let mut request = Request::new(Empty::new());
        *request.method_mut() = method;
        *request.uri_mut() = format!("http://{}{path}", self.gate).parse()?;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(accept));
        if let Some(cookie) = &self.cookie {
            request.headers_mut().insert(COOKIE, cookie.clone());
        }
        let exchange = async {
            let (head, body) = self.connections.request(request).await?.into_parts();
            let body = Limited::new(body, ANSWER_MAX).collect().await.map_err(|error| anyhow::anyhow!(error))?;
            anyhow::Ok(Response::from_parts(head, body.to_bytes()))
        };
        let answer = tokio::time::timeout(PATIENCE, exchange).await??;
        self.keep_cookie(answer.headers());
        Ok(answer)
    }

    fn keep_cookie(&mut self, headers: &HeaderMap) {
        let set = headers.get_all(SET_COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        for pair in set.filter_map(|value| value.split(';').next()) {
            let gone = pair.ends_with('=');
            self.cookie = HeaderValue::try_from(pair).ok().filter(|_| !gone);
        }
    }
}

fn own_path(endpoint: &str) -> String {
    format!("/_vestibule/{endpoint}?queue={QUEUE}")
}

//! Handover by reverse proxy: an admitted visitor's request goes to the origin, the origin's answer comes back.
//!
//! Bodies flow through chunk by chunk in both directions: nothing holds more of them than the buffers of the two
//! connections, and whoever reads slowly slows down whoever sends. Messages are framed anew on either side, so that
//! an ambiguous one is never passed on. What a connection says about itself stays on that connection.

mod connector;
mod cookies;
mod error;
mod headers;
mod pool;
mod request_body;
mod response_body;
mod upgrade;

#[cfg(test)]
mod tests;

use std::{net::IpAddr, pin::pin, sync::Arc, time::Duration};

use axum::body::{Body, HttpBody};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, Version, uri};
use hyper::body::Incoming;
use hyper_util::client::legacy::{self, connect::capture_connection};
use tokio::time::timeout_at;
use vestibule_core::settings::Reach;

use self::{
    connector::ConnectTimeout,
    error::{Failure, causes},
    pool::Pools,
    request_body::{RequestBody, UploadProgress},
    response_body::ResponseBody,
    upgrade::Upgrade,
};
pub(crate) use self::{error::ProxyError, response_body::error_of_truncated, upgrade::asks_for_upgrade};

/// How long the proxy waits for an origin, and how much it keeps.
#[derive(Clone, Debug)]
pub struct ProxyLimits {
    /// The longest time until a new connection is ready for a request: name, TCP and TLS together. Default 5 s.
    pub connect_timeout: Duration,
    /// The longest silence of the origin once it is its turn: before the head of its answer, and between two chunks
    /// of the body. A visitor's upload may last longer, but not pause for longer. Default 60 s.
    pub read_timeout: Duration,
    /// How long a connection may lie idle before it is closed rather than used again. Default 4 s, below the 5 s
    /// after which common origins close theirs: the later one to close loses the request it has just sent.
    pub idle_timeout: Duration,
    /// How many idle connections are kept for each origin. Default 256.
    pub idle_connections: usize,
    /// The most bytes a visitor may send as a body, or `None` for no limit, which is the default.
    pub upload_bytes: Option<u64>,
    /// How long the other direction of an upgraded connection may go on after one direction has ended. Default 5 s.
    pub closing_timeout: Duration,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_mins(1),
            idle_timeout: Duration::from_secs(4),
            idle_connections: 256,
            upload_bytes: None,
            closing_timeout: Duration::from_secs(5),
        }
    }
}

/// What the origin is told about the visitor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forwarded<'a> {
    /// The other end of the visitor's connection: the visitor, or the last proxy in between. `X-Forwarded-For` is
    /// replaced by it, or it is appended if the request is trusted.
    pub peer: Option<IpAddr>,
    /// The scheme the visitor used, `http` or `https`: `X-Forwarded-Proto`.
    pub proto: &'a str,
    /// The host the visitor asked for, with its port if it had one: `Host` and `X-Forwarded-Host`.
    pub host: &'a str,
    /// The visitor's pass: `X-Vestibule-Pass`.
    pub pass: Option<&'a HeaderValue>,
    /// Why the request passes without a pass, if it does: `X-Vestibule-Bypass`.
    pub bypass: Option<&'static str>,
    /// Whether the request came from a trusted proxy, whose word on the visitor's address is kept.
    pub trusted: bool,
}

/// A reverse proxy with its pools of connections; clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Proxy {
    pools: Arc<Pools>,
    limits: ProxyLimits,
}

impl Proxy {
    /// Makes a proxy with empty pools.
    #[must_use]
    pub(crate) fn new(limits: ProxyLimits) -> Self {
        Self { pools: Arc::new(Pools::new(&limits)), limits }
    }

    /// Forwards a request to `origin` (scheme and authority) and returns the answer, its body still flowing. An origin
    /// whose address lies outside of `reach` is unreachable.
    ///
    /// Path and query go on byte for byte. `Host` is the visitor's own, not the origin's: one platform commonly
    /// serves many brands and tells them apart by it, and links and cookies in the answer then name the host the
    /// visitor knows. The origin's authority decides only where to connect and which certificate to expect.
    /// Sending the origin's authority as `Host` was turned down: `X-Forwarded-Host` is ignored by many origins.
    ///
    /// The proxy answers `Expect: 100-continue` itself, by reading the body, and does not pass it on: holding the
    /// body back until the origin has spoken costs a round trip for each upload and hangs with origins that never do.
    ///
    /// An answer may break off after its head: its body then ends with an error, which cuts the visitor's connection.
    ///
    /// # Errors
    ///
    /// If the origin gives no answer, or the request cannot be forwarded. Failures are logged here, with the
    /// origin's authority, and need not be logged again.
    pub(crate) async fn forward(
        &self,
        origin: &Uri,
        reach: Reach,
        request: Request<Body>,
        context: Forwarded<'_>,
    ) -> Result<Response<Body>, ProxyError> {
        let exchange = Exchange { origin: authority_of(origin), reach, upload: UploadProgress::start() };
        let outcome = self.exchange(&exchange, origin, request, context).await;
        outcome.map_err(|failure| exchange.log(failure))
    }

    async fn exchange(
        &self,
        exchange: &Exchange,
        origin: &Uri,
        mut request: Request<Body>,
        context: Forwarded<'_>,
    ) -> Result<Response<Body>, Failure> {
        let upgrade = Upgrade::requested(&mut request);
        let request = self.outgoing(exchange, origin, request, context, upgrade.as_ref())?;
        let answer = self.head(exchange, request).await?;
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Ok(self.incoming(exchange, answer));
        }
        let upgrade = upgrade.ok_or_else(|| Failure::new(ProxyError::BadAnswer, "an upgrade nobody asked for"))?;
        Ok(upgrade.accept(answer, self.limits.closing_timeout, &exchange.origin))
    }

    fn outgoing(
        &self,
        exchange: &Exchange,
        origin: &Uri,
        request: Request<Body>,
        context: Forwarded<'_>,
        upgrade: Option<&Upgrade>,
    ) -> Result<Request<RequestBody>, Failure> {
        let (mut head, body) = request.into_parts();
        if head.method == Method::CONNECT {
            return Err(Failure::new(ProxyError::BadRequest, "CONNECT"));
        }
        head.uri = target(origin, &head.uri)?;
        head.version = Version::HTTP_11;
        head.extensions.clear();
        headers::prepare_request(&mut head.headers, context, upgrade)?;
        headers::frame_request(&mut head.headers, &body.size_hint());
        let body = RequestBody::new(body, exchange.upload.clone(), self.limits.upload_bytes)?;
        Ok(Request::from_parts(head, body))
    }

    /// Waits for the head of the answer. The clock starts when the request has a connection, and anew with every
    /// chunk of its body.
    async fn head(
        &self,
        exchange: &Exchange,
        mut request: Request<RequestBody>,
    ) -> Result<Response<Incoming>, Failure> {
        let mut connection = capture_connection(&mut request);
        let mut answer = pin!(self.pools.client(exchange.reach).request(request));
        tokio::select! {
            biased;
            answer = &mut answer => return answer.map_err(|error| exchange.failure(error)),
            _ = connection.wait_for_connection_metadata() => exchange.upload.progress(),
        }
        loop {
            let due = exchange.upload.last_progress() + self.limits.read_timeout;
            match timeout_at(due, &mut answer).await {
                Ok(answer) => return answer.map_err(|error| exchange.failure(error)),
                Err(_) if exchange.upload.last_progress() + self.limits.read_timeout > due => {}
                Err(_) => return Err(exchange.silence()),
            }
        }
    }

    fn incoming(&self, exchange: &Exchange, answer: Response<Incoming>) -> Response<Body> {
        let (mut head, body) = answer.into_parts();
        head.version = Version::HTTP_11;
        headers::prepare_answer(&mut head.headers);
        headers::frame_answer(&mut head.headers, &body.size_hint());
        let body = ResponseBody::new(body, exchange.upload.clone(), self.limits.read_timeout, exchange.origin.clone());
        Response::from_parts(head, Body::new(body))
    }
}

/// One request on its way.
struct Exchange {
    origin: Arc<str>,
    reach: Reach,
    upload: Arc<UploadProgress>,
}

impl Exchange {
    fn failure(&self, error: legacy::Error) -> Failure {
        let kind = match self.upload.failure() {
            Some(kind) => kind,
            None if ConnectTimeout::caused(&error) => ProxyError::Timeout,
            None if error.is_connect() => ProxyError::Unreachable,
            None => ProxyError::BadAnswer,
        };
        Failure::new(kind, error)
    }

    fn silence(&self) -> Failure {
        if self.upload.waits_for_visitor() {
            Failure::new(ProxyError::VisitorTimeout, "no more of the request's body")
        } else {
            Failure::new(ProxyError::Timeout, "no head of an answer")
        }
    }

    fn log(&self, failure: Failure) -> ProxyError {
        let Failure { kind, cause } = failure;
        let (origin, cause) = (&*self.origin, causes(&*cause));
        if kind.is_the_visitors() {
            tracing::debug!(origin, cause, "{kind}");
        } else {
            tracing::warn!(origin, cause, "{kind}");
        }
        kind
    }
}

/// Host and port alone: an authority may carry a password.
fn authority_of(origin: &Uri) -> Arc<str> {
    let host = origin.host().unwrap_or("?");
    origin.port().map_or_else(|| host.into(), |port| format!("{host}:{port}").into())
}

fn target(origin: &Uri, asked: &Uri) -> Result<Uri, Failure> {
    let mut parts = uri::Parts::default();
    parts.scheme = origin.scheme().cloned();
    parts.authority = origin.authority().cloned();
    parts.path_and_query = Some(asked.path_and_query().cloned().unwrap_or_else(|| uri::PathAndQuery::from_static("/")));
    Uri::from_parts(parts).map_err(|error| Failure::new(ProxyError::Unreachable, error))
}

//! Forwards a request to an origin and returns its response.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use http::header::UPGRADE;
use http::{Method, Request, Response, StatusCode, Uri, Version, uri};
use hyper::body::Incoming;
use hyper_util::client::legacy::{self, connect::capture_connection};
use tokio::time::{Instant, timeout_at};
use vestibule_core::settings::Reach;

use vestibule_http_client::with_causes;
use vestibule_tls::TlsError;

use crate::connector::ConnectTimeout;
use crate::error::{Failure, ProxyError};
use crate::failure_log::FailureLog;
use crate::forwarded::Forwarded;
use crate::headers;
use crate::limits::ProxyLimits;
use crate::pool::{OriginClient, Pools};
use crate::request_body::{RequestBody, UploadProgress};
use crate::response_body::ResponseBody;
use crate::upgrade::Upgrade;

/// A request is only sent again if the connection was closed within this time: the origin has hardly worked on it.
pub(crate) const REPEAT_WITHIN: Duration = Duration::from_secs(1);

/// A reverse proxy with its connection pools; clones share them.
#[derive(Clone, Debug)]
pub struct Proxy {
    pools: Arc<Pools>,
    limits: ProxyLimits,
    log: Arc<FailureLog>,
}

impl Proxy {
    /// A proxy with empty pools.
    ///
    /// # Errors
    /// No certificate authority can be trusted.
    pub fn new(limits: ProxyLimits) -> Result<Self, TlsError> {
        let pools = Arc::new(Pools::new(&vestibule_tls::client_config()?, &limits));
        Ok(Self { pools, limits, log: Arc::default() })
    }

    /// Forwards a request to `origin` (scheme and authority) and returns the response with a streaming body. An origin
    /// with an address outside of `reach` is unreachable.
    ///
    /// Path and query are forwarded byte for byte. `Host` is the visitor's, not the origin's: one platform commonly serves
    /// many brands by it, and links and cookies in the response then name the host that the visitor knows. The origin's
    /// authority only decides where to connect and which certificate to expect. Many origins ignore `X-Forwarded-Host`,
    /// so it is no substitute.
    ///
    /// The proxy answers `Expect: 100-continue` itself, by reading the body, and does not forward it: waiting for the
    /// origin would cost a round trip per upload, and some origins never send the interim response.
    ///
    /// A request without side effects and without a body is sent once more if the origin closes the connection within a second
    /// instead of answering it: origins close idle connections, and restart.
    ///
    /// A response may be truncated after its head. Its body then ends with an error, which closes the visitor's connection.
    ///
    /// # Errors
    /// The origin does not respond, or the request cannot be forwarded. Errors are logged here, with the origin's
    /// authority, at most one a second for each origin.
    pub async fn forward(
        &self,
        origin: &Uri,
        reach: Reach,
        request: Request<Body>,
        context: Forwarded<'_>,
    ) -> Result<Response<Body>, ProxyError> {
        let exchange = Exchange { origin: authority_of(origin), reach, upload: UploadProgress::start() };
        let outcome = self.exchange(&exchange, origin, request, context).await;
        outcome.map_err(|failure| self.log_failure(&exchange, failure))
    }

    async fn exchange(
        &self,
        exchange: &Exchange,
        origin: &Uri,
        mut request: Request<Body>,
        mut context: Forwarded<'_>,
    ) -> Result<Response<Body>, Failure> {
        let upgrade = Upgrade::requested(&mut request, context.tunnel_end.take());
        let request = self.outgoing(exchange, origin, request, context, upgrade.as_ref())?;
        let (again, sent) = (exchange.repeatable(&request), Instant::now());
        let outcome = self.head(exchange, self.pools.client(&exchange.reach), request).await;
        let response = match (outcome, again) {
            (Err(failure), Some(again)) if failure.is_unanswered() && sent.elapsed() < REPEAT_WITHIN => {
                self.head(exchange, self.pools.new_client(&exchange.reach), again).await?
            }
            (outcome, _) => outcome?,
        };
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Ok(self.incoming(exchange, response));
        }
        let upgrade =
            upgrade.ok_or_else(|| Failure::new(ProxyError::BadResponse, "an upgrade that was not requested"))?;
        Ok(upgrade.accept(response, self.limits.closing_timeout, &exchange.origin))
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
        headers::prepare_request(&mut head.headers, context, upgrade.map(Upgrade::protocols))?;
        headers::frame_request(&mut head.headers, &body.size_hint());
        let body = RequestBody::new(body, exchange.upload.clone(), self.limits.upload_bytes)?;
        Ok(Request::from_parts(head, body))
    }

    /// Waits for the head of the response. The timeout starts when the request has a connection, and starts again with
    /// every chunk of its body.
    async fn head(
        &self,
        exchange: &Exchange,
        client: OriginClient,
        mut request: Request<RequestBody>,
    ) -> Result<Response<Incoming>, Failure> {
        let mut connection = capture_connection(&mut request);
        let mut response = pin!(client.request(request));
        tokio::select! {
            biased;
            response = &mut response => return response.map_err(|error| exchange.failure(error)),
            _ = connection.wait_for_connection_metadata() => exchange.upload.progress(),
        }
        loop {
            let due = exchange.upload.last_progress() + self.limits.read_timeout;
            match timeout_at(due, &mut response).await {
                Ok(response) => return response.map_err(|error| exchange.failure(error)),
                Err(_) if exchange.upload.last_progress() + self.limits.read_timeout > due => {}
                Err(_) => return Err(exchange.silence()),
            }
        }
    }

    fn log_failure(&self, exchange: &Exchange, failure: Failure) -> ProxyError {
        let Failure { kind, cause } = failure;
        if kind.is_client_error() {
            tracing::debug!(origin = %exchange.origin, cause = with_causes(&*cause), "{kind}");
        } else {
            self.log.warn(&exchange.origin, &kind, &*cause);
        }
        kind
    }

    fn incoming(&self, exchange: &Exchange, response: Response<Incoming>) -> Response<Body> {
        let (mut head, body) = response.into_parts();
        head.version = Version::HTTP_11;
        headers::prepare_response(&mut head.headers);
        headers::frame_response(&mut head.headers, &body.size_hint());
        let body = ResponseBody::new(
            body,
            exchange.upload.clone(),
            self.limits.read_timeout,
            exchange.origin.clone(),
            self.log.clone(),
        );
        Response::from_parts(head, Body::new(body))
    }
}

/// A request that is being forwarded.
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
            None => ProxyError::BadResponse,
        };
        Failure::new(kind, error)
    }

    fn silence(&self) -> Failure {
        if self.upload.waits_for_visitor() {
            Failure::new(ProxyError::VisitorTimeout, "the request body paused")
        } else {
            Failure::new(ProxyError::Timeout, "no response head")
        }
    }

    /// The same request to send once more, unless it may have side effects or has a body.
    fn repeatable(&self, request: &Request<RequestBody>) -> Option<Request<RequestBody>> {
        let is_safe = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
        if !is_safe || !request.body().is_end_stream() || request.headers().contains_key(UPGRADE) {
            return None;
        }
        let mut again = Request::new(RequestBody::new(Body::empty(), self.upload.clone(), None).ok()?);
        *again.method_mut() = request.method().clone();
        *again.uri_mut() = request.uri().clone();
        *again.headers_mut() = request.headers().clone();
        Some(again)
    }
}

/// Host and port only: an authority may contain a password.
fn authority_of(origin: &Uri) -> Arc<str> {
    let host = origin.host().unwrap_or("?");
    origin.port().map_or_else(|| host.into(), |port| format!("{host}:{port}").into())
}

fn target(origin: &Uri, requested: &Uri) -> Result<Uri, Failure> {
    let mut parts = uri::Parts::default();
    parts.scheme = origin.scheme().cloned();
    parts.authority = origin.authority().cloned();
    parts.path_and_query =
        Some(requested.path_and_query().cloned().unwrap_or_else(|| uri::PathAndQuery::from_static("/")));
    Uri::from_parts(parts).map_err(|error| Failure::new(ProxyError::Unreachable, error))
}

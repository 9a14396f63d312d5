//! Connections to origins over TCP or TLS, within a time limit, and only to allowed addresses.

use std::{
    error::Error,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::{net::TcpStream, time::timeout};
use tower::Service;
use vestibule_core::settings::Reach;
use vestibule_http_client::{AddressCheck, CheckedConnector, ConnectOptions, causes};

/// Interval of TCP keepalive probes, so that a connection to an origin that is gone is closed.
const KEEPALIVE: Duration = Duration::from_mins(1);

type Cause = Box<dyn Error + Send + Sync>;
type Pending<T> = Pin<Box<dyn Future<Output = Result<T, Cause>> + Send>>;

/// Resolves a name, connects and does the TLS handshake, all within one time limit.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    checked: CheckedConnector,
    limit: Duration,
}

impl Connector {
    pub(super) fn new(tls: ClientConfig, limit: Duration, reach: Reach) -> Self {
        let check = AddressCheck::new(move |address| reach.allows(address));
        let options = ConnectOptions { timeout: None, keepalive: Some(KEEPALIVE) };
        Self { checked: CheckedConnector::new(tls, check, options), limit }
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = Cause;
    type Future = Pending<Self::Response>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        self.checked.poll_ready(context)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let connection = timeout(self.limit, self.checked.call(target));
        Box::pin(async { connection.await.unwrap_or_else(|_| Err(ConnectTimeout.into())) })
    }
}

/// No connection within the time limit.
#[derive(Debug, thiserror::Error)]
#[error("connection timed out")]
pub(super) struct ConnectTimeout;

impl ConnectTimeout {
    /// Whether this caused the error of a request.
    pub(super) fn caused(error: &(dyn Error + 'static)) -> bool {
        causes(error).any(<dyn Error>::is::<Self>)
    }
}

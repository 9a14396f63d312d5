//! Connections to origins, by plain TCP or TLS, within a time limit.

use std::{
    error::Error,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioIo};
use rustls::crypto::ring;
use tokio::{net::TcpStream, time::timeout};
use tower::Service;

use super::error::chain;

/// How often a silent connection is probed, so that an origin that has vanished does not keep it for ever.
const KEEPALIVE: Duration = Duration::from_mins(1);

type Cause = Box<dyn Error + Send + Sync>;

/// Resolves a name, connects and, for `https`, shakes hands: all of it within one limit.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    https: HttpsConnector<HttpConnector>,
    limit: Duration,
}

impl Connector {
    /// Names its cryptography, for the process's default is ambiguous as soon as another crate brings a second one.
    pub(super) fn new(limit: Duration) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEPALIVE));
        #[expect(clippy::expect_used, reason = "ring implements every version of TLS that is asked for")]
        let tls = HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(ring::default_provider())
            .expect("ring speaks TLS");
        Self { https: tls.https_or_http().enable_http1().wrap_connector(tcp), limit }
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = Cause;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Cause>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        self.https.poll_ready(context)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let connection = timeout(self.limit, self.https.call(target));
        Box::pin(async { connection.await.unwrap_or_else(|_| Err(ConnectTimeout.into())) })
    }
}

/// No connection within the limit.
#[derive(Debug, thiserror::Error)]
#[error("no connection in time")]
pub(super) struct ConnectTimeout;

impl ConnectTimeout {
    /// Whether it is what made a request fail.
    pub(super) fn caused(error: &(dyn Error + 'static)) -> bool {
        chain(error).any(<dyn Error>::is::<Self>)
    }
}

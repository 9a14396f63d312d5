//! Connections to origins over TCP or TLS, within a time limit, and only to allowed addresses.

use std::{
    error::Error,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::{
    client::legacy::connect::{
        HttpConnector,
        dns::{GaiResolver, Name},
    },
    rt::TokioIo,
};
use rustls::ClientConfig;
use tokio::{net::TcpStream, time::timeout};
use tower::Service;
use vestibule_core::settings::Reach;

use crate::error::chain;

/// Interval of TCP keepalive probes, so that a connection to an origin that is gone is closed.
const KEEPALIVE: Duration = Duration::from_mins(1);

type Cause = Box<dyn Error + Send + Sync>;
type Pending<T> = Pin<Box<dyn Future<Output = Result<T, Cause>> + Send>>;

/// Resolves a name, connects and does the TLS handshake, all within one time limit.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    https: HttpsConnector<HttpConnector<Resolver>>,
    limit: Duration,
    reach: Reach,
}

impl Connector {
    pub(super) fn new(tls: ClientConfig, limit: Duration, reach: Reach) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(Resolver { system: GaiResolver::new(), reach });
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEPALIVE));
        let tls = HttpsConnectorBuilder::new().with_tls_config(tls);
        Self { https: tls.https_or_http().enable_http1().wrap_connector(tcp), limit, reach }
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = Cause;
    type Future = Pending<Self::Response>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        self.https.poll_ready(context)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        // A host that is an address is not resolved.
        let host = target.host().unwrap_or_default().trim_matches(['[', ']']);
        if let Some(address) = host.parse().ok().filter(|address| !self.reach.allows(*address)) {
            return Box::pin(async move { Err(AddressRefused(address).into()) });
        }
        let connection = timeout(self.limit, self.https.call(target));
        Box::pin(async { connection.await.unwrap_or_else(|_| Err(ConnectTimeout.into())) })
    }
}

/// The system resolver, without the addresses that the origin must not have. They are checked here and not only when the
/// origin is configured, because a name may resolve to another address later.
#[derive(Clone, Debug)]
struct Resolver {
    system: GaiResolver,
    reach: Reach,
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = Cause;
    type Future = Pending<Self::Response>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        self.system.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (resolved, reach) = (self.system.call(name), self.reach);
        Box::pin(async move {
            let (allowed, refused): (Vec<_>, Vec<_>) = resolved.await?.partition(|found| reach.allows(found.ip()));
            match refused.first() {
                Some(address) if allowed.is_empty() => Err(AddressRefused(address.ip()).into()),
                _ => Ok(allowed.into_iter()),
            }
        })
    }
}

/// The origin has an internal address that its tenant may not use.
#[derive(Debug, thiserror::Error)]
#[error("the address {0} is internal, and the tenant's list of origins does not contain this origin")]
struct AddressRefused(IpAddr);

/// No connection within the time limit.
#[derive(Debug, thiserror::Error)]
#[error("connection timed out")]
pub(super) struct ConnectTimeout;

impl ConnectTimeout {
    /// Whether this caused the error of a request.
    pub(super) fn caused(error: &(dyn Error + 'static)) -> bool {
        chain(error).any(<dyn Error>::is::<Self>)
    }
}

//! Connections over TCP or TLS, only to allowed addresses.

use std::error::Error;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower::Service;
use vestibule_freeze::timeout;

use vestibule_core::causes;

type Cause = Box<dyn Error + Send + Sync>;
type Resolve = Arc<dyn Fn(Name) -> Pending<Vec<SocketAddr>> + Send + Sync>;
type Pending<T> = Pin<Box<dyn Future<Output = Result<T, Cause>> + Send>>;

/// Says whether an address may be connected to.
#[derive(Clone)]
pub struct AddressCheck(Arc<dyn Fn(IpAddr) -> bool + Send + Sync>);

impl AddressCheck {
    /// A check by this function.
    pub fn new(allows: impl Fn(IpAddr) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(allows))
    }

    fn check(&self, address: IpAddr) -> Result<(), AddressRefused> {
        if (self.0)(address) { Ok(()) } else { Err(AddressRefused(address)) }
    }
}

impl Default for AddressCheck {
    /// Allows every address: for addresses that operators choose.
    fn default() -> Self {
        Self::new(|_| true)
    }
}

impl fmt::Debug for AddressCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AddressCheck")
    }
}

/// An address that may not be connected to.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the address {0} is internal, and connections to it are not allowed")]
pub struct AddressRefused(IpAddr);

impl AddressRefused {
    /// This error, if it caused another one.
    pub fn cause_of(error: &(dyn Error + 'static)) -> Option<Self> {
        causes(error).find_map(|cause| cause.downcast_ref::<Self>().copied())
    }
}

/// Settings of TCP connections.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectOptions {
    /// Time limit of a connection, with resolving the name and TLS; `None` if the caller has one.
    pub timeout: Option<Duration>,
    /// Interval of TCP keepalive probes; `None` for none.
    pub keepalive: Option<Duration>,
}

/// Resolves a name once, checks every address, and connects to allowed ones only. They are checked at each connection, because a
/// name may resolve to another address later.
#[derive(Clone, Debug)]
pub struct CheckedConnector {
    https: HttpsConnector<HttpConnector<CheckedResolver>>,
    check: AddressCheck,
    timeout: Option<Duration>,
}

/// No connection within the limit.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("no connection within {} seconds", .0.as_secs_f32())]
struct ConnectTimeout(Duration);

impl CheckedConnector {
    /// A connector that resolves names as the system does.
    pub fn new(tls: ClientConfig, check: AddressCheck, options: ConnectOptions) -> Self {
        let system = |name| -> Pending<Vec<SocketAddr>> {
            let resolved = GaiResolver::new().call(name);
            Box::pin(async { Ok(resolved.await?.collect()) })
        };
        Self::with_resolver(Arc::new(system), tls, check, options)
    }

    fn with_resolver(resolve: Resolve, tls: ClientConfig, check: AddressCheck, options: ConnectOptions) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(CheckedResolver { resolve, check: check.clone() });
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(options.timeout);
        tcp.set_keepalive(options.keepalive);
        let tls = HttpsConnectorBuilder::new().with_tls_config(tls);
        Self { https: tls.https_or_http().enable_http1().wrap_connector(tcp), check, timeout: options.timeout }
    }
}

impl Service<Uri> for CheckedConnector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = Cause;
    type Future = Pending<Self::Response>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        self.https.poll_ready(context)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        // A host that is an address is not resolved.
        let host = target.host().unwrap_or_default().trim_matches(['[', ']']);
        if let Some(Err(refused)) = host.parse().ok().map(|address| self.check.check(address)) {
            return Box::pin(async move { Err(refused.into()) });
        }
        let connected = self.https.call(target);
        let Some(limit) = self.timeout else { return Box::pin(connected) };
        Box::pin(async move { timeout(limit, connected).await.unwrap_or_else(|| Err(ConnectTimeout(limit).into())) })
    }
}

/// A resolver without the addresses that are not allowed.
#[derive(Clone)]
struct CheckedResolver {
    resolve: Resolve,
    check: AddressCheck,
}

impl fmt::Debug for CheckedResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CheckedResolver")
    }
}

impl Service<Name> for CheckedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = Cause;
    type Future = Pending<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (resolved, check) = ((self.resolve)(name), self.check.clone());
        Box::pin(async move {
            let (mut allowed, mut refused) = (Vec::new(), None);
            for address in resolved.await? {
                match check.check(address.ip()) {
                    Ok(()) => allowed.push(address),
                    Err(error) => refused = Some(error),
                }
            }
            match refused {
                Some(refused) if allowed.is_empty() => Err(refused.into()),
                _ => Ok(allowed.into_iter()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use parking_lot::Mutex;
    use tokio::net::TcpListener;

    use super::*;

    /// Two servers with one port: the connector may use 127.0.0.1, and may not use 127.0.0.2.
    struct Fixture {
        allowed: TcpListener,
        refused: TcpListener,
        connector: CheckedConnector,
    }

    const PUBLIC: Ipv4Addr = Ipv4Addr::LOCALHOST;
    const INTERNAL: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

    /// The resolver gives these answers, one after the other.
    async fn fixture(answers: &[&[Ipv4Addr]]) -> Fixture {
        let allowed = TcpListener::bind((PUBLIC, 0)).await.unwrap();
        let refused = TcpListener::bind((INTERNAL, allowed.local_addr().unwrap().port())).await.unwrap();
        let answers: Vec<Vec<_>> = answers.iter().rev().map(|answer| answer.to_vec()).collect();
        let answers = Mutex::new(answers);
        let resolve = move |_| -> Pending<Vec<SocketAddr>> {
            let answer = answers.lock().pop().expect("a name is resolved once per connection");
            Box::pin(async { Ok(answer.into_iter().map(|ip| SocketAddr::new(ip.into(), 0)).collect()) })
        };
        let check = AddressCheck::new(|address| address == PUBLIC);
        let tls = vestibule_tls::client_config().unwrap();
        let connector = CheckedConnector::with_resolver(Arc::new(resolve), tls, check, ConnectOptions::default());
        Fixture { allowed, refused, connector }
    }

    impl Fixture {
        /// Whether a connection to this host is open; `false` if its address is refused.
        async fn connects(&mut self, host: &str) -> bool {
            let port = self.allowed.local_addr().unwrap().port();
            let target = format!("http://{host}:{port}/").parse().unwrap();
            match self.connector.call(target).await {
                Ok(_) => true,
                Err(error) if AddressRefused::cause_of(error.as_ref()).is_some() => false,
                Err(error) => panic!("{host}: {error}"),
            }
        }

        /// The connections that each server has received.
        async fn connections(&self) -> (usize, usize) {
            (pending(&self.allowed).await, pending(&self.refused).await)
        }
    }

    async fn pending(listener: &TcpListener) -> usize {
        let mut connections = 0;
        loop {
            tokio::select! {
                biased;
                accepted = listener.accept() => { accepted.unwrap(); connections += 1 },
                () = tokio::task::yield_now() => return connections,
            }
        }
    }

    #[tokio::test]
    async fn each_connection_is_checked_again() {
        let mut fixture = fixture(&[&[PUBLIC], &[INTERNAL], &[PUBLIC]]).await;
        for connects in [true, false, true] {
            assert_eq!(fixture.connects("rebound.example").await, connects);
        }
        assert_eq!(fixture.connections().await, (2, 0));
    }

    #[tokio::test]
    async fn only_allowed_addresses_of_a_name_are_used() {
        let mut fixture = fixture(&[&[INTERNAL, PUBLIC, INTERNAL]]).await;
        assert!(fixture.connects("mixed.example").await);
        assert_eq!(fixture.connections().await, (1, 0));
    }

    #[tokio::test]
    async fn addresses_in_urls_are_checked_too() {
        let mut fixture = fixture(&[&[INTERNAL], &[INTERNAL]]).await;
        assert!(fixture.connects("127.0.0.1").await);
        // The last two are names to the client, which the system resolves to an address.
        for host in ["127.0.0.2", "[::ffff:127.0.0.2]", "2130706434", "127.2"] {
            assert!(!fixture.connects(host).await, "{host}");
        }
        assert_eq!(fixture.connections().await, (1, 0));
    }
}

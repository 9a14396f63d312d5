//! Accepts connections and serves them until told to stop, then lets what is under way finish.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tower::ServiceExt as _;
use tracing::{debug, info, warn};
use vestibule_gate::PeerAddress;

use crate::cli::Listen;

/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// Most bytes of a request's head: room for 16 KB of other people's cookies, and some.
const HEAD_MAX: usize = 128 * 1024;
/// Pause after the system refused a connection, so that a lack of file descriptors is not made worse.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Where connections come from.
pub(crate) enum Server {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Server {
    /// Begins to listen.
    pub(crate) async fn bind(listen: &Listen) -> anyhow::Result<Self> {
        let context = || format!("can't listen on {listen}");
        match listen {
            Listen::Tcp(address) => Ok(Self::Tcp(TcpListener::bind(address).await.with_context(context)?)),
            Listen::Unix(path) => Ok(Self::Unix(bind_unix(path).with_context(context)?)),
        }
    }

    /// The address, for people.
    pub(crate) fn address(&self) -> String {
        match self {
            Self::Tcp(listener) => {
                listener.local_addr().map_or_else(|_| "http://?".to_owned(), |address| format!("http://{address}"))
            }
            Self::Unix(listener) => {
                let address = listener.local_addr().ok();
                let path = address.as_ref().and_then(|address| address.as_pathname());
                format!("unix:{}", path.unwrap_or(Path::new("?")).display())
            }
        }
    }

    /// The address as numbers; `None` for a socket file.
    pub(crate) fn tcp_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            Self::Unix(_) => None,
        }
    }

    /// Serves until `stop` resolves, then waits up to `drain` for requests under way.
    pub(crate) async fn serve(self, router: Router, stop: impl Future<Output = ()>, drain: Duration) {
        let graceful = GracefulShutdown::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                accepted = self.accept(&router, &graceful) => if let Err(error) = accepted {
                    warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                },
                () = &mut stop => break,
            }
        }
        drop(self);
        info!(connections = graceful.count(), "draining");
        if tokio::time::timeout(drain, graceful.shutdown()).await.is_err() {
            warn!("requests under way were cut off: the time to drain is over");
        }
    }

    async fn accept(&self, router: &Router, graceful: &GracefulShutdown) -> std::io::Result<()> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                stream.set_nodelay(true)?;
                connect(stream, PeerAddress(Some(peer.ip())), router.clone(), graceful);
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                connect(stream, PeerAddress(None), router.clone(), graceful);
            }
        }
        Ok(())
    }
}

fn connect<S>(stream: S, peer: PeerAddress, router: Router, graceful: &GracefulShutdown)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        let router = router.clone();
        async move { Ok::<_, Infallible>(router.oneshot(request).await.unwrap_or_else(|never| match never {})) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new()).http1_only();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(HEAD_MAX);
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
    let watched = graceful.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = watched.await {
            debug!(%error, "a connection ended early");
        }
    });
}

/// Binds a socket file, in place of one that nobody listens on any more.
fn bind_unix(path: &Path) -> std::io::Result<UnixListener> {
    if std::os::unix::net::UnixStream::connect(path).is_err() && is_socket(path) {
        std::fs::remove_file(path)?;
    }
    UnixListener::bind(path)
}

fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

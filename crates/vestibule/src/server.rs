//! Accepts connections and serves them until told to stop, then lets what is under way finish.
//!
//! Clients are strangers: how many connections they hold, and how long each of them may keep this process waiting, has
//! limits. The head of a request has [`HEAD_TIMEOUT`], also before its first byte and between two requests; bodies have a
//! least rate ([`patience`]), and connections a number ([`connections`]).

mod connections;
mod patience;

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::header::CONNECTION;
use http::{HeaderValue, StatusCode};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, UnixListener};
use tokio::sync::watch;
use tower::ServiceExt as _;
use tracing::{debug, info, warn};
use vestibule_gate::PeerAddress;

use self::connections::{Connection, Connections, RequestUnderWay};
use self::patience::{ClientBody, ClientStream};
use crate::cli::Listen;

pub(crate) use self::connections::ConnectionLimits;

/// How long a client may take to send the head of a request, from the moment it connected or was answered.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// Most bytes of a request's head: room for 16 KB of other people's cookies, and some.
const HEAD_MAX: usize = 128 * 1024;
/// Pause after the system refused a connection, so that a lack of file descriptors is not made worse.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Connections that wait to be accepted; the system allows `net.core.somaxconn` at most.
const BACKLOG: u32 = 4096;
/// How long a client may pause within a body that it sends or takes.
const BODY_PATIENCE: Duration = Duration::from_secs(30);

/// Where connections come from.
pub(crate) struct Server {
    listener: Listener,
    limits: ConnectionLimits,
    patience: Duration,
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Server {
    /// Begins to listen.
    pub(crate) fn bind(listen: &Listen) -> anyhow::Result<Self> {
        let failed = |error: std::io::Error| match error.kind() {
            ErrorKind::AddrInUse => {
                anyhow::anyhow!("can't listen on {listen}: the address is in use by another program")
            }
            _ => anyhow::Error::new(error).context(format!("can't listen on {listen}")),
        };
        let listener = match listen {
            Listen::Tcp(address) => Listener::Tcp(bind_tcp(*address).map_err(failed)?),
            Listen::Unix(path) => Listener::Unix(bind_unix(path).map_err(failed)?),
        };
        Ok(Self { listener, limits: ConnectionLimits::LOCAL, patience: BODY_PATIENCE })
    }

    /// With these limits instead of [`ConnectionLimits::LOCAL`].
    pub(crate) fn with_limits(self, limits: ConnectionLimits) -> Self {
        Self { limits, ..self }
    }

    /// With this much patience within a body, instead of 30 seconds.
    pub(crate) fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// The address, for people.
    pub(crate) fn address(&self) -> String {
        match &self.listener {
            Listener::Tcp(listener) => {
                listener.local_addr().map_or_else(|_| "http://?".to_owned(), |address| format!("http://{address}"))
            }
            Listener::Unix(listener) => {
                let address = listener.local_addr().ok();
                let path = address.as_ref().and_then(|address| address.as_pathname());
                format!("unix:{}", path.unwrap_or(Path::new("?")).display())
            }
        }
    }

    /// The address as numbers; `None` for a socket file.
    pub(crate) fn tcp_address(&self) -> Option<SocketAddr> {
        match &self.listener {
            Listener::Tcp(listener) => listener.local_addr().ok(),
            Listener::Unix(_) => None,
        }
    }

    /// Serves until `stop` resolves, then waits up to `drain` for requests under way.
    pub(crate) async fn serve(self, router: Router, stop: impl Future<Output = ()>, drain: Duration) {
        let (connections, draining) = (Connections::new(self.limits), watch::Sender::new(()));
        let mut stop = pin!(stop);
        loop {
            tokio::select! {
                accepted = self.accept(&connections, &router, &draining) => if let Err(error) = accepted {
                    pause_after(&error).await;
                },
                () = &mut stop => break,
            }
        }
        drop(self);
        info!(connections = draining.receiver_count(), "draining");
        draining.send_replace(());
        if tokio::time::timeout(drain, draining.closed()).await.is_err() {
            warn!("requests under way were cut off: the time to drain is over");
        }
    }

    async fn accept(
        &self,
        connections: &Arc<Connections>,
        router: &Router,
        draining: &watch::Sender<()>,
    ) -> std::io::Result<()> {
        match &self.listener {
            Listener::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                // Fails only where the client is gone already.
                let _ = stream.set_nodelay(true);
                self.connect(stream, Some(peer.ip()), connections, router, draining);
            }
            Listener::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                self.connect(stream, None, connections, router, draining);
            }
        }
        connections.closed().await;
        Ok(())
    }

    fn connect<S>(
        &self,
        stream: S,
        peer: Option<IpAddr>,
        connections: &Arc<Connections>,
        router: &Router,
        draining: &watch::Sender<()>,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Some(connection) = connections.admit(peer) else { return };
        let stream = ClientStream::new(stream, connection.clone(), self.patience);
        let handler = Handler { router: router.clone(), peer: PeerAddress(peer), patience: self.patience };
        let task = tokio::spawn(serve_connection(stream, connection.clone(), handler, draining.subscribe()));
        connection.is_served_by(task.abort_handle());
    }
}

async fn pause_after(error: &std::io::Error) {
    if !matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted) {
        warn!(%error, "a connection was not accepted");
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}

async fn serve_connection<S>(
    stream: ClientStream<S>,
    connection: Connection,
    handler: Handler,
    mut draining: watch::Receiver<()>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = hyper::service::service_fn(move |request| handler.clone().answer(request, connection.clone()));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(HEAD_MAX);
    let mut served = pin!(builder.serve_connection(TokioIo::new(stream), service).with_upgrades());
    let outcome = tokio::select! {
        outcome = &mut served => outcome,
        _ = draining.changed() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = outcome {
        debug!(%error, "a connection ended early");
    }
}

/// What answers the requests of a connection.
#[derive(Clone)]
struct Handler {
    router: Router,
    peer: PeerAddress,
    patience: Duration,
}

impl Handler {
    async fn answer(
        self,
        request: hyper::Request<Incoming>,
        connection: Connection,
    ) -> Result<hyper::Response<AnswerBody>, Infallible> {
        let under_way = connection.begin_request();
        let was_too_slow = Arc::new(AtomicBool::new(false));
        let mut request =
            request.map(|body| Body::new(ClientBody::new(body, connection, self.patience, was_too_slow.clone())));
        request.extensions_mut().insert(self.peer);
        let answer = self.router.oneshot(request).await.unwrap_or_else(|never| match never {});
        let answer = if was_too_slow.load(Ordering::Relaxed) { request_timeout() } else { answer };
        Ok(answer.map(|body| AnswerBody { body, _under_way: under_way }))
    }
}

/// The answer to a client that did not send its body.
fn request_timeout() -> Response {
    let mut answer = StatusCode::REQUEST_TIMEOUT.into_response();
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}

/// An answer's body, with whose end the request ends.
struct AnswerBody {
    body: Body,
    _under_way: RequestUnderWay,
}

impl hyper::body::Body for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Raises the limit of file descriptors as far as the system allows, and returns it.
pub(crate) fn raise_descriptor_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    if limit.current.is_some_and(|current| current < most)
        && setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).is_err()
    {
        warn!(?limit, "the limit of file descriptors could not be raised");
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Binds a socket file, in place of one that nobody listens on any more.
/// As [`TcpListener::bind`], with room for more connections that wait to be accepted: what the system drops there is tried
/// again only after seconds.
fn bind_tcp(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

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

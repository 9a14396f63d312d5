//! Accepts connections and serves them until shutdown, then waits for requests in progress.
//!
//! Clients are untrusted, so their resources are limited: the head of a request must arrive within [`HEAD_TIMEOUT`] after
//! the connection opened or its first byte arrived, bodies have a minimum rate ([`client_timeout`]), and the number of
//! connections is limited ([`connections`]).

mod client_timeout;
mod connections;

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
use http::header::{CONNECTION, HOST, TRANSFER_ENCODING};
use http::{HeaderValue, StatusCode};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener};
use tokio::sync::watch;
use tower::ServiceExt as _;
use tracing::{debug, info, warn};
use vestibule_runtime::{ConnectionCounts, CountLimits, PeerAddress};

use self::client_timeout::{ClientBody, ClientStream};
use self::connections::{ActiveRequest, Connection, Connections};
use crate::arguments::Listen;

pub(crate) use self::connections::ConnectionLimits;

/// Timeout for the head of a request, from the start of the connection or the first byte of a later request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a connection may be idle between two requests. Longer than load balancers and proxies keep connections to the servers
/// behind them, 60 to 120 seconds as a rule, so that these close them first: a request that meets the end of its connection is lost.
const IDLE_TIMEOUT: Duration = Duration::from_secs(130);
/// When the system asks a silent client whether it is still there: visitors who lose their network say nothing, and the connection
/// of a tunnel would stay for ever.
const KEEPALIVE_AFTER: Duration = Duration::from_mins(1);
/// Interval and number of these questions.
const KEEPALIVE_PROBES: (Duration, u32) = (Duration::from_secs(15), 4);
/// Maximum size of a request head, in bytes. Sites set up to 16 KB of cookies.
const HEAD_MAX: usize = 128 * 1024;
/// Pause after `accept` failed, for example because of too few file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Backlog of connections to accept; the system limits it to `net.core.somaxconn`.
const BACKLOG: u32 = 4096;
/// How long a client may stall within a body that it sends or receives.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// A listener with its limits.
pub(crate) struct Server {
    listener: Listener,
    limits: ConnectionLimits,
    counts: Arc<ConnectionCounts>,
    body_timeout: Duration,
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Server {
    /// Starts listening.
    pub(crate) fn bind(listen: &Listen) -> anyhow::Result<Self> {
        let failed = |error: std::io::Error| match (listen, error.kind()) {
            (Listen::Tcp(_), ErrorKind::AddrInUse) => anyhow::anyhow!("cannot listen on {listen}: the port is in use"),
            (Listen::Tcp(address), ErrorKind::PermissionDenied) => anyhow::anyhow!(
                "cannot listen on {listen}: port {} needs the capability CAP_NET_BIND_SERVICE",
                address.port()
            ),
            (Listen::Unix(path), ErrorKind::AddrInUse) if !is_socket(path) => {
                anyhow::anyhow!("cannot listen on {listen}: the file exists and is no socket")
            }
            (Listen::Unix(_), ErrorKind::AddrInUse) => {
                anyhow::anyhow!("cannot listen on {listen}: another process listens there")
            }
            _ => anyhow::Error::new(error).context(format!("cannot listen on {listen}")),
        };
        let listener = match listen {
            Listen::Tcp(address) => Listener::Tcp(bind_tcp(*address).map_err(failed)?),
            Listen::Unix(path) => Listener::Unix(bind_unix(path).map_err(failed)?),
        };
        let counts = Arc::new(ConnectionCounts::new(CountLimits::default()));
        Ok(Self { listener, limits: ConnectionLimits::LOCAL, counts, body_timeout: BODY_TIMEOUT })
    }

    /// Sets the limits; [`ConnectionLimits::LOCAL`] by default.
    pub(crate) fn with_limits(self, limits: ConnectionLimits) -> Self {
        Self { limits, ..self }
    }

    /// Sets where the connections are counted.
    pub(crate) fn with_counts(self, counts: Arc<ConnectionCounts>) -> Self {
        Self { counts, ..self }
    }

    /// Sets the body timeout; 30 seconds by default.
    pub(crate) fn with_body_timeout(self, body_timeout: Duration) -> Self {
        Self { body_timeout, ..self }
    }

    /// The address, for display.
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

    /// The socket address; `None` for a Unix socket.
    pub(crate) fn tcp_address(&self) -> Option<SocketAddr> {
        match &self.listener {
            Listener::Tcp(listener) => listener.local_addr().ok(),
            Listener::Unix(_) => None,
        }
    }

    /// Serves until `stop` resolves, then waits up to `grace` for requests in progress.
    pub(crate) async fn serve(self, router: Router, stop: impl Future<Output = ()>, grace: Duration) {
        let (connections, draining) = (Connections::new(self.limits, self.counts.clone()), watch::Sender::new(()));
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
        if tokio::time::timeout(grace, draining.closed()).await.is_err() {
            warn!("requests in progress were aborted: the shutdown grace period is over");
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
                // Fails only if the client has disconnected.
                let _ = stream.set_nodelay(true).and_then(|()| set_keepalive(&stream));
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
        let stream = ClientStream::new(stream, connection.clone(), self.body_timeout, HEAD_TIMEOUT);
        let handler = Handler { router: router.clone(), peer: PeerAddress(peer), body_timeout: self.body_timeout };
        let task = tokio::spawn(serve_connection(stream, connection.clone(), handler, draining.subscribe()));
        connection.set_task(task.abort_handle());
    }
}

async fn pause_after(error: &std::io::Error) {
    if !matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted) {
        warn!(%error, "cannot accept a connection");
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
    let service = hyper::service::service_fn(move |request| handler.clone().handle(request, connection.clone()));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(IDLE_TIMEOUT).max_buf_size(HEAD_MAX);
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

/// Handles the requests of a connection.
#[derive(Clone)]
struct Handler {
    router: Router,
    peer: PeerAddress,
    body_timeout: Duration,
}

impl Handler {
    async fn handle(
        self,
        request: hyper::Request<Incoming>,
        connection: Connection,
    ) -> Result<hyper::Response<ResponseBody>, Infallible> {
        let active = connection.begin_request();
        if let Some(refusal) = refusal(&request) {
            return Ok(refusal.map(|body| ResponseBody { body, _active: active }));
        }
        let was_too_slow = Arc::new(AtomicBool::new(false));
        let mut request =
            request.map(|body| Body::new(ClientBody::new(body, connection, self.body_timeout, was_too_slow.clone())));
        request.extensions_mut().insert(self.peer);
        let response = self.router.oneshot(request).await.unwrap_or_else(|never| match never {});
        let response = if was_too_slow.load(Ordering::Relaxed) { request_timeout() } else { response };
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            active.becomes_tunnel();
        }
        Ok(response.map(|body| ResponseBody { body, _active: active }))
    }
}

/// The response to a request that servers behind this one may read otherwise: with several hosts (RFC 9112, 3.2), or with a coding
/// that is not passed on (6.1).
fn refusal(request: &hyper::Request<Incoming>) -> Option<Response> {
    let headers = request.headers();
    if headers.get_all(HOST).iter().nth(1).is_some() {
        return Some(closing(StatusCode::BAD_REQUEST));
    }
    let is_chunked = |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
    if !headers.get_all(TRANSFER_ENCODING).iter().all(is_chunked) {
        return Some(closing(StatusCode::NOT_IMPLEMENTED));
    }
    None
}

/// The response to a client that did not send its body in time.
fn request_timeout() -> Response {
    closing(StatusCode::REQUEST_TIMEOUT)
}

/// A response after which the connection is closed.
fn closing(status: StatusCode) -> Response {
    let mut response = status.into_response();
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Lets the system find out that a client has vanished.
fn set_keepalive(stream: &TcpStream) -> std::io::Result<()> {
    let (interval, probes) = KEEPALIVE_PROBES;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, KEEPALIVE_AFTER)?;
    sockopt::set_tcp_keepintvl(stream, interval)?;
    Ok(sockopt::set_tcp_keepcnt(stream, probes)?)
}

/// A response body. The request ends when it is dropped.
struct ResponseBody {
    body: Body,
    _active: ActiveRequest,
}

impl hyper::body::Body for ResponseBody {
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

/// Raises the file descriptor limit to the maximum and returns it.
pub(crate) fn raise_descriptor_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    if limit.current.is_some_and(|current| current < most)
        && setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).is_err()
    {
        warn!(?limit, "cannot raise the file descriptor limit");
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Like [`TcpListener::bind`] with a longer backlog: clients retry a connection that the system drops only after seconds.
fn bind_tcp(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Binds a Unix socket and replaces a stale socket file.
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

/// Adds to a bind error which flag takes another address.
pub(crate) fn suggest_other_address(flag: &str) -> impl Fn(anyhow::Error) -> anyhow::Error {
    move |error| anyhow::anyhow!("{error:#}; choose another with {flag} (port 0 picks a free port)")
}

#[cfg(test)]
mod tests {
    use axum::routing::any;
    use http::header::UPGRADE;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::time::sleep;

    use super::*;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n";

    /// A connection to a server that answers "hello".
    fn connect() -> DuplexStream {
        let (client, stream) = duplex(1 << 16);
        let connection =
            Connections::new(ConnectionLimits::LOCAL, Arc::new(ConnectionCounts::new(CountLimits::default())))
                .admit(None)
                .unwrap();
        let router = Router::new().fallback(any(|| async { "hello" })).route("/tunnel", any(tunnel));
        let handler = Handler { router, peer: PeerAddress(None), body_timeout: BODY_TIMEOUT };
        let stream = ClientStream::new(stream, connection.clone(), BODY_TIMEOUT, HEAD_TIMEOUT);
        let draining = watch::Sender::new(());
        let receiver = draining.subscribe();
        tokio::spawn(async move {
            serve_connection(stream, connection, handler, receiver).await;
            drop(draining);
        });
        client
    }

    async fn ask(client: &mut DuplexStream, request: &[u8]) -> String {
        client.write_all(request).await.unwrap();
        let mut bytes = vec![0; 4096];
        let read = client.read(&mut bytes).await.unwrap();
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn idle_connection_outlives_those_of_load_balancers() {
        let mut client = connect();
        for _ in 0..3 {
            assert!(ask(&mut client, REQUEST).await.ends_with("hello"));
            sleep(Duration::from_mins(2)).await;
        }
        sleep(Duration::from_secs(6)).await;
        assert_eq!(client.read(&mut [0]).await.unwrap(), 0, "it is closed after 130 seconds");
    }

    #[tokio::test(start_paused = true)]
    async fn head_must_arrive_in_time() {
        let began = tokio::time::Instant::now();
        assert_eq!(connect().read(&mut [0]).await.unwrap(), 0, "a silent connection");
        assert_eq!(began.elapsed().as_secs(), 15);
        let mut client = connect();
        ask(&mut client, REQUEST).await;
        sleep(Duration::from_mins(1)).await;
        let began = tokio::time::Instant::now();
        for byte in REQUEST {
            if client.write_all(&[*byte]).await.is_err() {
                break;
            }
            sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(client.read(&mut [0]).await.unwrap(), 0, "a later head that drips");
        assert!(began.elapsed() <= Duration::from_secs(17), "{:?}", began.elapsed());
    }

    /// Switches protocols and answers with what the client sends.
    async fn tunnel(mut request: axum::extract::Request) -> Response {
        let upgrade = hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            let mut stream = TokioIo::new(upgrade.await.unwrap());
            let mut bytes = [0; 16];
            while let Ok(read @ 1..) = stream.read(&mut bytes).await {
                stream.write_all(&bytes[..read]).await.unwrap();
            }
        });
        let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
        response.headers_mut().insert(UPGRADE, HeaderValue::from_static("echo"));
        response
    }

    #[tokio::test(start_paused = true)]
    async fn tunnel_stays_open() {
        let mut client = connect();
        let upgrade = b"GET /tunnel HTTP/1.1\r\nHost: a.example\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n";
        assert!(ask(&mut client, upgrade).await.starts_with("HTTP/1.1 101 "));
        for _ in 0..10 {
            assert_eq!(ask(&mut client, b"hello").await, "hello");
            sleep(HEAD_TIMEOUT).await;
        }
    }

    #[tokio::test]
    async fn ambiguous_requests_are_refused() {
        for (headers, status) in [
            ("Host: a.example\r\nHost: b.example", "400 Bad Request"),
            ("Host: a.example\r\nTransfer-Encoding: gzip, chunked", "501 Not Implemented"),
            ("Host: a.example\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked", "501 Not Implemented"),
            ("Host: a.example\r\nTransfer-Encoding: Chunked", "200 OK"),
        ] {
            let answer = ask(&mut connect(), format!("POST / HTTP/1.1\r\n{headers}\r\n\r\n0\r\n\r\n").as_bytes()).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{headers}: {answer}");
        }
    }
}

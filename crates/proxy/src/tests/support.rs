//! Real sockets: an origin that sends what a test specifies, and a gate in front of it.

use std::{net::IpAddr, sync::Arc, time::Duration};

use axum::{Router, body::Body, extract::Request, response::IntoResponse};
use http::{HeaderMap, Response, Uri};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{mpsc, oneshot},
    time::{sleep, timeout},
};
use vestibule_core::settings::Reach;

use crate::{Forwarded, Proxy, ProxyLimits, TunnelEnd};

/// Timeout of a step, so that a test that hangs fails.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
pub(super) const SHORT: Duration = Duration::from_millis(300);

/// A gate that forwards everything and listens on a real socket.
pub(super) struct Gate {
    pub(super) limits: ProxyLimits,
    pub(super) origin: Uri,
    pub(super) reach: Reach,
    pub(super) peer: Option<IpAddr>,
    pub(super) trusted: bool,
    pub(super) headers: HeaderMap,
    /// Maximum lifetime of an upgraded connection.
    pub(super) tunnel_time: Option<Duration>,
}

impl Gate {
    pub(super) fn before(origin: Uri) -> Self {
        let (limits, headers) = (ProxyLimits::default(), HeaderMap::new());
        Self { limits, origin, reach: Reach::Any, peer: None, trusted: false, headers, tunnel_time: None }
    }

    pub(super) fn with_read_timeout(mut self, read_timeout: Duration) -> Self {
        self.limits.read_timeout = read_timeout;
        self
    }

    /// The address it listens on.
    pub(super) async fn open(self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let proxy = Proxy::new(self.limits.clone()).unwrap();
        let gate = Arc::new(self);
        let answer = move |request: Request| {
            let (gate, proxy) = (gate.clone(), proxy.clone());
            async move { gate.answer(&proxy, request).await }
        };
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
        address
    }

    async fn answer(&self, proxy: &Proxy, request: Request) -> Response<Body> {
        let context = Forwarded {
            peer: self.peer,
            proto: "https",
            host: "tickets.example:8443",
            trusted: self.trusted,
            headers: self.headers.clone(),
            tunnel_end: self.tunnel_time.map(|time| -> TunnelEnd { Box::pin(sleep(time)) }),
        };
        match proxy.forward(&self.origin, self.reach.clone(), request, context).await {
            Ok(answer) => answer,
            Err(error) => (error.status(), format!("{error:?}")).into_response(),
        }
    }
}

/// An origin that handles every connection with this function.
pub(super) async fn origin<Told>(treat: impl Fn(TcpStream) -> Told + Send + 'static) -> Uri
where
    Told: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(treat(socket));
        }
    });
    uri
}

/// An origin that accepts requests without a body, sends their heads to the test, and responds to each with the same bytes.
pub(super) async fn recorder(answer: &'static [u8]) -> (Uri, mpsc::UnboundedReceiver<String>) {
    let (sender, received) = mpsc::unbounded_channel();
    let uri = origin(move |mut socket| {
        let sender = sender.clone();
        async move {
            while let Some(head) = head_of(&mut socket).await {
                sender.send(head).unwrap();
                socket.write_all(answer).await.unwrap();
            }
        }
    })
    .await;
    (uri, received)
}

/// Reads up to the empty line after the headers; `None` if the connection ends before it.
pub(super) async fn head_of(socket: &mut TcpStream) -> Option<String> {
    until(socket, b"\r\n\r\n").await
}

/// Reads up to and including `mark`.
pub(super) async fn until(socket: &mut TcpStream, mark: &[u8]) -> Option<String> {
    let mut read = Vec::new();
    while !read.ends_with(mark) {
        read.push(timeout(PATIENCE, socket.read_u8()).await.expect("bytes in time").ok()?);
    }
    Some(read.iter().copied().map(char::from).collect())
}

/// Sends a request with these lines and returns the complete response.
pub(super) async fn ask(gate: &str, lines: &[&str]) -> String {
    let mut request = lines.join("\r\n");
    request.push_str("\r\nHost: visited.example\r\nConnection: close\r\n\r\n");
    say(gate, request.as_bytes()).await
}

/// Sends bytes and returns everything that is received until the connection ends.
pub(super) async fn say(gate: &str, bytes: &[u8]) -> String {
    let mut socket = TcpStream::connect(gate).await.unwrap();
    socket.write_all(bytes).await.unwrap();
    rest_of(&mut socket).await
}

pub(super) async fn rest_of(socket: &mut TcpStream) -> String {
    let mut rest = Vec::new();
    timeout(PATIENCE, socket.read_to_end(&mut rest)).await.expect("an end in time").unwrap();
    rest.into_iter().map(char::from).collect()
}

/// Whether a head has this line, ignoring the case of header names.
pub(super) fn has(head: &str, line: &str) -> bool {
    head.split("\r\n").any(|found| found.eq_ignore_ascii_case(line))
}

/// All values of a header, in order.
pub(super) fn values<'a>(head: &'a str, name: &str) -> Vec<&'a str> {
    let lines = head.split("\r\n").filter_map(|line| line.split_once(": "));
    lines.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
}

/// An origin that passes its only connection to the test.
pub(super) async fn handed() -> (Uri, oneshot::Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let (hand, handed) = oneshot::channel();
    tokio::spawn(async move { hand.send(listener.accept().await.unwrap().0) });
    (uri, handed)
}

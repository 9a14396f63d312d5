//! The visitors who ask, each on a connection of its own.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::Instant;

use crate::server::{Processors, Server};

/// How long one of them is asked at a time.
const LASTING: Duration = Duration::from_secs(1);
/// Bytes of the head of a bare answer.
const HELLO_HEAD: usize = 130;

/// One visitor on one connection, or on a new one for each request: sends requests, keeps the ticket.
pub(crate) struct Client {
    stream: TcpStream,
    port: u16,
    /// Whether each request has a connection of its own.
    apart: bool,
    request: String,
    pub(crate) cookie: Option<String>,
    keeps_cookie: bool,
    buffer: Vec<u8>,
    chunk: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(port: u16, request: &str, keeps_cookie: bool) -> Self {
        Self {
            stream: open(port, 1).await,
            port,
            apart: false,
            request: request.to_owned(),
            cookie: None,
            keeps_cookie,
            buffer: Vec::new(),
            chunk: vec![0; 32 * 1024],
        }
    }

    /// Returns how many bytes the answer has in all.
    pub(crate) async fn ask(&mut self, request: &str) -> usize {
        if self.apart {
            // Without the wait of a connection that was closed: ports would run out.
            self.stream.set_zero_linger().unwrap();
            self.stream = open(self.port, 1).await;
        }
        let cookie = self.cookie.as_ref().map(|cookie| format!("Cookie: {cookie}\r\n")).unwrap_or_default();
        self.stream.write_all(format!("{request}{cookie}\r\n").as_bytes()).await.unwrap();
        self.buffer.clear();
        loop {
            let read = self.stream.read(&mut self.chunk).await.unwrap();
            assert!(read > 0, "the server closed the connection");
            self.buffer.extend(&self.chunk[..read]);
            let Some(end) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let head = std::str::from_utf8(&self.buffer[..end]).unwrap().to_owned();
            let length: usize = header(&head, "content-length").unwrap_or("0").parse().unwrap();
            if self.buffer.len() >= end + 4 + length {
                if self.keeps_cookie
                    && let Some(cookie) = header(&head, "set-cookie")
                {
                    self.cookie = cookie.split(';').next().map(str::to_owned);
                }
                return end + 4 + length;
            }
        }
    }

    async fn repeat(mut self, until: Instant) -> (Self, u64) {
        let request = self.request.clone();
        let mut count = 0;
        while Instant::now() < until {
            self.ask(&request).await;
            count += 1;
        }
        (self, count)
    }
}

/// A connection from this address of the loopback network: one has too few ports for tens of thousands.
pub(crate) async fn open(port: u16, from: u8) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::new(127, 0, 0, from), 0).into()).unwrap();
    let stream = socket.connect((Ipv4Addr::LOCALHOST, port).into()).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let found = |line: &'a str| line.split_once(": ").filter(|(found, _)| found.eq_ignore_ascii_case(name));
    head.lines().find_map(found).map(|(_, value)| value)
}

/// A server, and the visitors who ask it.
pub(crate) struct Visitors {
    pub(crate) server: Server,
    clients: Vec<Client>,
}

/// What a round found.
pub(crate) struct Round {
    pub(crate) requests: u64,
    pub(crate) requests_a_second: f64,
    pub(crate) cpu_us: f64,
}

impl Visitors {
    /// This many visitors. `first` is sent once by each before, to get a ticket. Returns how many bytes an answer has, too.
    pub(crate) async fn new(
        server: Server,
        first: Option<&str>,
        request: &str,
        keeps_cookie: bool,
        at_once: usize,
    ) -> (Self, usize) {
        let (mut clients, mut bytes) = (Vec::new(), 0);
        for _ in 0..at_once {
            let mut client = Client::connect(server.port, request, keeps_cookie).await;
            if let Some(first) = first {
                client.ask(first).await;
            }
            bytes = client.ask(request).await;
            clients.push(client);
        }
        (Self { server, clients }, bytes)
    }

    pub(crate) async fn ask(&mut self) -> Round {
        let (cpu, started) = (self.server.cpu(), Instant::now());
        let until = started + LASTING;
        let tasks: Vec<_> = self.clients.drain(..).map(|client| tokio::spawn(client.repeat(until))).collect();
        let mut requests = 0;
        for task in tasks {
            let (client, count) = task.await.unwrap();
            requests += count;
            self.clients.push(client);
        }
        let requests_a_second = requests as f64 / started.elapsed().as_secs_f64();
        Round { requests, requests_a_second, cpu_us: (self.server.cpu() - cpu) * 1e6 / requests as f64 }
    }

    /// From now on, each request has a connection of its own.
    pub(crate) fn apart(mut self) -> Self {
        self.clients.iter_mut().for_each(|client| client.apart = true);
        self
    }

    /// A bare axum that is sent the same requests and answers as many bytes in all.
    pub(crate) async fn of_hello(&self, request: &str, bytes: usize, processors: &Processors) -> Self {
        let kind = format!("hello:{}", bytes.saturating_sub(HELLO_HEAD));
        let server = Server::start(&kind, 0, processors).await;
        let cookie = self.clients.iter().find_map(|client| client.cookie.as_ref());
        let cookie = cookie.map(|cookie| format!("Cookie: {cookie}\r\n")).unwrap_or_default();
        Self::new(server, None, &format!("{request}{cookie}"), false, self.clients.len()).await.0
    }
}

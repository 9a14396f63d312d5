#![doc = include_str!("../README.md")]

mod checked_connector;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::RootCertStore;
pub use vestibule_core::{causes, with_causes};
use vestibule_freeze::timeout;
pub use vestibule_tls::TlsError;

pub use checked_connector::{AddressCheck, AddressRefused, CheckedConnector, ConnectOptions};

/// Maximum number of header fields of a response. Sites that set many cookies have more than the 100 that are usual.
pub const RESPONSE_FIELDS_MAX: usize = 512;

/// Settings of a client.
#[derive(Debug, Clone)]
pub struct Options {
    /// Time limit of a request, its response body included.
    pub timeout: Duration,
    /// Time limit of a connection, with resolving the name and TLS; `None` for that of the request.
    pub connect_timeout: Option<Duration>,
    /// Maximum size of a response body in bytes.
    pub response_max: usize,
    /// How long an idle connection is kept for the next request; zero for none.
    pub idle_timeout: Duration,
    /// The only authorities to trust; `None` for those of [`vestibule_tls::client_config`].
    pub authorities: Option<Arc<RootCertStore>>,
    /// The addresses that may be connected to. Connections are kept in the client, so clients with different checks share none.
    pub check: AddressCheck,
}

impl Default for Options {
    /// 10 s, 1 MiB, no connection is kept, the usual authorities.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            connect_timeout: None,
            response_max: 1 << 20,
            idle_timeout: Duration::ZERO,
            authorities: None,
            check: AddressCheck::default(),
        }
    }
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// No connection, or it broke before the response began. The text is the root cause.
    #[error("{}", root_cause(.0))]
    Connection(#[source] legacy::Error),
    /// The host has an address that may not be connected to.
    #[error(transparent)]
    AddressRefused(AddressRefused),
    /// The connection broke within the response body. The text is the root cause.
    #[error("the response is incomplete: {}", root_cause(.0.as_ref()))]
    Incomplete(#[source] Box<dyn Error + Send + Sync>),
    /// The body is above the limit, in bytes.
    #[error("the response is larger than {0} bytes")]
    TooLarge(usize),
    /// No complete response within the limit.
    #[error("no response within {} seconds", .0.as_secs())]
    Timeout(Duration),
}

impl HttpError {
    /// Whether nothing of the request can have been sent, because there was no connection.
    pub fn is_without_connection(&self) -> bool {
        match self {
            Self::Connection(error) => error.is_connect(),
            Self::AddressRefused(_) => true,
            Self::Incomplete(_) | Self::TooLarge(_) | Self::Timeout(_) => false,
        }
    }

    fn no_response(error: legacy::Error) -> Self {
        AddressRefused::cause_of(&error).map_or(Self::Connection(error), Self::AddressRefused)
    }
}

/// Sends requests. Cheap to clone; clones share connections.
#[derive(Debug, Clone)]
pub struct HttpClient {
    client: Client<CheckedConnector, Full<Bytes>>,
    timeout: Duration,
    response_max: usize,
}

impl HttpClient {
    /// A client without connections yet.
    ///
    /// # Errors
    /// No certificate authority can be trusted.
    pub fn new(options: Options) -> Result<Self, TlsError> {
        let tls = match options.authorities {
            Some(authorities) => vestibule_tls::client_config_with(authorities)?,
            None => vestibule_tls::client_config()?,
        };
        let connector = CheckedConnector::new(
            tls,
            options.check,
            ConnectOptions { timeout: options.connect_timeout.or(Some(options.timeout)), keepalive: None },
        );
        let mut client = Client::builder(TokioExecutor::new());
        client.pool_timer(TokioTimer::new()).pool_idle_timeout(options.idle_timeout);
        client.http1_max_headers(RESPONSE_FIELDS_MAX);
        if options.idle_timeout.is_zero() {
            client.pool_max_idle_per_host(0);
        }
        let Options { timeout, response_max, .. } = options;
        Ok(Self { client: client.build(connector), timeout, response_max })
    }

    /// Sends a request and reads the whole response, whatever its status.
    ///
    /// # Errors
    /// No connection, or no complete response within the limits of time and size.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let response = timeout(self.timeout, self.exchange(request)).await;
        response.unwrap_or(Err(HttpError::Timeout(self.timeout)))
    }

    /// Sends a request and reads the response, of its body at most the size limit. A longer one is cut, and the connection closed.
    ///
    /// # Errors
    /// No connection, or no complete response within the time limit.
    pub async fn send_and_cut(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let response = timeout(self.timeout, async {
            let (head, mut body) = self.open(request).await?.into_parts();
            let mut bytes = BytesMut::new();
            while bytes.len() < self.response_max
                && let Some(chunk) = body.next().await?
            {
                bytes.extend_from_slice(&chunk[..chunk.len().min(self.response_max - bytes.len())]);
            }
            Ok(Response::from_parts(head, bytes.freeze()))
        });
        response.await.unwrap_or(Err(HttpError::Timeout(self.timeout)))
    }

    /// Sends a request and returns the response without waiting for its body, which has no limits: for server-sent events.
    ///
    /// # Errors
    /// No connection, or no head of a response within the time limit.
    pub async fn open(&self, request: Request<Bytes>) -> Result<Response<ResponseBody>, HttpError> {
        let response = timeout(self.timeout, self.client.request(request.map(Full::new))).await;
        let response = response.ok_or(HttpError::Timeout(self.timeout))?.map_err(HttpError::no_response)?;
        Ok(response.map(|body| ResponseBody(BoxBody::new(body.map_err(Into::into)))))
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let response = self.client.request(request.map(Full::new)).await.map_err(HttpError::no_response)?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, self.response_max).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() {
                HttpError::TooLarge(self.response_max)
            } else {
                HttpError::Incomplete(error)
            }
        })?;
        Ok(Response::from_parts(head, body.to_bytes()))
    }
}

/// The body of a response that is read as it arrives. Dropping it closes the connection.
#[derive(Debug)]
pub struct ResponseBody(BoxBody<Bytes, Box<dyn Error + Send + Sync>>);

impl ResponseBody {
    /// The next bytes; `None` at the end of the body. Cancel safe.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn next(&mut self) -> Result<Option<Bytes>, HttpError> {
        while let Some(frame) = self.0.frame().await {
            // Other frames are trailers.
            if let Ok(bytes) = frame.map_err(HttpError::Incomplete)?.into_data() {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }
}

/// The innermost cause of an error, which says what the layers around it do not: "connection refused".
fn root_cause<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    causes(error).last().unwrap_or(error)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Sends a request to a server that answers with these bytes, and then closes the connection or stays silent.
    async fn respond(bytes: impl Into<String>, closes: bool) -> Result<Response<Bytes>, HttpError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (uri, bytes) = (format!("http://{}/", listener.local_addr().unwrap()), bytes.into());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1024]).await;
            stream.write_all(bytes.as_bytes()).await.unwrap();
            if !closes {
                std::future::pending::<()>().await;
            }
        });
        let options = Options { timeout: Duration::from_millis(300), response_max: 8, ..Options::default() };
        let client = HttpClient::new(options).unwrap();
        client.send(Request::get(uri).body(Bytes::new()).unwrap()).await
    }

    #[tokio::test]
    async fn response_is_read_whole_and_redirects_are_not_followed() {
        let found = respond("HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 4\r\n\r\nhere", false)
            .await
            .unwrap();
        assert_eq!((found.status().as_u16(), found.body().as_ref()), (302, b"here".as_slice()));
    }

    #[tokio::test]
    async fn responses_may_have_many_header_fields() {
        let head = |fields: usize| format!("HTTP/1.1 200 OK\r\n{}\r\n", "set-cookie: a=b\r\n".repeat(fields));
        let response = respond(head(RESPONSE_FIELDS_MAX), true).await.unwrap();
        assert_eq!(response.headers().len(), RESPONSE_FIELDS_MAX);
        assert!(respond(head(RESPONSE_FIELDS_MAX + 1), true).await.is_err());
    }

    #[tokio::test]
    async fn silent_slow_large_and_broken_responses_are_errors() {
        for (bytes, closes, expected) in [
            ("", false, "no response within 0 seconds"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhe", false, "no response within 0 seconds"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n123456789", false, "the response is larger than 8 bytes"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhe", true, "the response is incomplete: "),
        ] {
            let error = respond(bytes, closes).await.unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    /// A function is frozen between two requests, while keys are fetched in the background.
    #[tokio::test]
    async fn time_of_a_freeze_is_not_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap());
        let client = HttpClient::new(Options::default()).unwrap();
        let sent = tokio::spawn(async move { client.send(Request::get(uri).body(Bytes::new()).unwrap()).await });
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 1024]).await;
        tokio::time::pause();
        tokio::time::advance(Duration::from_hours(1)).await;
        tokio::time::resume();
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
        assert_eq!(sent.await.unwrap().unwrap().status(), 204);
    }

    #[tokio::test]
    async fn silence_before_the_connection_is_no_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("https://{}/", listener.local_addr().unwrap());
        let options = Options { connect_timeout: Some(Duration::from_millis(50)), ..Options::default() };
        let client = HttpClient::new(options).unwrap();
        // The server accepts, but TLS never begins.
        let error = client.send(Request::post(uri).body(Bytes::new()).unwrap()).await.unwrap_err();
        assert!(error.is_without_connection(), "{error:?}");
        assert_eq!(error.to_string(), "no connection within 0.05 seconds");
    }

    #[tokio::test]
    async fn long_response_is_cut_without_waiting_for_its_rest() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap());
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1024]).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n123456789").await.unwrap();
            stream.read(&mut [0; 1]).await.unwrap_or_default()
        });
        let client = HttpClient::new(Options { response_max: 8, ..Options::default() }).unwrap();
        let response = client.send_and_cut(Request::get(uri).body(Bytes::new()).unwrap()).await.unwrap();
        assert_eq!(response.body().as_ref(), b"12345678");
        assert_eq!(server.await.unwrap(), 0, "the connection is closed");
    }

    #[tokio::test]
    async fn opened_response_is_read_as_it_arrives() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap());
        let (more, mut asked) = tokio::sync::mpsc::channel::<&[u8]>(1);
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1024]).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n").await.unwrap();
            while let Some(bytes) = asked.recv().await {
                stream.write_all(bytes).await.unwrap();
            }
        });
        let client = HttpClient::new(Options { response_max: 1, ..Options::default() }).unwrap();
        let mut response = client.open(Request::get(uri).body(Bytes::new()).unwrap()).await.unwrap();
        for bytes in [&b"one"[..], b"two"] {
            more.send(bytes).await.unwrap();
            assert_eq!(response.body_mut().next().await.unwrap().unwrap(), bytes);
        }
        drop(more);
        assert!(response.body_mut().next().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn refused_connection_names_the_cause() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap());
        drop(listener);
        let client = HttpClient::new(Options::default()).unwrap();
        let error = client.send(Request::get(uri).body(Bytes::new()).unwrap()).await.unwrap_err();
        assert!(error.to_string().to_lowercase().contains("refused"), "{error}");
    }
}

#![doc = include_str!("../README.md")]

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::RootCertStore;
use tokio::time::timeout;
use tower::Service;
pub use vestibule_tls::TlsError;

/// Settings of a client.
#[derive(Debug, Clone)]
pub struct Options {
    /// Time limit of a request, its response body included.
    pub timeout: Duration,
    /// Maximum size of a response body in bytes.
    pub response_max: usize,
    /// How long an idle connection is kept for the next request; zero for none.
    pub idle_timeout: Duration,
    /// The only authorities to trust; `None` for those of [`vestibule_tls::client_config`].
    pub authorities: Option<Arc<RootCertStore>>,
    /// Whether an address may be connected to, checked after the name was resolved.
    pub allows: fn(IpAddr) -> bool,
}

impl Default for Options {
    /// 10 s, 1 MiB, no connection is kept, the usual authorities.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            response_max: 1 << 20,
            idle_timeout: Duration::ZERO,
            authorities: None,
            allows: |_| true,
        }
    }
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// No connection, or it broke before the response began. The text is the root cause.
    #[error("{}", root_cause(.0))]
    Connection(#[source] hyper_util::client::legacy::Error),
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

/// An address that may not be connected to.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the address {0} is internal, and connections to it are not allowed")]
pub struct AddressRefused(IpAddr);

/// The system resolver, without the addresses that are not allowed.
#[derive(Debug, Clone)]
struct AllowedResolver {
    system: GaiResolver,
    allows: fn(IpAddr) -> bool,
}

impl Service<Name> for AllowedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.system.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (resolved, allows) = (self.system.call(name), self.allows);
        Box::pin(async move {
            let (allowed, refused): (Vec<_>, Vec<_>) = resolved.await?.partition(|found| allows(found.ip()));
            match refused.first() {
                Some(address) if allowed.is_empty() => Err(AddressRefused(address.ip()).into()),
                _ => Ok(allowed.into_iter()),
            }
        })
    }
}

/// Sends requests. Cheap to clone; clones share connections.
#[derive(Debug, Clone)]
pub struct HttpClient {
    client: Client<HttpsConnector<HttpConnector<AllowedResolver>>, Full<Bytes>>,
    allows: fn(IpAddr) -> bool,
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
        let mut tcp =
            HttpConnector::new_with_resolver(AllowedResolver { system: GaiResolver::new(), allows: options.allows });
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(options.timeout));
        let tls = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(tcp);
        let mut client = Client::builder(TokioExecutor::new());
        client.pool_timer(TokioTimer::new()).pool_idle_timeout(options.idle_timeout);
        if options.idle_timeout.is_zero() {
            client.pool_max_idle_per_host(0);
        }
        let Options { timeout, response_max, allows, .. } = options;
        Ok(Self { client: client.build(tls), allows, timeout, response_max })
    }

    /// Sends a request and reads the whole response, whatever its status.
    ///
    /// # Errors
    /// No connection, or no complete response within the limits of time and size.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        self.check_address(request.uri())?;
        let response = timeout(self.timeout, self.exchange(request)).await;
        response.unwrap_or(Err(HttpError::Timeout(self.timeout)))
    }

    /// Sends a request and returns the response without waiting for its body, which has no limits: for server-sent events.
    ///
    /// # Errors
    /// No connection, or no head of a response within the time limit.
    pub async fn open(&self, request: Request<Bytes>) -> Result<Response<ResponseBody>, HttpError> {
        self.check_address(request.uri())?;
        let response = timeout(self.timeout, self.client.request(request.map(Full::new))).await;
        let response = response.map_err(|_| HttpError::Timeout(self.timeout))?.map_err(HttpError::Connection)?;
        Ok(response.map(|body| ResponseBody(BoxBody::new(body.map_err(Into::into)))))
    }

    /// A host that is an address is not resolved.
    fn check_address(&self, uri: &Uri) -> Result<(), HttpError> {
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        match host.parse().ok().filter(|address| !(self.allows)(*address)) {
            Some(address) => Err(HttpError::AddressRefused(AddressRefused(address))),
            None => Ok(()),
        }
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let response = self.client.request(request.map(Full::new)).await.map_err(HttpError::Connection)?;
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
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Sends a request to a server that answers with these bytes, and then closes the connection or stays silent.
    async fn respond(bytes: &'static str, closes: bool) -> Result<Response<Bytes>, HttpError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap());
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

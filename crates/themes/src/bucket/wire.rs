//! Requests by HTTP to S3, and to whoever gives out the keys to it.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tower::Service;

use crate::awake::within;

const CONNECT_MAX: Duration = Duration::from_secs(1);
/// From the request to the first byte of the answer, connecting included.
const FIRST_BYTE_MAX: Duration = Duration::from_secs(2);
/// How long the content of an answer may take to arrive once it has begun to.
const CONTENT_MAX: Duration = Duration::from_secs(3);
/// S3 closes connections that are silent for longer.
const IDLE_MAX: Duration = Duration::from_secs(15);
/// Connections that are kept for what comes next.
const KEPT_MAX: usize = 4;
/// Either of them replaces the authorities that are trusted otherwise.
const VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

type Cause = Box<dyn Error + Send + Sync>;

/// Cheap to clone; clones share their connections.
#[derive(Clone, Debug)]
pub(super) struct Wire(Client<Connector, Full<Bytes>>);

impl Wire {
    /// `foreign`: the server may have a certificate of an authority that only this system knows.
    pub(super) fn new(foreign: bool) -> Result<Self, String> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let tls = HttpsConnectorBuilder::new().with_tls_config(tls(foreign)?).https_or_http().enable_http1();
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_MAX)
            .pool_max_idle_per_host(KEPT_MAX)
            .build(Connector(tls.wrap_connector(tcp)));
        Ok(Self(client))
    }

    /// The head of the answer, and its content to come.
    pub(super) async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, String> {
        match within(FIRST_BYTE_MAX, self.0.request(request)).await {
            Some(answer) => answer.map_err(|error| causes(&error)),
            None => Err("no answer in time".to_owned()),
        }
    }
}

/// The whole content of an answer, or `None` if it is more than `max` bytes.
pub(super) async fn content(body: Incoming, max: u64) -> Result<Option<Bytes>, String> {
    let content = within(CONTENT_MAX, whole(body, max)).await;
    content.unwrap_or_else(|| Err("the content didn't come in time".to_owned()))
}

async fn whole(mut body: Incoming, max: u64) -> Result<Option<Bytes>, String> {
    let mut content = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| causes(&error))?;
        let Ok(part) = frame.into_data() else { continue };
        if (content.len() + part.len()) as u64 > max {
            return Ok(None);
        }
        content.extend_from_slice(&part);
    }
    Ok(Some(content.freeze()))
}

/// An error and what caused it, in one line.
fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

/// The public authorities are built in. Reading the system's takes some milliseconds, which are only spent where they
/// may be needed; with one of the variables, only what it names is trusted.
fn tls(foreign: bool) -> Result<ClientConfig, String> {
    let named = VARIABLES.iter().find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    let mut roots = RootCertStore::empty();
    if named.is_some() || foreign {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    match named {
        Some(name) if roots.is_empty() => return Err(format!("{name} names no certificate that can be read")),
        Some(_) => {}
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// Resolves a name, connects and, for `https`, shakes hands: all of it within one limit.
#[derive(Clone, Debug)]
struct Connector(HttpsConnector<HttpConnector>);

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = Cause;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Cause>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let connection = within(CONNECT_MAX, self.0.call(target));
        Box::pin(async { connection.await.unwrap_or_else(|| Err("no connection in time".into())) })
    }
}

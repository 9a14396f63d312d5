//! How the provider is spoken to: without redirects, within limits of time and size.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;

/// How long the provider may take for one answer, connecting included.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Most bytes of an answer.
const ANSWER_MAX: usize = 1 << 20;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    #[error("it can't be reached: {0}")]
    Connect(#[from] hyper_util::client::legacy::Error),
    #[error("its answer broke off, or is longer than {ANSWER_MAX} bytes: {0}")]
    Body(Box<dyn std::error::Error + Send + Sync>),
    #[error("no answer within {} seconds", TIMEOUT.as_secs())]
    Slow,
}

/// Asks the provider.
pub(super) struct HttpClient(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

impl HttpClient {
    /// One that trusts these authorities alone, or the public ones.
    pub(super) fn new(authorities: Option<Arc<RootCertStore>>) -> Self {
        #[expect(clippy::expect_used, reason = "ring implements every version of TLS that is asked for")]
        let tls = ClientConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .expect("ring speaks TLS");
        let tls = match authorities {
            Some(authorities) => tls.with_root_certificates(authorities),
            None => tls.with_webpki_roots(),
        };
        let tls = HttpsConnectorBuilder::new().with_tls_config(tls.with_no_client_auth());
        let connector = tls.https_or_http().enable_http1().build();
        // A connection that was kept would be dead when a frozen function thaws.
        Self(Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector))
    }

    async fn ask(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = self.0.request(request.map(|body| Full::new(body.into()))).await?.into_parts();
        let body = Limited::new(body, ANSWER_MAX).collect().await.map_err(HttpError::Body)?;
        Ok(HttpResponse::from_parts(parts, body.to_bytes().to_vec()))
    }
}

impl<'c> AsyncHttpClient<'c> for HttpClient {
    type Error = HttpError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move { timeout(TIMEOUT, self.ask(request)).await.unwrap_or(Err(HttpError::Slow)) })
    }
}

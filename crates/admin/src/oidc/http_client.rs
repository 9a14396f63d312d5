//! The HTTP client in the form that `openidconnect` expects.

use std::pin::Pin;

use bytes::Bytes;
use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use vestibule_http_client::{HttpClient, HttpError};

/// Sends requests to the identity provider.
pub(super) struct ProviderClient(pub(super) HttpClient);

impl<'c> AsyncHttpClient<'c> for ProviderClient {
    type Error = HttpError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async { Ok(self.0.send(request.map(Bytes::from)).await?.map(Vec::from)) })
    }
}

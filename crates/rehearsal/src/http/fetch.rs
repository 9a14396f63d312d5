//! A single request of the rehearsal's own.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST};
use http::{HeaderValue, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1::handshake;
use tokio::time::timeout;
use tower::{Service as _, ServiceExt as _};

use super::connection::connector;

const PATIENCE: Duration = Duration::from_secs(5);
const ANSWER_MAX: usize = 16 << 20;

/// Gets what is at an address.
pub(crate) async fn fetch(uri: &Uri, token: Option<&str>) -> Result<(StatusCode, Bytes), Box<dyn Error + Send + Sync>> {
    let exchange = async {
        let stream = connector().ready().await?.call(uri.clone()).await?;
        let (mut sender, connection) = handshake(stream).await?;
        let connection = tokio::spawn(connection);
        let mut request = Request::new(Empty::<Bytes>::new());
        let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
        *request.uri_mut() = path.parse()?;
        let host = uri.authority().map_or("", http::uri::Authority::as_str);
        request.headers_mut().insert(HOST, HeaderValue::try_from(host)?);
        if let Some(token) = token {
            request.headers_mut().insert(AUTHORIZATION, HeaderValue::try_from(format!("Bearer {token}"))?);
        }
        let (head, body) = sender.send_request(request).await?.into_parts();
        let body = Limited::new(body, ANSWER_MAX).collect().await?.to_bytes();
        connection.abort();
        Ok((head.status, body))
    };
    timeout(PATIENCE, exchange).await.unwrap_or_else(|_| Err("no answer in 5 s".into()))
}

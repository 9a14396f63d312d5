//! Upgraded connections, such as web sockets.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::{
    HeaderValue, Request, Response, Version,
    header::{CONNECTION, UPGRADE},
};
use hyper::{
    body::Incoming,
    upgrade::{OnUpgrade, Upgraded},
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, split},
    time::timeout,
};

use crate::forwarded::TunnelEnd;
use crate::headers::{prepare_response, tokens};

/// An upgrade that the visitor requests.
pub(super) struct Upgrade {
    protocols: HeaderValue,
    visitor: OnUpgrade,
    tunnel_end: Option<TunnelEnd>,
}

impl Upgrade {
    /// The upgrade that a request asks for, if it is allowed.
    ///
    /// HTTP/2 and TLS are not: requests inside them would bypass the gate.
    pub(super) fn requested(request: &mut Request<Body>, tunnel_end: Option<TunnelEnd>) -> Option<Self> {
        let protocols = allowed_protocols(request)?;
        Some(Self { protocols, visitor: hyper::upgrade::on(request), tunnel_end })
    }

    pub(super) fn protocols(&self) -> &HeaderValue {
        &self.protocols
    }

    /// Forwards the origin's 101 response, and from then on all bytes in both directions.
    pub(super) fn accept(
        self,
        mut response: Response<Incoming>,
        closing_timeout: Duration,
        origin: &Arc<str>,
    ) -> Response<Body> {
        let (visitor, server, tunnel_end) = (self.visitor, hyper::upgrade::on(&mut response), self.tunnel_end);
        let origin = origin.clone();
        tokio::spawn(async move {
            match tokio::try_join!(visitor, server) {
                Ok((visitor, server)) => tunnel(visitor, server, closing_timeout, tunnel_end).await,
                Err(error) => tracing::debug!(%origin, %error, "the upgrade was not completed"),
            }
        });
        let protocol = response.headers().get(UPGRADE).cloned().unwrap_or(self.protocols);
        let (mut head, _) = response.into_parts();
        prepare_response(&mut head.headers);
        head.headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        head.headers.insert(UPGRADE, protocol);
        Response::from_parts(head, Body::empty())
    }
}

/// Whether the request asks for an upgrade that may be forwarded.
pub fn asks_for_upgrade(request: &Request<Body>) -> bool {
    allowed_protocols(request).is_some()
}

/// The requested protocols, without those that are not allowed.
fn allowed_protocols(request: &Request<Body>) -> Option<HeaderValue> {
    let headers = request.headers();
    let asks = tokens(headers, &CONNECTION).any(|token| token.eq_ignore_ascii_case("upgrade"));
    if request.version() != Version::HTTP_11 || !asks {
        return None;
    }
    let protocols: Vec<&str> = tokens(headers, &UPGRADE).filter(|protocol| !carries_requests(protocol)).collect();
    HeaderValue::from_str(&protocols.join(", ")).ok().filter(|value| !value.is_empty())
}

fn carries_requests(protocol: &str) -> bool {
    let name = protocol.split('/').next().unwrap_or_default().trim().to_ascii_lowercase();
    name.starts_with("h2") || name.starts_with("h3") || name == "http" || name == "tls"
}

/// Copies until one side has ended, and then the other direction until `closing_timeout`. Ends at once with `tunnel_end`.
async fn tunnel(visitor: Upgraded, server: Upgraded, closing_timeout: Duration, tunnel_end: Option<TunnelEnd>) {
    let (visitor_out, visitor_in) = split(TokioIo::new(visitor));
    let (server_out, server_in) = split(TokioIo::new(server));
    let (up, down) = (pump(visitor_out, server_in), pump(server_out, visitor_in));
    tokio::pin!(up, down);
    let tunnel_end = tunnel_end.unwrap_or_else(|| Box::pin(std::future::pending()));
    let other_direction = tokio::select! {
        () = tunnel_end => return,
        _ = &mut up => timeout(closing_timeout, down).await,
        _ = &mut down => timeout(closing_timeout, up).await,
    };
    drop(other_direction);
}

/// Copies one direction to its end and shuts the other side down. A failure counts as the end.
async fn pump(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
    let copied = copy(&mut from, &mut to).await;
    to.shutdown().await?;
    copied.map(drop)
}

//! Connections that turn into something else than HTTP, such as a WebSocket.

use std::{io, sync::Arc, time::Duration};

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

use super::headers::{prepare_answer, tokens};
use crate::tunnel::TunnelSession;

/// An upgrade the visitor asks for.
pub(super) struct Upgrade {
    protocols: HeaderValue,
    visitor: OnUpgrade,
    /// The session that the tunnel ends with, if there is one.
    session: Option<TunnelSession>,
}

impl Upgrade {
    /// Reads the request's wish, if it has one that may be granted.
    ///
    /// HTTP/2 and TLS may not: within them, a visitor could send an origin requests that nobody has judged.
    pub(super) fn requested(request: &mut Request<Body>) -> Option<Self> {
        let protocols = granted(request)?;
        let session = request.extensions_mut().remove();
        Some(Self { protocols, visitor: hyper::upgrade::on(request), session })
    }

    pub(super) fn protocols(&self) -> &HeaderValue {
        &self.protocols
    }

    /// Hands on the origin's consent, and from then on every byte in both directions.
    pub(super) fn accept(
        self,
        mut answer: Response<Incoming>,
        closing_timeout: Duration,
        origin: &Arc<str>,
    ) -> Response<Body> {
        let (visitor, server, session) = (self.visitor, hyper::upgrade::on(&mut answer), self.session);
        let origin = origin.clone();
        tokio::spawn(async move {
            match tokio::try_join!(visitor, server) {
                Ok((visitor, server)) => tunnel(visitor, server, closing_timeout, session).await,
                Err(error) => tracing::debug!(%origin, %error, "the upgrade was not completed"),
            }
        });
        let protocol = answer.headers().get(UPGRADE).cloned().unwrap_or(self.protocols);
        let (mut head, _) = answer.into_parts();
        prepare_answer(&mut head.headers);
        head.headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        head.headers.insert(UPGRADE, protocol);
        Response::from_parts(head, Body::empty())
    }
}

/// Whether the visitor asks for an upgrade that might be granted.
pub(crate) fn asks_for_upgrade(request: &Request<Body>) -> bool {
    granted(request).is_some()
}

/// The protocols that may be granted of those that are asked for.
fn granted(request: &Request<Body>) -> Option<HeaderValue> {
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

/// Copies until one side or the session has ended, and then for a while what the other side still has to say.
async fn tunnel(visitor: Upgraded, server: Upgraded, closing_timeout: Duration, session: Option<TunnelSession>) {
    let (visitor_out, visitor_in) = split(TokioIo::new(visitor));
    let (server_out, server_in) = split(TokioIo::new(server));
    let (up, down) = (pump(visitor_out, server_in), pump(server_out, visitor_in));
    tokio::pin!(up, down);
    let session_ended = async {
        match &session {
            Some(session) => session.ended().await,
            None => std::future::pending().await,
        }
    };
    let last_words = tokio::select! {
        () = session_ended => return,
        _ = &mut up => timeout(closing_timeout, down).await,
        _ = &mut down => timeout(closing_timeout, up).await,
    };
    drop(last_words);
}

/// Copies one direction to its end and hands that end on. Its failure is the other side's hanging up.
async fn pump(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
    let copied = copy(&mut from, &mut to).await;
    to.shutdown().await?;
    copied.map(drop)
}

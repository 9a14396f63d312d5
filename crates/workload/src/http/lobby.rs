//! Waits for the lobby of an event, by what the line document says.

use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::{Request, StatusCode};
use serde::Deserialize;
use tokio::time::sleep;
use vestibule_http_client::{HttpClient, HttpError, Options, TlsError};

use super::Target;

/// Why a load test cannot begin in a lobby.
#[derive(Debug, thiserror::Error)]
pub enum LobbyError {
    /// No certificate authority can be trusted.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// No response.
    #[error("--lobby: cannot read the line document of {target}: {cause}")]
    Unreachable {
        /// The target.
        target: String,
        /// The cause.
        cause: HttpError,
    },
    /// No line document.
    #[error(
        "--lobby: {target} has no line document ({status}): pass --host and --queue as in the settings of the gate"
    )]
    NoDocument {
        /// The target.
        target: String,
        /// The status of the response.
        status: StatusCode,
    },
    /// No event with a draw.
    #[error(
        "--lobby: the queue has no event with a draw: set its mode to \"scheduled\" and add an event with the order \"draw\""
    )]
    NoDraw,
    /// Too late.
    #[error(
        "--lobby {lobby}: the event starts in {starts_in:.0} seconds, which is less: pass fewer seconds or move the start of the event"
    )]
    TooLate {
        /// The seconds before the start that were asked for.
        lobby: u32,
        /// Seconds until the start.
        starts_in: f64,
    },
}

#[derive(Deserialize)]
struct Document {
    event: Option<Event>,
}

#[derive(Deserialize)]
struct Event {
    order: String,
    starts_in: f64,
}

/// Waits until this many seconds before the start of the queue's event. Returns how long it waited.
///
/// # Errors
/// The queue has no event with a draw, or its start is nearer.
pub async fn wait_for_lobby(target: &Target, seconds: u32) -> Result<Duration, LobbyError> {
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = target.line();
    request.headers_mut().insert(HOST, target.host.clone());
    let response = HttpClient::new(Options::default())?.send(request).await;
    let url = || target.url().to_owned();
    let response = response.map_err(|cause| LobbyError::Unreachable { target: url(), cause })?;
    let document: Document = serde_json::from_slice(response.body())
        .map_err(|_| LobbyError::NoDocument { target: url(), status: response.status() })?;
    let event = document.event.filter(|event| event.order == "draw").ok_or(LobbyError::NoDraw)?;
    let wait = event.starts_in - f64::from(seconds);
    if wait < 0.0 {
        return Err(LobbyError::TooLate { lobby: seconds, starts_in: event.starts_in });
    }
    let wait = Duration::from_secs_f64(wait);
    sleep(wait).await;
    Ok(wait)
}

//! Interprets responses as a visitor does.

use bytes::Bytes;
use http::header::{LOCATION, RETRY_AFTER};
use http::response::Parts;
use http::{HeaderMap, StatusCode};
use vestibule_core::line::Phase;
use vestibule_core::{JoinStep, VisitorState, VisitorStatus};

use crate::visitor::{GateResponse, ProofNeeded, ReportedStatus, RequestKind};

/// Maximum `Retry-After`, in milliseconds: an hour.
const RETRY_MAX_MS: u32 = 3_600_000;
/// Poll interval of a queue page without `Retry-After`.
const PAGE_POLL_MS: u32 = 5_000;

/// Whether the visitor has a ticket, and whether the response sets one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tickets {
    pub(super) held: bool,
    pub(super) set: bool,
    /// Whether it is one of a lobby.
    pub(super) lobby: bool,
    /// Milliseconds until the slot of the ticket expires.
    pub(super) slot_ms: Option<u32>,
}

/// Reads the response to a request.
pub(super) fn read(kind: RequestKind, head: &Parts, body: &Bytes, tickets: Tickets) -> Result<GateResponse, String> {
    match kind {
        RequestKind::Enter | RequestKind::Page => page(head, tickets),
        RequestKind::Poll | RequestKind::Keepalive | RequestKind::Join => visitor_status(head, body),
        RequestKind::Stream if head.status == StatusCode::OK => Ok(GateResponse::Stream),
        RequestKind::Stream if head.status == StatusCode::NO_CONTENT => Ok(GateResponse::NoStream),
        RequestKind::Away | RequestKind::Leave if head.status.is_success() => Ok(GateResponse::Done),
        RequestKind::Stream | RequestKind::Away | RequestKind::Leave => Err(head.status.to_string()),
    }
}

/// The queue page, which has `Retry-After` and `noindex`, or a page of the site.
fn page(head: &Parts, tickets: Tickets) -> Result<GateResponse, String> {
    let headers = &head.headers;
    let is_queue_page = headers.contains_key(RETRY_AFTER)
        && headers.get("x-robots-tag").is_some_and(|value| value.as_bytes() == b"noindex")
        && !headers.contains_key("x-vestibule-session");
    if is_queue_page {
        let poll_after_ms = retry_after_ms(headers).unwrap_or(PAGE_POLL_MS);
        return Ok(GateResponse::QueuePage { poll_after_ms, ticket: tickets.set, lobby: tickets.lobby });
    }
    let status = head.status;
    if status.is_redirection() && !tickets.held && !tickets.set {
        let to = headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or("nowhere");
        return Err(format!("{status} to {to} without a ticket"));
    }
    let is_site = status.is_success() || status.is_redirection();
    if is_site { Ok(GateResponse::Site { slot_ms: tickets.slot_ms }) } else { Err(status.to_string()) }
}

fn visitor_status(head: &Parts, body: &Bytes) -> Result<GateResponse, String> {
    let mut status = match reported_status(body) {
        Some(status) => status,
        None if head.status == StatusCode::OK => return Err("200 without a visitor status".to_owned()),
        None => return Err(head.status.to_string()),
    };
    status.poll_after_ms = status.poll_after_ms.max(retry_after_ms(&head.headers).unwrap_or(0));
    Ok(GateResponse::Status(status))
}

/// The visitor status of a response or of an update; `None` if it is none.
pub(super) fn reported_status(json: &[u8]) -> Option<ReportedStatus> {
    let visitor_status: VisitorStatus = serde_json::from_slice(json).ok()?;
    let session = visitor_status.session.map_or(0, ReportedStatus::session_prefix);
    let poll_after_ms = u32::try_from(visitor_status.poll_after.max(1).saturating_mul(1000)).unwrap_or(RETRY_MAX_MS);
    let event = visitor_status.event.as_ref();
    let unavailable = visitor_status.state == VisitorState::Unavailable;
    Some(ReportedStatus {
        state: visitor_status.state,
        session,
        position: visitor_status.position.map_or(0, |position| u32::try_from(position).unwrap_or(u32::MAX)),
        joined_at: visitor_status.joined_at.unwrap_or(0),
        number: event.and_then(|event| millionths(event.number.as_deref()?)),
        drawing: event.is_some_and(|event| event.phase == Phase::Draw),
        wait: visitor_status.wait_seconds,
        // Without the store, no session is renewed.
        expires_in: visitor_status.expires_in.filter(|_| !unavailable),
        poll_after_ms: poll_after_ms.min(RETRY_MAX_MS),
        is_limited: matches!(visitor_status.join, Some(JoinStep::RetryLater { .. })),
        proof: proof_needed(visitor_status.join.as_ref()),
        skip: None,
    })
}

/// The proof of work that a newcomer needs. It is solved when the newcomer joins.
fn proof_needed(step: Option<&JoinStep>) -> Option<ProofNeeded> {
    let Some(JoinStep::Prove { delayed_after, .. }) = step else { return None };
    let delayed_after_ms = u32::try_from(delayed_after.saturating_mul(1000)).unwrap_or(RETRY_MAX_MS);
    Some(ProofNeeded { solved_after_ms: 0, delayed_after_ms: delayed_after_ms.min(RETRY_MAX_MS) })
}

/// A number of a draw, such as `0.855761`.
fn millionths(number: &str) -> Option<u32> {
    number.strip_prefix("0.").filter(|digits| digits.len() == 6)?.parse().ok()
}

/// `Retry-After`, in milliseconds. Dates are ignored, since the gate does not send them.
pub(super) fn retry_after_ms(headers: &HeaderMap) -> Option<u32> {
    let seconds: u32 = headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(seconds.saturating_mul(1000).min(RETRY_MAX_MS))
}

/// The number of active visitors in a visitor status.
pub(super) fn active(body: &Bytes) -> Option<u64> {
    let at = body.windows(9).position(|window| window == b"\"active\":")?;
    let digits: Vec<u8> = body[at + 9..].iter().copied().take_while(u8::is_ascii_digit).collect();
    String::from_utf8(digits).ok()?.parse().ok()
}

//! What an answer says to a visitor.

use bytes::Bytes;
use http::header::{LOCATION, RETRY_AFTER};
use http::response::Parts;
use http::{HeaderMap, StatusCode};
use vestibule_core::{VisitorState, VisitorStatus};

use crate::visitor::{Heard, Question, ReportedStatus};

/// Longest time that an answer may ask to wait, in milliseconds: an hour.
const RETRY_MAX_MS: u32 = 3_600_000;
/// What the queue page asks again after if its answer says nothing.
const PAGE_ASKS_MS: u32 = 5_000;

/// Whether the visitor holds a ticket, and whether one came with the answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tickets {
    pub(super) held: bool,
    pub(super) came: bool,
}

/// Reads the answer to a question.
pub(super) fn read(question: Question, head: &Parts, body: &Bytes, tickets: Tickets) -> Result<Heard, String> {
    match question {
        Question::Enter | Question::Page => page(head, tickets),
        Question::Poll | Question::Keepalive => visitor_status(head, body),
        Question::Away | Question::Leave if head.status.is_success() => Ok(Heard::Done),
        Question::Away | Question::Leave => Err(head.status.to_string()),
    }
}

/// A page: the queue's, which asks to be loaded again and by no robot, or the site's.
fn page(head: &Parts, tickets: Tickets) -> Result<Heard, String> {
    let headers = &head.headers;
    let of_the_gate = headers.contains_key(RETRY_AFTER)
        && headers.get("x-robots-tag").is_some_and(|value| value.as_bytes() == b"noindex")
        && !headers.contains_key("x-vestibule-session");
    if of_the_gate {
        let ask_after_ms = retry_after_ms(headers).unwrap_or(PAGE_ASKS_MS);
        return Ok(Heard::QueuePage { ask_after_ms, ticket: tickets.came });
    }
    let status = head.status;
    if status.is_redirection() && !tickets.held && !tickets.came {
        let to = headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or("nowhere");
        return Err(format!("{status} to {to}, before any gate was met"));
    }
    if status.is_success() || status.is_redirection() { Ok(Heard::Through) } else { Err(status.to_string()) }
}

fn visitor_status(head: &Parts, body: &Bytes) -> Result<Heard, String> {
    let visitor_status: VisitorStatus = match serde_json::from_slice(body) {
        Ok(visitor_status) => visitor_status,
        Err(_) if head.status == StatusCode::OK => return Err("200 without a visitor_status".to_owned()),
        Err(_) => return Err(head.status.to_string()),
    };
    let session = visitor_status.session.map_or(0, ReportedStatus::first_bytes);
    let poll_after_ms = u32::try_from(visitor_status.poll_after.max(1).saturating_mul(1000)).unwrap_or(RETRY_MAX_MS);
    let unavailable = visitor_status.state == VisitorState::Unavailable;
    Ok(Heard::VisitorStatus(ReportedStatus {
        state: visitor_status.state,
        session,
        position: visitor_status.position.map_or(0, |position| u32::try_from(position).unwrap_or(u32::MAX)),
        joined_at: visitor_status.joined_at.unwrap_or(0),
        wait: visitor_status.wait_seconds,
        // Nobody is kept by a store that can't be asked.
        expires_in: visitor_status.expires_in.filter(|_| !unavailable),
        poll_after_ms: poll_after_ms.max(retry_after_ms(&head.headers).unwrap_or(0)).min(RETRY_MAX_MS),
        stretch: None,
    }))
}

/// `Retry-After` in seconds; dates are left alone, as the gate writes none.
pub(super) fn retry_after_ms(headers: &HeaderMap) -> Option<u32> {
    let seconds: u32 = headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(seconds.saturating_mul(1000).min(RETRY_MAX_MS))
}

/// The active count that a visitor status tells of, which is the gate's own word.
pub(super) fn active(body: &Bytes) -> Option<u64> {
    let at = body.windows(9).position(|window| window == b"\"active\":")?;
    let digits: Vec<u8> = body[at + 9..].iter().copied().take_while(u8::is_ascii_digit).collect();
    String::from_utf8(digits).ok()?.parse().ok()
}

//! Held orders: a request of an active session becomes a job, which a worker sends to the site at its pace (H1 to H12).
//!
//! `store` makes the job, `outcome` waits for it, and `answer` says what the visitor gets.

mod answer;
mod content;
mod order_url;
mod outcome;
mod partly_read_body;
mod store;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use futures_util::StreamExt as _;
use http::{Method, StatusCode};
use tokio::time::{Duration, timeout};
use vestibule_core::jobs::{JobId, JobQueueId, PAYLOAD_MAX};
use vestibule_core::settings::{Hold, OnFailure, hold_of};

use self::answer::{OrderAnswer, answer_order, not_placed};
use self::order_url::job_of_query;
pub(crate) use self::outcome::OrderOutcome;
use self::outcome::{find_order, wait_for_outcome};
use self::partly_read_body::PartlyReadBody;
use self::store::{Stored, store_order};
use crate::answer::{Answer, Reply};
use crate::error::GateError;
use crate::handover::hand_over;
use crate::pass::Slot;
use crate::request::{Credential, RequestInfo};
use crate::response_buffer::ResponseBuffer;
use crate::state::Gate;
use crate::visit::{renew, slot_of};
use crate::visit_result::VisitResult;

/// Maximum time for the body of an order.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a page view waits for the outcome, before the visitor sees a page.
const PAGE_WAIT: Duration = Duration::from_secs(2);
/// How long other requests wait for it.
const OTHER_WAIT: Duration = Duration::from_secs(20);

/// Hands a visitor over who may pass; an order of an active session is held if a rule says so.
pub(crate) async fn hold_or_hand_over(gate: &Gate, info: &RequestInfo, visit: VisitResult, request: Request) -> Answer {
    let queue = visit.queue.clone();
    let hold = info.facts(&gate.clients, |facts| hold_of(&queue.settings.rules, facts));
    let slot = visit.admitted.or_else(|| slot_before_bypass(gate, info, &visit));
    match hold.zip(slot) {
        Some((hold, slot)) => {
            let answer = Box::pin(hold_order(gate, info, visit, slot, hold, request)).await;
            answer.in_place_of_site(&gate.directory, info)
        }
        None => hand_over(gate, info, visit, request).await,
    }
}

/// The slot that the visitor had when the queue began to let everyone pass. An order of its session may still wait, so the same order
/// is not sent beside it.
fn slot_before_bypass(gate: &Gate, info: &RequestInfo, visit: &VisitResult) -> Option<Slot> {
    let ticket = visit.by_mode.then(|| info.ticket(&visit.queue, &gate.tickets)).flatten()?;
    slot_of(&ticket)
}

async fn hold_order(
    gate: &Gate,
    info: &RequestInfo,
    visit: VisitResult,
    slot: Slot,
    hold: Hold<'_>,
    request: Request,
) -> Answer {
    let is_function = ResponseBuffer::of(request.extensions()).is_function();
    let (head, body) = request.into_parts();
    let body = match timeout(BODY_TIMEOUT, read_body(body)).await {
        Ok(OrderBody::Whole(body)) => body,
        // H3: it is forwarded at once.
        Ok(OrderBody::TooLarge(body)) => {
            count_not_held(gate, hold.job_queue, OnFailure::Forward);
            return hand_over(gate, info, visit, Request::from_parts(head, body)).await;
        }
        Ok(OrderBody::Broken) => return Answer::new(visit, Reply::Empty(StatusCode::BAD_REQUEST)),
        Err(_) => return Answer::new(visit, Reply::Empty(StatusCode::REQUEST_TIMEOUT)),
    };
    match store_order(gate, info, &visit, slot, hold.job_queue, &body).await {
        Stored::As(order) => {
            let limit = wait_limit(info, is_function);
            let outcome = wait_for_outcome(gate, &order, limit).await;
            answer_order(info, visit, OrderAnswer { order, outcome, is_submission: true }).await
        }
        Stored::TooMany => not_placed(info, visit, GateError::TooManyJobs),
        Stored::No => {
            count_not_held(gate, hold.job_queue, hold.on_failure);
            match hold.on_failure {
                OnFailure::Forward => hand_over(gate, info, visit, Request::from_parts(head, Body::from(body))).await,
                OnFailure::Refuse => not_placed(info, visit, GateError::OrderNotPlaced),
            }
        }
    }
}

/// Counts an order that is not stored, and what happens to it.
fn count_not_held(gate: &Gate, job_queue: &JobQueueId, action: OnFailure) {
    if let Some(job_queues) = &gate.job_queues {
        job_queues.count_not_held(job_queue, action == OnFailure::Forward);
    }
}

/// H5: how long the request waits for the outcome.
fn wait_limit(info: &RequestInfo, is_function: bool) -> Duration {
    let prefers_async = || info.headers.get_all("prefer").iter().any(|value| prefers_async(value.as_bytes()));
    match () {
        () if prefers_async() => Duration::ZERO,
        () if is_function || info.wants_page() => PAGE_WAIT,
        () => OTHER_WAIT,
    }
}

/// Whether a `Prefer` header has `respond-async` (RFC 7240).
fn prefers_async(value: &[u8]) -> bool {
    let preferences = value.split(|byte| matches!(byte, b',' | b';'));
    preferences.map(<[u8]>::trim_ascii).any(|preference| preference.eq_ignore_ascii_case(b"respond-async"))
}

/// The body of an order.
enum OrderBody {
    Whole(Bytes),
    /// It is too large to be stored. What was read of it comes first.
    TooLarge(Body),
    Broken,
}

async fn read_body(body: Body) -> OrderBody {
    let mut stream = body.into_data_stream();
    let mut read = Vec::new();
    while let Some(chunk) = stream.next().await {
        let Ok(chunk) = chunk else { return OrderBody::Broken };
        read.extend_from_slice(&chunk);
        if read.len() > PAYLOAD_MAX {
            return OrderBody::TooLarge(Body::new(PartlyReadBody::new(read.into(), stream)));
        }
    }
    OrderBody::Whole(read.into())
}

/// Answers a request for what became of an order: the page, or the origin's response (H6). `None` if the address names no order of
/// this visitor.
pub(crate) async fn answer_order_url(gate: &Gate, info: &RequestInfo) -> Option<Answer> {
    let id = job_of_query(info.query.as_deref())?;
    if !matches!(info.method, Method::GET | Method::HEAD) {
        return None;
    }
    Box::pin(answer_order_of(gate, info, id)).await
}

async fn answer_order_of(gate: &Gate, info: &RequestInfo, id: JobId) -> Option<Answer> {
    let (ticket, found) = find_order(gate, info, id).await?;
    // Each load is a visit, so the session stays active. It joins nobody: the order is of this session, even if it has ended.
    let credential = Credential::Ticket(ticket);
    let visit = renew(gate, found.queue, credential).await;
    let answer = OrderAnswer { order: found.order, outcome: found.outcome, is_submission: false };
    Some(answer_order(info, visit, answer).await.in_place_of_site(&gate.directory, info))
}

#[cfg(test)]
mod tests {
    use axum::body::HttpBody as _;
    use futures_util::stream;
    use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Uri};

    use super::*;
    use crate::client_rules::ClientRules;

    #[test]
    fn scripts_wait_longer_than_pages_and_functions() {
        let limit = |headers: &[(&'static str, &'static str)], is_function| {
            let pair = |&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
            let headers: HeaderMap = headers.iter().map(pair).collect();
            let (uri, extensions) = (Uri::from_static("/orders"), Extensions::new());
            let info = RequestInfo::of(&Method::POST, &uri, headers, &extensions, 0, &ClientRules::default());
            wait_limit(&info, is_function).as_secs()
        };
        let page = [("accept", "text/html"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
        let script = [("accept", "application/json")];
        assert_eq!((limit(&page, false), limit(&script, false)), (2, 20));
        assert_eq!((limit(&page, true), limit(&script, true)), (2, 2));
        assert_eq!(limit(&[("accept", "application/json"), ("prefer", "respond-async")], false), 0);
    }

    #[test]
    fn preference_is_found_among_others() {
        for value in ["respond-async", "wait=10, Respond-Async", "return=minimal; respond-async"] {
            assert!(prefers_async(value.as_bytes()), "{value}");
        }
        for value in ["", "respond-asynchronously", "wait=respond-async"] {
            assert!(!prefers_async(value.as_bytes()), "{value}");
        }
    }

    #[tokio::test]
    async fn body_that_is_too_large_stays_complete() {
        let chunks: Vec<Bytes> = (0..5_u8).map(|n| Bytes::from(vec![n; PAYLOAD_MAX / 4])).collect();
        let body = |chunks: &[Bytes]| Body::from_stream(stream::iter(chunks.to_vec()).map(Ok::<_, axum::Error>));
        let OrderBody::Whole(whole) = read_body(body(&chunks[..4])).await else { panic!("not whole") };
        assert_eq!(whole, chunks[..4].concat());
        let OrderBody::TooLarge(large) = read_body(body(&chunks)).await else { panic!("not too large") };
        assert_eq!(axum::body::to_bytes(large, usize::MAX).await.unwrap(), chunks.concat());
    }

    #[tokio::test]
    async fn body_that_is_too_large_keeps_its_length() {
        let size = PAYLOAD_MAX + 1;
        let OrderBody::TooLarge(large) = read_body(Body::from(vec![1; size])).await else { panic!("not too large") };
        assert_eq!(large.size_hint().exact(), Some(size as u64));
        let unknown = Body::from_stream(stream::iter([Ok::<_, axum::Error>(vec![1; size])]));
        let OrderBody::TooLarge(large) = read_body(unknown).await else { panic!("not too large") };
        assert_eq!(large.size_hint().exact(), None);
    }
}

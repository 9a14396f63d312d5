//! `GET /_vestibule/stream?queue=`: server-sent events with the visitor status (rule 18).
//!
//! Opening a stream is a visit. After that it only reads: neither what it sends nor the open connection keeps the session
//! present. It ends while the session is still present, and the browser opens the next one.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use http::{Method, StatusCode};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use vestibule_core::line::{JoinClient, Mode, VisitAnswer};
use vestibule_core::{EventStatus, SessionId, Ticket, TicketOrigin, VisitorState, VisitorStatus};
use vestibule_estimate::WaitRange;
use vestibule_runtime::{Outcome, Queue};
use vestibule_themes::WaitText;

use super::EndpointRequest;
use crate::answer::{Answer, Reply};
use crate::lobby::add_number;
use crate::permits::Permit;
use crate::request::Credential;
use crate::respond::{complete_status, finish, respond};
use crate::state::Gate;
use crate::store_visit::{StoreAnswer, StoreDeadline, visit_store};
use crate::streams::{COMMENT, COMMENT_INTERVAL, LIFETIME_MAX, set_event_stream_headers};
use crate::visit::{renew, shown_status, store_failed};
use crate::visit_intent::VisitIntent;
use crate::visit_result::{VisitResult, decision};
use crate::visitor_status::visitor_status;

/// A stream lasts for this part of the time until its session expires.
const LIFETIME_SHARE: (u32, u32) = (2, 3);
/// After how many milliseconds browsers open the next stream.
const RETRY: std::ops::RangeInclusive<u64> = 500..=1500;
/// The same when the process stops: another one has to take over all streams.
const RETRY_AFTER_DRAIN: std::ops::RangeInclusive<u64> = 500..=15_000;

pub(crate) async fn stream(State(gate): State<Gate>, request: EndpointRequest) -> Response {
    let ticket = request.ticket(&gate);
    let EndpointRequest { info, queue, cors_origin, .. } = request;
    let only_asks = info.method == Method::HEAD || info.is_prefetch();
    let permit = ticket.as_ref().filter(|_| !only_asks).and_then(|_| gate.streams.open(info.origin.address));
    let (Some(ticket), Some(permit)) = (ticket, permit) else {
        let decision = decision(Outcome::Endpoint, &queue, None, None);
        return finish(StatusCode::NO_CONTENT.into_response(), Some(cors_origin), decision);
    };
    let visit = renew(&gate, queue, Credential::Ticket(ticket.clone())).await.with_enter_url(&info);
    if !gets_stream(&visit) {
        let answer = Answer::new(visit, Reply::Empty(StatusCode::NO_CONTENT)).with_cors(cors_origin);
        return respond(&gate, &info, answer).await;
    }
    let mut status = visit.visitor_status.clone();
    let (settings, host) = (&visit.queue.settings, info.host.as_deref());
    complete_status(&mut status, settings, visit.passes, host, || info.languages().tags);
    // The ticket that the browser gets now; without an answer of the store, the one that it has.
    let signed = visit.ticket.as_ref().and_then(|new| gate.tickets.verify(&status.queue, new.token.as_bytes()).ok());
    let stream = VisitorStream {
        draining: gate.streams.draining(),
        queue: visit.queue.clone(),
        is_renewed: signed.is_some(),
        ticket: signed.unwrap_or(ticket),
        shown: Shown::of(&status),
        enter_url: info.enter_url(),
        ends_at: Instant::now() + lifetime(&status, &visit.queue),
        sent_at: Instant::now(),
        is_over: !continues(status.state),
        first: Some(status),
        _permit: permit,
        gate: gate.clone(),
        host: info.host.clone(),
        languages: info.languages().tags.into_iter().map(str::to_owned).collect(),
    };
    let mut response =
        respond(&gate, &info, Answer::new(visit, Reply::Empty(StatusCode::OK)).with_cors(cors_origin)).await;
    *response.body_mut() = stream.into_body();
    set_event_stream_headers(response.headers_mut());
    response
}

/// Whether the visitor has something to wait for, or a turn. Others are answered once, and their pages poll.
fn gets_stream(visit: &VisitResult) -> bool {
    match visit.visitor_status.state {
        VisitorState::Admitted => visit.admitted.is_some(),
        VisitorState::Unavailable => true,
        state => continues(state) && visit.visitor_status.session.is_some(),
    }
}

/// Whether a stream continues in this state.
const fn continues(state: VisitorState) -> bool {
    use VisitorState::{Lobby, Paused, Unavailable, Waiting};
    matches!(state, Waiting | Paused | Lobby | Unavailable)
}

/// How long a stream lasts: less than its session is present without another visit.
fn lifetime(status: &VisitorStatus, queue: &Queue) -> Duration {
    let (share, of) = LIFETIME_SHARE;
    let left = Duration::from_secs(status.expires_in.unwrap_or(queue.settings.line.waiting_ttl));
    (left * share / of).min(LIFETIME_MAX)
}

/// The parts of a status that are sent again when they change.
#[derive(PartialEq)]
struct Shown {
    state: VisitorState,
    position: Option<u64>,
    wait: Option<WaitText>,
    /// Without the time until the start, which pages count down, and with the duration of the draw in place of the time until its
    /// end.
    event: Option<EventStatus>,
    message: Option<String>,
    enter_url: Option<String>,
}

impl Shown {
    fn of(status: &VisitorStatus) -> Self {
        Self {
            state: status.state,
            position: status.position,
            wait: status.wait_seconds.map(WaitText::of),
            event: status.event.clone().map(|event| EventStatus {
                starts_in: 0.0,
                draw_ends_in: event.draw_ends_in.map(|left| (left - event.starts_in).round()),
                ..event
            }),
            message: status.message.clone(),
            enter_url: status.enter_url.clone(),
        }
    }
}

/// An open stream.
struct VisitorStream {
    gate: Gate,
    /// Of the request only what an update depends on: its head may be large.
    host: Option<String>,
    languages: Vec<String>,
    queue: Arc<Queue>,
    /// What the visitor was shown last, so that the position never rises and the wait does not jump.
    ticket: Ticket,
    /// Whether opening it renewed the session; not while the store is unavailable.
    is_renewed: bool,
    /// The status that is sent first.
    first: Option<VisitorStatus>,
    shown: Shown,
    enter_url: String,
    ends_at: Instant,
    sent_at: Instant,
    is_over: bool,
    draining: watch::Receiver<bool>,
    _permit: Permit,
}

impl VisitorStream {
    fn into_body(self) -> Body {
        Body::from_stream(unfold(self, |mut stream| async {
            let sent = stream.next().await?;
            stream.sent_at = Instant::now();
            Some((Ok::<_, Infallible>(sent), stream))
        }))
    }

    /// What is sent next; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(status) = self.first.take() {
            let retry = format!("retry: {}\n\n", jitter(self.ticket.session(), RETRY));
            return Some([retry.into_bytes(), event(&status)].concat().into());
        }
        while !self.is_over {
            let at = self.gate.streams.next_read(self.shown.position);
            tokio::select! {
                _ = self.draining.wait_for(|draining| *draining) => {
                    self.is_over = true;
                    return Some(format!("retry: {}\n\n", jitter(self.ticket.session(), RETRY_AFTER_DRAIN)).into());
                }
                () = sleep_until(at.min(self.ends_at)) => {}
            }
            if Instant::now() >= self.ends_at {
                return None;
            }
            // On the heap, so that a stream takes less memory between two visits.
            if let Some(event) = Box::pin(self.update()).await {
                return Some(event);
            }
            if !self.is_over && self.sent_at.elapsed() >= COMMENT_INTERVAL {
                return Some(COMMENT.into());
            }
        }
        None
    }

    /// A read-only visit. Returns the status if it has changed, and ends the stream if only a visit of the browser can tell
    /// more: the session is not present, or opening the stream did not renew it.
    async fn update(&mut self) -> Option<Bytes> {
        let (gate, ticket) = (&self.gate, Some(&self.ticket));
        // Another request may have loaded changed settings already.
        let Some(queue) = gate.directory.queue(&self.queue.settings.id) else {
            self.is_over = true;
            return None;
        };
        self.queue = queue;
        let answer =
            visit_store(gate, &self.queue, ticket, VisitIntent::READ, JoinClient::default(), &StoreDeadline::of(gate))
                .await;
        let (mut status, estimate) = match answer {
            Ok(StoreAnswer { queue, answer, .. }) => {
                let has_line = answer.mode.accepts_joins() || answer.mode.admits() || answer.mode == Mode::Lobby;
                if !self.is_renewed || (answer.session.is_none() && has_line) {
                    self.is_over = true;
                    return None;
                }
                let (mut status, wait) = visitor_status(&queue.settings, &answer, ticket);
                add_number(gate, &queue.settings, answer.now, ticket, &mut status);
                self.queue = queue;
                (status, Some((answer, wait)))
            }
            Err(error) => {
                gate.warn_store_failure(&self.queue.settings.id, &error, "a stream could not be updated");
                (store_failed(gate, &self.queue, ticket).visitor_status, None)
            }
        };
        let passes = status.state == VisitorState::Admitted;
        status.enter_url = passes.then(|| self.enter_url.clone());
        let languages = || self.languages.iter().map(String::as_str).collect();
        complete_status(&mut status, &self.queue.settings, passes, self.host.as_deref(), languages);
        let shown = Shown::of(&status);
        if shown == self.shown {
            return None;
        }
        self.is_over = !continues(status.state);
        self.shown = shown;
        if let Some((answer, wait)) = estimate {
            self.remember(&answer, &status, wait);
        }
        Some(event(&status).into())
    }

    /// Keeps what the visitor is shown, for the next update.
    fn remember(&mut self, answer: &VisitAnswer, status: &VisitorStatus, wait: Option<WaitRange>) {
        let (tickets, queue, shown) =
            (&self.gate.tickets, &status.queue, shown_status(answer, Some(&self.ticket), status, wait));
        let origin = TicketOrigin {
            event: self.ticket.event(),
            batch: self.ticket.batch(),
            account: self.ticket.account(),
            former: self.ticket.former(),
        };
        let token = tickets.sign(queue, answer, shown, origin);
        if let Some(ticket) = token.and_then(|token| tickets.verify(queue, token.as_bytes()).ok()) {
            self.ticket = ticket;
        }
    }
}

/// The event that brings a status.
fn event(status: &VisitorStatus) -> Vec<u8> {
    let mut event = b"event: status\ndata: ".to_vec();
    // Writing to memory does not fail, and JSON has no line breaks.
    let _ = serde_json::to_writer(&mut event, status);
    event.extend_from_slice(b"\n\n");
    event
}

/// A random number of this range, the same for all streams of a session.
fn jitter(session: SessionId, range: std::ops::RangeInclusive<u64>) -> u64 {
    let random = session.as_bytes().last_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    range.start() + random % (range.end() - range.start() + 1)
}

#[cfg(test)]
mod tests {
    use axum::extract::FromRequestParts as _;
    use futures_util::StreamExt as _;
    use http::Request;
    use serde_json::json;
    use tokio::time::sleep;
    use vestibule_core::line::Visit;
    use vestibule_core::settings::Settings;
    use vestibule_core::store::VisitStore as _;
    use vestibule_core::{KeyList, ManualClock, Micros, PassSigner, SaleKeys, ShownStatus, TicketSigner};
    use vestibule_proxy::{Proxy, ProxyLimits};
    use vestibule_runtime::{ConnectionCounts, CountLimits, Directory};
    use vestibule_store_memory::MemoryStore;
    use vestibule_themes::Themes;

    use super::*;
    use crate::client_rules::ClientRules;
    use crate::permits::Permits;
    use crate::state::GateParts;
    use crate::streams::Streams;

    /// A gate whose store's clock stands still, and the body of a stream of a visitor who waits.
    async fn open_stream(settings: serde_json::Value) -> (Gate, axum::body::BodyDataStream) {
        let mut document = json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 0, "handover": { "kind": "check" },
            "protection": { "pre_ticket_from": "none" },
        });
        document.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        let settings = Settings::from_value(&document).unwrap();
        let store = Arc::new(MemoryStore::new(ManualClock::at(Micros(1_700_000_000_000_000))));
        let directory = Arc::new(Directory::new(store.clone(), Vec::new(), Vec::new()));
        directory.apply(&[], std::slice::from_ref(&settings)).await.unwrap();
        let keys = KeyList::of_bytes("k", [7; 32]);
        let gate = Gate::new(GateParts {
            store: store.clone(),
            directory,
            themes: Themes::built_in(),
            tickets: TicketSigner::new(&keys).unwrap(),
            passes: PassSigner::new(&keys).unwrap(),
            sale_keys: SaleKeys::default(),
            admin_url: None,
            store_timeout: Duration::from_secs(1),
            trusted_proxies: 0,
            clients: ClientRules::default(),
            proxy: Proxy::new(ProxyLimits::default()).unwrap(),
            job_queues: None,
            streams: Streams::new(
                Arc::new(ConnectionCounts::new(CountLimits { streams: 10, ..CountLimits::default() })),
                10,
            ),
            tunnels: Permits::none(),
            stream_url: None,
        });
        let answer = store.visit(&settings.id, Visit::joining(SessionId::random())).await.unwrap();
        let ticket = gate.tickets.sign(&settings.id, &answer, ShownStatus::default(), TicketOrigin::default()).unwrap();
        let request =
            Request::get("/_vestibule/stream").header("host", "a.example").header("x-vestibule-ticket", ticket);
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        let request =
            EndpointRequest::from_request_parts(&mut parts, &gate).await.unwrap_or_else(|error| panic!("{error:?}"));
        let response = stream(State(gate.clone()), request).await;
        assert_eq!(response.status(), StatusCode::OK);
        (gate, response.into_body().into_data_stream())
    }

    #[tokio::test(start_paused = true)]
    async fn quiet_stream_sends_comments_and_ends_in_time() {
        for (waiting_ttl, comments, seconds) in [(60, 2, 40), (3600, 15, 240)] {
            let began = Instant::now();
            let settings = json!({ "waiting_ttl": waiting_ttl, "hold_ttl": 3600, "claim_ttl": 3600 });
            let (_gate, mut stream) = open_stream(settings).await;
            assert!(stream.next().await.unwrap().unwrap().starts_with(b"retry: "));
            let mut count = 0;
            while let Some(sent) = stream.next().await {
                assert_eq!(sent.unwrap(), COMMENT);
                count += 1;
            }
            assert_eq!((count, began.elapsed().as_secs()), (comments, seconds));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn draining_ends_streams_at_once() {
        let (gate, mut stream) = open_stream(json!({})).await;
        stream.next().await.unwrap().unwrap();
        sleep(Duration::from_secs(3)).await;
        assert_eq!(gate.streams.counts().streams.open(), 1);
        gate.streams.drain();
        let drained_at = Instant::now();
        let last = stream.next().await.unwrap().unwrap();
        assert!(last.starts_with(b"retry: ") && last.ends_with(b"\n\n"));
        assert!(stream.next().await.is_none() && drained_at.elapsed() < Duration::from_millis(1));
        assert_eq!(gate.streams.counts().streams.open(), 0);
    }

    #[test]
    fn another_end_of_the_draw_is_a_change() {
        let shown = |beacon: &serde_json::Value, draw_seconds: u64, seconds: u64| {
            let event = json!({
                "id": "sale", "starts_at": "2027-03-04T10:00:00Z", "ends_at": "2027-03-04T14:00:00Z", "order": "draw",
                "draw_seconds": draw_seconds, "beacon": beacon,
            });
            let settings = Settings::from_value(&json!({
                "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 0, "handover": { "kind": "check" },
                "mode": "scheduled", "events": [event],
            }));
            let settings = settings.unwrap();
            let now = Micros(settings.line.events[0].starts_at.micros().0 + seconds * 1_000_137);
            let status = VisitorStatus::new(settings.id.clone(), VisitorState::Lobby, 1);
            Shown::of(&VisitorStatus { event: EventStatus::of(&settings, now, true), ..status })
        };
        let (none, drand) = (serde_json::Value::Null, json!("drand-quicknet"));
        assert!(shown(&none, 60, 1) == shown(&none, 60, 7), "pages count down");
        assert!(shown(&none, 60, 1) != shown(&none, 90, 1), "the draw is longer");
        assert!(shown(&drand, 60, 1) == shown(&drand, 60, 7) && shown(&drand, 60, 7) != shown(&none, 60, 7));
    }

    #[test]
    fn sessions_reconnect_at_different_times() {
        let times: std::collections::BTreeSet<u64> =
            (0..200).map(|_| jitter(SessionId::random(), RETRY_AFTER_DRAIN)).collect();
        assert!(times.len() > 150 && times.iter().all(|time| RETRY_AFTER_DRAIN.contains(time)));
    }
}

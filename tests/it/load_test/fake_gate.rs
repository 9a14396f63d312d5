//! A small gate of the test's own, which may cheat.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::header::{COOKIE, RETRY_AFTER, SET_COOKIE};
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// How a gate cheats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cheat {
    /// Not at all.
    Honest,
    /// Admits this many more than the quota, and does not report it.
    OverAdmits(usize),
    /// Admits the latest arrival first.
    NewestFirst,
    /// Makes every n-th poll a new session, at the end of the line.
    LosesTickets(u64),
    /// Sends every n-th poll to the end of the line, with the same session.
    SendsBack(u64),
    /// Says that it takes a second or two.
    Flatters,
    /// Throws people out of the shop.
    Evicts,
    /// Forgets those whose number this divides.
    Starves(u64),
}

/// A gate with one queue before a shop of one word.
pub(super) struct FakeGate {
    address: String,
    server: JoinHandle<std::io::Result<()>>,
}

struct GateState {
    cheat: Cheat,
    quota: usize,
    visitors: u64,
    polls: u64,
    line: VecDeque<u64>,
    active: Vec<u64>,
    /// Who has which session, and since when.
    names: HashMap<u64, u64>,
}

type Shared = Arc<Mutex<GateState>>;

impl FakeGate {
    pub(super) async fn start(cheat: Cheat, quota: usize) -> Self {
        let state = GateState {
            cheat,
            quota,
            visitors: 0,
            polls: 0,
            line: VecDeque::new(),
            active: Vec::new(),
            names: HashMap::new(),
        };
        let router = Router::new()
            .route("/_vestibule/health", get(StatusCode::OK))
            .route("/_vestibule/status", get(status))
            .route("/_vestibule/keepalive", post(keepalive))
            .route("/_vestibule/away", post(StatusCode::NO_CONTENT))
            .route("/_vestibule/leave", post(leave))
            .fallback(page)
            .with_state(Arc::new(Mutex::new(state)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, server }
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for FakeGate {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl GateState {
    fn joins(&mut self) -> u64 {
        self.visitors += 1;
        self.names.insert(self.visitors, self.visitors);
        self.line.push_back(self.visitors);
        self.advance();
        self.visitors
    }

    fn advance(&mut self) {
        let most = self.quota + if let Cheat::OverAdmits(more) = self.cheat { more } else { 0 };
        while self.active.len() < most {
            let starved = |visitor: &u64| matches!(self.cheat, Cheat::Starves(each) if visitor.is_multiple_of(each));
            let next = match self.cheat {
                Cheat::NewestFirst => self.line.pop_back(),
                _ => self.line.iter().position(|visitor| !starved(visitor)).and_then(|at| self.line.remove(at)),
            };
            let Some(next) = next else { return };
            self.active.push(next);
        }
    }

    fn polls(&mut self, visitor: u64) -> Value {
        self.polls += 1;
        let waits = self.line.contains(&visitor);
        match self.cheat {
            Cheat::LosesTickets(each) if waits && self.polls.is_multiple_of(each) => {
                self.names.insert(visitor, 1_000_000 + self.polls);
                self.send_back(visitor);
            }
            Cheat::SendsBack(each) if waits && self.polls.is_multiple_of(each) => self.send_back(visitor),
            _ => {}
        }
        self.advance();
        self.visitor_status(visitor)
    }

    fn send_back(&mut self, visitor: u64) {
        self.line.retain(|other| *other != visitor);
        self.line.push_back(visitor);
    }

    fn leaves(&mut self, visitor: u64) {
        self.active.retain(|other| *other != visitor);
        self.advance();
    }

    fn visitor_status(&self, visitor: u64) -> Value {
        let is_in = self.active.contains(&visitor);
        let position = self.line.iter().position(|other| *other == visitor).map(|before| before + 1);
        let wait = position.filter(|_| self.cheat == Cheat::Flatters).map(|_| json!({ "p50": 1, "p90": 2 }));
        let session = format!("{:08x}-0000-4000-8000-000000000000", self.names.get(&visitor).unwrap_or(&0));
        json!({
            "queue": "tour", "session": session, "state": if is_in { "admitted" } else { "waiting" },
            "position": position, "waiting": self.line.len(), "active": self.active.len().min(self.quota),
            "wait_seconds": wait, "joined_at": 1_700_000_000 + visitor, "expires_in": 60, "poll_after": 1,
            "enter_url": null, "revision": 1,
        })
    }
}

fn lock(state: &Shared) -> parking_lot::MutexGuard<'_, GateState> {
    state.lock()
}

fn visitor_of(headers: &HeaderMap) -> Option<u64> {
    let cookies = headers.get(COOKIE)?.to_str().ok()?;
    cookies.split("; ").find_map(|cookie| cookie.strip_prefix("vestibule_tour=")?.parse().ok())
}

async fn page(State(state): State<Shared>, headers: HeaderMap) -> Response {
    let mut state = lock(&state);
    let visitor = visitor_of(&headers).unwrap_or_else(|| state.joins());
    let cookie = [(SET_COOKIE, format!("vestibule_tour={visitor}; Path=/"))];
    if state.active.contains(&visitor) {
        return (cookie, Html("the shop")).into_response();
    }
    let wait = [(RETRY_AFTER, "1"), (http::HeaderName::from_static("x-robots-tag"), "noindex")];
    (cookie, wait, Html("the line")).into_response()
}

async fn status(State(state): State<Shared>, headers: HeaderMap) -> Response {
    // Who is nobody yet only asks whether there is such a queue.
    let Some(visitor) = visitor_of(&headers) else { return Json(json!({})).into_response() };
    Json(lock(&state).polls(visitor)).into_response()
}

async fn keepalive(State(state): State<Shared>, headers: HeaderMap) -> Response {
    let Some(visitor) = visitor_of(&headers) else { return StatusCode::BAD_REQUEST.into_response() };
    let mut state = lock(&state);
    if state.cheat == Cheat::Evicts && visitor.is_multiple_of(3) {
        state.leaves(visitor);
    }
    Json(state.visitor_status(visitor)).into_response()
}

async fn leave(State(state): State<Shared>, headers: HeaderMap) -> StatusCode {
    if let Some(visitor) = visitor_of(&headers) {
        lock(&state).leaves(visitor);
    }
    StatusCode::NO_CONTENT
}

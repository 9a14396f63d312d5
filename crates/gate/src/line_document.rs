//! The line documents of this process: one build at a time per queue, and at most one a second.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use vestibule_core::fields::Field as _;
use vestibule_core::line::{CurrentPhase, LineView, Phase, Stats};
use vestibule_core::settings::{BeaconRound, Event, EventOrder, HOST_GAP, OperatorMessage, Settings};
use vestibule_core::{EventId, Hex32, MICROS_PER_SECOND, Micros, QueueId, SaleKeys, WaitSeconds};
use vestibule_estimate::newcomer_wait;
use vestibule_freeze::FreezeAwareInstant;
use vestibule_runtime::Queue;

/// How long a line that was read, or could not be read, is used.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Seconds after which a client should ask again.
const POLL_AFTER: u64 = 5;

/// A line document, ready to be sent.
#[derive(Clone)]
pub(crate) struct LineDocument {
    pub(crate) body: Bytes,
    /// Weak, since the body may be sent compressed.
    pub(crate) etag: String,
}

/// The line documents of all queues.
#[derive(Default)]
pub(crate) struct LineDocuments(Mutex<HashMap<QueueId, Arc<tokio::sync::Mutex<Slot>>>>);

#[derive(Default)]
struct Slot {
    read_at: Option<FreezeAwareInstant>,
    /// The line with the settings that it followed; `None` if it could not be read.
    view: Option<(Arc<Queue>, LineView)>,
    /// The document with the host in it, if names contain the host.
    document: Option<(String, LineDocument)>,
}

impl LineDocuments {
    /// The document of this queue. `read` reads the line from the store if the last time is a second ago; requests that
    /// come meanwhile wait for it. `None` if the line could not be read.
    pub(crate) async fn get(
        &self,
        queue: &QueueId,
        host: &str,
        keys: &SaleKeys,
        read: impl Future<Output = Option<(Arc<Queue>, LineView)>>,
    ) -> Option<LineDocument> {
        let slot = self.slot(queue);
        let mut slot = slot.lock().await;
        if slot.read_at.is_none_or(|at| at.elapsed() >= READ_AGAIN_AFTER) {
            let view = read.await;
            *slot = Slot { read_at: Some(FreezeAwareInstant::now()), view, document: None };
        }
        let slot = &mut *slot;
        let (queue, view) = slot.view.as_ref()?;
        let settings = &queue.settings;
        let events = settings.line.events.iter().filter_map(|event| event.name.as_deref());
        let names_host = events.chain([&*settings.name]).any(|name| name.contains(HOST_GAP));
        let host = if names_host { host } else { "" };
        let known = slot.document.as_ref().filter(|(of, _)| of == host).map(|(_, document)| document.clone());
        if known.is_some() {
            return known;
        }
        let document = render(settings, host, view, keys)?;
        slot.document = Some((host.to_owned(), document.clone()));
        Some(document)
    }

    fn slot(&self, queue: &QueueId) -> Arc<tokio::sync::Mutex<Slot>> {
        let mut slots = self.0.lock();
        if let Some(slot) = slots.get(queue) {
            return slot.clone();
        }
        slots.entry(queue.clone()).or_default().clone()
    }
}

/// The JSON of a line document. Times are in seconds since 1970 by the store's clock, arrivals in microseconds.
#[derive(Serialize)]
struct Body<'a> {
    queue: &'a QueueId,
    name: String,
    at: f64,
    epoch: u64,
    revision: u64,
    state_since: u64,
    mode: &'static str,
    phase: Option<Phase>,
    recovering: bool,
    waiting: u64,
    active: u64,
    joined: u64,
    admitted: u64,
    /// `null` while the pace is unknown.
    admitted_per_minute: Option<f64>,
    wait_seconds: Option<WaitSeconds>,
    front: Option<Front>,
    last: Option<Last>,
    checkpoints: Vec<(u64, Micros)>,
    /// The current event of a scheduled queue, or the next one.
    event: Option<LineEvent>,
    /// The last event with a draw whose lobby has opened; `null` if it is `event`.
    last_draw: Option<LineEvent>,
    message: Option<Value>,
    poll_after: u64,
}

/// An event of the queue.
#[derive(Serialize)]
struct LineEvent {
    id: EventId,
    name: String,
    /// `null` for an event that the queue does not follow now.
    phase: Option<Phase>,
    order: EventOrder,
    lobby_at: u64,
    starts_at: u64,
    ends_at: u64,
    starts_in: f64,
    /// When the draw took place; `null` before.
    drawn_at: Option<u64>,
    /// `null` for an event in order of arrival, and while the value of the beacon is missing.
    draw_ends_in: Option<f64>,
    /// Lobby tickets that were issued; `null` for an event in order of arrival, and for one that the queue does not follow now.
    lobby_tickets: Option<u64>,
    /// `null` for an event in order of arrival, before the lobby opens, and at a gate without the sale key.
    draw: Option<LineDraw>,
}

impl LineEvent {
    /// The current event of a scheduled queue or the next one, and the last event with a draw whose lobby has opened if that is
    /// another one: anyone can check its draw whatever the queue does since.
    fn current_and_last_draw(
        settings: &Settings,
        stats: &Stats,
        named: impl Fn(&str) -> String,
        keys: &SaleKeys,
    ) -> (Option<Self>, Option<Self>) {
        let current = settings.line.phase(stats.now, stats.may_wait());
        let followed = current.and_then(|CurrentPhase { phase, event }| Some((event?, phase)));
        let has_opened = |event: &&Event| event.lobby_at().micros() <= stats.now;
        let mut drawn =
            settings.line.events.planned().filter(|event| event.order == EventOrder::Draw && has_opened(event));
        let last_draw = drawn.rfind(|event| followed.is_none_or(|(followed, _)| followed.id != event.id));
        let of = |event: &Event, phase| Self::of(settings, event, phase, stats, &named, keys);
        (followed.map(|(event, phase)| of(event, Some(phase))), last_draw.map(|event| of(event, None)))
    }

    fn of(
        settings: &Settings,
        event: &Event,
        phase: Option<Phase>,
        stats: &Stats,
        named: impl Fn(&str) -> String,
        keys: &SaleKeys,
    ) -> Self {
        let (now, order) = (stats.now, event.order);
        let drawn_at = event.drawn_at().filter(|drawn_at| *drawn_at <= now);
        Self {
            id: event.id.clone(),
            name: named(event.name.as_deref().unwrap_or(&settings.name)),
            phase,
            order,
            lobby_at: event.lobby_at().seconds(),
            starts_at: event.starts_at.seconds(),
            ends_at: event.ends_at.seconds(),
            starts_in: event.starts_in(now),
            drawn_at: drawn_at.map(Micros::seconds),
            draw_ends_in: event.draw_ends_in(now),
            lobby_tickets: (phase.is_some() && order == EventOrder::Draw).then_some(stats.lobby_tickets),
            draw: LineDraw::of(settings, event, now, keys).filter(|_| phase != Some(Phase::Idle)),
        }
    }
}

/// A draw, so that anyone can check it: the commitment before, secret and seed afterwards.
#[derive(Serialize)]
struct LineDraw {
    key: String,
    salt: String,
    commitment: Hex32,
    /// `null` for a draw without a beacon.
    beacon: Option<LineBeacon>,
    secret: Option<Hex32>,
    seed: Option<Hex32>,
}

impl LineDraw {
    fn of(settings: &Settings, event: &Event, now: Micros, keys: &SaleKeys) -> Option<Self> {
        let commitment = keys.commitment(&settings.id, event)?;
        let is_drawn = event.drawn_at().is_some_and(|drawn_at| drawn_at <= now);
        let draw = keys.draw(&settings.id, event).filter(|_| is_drawn);
        Some(Self {
            key: event.key.clone().unwrap_or_default(),
            salt: event.salt.clone().unwrap_or_default(),
            commitment,
            beacon: LineBeacon::of(event),
            secret: draw.map(|draw| draw.secret()),
            seed: draw.map(|draw| draw.seed()),
        })
    }
}

/// The beacon of a draw: the round that is named in advance, and its value once it is recorded.
#[derive(Serialize)]
struct LineBeacon {
    chain: &'static str,
    round: u64,
    /// When the round is published.
    at: u64,
    randomness: Option<Hex32>,
    signature: Option<String>,
}

impl LineBeacon {
    fn of(event: &Event) -> Option<Self> {
        let BeaconRound { beacon, round, published_at } = event.beacon_round()?;
        let value = event.beacon_value.as_ref();
        Some(Self {
            chain: beacon.chain(),
            round,
            at: published_at.seconds(),
            randomness: value.map(|value| value.randomness),
            signature: value.map(|value| value.signature.clone()),
        })
    }
}

/// The next session to be admitted.
#[derive(Serialize)]
struct Front {
    arrival: Micros,
    /// `null` for a drawn session, whose arrival is an order and not a time.
    joined_at: Option<u64>,
    /// The number of a drawn session.
    number: Option<String>,
}

impl Front {
    fn of(settings: &Settings, view: &LineView, keys: &SaleKeys) -> Option<Self> {
        let (arrival, session) = (view.checkpoints.first()?.arrival, view.front?);
        let number = keys.number(settings, session, arrival).map(|number| number.to_string());
        let joined_at = number.is_none().then_some(arrival.0 / MICROS_PER_SECOND);
        Some(Self { arrival, joined_at, number })
    }
}

/// The last session in line.
#[derive(Serialize)]
struct Last {
    arrival: Micros,
}

fn render(settings: &Settings, host: &str, view: &LineView, keys: &SaleKeys) -> Option<LineDocument> {
    let LineView { stats, checkpoints, .. } = view;
    let named = |name: &str| name.replace(HOST_GAP, host);
    let seen = stats.pace.observed(stats.now);
    let (event, last_draw) = LineEvent::current_and_last_draw(settings, stats, named, keys);
    let body = Body {
        queue: &settings.id,
        name: named(&settings.name),
        at: (stats.now.0 / 1000) as f64 / 1000.0,
        epoch: stats.rules.epoch,
        revision: stats.rules.revision,
        state_since: stats.state_since.seconds(),
        mode: stats.mode.as_str(),
        phase: stats.phase,
        recovering: stats.recovering,
        waiting: stats.waiting,
        active: stats.active,
        joined: stats.counters.joined,
        admitted: stats.counters.admitted + stats.counters.released,
        admitted_per_minute: (seen.seconds > 0.0)
            .then(|| (seen.admissions / seen.seconds.max(1.0) * 600.0).round() / 10.0),
        wait_seconds: newcomer_wait(stats),
        front: Front::of(settings, view, keys),
        last: checkpoints.last().map(|it| Last { arrival: it.arrival }),
        checkpoints: checkpoints.iter().map(|it| (it.rank, it.arrival)).collect(),
        event,
        last_draw,
        message: settings.message.as_ref().map(OperatorMessage::to_json),
        poll_after: POLL_AFTER,
    };
    let body = serde_json::to_vec(&body).ok()?;
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    Some(LineDocument { etag: format!("W/\"{:016x}\"", hasher.finish()), body: body.into() })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use serde_json::json;
    use tokio::task::JoinSet;
    use tokio::time::{advance, sleep};
    use vestibule_core::line::{Line, LineRules, Mode};

    use super::*;

    fn settings(name: &str) -> Settings {
        Settings::from_value(&json!({
            "id": "tour", "tenant": "acme", "name": name, "hosts": ["*"], "quota": 1, "handover": { "kind": "check" },
            "message": { "default": "Sold out." },
        }))
        .unwrap()
    }

    /// A line of this queue.
    fn view_of(settings: Settings) -> (Arc<Queue>, LineView) {
        let rules = LineRules { mode: Mode::Open, quota: 1, ..LineRules::default() };
        let view = Line::new(rules, Micros(1_000_000), false).view(Micros(2_000_000));
        (Arc::new(Queue { settings, tenant: None, ticket_cookies: Default::default() }), view)
    }

    fn view() -> (Arc<Queue>, LineView) {
        view_of(settings("Tour"))
    }

    /// How often a line was read by a hundred requests at once, and how many of them got a document.
    async fn ask(documents: &Arc<LineDocuments>, view: Option<(Arc<Queue>, LineView)>) -> (u64, u64) {
        let reads = Arc::new(AtomicU64::new(0));
        let mut requests = JoinSet::new();
        for _ in 0..100 {
            let (documents, reads, view) = (documents.clone(), reads.clone(), view.clone());
            requests.spawn(async move {
                let read = async {
                    reads.fetch_add(1, Ordering::Relaxed);
                    sleep(Duration::from_millis(100)).await;
                    view
                };
                documents.get(&"tour".parse().unwrap(), "a.example", &SaleKeys::default(), read).await.is_some()
            });
        }
        let got = requests.join_all().await.into_iter().filter(|got| *got).count();
        (reads.load(Ordering::Relaxed), got as u64)
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_is_read_once_a_second() {
        let documents = Arc::new(LineDocuments::default());
        assert_eq!(ask(&documents, Some(view())).await, (1, 100));
        advance(Duration::from_millis(900)).await;
        assert_eq!(ask(&documents, Some(view())).await, (0, 100));
        advance(Duration::from_millis(100)).await;
        assert_eq!(ask(&documents, Some(view())).await, (1, 100));
    }

    /// The monotonic clock stands still in a frozen process.
    #[tokio::test(start_paused = true)]
    async fn a_line_is_read_again_after_a_freeze() {
        let documents = Arc::new(LineDocuments::default());
        assert_eq!(ask(&documents, Some(view())).await, (1, 100));
        std::thread::sleep(READ_AGAIN_AFTER);
        assert_eq!(ask(&documents, Some(view())).await, (1, 100));
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_fails_is_asked_once_a_second() {
        let documents = Arc::new(LineDocuments::default());
        assert_eq!(ask(&documents, None).await, (1, 0));
        advance(Duration::from_millis(999)).await;
        assert_eq!(ask(&documents, Some(view())).await, (0, 0));
        advance(Duration::from_millis(1)).await;
        assert_eq!(ask(&documents, Some(view())).await, (1, 100));
    }

    #[tokio::test]
    async fn the_name_may_depend_on_the_host() {
        let (documents, settings) = (LineDocuments::default(), settings(HOST_GAP));
        for host in ["a.example", "b.example"] {
            let document = documents
                .get(&settings.id, host, &SaleKeys::default(), async { Some(view_of(settings.clone())) })
                .await
                .unwrap();
            let body: Value = serde_json::from_slice(&document.body).unwrap();
            assert_eq!(body["name"], host);
            assert_eq!(body["message"], json!({ "default": "Sold out." }));
        }
    }
}

//! What on-sales add to a visit: the lobby, drawn tickets, refused newcomers, scheduled queues, the line document. Each figure
//! is CPU of the server, beside the figure of the same run that it is compared with.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use vestibule_core::line::{Visit, VisitKind};
use vestibule_core::settings::Settings;
use vestibule_core::store::{OperationsStore as _, SettingsStore as _, VisitStore as _};
use vestibule_core::{
    Clock as _, Draw, KeyList, LobbyTicket, Micros, PutMode, QueueId, SaleKeys, SessionId, ShownStatus, SystemClock,
    Ticket, TicketOrigin, Timestamp,
};

use crate::{IN_FLIGHT, SAMPLE, StoreFixture, Work, settings};

/// Seconds until the start while visitors come to the lobby; then the event is moved.
const STARTS_IN: u64 = 3_000;
/// Seconds from the lobby's opening to the start.
const LOBBY: u64 = 3_600;
/// How often the line document is built for its figure.
const DOCUMENTS: usize = 200;
/// Median wait that a ticket of a visitor far from the front states, in milliseconds.
const SHOWN_WAIT_MS: u64 = 3_600_000;

fn sale(starts_at: u64) -> Value {
    let at = |seconds: u64| Timestamp::of(Micros(seconds * 1_000_000)).to_string();
    json!({
        "mode": "scheduled",
        "events": [{
            "id": "sale", "lobby_at": at(starts_at - LOBBY), "starts_at": at(starts_at), "ends_at": at(starts_at + 36_000),
            "order": "draw", "draw_seconds": 600, "salt": "a", "key": "s1",
        }],
    })
}

fn row(waiting: usize, what: &str, work: &Work, other: &str, beside: f64) {
    println!("| {waiting} | {what} | {:.1} | {other} | {beside:.1} | {:.2} |", work.cpu_us, work.cpu_us / beside);
}

/// A line of visitors who were all drawn.
struct DrawnLine<'a> {
    fixture: &'a StoreFixture,
    settings: Settings,
    draw: Draw,
    drawn_at: Micros,
}

impl<'a> DrawnLine<'a> {
    /// An event whose draw takes place in this many seconds.
    async fn open(fixture: &'a StoreFixture, starts_in: u64) -> Self {
        let settings = settings("sale", &sale(SystemClock::new().now().seconds() + starts_in));
        fixture.store.put_settings(&settings, PutMode::Always).await.unwrap();
        let event = &settings.line.events[0];
        let draw = SaleKeys::new(&KeyList::of_bytes("s1", [7; 32])).unwrap().draw(&settings.id, event).unwrap();
        let drawn_at = event.drawn_at().unwrap();
        Self { fixture, settings, draw, drawn_at }
    }

    fn queue(&self) -> &QueueId {
        &self.settings.id
    }

    async fn enter_lobby(&self, count: usize) -> Vec<LobbyTicket> {
        let signer = &self.fixture.signer;
        let visits = stream::iter(0..count).map(|_| async {
            let visit = Visit::joining(SessionId::random());
            let answer = self.fixture.store.visit(self.queue(), visit.clone()).await.unwrap();
            let entry = answer.lobby_entry(&visit).unwrap();
            let token = signer.sign_lobby(self.queue(), &"sale".parse().unwrap(), &entry).unwrap();
            signer.verify_lobby(self.queue(), token.as_bytes()).unwrap()
        });
        visits.buffered(IN_FLIGHT).collect().await
    }

    async fn until_the_start(&self) {
        let reads = async || self.fixture.store.visit(self.queue(), Visit::default()).await.unwrap();
        while reads().await.mode == vestibule_core::line::Mode::Lobby {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Presents lobby tickets after the draw. Returns the tickets in line.
    async fn convert(&self, lobby: &[LobbyTicket]) -> Vec<Ticket> {
        let visits = stream::iter(lobby).map(|ticket| async {
            let visit = Visit::keeping(ticket.drawn(&self.draw, self.drawn_at, 0));
            let answer = self.fixture.store.visit(self.queue(), visit).await.unwrap();
            assert_eq!(answer.kind, VisitKind::Restored);
            self.fixture.ticket_of(self.queue(), &answer)
        });
        visits.buffered(IN_FLIGHT).collect().await
    }
}

impl StoreFixture {
    /// The same tickets as those of visitors who were shown a wait.
    async fn with_waits(&self, tickets: &[Ticket]) -> Vec<Ticket> {
        let visits = stream::iter(tickets.to_vec()).map(|ticket| async {
            let answer = self.store.visit(&self.queue, Visit::keeping(ticket)).await.unwrap();
            let session = answer.session.unwrap();
            let shown = ShownStatus {
                position: Some(session.position),
                wait_ms: Some(SHOWN_WAIT_MS),
                ..ShownStatus::default()
            };
            let signed = self.signer.sign(&self.queue, &answer, shown, TicketOrigin::default());
            self.signer.verify(&self.queue, signed.unwrap().as_bytes()).unwrap()
        });
        visits.buffered(IN_FLIGHT).collect().await
    }
}

/// Prints the rows of a line that is so long. `tickets` are a sample of the visitors of the fixture's queue.
pub(crate) async fn rows(bench: &StoreFixture, waiting: usize, tickets: &[Ticket]) {
    let cycled = |tickets: &[Ticket]| tickets.iter().cycle().take(SAMPLE).cloned().collect::<Vec<_>>();
    let with_waits = cycled(&bench.with_waits(tickets).await);
    let without = cycled(tickets);
    let (poll, _) = bench.work(bench.poll(&bench.store, &bench.queue, &without), SAMPLE).await;
    let (sparse, _) = bench.work(bench.poll(&bench.store, &bench.queue, &with_waits), SAMPLE).await;
    row(waiting, "poll of a visitor who was shown a wait", &sparse, "poll without", poll.cpu_us);

    let (document, ()) = bench.work(bench.documents(), DOCUMENTS).await;
    row(waiting, "line document", &document, "64 polls", poll.cpu_us * IN_FLIGHT as f64);

    let line = DrawnLine::open(bench, STARTS_IN).await;
    let before = bench.used_memory().await;
    let (lobby, tickets) = bench.work(line.enter_lobby(waiting + SAMPLE), waiting + SAMPLE).await;
    let memory = (bench.used_memory().await - before) / (waiting + SAMPLE) as f64;
    println!("| {waiting} | memory of a lobby visit | {memory:.2} bytes | | | |");
    let line = DrawnLine::open(bench, 1).await;
    line.until_the_start().await;
    line.convert(&tickets[..waiting]).await;
    let (returned, drawn) = bench.work(line.convert(&tickets[waiting..]), SAMPLE).await;
    // Twice: the first poll of each counts it and moves its expiry.
    let drawn = bench.poll(&bench.store, line.queue(), &drawn).await;
    let (scheduled, drawn) = bench.work(bench.poll(&bench.store, line.queue(), &drawn), SAMPLE).await;
    // The same line under another mode: nothing but the schedule differs.
    let open = settings("sale", &json!({}));
    bench.store.put_settings(&open, PutMode::Always).await.unwrap();
    let (without, _) = bench.work(bench.poll(&bench.store, line.queue(), &drawn), SAMPLE).await;
    row(waiting, "poll of a scheduled queue", &scheduled, "poll of the same line, unscheduled", without.cpu_us);
    let (join, _) = bench.work(bench.join(line.queue(), SAMPLE), SAMPLE).await;
    row(waiting, "lobby join", &lobby, "join", join.cpu_us);
    row(waiting, "return of a drawn ticket", &returned, "join", join.cpu_us);

    let full = settings(bench.queue.as_str(), &json!({ "max_waiting": 1 }));
    bench.store.put_settings(&full, PutMode::Always).await.unwrap();
    let (refused, ()) = bench.work(bench.refused(), SAMPLE).await;
    row(waiting, "join refused by max_waiting", &refused, "join", join.cpu_us);
}

impl StoreFixture {
    async fn documents(&self) {
        for _ in 0..DOCUMENTS {
            self.store.line(&self.queue).await.unwrap();
        }
    }

    async fn refused(&self) {
        let visits = stream::iter(0..SAMPLE).map(|_| async {
            let answer = self.store.visit(&self.queue, Visit::joining(SessionId::random())).await.unwrap();
            assert_eq!(answer.kind, VisitKind::Full);
        });
        visits.buffer_unordered(IN_FLIGHT).collect::<()>().await;
    }
}

//! Nobody is admitted in the lobby of an event with a draw or while its order is drawn, whatever the schedule (rules 13 to 15).

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use vestibule_core::line::{Line, LineRules, Mode, Visit, VisitAnswer};
use vestibule_core::settings::{Beacon, Event, Settings, beacon_randomness};
use vestibule_core::{
    Draw, KeyList, LobbyTicket, MICROS_PER_SECOND, Micros, QueueId, SaleKeys, SessionId, ShownStatus, Ticket,
    TicketOrigin, TicketSigner, Timestamp,
};

const SCHEDULES: u64 = 100_000;
/// Random operations in the lobby and in the draw phase of each schedule.
const OPERATIONS: usize = 8;
/// The lobby of every schedule opens within a day from then.
const LOBBY_OPENS: Micros = Micros(1_800_000_000_000_000);

/// A line with an event and the tickets of its visitors.
struct Sale<'a> {
    line: Line,
    event: Event,
    /// `None` if the value of the beacon is never recorded.
    draw: Option<Draw>,
    queue: QueueId,
    signer: &'a TicketSigner,
    lobby: Vec<LobbyTicket>,
    waiting: Vec<Ticket>,
}

impl<'a> Sale<'a> {
    /// A random schedule, of whose rules those in line from before know nothing yet.
    fn random(rng: &mut SmallRng, signer: &'a TicketSigner, sale_keys: &SaleKeys) -> (Self, LineRules) {
        let settings = Settings::from_value(&json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "handover": { "kind": "check" }, "mode": "scheduled",
            "between_events": if rng.random_bool(0.5) { "bypass" } else { "closed" },
            "quota": rng.random_range(1..20), "hold_ttl": rng.random_range(60..100_000),
            "admissions_per_minute": rng.random_bool(0.3).then_some(6_000), "events": [event(rng)],
        }));
        let Settings { id: queue, line: rules, .. } = settings.unwrap();
        let event = rules.events[0].clone();
        let draw = sale_keys.draw(&queue, &event);
        let opens = event.lobby_at().micros();
        let before = LineRules { quota: 0, ..rules.in_mode(Mode::Open) };
        let line = Line::new(before, Micros(opens.0 - MICROS_PER_SECOND), false);
        (Self { line, event, draw, queue, signer, lobby: Vec::new(), waiting: Vec::new() }, rules)
    }

    /// A newcomer, who waits or gets a lobby ticket.
    fn join(&mut self, now: Micros, session: SessionId) {
        let visit = Visit::joining(session);
        let answer = self.line.visit(now, &visit);
        if let Some(entry) = answer.lobby_entry(&visit) {
            let token = self.signer.sign_lobby(&self.queue, &self.event.id, &entry).unwrap();
            self.lobby.push(self.signer.verify_lobby(&self.queue, token.as_bytes()).unwrap());
        }
        self.keep(&answer);
    }

    fn keep(&mut self, answer: &VisitAnswer) {
        if let Some(token) = self.signer.sign(&self.queue, answer, ShownStatus::default(), TicketOrigin::default()) {
            self.waiting.push(self.signer.verify(&self.queue, token.as_bytes()).unwrap());
        }
    }

    /// What visitors, the purge and operators do.
    fn operate(&mut self, now: Micros, rng: &mut SmallRng) {
        match rng.random_range(0..6) {
            0 | 1 => self.join(now, SessionId::from_bytes(rng.random())),
            2 if !self.waiting.is_empty() => {
                let ticket = self.waiting[rng.random_range(0..self.waiting.len())].clone();
                self.line.visit(now, &Visit::keeping(ticket));
            }
            3 if !self.lobby.is_empty() => {
                let ticket = &self.lobby[rng.random_range(0..self.lobby.len())];
                let drawn_at = self.event.drawn_at().filter(|drawn_at| *drawn_at <= now);
                if let Some((draw, drawn_at)) = self.draw.as_ref().zip(drawn_at) {
                    self.line.visit(now, &Visit::keeping(ticket.drawn(draw, drawn_at, 0)));
                }
            }
            4 => {
                let rules = LineRules { quota: rng.random_range(1..1_000), ..self.line.rules().clone() };
                self.line.change_rules(rules, now);
            }
            _ => drop(self.line.purge(now, usize::MAX)),
        }
        if self.line.stats(now).mode == Mode::Draw {
            assert_eq!(self.line.release(now, 5), 0);
        }
    }

    fn admitted(&self) -> (u64, u64) {
        (self.line.active(), self.line.stats(Micros(0)).counters.admitted)
    }
}

/// An event with a draw, half of them with a beacon, whose value is recorded at some time or never.
fn event(rng: &mut SmallRng) -> Value {
    let lobby_at = LOBBY_OPENS.add_seconds(rng.random_range(0..86_400));
    let starts_at = Timestamp::of(lobby_at.add_seconds(rng.random_range(60..=86_400)));
    let draw_seconds = rng.random_range(45..=600);
    let duration = draw_seconds + rng.random_range(60..100_000);
    let mut event = json!({
        "id": "sale", "lobby_at": Timestamp::of(lobby_at).to_string(), "starts_at": starts_at.to_string(),
        "ends_at": Timestamp::of(starts_at.micros().add_seconds(duration)).to_string(),
        "draw_seconds": draw_seconds, "key": "s1", "salt": "a",
    });
    if rng.random_bool(0.5) {
        event["beacon"] = "drand-quicknet".into();
    }
    if event["beacon"].is_string() && rng.random_bool(0.8) {
        let round = Beacon::DrandQuicknet.round_of(starts_at);
        let published_at = Beacon::DrandQuicknet.published_at(round).micros();
        let received_at = published_at.add_seconds(rng.random_range(0..duration - 20));
        event["beacon_value"] = json!({
            "round": round, "signature": "00ff", "randomness": beacon_randomness("00ff").unwrap().to_string(),
            "received_at": Timestamp::of(received_at).to_string(),
        });
    }
    event
}

#[test]
fn nobody_is_admitted_before_the_end_of_the_draw() {
    let signer = TicketSigner::new(&KeyList::of_bytes("k1", [1; 32])).unwrap();
    let sale_keys = SaleKeys::new(&KeyList::of_bytes("s1", [7; 32])).unwrap();
    for seed in 0..SCHEDULES {
        let mut rng = SmallRng::seed_from_u64(seed);
        let (mut sale, rules) = Sale::random(&mut rng, &signer, &sale_keys);
        let (opens, ends) = (sale.event.lobby_at().micros(), sale.event.draw_phase_ends_at().unwrap());
        sale.join(Micros(opens.0 - MICROS_PER_SECOND), SessionId::from_bytes(rng.random()));
        let instants = [opens, sale.event.starts_at.micros()];
        let mut instants: Vec<Micros> = instants
            .into_iter()
            .chain((0..OPERATIONS).map(|_| Micros(rng.random_range(opens.0..ends.0))))
            .chain([Micros(ends.0 - 1)])
            .collect();
        instants.sort_unstable();
        sale.line.change_rules(rules, opens);
        for now in instants {
            sale.operate(now, &mut rng);
            assert_eq!(sale.admitted(), (0, 0), "seed {seed}, {now:?}");
        }
        let last = SessionId::from_bytes(rng.random());
        sale.join(Micros(ends.0 - 1), last);
        sale.line.purge(ends, usize::MAX);
        assert!(sale.line.active() > 0, "seed {seed}: admissions begin with the end of the draw");
    }
}

//! Draws of many visitors: admissions follow the numbers of everyone who is present when they begin, and tickets are worth
//! what the formula says.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;
use vestibule_core::line::{Line, Mode, Visit};
use vestibule_core::settings::{Event, Settings};
use vestibule_core::{Draw, KeyList, LobbyTicket, Micros, QueueId, SaleKeys, SessionId, TicketSigner, Timestamp};

const LOBBY_OPENS: &str = "2027-03-04T09:30:00Z";
const MICROS: u64 = 1_000_000;

struct Sale {
    line: Line,
    event: Event,
    draw: Draw,
    queue: QueueId,
    signer: TicketSigner,
}

impl Sale {
    fn with_draw_of(draw_seconds: u64) -> Self {
        let settings = Settings::from_value(&json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 0, "handover": { "kind": "check" }, "mode": "scheduled",
            "hold_ttl": 3_600,
            "events": [{
                "id": "sale", "starts_at": "2027-03-04T10:00:00Z", "ends_at": "2027-03-04T14:00:00Z",
                "draw_seconds": draw_seconds, "key": "s1", "salt": "a",
            }],
        }));
        let (line, queue) = settings.map(|settings| (settings.line, settings.id)).unwrap();
        let event = line.events[0].clone();
        let draw = SaleKeys::new(&KeyList::of_bytes("s1", [7; 32])).unwrap().draw(&queue, &event).unwrap();
        let opens = LOBBY_OPENS.parse::<Timestamp>().unwrap().micros();
        let signer = TicketSigner::new(&KeyList::of_bytes("k1", [1; 32])).unwrap();
        Self { line: Line::new(line, opens, false), event, draw, queue, signer }
    }

    fn enter_lobby(&mut self, now: Micros, session: SessionId) -> LobbyTicket {
        let visit = Visit::joining(session);
        let entry = self.line.visit(now, &visit).lobby_entry(&visit).unwrap();
        let token = self.signer.sign_lobby(&self.queue, &self.event.id, &entry).unwrap();
        self.signer.verify_lobby(&self.queue, token.as_bytes()).unwrap()
    }

    fn convert(&mut self, now: Micros, ticket: &LobbyTicket) {
        let drawn = ticket.drawn(&self.draw, self.event.drawn_at().unwrap(), 0);
        let answer = self.line.visit(now, &Visit::keeping(drawn));
        assert!(
            answer.session.is_some_and(|session| session.admitted_at.is_none()),
            "nobody is admitted before the end"
        );
    }
}

fn session(rng: &mut SmallRng) -> SessionId {
    SessionId::from_bytes(rng.random())
}

#[test]
fn admissions_follow_the_numbers_of_those_present() {
    for (visitors, draw_seconds) in [(100_000, 30), (20_000, 300)] {
        let mut rng = SmallRng::seed_from_u64(draw_seconds);
        let mut sale = Sale::with_draw_of(draw_seconds);
        let opens = sale.event.lobby_at().micros();
        let starts = sale.event.starts_at.micros();
        let mut lobby: Vec<LobbyTicket> =
            (0..visitors).map(|index| sale.enter_lobby(Micros(opens.0 + index * 15_000), session(&mut rng))).collect();
        assert_eq!(sale.line.stats(Micros(starts.0 - 1)).lobby_tickets, visitors);
        // One in fifty is away. The others ask at a random time, which says nothing about their numbers.
        lobby.retain(|_| rng.random_bool(0.98));
        let mut asks: Vec<(u64, &LobbyTicket)> =
            lobby.iter().map(|ticket| (rng.random_range(0..draw_seconds * MICROS * 2 / 3), ticket)).collect();
        asks.sort_by_key(|(after, _)| *after);
        for (after, ticket) in &asks {
            sale.convert(Micros(starts.0 + after), ticket);
        }
        // They poll until the end of the draw.
        let ends = sale.event.draw_ends_at().unwrap();
        for second in (0..draw_seconds).step_by(20).skip(1) {
            for (_, ticket) in asks.iter().filter(|(after, _)| after / MICROS < second) {
                sale.convert(starts.add_seconds(second), ticket);
            }
        }
        let mut expected: Vec<SessionId> = asks.iter().map(|(_, ticket)| ticket.session()).collect();
        expected.sort_by_key(|session| sale.draw.number(*session));
        let late = session(&mut rng);
        sale.line.visit(Micros(ends.0 - 1), &Visit::joining(late));
        expected.push(late);
        let mut rules = sale.line.rules().clone();
        rules.quota = visitors;
        sale.line.change_rules(rules, Micros(ends.0 - 1));
        assert_eq!((sale.line.active(), sale.line.stats(Micros(ends.0 - 1)).mode), (0, Mode::Draw));
        while sale.line.waiting() > 0 {
            sale.line.purge(ends, usize::MAX);
            let admitted = sale.line.active() as usize;
            assert_eq!(sale.line.view(ends).front, expected.get(admitted).copied(), "after {admitted}");
        }
        assert_eq!(sale.line.active() as usize, expected.len());
    }
}

/// The best position of k of N tickets is N / (k + 1) on average, whether or not their owner knows the commitment.
#[test]
fn many_tickets_buy_only_what_the_formula_says() {
    const ATTACKERS: usize = 40;
    const TICKETS: usize = 20_000;
    let sale = Sale::with_draw_of(30);
    let mut rng = SmallRng::seed_from_u64(4);
    let mut numbers: Vec<(u64, usize)> =
        (0..ATTACKERS * TICKETS).map(|index| (sale.draw.number(session(&mut rng)).0, index % ATTACKERS)).collect();
    numbers.sort_unstable();
    let mut best = [None; ATTACKERS];
    for (position, (_, attacker)) in numbers.iter().enumerate() {
        best[*attacker].get_or_insert(position as f64 + 1.0);
    }
    let best: Vec<f64> = best.into_iter().flatten().collect();
    let mean = best.iter().sum::<f64>() / ATTACKERS as f64;
    let expected = numbers.len() as f64 / (TICKETS as f64 + 1.0);
    let error = expected / (ATTACKERS as f64).sqrt();
    assert!((mean - expected).abs() < 3.0 * error, "{mean}, expected {expected} with an error of {error}");
}

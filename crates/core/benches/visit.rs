//! A visit on the core, by the length of the line: growth must be logarithmic at worst.

#![expect(clippy::unwrap_used, reason = "a benchmark that can't be set up has failed")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use serde_json::json;
use vestibule_core::line::{Line, Visit, VisitAnswer};
use vestibule_core::settings::Settings;
use vestibule_core::{KeyList, Micros, SessionId, ShownStatus, Ticket, TicketOrigin, TicketSigner};

const WAITING: [u64; 3] = [1_000, 100_000, 1_000_000];
const START: Micros = Micros(1_700_000_000_000_000);

fn settings() -> Settings {
    let document = json!({
        "id": "bench", "tenant": "bench", "hosts": ["*"], "quota": 0, "waiting_ttl": 3600, "claim_ttl": 1200,
        "hold_ttl": 3600, "handover": { "kind": "check" },
    });
    Settings::from_value(&document).unwrap()
}

fn join() -> Visit {
    Visit::joining(SessionId::random())
}

struct Bench {
    line: Line,
    signer: TicketSigner,
    settings: Settings,
    /// Visitors from all over the line, who have come back before.
    waiting: Vec<Visit>,
}

impl Bench {
    fn of(waiting: u64) -> Self {
        let settings = settings();
        let mut bench = Self {
            line: Line::new(settings.line.clone(), START, false),
            signer: TicketSigner::new(&KeyList::of_bytes("bench", [7; 32])).unwrap(),
            settings,
            waiting: Vec::new(),
        };
        for number in 0..waiting {
            let answer = bench.line.visit(START, &join());
            if number % (waiting / 1000) == 0 {
                let visit = Visit::keeping(bench.ticket(&answer));
                bench.line.visit(START, &visit);
                bench.waiting.push(visit);
            }
        }
        bench
    }

    fn ticket(&self, answer: &VisitAnswer) -> Ticket {
        let token =
            self.signer.sign(&self.settings.id, answer, ShownStatus::default(), TicketOrigin::default()).unwrap();
        self.signer.verify(&self.settings.id, token.as_bytes()).unwrap()
    }

    /// The time that these visits take. Who joined goes away again, so that the line stays as long as it is.
    fn timed(&mut self, visits: &[Visit]) -> Duration {
        let mut answers = Vec::with_capacity(visits.len());
        let started = instant();
        for visit in visits {
            answers.push(black_box(self.line.visit(START, visit)));
        }
        let taken = started.elapsed();
        for answer in &answers {
            let ticket = self.ticket(answer);
            self.line.away(START, &ticket);
        }
        taken
    }

    /// Times a kind of visit in batches, so that none of them makes the line much longer than it says.
    fn in_batches(&mut self, rounds: u64, mut visits: impl FnMut(&mut Self, u64) -> Vec<Visit>) -> Duration {
        let mut taken = Duration::ZERO;
        let mut left = rounds;
        while left > 0 {
            let batch = left.min(100);
            let visits = visits(self, batch);
            taken += self.timed(&visits);
            left -= batch;
        }
        taken
    }
}

fn joining(count: u64) -> Vec<Visit> {
    (0..count).map(|_| join()).collect()
}

/// The first visit after joining moves the expiry from `claim_ttl` to `waiting_ttl`.
fn moving(bench: &mut Bench, count: u64) -> Vec<Visit> {
    let joined: Vec<VisitAnswer> = joining(count).iter().map(|visit| bench.line.visit(START, visit)).collect();
    joined.iter().map(|answer| Visit::keeping(bench.ticket(answer))).collect()
}

fn visits(criterion: &mut Criterion) {
    for waiting in WAITING {
        let mut bench = Bench::of(waiting);
        let mut group = criterion.benchmark_group("core");
        let polls = std::mem::take(&mut bench.waiting);
        let mut next = (0..polls.len()).cycle();
        group.bench_function(BenchmarkId::new("poll", waiting), |bencher| {
            bencher.iter(|| {
                let visit = &polls[next.next().unwrap_or(0)];
                black_box(bench.line.visit(START, visit))
            });
        });
        group.bench_function(BenchmarkId::new("poll_moving_its_expiry", waiting), |bencher| {
            bencher.iter_custom(|rounds| bench.in_batches(rounds, moving));
        });
        group.bench_function(BenchmarkId::new("first_visit", waiting), |bencher| {
            bencher.iter_custom(|rounds| bench.in_batches(rounds, |_, count| joining(count)));
        });
        group.finish();
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn instant() -> std::time::Instant {
    std::time::Instant::now()
}

criterion_group!(benches, visits);
criterion_main!(benches);

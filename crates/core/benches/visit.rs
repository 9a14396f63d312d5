//! A visit on the core, by the length of the line: growth must be logarithmic at worst.

#![expect(clippy::unwrap_used, reason = "a benchmark that can't be set up has failed")]

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use serde_json::json;
use vestibule_core::line::{Line, Visit};
use vestibule_core::settings::Settings;
use vestibule_core::{KeyList, Micros, SessionId, TicketSigner, VerifiedTicket};

const WAITING: [u64; 3] = [1_000, 100_000, 1_000_000];
const START: Micros = Micros(1_700_000_000_000_000);

fn settings() -> Settings {
    let document = json!({
        "id": "bench", "tenant": "bench", "hosts": ["*"], "quota": 0, "waiting_ttl": 3600, "claim_ttl": 1800,
        "hold_ttl": 3600, "handover": { "kind": "check" },
    });
    Settings::from_value(&document).unwrap()
}

fn join() -> Visit {
    Visit { ticket: None, join: Some(SessionId::random()) }
}

struct Bench {
    line: Line,
    signer: TicketSigner,
    settings: Settings,
    newcomers: Vec<Visit>,
}

impl Bench {
    /// A line of this length. Its last visitors have not come back yet, so their next visit moves their expiry.
    fn of(waiting: u64) -> Self {
        let settings = settings();
        let mut bench = Self {
            line: Line::new(settings.line.clone(), START, false),
            signer: TicketSigner::new(&KeyList::of_bytes("bench", [7; 32])).unwrap(),
            settings,
            newcomers: Vec::new(),
        };
        for _ in 0..waiting {
            bench.join();
        }
        bench
    }

    fn join(&mut self) -> VerifiedTicket {
        let answer = self.line.visit(START, &join());
        let place = answer.place.unwrap();
        let token = self.signer.sign(&self.settings.id, answer.epoch, answer.now, &place, None).unwrap();
        self.signer.verify(&self.settings.id, token.as_bytes()).unwrap()
    }

    fn returning(&mut self) -> Visit {
        Visit { ticket: Some(self.join()), join: None }
    }
}

fn visits(criterion: &mut Criterion) {
    for waiting in WAITING {
        let mut bench = Bench::of(waiting);
        let mut group = criterion.benchmark_group("core");
        let polls: Vec<Visit> = (0..1000).map(|_| bench.returning()).collect();
        for visit in &polls {
            bench.line.visit(START, visit);
        }
        let mut next = (0..polls.len()).cycle();
        group.bench_function(BenchmarkId::new("poll", waiting), |bencher| {
            bencher.iter(|| {
                let visit = &polls[next.next().unwrap_or(0)];
                black_box(bench.line.visit(START, visit))
            });
        });
        group.bench_function(BenchmarkId::new("poll_moving_its_expiry", waiting), |bencher| {
            bencher.iter_custom(|rounds| {
                bench.newcomers = (0..rounds).map(|_| bench.returning()).collect();
                let started = instant();
                for visit in std::mem::take(&mut bench.newcomers) {
                    black_box(bench.line.visit(START, &visit));
                }
                started.elapsed()
            });
        });
        group.bench_function(BenchmarkId::new("first_visit", waiting), |bencher| {
            bencher.iter_batched(join, |visit| black_box(bench.line.visit(START, &visit)), BatchSize::SmallInput);
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

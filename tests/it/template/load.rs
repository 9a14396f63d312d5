//! What one waiting visitor asks of a deployment: measured at the gate, and read from the store's benchmarks.

use serde_json::{Value, json};
use vestibule_core::line::{LineRules, PACE_WINDOW};
use vestibule_core::{MICROS_PER_SECOND, Micros, NEAR_FRONT, poll_after};

use super::stack::text_of;
use crate::gate_fixture::{GateFixture, StoreSetup};

/// Visitors in front: with one slot, the wait behind them is longer than an hour.
const IN_FRONT: usize = 40;
/// Polls that are looked at, over less time than those in front stay for: a multiple of all that the jitter may be.
const POLLS: u64 = 312;
const BETWEEN_POLLS: u64 = 40_003;
/// Seconds between the visits that keep the first two present.
const BETWEEN_VISITS: u64 = 20;

/// Seconds of the window in which a web ACL counts requests, and the end of a wait in which visitors poll most.
pub(crate) const LAST_SECONDS: u64 = 300;

/// Polls of one visitor in the last [`LAST_SECONDS`] of the wait, on average, with the default times and behind the first positions.
pub(crate) fn polls_of_the_last_minutes() -> f64 {
    let rules = LineRules { waiting_ttl: 60, hold_ttl: 600, ..LineRules::default() };
    let mut polls = 0;
    for wait in 0..POLLS {
        let mut left = LAST_SECONDS;
        while left > 0 {
            polls += 1;
            let now = Micros(wait * 7_919 + polls * BETWEEN_POLLS);
            let full = rules.presence_ttl(now, Some(now.add_seconds(left)));
            left = left.saturating_sub(poll_after(Some(NEAR_FRONT + 1), Some(left), full, Some(full), now));
        }
    }
    polls as f64 / POLLS as f64
}

/// How a waiting visitor polls.
pub(crate) struct Polling {
    /// Seconds between two polls, on average.
    pub(crate) interval: f64,
    /// Bytes of the longest answer.
    pub(crate) answer: usize,
}

impl Polling {
    /// Far from the front, with the default times, in a line that was observed for long enough to tell its pace.
    pub(crate) async fn far_from_the_front() -> Self {
        let fixture = GateFixture::open(StoreSetup::memory(), json!({ "quota": 1 })).await;
        let (mut active, mut next) = (fixture.visitor(), fixture.visitor());
        for _ in 0..=PACE_WINDOW / BETWEEN_VISITS {
            for visitor in [&mut active, &mut next] {
                visitor.status(fixture.queue.as_str()).await;
            }
            fixture.setup.clock.advance(BETWEEN_VISITS * MICROS_PER_SECOND);
        }
        Self::behind_others(&fixture, |status| {
            assert!(status["wait_seconds"]["p50"].as_u64().unwrap() >= 3600, "{status}");
        })
        .await
    }

    /// While the queue is paused, when no wait is known.
    pub(crate) async fn paused() -> Self {
        let fixture = GateFixture::open(StoreSetup::memory(), json!({ "quota": 1, "mode": "paused" })).await;
        fixture.visitor().status(fixture.queue.as_str()).await;
        Self::behind_others(&fixture, |status| assert_eq!(status["wait_seconds"], Value::Null)).await
    }

    /// Of a visitor behind one who waits already and others.
    async fn behind_others(fixture: &GateFixture, check: impl Fn(&Value)) -> Self {
        for _ in 1..IN_FRONT {
            fixture.visitor().status(fixture.queue.as_str()).await;
        }
        let mut visitor = fixture.visitor();
        visitor.status(fixture.queue.as_str()).await;
        let (mut seconds, mut answer) = (0, 0);
        for _ in 0..POLLS {
            fixture.setup.clock.advance(BETWEEN_POLLS);
            let poll = visitor.status(fixture.queue.as_str()).await;
            let visitor_status = poll.json();
            assert_eq!(visitor_status["position"], IN_FRONT + 1, "far from the front");
            check(&visitor_status);
            seconds += visitor_status["poll_after"].as_u64().unwrap();
            let head: usize = poll.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
            answer = answer.max("HTTP/1.1 200 OK\r\n\r\n".len() + head + poll.body.len());
        }
        Self { interval: seconds as f64 / POLLS as f64, answer }
    }
}

/// What a visit costs Redis, by docs/internals/benchmarks.md.
pub(crate) struct Visit {
    /// Processor time of a poll, in microseconds; every other one moves its expiry.
    pub(crate) poll: f64,
    /// Of a first visit.
    pub(crate) first: f64,
    /// Memory of a visitor, in bytes.
    pub(crate) memory: f64,
}

/// Columns of the benchmark's table.
const WAITING: &str = "waiting";
const POLL: &str = "poll";
const POLL_ALONE: &str = "*poll, not batched*";
/// The first one moves its expiry.
const POLL_THAT_MOVES: &str = "first poll";
const FIRST: &str = "first visit";
const MEMORY: &str = "memory per visitor";

impl Visit {
    /// By the row of the benchmark's table with no fewer who wait than these, if there is one.
    pub(crate) fn with(waiting: f64) -> Self {
        let text = text_of("docs/internals/benchmarks.md");
        let (_, section) = text.split_once("## A visit on Redis").expect("the benchmark of a visit on Redis");
        let table = section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
        let mut rows =
            table.map(|line| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>()).collect::<Vec<_>>();
        let names = rows.remove(0);
        rows.remove(0);
        let of = |row: &[&str], name: &str| {
            let column = names.iter().position(|it| *it == name).unwrap_or_else(|| panic!("no column {name}"));
            let figure =
                row[column].trim_matches('*').split(['u', '(', 'b']).next().unwrap().replace(',', "").trim().to_owned();
            (figure != "-").then(|| figure.parse::<f64>().unwrap())
        };
        let memory = rows.iter().filter_map(|row| of(row, MEMORY)).fold(0.0, f64::max);
        let row = rows.iter().find(|row| of(row, WAITING) >= Some(waiting)).or(rows.last()).unwrap();
        let figure = |name| of(row, name).unwrap_or_else(|| panic!("no figure for {name}"));
        // A function has one request at a time, and so enters a script for each visit.
        let entering = figure(POLL_ALONE) - figure(POLL);
        let poll = f64::midpoint(figure(POLL), figure(POLL_THAT_MOVES)) + entering;
        Self { poll, first: figure(FIRST) + entering, memory }
    }
}

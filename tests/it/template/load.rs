//! What one waiting visitor asks of a deployment: measured at the gate, and read from the store's benchmarks.

use serde_json::json;

use super::stack::text_of;
use crate::scene::{Keeper, Scene};

/// As many in front as are more than near the front.
const IN_FRONT: usize = 20;
/// Polls that are looked at, over less time than those in front stay for: a multiple of all that the jitter may be.
const POLLS: u64 = 240;
const BETWEEN_POLLS: u64 = 40_001;

/// How a visitor far from the front polls.
pub(crate) struct Polling {
    /// Seconds between two polls, on average.
    pub(crate) interval: f64,
    /// Bytes of the longest answer.
    pub(crate) answer: usize,
}

impl Polling {
    pub(crate) async fn with(waiting_ttl: u64) -> Self {
        let scene = Scene::open(
            Keeper::memory(),
            json!({ "waiting_ttl": waiting_ttl, "claim_ttl": waiting_ttl.div_ceil(3).max(30), "quota": 0 }),
        )
        .await;
        for _ in 0..IN_FRONT {
            scene.visitor().status(scene.queue.as_str()).await;
        }
        let mut visitor = scene.visitor();
        visitor.status(scene.queue.as_str()).await;
        let (mut seconds, mut answer) = (0, 0);
        for _ in 0..POLLS {
            scene.keeper.clock.advance(BETWEEN_POLLS);
            let poll = visitor.status(scene.queue.as_str()).await;
            let standing = poll.json();
            assert_eq!(standing["position"], IN_FRONT + 1, "far from the front");
            seconds += standing["poll_after"].as_u64().unwrap();
            let head: usize = poll.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
            answer = answer.max("HTTP/1.1 200 OK\r\n\r\n".len() + head + poll.body.len());
        }
        Self { interval: seconds as f64 / POLLS as f64, answer }
    }
}

/// What a visit costs Redis, by docs/benchmarks.md.
pub(crate) struct Visit {
    /// Processor time of a poll, in microseconds; every other one moves its expiry.
    pub(crate) poll: f64,
    /// Of a first visit.
    pub(crate) first: f64,
    /// Memory of a visitor, in bytes.
    pub(crate) memory: f64,
}

impl Visit {
    /// By the row of the benchmark's table with no fewer who wait than these, if there is one.
    pub(crate) fn with(waiting: f64) -> Self {
        let text = text_of("docs/benchmarks.md");
        let (_, section) = text.split_once("## A visit on Redis").expect("the benchmark of a visit on Redis");
        let table = section.lines().skip_while(|line| !line.starts_with('|')).skip(2);
        let rows = table.take_while(|line| line.starts_with('|')).map(|line| {
            let cells = line.trim_matches('|').split('|').map(str::trim);
            cells.map(|cell| cell.split(['u', '(', 'b', '-']).next().unwrap().replace(' ', "")).collect::<Vec<_>>()
        });
        let rows: Vec<Vec<f64>> =
            rows.map(|cells| cells.iter().map(|cell| cell.parse().unwrap_or(0.0)).collect()).collect();
        let memory = rows.iter().map(|row| row[5]).fold(0.0, f64::max);
        let row = rows.iter().find(|row| row[0] >= waiting).or(rows.last()).unwrap();
        Self { poll: f64::midpoint(row[2], row[3]), first: row[4], memory }
    }
}

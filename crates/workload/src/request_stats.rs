//! Statistics of requests and responses, in total and per second.

use std::collections::BTreeMap;

use crate::histogram::Histogram;
use crate::sim_time::SimTime;
use crate::visitor::RequestKind;

/// Maximum number of different failures that are counted separately.
const FAILURES_MAX: usize = 40;

/// All statistics.
#[derive(Debug, Default)]
pub struct RequestStats {
    /// Statistics of each second since the start.
    pub seconds: Vec<Second>,
    /// Number of responses by status code.
    pub statuses: BTreeMap<u16, u64>,
    /// Number of failed requests by cause.
    pub failures: BTreeMap<String, u64>,
    /// Latency, indexed by [`RequestKind::ALL`].
    pub latency: [Histogram; RequestKind::ALL.len()],
    /// Delay between the time when a request was due and when it was sent.
    pub send_delay: Histogram,
    /// Number of requests. In virtual time, many of them are counted and not simulated.
    pub requests: f64,
    /// Size of all requests, in bytes.
    pub sent_bytes: u64,
    /// Size of all responses, in bytes. Updates of streams are not included.
    pub received_bytes: u64,
    /// Statistics of the streams.
    pub streams: StreamStats,
}

/// Statistics of the streams.
#[derive(Debug, Default)]
pub struct StreamStats {
    /// Number of streams that are open.
    pub open: u32,
    /// The most that were open at once.
    pub peak_open: u32,
    /// Number of statuses received.
    pub updates: u64,
    /// Number of streams that were opened.
    pub opened: u64,
    /// Number of streams that were opened again after one had ended.
    pub reopened: u64,
    /// Time from the end of a stream to the next one of the same visitor.
    pub reconnect: Histogram,
    /// Time from the admission of a visitor in the store to the update that shows it, at most.
    pub turn_lag: Histogram,
}

impl StreamStats {
    /// Whether any page opened a stream.
    pub const fn were_used(&self) -> bool {
        self.opened > 0
    }
}

/// One second.
#[derive(Debug, Clone, Default)]
pub struct Second {
    /// Requests sent.
    pub requests: f32,
    /// Requests that failed.
    pub failures: u32,
    /// Streams that were opened again.
    pub reconnects: u32,
    /// Maximum number of active visitors that the gate reported.
    pub reported_active: Option<u64>,
    /// Latency of the responses received.
    pub latency: Option<Box<Histogram>>,
}

impl RequestStats {
    /// The second of an instant.
    pub fn second(&mut self, at: SimTime) -> &mut Second {
        let second = at.second();
        if self.seconds.len() <= second {
            self.seconds.resize(second + 1, Second::default());
        }
        &mut self.seconds[second]
    }

    /// Records a request.
    pub fn record_request(&mut self, at: SimTime) {
        self.requests += 1.0;
        self.second(at).requests += 1.0;
    }

    /// Records a response.
    pub fn record_response(&mut self, at: SimTime, kind: RequestKind, status: u16, latency_us: u64) {
        *self.statuses.entry(status).or_default() += 1;
        self.latency[kind.index()].record(latency_us);
        self.second(at).latency.get_or_insert_default().record(latency_us);
    }

    /// Records a failed request.
    pub fn record_failure(&mut self, at: SimTime, cause: &str) {
        let known = self.failures.contains_key(cause) || self.failures.len() < FAILURES_MAX;
        *self.failures.entry(if known { cause } else { "other" }.to_owned()).or_default() += 1;
        self.second(at).failures += 1;
    }

    /// Latency of all requests.
    pub fn total_latency(&self) -> Histogram {
        let mut all = Histogram::default();
        for latency in &self.latency {
            all.merge(latency);
        }
        all
    }

    /// The most frequent cause of failure.
    pub fn main_cause(&self) -> Option<&str> {
        self.failures.iter().max_by_key(|(_, count)| **count).map(|(cause, _)| cause.as_str())
    }

    /// Number of failed requests.
    pub fn failed_requests(&self) -> u64 {
        self.failures.values().sum()
    }
}

//! The open streams of a process (rule 18): how many there may be, when they read the store, and when all of them end.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use vestibule_runtime::{StreamCounts, client_network};

/// Maximum duration of a stream.
pub(crate) const LIFETIME_MAX: Duration = Duration::from_mins(4);
/// Time between two read-only visits of a stream.
const READ_INTERVAL: Duration = Duration::from_millis(750);
/// Positions up to this one are read at that interval, however many streams there are.
const FRONT: u64 = 500;
/// Most read-only visits a second for the streams further back.
const READS_PER_SECOND: f64 = 50_000.0;
/// Maximum time between two read-only visits of a stream.
const READ_INTERVAL_MAX: Duration = Duration::from_secs(10);
/// Read-only visits start on multiples of this time, so that they share calls of the store.
const GRID: Duration = Duration::from_millis(50);

/// A stream that has sent nothing for this long sends a comment or a ping, so that proxies do not close it.
pub(crate) const COMMENT_INTERVAL: Duration = Duration::from_secs(15);
/// A comment of server-sent events.
pub(crate) const COMMENT: &str = ":\n\n";

/// The headers of a response with server-sent events.
pub(crate) fn set_event_stream_headers(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store, no-transform"));
    // nginx sends a response with this header unbuffered.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
}

/// How many streams may be open.
#[derive(Debug, Clone, Copy)]
pub struct StreamLimits {
    /// From all clients; 0 turns streams off.
    pub total: usize,
    /// From one IPv4 address or IPv6 /64 network other than this machine.
    pub per_network: usize,
}

/// The streams of a process; clones share them.
#[derive(Clone)]
pub struct Streams(Arc<Shared>);

struct Shared {
    per_network: usize,
    counts: Arc<StreamCounts>,
    of_network: Mutex<HashMap<IpAddr, usize>>,
    draining: watch::Sender<bool>,
    began: Instant,
}

impl Streams {
    /// No stream is open.
    #[must_use]
    pub fn new(limits: StreamLimits) -> Self {
        Self(Arc::new(Shared {
            per_network: limits.per_network,
            counts: Arc::new(StreamCounts::new(limits.total)),
            of_network: Mutex::default(),
            draining: watch::Sender::new(false),
            began: Instant::now(),
        }))
    }

    /// A process without streams, such as a function.
    #[must_use]
    pub fn off() -> Self {
        Self::new(StreamLimits { total: 0, per_network: 0 })
    }

    /// The counts of these streams.
    #[must_use]
    pub fn counts(&self) -> Arc<StreamCounts> {
        self.0.counts.clone()
    }

    /// Ends all streams, before the process stops. Browsers reopen them over some seconds.
    pub fn drain(&self) {
        self.0.draining.send_replace(true);
    }

    /// Becomes true when the streams have to end.
    pub(crate) fn draining(&self) -> watch::Receiver<bool> {
        self.0.draining.subscribe()
    }

    /// Permits another stream of this client; `None` at a limit.
    pub(crate) fn open(&self, client: Option<IpAddr>) -> Option<StreamPermit> {
        if !self.0.counts.try_open() {
            return None;
        }
        let network = client.and_then(client_network);
        let permit = StreamPermit { streams: self.clone(), network };
        let Some(network) = network else { return Some(permit) };
        let mut networks = self.0.networks();
        let open = networks.entry(network).or_default();
        *open += 1;
        let is_within = *open <= self.0.per_network;
        drop(networks);
        // A permit that is not given gives back what it counted.
        is_within.then_some(permit)
    }

    /// When a stream that shows this position reads next.
    pub(crate) fn next_read(&self, position: Option<u64>) -> Instant {
        let is_far = position.is_some_and(|position| position > FRONT);
        let interval = if is_far { far_interval(self.0.counts.open()) } else { READ_INTERVAL };
        on_grid(self.0.began, Instant::now() + interval)
    }

    /// Counts an update.
    pub(crate) fn updated(&self) {
        self.0.counts.updated();
    }
}

impl Shared {
    fn networks(&self) -> parking_lot::MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.of_network.lock()
    }
}

/// The interval far from the front with this many open streams.
fn far_interval(open: usize) -> Duration {
    Duration::from_secs_f64(open as f64 / READS_PER_SECOND).clamp(READ_INTERVAL, READ_INTERVAL_MAX)
}

/// The next multiple of [`GRID`] since `began`.
fn on_grid(began: Instant, at: Instant) -> Instant {
    let ticks = (at - began).as_micros().div_ceil(GRID.as_micros());
    began + GRID * u32::try_from(ticks).unwrap_or(u32::MAX)
}

/// Counts as an open stream until it is dropped.
pub(crate) struct StreamPermit {
    streams: Streams,
    network: Option<IpAddr>,
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let shared = &self.streams.0;
        shared.counts.ended();
        let Some(network) = self.network else { return };
        let mut networks = shared.networks();
        if let Some(open) = networks.get_mut(&network) {
            *open -= 1;
            if *open == 0 {
                networks.remove(&network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(address: &str) -> Option<IpAddr> {
        address.parse().ok()
    }

    #[tokio::test]
    async fn streams_are_limited_in_all_and_per_network() {
        let streams = Streams::new(StreamLimits { total: 5, per_network: 2 });
        let first = streams.open(client("192.0.2.1")).unwrap();
        let _second = streams.open(client("192.0.2.1")).unwrap();
        assert!(streams.open(client("192.0.2.1")).is_none());
        assert_eq!(streams.counts().open(), 2, "a refused stream is not counted");
        drop(first);
        let _third = streams.open(client("192.0.2.1")).unwrap();
        let _others: Vec<_> = (0..3).map(|_| streams.open(client("127.0.0.1")).unwrap()).collect();
        assert!(streams.open(client("192.0.2.2")).is_none() && streams.open(None).is_none());
        assert!(Streams::off().open(None).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn reads_start_together() {
        let streams = Streams::off();
        tokio::time::advance(Duration::from_millis(33)).await;
        let read = streams.next_read(Some(1));
        assert_eq!(read - streams.0.began, Duration::from_millis(800));
        tokio::time::advance(Duration::from_millis(17)).await;
        assert_eq!(streams.next_read(None), read);
    }

    #[test]
    fn many_streams_read_less_often() {
        let millis = |open| far_interval(open).as_millis();
        assert_eq!([0, 37_500, 100_000, 10_000_000].map(millis), [750, 750, 2000, 10_000]);
    }
}

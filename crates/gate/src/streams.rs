//! The open streams of a process (rule 18): how many there may be, when they read the store, and when all of them end.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};
use tokio::sync::watch;
use tokio::time::Instant;
use vestibule_runtime::{ConnectionCounts, CountLimits};

use crate::permits::{Permit, Permits};

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

/// The streams of a process; clones share them.
#[derive(Clone)]
pub struct Streams(Arc<Shared>);

struct Shared {
    permits: Permits,
    counts: Arc<ConnectionCounts>,
    draining: watch::Sender<bool>,
    began: Instant,
}

impl Streams {
    /// No stream is open. `per_network` may be from one client network, see [`Permits::new`].
    pub fn new(counts: Arc<ConnectionCounts>, per_network: usize) -> Self {
        Self(Arc::new(Shared {
            permits: Permits::new(counts.streams.clone(), per_network),
            counts,
            draining: watch::Sender::new(false),
            began: Instant::now(),
        }))
    }

    /// A process without streams, such as a function.
    pub fn off() -> Self {
        Self::new(Arc::new(ConnectionCounts::new(CountLimits::default())), 0)
    }

    /// The counts of these streams.
    pub fn counts(&self) -> &ConnectionCounts {
        &self.0.counts
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
    pub(crate) fn open(&self, client: Option<IpAddr>) -> Option<Permit> {
        self.0.permits.open(client)
    }

    /// When a stream that shows this position reads next.
    pub(crate) fn next_read(&self, position: Option<u64>) -> Instant {
        let is_far = position.is_some_and(|position| position > FRONT);
        let interval = if is_far { far_interval(self.0.permits.count()) } else { READ_INTERVAL };
        on_grid(self.0.began, Instant::now() + interval)
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

#[cfg(test)]
mod tests {
    use super::*;

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

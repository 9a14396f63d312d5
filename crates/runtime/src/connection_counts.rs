//! Counts of the connections of a process: the listener and the gate keep them, the metrics report them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Maximum numbers of connections, streams and tunnels that may be open.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountLimits {
    /// Connections of visitors, including those that have a stream or a tunnel.
    pub connections: usize,
    /// Streams; 0 if they are off.
    pub streams: usize,
    /// Tunnels, such as those of web sockets.
    pub tunnels: usize,
}

/// The connections of visitors to this process.
#[derive(Debug)]
pub struct ConnectionCounts {
    /// All of them.
    pub connections: Arc<OpenCount>,
    /// Those that have a stream.
    pub streams: Arc<OpenCount>,
    /// Those that have a tunnel.
    pub tunnels: Arc<OpenCount>,
    /// Connections that were refused.
    pub refused: Count,
    /// Connections that were closed for others.
    pub displaced: Count,
}

impl ConnectionCounts {
    /// Nothing is open.
    pub fn new(limits: CountLimits) -> Self {
        let open = |limit| Arc::new(OpenCount::new(limit));
        Self {
            connections: open(limits.connections),
            streams: open(limits.streams),
            tunnels: open(limits.tunnels),
            refused: Count::default(),
            displaced: Count::default(),
        }
    }
}

/// How many are open, and how many may be.
#[derive(Debug)]
pub struct OpenCount {
    limit: usize,
    open: AtomicUsize,
}

impl OpenCount {
    /// None is open, and `limit` may be.
    pub const fn new(limit: usize) -> Self {
        Self { limit, open: AtomicUsize::new(0) }
    }

    /// The most that may be open.
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// How many are open.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Counts one that opens; `false` at the limit.
    #[must_use]
    pub fn try_open(&self) -> bool {
        let (order, below) = (Ordering::Relaxed, |open| (open < self.limit).then_some(open + 1));
        self.open.fetch_update(order, order, below).is_ok()
    }

    /// Counts one that has opened, also beyond the limit.
    pub fn opened(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one that has ended.
    pub fn ended(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A number of events.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Counts an event.
    pub fn increment(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The number so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

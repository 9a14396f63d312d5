//! Counts of the streams of a process: the gate keeps them, the metrics report them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The number of open streams, at most a limit, and of the updates sent.
#[derive(Debug)]
pub struct StreamCounts {
    limit: usize,
    open: AtomicUsize,
    updates: AtomicU64,
}

impl StreamCounts {
    /// No stream is open, and `limit` may be.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { limit, open: AtomicUsize::new(0), updates: AtomicU64::new(0) }
    }

    /// The most streams that may be open; 0 if streams are off.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// The number of open streams.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// The number of updates sent.
    #[must_use]
    pub fn updates(&self) -> u64 {
        self.updates.load(Ordering::Relaxed)
    }

    /// Counts a stream that opens; `false` at the limit.
    pub fn try_open(&self) -> bool {
        let (order, below) = (Ordering::Relaxed, |open| (open < self.limit).then_some(open + 1));
        self.open.fetch_update(order, order, below).is_ok()
    }

    /// Counts a stream that has ended.
    pub fn ended(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts an update.
    pub fn updated(&self) {
        self.updates.fetch_add(1, Ordering::Relaxed);
    }
}

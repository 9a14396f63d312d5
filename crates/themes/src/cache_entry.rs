//! One cached theme, and the refresh of it that may be in progress.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::ThemeError;
use crate::compiled::CompiledTheme;
use crate::refresh::{PreviousResult, RefreshResult, Version};
use crate::source::{FileSet, Listing};

/// How long the first request for a theme waits for it. Then it gets the built-in page, and the refresh continues.
pub const FIRST_LOAD_MAX: Duration = Duration::from_secs(1);
/// Time between two refreshes while nothing is cached.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The cache entry of a theme.
#[derive(Default)]
pub(crate) struct CacheEntry(Mutex<State>);

/// The cached state of a theme.
#[derive(Clone, Default)]
pub(crate) struct CachedTheme {
    /// Its files as last listed: empty if the theme does not exist, `None` before the first refresh.
    pub(crate) files: Option<Arc<FileSet>>,
    /// Its last valid pages.
    pub(crate) pages: Option<Arc<CompiledTheme>>,
}

#[derive(Default)]
struct State {
    cached: CachedTheme,
    /// The version that was last found invalid.
    refused: Option<Version>,
    /// When the next refresh is due.
    next: Option<Instant>,
    in_progress: Option<RefreshInProgress>,
    used: Option<Instant>,
}

/// A refresh in progress. It ends at its timeout at the latest, and its end closes the channel.
#[derive(Clone)]
pub(crate) struct RefreshInProgress {
    ended: watch::Receiver<()>,
    /// Until when requests wait for it.
    patience: Instant,
}

impl RefreshInProgress {
    /// Waits for the end of the refresh, or until the deadline.
    pub(crate) async fn wait(mut self, deadline: Instant) {
        // The refresh never sends a value; only its end closes the channel.
        let _ = timeout_at(deadline.min(self.patience), self.ended.changed()).await;
    }

    fn is_over(&self) -> bool {
        self.ended.has_changed().is_err()
    }
}

impl CacheEntry {
    /// The cached theme.
    pub(crate) fn cached(&self) -> CachedTheme {
        self.state().cached.clone()
    }

    /// The result that a refresh can reuse.
    pub(crate) fn previous(&self) -> PreviousResult {
        let state = self.state();
        PreviousResult { pages: state.cached.pages.clone(), refused: state.refused.clone() }
    }

    /// When it was last used.
    pub(crate) fn used(&self) -> Option<Instant> {
        self.state().used
    }

    /// The refresh in progress, and its end signal if it begins now. Requests wait for every refresh of a `near` source,
    /// otherwise for the first one only.
    pub(crate) fn begin(
        &self,
        now: Instant,
        recheck: Duration,
        near: bool,
    ) -> (Option<RefreshInProgress>, Option<watch::Sender<()>>) {
        let mut state = self.state();
        state.used = Some(now);
        if let Some(in_progress) = state.in_progress.clone().filter(|refresh| !refresh.is_over()) {
            return (Some(in_progress), None);
        }
        if state.next.is_some_and(|next| now < next) {
            return (None, None);
        }
        let (end, ended) = watch::channel(());
        let first = state.next.is_none();
        let patience = if first || near { now + FIRST_LOAD_MAX } else { now };
        state.next = Some(now + recheck);
        state.in_progress = Some(RefreshInProgress { ended, patience });
        (state.in_progress.clone(), Some(end))
    }

    /// Stores the result of a refresh. Returns its errors.
    pub(crate) fn take(&self, found: RefreshResult) -> Vec<ThemeError> {
        let mut state = self.state();
        match found {
            RefreshResult::Missing => {
                state.cached = CachedTheme { files: Some(Arc::default()), pages: None };
                state.refused = None;
            }
            RefreshResult::Unchanged(listing) => state.list(listing),
            RefreshResult::Updated(listing, pages) => {
                state.list(listing);
                state.cached.pages = Some(pages);
                state.refused = None;
            }
            RefreshResult::Invalid(listing, version, faults) => {
                state.list(listing);
                state.refused = Some(version);
                return faults;
            }
        }
        Vec::new()
    }

    /// Retries soon if nothing is cached.
    pub(crate) fn retry_soon(&self, now: Instant) {
        let mut state = self.state();
        if state.cached.files.is_none() {
            state.next = state.next.map(|next| next.min(now + RETRY_AFTER));
        }
    }

    /// No update can be interrupted by a panic, so a poisoned lock is safe to use.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A truncated listing does not replace a complete one.
    fn list(&mut self, listing: Listing) {
        if !listing.cut_off {
            self.cached.files = Some(Arc::new(listing.files));
        } else if self.cached.files.is_none() {
            self.cached.files = Some(Arc::default());
        }
    }
}

//! One cached theme, and the refresh of it that may be in progress.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use vestibule_freeze::FreezeAwareInstant;

use crate::ThemeError;
use crate::compiled::CompiledTheme;
use crate::live::Pointer;
use crate::refresh::{Files, Pages, PreviousResult, RefreshResult, TemplateSet, ThemeContent};

/// How long the first request for a theme waits for it. Then it gets the built-in page, and the refresh continues.
pub(crate) const FIRST_LOAD_MAX: Duration = Duration::from_secs(1);
/// Time between two refreshes while nothing is cached.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The cache entry of a theme.
#[derive(Default)]
pub(crate) struct CacheEntry(Mutex<State>);

/// The cached state of a theme.
#[derive(Clone, Default)]
pub(crate) struct CachedTheme {
    /// Its files as last found; `None` before the first refresh.
    pub(crate) content: Option<Arc<ThemeContent>>,
    /// Its last valid pages.
    pub(crate) pages: Option<Arc<CompiledTheme>>,
}

#[derive(Default)]
struct State {
    cached: CachedTheme,
    /// The record that the files belong to.
    pointer: Option<Pointer>,
    /// The templates that were last found invalid.
    refused: Option<TemplateSet>,
    /// When the next refresh is due.
    next: Option<Due>,
    in_progress: Option<RefreshInProgress>,
    used: Option<Instant>,
}

/// When something is due: so long after an instant.
#[derive(Clone, Copy)]
struct Due {
    since: FreezeAwareInstant,
    after: Duration,
}

impl Due {
    fn after(after: Duration) -> Self {
        Self { since: FreezeAwareInstant::now(), after }
    }

    fn left(&self) -> Duration {
        self.after.saturating_sub(self.since.elapsed())
    }
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
        PreviousResult {
            pointer: state.pointer.clone(),
            pages: state.cached.pages.clone(),
            refused: state.refused.clone(),
        }
    }

    /// When it was last used.
    pub(crate) fn used(&self) -> Option<Instant> {
        self.state().used
    }

    /// The refresh in progress, and its end signal if it begins now. Requests wait for every refresh of a folder, and for
    /// the first one of a bucket.
    pub(crate) fn begin(
        &self,
        now: Instant,
        recheck: Duration,
        is_near: bool,
    ) -> (Option<RefreshInProgress>, Option<watch::Sender<()>>) {
        let mut state = self.state();
        state.used = Some(now);
        if let Some(in_progress) = state.in_progress.clone().filter(|refresh| !refresh.is_over()) {
            return (Some(in_progress), None);
        }
        if state.next.is_some_and(|next| !next.left().is_zero()) {
            return (None, None);
        }
        let (end, ended) = watch::channel(());
        let first = state.next.is_none();
        let patience = if first || is_near { now + FIRST_LOAD_MAX } else { now };
        state.next = Some(Due::after(recheck));
        state.in_progress = Some(RefreshInProgress { ended, patience });
        (state.in_progress.clone(), Some(end))
    }

    /// Stores the result of a refresh. Returns its errors.
    pub(crate) fn take(&self, found: RefreshResult) -> Vec<ThemeError> {
        let RefreshResult::Found(pointer, content, pages) = found else { return Vec::new() };
        let mut state = self.state();
        state.pointer = pointer;
        match pages {
            Pages::Missing => state.replace(content, None),
            Pages::Unchanged => {
                let pages = state.cached.pages.clone();
                state.replace(content, pages);
            }
            Pages::Valid(pages) => state.replace(content, Some(pages)),
            Pages::Refused => state.keep_pages(content),
            Pages::Invalid(templates, faults) => {
                state.keep_pages(content);
                state.refused = Some(templates);
                return faults;
            }
        }
        Vec::new()
    }

    /// Retries soon if nothing is cached.
    pub(crate) fn retry_soon(&self) {
        let mut state = self.state();
        if state.cached.content.is_none() {
            state.next = state.next.map(|next| Due::after(next.left().min(RETRY_AFTER)));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl State {
    fn replace(&mut self, content: ThemeContent, pages: Option<Arc<CompiledTheme>>) {
        self.cached = CachedTheme { content: Some(Arc::new(content)), pages };
        self.refused = None;
    }

    /// Stores files with invalid pages. The files of a version, and some of too many files, do not replace those of the
    /// pages that stay.
    fn keep_pages(&mut self, content: ThemeContent) {
        let Files { is_version, cut_off, .. } = content.live;
        if self.cached.content.is_none() || !(is_version || cut_off) {
            self.cached.content = Some(Arc::new(content));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_theme_is_refreshed_after_a_freeze() {
        let (entry, recheck) = (CacheEntry::default(), Duration::from_secs(10));
        let begins = || entry.begin(Instant::now(), recheck, false).1.is_some();
        assert!(begins() && !begins());
        let next = entry.state().next.unwrap();
        entry.state().next = Some(Due { since: next.since.before_freeze(recheck).unwrap(), ..next });
        assert!(begins() && !begins(), "the monotonic clock stood still");
    }
}

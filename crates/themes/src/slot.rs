//! What is known of one theme, and the one look at it that may be under way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::ThemeError;
use crate::loaded::Loaded;
use crate::look::{Before, Found, Version};
use crate::source::{Files, Listing};

/// How long the first request for a theme waits for it. The built-in page is shown after that, and the look goes on.
pub const FIRST_LOAD_MAX: Duration = Duration::from_secs(1);
/// Time between two looks while nothing is known yet.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// One theme.
#[derive(Default)]
pub(crate) struct Slot(Mutex<State>);

/// What is known of a theme.
#[derive(Clone, Default)]
pub(crate) struct Known {
    /// Its files as last listed: none if there is no such theme, `None` as long as nothing is known.
    pub(crate) files: Option<Arc<Files>>,
    /// Its pages as they last worked.
    pub(crate) pages: Option<Arc<Loaded>>,
}

#[derive(Default)]
struct State {
    known: Known,
    /// The version that was last found not to work.
    refused: Option<Version>,
    /// When it is time to look again.
    next: Option<Instant>,
    under_way: Option<UnderWay>,
    used: Option<Instant>,
}

/// A look under way. It ends by itself, by its time limit at the latest, and its end closes the channel.
#[derive(Clone)]
pub(crate) struct UnderWay {
    ended: watch::Receiver<()>,
    /// Until when requests wait for it.
    patience: Instant,
}

impl UnderWay {
    /// Waits for the end of the look, as far as requests do that.
    pub(crate) async fn wait(mut self, deadline: Instant) {
        // The look never sends anything: its end is all there is to notice.
        let _ = timeout_at(deadline.min(self.patience), self.ended.changed()).await;
    }

    fn is_over(&self) -> bool {
        self.ended.has_changed().is_err()
    }
}

impl Slot {
    /// What is known now.
    pub(crate) fn known(&self) -> Known {
        self.state().known.clone()
    }

    /// What a look needs not see again.
    pub(crate) fn before(&self) -> Before {
        let state = self.state();
        Before { pages: state.known.pages.clone(), refused: state.refused.clone() }
    }

    /// When somebody last wanted it.
    pub(crate) fn used(&self) -> Option<Instant> {
        self.state().used
    }

    /// The look under way, and, if it begins now, what its end is told by. Requests wait for every look if it is `near`,
    /// and else for the very first alone.
    pub(crate) fn begin(
        &self,
        now: Instant,
        recheck: Duration,
        near: bool,
    ) -> (Option<UnderWay>, Option<watch::Sender<()>>) {
        let mut state = self.state();
        state.used = Some(now);
        if let Some(under_way) = state.under_way.clone().filter(|look| !look.is_over()) {
            return (Some(under_way), None);
        }
        if state.next.is_some_and(|next| now < next) {
            return (None, None);
        }
        let (end, ended) = watch::channel(());
        let first = state.next.is_none();
        let patience = if first || near { now + FIRST_LOAD_MAX } else { now };
        state.next = Some(now + recheck);
        state.under_way = Some(UnderWay { ended, patience });
        (state.under_way.clone(), Some(end))
    }

    /// Takes what a look found; what is wrong with it comes back.
    pub(crate) fn take(&self, found: Found) -> Vec<ThemeError> {
        let mut state = self.state();
        match found {
            Found::Missing => {
                state.known = Known { files: Some(Arc::default()), pages: None };
                state.refused = None;
            }
            Found::Same(listing) => state.list(listing),
            Found::Works(listing, pages) => {
                state.list(listing);
                state.known.pages = Some(pages);
                state.refused = None;
            }
            Found::Broken(listing, version, faults) => {
                state.list(listing);
                state.refused = Some(version);
                return faults;
            }
        }
        Vec::new()
    }

    /// Looks again soon, if nothing is known yet.
    pub(crate) fn retry_soon(&self, now: Instant) {
        let mut state = self.state();
        if state.known.files.is_none() {
            state.next = state.next.map(|next| next.min(now + RETRY_AFTER));
        }
    }

    /// A panic elsewhere leaves nothing half done here, so a poisoned lock is as good as any.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A listing that is cut off says too little to go by.
    fn list(&mut self, listing: Listing) {
        if !listing.cut_off {
            self.known.files = Some(Arc::new(listing.files));
        } else if self.known.files.is_none() {
            self.known.files = Some(Arc::default());
        }
    }
}

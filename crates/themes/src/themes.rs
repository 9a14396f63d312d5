//! The one door: picks a theme, renders it, and falls back to the built-in one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use vestibule_core::{Standing, StandingState, ThemeId, WaitSeconds};

use crate::asset::Asset;
use crate::context::Context;
use crate::error::ThemeError;
use crate::folder::Folder;
use crate::language::Language;
use crate::loaded::Loaded;
use crate::templates::render_built_in;
use crate::view::{PageView, PlainPage};

/// The pages of all queues. Cheap to clone; clones share what they have read.
#[derive(Clone, Default)]
pub struct Themes {
    folder: Option<Arc<Folder>>,
}

impl Themes {
    /// The built-in theme alone.
    #[must_use]
    pub fn built_in() -> Self {
        Self::default()
    }

    /// The themes of a folder, each a sub-folder of its id, and the built-in one behind them. The folder is read when a
    /// theme is first wanted; nothing fails if it isn't there.
    #[must_use]
    pub fn folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(Arc::new(Folder::new(folder.into()))) }
    }

    /// The page of somebody who waits; of a closed queue, the closed page. Never fails: a missing theme is the folder's
    /// `default` or the built-in one, a broken one is the built-in one and one warning a version.
    #[must_use]
    pub fn queue_page(&self, theme: Option<&ThemeId>, view: &PageView<'_>) -> String {
        if view.standing.state == StandingState::Closed {
            return self.closed_page(theme, view);
        }
        self.page("queue.html", theme, view)
    }

    /// The page of a closed queue. Never fails, as [`Self::queue_page`].
    #[must_use]
    pub fn closed_page(&self, theme: Option<&ThemeId>, view: &PageView<'_>) -> String {
        let standing = Standing { state: StandingState::Closed, position: None, ..view.standing.clone() };
        self.page("closed.html", theme, &PageView { standing: &standing, ..*view })
    }

    /// A page that says one thing, in the built-in style. Without script.
    #[must_use]
    pub fn plain_page(page: PlainPage, language: Language, nonce: &str) -> String {
        render_built_in("plain.html", &Context::plain(page, language, nonce))
    }

    /// A file of a theme by its decoded path. `None` for whatever isn't one: no such file, a way out of the folder, a
    /// kind that isn't served, more than [`ASSET_MAX`](crate::ASSET_MAX) bytes.
    #[must_use]
    pub fn asset(&self, theme: &ThemeId, path: &str) -> Option<Asset> {
        self.folder.as_ref()?.asset(theme, path, now())
    }

    /// Reads a theme and renders all its pages in all states and languages. A variable that doesn't exist is an error
    /// here, while a visitor's page would only show nothing in its place.
    ///
    /// # Errors
    /// The first thing that is wrong, by file and line.
    pub fn check(&self, theme: &ThemeId) -> Result<(), ThemeError> {
        let missing = || ThemeError::Missing { theme: theme.clone() };
        let loaded = self.folder.as_ref().ok_or_else(missing)?.read(theme)?;
        if let Some(fault) = loaded.faults().into_iter().next() {
            return Err(fault);
        }
        let standings = samples().ok_or_else(missing)?;
        for language in Language::ALL {
            standings.iter().try_for_each(|standing| check_page(&loaded, &sample_view(standing, language)))?;
        }
        Ok(())
    }

    fn page(&self, name: &str, theme: Option<&ThemeId>, view: &PageView<'_>) -> String {
        let context = Context::of(view);
        let loaded = self.folder.as_ref().and_then(|folder| folder.theme(theme, now()));
        loaded.and_then(|loaded| loaded.render(name, &context)).unwrap_or_else(|| render_built_in(name, &context))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "only says when to look at the disk again; no rule of a line depends on it"
)]
fn now() -> Instant {
    Instant::now()
}

fn check_page(loaded: &Loaded, view: &PageView<'_>) -> Result<(), ThemeError> {
    let closed = view.standing.state == StandingState::Closed;
    let name = if closed { "closed.html" } else { "queue.html" };
    let page = loaded.render_strictly(name, &Context::of(view))?;
    if !closed && page.is_some_and(|page| !page.contains("id=\"vestibule-data\"")) {
        return Err(ThemeError::NoScript { file: loaded.path(name) });
    }
    Ok(())
}

/// A standing in each state, once with everything and once with nothing in it.
fn samples() -> Option<Vec<Standing>> {
    use StandingState::{Admitted, Closed, Paused, Unavailable, Waiting};
    let bare = Standing {
        queue: "sample".parse().ok()?,
        session: None,
        state: Waiting,
        position: None,
        waiting: None,
        active: None,
        wait_seconds: None,
        joined_at: None,
        expires_in: None,
        poll_after: 5,
        enter_url: None,
        revision: None,
    };
    let full = Standing {
        session: "6f1c2a54-9a57-4b8e-8a43-6d7a3f0f9b11".parse().ok(),
        position: Some(1234),
        waiting: Some(5678),
        active: Some(100),
        wait_seconds: Some(WaitSeconds { p50: 240, p90: 360 }),
        enter_url: Some("/".to_owned()),
        ..bare.clone()
    };
    let each = |state| [Standing { state, ..bare.clone() }, Standing { state, ..full.clone() }];
    Some([Waiting, Admitted, Paused, Closed, Unavailable].into_iter().flat_map(each).collect())
}

fn sample_view(standing: &Standing, language: Language) -> PageView<'_> {
    PageView {
        standing,
        queue_name: "Sample",
        brand_name: "Sample",
        colour: None,
        logo: None,
        language,
        nonce: "sample",
        asset_base: "/_vestibule/theme/sample/",
        refresh_seconds: 20,
        hold_seconds: 600,
    }
}

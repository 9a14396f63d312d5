//! The one door: picks a theme, renders it, and falls back to the built-in one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use vestibule_core::{ThemeId, VisitorState, VisitorStatus};

use crate::address::ThemesAddress;
use crate::asset::Asset;
use crate::assets::ThemeStorageUnavailable;
#[cfg(feature = "s3")]
use crate::bucket::{Bucket, BucketAddress, S3Server};
use crate::cache::ThemeCache;
use crate::context::Context;
use crate::error::ThemeError;
use crate::folder::Folder;
use crate::language::Language;
use crate::source::Source;
use crate::templates::render_built_in;
use crate::view::{ErrorPage, PageView};

/// How long a folder's theme is taken to be as it was last seen, unless something else is said.
pub const FOLDER_RECHECK: Duration = Duration::from_secs(1);
/// The same of a bucket's.
pub const BUCKET_RECHECK: Duration = Duration::from_secs(10);

/// The pages of all queues. Cheap to clone; clones share what they have read.
#[derive(Clone, Default)]
pub struct Themes {
    cache: Option<Arc<ThemeCache>>,
}

impl Themes {
    /// The built-in theme alone.
    #[must_use]
    pub fn built_in() -> Self {
        Self::default()
    }

    /// The themes at an address, and the built-in one behind them. Nothing fails if there is nothing: themes are read
    /// when they are first wanted, and again when `recheck` has passed since ([`FOLDER_RECHECK`] or [`BUCKET_RECHECK`]
    /// without it).
    ///
    /// A bucket is found by the usual AWS environment, and being connected to from this moment on.
    ///
    /// # Panics
    /// A bucket outside a Tokio runtime.
    #[must_use]
    pub fn at(address: ThemesAddress, recheck: Option<Duration>) -> Self {
        match address {
            ThemesAddress::Folder(folder) => {
                Self::of(Source::Folder(Folder::new(&folder)), recheck.unwrap_or(FOLDER_RECHECK))
            }
            #[cfg(feature = "s3")]
            ThemesAddress::Bucket(address) => Self::bucket(address, None, recheck),
        }
    }

    /// The themes of a folder, each a sub-folder of its id, as [`Self::at`].
    #[must_use]
    pub fn folder(folder: impl Into<PathBuf>) -> Self {
        Self::at(ThemesAddress::Folder(folder.into()), None)
    }

    /// The themes of a bucket, as [`Self::at`], on a server that the environment doesn't name.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    #[cfg(feature = "s3")]
    #[must_use]
    pub fn on_server(server: S3Server, address: BucketAddress, recheck: Option<Duration>) -> Self {
        Self::bucket(address, Some(server), recheck)
    }

    #[cfg(feature = "s3")]
    fn bucket(address: BucketAddress, server: Option<S3Server>, recheck: Option<Duration>) -> Self {
        let themes =
            Self::of(Source::Bucket(Box::new(Bucket::new(address, server))), recheck.unwrap_or(BUCKET_RECHECK));
        themes.cache.iter().for_each(ThemeCache::warm_up);
        themes
    }

    fn of(source: Source, recheck: Duration) -> Self {
        Self { cache: Some(Arc::new(ThemeCache::new(source, recheck))) }
    }

    /// The page of somebody who waits; of a closed queue, the closed page. Never fails: where the theme is missing or
    /// has no pages that work, it is the place's `default`, or the built-in one. The first request for a theme waits for
    /// it, [`FIRST_LOAD_MAX`](crate::FIRST_LOAD_MAX) at most.
    pub async fn queue_page(&self, theme: Option<&ThemeId>, view: &PageView<'_>) -> String {
        if view.visitor_status.state == VisitorState::Closed {
            return self.closed_page(theme, view).await;
        }
        self.page("queue.html", theme, view).await
    }

    /// The page of a closed queue. Never fails, as [`Self::queue_page`].
    pub async fn closed_page(&self, theme: Option<&ThemeId>, view: &PageView<'_>) -> String {
        let visitor_status =
            VisitorStatus { state: VisitorState::Closed, position: None, ..view.visitor_status.clone() };
        self.page("closed.html", theme, &PageView { visitor_status: &visitor_status, ..*view }).await
    }

    /// The page in place of a site that gives no answer to show. Never fails, as [`Self::queue_page`].
    pub async fn error_page(&self, theme: Option<&ThemeId>, page: ErrorPage, view: &PageView<'_>) -> String {
        self.render("error.html", theme, Context::error(page, view)).await
    }

    /// A page that says one thing, in the built-in style, where no queue is known. Without script.
    #[must_use]
    pub fn plain_page(page: ErrorPage, language: Language, nonce: &str) -> String {
        render_built_in("error.html", &Context::plain(page, language, nonce))
    }

    /// A file of a theme by its decoded path. `None` for whatever isn't one: no such file, a way out of the theme, a
    /// kind that isn't served, more than [`ASSET_MAX`](crate::ASSET_MAX) bytes.
    ///
    /// # Errors
    /// The file isn't kept, and can't be read at the moment.
    pub async fn asset(&self, theme: &ThemeId, path: &str) -> Result<Option<Asset>, ThemeStorageUnavailable> {
        let Some(cache) = &self.cache else { return Ok(None) };
        cache.asset(theme, path).await
    }

    /// Whether a theme has this file to serve, as far as is known without reading it.
    pub async fn has_asset(&self, theme: &ThemeId, path: &str) -> bool {
        match &self.cache {
            Some(cache) => cache.has_asset(theme, path).await,
            None => false,
        }
    }

    /// Reads a theme and renders all its pages in all states and languages. A variable that doesn't exist is an error
    /// here. What this refuses no visitor sees.
    ///
    /// # Errors
    /// The first thing that is wrong, by file and line.
    pub async fn check(&self, theme: &ThemeId) -> Result<(), ThemeError> {
        let Some(cache) = &self.cache else { return Err(ThemeError::Missing { theme: theme.clone() }) };
        cache.check(theme).await
    }

    async fn page(&self, name: &'static str, theme: Option<&ThemeId>, view: &PageView<'_>) -> String {
        self.render(name, theme, Context::of(view)).await
    }

    async fn render(&self, name: &'static str, theme: Option<&ThemeId>, context: Context) -> String {
        let pages = match &self.cache {
            Some(cache) => cache.pages(theme).await,
            None => None,
        };
        let context = Arc::new(context);
        let page = match pages {
            Some(pages) => pages.page(name, &context).await,
            None => None,
        };
        page.unwrap_or_else(|| render_built_in(name, &context))
    }
}

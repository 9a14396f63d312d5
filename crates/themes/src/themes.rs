//! Selects a theme, renders it, and falls back to the built-in one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "s3")]
use vestibule_aws::AwsServer;
use vestibule_core::{ThemeId, VisitorState, VisitorStatus};

#[cfg(feature = "s3")]
use crate::address::BucketAddress;
use crate::address::ThemesAddress;
use crate::asset::Asset;
use crate::assets::ThemeStorageUnavailable;
#[cfg(feature = "s3")]
use crate::bucket::Bucket;
use crate::cache::ThemeCache;
use crate::context::Context;
use crate::error::ThemeError;
use crate::language::Language;
use crate::open_storage::storage_at;
use crate::storage::Storage;
use crate::templates::render_built_in;
use crate::view::{ErrorPage, JobPage, PageView};

/// Time after which a theme in a folder is refreshed, by default.
pub const FOLDER_RECHECK: Duration = Duration::from_secs(1);
/// Time after which a theme in a bucket is refreshed, by default.
const BUCKET_RECHECK: Duration = Duration::from_secs(10);

/// The pages of all queues. Cheap to clone; clones share the cache.
#[derive(Clone, Default)]
pub struct Themes {
    cache: Option<Arc<ThemeCache>>,
}

impl Themes {
    /// The built-in theme only.
    pub fn built_in() -> Self {
        Self::default()
    }

    /// The themes at an address, with the built-in one as the fallback. A missing address is no error: a theme is read when
    /// it is first requested, and refreshed after `recheck` (by default [`FOLDER_RECHECK`], or 10 seconds from a bucket).
    ///
    /// The AWS environment configures access to a bucket, and connecting to it begins here.
    ///
    /// # Panics
    /// For a bucket, outside a Tokio runtime.
    pub fn at(address: ThemesAddress, recheck: Option<Duration>) -> Self {
        Self::of(storage_at(address), recheck)
    }

    /// The themes of a folder, as [`Self::at`].
    pub fn folder(folder: impl Into<PathBuf>) -> Self {
        Self::at(ThemesAddress::Folder(folder.into()), None)
    }

    /// The themes of a bucket on this server, as [`Self::at`].
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    #[cfg(feature = "s3")]
    pub fn on_server(server: AwsServer, address: BucketAddress, recheck: Option<Duration>) -> Self {
        Self::of(Arc::new(Bucket::new(address, Some(server))), recheck)
    }

    fn of(storage: Arc<dyn Storage>, recheck: Option<Duration>) -> Self {
        let is_near = storage.is_near();
        let recheck = recheck.unwrap_or(if is_near { FOLDER_RECHECK } else { BUCKET_RECHECK });
        let cache = Arc::new(ThemeCache::new(storage, recheck));
        if !is_near {
            cache.warm_up();
        }
        Self { cache: Some(cache) }
    }

    /// The page of a waiting visitor; for a closed queue, the closed page. Never fails: if the theme is missing or has no
    /// valid pages, it is the page of the theme `default`, or the built-in one. The first request for a theme waits for
    /// it, one second at most.
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

    /// The page in place of a site that does not respond. `status` is that of the request if the script of the page repeats it in the
    /// background. Never fails, as [`Self::queue_page`].
    pub async fn error_page(
        &self,
        theme: Option<&ThemeId>,
        page: ErrorPage,
        status: u16,
        view: &PageView<'_>,
    ) -> String {
        self.render("error.html", theme, Context::error(page, status, view)).await
    }

    /// The page of a job that the visitor follows. Never fails, as [`Self::queue_page`].
    pub async fn job_page(&self, theme: Option<&ThemeId>, page: &JobPage<'_>, view: &PageView<'_>) -> String {
        self.render("job.html", theme, Context::job(page, view)).await
    }

    /// An error page in the built-in style, where no queue is known. `status` is that of the request if the script of the page repeats it
    /// in the background; `None` if a link to the page does not repeat its request.
    pub fn plain_page(page: ErrorPage, language: Language, nonce: &str, status: Option<u16>) -> String {
        render_built_in("error.html", &Context::plain(page, language, nonce, status))
    }

    /// A file of a theme by its decoded path. `None` if there is no such file, the path leads out of the theme, the kind
    /// of file is not served, or it has more than [`ASSET_MAX`](crate::ASSET_MAX) bytes. A file that the live version
    /// lacks is taken from the versions that were live before the last two changes, for pages that are still open.
    ///
    /// # Errors
    /// The file is not cached, and storage is unavailable.
    pub async fn asset(&self, theme: &ThemeId, path: &str) -> Result<Option<Asset>, ThemeStorageUnavailable> {
        let Some(cache) = &self.cache else { return Ok(None) };
        cache.asset(theme, path).await
    }

    /// Whether [`Self::asset`] would find this file, as far as is known without reading it.
    pub async fn has_asset(&self, theme: &ThemeId, path: &str) -> bool {
        match &self.cache {
            Some(cache) => cache.has_asset(theme, path).await,
            None => false,
        }
    }

    /// Reads a theme and renders all its pages in all states and languages, as is done before visitors see it. An
    /// undefined variable is an error here.
    ///
    /// # Errors
    /// The first error, by file and line.
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

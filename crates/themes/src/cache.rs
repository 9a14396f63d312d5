//! The theme cache: the last valid version of each theme, refreshed in the background (stale-while-revalidate).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use vestibule_core::ThemeId;

use crate::ThemeError;
use crate::asset::{ASSET_MAX, Asset, content_type, is_safe_path};
use crate::assets::{AssetKey, Assets, ThemeStorageUnavailable};
use crate::cache_entry::{CacheEntry, CachedTheme, FIRST_LOAD_MAX, RefreshInProgress};
use crate::compiled::CompiledTheme;
use crate::freeze_safe;
use crate::refresh::{PreviousResult, RefreshResult, refresh};
use crate::source::{Source, SourceError};
use crate::throttle::Throttle;

/// Most cached themes. The least recently used one is evicted.
pub const THEMES_KEPT_MAX: usize = 1000;
/// Timeout of one refresh.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(15);
/// The theme of queues without one.
const DEFAULT_THEME: &str = "default";

/// The cached themes of one source. Theme IDs come from the settings, never from visitors.
pub(crate) struct ThemeCache {
    source: Arc<Source>,
    /// Time after which a theme is refreshed.
    recheck: Duration,
    entries: Mutex<HashMap<String, Arc<CacheEntry>>>,
    assets: Arc<Assets>,
    warnings: Throttle,
}

impl ThemeCache {
    pub(crate) fn new(source: Source, recheck: Duration) -> Self {
        let source = Arc::new(source);
        let assets = Arc::new(Assets::new(Arc::clone(&source)));
        Self { source, recheck, entries: Mutex::default(), assets, warnings: Throttle::default() }
    }

    /// Connects, and loads the default theme.
    #[cfg(feature = "s3")]
    pub(crate) fn warm_up(self: &Arc<Self>) {
        self.begin(DEFAULT_THEME);
    }

    /// The theme's pages; those of the default theme if it has no valid ones; else `None`.
    pub(crate) async fn pages(self: &Arc<Self>, theme: Option<&ThemeId>) -> Option<Arc<CompiledTheme>> {
        let deadline = Instant::now() + FIRST_LOAD_MAX;
        for name in theme.map(ThemeId::as_str).into_iter().chain([DEFAULT_THEME]) {
            if let Some(pages) = self.cached(name, deadline).await.pages {
                return Some(pages);
            }
        }
        None
    }

    /// A file of the theme; of the default theme if the theme has no valid pages.
    pub(crate) async fn asset(
        self: &Arc<Self>,
        theme: &ThemeId,
        path: &str,
    ) -> Result<Option<Asset>, ThemeStorageUnavailable> {
        match self.asset_key(theme, path).await? {
            Some(key) => self.assets.get(key).await,
            None => Ok(None),
        }
    }

    /// Whether [`Self::asset`] would find this file, as far as the cache knows.
    pub(crate) async fn has_asset(self: &Arc<Self>, theme: &ThemeId, path: &str) -> bool {
        matches!(self.asset_key(theme, path).await, Ok(Some(key)) if key.etag.bytes <= ASSET_MAX)
    }

    async fn asset_key(
        self: &Arc<Self>,
        theme: &ThemeId,
        path: &str,
    ) -> Result<Option<AssetKey>, ThemeStorageUnavailable> {
        if !is_safe_path(path) || content_type(path).is_none() {
            return Ok(None);
        }
        let deadline = Instant::now() + FIRST_LOAD_MAX;
        for name in [theme.as_str(), DEFAULT_THEME] {
            let CachedTheme { files, pages } = self.cached(name, deadline).await;
            let files = files.ok_or(ThemeStorageUnavailable)?;
            if let Some(etag) = self.source.etag(name, path, &files).await {
                return Ok(Some(AssetKey { theme: name.to_owned(), path: path.to_owned(), etag }));
            }
            if pages.is_some() {
                break;
            }
        }
        Ok(None)
    }

    /// Reads a theme and validates it, without the cache.
    pub(crate) async fn check(&self, theme: &ThemeId) -> Result<(), ThemeError> {
        let place = self.source.place(theme.as_str());
        let unreadable = |message: String| ThemeError::Read { file: place.clone(), message };
        match self.refresh_now(theme.as_str(), &PreviousResult::default()).await {
            Ok(RefreshResult::Missing) => Err(ThemeError::Missing { theme: theme.clone() }),
            Ok(RefreshResult::Invalid(_, _, faults)) => faults.into_iter().next().map_or(Ok(()), Err),
            Ok(RefreshResult::Unchanged(_) | RefreshResult::Updated(..)) => Ok(()),
            Err(SourceError::Fault(fault)) => Err(fault),
            Err(error) => Err(unreadable(error.to_string())),
        }
    }

    /// The cached theme, after a refresh if one is due that requests wait for.
    async fn cached(self: &Arc<Self>, name: &str, deadline: Instant) -> CachedTheme {
        let (entry, in_progress) = self.begin(name);
        if let Some(in_progress) = in_progress {
            in_progress.wait(deadline).await;
        }
        entry.cached()
    }

    /// Begins a refresh if one is due and none is in progress.
    fn begin(self: &Arc<Self>, name: &str) -> (Arc<CacheEntry>, Option<RefreshInProgress>) {
        let entry = self.entry(name);
        let (in_progress, begun) = entry.begin(Instant::now(), self.recheck, self.source.is_near());
        if let Some(end) = begun {
            tokio::spawn(Arc::clone(self).refresh_in_background(name.to_owned(), Arc::clone(&entry), end));
        }
        (entry, in_progress)
    }

    fn entry(&self, name: &str) -> Arc<CacheEntry> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get(name) {
            return Arc::clone(entry);
        }
        if entries.len() >= THEMES_KEPT_MAX {
            let oldest = entries.iter().min_by_key(|(_, entry)| entry.used()).map(|(name, _)| name.clone());
            oldest.and_then(|oldest| entries.remove(&oldest));
        }
        Arc::clone(entries.entry(name.to_owned()).or_default())
    }

    /// Refreshes a theme; if that fails, the cached one stays. Dropping `_end` signals the end of the refresh.
    async fn refresh_in_background(self: Arc<Self>, name: String, entry: Arc<CacheEntry>, _end: watch::Sender<()>) {
        match self.refresh_now(&name, &entry.previous()).await {
            Ok(found) => {
                let faults = entry.take(found);
                let stands_in =
                    if entry.cached().pages.is_some() { "the last that worked" } else { "the default or built-in one" };
                for fault in faults {
                    tracing::warn!(%fault, stands_in, "a theme is broken; another stands in");
                }
            }
            Err(error) => {
                entry.retry_soon(Instant::now());
                if let Some(held_back) = self.warnings.pass() {
                    tracing::warn!(place = %self.source.place(&name).display(), %error, held_back, "a theme can't be read; what was last read of it stays");
                }
            }
        }
    }

    async fn refresh_now(&self, name: &str, previous: &PreviousResult) -> Result<RefreshResult, SourceError> {
        let found = freeze_safe::timeout(REFRESH_TIMEOUT, refresh(&self.source, name, previous)).await;
        found.unwrap_or_else(|| Err(SourceError::Unavailable("no answer in time".to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;

    #[tokio::test(start_paused = true)]
    async fn the_least_recently_used_theme_is_evicted() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Arc::new(ThemeCache::new(Source::Folder(Folder::new(folder.path())), Duration::ZERO));
        for n in 0..THEMES_KEPT_MAX {
            tokio::time::advance(Duration::from_millis(1)).await;
            cache.begin(&format!("brand-{n}"));
        }
        tokio::time::advance(Duration::from_millis(1)).await;
        cache.begin("brand-0");
        cache.begin("one-more");
        let entries = cache.entries.lock().unwrap();
        assert_eq!(entries.len(), THEMES_KEPT_MAX);
        assert!(
            entries.contains_key("brand-0") && entries.contains_key("one-more") && !entries.contains_key("brand-1")
        );
    }
}

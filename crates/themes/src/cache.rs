//! The theme cache: the last valid version of each theme, refreshed in the background (stale-while-revalidate).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use vestibule_core::ThemeId;
use vestibule_freeze::LogRateLimiter;

use crate::ThemeError;
use crate::asset::{ASSET_MAX, Asset, content_type, is_safe_path};
use crate::assets::{AssetKey, Assets, ThemeStorageUnavailable, WARNINGS_EVERY};
use crate::cache_entry::{CacheEntry, CachedTheme, FIRST_LOAD_MAX, RefreshInProgress};
use crate::compiled::CompiledTheme;
use crate::files::StorageError;
use crate::refresh::{Files, Pages, PreviousResult, RefreshResult, refresh};
use crate::storage::Storage;

/// Most cached themes. The least recently used one is evicted.
const THEMES_KEPT_MAX: usize = 1000;
/// Timeout of one refresh.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(15);
/// The theme of queues without one.
const DEFAULT_THEME: &str = "default";

/// The cached themes of one storage. Theme IDs come from the settings, never from visitors.
pub(crate) struct ThemeCache {
    storage: Arc<dyn Storage>,
    /// Time after which a theme is refreshed.
    recheck: Duration,
    entries: Mutex<HashMap<String, Arc<CacheEntry>>>,
    assets: Arc<Assets>,
    warnings: LogRateLimiter,
}

impl ThemeCache {
    pub(crate) fn new(storage: Arc<dyn Storage>, recheck: Duration) -> Self {
        let assets = Arc::new(Assets::new(Arc::clone(&storage)));
        Self { storage, recheck, entries: Mutex::default(), assets, warnings: LogRateLimiter::every(WARNINGS_EVERY) }
    }

    /// Connects, and loads the default theme.
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

    /// A file of the theme; of the default theme if the theme has no valid pages. Files of versions that were live before
    /// the last changes are found too.
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
        let mut earlier = None;
        for name in [theme.as_str(), DEFAULT_THEME] {
            let CachedTheme { content, pages } = self.cached(name, deadline).await;
            let content = content.ok_or(ThemeStorageUnavailable)?;
            let key = |files: &Files| {
                let etag = files.set.get(path)?.clone();
                Some(AssetKey { folder: files.folder.clone(), path: path.to_owned(), etag })
            };
            if let Some(key) = key(&content.live) {
                return Ok(Some(key));
            }
            earlier = earlier.or_else(|| content.earlier.iter().find_map(key));
            if pages.is_some() {
                break;
            }
        }
        // An open page may have been rendered before the last change.
        Ok(earlier)
    }

    /// Reads a theme and validates it, without the cache.
    pub(crate) async fn check(&self, theme: &ThemeId) -> Result<(), ThemeError> {
        let folder = self.storage.location(theme.as_str());
        let unreadable = |message: String| ThemeError::Read { file: folder.clone(), message };
        match self.refresh_now(theme.as_str(), &PreviousResult::default()).await {
            Ok(RefreshResult::Found(_, _, Pages::Missing)) => Err(ThemeError::Missing { theme: theme.clone() }),
            Ok(RefreshResult::Found(_, _, Pages::Invalid(_, faults))) => faults.into_iter().next().map_or(Ok(()), Err),
            Ok(_) => Ok(()),
            Err(StorageError::Fault(fault)) => Err(fault),
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
        let (in_progress, begun) = entry.begin(Instant::now(), self.recheck, self.storage.is_near());
        if let Some(end) = begun {
            tokio::spawn(Arc::clone(self).refresh_in_background(name.to_owned(), Arc::clone(&entry), end));
        }
        (entry, in_progress)
    }

    fn entry(&self, name: &str) -> Arc<CacheEntry> {
        let mut entries = self.entries.lock();
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
                let shown = match entry.cached().pages {
                    Some(_) => "the last valid version",
                    None => "the default or built-in theme",
                };
                for fault in faults {
                    tracing::warn!(%fault, shown, "a theme is invalid");
                }
            }
            Err(error) => {
                entry.retry_soon();
                if let Some(suppressed) = self.warnings.allow() {
                    let folder = self.storage.location(&name);
                    tracing::warn!(folder = %folder.display(), %error, suppressed, "a theme cannot be read; the cached one stays");
                }
            }
        }
    }

    async fn refresh_now(&self, name: &str, previous: &PreviousResult) -> Result<RefreshResult, StorageError> {
        let found = vestibule_freeze::timeout(REFRESH_TIMEOUT, refresh(&*self.storage, name, previous)).await;
        found.unwrap_or_else(|| Err(StorageError::Unavailable("no answer in time".to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;

    #[tokio::test(start_paused = true)]
    async fn the_least_recently_used_theme_is_evicted() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Arc::new(ThemeCache::new(Arc::new(Folder::new(folder.path())), Duration::ZERO));
        for n in 0..THEMES_KEPT_MAX {
            tokio::time::advance(Duration::from_millis(1)).await;
            cache.begin(&format!("brand-{n}"));
        }
        tokio::time::advance(Duration::from_millis(1)).await;
        cache.begin("brand-0");
        cache.begin("one-more");
        let entries = cache.entries.lock();
        assert_eq!(entries.len(), THEMES_KEPT_MAX);
        assert!(
            entries.contains_key("brand-0") && entries.contains_key("one-more") && !entries.contains_key("brand-1")
        );
    }
}

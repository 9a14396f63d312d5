//! The asset cache: assets of all themes, read once and kept while there is room.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio::time::{Instant, timeout};

use crate::asset::{ASSET_MAX, Asset};
use crate::source::{ETag, Source, SourceError};
use crate::throttle::Throttle;

/// Most bytes of cached assets, of all themes. The least used ones are evicted.
pub const ASSETS_KEPT_MAX: u64 = 32 * 1024 * 1024;
/// How long a request waits for an asset that is not cached.
pub const ASSET_WAIT_MAX: Duration = Duration::from_secs(2);
/// Time without reads after a failed read: further requests would wait in vain.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// What an asset takes beside its content, so that empty ones don't cost nothing.
const BYTES_BESIDE: u64 = 512;
/// How many are expected; few enough that all share one room, or the largest would fit into none.
const EXPECTED: usize = 32;

/// Theme storage cannot be read at the moment. A retry may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("themes can't be read at the moment")]
pub struct ThemeStorageUnavailable;

/// One version of one file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct AssetKey {
    pub(crate) theme: String,
    pub(crate) path: String,
    pub(crate) etag: ETag,
}

/// Reads and caches assets.
pub(crate) struct Assets {
    source: Arc<Source>,
    kept: Cache<AssetKey, Asset, ByBytes>,
    unavailable_until: Mutex<Option<Instant>>,
    warnings: Throttle,
}

/// Why an asset cannot be served.
enum AssetMiss {
    /// The asset does not exist, or is not servable.
    Gone,
    Unavailable,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<AssetKey, Asset> for ByBytes {
    fn weight(&self, key: &AssetKey, asset: &Asset) -> u64 {
        (asset.bytes.len() + key.theme.len() + key.path.len()) as u64 + BYTES_BESIDE
    }
}

impl Assets {
    pub(crate) fn new(source: Arc<Source>) -> Self {
        let kept = Cache::with_weighter(EXPECTED, ASSETS_KEPT_MAX, ByBytes);
        Self { source, kept, unavailable_until: Mutex::default(), warnings: Throttle::default() }
    }

    /// The asset: as it is kept, or read now, once for all who ask meanwhile. `None` if it is gone, or too large.
    pub(crate) async fn get(self: &Arc<Self>, key: AssetKey) -> Result<Option<Asset>, ThemeStorageUnavailable> {
        if let Some(asset) = self.kept.get(&key) {
            return Ok(Some(asset));
        }
        if key.etag.bytes > ASSET_MAX {
            self.warn_of_size(&self.source.place(&key.theme).join(&key.path));
            return Ok(None);
        }
        let assets = Arc::clone(self);
        // A task of its own: whoever waits no longer leaves it to those who ask next.
        let read = tokio::spawn(async move { assets.kept.get_or_insert_async(&key, assets.read(&key)).await });
        match timeout(ASSET_WAIT_MAX, read).await {
            Ok(Ok(Ok(asset))) => Ok(Some(asset)),
            Ok(Ok(Err(AssetMiss::Gone))) => Ok(None),
            Ok(Ok(Err(AssetMiss::Unavailable)) | Err(_)) | Err(_) => Err(ThemeStorageUnavailable),
        }
    }

    async fn read(&self, key: &AssetKey) -> Result<Asset, AssetMiss> {
        if self.unavailable_until().is_some_and(|until| Instant::now() < until) {
            return Err(AssetMiss::Unavailable);
        }
        match self.source.asset(&key.theme, &key.path, ASSET_MAX).await {
            Ok(bytes) => Asset::new(&key.path, bytes).ok_or(AssetMiss::Gone),
            Err(SourceError::Fault(fault)) => {
                if let Some(held_back) = self.warnings.pass() {
                    tracing::warn!(%fault, held_back, "an asset can't be served");
                }
                Err(AssetMiss::Gone)
            }
            Err(SourceError::Changed) => Err(AssetMiss::Gone),
            Err(SourceError::Unavailable(cause)) => {
                if let Some(held_back) = self.warnings.pass() {
                    tracing::warn!(
                        theme = key.theme,
                        cause,
                        held_back,
                        "an asset can't be read; those that are kept are served"
                    );
                }
                *self.unavailable_until.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(Instant::now() + RETRY_PAUSE);
                Err(AssetMiss::Unavailable)
            }
        }
    }

    fn warn_of_size(&self, file: &Path) {
        if let Some(held_back) = self.warnings.pass() {
            tracing::warn!(file = %file.display(), max = ASSET_MAX, held_back, "an asset is too large to be served");
        }
    }

    fn unavailable_until(&self) -> Option<Instant> {
        *self.unavailable_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

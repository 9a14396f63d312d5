//! The asset cache: assets of all themes, read once and kept while there is room.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio::time::timeout;
use vestibule_freeze::{FreezeAwareInstant, LogRateLimiter};

use crate::asset::{ASSET_MAX, Asset};
use crate::files::{ETag, StorageError};
use crate::storage::Storage;

/// Most bytes of cached assets, of all themes. The least used ones are evicted.
pub const ASSETS_KEPT_MAX: u64 = 32 * 1024 * 1024;
/// How long a request waits for an asset that is not cached.
const ASSET_WAIT_MAX: Duration = Duration::from_secs(2);
/// Minimum time between two warnings of one kind, which every refresh would repeat.
pub(crate) const WARNINGS_EVERY: Duration = Duration::from_mins(1);
/// Time without reads after a failed read.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Bytes that an asset takes beside its content and path.
const BYTES_BESIDE: u64 = 512;
/// Expected number of assets. Few enough for one shard: in several, the largest asset would not fit into any.
const EXPECTED: usize = 32;

/// Theme storage cannot be read at the moment. A retry may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("theme storage is unavailable")]
pub struct ThemeStorageUnavailable;

/// One version of one file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct AssetKey {
    pub(crate) folder: String,
    pub(crate) path: String,
    pub(crate) etag: ETag,
}

/// Reads and caches assets.
pub(crate) struct Assets {
    storage: Arc<dyn Storage>,
    kept: Cache<AssetKey, Asset, ByBytes>,
    /// When a read last failed.
    failed_at: Mutex<Option<FreezeAwareInstant>>,
    warnings: LogRateLimiter,
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
        (asset.bytes.len() + key.folder.len() + key.path.len()) as u64 + BYTES_BESIDE
    }
}

impl Assets {
    pub(crate) fn new(storage: Arc<dyn Storage>) -> Self {
        let kept = Cache::with_weighter(EXPECTED, ASSETS_KEPT_MAX, ByBytes);
        Self { storage, kept, failed_at: Mutex::default(), warnings: LogRateLimiter::every(WARNINGS_EVERY) }
    }

    /// The asset, from the cache or read once for all concurrent requests. `None` if it is gone, or too large.
    pub(crate) async fn get(self: &Arc<Self>, key: AssetKey) -> Result<Option<Asset>, ThemeStorageUnavailable> {
        if let Some(asset) = self.kept.get(&key) {
            return Ok(Some(asset));
        }
        if key.etag.bytes > ASSET_MAX {
            self.warn_of_size(&self.storage.location(&key.folder).join(&key.path));
            return Ok(None);
        }
        let assets = Arc::clone(self);
        // A separate task, so that the read continues if this request ends.
        let read = tokio::spawn(async move { assets.kept.get_or_insert_async(&key, assets.read(&key)).await });
        match timeout(ASSET_WAIT_MAX, read).await {
            Ok(Ok(Ok(asset))) => Ok(Some(asset)),
            Ok(Ok(Err(AssetMiss::Gone))) => Ok(None),
            Ok(Ok(Err(AssetMiss::Unavailable)) | Err(_)) | Err(_) => Err(ThemeStorageUnavailable),
        }
    }

    async fn read(&self, key: &AssetKey) -> Result<Asset, AssetMiss> {
        if self.failed_at().is_some_and(|at| at.elapsed() < RETRY_PAUSE) {
            return Err(AssetMiss::Unavailable);
        }
        match self.storage.read(&key.folder, &key.path, None, ASSET_MAX).await {
            Ok(Some(bytes)) => Asset::new(&key.path, bytes).ok_or(AssetMiss::Gone),
            Err(StorageError::Fault(fault)) => {
                if let Some(suppressed) = self.warnings.allow() {
                    tracing::warn!(%fault, suppressed, "an asset cannot be served");
                }
                Err(AssetMiss::Gone)
            }
            Ok(None) | Err(StorageError::Changed) => Err(AssetMiss::Gone),
            Err(StorageError::Unavailable(cause)) => {
                if let Some(suppressed) = self.warnings.allow() {
                    tracing::warn!(
                        folder = key.folder,
                        cause,
                        suppressed,
                        "an asset cannot be read; cached assets are served"
                    );
                }
                *self.failed_at.lock() = Some(FreezeAwareInstant::now());
                Err(AssetMiss::Unavailable)
            }
        }
    }

    fn warn_of_size(&self, file: &Path) {
        if let Some(suppressed) = self.warnings.allow() {
            tracing::warn!(file = %file.display(), max = ASSET_MAX, suppressed, "an asset is too large to be served");
        }
    }

    fn failed_at(&self) -> Option<FreezeAwareInstant> {
        *self.failed_at.lock()
    }
}

//! The assets of all themes of one place: read once, and kept while there is room.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio::time::{Instant, timeout};

use crate::asset::{ASSET_MAX, Asset};
use crate::source::{Source, SourceError, Stamp};
use crate::throttle::Throttle;

/// Most bytes of assets that are kept in memory, of all themes together; whichever are wanted least make room.
pub const ASSETS_KEPT_MAX: u64 = 32 * 1024 * 1024;
/// How long a request waits for an asset that isn't kept.
pub const ASSET_WAIT_MAX: Duration = Duration::from_secs(2);
/// For how long nobody asks again after an asset couldn't be had: those who wait would wait in vain, all of them.
const AWAY_PAUSE: Duration = Duration::from_secs(1);
/// What an asset takes beside its content, so that empty ones don't cost nothing.
const BYTES_BESIDE: u64 = 512;
/// How many are expected; few enough that all share one room, or the largest would fit into none.
const EXPECTED: usize = 32;

/// Themes can't be read at the moment; the answer may differ when asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("themes can't be read at the moment")]
pub struct ThemesAway;

/// One version of one file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct AssetKey {
    pub(crate) theme: String,
    pub(crate) path: String,
    pub(crate) stamp: Stamp,
}

/// Reads assets, and keeps what it read.
pub(crate) struct Assets {
    source: Arc<Source>,
    kept: Cache<AssetKey, Asset, ByBytes>,
    away_until: Mutex<Option<Instant>>,
    warnings: Throttle,
}

/// Why there is no asset.
enum Lack {
    /// There is none to be had.
    Gone,
    Away,
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
        Self { source, kept, away_until: Mutex::default(), warnings: Throttle::default() }
    }

    /// The asset: as it is kept, or read now, once for all who ask meanwhile. `None` if it is gone, or too large.
    pub(crate) async fn get(self: &Arc<Self>, key: AssetKey) -> Result<Option<Asset>, ThemesAway> {
        if let Some(asset) = self.kept.get(&key) {
            return Ok(Some(asset));
        }
        if key.stamp.bytes > ASSET_MAX {
            self.warn_of_size(&self.source.place(&key.theme).join(&key.path));
            return Ok(None);
        }
        let assets = Arc::clone(self);
        // A task of its own: whoever waits no longer leaves it to those who ask next.
        let read = tokio::spawn(async move { assets.kept.get_or_insert_async(&key, assets.read(&key)).await });
        match timeout(ASSET_WAIT_MAX, read).await {
            Ok(Ok(Ok(asset))) => Ok(Some(asset)),
            Ok(Ok(Err(Lack::Gone))) => Ok(None),
            Ok(Ok(Err(Lack::Away)) | Err(_)) | Err(_) => Err(ThemesAway),
        }
    }

    async fn read(&self, key: &AssetKey) -> Result<Asset, Lack> {
        if self.away_until().is_some_and(|until| Instant::now() < until) {
            return Err(Lack::Away);
        }
        match self.source.asset(&key.theme, &key.path, ASSET_MAX).await {
            Ok(bytes) => Asset::new(&key.path, bytes).ok_or(Lack::Gone),
            Err(SourceError::Fault(fault)) => {
                if let Some(held_back) = self.warnings.pass() {
                    tracing::warn!(%fault, held_back, "an asset can't be served");
                }
                Err(Lack::Gone)
            }
            Err(SourceError::Changed) => Err(Lack::Gone),
            Err(SourceError::Away(cause)) => {
                if let Some(held_back) = self.warnings.pass() {
                    tracing::warn!(
                        theme = key.theme,
                        cause,
                        held_back,
                        "an asset can't be read; those that are kept are served"
                    );
                }
                *self.away_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + AWAY_PAUSE);
                Err(Lack::Away)
            }
        }
    }

    fn warn_of_size(&self, file: &Path) {
        if let Some(held_back) = self.warnings.pass() {
            tracing::warn!(file = %file.display(), max = ASSET_MAX, held_back, "an asset is too large to be served");
        }
    }

    fn away_until(&self) -> Option<Instant> {
        *self.away_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

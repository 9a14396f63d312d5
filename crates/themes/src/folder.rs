//! Themes in a folder: one sub-folder each, read again when a file changes.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use vestibule_core::ThemeId;

use crate::ThemeError;
use crate::asset::{ASSET_MAX, Asset, content_type, is_safe_path};
use crate::loaded::{Loaded, Version, inside, version, warn};

/// How long a theme is taken to be as it was last seen.
pub const RECHECK_AFTER: Duration = Duration::from_secs(1);
/// Most bytes of assets that are kept in memory for one theme; others are read for each request.
const ASSETS_KEPT_MAX: usize = 16 * 1024 * 1024;
/// The theme of whoever has none.
const DEFAULT_THEME: &str = "default";

/// A folder of themes, and what was last seen in it. Themes are named in the settings, never by visitors, so there are
/// no more slots than themes that some queue names.
pub(crate) struct Folder {
    folder: PathBuf,
    slots: Mutex<HashMap<String, Arc<Mutex<Slot>>>>,
}

#[derive(Default)]
struct Slot {
    checked: Option<Instant>,
    version: Option<Version>,
    loaded: Option<Arc<Loaded>>,
    kept: HashMap<String, KeptAsset>,
}

struct KeptAsset {
    length: u64,
    modified: Option<SystemTime>,
    asset: Asset,
}

impl Folder {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, slots: Mutex::default() }
    }

    /// The theme, or the default one if it is missing, or `None` if that is missing too.
    pub(crate) fn theme(&self, theme: Option<&ThemeId>, now: Instant) -> Option<Arc<Loaded>> {
        theme.and_then(|theme| self.named(theme.as_str(), now)).or_else(|| self.named(DEFAULT_THEME, now))
    }

    /// The theme as it is on disk at this moment.
    pub(crate) fn read(&self, theme: &ThemeId) -> Result<Loaded, ThemeError> {
        let folder = self.folder.join(theme.as_str());
        let version = version(&folder).ok_or_else(|| ThemeError::Missing { theme: theme.clone() })?;
        Ok(Loaded::read(&folder, &version))
    }

    /// A file of the theme, or of the default one if the theme itself is missing.
    pub(crate) fn asset(&self, theme: &ThemeId, path: &str, now: Instant) -> Option<Asset> {
        if !is_safe_path(path) {
            return None;
        }
        let name = if self.named(theme.as_str(), now).is_some() { theme.as_str() } else { DEFAULT_THEME };
        lock(&self.slot(name)).asset(&self.folder.join(name), path)
    }

    fn named(&self, name: &str, now: Instant) -> Option<Arc<Loaded>> {
        lock(&self.slot(name)).refresh(&self.folder.join(name), now);
        lock(&self.slot(name)).loaded.clone()
    }

    fn slot(&self, name: &str) -> Arc<Mutex<Slot>> {
        let mut slots = lock(&self.slots);
        if let Some(slot) = slots.get(name) {
            return Arc::clone(slot);
        }
        Arc::clone(slots.entry(name.to_owned()).or_default())
    }
}

/// A panic elsewhere leaves nothing half done here, so a poisoned lock is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slot {
    /// Looks at the disk if it was long enough ago, and compiles anew what changed.
    fn refresh(&mut self, folder: &Path, now: Instant) {
        if self.checked.is_some_and(|checked| now.saturating_duration_since(checked) < RECHECK_AFTER) {
            return;
        }
        self.checked = Some(now);
        let version = version(folder);
        if version == self.version {
            return;
        }
        self.loaded = version.as_ref().map(|version| Arc::new(Loaded::read(folder, version)));
        self.version = version;
        for fault in self.loaded.iter().flat_map(|loaded| loaded.faults()) {
            warn(&fault);
        }
    }

    fn asset(&mut self, folder: &Path, path: &str) -> Option<Asset> {
        content_type(path)?;
        let file = inside(folder, path)?;
        let meta = fs::metadata(&file).ok()?;
        let (length, modified) = (meta.len(), meta.modified().ok());
        if let Some(kept) = self.kept.get(path)
            && (kept.length, kept.modified) == (length, modified)
        {
            return Some(kept.asset.clone());
        }
        let asset = Asset::new(path, read_limited(&file)?)?;
        self.keep(path, KeptAsset { length, modified, asset: asset.clone() });
        Some(asset)
    }

    fn keep(&mut self, path: &str, asset: KeptAsset) {
        self.kept.remove(path);
        let kept: usize = self.kept.values().map(|kept| kept.asset.bytes.len()).sum();
        if kept + asset.asset.bytes.len() <= ASSETS_KEPT_MAX {
            self.kept.insert(path.to_owned(), asset);
        }
    }
}

/// The whole file, unless it is larger than an asset may be, even if it grew since its length was asked.
fn read_limited(file: &Path) -> Option<Bytes> {
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(ASSET_MAX + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > ASSET_MAX {
        tracing::warn!(file = %file.display(), max = ASSET_MAX, "an asset is too large to be served");
        return None;
    }
    Some(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a test needs some instant to count from")]
    fn start() -> Instant {
        Instant::now()
    }

    #[test]
    fn a_changed_template_is_read_again_within_a_second() {
        let folder = tempfile::tempdir().unwrap();
        let theme: ThemeId = "acme".parse().unwrap();
        fs::create_dir(folder.path().join("acme")).unwrap();
        let file = folder.path().join("acme/queue.html");
        fs::write(&file, "{{ nope").unwrap();
        let (themes, now) = (Folder::new(folder.path().to_owned()), start());
        assert_eq!(themes.theme(Some(&theme), now).unwrap().faults().len(), 1);

        fs::write(&file, "good again").unwrap();
        assert_eq!(themes.theme(Some(&theme), now + RECHECK_AFTER / 2).unwrap().faults().len(), 1);
        assert_eq!(themes.theme(Some(&theme), now + RECHECK_AFTER).unwrap().faults().len(), 0);
    }

    #[test]
    fn a_theme_that_comes_or_goes_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let theme: ThemeId = "acme".parse().unwrap();
        let (themes, now) = (Folder::new(folder.path().to_owned()), start());
        assert!(themes.theme(Some(&theme), now).is_none());
        fs::create_dir(folder.path().join("acme")).unwrap();
        assert!(themes.theme(Some(&theme), now + RECHECK_AFTER).is_some());
        fs::remove_dir(folder.path().join("acme")).unwrap();
        assert!(themes.theme(Some(&theme), now + RECHECK_AFTER * 2).is_none());
    }

    #[test]
    fn a_changed_asset_has_another_etag() {
        let folder = tempfile::tempdir().unwrap();
        let theme: ThemeId = "acme".parse().unwrap();
        fs::create_dir(folder.path().join("acme")).unwrap();
        let themes = Folder::new(folder.path().to_owned());
        let file = folder.path().join("acme/a.css");
        let asset = |text: &str| {
            fs::write(&file, text).unwrap();
            themes.asset(&theme, "a.css", start()).unwrap()
        };
        let (first, second) = (asset("a{}"), asset("ab{}"));
        assert_eq!((&first.bytes[..], &second.bytes[..]), (&b"a{}"[..], &b"ab{}"[..]));
        assert_ne!(first.etag, second.etag);
    }
}

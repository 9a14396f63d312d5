//! The themes of one place, kept as they last worked. Requests take what is there; looks go on beside them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use vestibule_core::ThemeId;

use crate::ThemeError;
use crate::asset::{ASSET_MAX, Asset, content_type, is_safe_path};
use crate::assets::{AssetKey, Assets, ThemesAway};
use crate::freeze_safe;
use crate::loaded::Loaded;
use crate::look::{Before, Found, look};
use crate::slot::{FIRST_LOAD_MAX, Known, Slot, UnderWay};
use crate::source::{Source, SourceError};
use crate::throttle::Throttle;

/// Most themes that are kept; whichever was not wanted for longest makes room.
pub const THEMES_KEPT_MAX: usize = 1000;
/// How long one look at a theme may take.
const LOOK_MAX: Duration = Duration::from_secs(15);
/// The theme of whoever has none.
const DEFAULT_THEME: &str = "default";

/// The themes of one place. Themes are named in the settings, never by visitors.
pub(crate) struct Shelf {
    source: Arc<Source>,
    /// How long a theme is taken to be as it was last seen.
    recheck: Duration,
    slots: Mutex<HashMap<String, Arc<Slot>>>,
    assets: Arc<Assets>,
    warnings: Throttle,
}

impl Shelf {
    pub(crate) fn new(source: Source, recheck: Duration) -> Self {
        let source = Arc::new(source);
        let assets = Arc::new(Assets::new(Arc::clone(&source)));
        Self { source, recheck, slots: Mutex::default(), assets, warnings: Throttle::default() }
    }

    /// Begins to connect, and to read the theme that stands behind all others.
    #[cfg(feature = "s3")]
    pub(crate) fn warm_up(self: &Arc<Self>) {
        self.begin(DEFAULT_THEME);
    }

    /// The theme's pages, or the default ones if it has none that work, or `None` if that has none either.
    pub(crate) async fn pages(self: &Arc<Self>, theme: Option<&ThemeId>) -> Option<Arc<Loaded>> {
        let deadline = Instant::now() + FIRST_LOAD_MAX;
        for name in theme.map(ThemeId::as_str).into_iter().chain([DEFAULT_THEME]) {
            if let Some(pages) = self.known(name, deadline).await.pages {
                return Some(pages);
            }
        }
        None
    }

    /// A file of the theme; of the default one if the theme has no pages of its own to show.
    pub(crate) async fn asset(self: &Arc<Self>, theme: &ThemeId, path: &str) -> Result<Option<Asset>, ThemesAway> {
        match self.asset_key(theme, path).await? {
            Some(key) => self.assets.get(key).await,
            None => Ok(None),
        }
    }

    /// Whether [`Self::asset`] would find this file, as far as is known without reading it.
    pub(crate) async fn has_asset(self: &Arc<Self>, theme: &ThemeId, path: &str) -> bool {
        matches!(self.asset_key(theme, path).await, Ok(Some(key)) if key.stamp.bytes <= ASSET_MAX)
    }

    async fn asset_key(self: &Arc<Self>, theme: &ThemeId, path: &str) -> Result<Option<AssetKey>, ThemesAway> {
        if !is_safe_path(path) || content_type(path).is_none() {
            return Ok(None);
        }
        let deadline = Instant::now() + FIRST_LOAD_MAX;
        for name in [theme.as_str(), DEFAULT_THEME] {
            let Known { files, pages } = self.known(name, deadline).await;
            let files = files.ok_or(ThemesAway)?;
            if let Some(stamp) = self.source.stamp(name, path, &files).await {
                return Ok(Some(AssetKey { theme: name.to_owned(), path: path.to_owned(), stamp }));
            }
            if pages.is_some() {
                break;
            }
        }
        Ok(None)
    }

    /// Reads a theme anew and says what is wrong with it.
    pub(crate) async fn check(&self, theme: &ThemeId) -> Result<(), ThemeError> {
        let place = self.source.place(theme.as_str());
        let away = |message: String| ThemeError::Read { file: place.clone(), message };
        match self.look_at(theme.as_str(), &Before::default()).await {
            Ok(Found::Missing) => Err(ThemeError::Missing { theme: theme.clone() }),
            Ok(Found::Broken(_, _, faults)) => faults.into_iter().next().map_or(Ok(()), Err),
            Ok(Found::Same(_) | Found::Works(..)) => Ok(()),
            Err(SourceError::Fault(fault)) => Err(fault),
            Err(error) => Err(away(error.to_string())),
        }
    }

    /// What is known of a theme, after a look if it is time for one that requests wait for.
    async fn known(self: &Arc<Self>, name: &str, deadline: Instant) -> Known {
        let (slot, under_way) = self.begin(name);
        if let Some(under_way) = under_way {
            under_way.wait(deadline).await;
        }
        slot.known()
    }

    /// Begins a look if it is time for one and none is under way.
    fn begin(self: &Arc<Self>, name: &str) -> (Arc<Slot>, Option<UnderWay>) {
        let slot = self.slot(name);
        let (under_way, begun) = slot.begin(Instant::now(), self.recheck, self.source.is_near());
        if let Some(end) = begun {
            tokio::spawn(Arc::clone(self).look_beside(name.to_owned(), Arc::clone(&slot), end));
        }
        (slot, under_way)
    }

    fn slot(&self, name: &str) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get(name) {
            return Arc::clone(slot);
        }
        if slots.len() >= THEMES_KEPT_MAX {
            let oldest = slots.iter().min_by_key(|(_, slot)| slot.used()).map(|(name, _)| name.clone());
            oldest.and_then(|oldest| slots.remove(&oldest));
        }
        Arc::clone(slots.entry(name.to_owned()).or_default())
    }

    /// Looks at a theme, and keeps what is known if nothing can be seen. `_end` closes when this ends, however it does.
    async fn look_beside(self: Arc<Self>, name: String, slot: Arc<Slot>, _end: watch::Sender<()>) {
        match self.look_at(&name, &slot.before()).await {
            Ok(found) => {
                let faults = slot.take(found);
                let stands_in =
                    if slot.known().pages.is_some() { "the last that worked" } else { "the default or built-in one" };
                for fault in faults {
                    tracing::warn!(%fault, stands_in, "a theme is broken; another stands in");
                }
            }
            Err(error) => {
                slot.retry_soon(Instant::now());
                if let Some(held_back) = self.warnings.pass() {
                    tracing::warn!(place = %self.source.place(&name).display(), %error, held_back, "a theme can't be read; what was last read of it stays");
                }
            }
        }
    }

    async fn look_at(&self, name: &str, before: &Before) -> Result<Found, SourceError> {
        let found = freeze_safe::timeout(LOOK_MAX, look(&self.source, name, before)).await;
        found.unwrap_or_else(|| Err(SourceError::Away("no answer in time".to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;

    #[tokio::test(start_paused = true)]
    async fn the_theme_that_was_not_wanted_for_longest_makes_room() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Arc::new(Shelf::new(Source::Folder(Folder::new(folder.path())), Duration::ZERO));
        for n in 0..THEMES_KEPT_MAX {
            tokio::time::advance(Duration::from_millis(1)).await;
            shelf.begin(&format!("brand-{n}"));
        }
        tokio::time::advance(Duration::from_millis(1)).await;
        shelf.begin("brand-0");
        shelf.begin("one-more");
        let slots = shelf.slots.lock().unwrap();
        assert_eq!(slots.len(), THEMES_KEPT_MAX);
        assert!(slots.contains_key("brand-0") && slots.contains_key("one-more") && !slots.contains_key("brand-1"));
    }
}

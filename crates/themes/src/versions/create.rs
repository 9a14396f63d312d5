//! Lists themes, and creates versions without activating them.

use std::collections::BTreeMap;

use vestibule_core::{Micros, ThemeId};

use super::store::{self, ThemeLock};
use super::{Draft, ThemeVersion, ThemeVersions, VersionError, VersionId};

/// A stored theme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownTheme {
    /// Its ID.
    pub id: ThemeId,
    /// Whether gates find files of it. The others have versions only.
    pub live: bool,
}

impl ThemeVersions {
    /// All themes by ID: live ones, and those that have versions only.
    ///
    /// # Errors
    /// The storage cannot be read.
    pub async fn themes(&self) -> Result<Vec<KnownTheme>, VersionError> {
        let (shown, kept) = (self.store.folders("").await?, self.store.folders(store::VERSIONS_OF_ALL).await?);
        let known = |names: Vec<String>, live| {
            names.into_iter().filter_map(move |name| Some((name.parse::<ThemeId>().ok()?, live)))
        };
        let themes: BTreeMap<_, _> = known(kept, false).chain(known(shown, true)).collect();
        Ok(themes.into_iter().map(|(id, live)| KnownTheme { id, live }).collect())
    }

    /// Creates a version of the draft; [`Self::activate`] makes it live. Live files that were copied by hand become a
    /// version first, the live one.
    ///
    /// # Errors
    /// The storage cannot be written, or another operator is changing the theme.
    pub async fn create_version(
        &self,
        theme: &ThemeId,
        draft: &Draft,
        by: &str,
        now: Micros,
    ) -> Result<ThemeVersion, VersionError> {
        let lock = self.store.lock(theme, now).await?;
        let live = self.live_or_imported(&lock, theme, now).await;
        let created = match &live {
            Ok(_) => self.write_version(theme, draft.files(), Some(by), now).await.map(Some),
            Err(_) => Ok(None),
        };
        let pointer = live.as_ref().ok().cloned().flatten();
        let unlocked = self.store.unlock(theme, lock, pointer).await;
        let (live, created) = (live?, created?);
        unlocked?;
        let Some(id) = created else { return Err(VersionError::NotFound) };
        let manifest = self.store.manifest(theme, &id).await?.ok_or(VersionError::NotFound)?;
        if let Some(live) = &live {
            self.prune_or_warn(theme, live).await;
        }
        Ok(manifest.version(id, live.as_ref()))
    }

    /// The live version. Live files that were copied by hand become one.
    pub(super) async fn live_or_imported(
        &self,
        lock: &ThemeLock,
        theme: &ThemeId,
        now: Micros,
    ) -> Result<Option<VersionId>, VersionError> {
        if let Some(live) = lock.live() {
            return Ok(Some(live.clone()));
        }
        match self.live(theme).await? {
            Some(found) => self.write_version(theme, &found, None, Micros(now.0.saturating_sub(1))).await.map(Some),
            None => Ok(None),
        }
    }

    async fn prune_or_warn(&self, theme: &ThemeId, live: &VersionId) {
        if let Err(error) = self.prune_versions(theme, live).await {
            tracing::warn!(%theme, %error, "old versions could not be pruned");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ThemeFiles;
    use super::*;
    use crate::ThemesAddress;

    async fn draft(text: &str) -> Draft {
        let page = format!("{text} {{{{ script_tags }}}}");
        Draft::check(ThemeFiles::from([("queue.html".to_owned(), page.into())])).await.ok().unwrap()
    }

    #[tokio::test]
    async fn a_created_version_is_not_live_until_activated() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("acme/queue.html");
        std::fs::create_dir_all(page.parent().unwrap()).unwrap();
        std::fs::write(&page, "By hand {{ script_tags }}").unwrap();
        let shown = || std::fs::read_to_string(&page).unwrap();
        let versions_of = ThemeVersions::at(ThemesAddress::Folder(folder.path().to_owned()));
        let acme: ThemeId = "acme".parse().unwrap();

        let created = versions_of.create_version(&acme, &draft("One").await, "zoe", Micros(10)).await.unwrap();
        assert_eq!((created.live, created.by.as_deref()), (false, Some("zoe")));
        assert!(shown().starts_with("By hand"), "the version is not live");
        let versions = versions_of.versions(&acme).await.unwrap();
        let told: Vec<_> = versions.iter().map(|it| (it.by.as_deref(), it.live)).collect();
        assert_eq!(told, [(Some("zoe"), false), (None, true)], "the live files became a version");

        versions_of.activate(&acme, &created.id, Micros(11)).await.unwrap();
        assert!(shown().starts_with("One"));
        versions_of.create_version(&acme, &draft("Two").await, "zoe", Micros(12)).await.unwrap();
        assert_eq!(versions_of.versions(&acme).await.unwrap().len(), 3, "live files are imported once");
        versions_of.activate(&acme, &versions[1].id, Micros(13)).await.unwrap();
        assert!(shown().starts_with("By hand"));
        let other: ThemeId = "blue".parse().unwrap();
        versions_of.create_version(&other, &draft("Blue").await, "zoe", Micros(14)).await.unwrap();
        let known = [KnownTheme { id: acme, live: true }, KnownTheme { id: other, live: false }];
        assert_eq!(versions_of.themes().await.unwrap(), known);
    }
}

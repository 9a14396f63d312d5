//! The versions of themes: create, list, read, activate and deactivate them.
//!
//! A [`Draft`] is a set of validated files, and [`ThemeVersions`] takes nothing else: visitors never see a broken theme.
//! Versions are kept, can be read, and can be activated again.
//!
//! Gates read `<theme>/queue.html` and the files beside it. Versions are stored apart from them, in
//! `.versions/<theme>/<version>/`, so a theme can also be copied to its folder by hand. A folder is activated atomically,
//! by an exchange of names. A bucket has no exchange: assets are written first and pages last, then unused files are
//! deleted. A gate that reads meanwhile keeps the version that it has until the new one is valid.
//!
//! ```no_run
//! # use vestibule_core::{Micros, ThemeId};
//! # use vestibule_themes::{Draft, ThemeVersions, ThemeFiles, ThemesAddress};
//! # async fn publish(address: ThemesAddress, theme: ThemeId, now: Micros) -> Result<(), Box<dyn std::error::Error>> {
//! let versions = ThemeVersions::at(address);
//! let files = ThemeFiles::from([("queue.html".to_owned(), "Hello. {{ script_tags }}".into())]);
//! let draft = Draft::check(files).await.map_err(|faults| faults[0].clone())?;
//! let published = versions.publish(&theme, &draft, "anna", now).await?;
//! assert_eq!(versions.versions(&theme).await?[0], published);
//! let files = versions.read(&theme, &published.id).await?;
//! let again = versions.activate(&theme, &published.id, now).await?;
//! # Ok(())
//! # }
//! ```

mod create;
mod deactivate;
mod draft;
mod store;
mod version;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use vestibule_core::{Micros, ThemeId};

pub use self::create::KnownTheme;
pub use self::draft::{Draft, THEME_MAX, ThemeFiles};
use self::store::{ThemeLock, VersionStore};
use self::version::Manifest;
pub use self::version::{ThemeVersion, VersionId, VersionIdError};
use crate::ThemeError;
use crate::address::ThemesAddress;
#[cfg(feature = "s3")]
use crate::bucket::{BucketAddress, S3Server};
use crate::source::{FILES_MAX, SourceError};

/// Most versions that are kept of a theme. The oldest are pruned first, the live one never.
pub const VERSIONS_KEPT_MAX: usize = 50;
/// Concurrent requests for the files of a version.
const FILES_AT_ONCE: usize = 8;

/// Why an operation on versions failed.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    /// No such version of this theme.
    #[error("there is no such version")]
    NotFound,
    /// Another operator is changing this theme.
    #[error("another operator is changing this theme; try again in a moment")]
    Busy,
    /// The stored files are not a valid theme: an older version, or files that were copied by hand.
    #[error("{}", .0.first().map_or_else(String::new, ToString::to_string))]
    Invalid(Vec<ThemeError>),
    /// The storage cannot be read or written; the cause, for the log.
    #[error("theme storage is unavailable: {0}")]
    Unavailable(String),
}

impl From<SourceError> for VersionError {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Fault(fault) => Self::Invalid(vec![fault]),
            SourceError::Changed => Self::Busy,
            SourceError::Unavailable(cause) => Self::Unavailable(cause),
        }
    }
}

/// The versions of the themes at one address. Cheap to clone.
#[derive(Clone)]
pub struct ThemeVersions {
    store: VersionStore,
}

impl ThemeVersions {
    /// The themes at this address. The AWS environment configures access to a bucket; no request is sent yet.
    #[must_use]
    pub fn at(address: ThemesAddress) -> Self {
        match address {
            ThemesAddress::Folder(folder) => Self { store: VersionStore::folder(folder) },
            #[cfg(feature = "s3")]
            ThemesAddress::Bucket(address) => Self { store: VersionStore::bucket(address, None) },
        }
    }

    /// The themes of a bucket on this server.
    #[cfg(feature = "s3")]
    #[must_use]
    pub fn on_server(server: S3Server, address: BucketAddress) -> Self {
        Self { store: VersionStore::bucket(address, Some(server)) }
    }

    /// Creates a version of the draft and activates it. `by` is its author. Live files that were copied by hand become a
    /// version first.
    ///
    /// # Errors
    /// A version that was not written completely is not listed. One that was written but not activated is.
    pub async fn publish(
        &self,
        theme: &ThemeId,
        draft: &Draft,
        by: &str,
        now: Micros,
    ) -> Result<ThemeVersion, VersionError> {
        let lock = self.store.lock(theme, now).await?;
        let published = self.publish_locked(&lock, theme, draft, by, now).await;
        self.finish(theme, lock, published).await
    }

    /// The theme's versions, newest first.
    ///
    /// # Errors
    /// The storage cannot be read.
    pub async fn versions(&self, theme: &ThemeId) -> Result<Vec<ThemeVersion>, VersionError> {
        let (live, ids) = (self.store.live(theme).await?, self.ids(theme).await?);
        let told = ids.into_iter().rev().map(|id| async {
            let manifest = self.store.manifest(theme, &id).await?;
            Ok::<_, VersionError>(manifest.map(|manifest| manifest.version(id, live.as_ref())))
        });
        let told: Vec<_> = stream::iter(told).buffered(FILES_AT_ONCE).try_collect().await?;
        Ok(told.into_iter().flatten().collect())
    }

    /// The files of a version.
    ///
    /// # Errors
    /// The version does not exist, or cannot be read.
    pub async fn read(&self, theme: &ThemeId, version: &VersionId) -> Result<ThemeFiles, VersionError> {
        let manifest = self.store.manifest(theme, version).await?.ok_or(VersionError::NotFound)?;
        let folder = store::folder_of(theme, version);
        self.files(manifest.files.into_keys().map(|path| (format!("{folder}{path}"), path)).collect()).await
    }

    /// The live files of the theme; `None` if there are none. Files that gates do not read are left out.
    ///
    /// # Errors
    /// The storage cannot be read, or the theme has too many files.
    pub async fn live(&self, theme: &ThemeId) -> Result<Option<ThemeFiles>, VersionError> {
        let paths = self.live_paths(theme).await?;
        if paths.len() > FILES_MAX {
            let place = self.store.place(theme);
            return Err(VersionError::Invalid(vec![ThemeError::TooManyFiles { place, max: FILES_MAX }]));
        }
        if paths.is_empty() {
            return Ok(None);
        }
        self.files(paths.into_iter().map(|path| (format!("{theme}/{path}"), path)).collect()).await.map(Some)
    }

    /// The paths of the live files of the theme.
    ///
    /// # Errors
    /// The storage cannot be read.
    pub async fn live_paths(&self, theme: &ThemeId) -> Result<Vec<String>, VersionError> {
        let mut paths = self.store.files(&format!("{theme}/")).await?;
        paths.retain(|path| draft::is_file_of_a_theme(path));
        Ok(paths)
    }

    /// Validates a version and makes it the live one. Its place in the list of versions stays.
    ///
    /// # Errors
    /// The version does not exist, is not valid, or could not be activated.
    pub async fn activate(
        &self,
        theme: &ThemeId,
        version: &VersionId,
        now: Micros,
    ) -> Result<ThemeVersion, VersionError> {
        let draft = Draft::check(self.read(theme, version).await?).await.map_err(VersionError::Invalid)?;
        let lock = self.store.lock(theme, now).await?;
        let shown = self.activate_locked(theme, version, &draft).await;
        self.finish(theme, lock, shown).await
    }

    async fn publish_locked(
        &self,
        lock: &ThemeLock,
        theme: &ThemeId,
        draft: &Draft,
        by: &str,
        now: Micros,
    ) -> Result<ThemeVersion, VersionError> {
        if lock.live().is_none()
            && let Some(found) = self.live(theme).await?
        {
            self.write_version(theme, &found, None, Micros(now.0.saturating_sub(1))).await?;
        }
        let version = self.write_version(theme, draft.files(), Some(by), now).await?;
        let shown = self.activate_locked(theme, &version, draft).await?;
        if let Err(error) = self.prune_versions(theme, &version).await {
            tracing::warn!(%theme, %error, "old versions could not be pruned");
        }
        Ok(shown)
    }

    /// Writes a version, its manifest last: files without a manifest are no version.
    async fn write_version(
        &self,
        theme: &ThemeId,
        files: &ThemeFiles,
        by: Option<&str>,
        now: Micros,
    ) -> Result<VersionId, VersionError> {
        let (id, manifest) = (VersionId::of(now, files), Manifest::of(files, by, now));
        let folder = store::folder_of(theme, &id);
        let write = |(path, content): (&String, &Bytes)| self.store.write(format!("{folder}{path}"), content.clone());
        let writes: Vec<_> = files.iter().map(write).collect();
        stream::iter(writes).buffer_unordered(FILES_AT_ONCE).try_collect::<()>().await?;
        self.store.write_manifest(theme, &id, &manifest).await?;
        Ok(id)
    }

    async fn activate_locked(
        &self,
        theme: &ThemeId,
        version: &VersionId,
        draft: &Draft,
    ) -> Result<ThemeVersion, VersionError> {
        self.store.activate(theme, draft.files()).await?;
        let manifest = self.store.manifest(theme, version).await?.ok_or(VersionError::NotFound)?;
        Ok(manifest.version(version.clone(), Some(version)))
    }

    /// Unlocks the theme and records the new live version, if there is one.
    async fn finish(
        &self,
        theme: &ThemeId,
        lock: ThemeLock,
        shown: Result<ThemeVersion, VersionError>,
    ) -> Result<ThemeVersion, VersionError> {
        let live = shown.as_ref().ok().map(|version| version.id.clone()).or_else(|| lock.live().cloned());
        let unlocked = self.store.unlock(theme, lock, live).await;
        let shown = shown?;
        unlocked?;
        Ok(shown)
    }

    /// Removes the oldest versions above the limit, and incomplete ones.
    async fn prune_versions(&self, theme: &ThemeId, live: &VersionId) -> Result<(), VersionError> {
        let mut whole = Vec::new();
        for id in self.ids(theme).await?.into_iter().rev() {
            let is_whole = self.store.manifest(theme, &id).await?.is_some();
            if is_whole && (whole.len() < VERSIONS_KEPT_MAX || id == *live) {
                whole.push(id);
            } else {
                self.store.remove_version(theme, &id).await?;
            }
        }
        Ok(())
    }

    /// The IDs of all versions, oldest first; some may be incomplete.
    async fn ids(&self, theme: &ThemeId) -> Result<Vec<VersionId>, VersionError> {
        let names = self.store.folders(&store::versions_of(theme)).await?;
        let mut ids: Vec<VersionId> = names.into_iter().filter_map(|name| name.parse().ok()).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// The content of these files (path to read, path in the result). A file that was removed meanwhile is left out.
    async fn files(&self, paths: Vec<(String, String)>) -> Result<ThemeFiles, VersionError> {
        let reads = paths.into_iter().map(|(from, path)| async {
            let content = self.store.read(from, draft::max_of(&path)).await?;
            Ok::<_, VersionError>(content.map(|content| (path, content)))
        });
        let files: Vec<_> = stream::iter(reads).buffered(FILES_AT_ONCE).try_collect().await?;
        Ok(files.into_iter().flatten().collect())
    }
}

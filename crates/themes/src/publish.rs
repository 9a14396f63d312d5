//! The writer's side: a set of files becomes a theme's next version.
//!
//! A [`Draft`] is a set of files that was checked as gates check them, and a [`Publisher`] takes nothing else: what
//! doesn't work is never visible. Every version is kept, can be read back, and can be made live again.
//!
//! Gates read what they always read, `<theme>/queue.html` and the files beside it. Versions lie apart from it, in
//! `.versions/<theme>/<version>/`, so that whoever copies a theme there by hand still may. A folder changes from one
//! version to the next at once, by an exchange of names. A bucket can't exchange anything: there the assets are written
//! first, the pages last, and what is no longer used is removed after them; a gate that looks meanwhile keeps what
//! worked until all of a version works together.
//!
//! ```no_run
//! # use vestibule_core::{Micros, ThemeId};
//! # use vestibule_themes::{Draft, Publisher, ThemeFiles, ThemesAddress};
//! # async fn publish(address: ThemesAddress, theme: ThemeId, now: Micros) -> Result<(), Box<dyn std::error::Error>> {
//! let publisher = Publisher::at(address);
//! let files = ThemeFiles::from([("queue.html".to_owned(), "Hello. {{ script_tags }}".into())]);
//! let draft = Draft::check(files).await.map_err(|faults| faults[0].clone())?;
//! let published = publisher.publish(&theme, &draft, "anna", now).await?;
//! assert_eq!(publisher.versions(&theme).await?[0], published);
//! let files = publisher.read(&theme, &published.id).await?;
//! let again = publisher.roll_back(&theme, &published.id, now).await?;
//! # Ok(())
//! # }
//! ```

mod depot;
mod draft;
mod stage;
mod version;
mod withdraw;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use vestibule_core::{Micros, ThemeId};

use self::depot::{Claim, Depot};
pub use self::draft::{Draft, THEME_MAX, ThemeFiles};
pub use self::stage::KnownTheme;
use self::version::Manifest;
pub use self::version::{ThemeVersion, VersionId, VersionIdError};
use crate::ThemeError;
use crate::address::ThemesAddress;
#[cfg(feature = "s3")]
use crate::bucket::{BucketAddress, S3Server};
use crate::source::{FILES_MAX, SourceError};

/// Most versions of a theme that are kept; the oldest go first, the live one never.
pub const VERSIONS_KEPT_MAX: usize = 50;
/// Requests for files of one version that are under way at the same time.
const FILES_AT_ONCE: usize = 8;

/// Why nothing was published, or can be read.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// No such version of this theme.
    #[error("there is no such version")]
    NoVersion,
    /// Somebody else publishes this theme at this moment.
    #[error("somebody else publishes this theme; try again in a moment")]
    Busy,
    /// What is there can't be published as it is: a version from before a limit, or a theme put there by hand.
    #[error("{}", .0.first().map_or_else(String::new, ToString::to_string))]
    Faults(Vec<ThemeError>),
    /// The place can't be read or written; the cause, for the log.
    #[error("the place of the themes can't be reached: {0}")]
    Away(String),
}

impl From<SourceError> for PublishError {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Fault(fault) => Self::Faults(vec![fault]),
            SourceError::Changed => Self::Busy,
            SourceError::Away(cause) => Self::Away(cause),
        }
    }
}

/// Publishes themes at one place. Cheap to clone.
#[derive(Clone)]
pub struct Publisher {
    depot: Depot,
}

impl Publisher {
    /// The themes at this address. A bucket is found by the usual AWS environment; nothing is asked of it yet.
    #[must_use]
    pub fn at(address: ThemesAddress) -> Self {
        match address {
            ThemesAddress::Folder(folder) => Self { depot: Depot::folder(folder) },
            #[cfg(feature = "s3")]
            ThemesAddress::Bucket(address) => Self { depot: Depot::bucket(address, None) },
        }
    }

    /// The themes of a bucket on a server that the environment doesn't name.
    #[cfg(feature = "s3")]
    #[must_use]
    pub fn on_server(server: S3Server, address: BucketAddress) -> Self {
        Self { depot: Depot::bucket(address, Some(server)) }
    }

    /// Makes a draft the theme's newest version, and live. `by` is told with the version: who did it. Of a theme that
    /// was put there by hand, what was there becomes a version before it.
    ///
    /// # Errors
    /// Nothing is visible of a version that could not be written as a whole. One that could, and did not become live,
    /// is among the versions.
    pub async fn publish(
        &self,
        theme: &ThemeId,
        draft: &Draft,
        by: &str,
        now: Micros,
    ) -> Result<ThemeVersion, PublishError> {
        let claim = self.depot.claim(theme, now).await?;
        let published = self.publish_claimed(&claim, theme, draft, by, now).await;
        self.finish(theme, claim, published).await
    }

    /// The theme's versions, newest first.
    ///
    /// # Errors
    /// The place can't be read.
    pub async fn versions(&self, theme: &ThemeId) -> Result<Vec<ThemeVersion>, PublishError> {
        let (live, ids) = (self.depot.live(theme).await?, self.ids(theme).await?);
        let told = ids.into_iter().rev().map(|id| async {
            let manifest = self.depot.manifest(theme, &id).await?;
            Ok::<_, PublishError>(manifest.map(|manifest| manifest.version(id, live.as_ref())))
        });
        let told: Vec<_> = stream::iter(told).buffered(FILES_AT_ONCE).try_collect().await?;
        Ok(told.into_iter().flatten().collect())
    }

    /// The files of a version, as they were published.
    ///
    /// # Errors
    /// There is no such version, or it can't be read.
    pub async fn read(&self, theme: &ThemeId, version: &VersionId) -> Result<ThemeFiles, PublishError> {
        let manifest = self.depot.manifest(theme, version).await?.ok_or(PublishError::NoVersion)?;
        let folder = depot::folder_of(theme, version);
        self.files(manifest.files.into_keys().map(|path| (format!("{folder}{path}"), path)).collect()).await
    }

    /// The theme's files as gates find them now; `None` if there are none. What no gate reads is left out.
    ///
    /// # Errors
    /// The place can't be read, or has more in it than a theme may.
    pub async fn live(&self, theme: &ThemeId) -> Result<Option<ThemeFiles>, PublishError> {
        let paths = self.live_paths(theme).await?;
        if paths.len() > FILES_MAX {
            let place = self.depot.place(theme);
            return Err(PublishError::Faults(vec![ThemeError::TooManyFiles { place, max: FILES_MAX }]));
        }
        if paths.is_empty() {
            return Ok(None);
        }
        self.files(paths.into_iter().map(|path| (format!("{theme}/{path}"), path)).collect()).await.map(Some)
    }

    /// The paths of the theme's files as gates find them now.
    ///
    /// # Errors
    /// The place can't be read.
    pub async fn live_paths(&self, theme: &ThemeId) -> Result<Vec<String>, PublishError> {
        let mut paths = self.depot.files(&format!("{theme}/")).await?;
        paths.retain(|path| draft::is_file_of_a_theme(path));
        Ok(paths)
    }

    /// Makes an older version live again, once it was checked anew. It stays where it is among the versions.
    ///
    /// # Errors
    /// There is no such version, it is not good any more, or it could not be made live.
    pub async fn roll_back(
        &self,
        theme: &ThemeId,
        version: &VersionId,
        now: Micros,
    ) -> Result<ThemeVersion, PublishError> {
        let draft = Draft::check(self.read(theme, version).await?).await.map_err(PublishError::Faults)?;
        let claim = self.depot.claim(theme, now).await?;
        let shown = self.show(theme, version, &draft).await;
        self.finish(theme, claim, shown).await
    }

    async fn publish_claimed(
        &self,
        claim: &Claim,
        theme: &ThemeId,
        draft: &Draft,
        by: &str,
        now: Micros,
    ) -> Result<ThemeVersion, PublishError> {
        if claim.live().is_none()
            && let Some(found) = self.live(theme).await?
        {
            self.keep(theme, &found, None, Micros(now.0.saturating_sub(1))).await?;
        }
        let version = self.keep(theme, draft.files(), Some(by), now).await?;
        let shown = self.show(theme, &version, draft).await?;
        if let Err(error) = self.tidy(theme, &version).await {
            tracing::warn!(%theme, %error, "a version was published; older ones could not be tidied up");
        }
        Ok(shown)
    }

    /// Writes a version, its manifest last: what has none is not whole, and no version.
    async fn keep(
        &self,
        theme: &ThemeId,
        files: &ThemeFiles,
        by: Option<&str>,
        now: Micros,
    ) -> Result<VersionId, PublishError> {
        let (id, manifest) = (VersionId::of(now, files), Manifest::of(files, by, now));
        let folder = depot::folder_of(theme, &id);
        let write = |(path, content): (&String, &Bytes)| self.depot.write(format!("{folder}{path}"), content.clone());
        let writes: Vec<_> = files.iter().map(write).collect();
        stream::iter(writes).buffer_unordered(FILES_AT_ONCE).try_collect::<()>().await?;
        self.depot.write_manifest(theme, &id, &manifest).await?;
        Ok(id)
    }

    async fn show(&self, theme: &ThemeId, version: &VersionId, draft: &Draft) -> Result<ThemeVersion, PublishError> {
        self.depot.show(theme, draft.files()).await?;
        let manifest = self.depot.manifest(theme, version).await?.ok_or(PublishError::NoVersion)?;
        Ok(manifest.version(version.clone(), Some(version)))
    }

    /// Lets others publish again, with the new version as the live one if there is one.
    async fn finish(
        &self,
        theme: &ThemeId,
        claim: Claim,
        shown: Result<ThemeVersion, PublishError>,
    ) -> Result<ThemeVersion, PublishError> {
        let live = shown.as_ref().ok().map(|version| version.id.clone()).or_else(|| claim.live().cloned());
        let released = self.depot.release(theme, claim, live).await;
        let shown = shown?;
        released?;
        Ok(shown)
    }

    /// Removes the oldest versions above the limit, and what is left of ones that were never whole.
    async fn tidy(&self, theme: &ThemeId, live: &VersionId) -> Result<(), PublishError> {
        let mut whole = Vec::new();
        for id in self.ids(theme).await?.into_iter().rev() {
            let is_whole = self.depot.manifest(theme, &id).await?.is_some();
            if is_whole && (whole.len() < VERSIONS_KEPT_MAX || id == *live) {
                whole.push(id);
            } else {
                self.depot.remove_version(theme, &id).await?;
            }
        }
        Ok(())
    }

    /// What there is of versions, oldest first; some may not be whole.
    async fn ids(&self, theme: &ThemeId) -> Result<Vec<VersionId>, PublishError> {
        let names = self.depot.folders(&depot::versions_of(theme)).await?;
        let mut ids: Vec<VersionId> = names.into_iter().filter_map(|name| name.parse().ok()).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// The content of these files, by the second name of each. A file that went meanwhile is left out.
    async fn files(&self, paths: Vec<(String, String)>) -> Result<ThemeFiles, PublishError> {
        let reads = paths.into_iter().map(|(from, path)| async {
            let content = self.depot.read(from, draft::max_of(&path)).await?;
            Ok::<_, PublishError>(content.map(|content| (path, content)))
        });
        let files: Vec<_> = stream::iter(reads).buffered(FILES_AT_ONCE).try_collect().await?;
        Ok(files.into_iter().flatten().collect())
    }
}

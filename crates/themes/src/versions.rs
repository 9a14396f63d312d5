//! The versions of themes: create, list, read, activate and deactivate them.
//!
//! A [`Draft`] is a set of validated files, and a version is made of nothing else. A version is written once, below
//! `.versions/<theme>/`, and never changed; the pointer beside the versions says which one is live. So uploads do not
//! disturb each other, and an activation is one write that names the revision which the operator saw: of two concurrent
//! changes one wins, and the other is a [`VersionError::Conflict`].
//!
//! ```no_run
//! # use vestibule_core::{Micros, ThemeId};
//! # use vestibule_themes::{Draft, ThemeVersions, ThemeFiles, ThemesAddress};
//! # async fn publish(address: ThemesAddress, theme: ThemeId, now: Micros) -> Result<(), Box<dyn std::error::Error>> {
//! let versions = ThemeVersions::at(address);
//! let files = ThemeFiles::from([("queue.html".to_owned(), "Hello. {{ script_tags }}".into())]);
//! let draft = Draft::check(files).await.map_err(|faults| faults[0].clone())?;
//! let created = versions.create(&theme, &draft, "anna", now).await?;
//! let known = versions.list(&theme).await?.revision;
//! let (_, change) = versions.activate(&theme, &created.id, Some(known), "anna", now).await?;
//! assert_eq!(change.revision, known + 1);
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
#[cfg(feature = "s3")]
use vestibule_aws::AwsServer;
use vestibule_core::{Micros, ThemeId};

use crate::ThemeError;
#[cfg(feature = "s3")]
use crate::address::BucketAddress;
use crate::address::ThemesAddress;
#[cfg(feature = "s3")]
use crate::bucket::Bucket;
use crate::draft::{Draft, ThemeFiles, is_theme_file, max_of};
use crate::files::{FILES_MAX, StorageError};
use crate::live::{LiveRecord, Recent, record_path};
use crate::open_storage::storage_at;
use crate::storage::Storage;
use crate::version::{Manifest, ThemeVersion, VERSIONS, VersionId, folder_of, json, manifest_path, versions_of};

/// Most versions of a theme that are listed and can be activated, beside the live one.
pub const VERSIONS_KEPT_MAX: usize = 50;
/// Seconds for which a version is stored after newer ones displaced it: a gate may still be reading it, or an operator
/// activating it.
pub const PRUNE_AFTER: u64 = 86_400;
/// Records of changes that are kept.
const RECORDS_KEPT_MAX: u64 = 50;
/// Concurrent requests for the files of a version.
const FILES_AT_ONCE: usize = 8;
/// How often a change for any revision is tried while others change the theme too.
const ATTEMPTS_MAX: usize = 10;

/// Why an operation on versions failed.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    /// No such version of this theme.
    #[error("there is no such version")]
    NotFound,
    /// The theme changed since the revision that was named.
    #[error("the theme was changed by someone else; its revision is {revision}")]
    Conflict {
        /// The current revision.
        revision: u64,
    },
    /// The stored files are not a valid theme: an older version, or files that were copied by hand.
    #[error("{}", .0.first().map_or_else(String::new, ToString::to_string))]
    Invalid(Vec<ThemeError>),
    /// The storage cannot be read or written; the cause, for the log.
    #[error("theme storage is unavailable: {0}")]
    Unavailable(String),
}

impl From<StorageError> for VersionError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Fault(fault) => Self::Invalid(vec![fault]),
            StorageError::Changed => Self::Unavailable(error.to_string()),
            StorageError::Unavailable(cause) => Self::Unavailable(cause),
        }
    }
}

/// The versions of a theme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionList {
    /// The revision of the theme: the number of activations and deactivations. 0 means that the theme is the files that
    /// were copied to its folder by hand, if any.
    pub revision: u64,
    /// The versions, newest first.
    pub versions: Vec<ThemeVersion>,
}

/// A change of the live version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveChange {
    /// The revision after it.
    pub revision: u64,
    /// The version that was live before it.
    pub before: Option<VersionId>,
    /// False if nothing had to be changed.
    pub is_changed: bool,
}

/// The versions of the themes at one address. Cheap to clone.
#[derive(Clone)]
pub struct ThemeVersions {
    storage: Arc<dyn Storage>,
}

impl ThemeVersions {
    /// The themes at this address. The AWS environment configures access to a bucket; no request is sent yet.
    pub fn at(address: ThemesAddress) -> Self {
        Self { storage: storage_at(address) }
    }

    /// The themes of a bucket on this server.
    #[cfg(feature = "s3")]
    pub fn on_server(server: AwsServer, address: BucketAddress) -> Self {
        Self { storage: Arc::new(Bucket::new(address, Some(server))) }
    }

    /// All themes by ID: those with versions, and those that were copied by hand.
    ///
    /// # Errors
    /// The storage cannot be read.
    pub async fn themes(&self) -> Result<BTreeSet<ThemeId>, VersionError> {
        let (copied, uploaded) = (self.storage.folders("").await?, self.storage.folders(VERSIONS).await?);
        Ok(copied.iter().chain(&uploaded).filter_map(|name| name.parse().ok()).collect())
    }

    /// Whether visitors see this theme: a version, or files that were copied by hand.
    ///
    /// # Errors
    /// The storage cannot be read.
    pub async fn is_live(&self, theme: &ThemeId) -> Result<bool, VersionError> {
        let recent = Recent::read(&*self.storage, theme.as_str()).await?;
        Ok(if recent.revision == 0 { !self.copied(theme).await?.is_empty() } else { recent.live().is_some() })
    }

    /// The revision of the theme and its versions.
    ///
    /// # Errors
    /// The storage cannot be read.
    pub async fn list(&self, theme: &ThemeId) -> Result<VersionList, VersionError> {
        let recent = Recent::read(&*self.storage, theme.as_str()).await?;
        let versions = self.available(theme, &recent).await?.into_iter().map(|id| async {
            let manifest = Manifest::read(&*self.storage, theme.as_str(), &id).await?;
            Ok::<_, VersionError>(manifest.map(|manifest| manifest.version(id, recent.live())))
        });
        let versions: Vec<_> = stream::iter(versions).buffered(FILES_AT_ONCE).try_collect().await?;
        Ok(VersionList { revision: recent.revision, versions: versions.into_iter().flatten().collect() })
    }

    /// The files of a version.
    ///
    /// # Errors
    /// The version does not exist, or cannot be read.
    pub async fn read(&self, theme: &ThemeId, version: &VersionId) -> Result<ThemeFiles, VersionError> {
        Ok(self.read_version(theme, version).await?.1)
    }

    /// The live files of the theme; `None` if there are none. Files that gates do not read are left out.
    ///
    /// # Errors
    /// The storage cannot be read, or the theme has too many files.
    pub async fn live(&self, theme: &ThemeId) -> Result<Option<ThemeFiles>, VersionError> {
        let recent = Recent::read(&*self.storage, theme.as_str()).await?;
        if recent.revision > 0 {
            let Some(version) = recent.live() else { return Ok(None) };
            return self.read(theme, version).await.map(Some);
        }
        let paths = self.copied(theme).await?;
        let files = self.files(&copied_folder(theme), paths).await?;
        Ok(Some(files).filter(|files| !files.is_empty()))
    }

    /// The paths of the live files of the theme.
    ///
    /// # Errors
    /// The storage cannot be read, or the theme has too many files.
    pub async fn live_paths(&self, theme: &ThemeId) -> Result<Vec<String>, VersionError> {
        let recent = Recent::read(&*self.storage, theme.as_str()).await?;
        if recent.revision == 0 {
            return self.copied(theme).await;
        }
        let Some(version) = recent.live() else { return Ok(Vec::new()) };
        let manifest = Manifest::read(&*self.storage, theme.as_str(), version).await?;
        Ok(manifest.map(|manifest| manifest.paths().cloned().collect()).unwrap_or_default())
    }

    /// Creates a version of the draft; [`Self::activate`] makes it live. `by` is its author.
    ///
    /// # Errors
    /// The storage cannot be written. A version that was not written completely is not listed.
    pub async fn create(
        &self,
        theme: &ThemeId,
        draft: &Draft,
        by: &str,
        now: Micros,
    ) -> Result<ThemeVersion, VersionError> {
        let files = draft.files();
        let (id, manifest) = (VersionId::of(now, files), Manifest::of(files, by, now));
        let folder = folder_of(theme.as_str(), &id);
        // An existing file has the same content, because the ID contains a hash of all files.
        let create =
            |(path, content): (&String, &Bytes)| self.storage.create(format!("{folder}{path}"), content.clone());
        let creations: Vec<_> = files.iter().map(create).collect();
        stream::iter(creations).buffer_unordered(FILES_AT_ONCE).try_for_each(async |_| Ok(())).await?;
        self.storage.create(manifest_path(theme.as_str(), &id), json(&manifest)?).await?;
        if let Err(error) = self.prune(theme, now).await {
            tracing::warn!(%theme, %error, "old versions could not be removed");
        }
        Ok(manifest.version(id, None))
    }

    /// Validates a version and makes it the live one, if the theme still has the `expected` revision; `None` for any.
    ///
    /// # Errors
    /// The version does not exist or is not valid, or the theme has another revision.
    pub async fn activate(
        &self,
        theme: &ThemeId,
        version: &VersionId,
        expected: Option<u64>,
        by: &str,
        now: Micros,
    ) -> Result<(ThemeVersion, LiveChange), VersionError> {
        let (manifest, files) = self.read_version(theme, version).await?;
        Draft::check(files).await.map_err(VersionError::Invalid)?;
        let record = LiveRecord { version: Some(version.clone()), at: now, by: by.to_owned() };
        let change = self.change(theme, expected, record).await?;
        Ok((manifest.version(version.clone(), Some(version)), change))
    }

    /// Deactivates the theme, if it still has the `expected` revision; `None` for any. Visitors see the theme `default`
    /// or the built-in one. Versions and files that were copied by hand stay.
    ///
    /// # Errors
    /// The storage cannot be read or written, or the theme has another revision.
    pub async fn deactivate(
        &self,
        theme: &ThemeId,
        expected: Option<u64>,
        by: &str,
        now: Micros,
    ) -> Result<LiveChange, VersionError> {
        self.change(theme, expected, LiveRecord { version: None, at: now, by: by.to_owned() }).await
    }

    /// Deactivates a theme and removes it, with its versions and the files that were copied by hand.
    ///
    /// # Errors
    /// The storage cannot be read or written. A retry removes the rest.
    pub async fn remove(&self, theme: &ThemeId, by: &str, now: Micros) -> Result<(), VersionError> {
        // Deactivated first: gates see the theme or nothing of it, and a concurrent activation is a conflict.
        self.deactivate(theme, None, by, now).await?;
        self.storage.remove_all(copied_folder(theme)).await?;
        Ok(self.storage.remove_all(versions_of(theme.as_str())).await?)
    }

    async fn read_version(&self, theme: &ThemeId, version: &VersionId) -> Result<(Manifest, ThemeFiles), VersionError> {
        let manifest = Manifest::read(&*self.storage, theme.as_str(), version).await?.ok_or(VersionError::NotFound)?;
        let paths: Vec<_> = manifest.paths().cloned().collect();
        let expected = paths.len();
        let files = self.files(&folder_of(theme.as_str(), version), paths).await?;
        // A version that is being removed is no version.
        if files.len() == expected { Ok((manifest, files)) } else { Err(VersionError::NotFound) }
    }

    /// Creates the next record if the theme has the expected revision.
    async fn change(
        &self,
        theme: &ThemeId,
        expected: Option<u64>,
        record: LiveRecord,
    ) -> Result<LiveChange, VersionError> {
        let mut attempts = 1;
        loop {
            let recent = Recent::read(&*self.storage, theme.as_str()).await?;
            let revision = recent.revision;
            if attempts > ATTEMPTS_MAX || expected.is_some_and(|expected| expected != revision) {
                return Err(VersionError::Conflict { revision });
            }
            let before = recent.live().cloned();
            if revision > 0 && before == record.version {
                return Ok(LiveChange { revision, before, is_changed: false });
            }
            if let Some(version) = &record.version
                && !self.available(theme, &recent).await?.contains(version)
            {
                return Err(VersionError::NotFound);
            }
            if self.append(theme, revision + 1, &record).await? {
                return Ok(LiveChange { revision: revision + 1, before, is_changed: true });
            }
            attempts += 1;
        }
    }

    /// Creates a record and removes the oldest one. Returns whether it was created: someone else may have created it.
    async fn append(&self, theme: &ThemeId, revision: u64, record: &LiveRecord) -> Result<bool, VersionError> {
        let path = record_path(theme.as_str(), revision);
        let is_created = self.storage.create(path, json(record)?).await?
            // The response of a first attempt may have been lost.
            || LiveRecord::read(&*self.storage, theme.as_str(), revision).await?.as_ref() == Some(record);
        if let Some(oldest) = revision.checked_sub(RECORDS_KEPT_MAX).filter(|_| is_created)
            && let Err(error) = self.storage.remove(record_path(theme.as_str(), oldest)).await
        {
            tracing::warn!(%theme, %error, "an old activation record could not be removed");
        }
        Ok(is_created)
    }

    /// The versions that are listed and can be activated, newest first; some may be incomplete.
    async fn available(&self, theme: &ThemeId, recent: &Recent) -> Result<Vec<VersionId>, VersionError> {
        let ids = self.ids(theme).await?.into_iter().enumerate();
        let is_available = |(index, id): &(usize, VersionId)| *index < VERSIONS_KEPT_MAX || recent.names(id);
        Ok(ids.filter(is_available).map(|(_, id)| id).collect())
    }

    /// Removes versions that newer ones displaced long ago. Incomplete versions are displaced like all others.
    async fn prune(&self, theme: &ThemeId, now: Micros) -> Result<(), VersionError> {
        let ids = self.ids(theme).await?;
        if ids.len() <= VERSIONS_KEPT_MAX {
            return Ok(());
        }
        let recent = Recent::read(&*self.storage, theme.as_str()).await?;
        for (displacing, id) in ids.iter().zip(&ids[VERSIONS_KEPT_MAX..]) {
            if displacing.created_at().add_seconds(PRUNE_AFTER) <= now && !recent.names(id) {
                self.storage.remove(manifest_path(theme.as_str(), id)).await?;
                self.storage.remove_all(folder_of(theme.as_str(), id)).await?;
            }
        }
        Ok(())
    }

    /// The IDs of all versions, newest first; some may be incomplete.
    async fn ids(&self, theme: &ThemeId) -> Result<Vec<VersionId>, VersionError> {
        let names = self.storage.folders(&versions_of(theme.as_str())).await?;
        let mut ids: Vec<VersionId> = names.into_iter().filter_map(|name| name.parse().ok()).collect();
        ids.sort_unstable_by(|one, other| other.cmp(one));
        Ok(ids)
    }

    /// The paths of the files that were copied by hand.
    async fn copied(&self, theme: &ThemeId) -> Result<Vec<String>, VersionError> {
        let folder = copied_folder(theme);
        let listing = self.storage.list(&folder, FILES_MAX).await?;
        if listing.cut_off {
            let folder = self.storage.location(&folder);
            return Err(VersionError::Invalid(vec![ThemeError::TooManyFiles { folder, max: FILES_MAX }]));
        }
        Ok(listing.files.into_keys().filter(|path| is_theme_file(path)).collect())
    }

    /// The content of these files. A file that was removed meanwhile is left out.
    async fn files(&self, folder: &str, paths: Vec<String>) -> Result<ThemeFiles, VersionError> {
        let reads = paths.into_iter().map(|path| async {
            let content = self.storage.read(folder, &path, None, max_of(&path)).await?;
            Ok::<_, VersionError>(content.map(|content| (path, content)))
        });
        let files: Vec<_> = stream::iter(reads).buffered(FILES_AT_ONCE).try_collect().await?;
        Ok(files.into_iter().flatten().collect())
    }
}

fn copied_folder(theme: &ThemeId) -> String {
    format!("{theme}/")
}

//! Stores versions in a folder or a bucket, and activates them there.

#[cfg(feature = "s3")]
mod bucket;
mod folder;

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use vestibule_core::{Micros, ThemeId};

use super::version::Manifest;
use super::{ThemeFiles, VersionError, VersionId};
#[cfg(feature = "s3")]
use crate::bucket::{Bucket, BucketAddress, S3Server};

/// The folder of all versions, beside the themes. No theme ID begins with a dot.
const VERSIONS: &str = ".versions";
/// Prefix of the versions of all themes.
pub(super) const VERSIONS_OF_ALL: &str = ".versions/";
/// The file beside the versions that names the live one and holds the lock.
const LIVE: &str = ".live";
/// The file beside the files of a version that lists them. No file of a theme begins with a dot.
const MANIFEST: &str = ".manifest.json";
/// Largest manifest in bytes: a thousand paths of 255 bytes fit.
const MANIFEST_MAX: u64 = 512 * 1024;

/// Prefix of the versions of a theme.
pub(super) fn versions_of(theme: &ThemeId) -> String {
    format!("{VERSIONS}/{theme}/")
}

/// Prefix of the files of a version.
pub(super) fn folder_of(theme: &ThemeId, version: &VersionId) -> String {
    format!("{}{version}/", versions_of(theme))
}

/// Where versions are stored. Paths are relative to it.
#[derive(Clone)]
pub(super) enum VersionStore {
    Folder(Arc<std::path::Path>),
    #[cfg(feature = "s3")]
    Bucket(Arc<Bucket>),
}

/// Keeps other operators from changing the theme until it is unlocked or expires.
pub(super) struct ThemeLock {
    live: Option<VersionId>,
    /// The file lock of a folder.
    _lock: Option<std::fs::File>,
}

impl ThemeLock {
    /// The live version; `None` if there is none.
    pub(super) const fn live(&self) -> Option<&VersionId> {
        self.live.as_ref()
    }
}

/// The live version of a theme, and the lock of a bucket.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Live {
    version: Option<VersionId>,
    /// When the lock of a bucket expires.
    #[serde(default)]
    locked_until: Micros,
}

impl VersionStore {
    pub(super) fn folder(folder: PathBuf) -> Self {
        Self::Folder(folder.into())
    }

    #[cfg(feature = "s3")]
    pub(super) fn bucket(address: BucketAddress, server: Option<S3Server>) -> Self {
        Self::Bucket(Arc::new(Bucket::new(address, server)))
    }

    pub(super) fn place(&self, theme: &ThemeId) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.join(theme.as_str()),
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket.place(theme.as_str()),
        }
    }

    #[cfg_attr(not(feature = "s3"), expect(unused_variables, reason = "only a bucket needs it"))]
    pub(super) async fn lock(&self, theme: &ThemeId, now: Micros) -> Result<ThemeLock, VersionError> {
        match self {
            Self::Folder(root) => folder::lock(root, &versions_of(theme)).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket::lock(bucket, &versions_of(theme), now).await,
        }
    }

    /// Unlocks the theme and records the live version.
    pub(super) async fn unlock(
        &self,
        theme: &ThemeId,
        lock: ThemeLock,
        version: Option<VersionId>,
    ) -> Result<(), VersionError> {
        let live = Live { version, locked_until: Micros::default() };
        let written = self.write(live_path(theme), json(&live)?).await;
        drop(lock);
        written
    }

    pub(super) async fn live(&self, theme: &ThemeId) -> Result<Option<VersionId>, VersionError> {
        let live = self.read(live_path(theme), MANIFEST_MAX).await?;
        Ok(live.map(|live| parsed::<Live>(&live)).transpose()?.and_then(|live| live.version))
    }

    /// `None` if the version does not exist or is incomplete.
    pub(super) async fn manifest(
        &self,
        theme: &ThemeId,
        version: &VersionId,
    ) -> Result<Option<Manifest>, VersionError> {
        let manifest = self.read(folder_of(theme, version) + MANIFEST, MANIFEST_MAX).await?;
        manifest.map(|manifest| parsed(&manifest)).transpose()
    }

    pub(super) async fn write_manifest(
        &self,
        theme: &ThemeId,
        version: &VersionId,
        manifest: &Manifest,
    ) -> Result<(), VersionError> {
        self.write(folder_of(theme, version) + MANIFEST, json(manifest)?).await
    }

    /// A file's content, if the file exists.
    pub(super) async fn read(&self, path: String, max: u64) -> Result<Option<Bytes>, VersionError> {
        match self {
            Self::Folder(root) => folder::read(root, path, max).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => Ok(bucket.get(&path, max).await?.map(|(content, _)| content)),
        }
    }

    /// Writes a file atomically.
    pub(super) async fn write(&self, path: String, content: Bytes) -> Result<(), VersionError> {
        match self {
            Self::Folder(root) => folder::write(root, path, content).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => Ok(bucket.put(&path, content, &crate::bucket::If::Always).await?),
        }
    }

    /// The paths of all files below `prefix`, without it.
    pub(super) async fn files(&self, prefix: &str) -> Result<Vec<String>, VersionError> {
        match self {
            Self::Folder(root) => folder::files(root, prefix).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => Ok(bucket.keys(prefix).await?),
        }
    }

    /// The names of the folders in a folder.
    pub(super) async fn folders(&self, prefix: &str) -> Result<Vec<String>, VersionError> {
        match self {
            Self::Folder(root) => folder::folders(root, prefix).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => Ok(bucket.folders(prefix).await?),
        }
    }

    pub(super) async fn remove_version(&self, theme: &ThemeId, version: &VersionId) -> Result<(), VersionError> {
        let folder = folder_of(theme, version);
        match self {
            Self::Folder(root) => folder::remove(root, &folder).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket::remove(bucket, &folder, MANIFEST).await,
        }
    }

    /// Removes the live files of a theme.
    pub(super) async fn deactivate(&self, theme: &ThemeId) -> Result<(), VersionError> {
        match self {
            Self::Folder(root) => folder::deactivate(root, theme).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket::activate(bucket, theme, &ThemeFiles::new()).await,
        }
    }

    /// Removes these versions and the files beside them, the lock last.
    #[cfg_attr(not(feature = "s3"), expect(unused_variables, reason = "only a bucket needs it"))]
    pub(super) async fn remove_versions(&self, theme: &ThemeId, ids: Vec<VersionId>) -> Result<(), VersionError> {
        match self {
            Self::Folder(root) => folder::remove_all(root, theme).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => {
                for id in &ids {
                    self.remove_version(theme, id).await?;
                }
                bucket::remove(bucket, &versions_of(theme), LIVE).await
            }
        }
    }

    /// Makes these files the live ones.
    pub(super) async fn activate(&self, theme: &ThemeId, files: &ThemeFiles) -> Result<(), VersionError> {
        match self {
            Self::Folder(root) => folder::activate(root, theme, files).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket::activate(bucket, theme, files).await,
        }
    }
}

fn live_path(theme: &ThemeId) -> String {
    format!("{}{LIVE}", versions_of(theme))
}

fn json(value: &impl Serialize) -> Result<Bytes, VersionError> {
    serde_json::to_vec(value).map(Bytes::from).map_err(|error| VersionError::Unavailable(error.to_string()))
}

fn parsed<T: for<'a> Deserialize<'a>>(text: &[u8]) -> Result<T, VersionError> {
    let odd =
        |error: serde_json::Error| VersionError::Unavailable(format!("invalid JSON beside the versions: {error}"));
    serde_json::from_slice(text).map_err(odd)
}

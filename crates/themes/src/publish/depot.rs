//! Where versions lie, and how one becomes live: in a folder, or in a bucket.

#[cfg(feature = "s3")]
mod bucket;
mod folder;

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use vestibule_core::{Micros, ThemeId};

use super::version::Manifest;
use super::{PublishError, ThemeFiles, VersionId};
#[cfg(feature = "s3")]
use crate::bucket::{Bucket, BucketAddress, S3Server};

/// Beside the themes; no theme is named like that.
const VERSIONS: &str = ".versions";
/// Versions of all themes lie below it.
pub(super) const VERSIONS_OF_ALL: &str = ".versions/";
/// Beside the versions: which one is live, and who has the claim.
const LIVE: &str = ".live";
/// Beside the files of a version; no file of a theme begins with a dot.
const MANIFEST: &str = ".manifest.json";
/// Most bytes of one: a thousand paths of 255 bytes each fit into it.
const MANIFEST_MAX: u64 = 512 * 1024;

/// Versions of a theme lie here.
pub(super) fn versions_of(theme: &ThemeId) -> String {
    format!("{VERSIONS}/{theme}/")
}

/// The files of a version lie here.
pub(super) fn folder_of(theme: &ThemeId, version: &VersionId) -> String {
    format!("{}{version}/", versions_of(theme))
}

/// One place. Paths are relative to it.
#[derive(Clone)]
pub(super) enum Depot {
    Folder(Arc<std::path::Path>),
    #[cfg(feature = "s3")]
    Bucket(Arc<Bucket>),
}

/// Nobody else publishes the theme until it is given back, or too old.
pub(super) struct Claim {
    live: Option<VersionId>,
    /// What keeps others away from a folder, for as long as it is open.
    _lock: Option<std::fs::File>,
}

impl Claim {
    /// The version that was live before; `None` if none was ever published.
    pub(super) const fn live(&self) -> Option<&VersionId> {
        self.live.as_ref()
    }
}

/// Which version is live, beside the versions.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Live {
    version: Option<VersionId>,
    /// Until when somebody has the claim on a bucket.
    #[serde(default)]
    claimed_until: Micros,
}

impl Depot {
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
    pub(super) async fn claim(&self, theme: &ThemeId, now: Micros) -> Result<Claim, PublishError> {
        match self {
            Self::Folder(root) => folder::claim(root, &versions_of(theme)).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket::claim(bucket, &versions_of(theme), now).await,
        }
    }

    /// Gives a claim back, and says which version is live.
    pub(super) async fn release(
        &self,
        theme: &ThemeId,
        claim: Claim,
        version: Option<VersionId>,
    ) -> Result<(), PublishError> {
        let live = Live { version, claimed_until: Micros::default() };
        let written = self.write(live_of(theme), json(&live)?).await;
        drop(claim);
        written
    }

    pub(super) async fn live(&self, theme: &ThemeId) -> Result<Option<VersionId>, PublishError> {
        let live = self.read(live_of(theme), MANIFEST_MAX).await?;
        Ok(live.map(|live| parsed::<Live>(&live)).transpose()?.and_then(|live| live.version))
    }

    /// `None` if there is no such version, or it is not whole.
    pub(super) async fn manifest(
        &self,
        theme: &ThemeId,
        version: &VersionId,
    ) -> Result<Option<Manifest>, PublishError> {
        let manifest = self.read(folder_of(theme, version) + MANIFEST, MANIFEST_MAX).await?;
        manifest.map(|manifest| parsed(&manifest)).transpose()
    }

    pub(super) async fn write_manifest(
        &self,
        theme: &ThemeId,
        version: &VersionId,
        manifest: &Manifest,
    ) -> Result<(), PublishError> {
        self.write(folder_of(theme, version) + MANIFEST, json(manifest)?).await
    }

    /// A file's content, if there is one.
    pub(super) async fn read(&self, path: String, max: u64) -> Result<Option<Bytes>, PublishError> {
        match self {
            Self::Folder(root) => folder::read(root, path, max).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => Ok(bucket.get(&path, max).await?.map(|(content, _)| content)),
        }
    }

    /// Writes a file: others see all of it or nothing.
    pub(super) async fn write(&self, path: String, content: Bytes) -> Result<(), PublishError> {
        match self {
            Self::Folder(root) => folder::write(root, path, content).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => Ok(bucket.put(&path, content, &crate::bucket::If::Always).await?),
        }
    }

    /// What follows `prefix` in the paths of all files that begin with it.
    pub(super) async fn files(&self, prefix: &str) -> Result<Vec<String>, PublishError> {
        match self {
            Self::Folder(root) => folder::files(root, prefix).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => Ok(bucket.keys(prefix).await?),
        }
    }

    /// The folders in a folder.
    pub(super) async fn folders(&self, prefix: &str) -> Result<Vec<String>, PublishError> {
        match self {
            Self::Folder(root) => folder::folders(root, prefix).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => Ok(bucket.folders(prefix).await?),
        }
    }

    pub(super) async fn remove_version(&self, theme: &ThemeId, version: &VersionId) -> Result<(), PublishError> {
        let folder = folder_of(theme, version);
        match self {
            Self::Folder(root) => folder::remove(root, &folder).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket::remove(bucket, &folder, MANIFEST).await,
        }
    }

    /// Takes away what gates read of a theme.
    pub(super) async fn hide(&self, theme: &ThemeId) -> Result<(), PublishError> {
        match self {
            Self::Folder(root) => folder::hide(root, theme).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket::show(bucket, theme, &ThemeFiles::new()).await,
        }
    }

    /// Removes these versions and whatever else is kept beside them, the claim at the end.
    #[cfg_attr(not(feature = "s3"), expect(unused_variables, reason = "only a bucket needs it"))]
    pub(super) async fn remove_versions(&self, theme: &ThemeId, ids: Vec<VersionId>) -> Result<(), PublishError> {
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

    /// Makes these files the theme that gates read.
    pub(super) async fn show(&self, theme: &ThemeId, files: &ThemeFiles) -> Result<(), PublishError> {
        match self {
            Self::Folder(root) => folder::show(root, theme, files).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket::show(bucket, theme, files).await,
        }
    }
}

fn live_of(theme: &ThemeId) -> String {
    format!("{}{LIVE}", versions_of(theme))
}

fn json(value: &impl Serialize) -> Result<Bytes, PublishError> {
    serde_json::to_vec(value).map(Bytes::from).map_err(|error| PublishError::Away(error.to_string()))
}

fn parsed<T: for<'a> Deserialize<'a>>(text: &[u8]) -> Result<T, PublishError> {
    let odd = |error: serde_json::Error| PublishError::Away(format!("a note beside the versions is odd: {error}"));
    serde_json::from_slice(text).map_err(odd)
}

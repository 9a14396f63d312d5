//! Where themes come from: a folder or a bucket. Both answer the same questions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;

use crate::ThemeError;
#[cfg(feature = "s3")]
use crate::bucket::Bucket;
use crate::folder::Folder;

/// Most files of a theme in a bucket, templates and assets together.
pub const FILES_MAX: usize = 1000;

/// What tells one version of a file from the next.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Stamp {
    /// Its length.
    pub(crate) bytes: u64,
    /// Changes with its content: an `ETag`, or a time of change.
    pub(crate) tag: Arc<str>,
}

/// Files of a theme by their paths.
pub(crate) type Files = BTreeMap<String, Stamp>;

/// A theme as it is listed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    /// A bucket's names all files; a folder's its templates alone, for it is asked for assets one by one.
    pub(crate) files: Files,
    /// There are more than [`FILES_MAX`](crate::FILES_MAX), and these are some of them.
    pub(crate) cut_off: bool,
}

/// Why a file or a listing can't be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceError {
    /// The theme's author has to do something.
    #[error(transparent)]
    Fault(ThemeError),
    /// The file is gone, or another one, since it was listed.
    #[error("changed while it was read")]
    Changed,
    /// No answer, or none that helps; the cause, for the log.
    #[error("{0}")]
    Away(String),
}

/// A place with themes in it.
pub(crate) enum Source {
    Folder(Folder),
    #[cfg(feature = "s3")]
    Bucket(Box<Bucket>),
}

impl Source {
    /// Whether looking takes so little that a request may wait for it.
    pub(crate) const fn is_near(&self) -> bool {
        matches!(self, Self::Folder(_))
    }

    /// The theme as it is now; `None` if there is none.
    pub(crate) async fn list(&self, theme: &str) -> Result<Option<Listing>, SourceError> {
        match self {
            Self::Folder(folder) => folder.list(theme).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket.list(theme).await,
        }
    }

    /// A template as it was listed, or a fault: of at most `max` bytes.
    pub(crate) async fn template(
        &self,
        theme: &str,
        name: &str,
        stamp: &Stamp,
        max: u64,
    ) -> Result<Bytes, SourceError> {
        match self {
            Self::Folder(folder) => folder.read(theme, name, Some(stamp), max).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket.read(theme, name, Some(stamp), max).await,
        }
    }

    /// An asset as it is now, of at most `max` bytes.
    pub(crate) async fn asset(&self, theme: &str, path: &str, max: u64) -> Result<Bytes, SourceError> {
        match self {
            Self::Folder(folder) => folder.read(theme, path, None, max).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket.read(theme, path, None, max).await,
        }
    }

    /// The version of an asset; `None` if there is no such file.
    #[cfg_attr(not(feature = "s3"), expect(unused_variables, reason = "only a bucket needs it"))]
    pub(crate) async fn stamp(&self, theme: &str, path: &str, listed: &Files) -> Option<Stamp> {
        match self {
            Self::Folder(folder) => folder.stamp(theme, path).await,
            #[cfg(feature = "s3")]
            Self::Bucket(_) => listed.get(path).cloned(),
        }
    }

    /// Where a theme is, for messages.
    pub(crate) fn place(&self, theme: &str) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.place(theme),
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket.place(theme),
        }
    }
}

/// Whether a file is a template: in the theme's folder itself, and not hidden.
pub(crate) fn is_template(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending);
    ending == Some("html") && !path.starts_with('.') && !path.contains('/')
}

//! The source of themes: a folder or a bucket.

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

/// Identifies a version of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ETag {
    /// Its length.
    pub(crate) bytes: u64,
    /// An `ETag` or modification time: changes with the content.
    pub(crate) value: Arc<str>,
}

/// Files of a theme by path.
pub(crate) type FileSet = BTreeMap<String, ETag>;

/// The listing of a theme.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    /// All files of a bucket; only the templates of a folder, whose assets are looked up one by one.
    pub(crate) files: FileSet,
    /// There are more than [`FILES_MAX`](crate::FILES_MAX), and these are some of them.
    pub(crate) cut_off: bool,
}

/// Why a file or a listing cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceError {
    /// An error of the theme's author.
    #[error(transparent)]
    Fault(ThemeError),
    /// The file was removed or changed since it was listed.
    #[error("changed while it was read")]
    Changed,
    /// No usable response; the cause, for the log.
    #[error("{0}")]
    Unavailable(String),
}

/// Where themes are read from.
pub(crate) enum Source {
    Folder(Folder),
    #[cfg(feature = "s3")]
    Bucket(Box<Bucket>),
}

impl Source {
    /// Whether a refresh is so fast that a request may wait for it.
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
    pub(crate) async fn template(&self, theme: &str, name: &str, etag: &ETag, max: u64) -> Result<Bytes, SourceError> {
        match self {
            Self::Folder(folder) => folder.read(theme, name, Some(etag), max).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket.read(theme, name, Some(etag), max).await,
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
    pub(crate) async fn etag(&self, theme: &str, path: &str, listed: &FileSet) -> Option<ETag> {
        match self {
            Self::Folder(folder) => folder.etag(theme, path).await,
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

//! Theme storage: a folder or a bucket, with the same paths in both.
//!
//! Paths are relative to the address of the themes. A folder is named by its path with a `/` at the end.

use std::path::PathBuf;

use bytes::Bytes;
#[cfg(feature = "s3")]
use vestibule_aws::AwsServer;

#[cfg(feature = "s3")]
use crate::address::BucketAddress;
use crate::address::ThemesAddress;
#[cfg(feature = "s3")]
use crate::bucket::Bucket;
use crate::files::{ETag, Listing, StorageError};
use crate::folder::Folder;

/// Where themes are stored.
pub(crate) enum Storage {
    Folder(Folder),
    #[cfg(feature = "s3")]
    Bucket(Box<Bucket>),
}

impl Storage {
    /// The storage at this address. The AWS environment configures access to a bucket; no request is sent yet.
    pub(crate) fn at(address: ThemesAddress) -> Self {
        match address {
            ThemesAddress::Folder(folder) => Self::Folder(Folder::new(&folder)),
            #[cfg(feature = "s3")]
            ThemesAddress::Bucket(address) => Self::Bucket(Box::new(Bucket::new(address, None))),
        }
    }

    /// A bucket on this server.
    #[cfg(feature = "s3")]
    pub(crate) fn on_server(server: AwsServer, address: BucketAddress) -> Self {
        Self::Bucket(Box::new(Bucket::new(address, Some(server))))
    }

    /// Whether reads are so fast that a request may wait for them.
    pub(crate) const fn is_near(&self) -> bool {
        matches!(self, Self::Folder(_))
    }

    /// Where a path is, for messages.
    pub(crate) fn location(&self, path: &str) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.location(path),
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket.location(path),
        }
    }

    /// The files of a folder and its subfolders; no more than `max`, if there are more.
    pub(crate) async fn list(&self, folder: &str, max: usize) -> Result<Listing, StorageError> {
        match self {
            Self::Folder(root) => root.list(folder, max).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket.list(folder, max).await,
        }
    }

    /// The names of the folders in a folder.
    pub(crate) async fn folders(&self, folder: &str) -> Result<Vec<String>, StorageError> {
        match self {
            Self::Folder(root) => root.folders(folder).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket.folders(folder).await,
        }
    }

    /// The content of a file of at most `max` bytes; `None` if there is no such file. With an `etag`, only this content.
    pub(crate) async fn read(
        &self,
        folder: &str,
        path: &str,
        etag: Option<&ETag>,
        max: u64,
    ) -> Result<Option<Bytes>, StorageError> {
        match self {
            Self::Folder(root) => root.read(folder, path, etag, max).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket.read(folder, path, etag, max).await,
        }
    }

    /// Creates a file, which appears whole or not at all. Returns whether it was created: an existing file stays as it is.
    pub(crate) async fn create(&self, path: String, content: Bytes) -> Result<bool, StorageError> {
        match self {
            Self::Folder(root) => root.create(path, content).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket.create(&path, content).await,
        }
    }

    /// Removes a file, if there is one.
    pub(crate) async fn remove(&self, path: String) -> Result<(), StorageError> {
        match self {
            Self::Folder(root) => root.remove(path).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket.remove(&path).await,
        }
    }

    /// Removes a folder with all its files, if there is one.
    pub(crate) async fn remove_all(&self, folder: String) -> Result<(), StorageError> {
        match self {
            Self::Folder(root) => root.remove_all(folder).await,
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket.remove_all(&folder).await,
        }
    }
}

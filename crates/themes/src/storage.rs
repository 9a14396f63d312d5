//! Theme storage: a folder or a bucket, with the same paths in both.
//!
//! Paths are relative to the address of the themes. A folder is named by its path with a `/` at the end.

use std::path::PathBuf;

use async_trait::async_trait;
use bytes::Bytes;

use crate::files::{ETag, Listing, StorageError};

/// Where themes are stored.
#[async_trait]
pub(crate) trait Storage: Send + Sync {
    /// Whether reads are so fast that a request may wait for them.
    fn is_near(&self) -> bool;
    /// Where a path is, for messages.
    fn location(&self, path: &str) -> PathBuf;
    /// The files of a folder and its subfolders; no more than `max`, if there are more.
    async fn list(&self, folder: &str, max: usize) -> Result<Listing, StorageError>;
    /// The names of the folders in a folder.
    async fn folders(&self, folder: &str) -> Result<Vec<String>, StorageError>;
    /// The content of a file of at most `max` bytes; `None` if there is no such file. With an `etag`, only this content.
    async fn read(
        &self,
        folder: &str,
        path: &str,
        etag: Option<&ETag>,
        max: u64,
    ) -> Result<Option<Bytes>, StorageError>;
    /// Creates a file, which appears whole or not at all. Returns whether it was created: an existing file stays as it is.
    async fn create(&self, path: String, content: Bytes) -> Result<bool, StorageError>;
    /// Removes a file, if there is one.
    async fn remove(&self, path: String) -> Result<(), StorageError>;
    /// Removes a folder with all its files, if there is one.
    async fn remove_all(&self, folder: String) -> Result<(), StorageError>;
}

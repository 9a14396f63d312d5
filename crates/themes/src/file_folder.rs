//! Files of a folder or below a prefix of a bucket that are no themes, read through the same storage.

use std::sync::Arc;

use bytes::Bytes;
#[cfg(feature = "s3")]
use vestibule_aws::AwsServer;

use crate::address::ThemesAddress;
#[cfg(feature = "s3")]
use crate::bucket::Bucket;
use crate::files::{FileSet, StorageError};
use crate::open_storage::storage_at;
use crate::storage::Storage;

/// Attempts to read a folder that changes meanwhile.
const ATTEMPTS: usize = 3;

/// Why files cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileFolderError {
    /// The storage does not answer, or the files change all the time. A later attempt may succeed.
    #[error("{0}")]
    Unavailable(String),
    /// There are too many files, or one of them is too large or unreadable.
    #[error("{0}")]
    Invalid(String),
}

/// How much is read at most.
#[derive(Debug, Clone, Copy)]
pub struct FileFolderLimits {
    /// Number of files.
    pub files: usize,
    /// Size of a file in bytes.
    pub bytes: u64,
}

/// Identifies the content of all files of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilesVersion(FileSet);

/// The files of a folder, without those of its subfolders and those whose names begin with a dot.
#[derive(Clone)]
pub struct FileFolder(Arc<dyn Storage>);

impl FileFolder {
    /// The files at this address. A bucket is connected with the first read, as the AWS environment configures it.
    pub fn at(address: ThemesAddress) -> Self {
        Self(storage_at(address))
    }

    /// The files in a bucket of this server.
    #[cfg(feature = "s3")]
    pub fn on_server(server: AwsServer, address: crate::BucketAddress) -> Self {
        Self(Arc::new(Bucket::new(address, Some(server))))
    }

    /// Whether the files are in a bucket, which others than the operator of this process may write.
    pub fn is_in_bucket(&self) -> bool {
        !self.0.is_near()
    }

    /// Where a file is, for messages.
    pub fn location(&self, name: &str) -> String {
        self.0.location(name).display().to_string()
    }

    /// The version of the files.
    ///
    /// # Errors
    /// The files cannot be listed, or there are too many.
    pub async fn version(&self, limits: FileFolderLimits) -> Result<FilesVersion, FileFolderError> {
        let listing = self.0.list("", limits.files).await.map_err(failed)?;
        if listing.cut_off {
            let location = self.location("");
            return Err(FileFolderError::Invalid(format!("{location}: must have at most {} files", limits.files)));
        }
        Ok(FilesVersion(listing.files.into_iter().filter(|(path, _)| !path.contains('/')).collect()))
    }

    /// The files by name, unless their version is this one.
    ///
    /// # Errors
    /// The files cannot be read, or there are too many, or one is too large.
    pub async fn read_unless(
        &self,
        known: &FilesVersion,
        limits: FileFolderLimits,
    ) -> Result<Option<(FilesVersion, Vec<(String, Bytes)>)>, FileFolderError> {
        let mut error = StorageError::Changed;
        for _ in 0..ATTEMPTS {
            let version = self.version(limits).await?;
            if version == *known {
                return Ok(None);
            }
            match self.read(&version, limits).await {
                Ok(files) => return Ok(Some((version, files))),
                Err(changed @ StorageError::Changed) => error = changed,
                Err(other) => return Err(failed(other)),
            }
        }
        Err(failed(error))
    }

    async fn read(
        &self,
        version: &FilesVersion,
        limits: FileFolderLimits,
    ) -> Result<Vec<(String, Bytes)>, StorageError> {
        let mut files = Vec::new();
        for (name, etag) in &version.0 {
            let content = self.0.read("", name, Some(etag), limits.bytes).await?;
            files.push((name.clone(), content.ok_or(StorageError::Changed)?));
        }
        Ok(files)
    }
}

fn failed(error: StorageError) -> FileFolderError {
    match error {
        StorageError::Fault(fault) => FileFolderError::Invalid(fault.to_string()),
        other => FileFolderError::Unavailable(other.to_string()),
    }
}

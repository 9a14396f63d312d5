//! A version of a theme: its ID, its files and its manifest, in `.versions/<theme>/<version>/`.
//!
//! A version is written once and never changed. Its manifest is written last: files without a manifest are no version.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};
use vestibule_core::Micros;

use crate::asset::{content_hash, sha256_hex};
use crate::draft::ThemeFiles;
use crate::files::{ETag, FileSet, StorageError};
use crate::storage::Storage;

/// The folder of the versions of all themes, beside the themes. No theme ID begins with a dot.
pub(crate) const VERSIONS: &str = ".versions/";
/// The file beside the files of a version that lists them. No file of a theme begins with a dot.
const MANIFEST: &str = ".manifest.json";
/// Largest manifest in bytes: a thousand paths of 255 bytes fit.
const MANIFEST_MAX: u64 = 512 * 1024;

/// Digits of the time in a version's ID.
const TIME_DIGITS: usize = 16;
/// Hex digits of the content hash after it.
const HASH_DIGITS: usize = 8;

/// A version's ID: creation time and content hash. Sorts by time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay, DeserializeFromStr)]
pub struct VersionId(String);

/// Not the ID of a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be the ID of a version as listed")]
pub struct VersionIdError;

/// The folder of the versions of a theme.
pub(crate) fn versions_of(theme: &str) -> String {
    format!("{VERSIONS}{theme}/")
}

/// The folder of a version.
pub(crate) fn folder_of(theme: &str, version: &VersionId) -> String {
    format!("{}{version}/", versions_of(theme))
}

/// The path of the manifest of a version.
pub(crate) fn manifest_path(theme: &str, version: &VersionId) -> String {
    folder_of(theme, version) + MANIFEST
}

impl VersionId {
    pub(crate) fn of(now: Micros, files: &ThemeFiles) -> Self {
        let mut all = Vec::new();
        for (path, content) in files {
            all.extend_from_slice(format!("{path}\0{}\0", sha256_hex(content)).as_bytes());
        }
        Self(format!("{:0TIME_DIGITS$}-{}", now.0, &content_hash(&all)[..HASH_DIGITS]))
    }

    /// When the version was created.
    pub(crate) fn created_at(&self) -> Micros {
        Micros(self.0.get(..TIME_DIGITS).and_then(|digits| digits.parse().ok()).unwrap_or_default())
    }

    /// The ID as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for VersionId {
    type Err = VersionIdError;

    fn from_str(text: &str) -> Result<Self, VersionIdError> {
        let (time, hash) = text.split_once('-').ok_or(VersionIdError)?;
        let is_time = time.len() == TIME_DIGITS && time.bytes().all(|b| b.is_ascii_digit());
        let is_hash = hash.len() == HASH_DIGITS && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if is_time && is_hash { Ok(Self(text.to_owned())) } else { Err(VersionIdError) }
    }
}

impl fmt::Display for VersionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A version as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThemeVersion {
    /// Its ID.
    pub id: VersionId,
    /// When it was created.
    pub at: Micros,
    /// Its author.
    pub by: String,
    /// Number of files.
    pub files: u64,
    /// Total size of the files in bytes.
    pub bytes: u64,
    /// Whether it is the live version.
    pub live: bool,
}

/// Describes a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    at: Micros,
    by: String,
    /// Bytes of each file.
    files: BTreeMap<String, u64>,
}

impl Manifest {
    pub(crate) fn of(files: &ThemeFiles, by: &str, at: Micros) -> Self {
        let size = |(path, content): (&String, &Bytes)| (path.clone(), content.len() as u64);
        Self { at, by: by.to_owned(), files: files.iter().map(size).collect() }
    }

    /// `None` if the version does not exist or is incomplete.
    pub(crate) async fn read(storage: &dyn Storage, theme: &str, id: &VersionId) -> Result<Option<Self>, StorageError> {
        let manifest = storage.read(&folder_of(theme, id), MANIFEST, None, MANIFEST_MAX).await?;
        manifest.map(|manifest| parsed(&manifest)).transpose()
    }

    pub(crate) fn version(&self, id: VersionId, live: Option<&VersionId>) -> ThemeVersion {
        ThemeVersion {
            at: self.at,
            by: self.by.clone(),
            files: self.files.len() as u64,
            bytes: self.files.values().sum(),
            live: live == Some(&id),
            id,
        }
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &String> {
        self.files.keys()
    }

    /// The files of the version.
    pub(crate) fn files(self, id: &VersionId) -> FileSet {
        let etag = |bytes| ETag { bytes, value: id.as_str().into() };
        self.files.into_iter().map(|(path, bytes)| (path, etag(bytes))).collect()
    }
}

pub(crate) fn json(value: &impl Serialize) -> Result<Bytes, StorageError> {
    serde_json::to_vec(value).map(Bytes::from).map_err(|error| StorageError::Unavailable(error.to_string()))
}

pub(crate) fn parsed<T: for<'a> Deserialize<'a>>(text: &[u8]) -> Result<T, StorageError> {
    let invalid = |error| StorageError::Unavailable(format!("invalid JSON in {VERSIONS}: {error}"));
    serde_json::from_slice(text).map_err(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_sort_by_time_and_differ_by_content() {
        let files = |content: &'static str| ThemeFiles::from([("queue.html".to_owned(), content.into())]);
        let (old, new) = (VersionId::of(Micros(9), &files("b")), VersionId::of(Micros(10), &files("a")));
        assert!(old < new, "{old} {new}");
        assert_ne!(VersionId::of(Micros(9), &files("a")), old);
        assert_eq!((old.as_str().parse(), old.created_at()), (Ok(old.clone()), Micros(9)));
    }

    #[test]
    fn invalid_version_ids_are_refused() {
        for text in ["", "..", "live", "1-2", "0000000000000009-0123456G", "0000000000000009-01234567/..", "x"] {
            assert_eq!(text.parse::<VersionId>(), Err(VersionIdError), "{text}");
        }
    }
}

//! The pointer to the live version of a theme.
//!
//! The pointer is a series of records, `.versions/<theme>/live/<revision>.json`, of which the highest revision decides. A
//! change creates the next record if it does not exist yet, so one of several concurrent changes wins. Records never
//! change. Without any record, the theme is the files in `<theme>/`, which are copied there by hand.

use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};
use vestibule_core::Micros;

use crate::files::{ETag, StorageError};
use crate::storage::Storage;
use crate::version::{VersionId, parsed, versions_of};

/// The last records that gates serve assets for: a page that was rendered before a change finds its assets after it.
pub(crate) const RECENT_MAX: u64 = 3;
/// Most records of a theme that are listed: pruning keeps far fewer.
const LISTED_MAX: usize = 5000;
/// Digits of a revision in the name of its record.
const REVISION_DIGITS: usize = 10;
/// Largest record in bytes.
const RECORD_MAX: u64 = 16 * 1024;

/// A record: which version became live, when, and who made it live.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LiveRecord {
    /// The live version; `None` if the theme was deactivated.
    pub(crate) version: Option<VersionId>,
    pub(crate) at: Micros,
    pub(crate) by: String,
}

/// The highest record of a theme as it is listed. The `ETag` differs if the theme was removed and created again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pointer {
    pub(crate) revision: u64,
    etag: ETag,
}

impl Pointer {
    /// `None` if the theme has no record.
    pub(crate) async fn read(storage: &dyn Storage, theme: &str) -> Result<Option<Self>, StorageError> {
        let listing = storage.list(&records_of(theme), LISTED_MAX).await?;
        if listing.cut_off {
            let message = format!("more than {LISTED_MAX} files in {}", records_of(theme));
            return Err(StorageError::Unavailable(message));
        }
        let pointer = |(name, etag): (String, ETag)| {
            let revision = name.strip_suffix(".json")?.parse().ok()?;
            Some(Self { revision, etag })
        };
        Ok(listing.files.into_iter().filter_map(pointer).max_by_key(|pointer| pointer.revision))
    }
}

impl LiveRecord {
    /// The record of a revision; `None` if it was removed.
    pub(crate) async fn read(storage: &dyn Storage, theme: &str, revision: u64) -> Result<Option<Self>, StorageError> {
        let record = storage.read(&records_of(theme), &name_of(revision), None, RECORD_MAX).await?;
        record.map(|record| parsed(&record)).transpose()
    }
}

/// The current revision of a theme and its last records, newest first.
pub(crate) struct Recent {
    /// 0 if there is no record.
    pub(crate) revision: u64,
    pub(crate) records: Vec<LiveRecord>,
}

impl Recent {
    pub(crate) async fn read(storage: &dyn Storage, theme: &str) -> Result<Self, StorageError> {
        let revision = Pointer::read(storage, theme).await?.map_or(0, |pointer| pointer.revision);
        let records = revisions(revision).filter(|revision| *revision > 0);
        let records = try_join_all(records.map(|revision| LiveRecord::read(storage, theme, revision))).await?;
        // Only a removal of the theme removes the current record.
        if records.first().is_some_and(Option::is_none) {
            return Err(StorageError::Changed);
        }
        Ok(Self { revision, records: records.into_iter().flatten().collect() })
    }

    /// The live version.
    pub(crate) fn live(&self) -> Option<&VersionId> {
        self.records.first()?.version.as_ref()
    }

    /// Whether the version is live or was live before the last changes.
    pub(crate) fn names(&self, version: &VersionId) -> bool {
        self.records.iter().any(|record| record.version.as_ref() == Some(version))
    }
}

/// This revision and those before it that are recent, newest first. Revision 0 stands for files that were copied by hand.
pub(crate) fn revisions(newest: u64) -> impl Iterator<Item = u64> {
    (0..RECENT_MAX).map_while(move |n| newest.checked_sub(n))
}

/// The path of a record.
pub(crate) fn record_path(theme: &str, revision: u64) -> String {
    records_of(theme) + &name_of(revision)
}

fn records_of(theme: &str) -> String {
    versions_of(theme) + "live/"
}

fn name_of(revision: u64) -> String {
    format!("{revision:0REVISION_DIGITS$}.json")
}

//! Versions in a bucket.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use vestibule_core::{Micros, ThemeId};

use super::{Live, MANIFEST_MAX, ThemeLock, json, parsed};
use crate::bucket::{Bucket, If};
use crate::source::is_template;
use crate::versions::{FILES_AT_ONCE, ThemeFiles, VersionError};

/// Seconds until a lock expires whose owner is gone. Longer than it takes to write a theme.
const LOCK_TTL: u64 = 120;
/// The templates that gates render. The templates that they include are written first.
const PAGES: [&str; 2] = ["closed.html", "queue.html"];

/// Takes the lock with a conditional write, which S3 grants to one of two concurrent writers.
pub(super) async fn lock(bucket: &Bucket, versions: &str, now: Micros) -> Result<ThemeLock, VersionError> {
    let path = format!("{versions}.live");
    let found = bucket.get(&path, MANIFEST_MAX).await?;
    let condition = found.as_ref().map_or(If::None, |(_, tag)| If::Is(tag.clone()));
    let live: Live = found.map(|(live, _)| parsed(&live)).transpose()?.unwrap_or_default();
    if live.locked_until > now {
        return Err(VersionError::Busy);
    }
    let locked = Live { locked_until: now.add_seconds(LOCK_TTL), ..live };
    bucket.put(&path, json(&locked)?, &condition).await?;
    Ok(ThemeLock { live: locked.version, _lock: None })
}

/// Writes assets, then included templates, then pages; then deletes unused files.
pub(super) async fn activate(bucket: &Bucket, theme: &ThemeId, files: &ThemeFiles) -> Result<(), VersionError> {
    let rank = |path: &str| if PAGES.contains(&path) { 2 } else { u8::from(is_template(path)) };
    for turn in 0..=2 {
        let of_this_turn = files.iter().filter(|(path, _)| rank(path) == turn);
        let write = async |path: String, content| bucket.put(&path, content, &If::Always).await;
        let writes: Vec<_> =
            of_this_turn.map(|(path, content)| write(format!("{theme}/{path}"), content.clone())).collect();
        stream::iter(writes).buffer_unordered(FILES_AT_ONCE).try_collect::<()>().await?;
    }
    let mut gone = bucket.keys(&format!("{theme}/")).await?;
    gone.retain(|path| !files.contains_key(path));
    // Pages first: they may include the other templates.
    gone.sort_by_key(|path| 2 - rank(path));
    for path in gone {
        bucket.delete(&format!("{theme}/{path}")).await?;
    }
    Ok(())
}

/// Removes a folder, `note` first: without its manifest a folder is no version.
pub(super) async fn remove(bucket: &Bucket, folder: &str, note: &str) -> Result<(), VersionError> {
    bucket.delete(&format!("{folder}{note}")).await?;
    let paths = bucket.keys(folder).await?.into_iter().map(|path| format!("{folder}{path}"));
    let deletes: Vec<_> = paths.map(|path| async move { bucket.delete(&path).await }).collect();
    Ok(stream::iter(deletes).buffer_unordered(FILES_AT_ONCE).try_collect::<()>().await?)
}

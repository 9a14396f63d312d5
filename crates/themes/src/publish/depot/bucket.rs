//! Publishing in a bucket.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use vestibule_core::{Micros, ThemeId};

use super::{Claim, Live, MANIFEST_MAX, json, parsed};
use crate::bucket::{Bucket, If};
use crate::publish::{FILES_AT_ONCE, PublishError, ThemeFiles};
use crate::source::is_template;

/// For how long a claim holds whose owner is gone, in seconds. Longer than a theme takes to be written.
const CLAIM_MAX: u64 = 120;
/// What gates draw; whatever these include is written before them.
const PAGES: [&str; 2] = ["closed.html", "queue.html"];

/// Writes itself down as the one who publishes. Of two at once, S3 lets one.
pub(super) async fn claim(bucket: &Bucket, versions: &str, now: Micros) -> Result<Claim, PublishError> {
    let path = format!("{versions}.live");
    let found = bucket.get(&path, MANIFEST_MAX).await?;
    let condition = found.as_ref().map_or(If::None, |(_, tag)| If::Is(tag.clone()));
    let live: Live = found.map(|(live, _)| parsed(&live)).transpose()?.unwrap_or_default();
    if live.claimed_until > now {
        return Err(PublishError::Busy);
    }
    let claimed = Live { claimed_until: now.add_seconds(CLAIM_MAX), ..live };
    bucket.put(&path, json(&claimed)?, &condition).await?;
    Ok(Claim { live: claimed.version, _lock: None })
}

/// Assets first, then what pages include, then the pages; then what is no longer used goes.
pub(super) async fn show(bucket: &Bucket, theme: &ThemeId, files: &ThemeFiles) -> Result<(), PublishError> {
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
    // Pages first: an old one would miss what it includes.
    gone.sort_by_key(|path| 2 - rank(path));
    for path in gone {
        bucket.delete(&format!("{theme}/{path}")).await?;
    }
    Ok(())
}

/// Removes a folder, the note that makes it a version first.
pub(super) async fn remove(bucket: &Bucket, folder: &str, note: &str) -> Result<(), PublishError> {
    bucket.delete(&format!("{folder}{note}")).await?;
    let paths = bucket.keys(folder).await?.into_iter().map(|path| format!("{folder}{path}"));
    let deletes: Vec<_> = paths.map(|path| async move { bucket.delete(&path).await }).collect();
    Ok(stream::iter(deletes).buffer_unordered(FILES_AT_ONCE).try_collect::<()>().await?)
}

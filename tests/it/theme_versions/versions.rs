//! Which versions there are.

use futures_util::{StreamExt as _, stream};
use vestibule_themes::{PRUNE_AFTER, VERSIONS_KEPT_MAX, VersionError, VersionId};

use super::{ThemeStorage, acme, at, draft, files, live_id, on_each_storage, publish, saying};

on_each_storage!(
    versions_are_listed_newest_first_and_read_back,
    older_version_can_be_activated,
    repeated_activation_changes_nothing,
    displaced_versions_are_pruned_after_a_day,
    unknown_version_is_refused,
    removed_theme_leaves_no_files,
);

async fn versions_are_listed_newest_first_and_read_back(storage: ThemeStorage) {
    let versions = storage.versions();
    assert_eq!(versions.list(&acme()).await.unwrap().versions, []);
    let first = publish(&versions, &acme(), saying("first"), "anna", at(1)).await;
    let second = publish(&versions, &acme(), saying("second"), "ben", at(2)).await;
    assert_eq!((second.at, second.by.as_str(), second.files, second.live), (at(2), "ben", 3, true));
    assert_eq!(second.bytes, saying("second").values().map(|content| content.len() as u64).sum::<u64>());
    let list = storage.versions().list(&acme()).await.unwrap();
    let listed: Vec<_> = list.versions.iter().map(|version| (&version.id, version.live)).collect();
    assert_eq!((list.revision, listed), (2, vec![(&second.id, true), (&first.id, false)]));
    assert_eq!(versions.read(&acme(), &first.id).await.unwrap(), saying("first"));
    assert_eq!(versions.read(&acme(), &second.id).await.unwrap(), saying("second"));
    let mut paths = versions.live_paths(&acme()).await.unwrap();
    paths.sort();
    assert_eq!(paths, ["img/logo.svg", "part.html", "queue.html"]);
}

async fn older_version_can_be_activated(storage: ThemeStorage) {
    let versions = storage.versions();
    let first = publish(&versions, &acme(), saying("first"), "anna", at(1)).await;
    let second = publish(&versions, &acme(), saying("second"), "anna", at(2)).await;
    let (back, change) = versions.activate(&acme(), &first.id, Some(2), "anna", at(3)).await.unwrap();
    assert_eq!((&back.id, back.at, back.live), (&first.id, at(1), true));
    assert_eq!((change.revision, &change.before), (3, &Some(second.id.clone())));
    assert_eq!(versions.live(&acme()).await.unwrap(), Some(saying("first")));
    let listed = versions.list(&acme()).await.unwrap().versions;
    let live: Vec<_> = listed.into_iter().map(|version| (version.id, version.live)).collect();
    assert_eq!(live, [(second.id, false), (first.id, true)]);
}

async fn repeated_activation_changes_nothing(storage: ThemeStorage) {
    let versions = storage.versions();
    let first = publish(&versions, &acme(), saying("first"), "anna", at(1)).await;
    let (_, again) = versions.activate(&acme(), &first.id, Some(1), "anna", at(2)).await.unwrap();
    assert_eq!((again.revision, again.is_changed), (1, false));
    let stale = versions.activate(&acme(), &first.id, Some(0), "anna", at(2)).await;
    assert!(matches!(stale, Err(VersionError::Conflict { revision: 1 })), "{stale:?}");
}

async fn displaced_versions_are_pruned_after_a_day(storage: ThemeStorage) {
    let versions = storage.versions();
    let small = |text: &str| files([("queue.html", &format!("{text}.{{{{ script_tags }}}}"))]);
    let mut ids = Vec::new();
    for turn in 0..VERSIONS_KEPT_MAX as u64 + 3 {
        ids.push(versions.create(&acme(), &draft(small(&turn.to_string())).await, "anna", at(turn)).await.unwrap().id);
        if turn == 1 {
            versions.activate(&acme(), &ids[1], Some(0), "anna", at(turn)).await.unwrap();
        }
    }
    let listed = versions.list(&acme()).await.unwrap().versions;
    let listed: Vec<_> = listed.into_iter().map(|version| version.id).collect();
    let newest = ids.iter().skip(3).rev().chain([&ids[1]]);
    assert_eq!(listed, newest.cloned().collect::<Vec<_>>(), "the newest and the live one");
    let displaced = versions.activate(&acme(), &ids[0], None, "anna", at(100)).await;
    assert!(matches!(displaced, Err(VersionError::NotFound)), "{displaced:?}");
    assert!(versions.read(&acme(), &ids[0]).await.is_ok(), "a gate may still be reading it");

    let later = at(PRUNE_AFTER + VERSIONS_KEPT_MAX as u64);
    versions.create(&acme(), &draft(small("later")).await, "anna", later).await.unwrap();
    assert!(matches!(versions.read(&acme(), &ids[0]).await, Err(VersionError::NotFound)));
    assert!(versions.read(&acme(), &ids[1]).await.is_ok(), "the live one is never pruned");
    assert!(versions.read(&acme(), &ids[2]).await.is_ok(), "displaced less than a day ago");
    assert_eq!(live_id(&versions).await.as_ref(), Some(&ids[1]));
}

async fn unknown_version_is_refused(storage: ThemeStorage) {
    let versions = storage.versions();
    publish(&versions, &acme(), saying("first"), "anna", at(1)).await;
    let none: VersionId = "1800000000000000-01234567".parse().unwrap();
    assert!(matches!(versions.read(&acme(), &none).await, Err(VersionError::NotFound)));
    let refused = versions.activate(&acme(), &none, Some(1), "anna", at(2)).await.unwrap_err();
    assert_eq!(refused.to_string(), "there is no such version");
    assert_eq!(versions.live(&acme()).await.unwrap(), Some(saying("first")));
}

async fn removed_theme_leaves_no_files(storage: ThemeStorage) {
    let versions = storage.versions();
    storage.write("acme/notes.txt.bak", "by hand").await;
    publish(&versions, &acme(), saying("first"), "anna", at(1)).await;
    publish(&versions, &"acme-2".parse().unwrap(), saying("other"), "anna", at(1)).await;
    versions.remove(&acme(), "anna", at(2)).await.unwrap();
    let themes: Vec<_> = versions.themes().await.unwrap().into_iter().map(|id| id.to_string()).collect();
    assert_eq!(themes, ["acme-2"]);
    let list = versions.list(&acme()).await.unwrap();
    assert_eq!((list.revision, list.versions), (0, vec![]));
}

/// S3 puts a thousand into one answer.
#[tokio::test]
async fn listing_themes_follows_pages() {
    let storage = ThemeStorage::bucket().await;
    let write = async |n| storage.write(&format!("brand-{n}/queue.html"), "x").await;
    stream::iter(0..1100).for_each_concurrent(16, write).await;
    assert_eq!(storage.versions().themes().await.unwrap().len(), 1100);
}

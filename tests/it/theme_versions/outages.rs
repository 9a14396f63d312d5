//! An operator's process ends in the middle of a change, or storage is unavailable.

use vestibule_tests::{S3, wait_until};
use vestibule_themes::{ThemeVersions, ThemesAddress, VersionError};

use super::{ThemeStorage, acme, at, draft, files, live_id, on_each_storage, page, publish, saying};
use crate::gate_fixture::TIMEOUT;

on_each_storage!(
    crash_before_the_manifest_leaves_no_version,
    crash_before_the_record_leaves_the_live_version,
    damaged_version_keeps_the_page_that_works,
);

async fn crash_before_the_manifest_leaves_no_version(storage: ThemeStorage) {
    let versions = storage.versions();
    let first = publish(&versions, &acme(), saying("first"), "anna", at(1)).await;
    let torn = versions.create(&acme(), &draft(saying("torn")).await, "anna", at(2)).await.unwrap();
    storage.remove(&format!(".versions/acme/{}/.manifest.json", torn.id)).await;
    let listed = versions.list(&acme()).await.unwrap().versions;
    assert_eq!(listed.iter().map(|version| &version.id).collect::<Vec<_>>(), [&first.id]);
    assert!(matches!(versions.read(&acme(), &torn.id).await, Err(VersionError::NotFound)));
    let refused = versions.activate(&acme(), &torn.id, Some(1), "anna", at(3)).await;
    assert!(matches!(refused, Err(VersionError::NotFound)), "{refused:?}");
    assert_eq!(live_id(&versions).await, Some(first.id));
}

async fn crash_before_the_record_leaves_the_live_version(storage: ThemeStorage) {
    let (versions, themes) = (storage.versions(), storage.themes());
    let first = publish(&versions, &acme(), saying("first"), "anna", at(1)).await;
    let second = versions.create(&acme(), &draft(saying("second")).await, "anna", at(2)).await.unwrap();
    assert_eq!(versions.list(&acme()).await.unwrap().revision, 1);
    assert_eq!(live_id(&versions).await, Some(first.id));
    wait_until("the first version is shown", TIMEOUT, async || page(&themes).await == "first").await;
    let again = storage.versions().activate(&acme(), &second.id, Some(1), "ben", at(3)).await.unwrap();
    assert_eq!((again.1.revision, again.1.is_changed), (2, true));
}

async fn damaged_version_keeps_the_page_that_works(storage: ThemeStorage) {
    let (versions, themes) = (storage.versions(), storage.themes());
    publish(&versions, &acme(), saying("first"), "anna", at(1)).await;
    wait_until("the first version is shown", TIMEOUT, async || page(&themes).await == "first").await;
    let second = publish(&versions, &acme(), saying("second"), "anna", at(2)).await;
    let damaged = storage.themes();
    storage.remove(&format!(".versions/acme/{}/part.html", second.id)).await;
    for themes in [&themes, &damaged] {
        for _ in 0..20 {
            let shown = page(themes).await;
            assert!(["first", "second", "built-in"].contains(&shown.as_str()), "{shown}");
        }
    }
    let refused = versions.activate(&acme(), &second.id, Some(2), "anna", at(3)).await;
    assert!(matches!(refused, Err(VersionError::NotFound)), "{refused:?}");
    publish(&versions, &acme(), saying("third"), "anna", at(4)).await;
    wait_until("the third version is shown", TIMEOUT, async || page(&themes).await == "third").await;
}

#[tokio::test]
async fn unreachable_bucket_changes_nothing() {
    let mut s3 = S3::start().await;
    let versions = ThemeVersions::on_server(s3.server(), s3.themes("themes").parse().unwrap());
    s3.kill();
    let refused = versions.create(&acme(), &draft(saying("first")).await, "anna", at(1)).await;
    assert!(matches!(refused, Err(VersionError::Unavailable(_))), "{refused:?}");
    s3.restart().await;
    assert_eq!(versions.live(&acme()).await.unwrap(), None);
    publish(&versions, &acme(), saying("first"), "anna", at(2)).await;
}

#[tokio::test]
async fn read_only_folder_is_reported_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("themes");
    std::fs::write(&file, "no folder").unwrap();
    let versions = ThemeVersions::at(ThemesAddress::Folder(file));
    let refused = versions.create(&acme(), &draft(saying("first")).await, "anna", at(1)).await.unwrap_err();
    assert!(refused.to_string().contains("themes/.versions/acme"), "{refused}");
    assert!(versions.list(&acme()).await.unwrap().versions.is_empty());
}

#[tokio::test]
async fn removal_of_a_linked_theme_keeps_its_target() {
    let storage = ThemeStorage::folder();
    let ThemeStorage::Folder(folder) = &storage else { unreachable!() };
    storage.write("elsewhere/queue.html", "linked.{{ script_tags }}").await;
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), folder.path().join("acme")).unwrap();
    let versions = storage.versions();
    let linked = Some(files([("queue.html", "linked.{{ script_tags }}")]));
    assert_eq!(versions.live(&acme()).await.unwrap(), linked);
    versions.remove(&acme(), "anna", at(1)).await.unwrap();
    assert_eq!(versions.live(&acme()).await.unwrap(), None);
    assert_eq!(versions.live(&"elsewhere".parse().unwrap()).await.unwrap(), linked);
}

//! What is kept of what was published.

use futures_util::{StreamExt as _, stream};
use vestibule_tests::wait_until;
use vestibule_themes::{VERSIONS_KEPT_MAX, VersionError, VersionId};

use super::{Place, acme, at, draft, files, on_each_place, page, saying};
use crate::scene::PATIENCE;

on_each_place!(
    versions_are_listed_newest_first_and_read_back,
    older_version_can_be_activated,
    files_copied_by_hand_become_the_first_version,
    incomplete_version_is_not_listed,
    oldest_versions_are_pruned,
    unknown_version_is_refused,
    concurrent_publishers_never_mix_versions,
);

async fn versions_are_listed_newest_first_and_read_back(place: Place) {
    let publisher = place.publisher();
    assert_eq!(publisher.versions(&acme()).await.unwrap(), []);
    let first = publisher.publish(&acme(), &draft(saying("first")).await, "anna", at(1)).await.unwrap();
    let second = publisher.publish(&acme(), &draft(saying("second")).await, "ben", at(2)).await.unwrap();
    assert_eq!((second.at, second.by.as_deref(), second.files, second.live), (at(2), Some("ben"), 3, true));
    assert_eq!(second.bytes, saying("second").values().map(|content| content.len() as u64).sum::<u64>());
    let listed = place.publisher().versions(&acme()).await.unwrap();
    assert_eq!(
        listed.iter().map(|version| (&version.id, version.live)).collect::<Vec<_>>(),
        [(&second.id, true), (&first.id, false)]
    );
    assert_eq!(publisher.read(&acme(), &first.id).await.unwrap(), saying("first"));
    assert_eq!(publisher.read(&acme(), &second.id).await.unwrap(), saying("second"));
}

async fn older_version_can_be_activated(place: Place) {
    let (publisher, themes) = (place.publisher(), place.themes());
    let first = publisher.publish(&acme(), &draft(saying("first")).await, "anna", at(1)).await.unwrap();
    let second = publisher.publish(&acme(), &draft(saying("second")).await, "anna", at(2)).await.unwrap();
    let back = publisher.activate(&acme(), &first.id, at(3)).await.unwrap();
    assert_eq!((&back.id, back.at, back.live), (&first.id, at(1), true));
    wait_until("the first is back", PATIENCE, async || page(&themes).await == "first").await;
    assert_eq!(publisher.live(&acme()).await.unwrap(), Some(saying("first")));
    let live: Vec<_> = publisher.versions(&acme()).await.unwrap().into_iter().map(|v| (v.id, v.live)).collect();
    assert_eq!(live, [(second.id, false), (first.id, true)]);
}

async fn files_copied_by_hand_become_the_first_version(place: Place) {
    let by_hand = files([("queue.html", "by hand.{{ script_tags }}"), ("a/b.css", "b{}")]);
    for (path, content) in &by_hand {
        place.write(&format!("acme/{path}"), std::str::from_utf8(content).unwrap()).await;
    }
    place.write("acme/.DS_Store", "x").await;
    place.write("acme/notes.toml", "x").await;
    let publisher = place.publisher();
    publisher.publish(&acme(), &draft(saying("first")).await, "anna", at(1)).await.unwrap();
    let versions = publisher.versions(&acme()).await.unwrap();
    assert_eq!(versions.iter().map(|version| version.by.as_deref()).collect::<Vec<_>>(), [Some("anna"), None]);
    assert_eq!(publisher.read(&acme(), &versions[1].id).await.unwrap(), by_hand);
    assert_eq!(publisher.live(&acme()).await.unwrap(), Some(saying("first")));
    publisher.activate(&acme(), &versions[1].id, at(2)).await.unwrap();
    assert_eq!(publisher.live(&acme()).await.unwrap(), Some(by_hand));
    publisher.publish(&acme(), &draft(saying("second")).await, "anna", at(3)).await.unwrap();
    assert_eq!(publisher.versions(&acme()).await.unwrap().len(), 3, "by hand was kept a second time");
}

async fn incomplete_version_is_not_listed(place: Place) {
    let publisher = place.publisher();
    let first = publisher.publish(&acme(), &draft(saying("first")).await, "anna", at(1)).await.unwrap();
    let torn = publisher.publish(&acme(), &draft(saying("torn")).await, "anna", at(2)).await.unwrap();
    publisher.activate(&acme(), &first.id, at(3)).await.unwrap();
    place.remove(&format!(".versions/acme/{}/.manifest.json", torn.id)).await;
    let ids = async || publisher.versions(&acme()).await.unwrap().into_iter().map(|v| v.id).collect::<Vec<_>>();
    assert_eq!(ids().await, std::slice::from_ref(&first.id));
    assert!(matches!(publisher.read(&acme(), &torn.id).await, Err(VersionError::NotFound)));
    let third = publisher.publish(&acme(), &draft(saying("third")).await, "anna", at(4)).await.unwrap();
    assert_eq!(ids().await, [third.id, first.id]);
    place.write(&format!(".versions/acme/{}/.manifest.json", torn.id), "{\"at\":1,\"by\":null,\"files\":{}}").await;
    assert!(publisher.read(&acme(), &torn.id).await.unwrap().is_empty(), "what was torn was left lying about");
}

async fn oldest_versions_are_pruned(place: Place) {
    let publisher = place.publisher();
    let small = |text: &str| files([("queue.html", &format!("{text}.{{{{ script_tags }}}}"))]);
    let mut ids = Vec::new();
    for turn in 0..=VERSIONS_KEPT_MAX as u64 {
        let draft = draft(small(&turn.to_string())).await;
        ids.push(publisher.publish(&acme(), &draft, "anna", at(turn)).await.unwrap().id);
    }
    let listed: Vec<_> = publisher.versions(&acme()).await.unwrap().into_iter().map(|version| version.id).collect();
    assert_eq!(listed, ids.iter().skip(1).rev().cloned().collect::<Vec<_>>());
    assert!(matches!(publisher.read(&acme(), &ids[0]).await, Err(VersionError::NotFound)));
}

async fn unknown_version_is_refused(place: Place) {
    let publisher = place.publisher();
    publisher.publish(&acme(), &draft(saying("first")).await, "anna", at(1)).await.unwrap();
    let none: VersionId = "1800000000000000-01234567".parse().unwrap();
    assert!(matches!(publisher.read(&acme(), &none).await, Err(VersionError::NotFound)));
    let refused = publisher.activate(&acme(), &none, at(2)).await.unwrap_err();
    assert_eq!(refused.to_string(), "there is no such version");
    assert_eq!(publisher.live(&acme()).await.unwrap(), Some(saying("first")));
}

async fn concurrent_publishers_never_mix_versions(place: Place) {
    let (anna, ben) = (place.publisher(), place.publisher());
    for turn in 0..5 {
        let (first, second) = (draft(saying("anna")).await, draft(saying("ben")).await);
        let (first, second) =
            tokio::join!(async { anna.publish(&acme(), &first, "anna", at(2 * turn)).await }, async {
                ben.publish(&acme(), &second, "ben", at(2 * turn + 1)).await
            },);
        assert!(first.is_ok() || second.is_ok(), "{first:?} {second:?}");
        for refused in [&first, &second].into_iter().filter_map(|done| done.as_ref().err()) {
            assert!(matches!(refused, VersionError::Busy), "{refused:?}");
        }
        let live = anna.live(&acme()).await.unwrap().unwrap();
        assert!(live == saying("anna") || live == saying("ben"), "{live:?}");
    }
}

/// S3 puts a thousand into one answer.
#[tokio::test]
async fn listing_themes_follows_pages() {
    let place = Place::bucket().await;
    let write = async |n| place.write(&format!("brand-{n}/queue.html"), "x").await;
    stream::iter(0..1100).for_each_concurrent(16, write).await;
    let themes = place.publisher().themes().await.unwrap();
    assert_eq!((themes.len(), themes.iter().all(|theme| theme.live)), (1100, true));
}

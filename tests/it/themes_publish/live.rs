//! What visitors see of what is published.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use vestibule_tests::wait_until;

use super::{Place, acme, at, draft, files, on_each_place, page, saying};
use crate::scene::PATIENCE;

on_each_place!(
    visitors_see_the_last_published_version,
    removed_files_disappear,
    a_theme_at_the_top_of_a_place_is_published_beside_others,
    activation_never_mixes_versions,
);

async fn visitors_see_the_last_published_version(place: Place) {
    let (publisher, themes) = (place.publisher(), place.themes());
    for (second, text) in [(1, "first"), (2, "second")] {
        publisher.publish(&acme(), &draft(saying(text)).await, "anna", at(second)).await.unwrap();
        wait_until(text, PATIENCE, async || page(&themes).await == text).await;
        wait_until("its picture is served", PATIENCE, async || {
            let logo = themes.asset(&acme(), "img/logo.svg").await;
            logo.is_ok_and(|logo| logo.is_some_and(|logo| logo.bytes == format!("<svg id=\"{text}\"/>")))
        })
        .await;
    }
}

async fn removed_files_disappear(place: Place) {
    let (publisher, themes) = (place.publisher(), place.themes());
    publisher.publish(&acme(), &draft(saying("first")).await, "anna", at(1)).await.unwrap();
    let second = files([("queue.html", "second.{{ script_tags }}")]);
    publisher.publish(&acme(), &draft(second.clone()).await, "anna", at(2)).await.unwrap();
    wait_until("second", PATIENCE, async || page(&themes).await == "second").await;
    wait_until("the picture is gone", PATIENCE, async || themes.asset(&acme(), "img/logo.svg").await == Ok(None)).await;
    assert_eq!(publisher.live(&acme()).await.unwrap(), Some(second));
}

async fn a_theme_at_the_top_of_a_place_is_published_beside_others(place: Place) {
    let other = "acme-2".parse().unwrap();
    let publisher = place.publisher();
    publisher.publish(&acme(), &draft(saying("acme")).await, "anna", at(1)).await.unwrap();
    publisher.publish(&other, &draft(saying("other")).await, "anna", at(2)).await.unwrap();
    assert_eq!(publisher.live(&acme()).await.unwrap(), Some(saying("acme")));
    assert_eq!(publisher.live(&other).await.unwrap(), Some(saying("other")));
    assert_eq!(publisher.versions(&acme()).await.unwrap().len(), 1);
    assert_eq!(publisher.live(&"nobody".parse().unwrap()).await.unwrap(), None);
}

/// The page, and the part that it includes, each say the version's name.
async fn activation_never_mixes_versions(place: Place) {
    let version = |text: &str| {
        let page = format!("{text} {{% include \"part-{text}.html\" %}}.{{{{ script_tags }}}}");
        files([("queue.html", &page), (&format!("part-{text}.html"), text)])
    };
    let (publisher, themes) = (place.publisher(), place.themes());
    let (first, second) = (draft(version("first")).await, draft(version("second")).await);
    publisher.publish(&acme(), &first, "anna", at(0)).await.unwrap();
    wait_until("the first is shown", PATIENCE, async || page(&themes).await == "first first").await;
    let done = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&done);
    let publishing = tokio::spawn(async move {
        for turn in 1..=10 {
            let draft = if turn % 2 == 0 { &first } else { &second };
            publisher.publish(&acme(), draft, "anna", at(turn)).await.unwrap();
        }
        ended.store(true, Ordering::Relaxed);
    });
    while !done.load(Ordering::Relaxed) {
        let shown = page(&themes).await;
        assert!(shown == "first first" || shown == "second second", "{shown}");
        tokio::task::yield_now().await;
    }
    publishing.await.unwrap();
}

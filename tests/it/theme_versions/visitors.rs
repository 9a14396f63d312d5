//! What visitors see of versions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use vestibule_tests::wait_until;
use vestibule_themes::{ThemeVersions, Themes};

use super::{ThemeStorage, acme, at, draft, files, on_each_storage, page, publish, saying};
use crate::gate_fixture::TIMEOUT;

on_each_storage!(
    gate_follows_activations_and_deactivation,
    open_page_finds_its_assets_after_an_activation,
    themes_are_versioned_separately,
    copied_files_are_shown_until_the_first_activation,
    readers_never_see_mixed_versions,
);

async fn until_shown(themes: &Themes, text: &str) {
    wait_until(text, TIMEOUT, async || page(themes).await == text).await;
}

async fn asset(themes: &Themes, path: &str) -> Option<String> {
    let found = themes.asset(&acme(), path).await.unwrap();
    found.map(|asset| String::from_utf8(asset.bytes.to_vec()).unwrap())
}

async fn gate_follows_activations_and_deactivation(storage: ThemeStorage) {
    let (versions, themes) = (storage.versions(), storage.themes());
    let first = publish(&versions, &acme(), saying("first"), "anna", at(1)).await;
    until_shown(&themes, "first").await;
    publish(&versions, &acme(), saying("second"), "anna", at(2)).await;
    until_shown(&themes, "second").await;
    assert_eq!(asset(&themes, "img/logo.svg").await.unwrap(), "<svg id=\"second\"/>");
    versions.activate(&acme(), &first.id, Some(2), "anna", at(3)).await.unwrap();
    until_shown(&themes, "first").await;
    assert_eq!(asset(&themes, "img/logo.svg").await.unwrap(), "<svg id=\"first\"/>");
    versions.deactivate(&acme(), Some(3), "anna", at(4)).await.unwrap();
    until_shown(&themes, "built-in").await;
    versions.remove(&acme(), "anna", at(5)).await.unwrap();
    publish(&versions, &acme(), saying("third"), "anna", at(6)).await;
    until_shown(&themes, "third").await;
}

/// Each version has an asset of its own, as with content hashes in names.
fn hashed(text: &str) -> vestibule_themes::ThemeFiles {
    files([("queue.html", &format!("{text}.{{{{ script_tags }}}}")), (&format!("logo.{text}.svg"), text)])
}

async fn open_page_finds_its_assets_after_an_activation(storage: ThemeStorage) {
    let (versions, themes) = (storage.versions(), storage.themes());
    storage.write("acme/queue.html", "copied.{{ script_tags }}").await;
    storage.write("acme/logo.copied.svg", "copied").await;
    until_shown(&themes, "copied").await;
    for (second, text) in [(1, "first"), (2, "second"), (3, "third")] {
        publish(&versions, &acme(), hashed(text), "anna", at(second)).await;
        until_shown(&themes, text).await;
        let fresh = storage.themes();
        until_shown(&fresh, text).await;
        for themes in [&themes, &fresh] {
            let shown: Vec<_> = ["copied", "first", "second", "third"].into_iter().take(second as usize + 1).collect();
            for text in shown.iter().rev().take(3) {
                assert_eq!(asset(themes, &format!("logo.{text}.svg")).await.as_deref(), Some(*text), "after {second}");
            }
        }
    }
    assert_eq!(asset(&themes, "logo.copied.svg").await, None, "three changes ago");
    versions.deactivate(&acme(), None, "anna", at(4)).await.unwrap();
    until_shown(&themes, "built-in").await;
    assert_eq!(asset(&themes, "logo.third.svg").await.as_deref(), Some("third"));
}

async fn themes_are_versioned_separately(storage: ThemeStorage) {
    let other = "acme-2".parse().unwrap();
    let versions = storage.versions();
    publish(&versions, &acme(), saying("acme"), "anna", at(1)).await;
    publish(&versions, &other, saying("other"), "anna", at(2)).await;
    assert_eq!(versions.live(&acme()).await.unwrap(), Some(saying("acme")));
    assert_eq!(versions.live(&other).await.unwrap(), Some(saying("other")));
    assert_eq!(versions.list(&acme()).await.unwrap().versions.len(), 1);
    assert_eq!(versions.live(&"nobody".parse().unwrap()).await.unwrap(), None);
    assert!(!versions.is_live(&"nobody".parse().unwrap()).await.unwrap());
}

async fn copied_files_are_shown_until_the_first_activation(storage: ThemeStorage) {
    let (versions, themes) = (storage.versions(), storage.themes());
    let copied = files([("queue.html", "copied.{{ script_tags }}"), ("a/b.css", "b{}")]);
    for (path, content) in &copied {
        storage.write(&format!("acme/{path}"), std::str::from_utf8(content).unwrap()).await;
    }
    storage.write("acme/.DS_Store", "x").await;
    storage.write("acme/notes.toml", "x").await;
    until_shown(&themes, "copied").await;
    assert_eq!(versions.live(&acme()).await.unwrap(), Some(copied));
    let first = versions.create(&acme(), &draft(saying("first")).await, "anna", at(1)).await.unwrap();
    let list = versions.list(&acme()).await.unwrap();
    assert_eq!((list.revision, list.versions), (0, vec![first.clone()]));
    assert!(versions.is_live(&acme()).await.unwrap());
    assert_eq!(page(&storage.themes()).await, "copied", "a version is not live until it is activated");

    versions.activate(&acme(), &first.id, Some(0), "anna", at(2)).await.unwrap();
    until_shown(&themes, "first").await;
    storage.write("acme/queue.html", "changed.{{ script_tags }}").await;
    versions.deactivate(&acme(), Some(1), "anna", at(3)).await.unwrap();
    until_shown(&themes, "built-in").await;
    assert_eq!((versions.live(&acme()).await.unwrap(), versions.is_live(&acme()).await.unwrap()), (None, false));
}

/// The page, and the part that it includes, each say the name of the version.
async fn readers_never_see_mixed_versions(storage: ThemeStorage) {
    let version = |text: &str| {
        let page = format!("{text} {{% include \"part.html\" %}}.{{{{ script_tags }}}}");
        files([("queue.html", &page), ("part.html", text)])
    };
    let (versions, themes) = (storage.versions(), storage.themes());
    let mut ids = Vec::new();
    for (second, text) in [(0, "first"), (1, "second")] {
        ids.push(versions.create(&acme(), &draft(version(text)).await, "anna", at(second)).await.unwrap().id);
    }
    versions.activate(&acme(), &ids[0], Some(0), "anna", at(2)).await.unwrap();
    until_shown(&themes, "first first").await;
    let done = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&done);
    let activating = tokio::spawn(async move {
        for turn in 1..=10 {
            activate(&versions, &ids[turn % 2], turn).await;
        }
        ended.store(true, Ordering::Relaxed);
    });
    while !done.load(Ordering::Relaxed) {
        let shown = page(&themes).await;
        assert!(shown == "first first" || shown == "second second", "{shown}");
        let fresh = page(&storage.themes()).await;
        assert!(["first first", "second second", "built-in"].contains(&fresh.as_str()), "{fresh}");
        tokio::task::yield_now().await;
    }
    activating.await.unwrap();
}

async fn activate(versions: &ThemeVersions, id: &vestibule_themes::VersionId, turn: usize) {
    versions.activate(&acme(), id, Some(turn as u64), "anna", at(10 + turn as u64)).await.unwrap();
}

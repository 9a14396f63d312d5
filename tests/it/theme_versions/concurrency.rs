//! Operators and gates that use one theme at once.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use vestibule_core::SessionId;
use vestibule_themes::{ThemeVersions, VersionError, VersionId};

use super::{ThemeStorage, acme, at, draft, live_id, on_each_storage, saying};

on_each_storage!(
    one_of_two_concurrent_activations_wins,
    uploads_do_not_disturb_each_other,
    random_changes_are_gapless_and_exclusive,
);

async fn one_of_two_concurrent_activations_wins(storage: ThemeStorage) {
    let (anna, ben) = (storage.versions(), storage.versions());
    let first = anna.create(&acme(), &draft(saying("first")).await, "anna", at(0)).await.unwrap().id;
    let second = ben.create(&acme(), &draft(saying("second")).await, "ben", at(1)).await.unwrap().id;
    for turn in 0..10 {
        // What is live already would be no change.
        anna.deactivate(&acme(), Some(2 * turn), "anna", at(turn)).await.unwrap();
        let seen = Some(2 * turn + 1);
        let theme = acme();
        let (one, other) = tokio::join!(
            anna.activate(&theme, &first, seen, "anna", at(turn)),
            ben.activate(&theme, &second, seen, "ben", at(turn)),
        );
        let (winner, loser) = if one.is_ok() { (one, other) } else { (other, one) };
        let (version, change) = winner.unwrap();
        assert_eq!(change.revision, 2 * turn + 2);
        assert!(matches!(loser, Err(VersionError::Conflict { revision }) if revision == change.revision), "{loser:?}");
        assert_eq!(live_id(&anna).await, Some(version.id));
    }
}

async fn uploads_do_not_disturb_each_other(storage: ThemeStorage) {
    let operators: Vec<_> = (0..8).map(|_| storage.versions()).collect();
    let uploads = operators.iter().enumerate().map(async |(n, versions)| {
        let files = saying(&format!("version {n}"));
        let created = versions.create(&acme(), &draft(files.clone()).await, "anna", at(1)).await.unwrap();
        (created.id, files)
    });
    let created = join_all(uploads).await;
    let list = operators[0].list(&acme()).await.unwrap();
    assert_eq!((list.revision, list.versions.len()), (0, created.len()));
    for (id, files) in created {
        assert_eq!(operators[0].read(&acme(), &id).await.unwrap(), files);
    }
}

/// Successful changes by revision.
type Changes = BTreeMap<u64, Option<VersionId>>;

/// Several operators upload, activate and deactivate at random. Each revision has one winner, none is missing, and what is
/// live at a revision is what its winner chose.
async fn random_changes_are_gapless_and_exclusive(storage: ThemeStorage) {
    let random = u64::from_be_bytes(*SessionId::random().as_bytes().first_chunk().unwrap()) >> 16;
    let seed = std::env::var("VESTIBULE_PROPERTY_SEED").map_or(random, |seed| seed.parse().unwrap());
    println!("VESTIBULE_PROPERTY_SEED={seed}");
    let operators = (0..4).map(|n| operate(storage.versions(), SmallRng::seed_from_u64(seed + n), n));
    let (mut all, mut observed) = (Changes::new(), Vec::new());
    for (changes, seen) in join_all(operators).await {
        for (revision, version) in changes {
            assert!(all.insert(revision, version).is_none(), "two changes won revision {revision}");
        }
        observed.extend(seen);
    }
    let newest = all.len() as u64;
    assert!(newest > 4, "{all:?}");
    assert_eq!(all.keys().copied().collect::<Vec<_>>(), (1..=newest).collect::<Vec<_>>());
    for (revision, live) in observed.into_iter().filter(|(revision, _)| *revision > 0) {
        assert_eq!(all[&revision], live, "live at revision {revision}");
    }
    let list = storage.versions().list(&acme()).await.unwrap();
    assert_eq!((list.revision, live_id(&storage.versions()).await), (newest, all[&newest].clone()));
}

/// Returns the changes that succeeded, and what was live whenever the versions were listed.
async fn operate(
    versions: ThemeVersions,
    mut random: SmallRng,
    operator: u64,
) -> (Changes, Vec<(u64, Option<VersionId>)>) {
    let (mut changes, mut observed) = (Changes::new(), Vec::new());
    let by = format!("operator-{operator}");
    for turn in 0..12 {
        let now = at(turn * 10 + operator);
        let list = versions.list(&acme()).await.unwrap();
        let live = list.versions.iter().find(|version| version.live).map(|version| version.id.clone());
        observed.push((list.revision, live));
        let expected = random.random_bool(0.7).then_some(list.revision);
        let chosen = list.versions.choose(&mut random).map(|version| version.id.clone());
        let (wanted, change) = match (random.random_range(0..10), chosen) {
            (0..2, _) | (_, None) => {
                let files = saying(&format!("{by} {turn}"));
                versions.create(&acme(), &draft(files).await, &by, now).await.unwrap();
                continue;
            }
            (2..4, _) => (None, versions.deactivate(&acme(), expected, &by, now).await),
            (_, Some(id)) => {
                let change = versions.activate(&acme(), &id, expected, &by, now).await.map(|(_, change)| change);
                (Some(id), change)
            }
        };
        match change {
            Ok(change) if change.is_changed => drop(changes.insert(change.revision, wanted)),
            Ok(_) => {}
            Err(VersionError::Conflict { revision }) => assert!(revision > 0, "{by}: {revision}"),
            Err(error) => panic!("{by}: {error}"),
        }
    }
    (changes, observed)
}

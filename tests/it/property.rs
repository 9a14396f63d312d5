//! Random operations: every store gives the same answers, and the rules hold after every step.
//!
//! `VESTIBULE_PROPERTY_RUNS` and `VESTIBULE_PROPERTY_OPS` make it longer, `VESTIBULE_PROPERTY_SEED` repeats one run. A seed
//! that failed goes into `property-seeds.txt`, whose seeds run first.

mod invariants;
mod joins;
mod many_joins;
mod operation;
mod run;
mod snapshot;
mod visitors;

use std::env;

use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use vestibule_core::SessionId;

use crate::line_fixture::StoreFixture;
use joins::ComparedStores;
use run::{Coverage, Run};

/// Default number of runs per store.
const RUNS: u64 = 256;
/// Default number of operations per run.
const OPERATIONS: usize = 200;
/// Number of concurrent runs, which hides the latency of the store.
const SIDE_BY_SIDE: usize = 8;
/// The rules without a store take a fraction of the time.
const MORE_OF_THE_RULES_ALONE: u64 = 4;

/// Default number of operations of a sequence of joins, each of which is up to a dozen joins.
const JOIN_OPERATIONS: usize = 30;

const KEPT: &str = include_str!("property-seeds.txt");

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} takes a whole number, not {text:?}")))
}

/// The kept seeds, then the requested number of new ones; or the single requested seed.
fn seeds(times: u64) -> Vec<u64> {
    if let Some(seed) = number("VESTIBULE_PROPERTY_SEED") {
        return vec![seed];
    }
    let kept = KEPT.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.trim().parse().ok());
    let first = u64::from_be_bytes(*SessionId::random().as_bytes().first_chunk().unwrap()) >> 16;
    let runs = number("VESTIBULE_PROPERTY_RUNS").unwrap_or(RUNS) * times;
    kept.chain(first..first + runs).collect()
}

fn operations(default: usize) -> usize {
    number("VESTIBULE_PROPERTY_OPS").map_or(default, |count| count as usize)
}

/// Adds what happened in a run that held; otherwise fails, and says how to repeat it.
fn add(happened: &mut Coverage, seed: u64, operations: usize, outcome: Result<Coverage, String>) {
    let again = format!("again with VESTIBULE_PROPERTY_SEED={seed} VESTIBULE_PROPERTY_OPS={operations}");
    for (name, count) in outcome.unwrap_or_else(|failure| panic!("{failure}\n{again}")) {
        *happened.entry(name).or_default() += count;
    }
}

/// Runs all seeds against the rules and the store that `other` creates.
async fn hold(times: u64, other: impl AsyncFn() -> Option<StoreFixture>) {
    let operations = operations(OPERATIONS);
    let runs = stream::iter(seeds(times)).map(async |seed| (seed, Run::new(seed, other().await).go(operations).await));
    let mut runs = std::pin::pin!(runs.buffer_unordered(SIDE_BY_SIDE));
    let (mut done, mut happened) = (0, Coverage::new());
    while let Some((seed, outcome)) = runs.next().await {
        add(&mut happened, seed, operations, outcome);
        done += 1;
    }
    println!("{done} runs of {operations} operations: {happened:?}");
    let never = happened.iter().find(|(_, count)| **count < done / 8);
    assert!(done < RUNS || never.is_none(), "hardly ever: {never:?}");
}

#[tokio::test]
async fn rules_hold_after_every_step() {
    hold(MORE_OF_THE_RULES_ALONE, async || None).await;
}

#[tokio::test]
async fn redis_matches_the_reference_rules() {
    hold(1, async || Some(StoreFixture::redis().await)).await;
}

#[tokio::test]
async fn redis_counts_joins_as_the_rules_do() {
    let (seeds, operations) = (seeds(1), operations(JOIN_OPERATIONS));
    let runs = seeds.chunks(seeds.len().div_ceil(SIDE_BY_SIDE)).map(async |seeds| {
        let (stores, mut happened) = (ComparedStores::redis().await, Coverage::new());
        for seed in seeds {
            add(&mut happened, *seed, operations, stores.run(*seed, operations).await);
        }
        happened
    });
    let mut happened = Coverage::new();
    for (name, count) in join_all(runs).await.into_iter().flatten() {
        *happened.entry(name).or_default() += count;
    }
    println!("{} sequences of {operations} operations: {happened:?}", seeds.len());
    let never = happened.iter().find(|(_, count)| **count < seeds.len() as u64 / 4);
    assert!((seeds.len() as u64) < RUNS || never.is_none(), "hardly ever: {never:?}");
}

#[tokio::test]
async fn redis_counts_a_million_joins() {
    many_joins::run().await;
}

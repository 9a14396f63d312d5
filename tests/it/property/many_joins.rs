//! A million joins: the counters on Redis keep their size, and few joins read above a limit that they are not above.

use std::collections::HashMap;

use futures_util::{StreamExt as _, stream};
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;
use vestibule_core::line::{ClientDigests, JoinClient, Visit};
use vestibule_core::{JOIN_WINDOW, PrefixDigest, SessionId};

use crate::line_fixture::{LineFixture, StoreFixture};

/// Windows, and the joins of each.
const WINDOWS: u64 = 10;
const JOINS: u64 = 100_000;
/// Networks of all joins, and those of them from which a quarter of the joins comes.
const NETWORKS: u64 = 60_000;
const BUSY_NETWORKS: u64 = 100;
/// Addresses of a network.
const ADDRESSES: u64 = 256;
/// Limits of an address and a network, and the shares of joins that may read above them by error: twice those of the model.
const PER_ADDRESS: u64 = 20;
const PER_NETWORK: u64 = 64;
const ERRORS_OF_ADDRESSES: f64 = 0.0001;
const ERRORS_OF_NETWORKS: f64 = 0.0012;
/// Bytes of the counters: two windows of two rows of 131,072 cells of 16 bits, in the allocator's next larger class.
const BYTES: u64 = 1_310_720;
/// Bytes of the key itself.
const BYTES_OF_A_KEY: u64 = 200;
/// Visits on their way at once.
const IN_FLIGHT: usize = 256;

/// Spread over the cells, as keyed digests are.
fn digest(prefix: u64) -> PrefixDigest {
    PrefixDigest::of_rows(SmallRng::seed_from_u64(prefix).random())
}

fn joining(network: u64, address: u64) -> Visit {
    let prefixes = Some(ClientDigests { address: digest(address), network: digest(network) });
    Visit { client: JoinClient { prefixes, ..JoinClient::default() }, ..Visit::joining(SessionId::random()) }
}

fn bytes(fixture: &LineFixture<'_>) -> u64 {
    let script = "return redis.call('MEMORY', 'USAGE', (string.gsub(KEYS[1], 'settings$', 'joins')))";
    fixture.stores.redis_script(script, &fixture.queue).parse().unwrap()
}

pub(super) async fn run() {
    let stores = StoreFixture::redis().await;
    let protection = json!({ "pre_ticket_from": "none", "per_address": PER_ADDRESS, "per_network": PER_NETWORK });
    let fixture = stores.open(json!({ "mode": "paused", "protection": protection })).await;
    let mut rng = SmallRng::seed_from_u64(7);
    let (mut before, mut over_before) = (HashMap::<u64, u64>::new(), [0; 2]);
    for window in 0..WINDOWS {
        let mut counted = HashMap::<u64, u64>::new();
        let mut over = [0; 2];
        let visits: Vec<Visit> = (0..JOINS)
            .map(|join| {
                let network = rng.random_range(0..if join % 4 == 0 { BUSY_NETWORKS } else { NETWORKS });
                let address = NETWORKS + network * ADDRESSES + rng.random_range(0..ADDRESSES);
                for (over, (prefix, limit)) in over.iter_mut().zip([(address, PER_ADDRESS), (network, PER_NETWORK)]) {
                    let joins = counted.entry(prefix).or_default();
                    *joins += 1;
                    *over += u64::from(*joins + before.get(&prefix).copied().unwrap_or_default() > limit);
                }
                joining(network, address)
            })
            .collect();
        let joined = stream::iter(visits).map(|visit| fixture.store().visit(&fixture.queue, visit));
        joined.buffered(IN_FLIGHT).for_each(async |answer| assert!(answer.unwrap().session.is_some())).await;
        let counters = fixture.stats().await.limits.counters;
        let found = [counters.over_address - over_before[0], counters.over_network - over_before[1]];
        for (found, (over, most)) in found.iter().zip(over.iter().zip([ERRORS_OF_ADDRESSES, ERRORS_OF_NETWORKS])) {
            let errors = found.checked_sub(*over).expect("a join is counted too few");
            println!("window {window}: {found} above a limit, {errors} of them by error");
            assert!(errors as f64 <= most * JOINS as f64, "window {window}: {errors} errors");
        }
        let bytes = bytes(&fixture);
        assert!((BYTES..BYTES + BYTES_OF_A_KEY).contains(&bytes), "window {window}: {bytes} bytes");
        (before, over_before) = (counted, [counters.over_address, counters.over_network]);
        fixture.advance_seconds(JOIN_WINDOW);
    }
}

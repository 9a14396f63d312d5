//! Scheduled queues in Redis: the phase function in Lua is that of the rules (rule 13).

use std::env;
use std::ops::Range;

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use vestibule_core::line::{Mode, Visit, VisitKind};
use vestibule_core::settings::{Beacon, beacon_randomness};
use vestibule_core::{Clock as _, MICROS_PER_SECOND, PutMode, QueueId, SessionId, Timestamp};
use vestibule_tests::Redis;

use crate::conformance::phases::event;
use crate::line_fixture::{StoreFixture, random_queue_id, settings_of};

/// Schedules of the property test; each is compared at [`INSTANTS`] instants.
const SCHEDULES: u64 = 256;
const INSTANTS: usize = 400;

/// Up to five events with random times, some of them suspended, and what happens between them.
fn schedule(rng: &mut SmallRng) -> Value {
    let mut begins = rng.random_range(0..300);
    let mut events = Vec::new();
    for index in 0..rng.random_range(0..=5) {
        let start = begins + rng.random_range(60..400);
        let end = start + rng.random_range(105..400);
        let mut event = event(&format!("e{index}"), begins, start, end);
        event["order"] = if rng.random_bool(0.6) { "draw" } else { "arrival" }.into();
        if event["order"] == "draw" && rng.random_bool(0.5) {
            set_beacon(&mut event, start..end, rng);
        }
        event["suspended"] = rng.random_bool(0.2).into();
        events.push(event);
        begins = end + rng.random_range(900..1_300);
    }
    let between = if rng.random_bool(0.5) { "bypass" } else { "closed" };
    let hold_ttl = rng.random_range(60..2_000);
    json!({ "mode": "scheduled", "between_events": between, "events": events, "hold_ttl": hold_ttl, "waiting_ttl": 60 })
}

/// Gives an event with these seconds a beacon, whose value is recorded at any time until its end, or never.
fn set_beacon(event: &mut Value, seconds: Range<u64>, rng: &mut SmallRng) {
    event["beacon"] = "drand-quicknet".into();
    event["draw_seconds"] = rng.random_range(45..=seconds.end - seconds.start - 60).into();
    let starts_at: Timestamp = event["starts_at"].as_str().unwrap().parse().unwrap();
    let round = Beacon::DrandQuicknet.round_of(starts_at);
    let published_at = Beacon::DrandQuicknet.published_at(round).micros();
    let until_end = starts_at.micros().add_seconds(seconds.end - seconds.start).since(published_at) / MICROS_PER_SECOND;
    let received_at = published_at.add_seconds(rng.random_range(0..until_end));
    if rng.random_bool(0.6) {
        event["beacon_value"] = json!({
            "round": round, "signature": "00ff", "randomness": beacon_randomness("00ff").unwrap().to_string(),
            "received_at": Timestamp::of(received_at).to_string(),
        });
    }
}

#[tokio::test]
async fn phases_in_lua_are_those_of_the_rules() {
    let runs = env::var("VESTIBULE_PROPERTY_RUNS").ok().map_or(SCHEDULES, |runs| runs.parse().unwrap());
    let stores = StoreFixture::redis().await;
    let start = stores.clock.now();
    for seed in 0..runs {
        let mut rng = SmallRng::seed_from_u64(seed);
        let fixture = stores.open(schedule(&mut rng)).await;
        let rules = fixture.settings().await.line;
        let boundaries: Vec<u64> = rules
            .events
            .iter()
            .flat_map(|event| {
                let ends_at = event.ends_at.micros();
                let draw_ends_at = event.draw_phase_ends_at().unwrap_or(ends_at);
                let over = ends_at.add_seconds(rules.hold_ttl);
                [event.lobby_at().micros(), event.starts_at.micros(), draw_ends_at, ends_at, over]
            })
            .map(|at| at.0)
            .collect();
        for _ in 0..INSTANTS {
            let random = start.0 + rng.random_range(0..8_000_000_000);
            let at = match boundaries.len() {
                0 => random,
                _ if rng.random_bool(0.3) => random,
                count => boundaries[rng.random_range(0..count)] + rng.random_range(0..3) - 1,
            };
            set_clock(&stores, at);
            // Visits also write which event is current.
            if rng.random_bool(0.1) {
                fixture.ask(None, rng.random_bool(0.3).then(SessionId::random)).await;
            }
            let stats = fixture.stats().await;
            let waiting = stats.waiting > 0;
            let expected = rules.phase(stats.now, waiting).map(|current| current.phase);
            assert_eq!(
                (stats.phase, stats.mode),
                (expected, rules.effective_mode(stats.now, waiting)),
                "seed {seed}, {at}"
            );
        }
        stores.store.remove_queue(&fixture.queue).await.unwrap();
        set_clock(&stores, start.0);
    }
}

fn set_clock(stores: &StoreFixture, micros: u64) {
    let now = stores.clock.now().0;
    stores.clock.advance(micros.saturating_sub(now));
    stores.clock.step_back(now.saturating_sub(micros));
}

#[tokio::test]
async fn scheduled_queue_without_its_schedule_is_closed() {
    let stores = StoreFixture::redis().await;
    let settings = json!({ "mode": "scheduled", "quota": 0, "events": [event("sale", 0, 60, 120)] });
    let fixture = stores.open(settings).await;
    let mut guest = fixture.join_and_confirm().await;
    let damage = "return tostring(redis.call('HDEL', KEYS[1], 'schedule'))";
    assert_eq!(stores.redis_script(damage, &fixture.queue), "1");
    let answer = fixture.visit_as(SessionId::random()).await;
    assert_eq!((answer.mode, answer.session), (Mode::Closed, None));
    assert_eq!(fixture.visit(&mut guest).await.session.unwrap().position, 1, "nobody loses the position");
    let stats = fixture.stats().await;
    assert_eq!((stats.rules.mode, stats.mode, stats.phase), (Mode::Scheduled, Mode::Closed, None));
    fixture.change(|settings| settings.line.quota = 1).await;
    assert_eq!(fixture.visit_as(SessionId::random()).await.kind, VisitKind::Joined);
}

#[tokio::test]
async fn schedule_is_removed_with_the_mode() {
    let stores = StoreFixture::redis().await;
    let settings =
        settings_of(&random_queue_id(), &json!({ "mode": "scheduled", "events": [event("sale", 0, 60, 120)] }));
    stores.store.put_settings(&settings, PutMode::Always).await.unwrap();
    let script = |field: &str| format!("return tostring(redis.call('HEXISTS', KEYS[1], '{field}'))");
    let fields_of = |id: &QueueId| ["schedule", "events"].map(|field| stores.redis_script(&script(field), id));
    assert_eq!(fields_of(&settings.id), ["1", "1"]);
    // An end in the lobby lasts as long as an event says, in any mode.
    let mut open = settings;
    open.line.mode = Mode::Open;
    stores.store.put_settings(&open, PutMode::Always).await.unwrap();
    assert_eq!(fields_of(&open.id), ["0", "1"]);
    open.line.events = [].into_iter().collect();
    stores.store.put_settings(&open, PutMode::Always).await.unwrap();
    assert_eq!(fields_of(&open.id), ["0", "0"]);
}

/// Visits to a lobby while the memory of Redis is observed, and what may change meanwhile for other reasons.
const LOBBY_VISITS: u64 = 2_000;
const MEMORY_NOISE: u64 = 65_536;

#[tokio::test]
async fn lobby_visits_take_no_memory() {
    let redis = Redis::start().await;
    let stores = StoreFixture::at(&redis.url());
    let mut sale = event("sale", 0, 3_600, 7_200);
    (sale["order"], sale["key"], sale["salt"]) = ("draw".into(), "s1".into(), "a".into());
    let fixture = stores.open(json!({ "mode": "scheduled", "quota": 10, "events": [sale] })).await;
    let visits = async |count: u64| {
        for _ in 0..count {
            let visit = Visit::joining(SessionId::random());
            assert_eq!(stores.store.visit(&fixture.queue, visit).await.unwrap().kind, VisitKind::Lobby);
        }
        let used = redis.info("memory", "used_memory").await.unwrap();
        used.parse::<u64>().unwrap()
    };
    let before = visits(100).await;
    let after = visits(LOBBY_VISITS).await;
    assert_eq!(fixture.stats().await.lobby_tickets, LOBBY_VISITS + 100);
    let grown = after.saturating_sub(before);
    assert!(grown < MEMORY_NOISE, "{grown} bytes for {LOBBY_VISITS} visits");
}

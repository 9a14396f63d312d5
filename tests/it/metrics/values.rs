//! Every sample is what the store holds.

use std::collections::BTreeMap;

use serde_json::json;
use vestibule_core::line::{
    ADDRESS_LIMITS_FROM, ClientAddressState, Identities, Mode, ProtectionReport, RejectionReason, Visit, WAIT_BUCKETS,
};
use vestibule_core::{LastPurge, SaleKeys, SessionId};
use vestibule_metrics::{Metrics, router};
use vestibule_records::history::record_samples;
use vestibule_tests::{Exposition, GateUnderTest, Sample, sample};

use super::{TOKEN, metrics_of, scrape, sources};
use crate::conformance::limits::others;
use crate::conformance::phases::event;
use crate::line_fixture::{LineFixture, StoreFixture};
use crate::suite::on_each;

/// A queue in which everything that is counted has happened, and a line stands.
async fn eventful(stores: &StoreFixture) -> LineFixture<'_> {
    let fixture = stores.open(json!({ "quota": 3, "admissions_per_minute": 6000, "tenant": "acme" })).await;
    let mut guests = fixture.arrivals(12).await;
    fixture.advance_seconds(4);
    fixture.leave(&guests[0]).await;
    fixture.end(&guests[1]).await;
    fixture.away(&guests[11]).await;
    fixture.advance_seconds(2);
    let mut back = guests.pop().unwrap();
    fixture.visit(&mut back).await;
    assert_eq!(fixture.release(2).await, 2);
    // The waiting sessions expire, except three of them, and then all active ones.
    for _ in 0..3 {
        fixture.advance_seconds(25);
        fixture.visit_all(&mut guests[7..10]).await;
        fixture.visit(&mut back).await;
    }
    fixture.purge().await;
    for _ in 0..25 {
        fixture.advance_seconds(25);
        fixture.visit_all(&mut guests[7..10]).await;
        fixture.visit(&mut back).await;
    }
    fixture.purge().await;
    fixture.join_many(8).await;
    let identities = Identities { accepted: 2, rejected: 1 };
    let redeemed = Visit { pre_tickets_issued: 3, identities, ..Visit::redeeming(fixture.first_visit()) };
    fixture.store().visit(&fixture.queue, redeemed).await.unwrap();
    fixture.advance_micros(1_500_000);
    fixture
}

/// What the metrics must say of a queue, by the words of the store.
fn samples_of(tenant: &str, queue: &str, report: &ProtectionReport) -> Vec<Sample> {
    let stats = &report.stats;
    let of = [("tenant", tenant), ("queue", queue)];
    let one = |name: &str, value: f64| sample(&format!("vestibule_queue_{name}"), &of, value);
    let labelled = |name: &str, label: (&'static str, &str), value: f64| {
        sample(&format!("vestibule_queue_{name}"), &[of[0], of[1], label], value)
    };
    let seconds = |micros: u64| micros as f64 / 1_000_000.0;
    let seen = stats.pace.observed(stats.now);
    let counters = stats.counters;
    let mut all = vec![
        one("up", 1.0),
        one("waiting", stats.waiting as f64),
        one("active", stats.active as f64),
        one("quota", stats.rules.quota as f64),
        one("reserved", stats.reserved as f64),
        one("oldest_wait_seconds", stats.oldest_arrival.map_or(0.0, |arrival| seconds(stats.now.since(arrival)))),
        one("admissions_per_second", seen.admissions / seen.seconds.max(1.0)),
        one("pre_ticket_required", f64::from(u8::from(stats.requires_pre_ticket()))),
        one("attack_mode", f64::from(u8::from(stats.attack_mode_until.is_some()))),
        one("limits_enforced", f64::from(u8::from(stats.enforces_limits()))),
        one("window_joins", report.totals.joins as f64),
        one("largest_network_joins", report.networks.first().map_or(0.0, |largest| largest.joins as f64)),
        one("recovering", f64::from(u8::from(stats.recovering))),
        one("joined_total", counters.joined as f64),
        one("confirmed_total", counters.confirmed as f64),
        one("returned_total", counters.returned as f64),
        one("admitted_total", counters.admitted as f64),
        one("released_total", counters.released as f64),
        labelled("expired_total", ("state", "waiting"), counters.expired_waiting as f64),
        labelled("expired_total", ("state", "active"), counters.expired_active as f64),
        one("left_total", counters.left as f64),
        one("ended_total", counters.ended as f64),
        one("away_total", counters.away as f64),
        one("pre_tickets_issued_total", counters.pre_tickets_issued as f64),
        one("pre_tickets_redeemed_total", counters.pre_tickets_redeemed as f64),
        one("wait_seconds_sum", seconds(stats.waits.sum_us)),
        one("wait_seconds_count", stats.waits.buckets.iter().sum::<u64>() as f64),
    ];
    all.push(labelled("identities_total", ("result", "accepted"), counters.identities_accepted as f64));
    all.push(labelled("identities_total", ("result", "rejected"), counters.identities_rejected as f64));
    let limits = stats.limits;
    for reason in RejectionReason::ALL {
        let rejected = limits.counters.rejected(reason) as f64;
        all.push(labelled("joins_rejected_total", ("reason", reason.as_str()), rejected));
    }
    all.push(labelled("joins_over_limit_total", ("scope", "address"), limits.counters.over_address as f64));
    all.push(labelled("joins_over_limit_total", ("scope", "network"), limits.counters.over_network as f64));
    all.push(one("joins_challenged_total", limits.counters.challenged as f64));
    all.push(labelled("proofs_total", ("result", "valid"), limits.counters.proofs_valid as f64));
    all.push(labelled("proofs_total", ("result", "invalid"), limits.counters.proofs_invalid as f64));
    all.push(one("delayed_joins_total", limits.counters.delayed_joins as f64));
    for state in ClientAddressState::ALL {
        let is_current = f64::from(u8::from(limits.client_address.unwrap_or_default() == state));
        all.push(labelled("client_address_state", ("state", state.as_str()), is_current));
    }
    for (mode, name) in [
        (Mode::Open, "open"),
        (Mode::Bypass, "bypass"),
        (Mode::Paused, "paused"),
        (Mode::Closed, "closed"),
        (Mode::Draining, "draining"),
        (Mode::Scheduled, "scheduled"),
    ] {
        all.push(labelled("mode", ("mode", name), f64::from(u8::from(stats.rules.mode == mode))));
    }
    if let Some(per_minute) = stats.rules.admissions_per_minute {
        all.push(one("admissions_per_second_limit", per_minute as f64 / 60.0));
    }
    if let Some(every) = stats.rules.admissions_every {
        all.push(one("admissions_step_seconds", every as f64));
    }
    let bounds = WAIT_BUCKETS.iter().map(u64::to_string).chain(["+Inf".to_owned()]);
    for (last, bound) in bounds.enumerate() {
        let counted: u64 = stats.waits.buckets[..=last].iter().sum();
        all.push(labelled("wait_seconds_bucket", ("le", &bound), counted as f64));
    }
    all
}

/// By series, as floating point has no order of its own; what no test can predict is left out.
fn by_series(samples: impl IntoIterator<Item = Sample>) -> BTreeMap<String, f64> {
    let ours = samples.into_iter().filter(|it| it.name != "vestibule_store_round_trip_seconds");
    ours.map(|it| (format!("{}{:?}", it.name, it.labels), it.value)).collect()
}

async fn samples_match_the_store(stores: &StoreFixture) {
    let metrics = metrics_of(stores);
    let fixture = eventful(stores).await;
    let paused = stores.open(json!({ "quota": 0, "tenant": "other", "mode": "paused" })).await;
    paused.join().await;
    let record = LastPurge {
        took_ms: 1250,
        failed: 1,
        expired: 30,
        tombstones: 4,
        admitted: 5,
        unfinished: true,
        ..Default::default()
    };
    stores.store.set_last_purge(&record).await.unwrap();

    let found = scrape(&metrics).await;
    let stats = fixture.stats().await;
    for (name, count) in stats.counters.named() {
        assert!(count > 0, "{name} never happened");
    }
    assert!(stats.waiting > 0 && stats.active > 0 && stats.waits.sum_us > 0, "{stats:?}");
    let mut expected = vec![
        sample("vestibule_up", &[], 1.0),
        sample("vestibule_store_up", &[], 1.0),
        sample("vestibule_queues", &[], 2.0),
        sample(
            "vestibule_build_info",
            &[("version", env!("CARGO_PKG_VERSION")), ("architecture", std::env::consts::ARCH)],
            1.0,
        ),
        sample("vestibule_purge_timestamp_seconds", &[], fixture.now().0 as f64 / 1e6),
        sample("vestibule_purge_duration_seconds", &[], 1.25),
        sample("vestibule_purge_failed_queues", &[], 1.0),
        sample("vestibule_purge_expired_sessions", &[], 30.0),
        sample("vestibule_purge_tombstones", &[], 4.0),
        sample("vestibule_purge_admitted_sessions", &[], 5.0),
        sample("vestibule_purge_unfinished", &[], 1.0),
    ];
    expected.extend(samples_of("acme", fixture.queue.as_str(), &fixture.protection().await));
    expected.extend(samples_of("other", paused.queue.as_str(), &paused.protection().await));
    assert_eq!(by_series(found.samples), by_series(expected));
    assert!(has_round_trip(&scrape(&metrics).await));
}

fn has_round_trip(found: &Exposition) -> bool {
    found.value("vestibule_store_round_trip_seconds", &[]).is_some_and(|seconds| (0.0..10.0).contains(&seconds))
}

/// A process answers many scrapes, and what changed between two of them is in the second.
async fn the_next_scrape_shows_changes(stores: &StoreFixture) {
    let metrics = metrics_of(stores);
    let fixture = stores.open(json!({ "quota": 1, "tenant": "acme" })).await;
    scrape(&metrics).await;
    fixture.join().await;
    fixture.change(|settings| settings.tenant = "other".parse().unwrap()).await;
    let found = scrape(&metrics).await;
    let of = [("tenant", "other"), ("queue", fixture.queue.as_str())];
    assert_eq!(found.value("vestibule_queue_active", &of), Some(1.0), "{found:?}");
    assert_eq!(found.all("vestibule_queue_up").count(), 1);

    // Removed and created again: the same ID and revision, but of another tenant.
    fixture.advance_seconds(1);
    stores.store.remove_queue(&fixture.queue).await.unwrap();
    assert_eq!(scrape(&metrics).await.all("vestibule_queue_up").count(), 0);
    let mut again = crate::line_fixture::settings_of(&fixture.queue, &json!({ "tenant": "first" }));
    stores.store.put_settings(&again, vestibule_core::PutMode::Always).await.unwrap();
    assert_eq!(scrape(&metrics).await.all("vestibule_queue_up").next().unwrap().labels["tenant"], "first");
    fixture.advance_seconds(1);
    stores.store.remove_queue(&fixture.queue).await.unwrap();
    again.tenant = "second".parse().unwrap();
    stores.store.put_settings(&again, vestibule_core::PutMode::Always).await.unwrap();
    assert_eq!(scrape(&metrics).await.all("vestibule_queue_up").next().unwrap().labels["tenant"], "second");
}

/// Nothing has happened yet: no line, no purge.
async fn an_unused_queue_reports_zeros(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 7, "tenant": "acme" })).await;
    let found = scrape(&metrics_of(stores)).await;
    assert_eq!(found.all("vestibule_purge_timestamp_seconds").count(), 0, "there was no purge");
    let of = [("tenant", "acme"), ("queue", fixture.queue.as_str())];
    for name in
        ["waiting", "reserved", "oldest_wait_seconds", "admissions_per_second", "joined_total", "wait_seconds_count"]
    {
        assert_eq!(found.value(&format!("vestibule_queue_{name}"), &of), Some(0.0), "{name}");
    }
    assert_eq!(found.all("vestibule_queue_admissions_per_second_limit").count(), 0, "there is no limit");
}

/// A lost state is restored, and the metrics say that nobody is admitted meanwhile.
async fn recovering_is_1_while_lost_state_is_restored(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "tenant": "acme" })).await;
    fixture.lose(vestibule_core::PutMode::Restore).await;
    let metrics = metrics_of(stores);
    let of = [("tenant", "acme"), ("queue", fixture.queue.as_str())];
    assert_eq!(scrape(&metrics).await.value("vestibule_queue_recovering", &of), Some(1.0));
    fixture.advance_seconds(61);
    assert_eq!(scrape(&metrics).await.value("vestibule_queue_recovering", &of), Some(0.0));
}

/// The alert does not resolve because nobody comes, in whichever process.
async fn client_address_state_is_kept_while_nobody_joins(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "tenant": "acme", "protection": { "pre_ticket_from": "none" } })).await;
    let records = stores.records();
    let state = async || {
        record_samples(&*stores.store, &*records).await.unwrap();
        let new_process = Metrics::new(stores.store.clone(), records.clone());
        let found = scrape(&router(new_process, TOKEN.parse().unwrap())).await;
        let states = found.all("vestibule_queue_client_address_state");
        let current = states.filter(|it| it.value > 0.0).map(|it| it.labels["state"].clone()).collect::<Vec<_>>();
        fixture.advance_seconds(60);
        current
    };
    assert_eq!(state().await, ["ok"]);
    fixture.join_many(ADDRESS_LIMITS_FROM as usize).await;
    assert_eq!(state().await, ["unusable"], "no join has an address");
    fixture.advance_seconds(600);
    fixture.change(|settings| settings.line.quota = 7).await;
    assert_eq!(state().await, ["unusable"], "nobody came, so nothing is known");
    others(&fixture).await;
    assert_eq!(state().await, ["ok"]);
}

on_each! {
    {
        memory: &crate::line_fixture::StoreFixture::memory(),
        redis: &crate::line_fixture::StoreFixture::at(&vestibule_tests::Redis::start().await.url()),
    }
    {
        samples_match_the_store,
        the_next_scrape_shows_changes,
        an_unused_queue_reports_zeros,
        recovering_is_1_while_lost_state_is_restored,
        client_address_state_is_kept_while_nobody_joins,
    }
}

#[tokio::test]
async fn scheduled_queues_have_a_phase_and_a_start() {
    let stores = StoreFixture::memory();
    let metrics = metrics_of(&stores);
    let settings = json!({ "tenant": "acme", "mode": "scheduled", "events": [event("sale", 100, 160, 220)] });
    let fixture = stores.open(settings).await;
    let of = [("tenant", "acme"), ("queue", fixture.queue.as_str())];
    let phase = |name: &'static str| [of[0], of[1], ("phase", name)];
    let found = scrape(&metrics).await;
    assert_eq!(found.value("vestibule_queue_phase", &phase("idle")), Some(1.0));
    assert_eq!(found.value("vestibule_queue_event_starts_in_seconds", &of), Some(160.0));
    fixture.advance_seconds(130);
    let found = scrape(&metrics).await;
    assert_eq!(found.value("vestibule_queue_phase", &phase("idle")), Some(0.0));
    assert_eq!(found.value("vestibule_queue_phase", &phase("lobby")), Some(1.0));
    assert_eq!(found.value("vestibule_queue_event_starts_in_seconds", &of), Some(30.0));
    fixture.change(|settings| settings.line.mode = Mode::Open).await;
    let found = scrape(&metrics).await;
    assert_eq!(found.value("vestibule_queue_phase", &phase("lobby")), None);
    assert_eq!(found.value("vestibule_queue_event_starts_in_seconds", &of), None);
}

#[tokio::test]
async fn draws_have_lobby_tickets_and_need_a_sale_key() {
    let stores = StoreFixture::memory();
    let mut sale = event("sale", 100, 160, 260);
    for (field, value) in [("order", "draw"), ("key", "s1"), ("salt", "a")] {
        sale[field] = value.into();
    }
    let fixture = stores.open(json!({ "tenant": "acme", "mode": "scheduled", "events": [sale] })).await;
    let of = [("tenant", "acme"), ("queue", fixture.queue.as_str())];
    let with_keys = |keys: &SaleKeys| router(sources(&stores).with_sale_keys(keys), TOKEN.parse().unwrap());
    fixture.advance_seconds(130);
    fixture.ask(None, Some(SessionId::random())).await;
    for (keys, missing) in [(SaleKeys::new(&GateUnderTest::sale_keys()).unwrap(), 0.0), (SaleKeys::default(), 1.0)] {
        let found = scrape(&with_keys(&keys)).await;
        assert_eq!(found.value("vestibule_queue_lobby_tickets_total", &of), Some(1.0));
        assert_eq!(found.value("vestibule_queue_sale_key_missing", &of), Some(missing));
    }
    for (id, missing) in [("s1", 0.0), ("s2", 1.0)] {
        let metrics = sources(&stores).with_sale_key_ids([id.to_owned()]);
        let found = scrape(&router(metrics, TOKEN.parse().unwrap())).await;
        assert_eq!(found.value("vestibule_queue_sale_key_missing", &of), Some(missing), "the keys are not needed");
    }
    fixture.advance_seconds(40);
    let found = scrape(&metrics_of(&stores)).await;
    assert_eq!(found.value("vestibule_queue_phase", &[of[0], of[1], ("phase", "draw")]), Some(1.0));
    assert_eq!(found.value("vestibule_queue_sale_key_missing", &of), None, "this process has no gate");
}

#[tokio::test]
async fn invitations_need_a_sale_key_until_they_expire() {
    let stores = StoreFixture::memory();
    let until = event("", 0, 0, 60)["ends_at"].clone();
    let batch = json!({ "number": 1, "id": "fans", "count": 5, "key": "s1", "until": until });
    let fixture = stores.open(json!({ "tenant": "acme", "invitations": [batch] })).await;
    let of = [("tenant", "acme"), ("queue", fixture.queue.as_str())];
    let missing = async |id: &str| {
        let metrics = sources(&stores).with_sale_key_ids([id.to_owned()]);
        scrape(&router(metrics, TOKEN.parse().unwrap())).await.value("vestibule_queue_sale_key_missing", &of)
    };
    assert_eq!((missing("s1").await, missing("s2").await), (Some(0.0), Some(1.0)));
    fixture.advance_seconds(60);
    assert_eq!(missing("s2").await, None, "no code is valid any more");
}

#[tokio::test]
async fn missing_value_of_a_beacon_is_reported_until_it_is_recorded() {
    let stores = StoreFixture::memory();
    let mut sale = event("sale", 0, 60, 1_000);
    for (field, value) in [("order", "draw"), ("key", "s1"), ("salt", "a"), ("beacon", "drand-quicknet")] {
        sale[field] = value.into();
    }
    let fixture = stores.open(json!({ "tenant": "acme", "mode": "scheduled", "events": [sale] })).await;
    let of = [("tenant", "acme"), ("queue", fixture.queue.as_str())];
    let metrics = metrics_of(&stores);
    let missing = async || scrape(&metrics).await.value("vestibule_queue_event_beacon_missing_seconds", &of);
    let named = fixture.settings().await.line.events[0].beacon_round().unwrap();
    let micros = named.published_at.micros().since(fixture.now());
    fixture.advance_micros(micros - 1);
    assert_eq!(missing().await, None, "not published yet");
    fixture.advance_micros(90_000_001);
    assert_eq!(missing().await, Some(90.0));
    let id = "sale".parse().unwrap();
    vestibule_runtime::record_beacon(fixture.store(), &fixture.queue, &id, named.round, "00ff").await.unwrap();
    assert_eq!(missing().await, None);
}

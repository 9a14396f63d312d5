//! Rule 26: snapshots at the turning points of events, and the reports made from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use vestibule_core::line::Mode;
use vestibule_core::{Micros, PutMode, Timestamp};
use vestibule_records::event_report::{Report, record_turning_points};
use vestibule_records::history::record_samples;
use vestibule_records::{LogName, LoggedQueue, RecordStore};

use super::backoffice::{Backoffice, on_memory_and_redis, queue};
use crate::line_fixture::{LineFixture, START, StoreFixture};
use crate::suite::on_each;

/// An event that opens its lobby at one of these seconds, starts at the next and ends at the last.
pub(crate) fn sale(id: &str, since: Micros, seconds: [u64; 3]) -> Value {
    let [lobby_at, starts_at, ends_at] = seconds.map(|seconds| Timestamp::of(since.add_seconds(seconds)).to_string());
    json!({ "id": id, "lobby_at": lobby_at, "starts_at": starts_at, "ends_at": ends_at, "order": "arrival" })
}

/// A queue with an event from 600 to 1800 seconds, and its records.
struct Sale<'a> {
    line: LineFixture<'a>,
    records: Arc<dyn RecordStore>,
}

impl<'a> Sale<'a> {
    async fn open(stores: &'a StoreFixture) -> Self {
        let events = [sale("sale", START, [600, 1200, 1800])];
        let settings = json!({ "mode": "open", "quota": 2, "recheck_after": 0, "waiting_ttl": 60, "active_ttl": 600,
            "hold_ttl": 600, "claim_ttl": 30, "events": events });
        let line = stores.open(settings).await;
        // The queue has counted before.
        for guest in line.arrivals(2).await {
            line.leave(&guest).await;
        }
        line.change(|settings| settings.line.mode = Mode::Scheduled).await;
        Self { line, records: stores.records() }
    }

    /// Moves the clock to a second of the test, and stores what is due. Returns the number of snapshots.
    async fn at(&self, second: u64) -> usize {
        let micros = START.add_seconds(second).since(self.line.now());
        self.line.advance_micros(micros);
        self.line.purge().await;
        let (settings, stats) = (self.line.settings().await, self.line.stats().await);
        record_turning_points(&*self.records, &settings, None, &stats).await.unwrap()
    }

    async fn report(&self) -> Option<Report> {
        self.report_of(0).await
    }

    async fn report_of(&self, event: usize) -> Option<Report> {
        let settings = self.line.settings().await;
        let event = &settings.line.events[event];
        Report::of_event(&*self.records, &settings, event, &self.line.stats().await).await.unwrap()
    }
}

on_each! {
    { in_memory: &super::StoreFixture::memory(), in_redis: &super::StoreFixture::redis().await, }
    {
        report_counts_what_happens_in_the_event,
        report_over_a_loss_of_data_is_incomplete,
        report_after_a_line_that_still_moves_is_incomplete,
        report_of_a_queue_counts_since_its_state_began,
        report_counts_lobby_tickets_of_its_event,
    }
}

async fn report_counts_what_happens_in_the_event(stores: &StoreFixture) {
    let sale = Sale::open(stores).await;
    let line = &sale.line;
    assert_eq!(sale.at(500).await, 0);
    assert_eq!(sale.at(560).await, 1, "in the minute before the lobby opens");
    assert_eq!(sale.report().await, None);
    assert_eq!(sale.at(600).await, 0);
    let mut early = line.arrivals(3).await;
    line.away(&early[0]).await;
    assert_eq!(sale.at(700).await, 0, "the two others have expired by now");
    sale.at(1190).await;
    line.visit(&mut early[2]).await;
    let mut late = line.arrivals(4).await;
    assert_eq!(sale.at(1200).await, 1);
    line.visit(&mut early[2]).await;
    line.visit_all(&mut late).await;
    assert_eq!(line.counts().await, (3, 2), "waiting and active");
    assert_eq!(line.release(1).await, 1);
    line.leave(&late[0]).await;
    line.end(&late[1]).await;
    assert_eq!(line.counts().await, (1, 2), "the slot of the ended session is taken");
    let running = sale.report().await.unwrap();
    assert_eq!((running.totals.counters.admitted, running.totals.counters.expired_active), (3, 0));
    assert_eq!(sale.at(1805).await, 1, "of the end; everybody has expired");
    assert_eq!(sale.at(2399).await, 0);
    assert_eq!(sale.at(2400).await, 1, "the event is over");
    line.change(|settings| settings.line.mode = Mode::Open).await;
    line.arrivals(5).await;
    assert_eq!(sale.at(2500).await, 0);

    let report = sale.report().await.unwrap();
    assert_eq!((report.from, report.to), (START.add_seconds(560), START.add_seconds(2400)));
    assert!(report.complete);
    let counters = report.totals.counters;
    let found: BTreeMap<_, _> = counters.named().into_iter().collect();
    let expected = [
        ("joined", 7),
        ("confirmed", 7),
        ("returned", 1),
        ("admitted", 3),
        ("released", 1),
        ("expired_waiting", 3),
        ("expired_active", 2),
        ("left", 1),
        ("ended", 1),
        ("away", 1),
        ("pre_tickets_issued", 0),
        ("pre_tickets_redeemed", 0),
        ("identities:accepted", 0),
        ("identities:rejected", 0),
    ];
    assert_eq!(found, expected.into());
    // One has waited for 600 seconds, less some microseconds, and three for 10.
    let counted = report.totals.waits.cumulative();
    let up_to = |bound| counted.iter().find(|(found, _)| *found == bound).unwrap().1;
    assert_eq!([Some(5), Some(15), Some(300), Some(600), None].map(up_to), [0, 3, 3, 4, 4]);
}

async fn report_over_a_loss_of_data_is_incomplete(stores: &StoreFixture) {
    let sale = Sale::open(stores).await;
    sale.at(560).await;
    sale.at(600).await;
    sale.line.arrivals(3).await;
    sale.at(1200).await;
    sale.line.lose(PutMode::Restore).await;
    sale.line.arrivals(2).await;
    let report = sale.report().await.unwrap();
    assert_eq!((report.complete, report.totals.counters.joined), (false, 5));
    assert_eq!(sale.at(1800).await, 1);
    assert!(!sale.report().await.unwrap().complete);
}

async fn report_after_a_line_that_still_moves_is_incomplete(stores: &StoreFixture) {
    let sale = Sale::open(stores).await;
    let line = &sale.line;
    line.change(|settings| {
        let mut value = settings.to_value();
        let next = self::sale("next", START, [2500, 3000, 3600]);
        value["events"] = json!([self::sale("sale", START, [600, 1200, 1800]), next]);
        settings.line.events = vestibule_core::settings::Settings::from_stored(&value).unwrap().line.events;
    })
    .await;
    for second in [560, 600, 1200] {
        sale.at(second).await;
    }
    let mut waiting = line.arrivals(6).await;
    for second in (1240..2500).step_by(40) {
        sale.at(second).await;
        line.visit_all(&mut waiting).await;
    }
    assert_eq!(line.counts().await, (4, 2), "the event is not over yet");
    line.advance_micros(START.add_seconds(2500).since(line.now()));
    line.arrivals(10).await;
    sale.at(2520).await;
    let report = sale.report_of(1).await.unwrap();
    assert_eq!((report.totals.counters.joined, report.complete), (0, false));
    assert!(sale.report().await.unwrap().complete);
}

async fn report_of_a_queue_counts_since_its_state_began(stores: &StoreFixture) {
    let sale = Sale::open(stores).await;
    let stats = sale.line.stats().await;
    let report = Report::since_state_began(&stats);
    assert_eq!((report.from, report.to, report.complete), (START, stats.now, true));
    assert_eq!((report.totals.counters.joined, report.totals.counters.left), (2, 2));
}

async fn report_counts_lobby_tickets_of_its_event(stores: &StoreFixture) {
    let sale = Sale::open(stores).await;
    let line = &sale.line;
    let mut next = self::sale("next", START, [3600, 4200, 4800]);
    line.change(|settings| {
        let mut drawn = self::sale("sale", START, [600, 1200, 1800]);
        (drawn["order"], drawn["key"], drawn["salt"]) = ("draw".into(), "s1".into(), "a".into());
        (next["order"], next["key"], next["salt"]) = ("draw".into(), "s1".into(), "b".into());
        let mut value = settings.to_value();
        value["events"] = json!([drawn, next]);
        settings.line.events = vestibule_core::settings::Settings::from_stored(&value).unwrap().line.events;
    })
    .await;
    let enter = async |visitors: usize| {
        for _ in 0..visitors {
            line.ask(None, Some(vestibule_core::SessionId::random())).await;
        }
    };
    sale.at(600).await;
    enter(3).await;
    assert_eq!(sale.report().await.unwrap().lobby_tickets, Some(3), "up to now");
    sale.at(1200).await;
    sale.at(1800).await;
    // The event is over when the lobby of the next one opens, whose tickets are counted apart.
    sale.at(3600).await;
    enter(5).await;
    sale.at(3660).await;
    assert_eq!(sale.report().await.unwrap().lobby_tickets, Some(3));
}

on_memory_and_redis! {
    turning_points_are_recorded_once_and_caught_up_on,
    report_is_available_as_json_and_csv,
    event_that_opens_at_once_is_counted_from_the_change,
    event_of_a_new_queue_is_counted_from_its_opening,
}

/// What the log of the queue has: turning points, and seconds since the start of the test.
async fn recorded(backoffice: &Backoffice) -> Vec<(String, u64)> {
    let log = LogName::EventSnapshots(LoggedQueue { tenant: "acme".parse().unwrap(), queue: "tour".parse().unwrap() });
    let entries = backoffice.admin.records().entries(&log, None, 300).await.unwrap();
    let read = entries.iter().rev().map(|entry| {
        let entry: Value = serde_json::from_str(&entry.text).unwrap();
        assert_eq!(entry["event"], "sale");
        (entry["point"].as_str().unwrap().to_owned(), (entry["at"].as_u64().unwrap() - began().0) / 1_000_000)
    });
    read.collect()
}

fn began() -> Micros {
    super::backoffice::START
}

async fn record(backoffice: &Backoffice) {
    record_samples(&*backoffice.store, &**backoffice.admin.records()).await.unwrap();
}

async fn scheduled(backoffice: &Backoffice) {
    backoffice.tenant("acme").await;
    let sale = sale("sale", began(), [600, 1200, 1800]);
    backoffice.queue("tour", "acme", json!({ "mode": "scheduled", "quota": 1, "events": [sale] })).await;
}

async fn turning_points_are_recorded_once_and_caught_up_on(backoffice: Backoffice) {
    scheduled(&backoffice).await;
    for _ in 0..21 {
        let all = (0..4).map(|_| record(&backoffice));
        futures_util::future::join_all(all).await;
        backoffice.advance_seconds(60);
    }
    let entry = |point: &str, at| (point.to_owned(), at);
    let expected = [entry("lobby", 540), entry("start", 1200)];
    assert_eq!(recorded(&backoffice).await, expected);
    // Nothing ran for an hour.
    backoffice.advance_seconds(3600);
    record(&backoffice).await;
    let late = 21 * 60 + 3600;
    assert_eq!(recorded(&backoffice).await[2..], [entry("end", late), entry("over", late)], "with the actual time");
    backoffice.advance_seconds(60);
    record(&backoffice).await;
    assert_eq!(recorded(&backoffice).await.len(), 4);
}

async fn report_is_available_as_json_and_csv(backoffice: Backoffice) {
    scheduled(&backoffice).await;
    let mut root = backoffice.root();
    let path = "/queues/tour/events/sale/report";
    let none = root.get(path).await;
    assert_eq!((none.status.as_u16(), none.code()), (409, "no_report".to_owned()));
    assert_eq!(root.get("/queues/tour/events/other/report").await.status, 404);
    assert_eq!(root.get(&format!("{path}?format=xml")).await.status, 422);
    backoffice.advance_seconds(590);
    record(&backoffice).await;
    backoffice.advance_seconds(10);
    backoffice.join("tour", 3).await;
    backoffice.advance_seconds(600);
    backoffice.store.purge(&"tour".parse().unwrap(), 100).await.unwrap();
    backoffice.join("tour", 1).await;
    let report = root.get(path).await.json();
    let time = |seconds| Timestamp::of(began().add_seconds(seconds)).to_string();
    let bounds = [1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200].map(Value::from);
    let waits = bounds.into_iter().chain([Value::Null]).map(|le| json!({ "le": le, "count": 1 }));
    let expected = json!({
        "queue": "tour", "event": "sale", "from": time(590), "to": time(1200), "complete": true, "lobby_tickets": null, "joined": 4,
        "confirmed": 0, "admitted": 1, "abandoned": 3, "returned": 0, "expired": 0, "left": 0, "ended": 0,
        "waits": waits.collect::<Vec<_>>(),
    });
    assert_eq!(report, expected);

    let csv = root.get(&format!("{path}?format=csv")).await;
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    assert_eq!(csv.header("content-disposition"), Some("attachment; filename=\"tour-sale-report.csv\""));
    assert_eq!(rows_of(csv.text()), rows_of_json(&report));

    let queue = root.get("/queues/tour/report").await.json();
    assert_eq!((&queue["event"], &queue["joined"], &queue["from"]), (&Value::Null, &json!(4), &json!(time(0))));
    let mut suspended = sale("sale", began(), [600, 1200, 1800]);
    suspended["suspended"] = true.into();
    root.patch("/queues/tour", json!({ "events": [suspended] })).await;
    assert_eq!(root.get(path).await.code(), "no_report");
}

/// The rows of a report in CSV.
pub(crate) fn rows_of(csv: &str) -> Vec<(String, String)> {
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("metric,value"));
    lines
        .map(|line| line.split_once(',').unwrap())
        .map(|(metric, value)| (metric.to_owned(), value.to_owned()))
        .collect()
}

/// The rows that the CSV of this report has.
pub(crate) fn rows_of_json(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let metrics = [
        "from",
        "to",
        "complete",
        "joined",
        "confirmed",
        "admitted",
        "abandoned",
        "returned",
        "expired",
        "left",
        "ended",
    ];
    // An event in order of arrival has no lobby tickets.
    let plain = metrics.iter().map(|metric| ((*metric).to_owned(), text(&report[*metric])));
    let waits = report["waits"].as_array().unwrap().iter().map(|wait| {
        let le = wait["le"].as_u64().map_or_else(|| "inf".to_owned(), |le| le.to_string());
        (format!("wait_le_{le}"), text(&wait["count"]))
    });
    plain.chain(waits).collect()
}

async fn event_that_opens_at_once_is_counted_from_the_change(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "mode": "open", "quota": 1 })).await;
    backoffice.join("tour", 2).await;
    backoffice.advance_seconds(1000);
    let mut root = backoffice.root();
    // The lobby opens at once, and the change takes a moment.
    let change = json!({ "mode": "scheduled", "events": [sale("sale", began(), [998, 1060, 1800])] });
    assert_eq!(root.patch("/queues/tour", change).await.status, 200);
    backoffice.join("tour", 3).await;
    backoffice.advance_seconds(30);
    record(&backoffice).await;
    let report = root.get("/queues/tour/events/sale/report").await.json();
    assert_eq!((&report["joined"], &report["complete"]), (&json!(3), &json!(true)), "{report}");
}

async fn event_of_a_new_queue_is_counted_from_its_opening(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let scheduled = json!({ "mode": "scheduled", "quota": 1, "events": [sale("sale", began(), [30, 90, 1800])] });
    backoffice.queue("created", "acme", scheduled.clone()).await;
    let mut root = backoffice.root();
    let imported =
        json!({ "tenants": [{ "id": "acme", "name": "acme" }], "queues": [queue("imported", "acme", scheduled)] });
    assert_eq!(root.confirmed(Method::POST, "/settings", Some(imported)).await.status, 200);
    backoffice.advance_seconds(31);
    for id in ["created", "imported"] {
        backoffice.join(id, 3).await;
    }
    backoffice.advance_seconds(30);
    record(&backoffice).await;
    for id in ["created", "imported"] {
        let report = root.get(&format!("/queues/{id}/events/sale/report")).await.json();
        assert_eq!((&report["joined"], &report["complete"]), (&json!(3), &json!(true)), "{report}");
    }
}

//! How it goes and how it went, in the API.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;
use vestibule_core::{Micros, Timestamp};
use vestibule_records::history::record_samples;
use vestibule_tests::AdminUnderTest;

use super::backoffice::{Backoffice, on_memory_and_redis};

on_memory_and_redis! {
    history_of_a_removed_queue_stays_with_its_tenant,
    queue_stats_summarize_the_line,
    stats_of_all_queues_include_recent_samples,
    forecast_answers_for_a_quota,
    forecast_includes_the_lobby,
    history_is_available_as_json_and_csv,
    stats_tell_the_time_between_steps_of_admissions,
    stats_stream_sends_changes,
    stats_stream_of_a_removed_operator_ends,
    streams_of_an_operator_are_limited,
}

#[tokio::test]
async fn unreadable_queue_does_not_hide_others() {
    let backoffice = Backoffice::redis().await;
    backoffice.tenant("acme").await;
    for id in ["blue-tour", "red-tour", "tour"] {
        backoffice.queue(id, "acme", json!({ "quota": 0 })).await;
    }
    backoffice.join("tour", 1).await;
    let waiting = backoffice.root().get("/queues/tour/sessions").await.json()["sessions"][0]["session"].clone();
    let redis = backoffice.redis.as_ref().unwrap();
    for key in ["vestibule:{blue-tour}:line", "vestibule:{red-tour}:settings"] {
        redis.command(&["SET", key, "nonsense"]).await;
    }
    let another = AdminUnderTest::start(backoffice.store.clone(), Arc::clone(backoffice.admin.records())).await;
    for mut root in [backoffice.root(), another.root().await] {
        let stats = root.get("/stats").await;
        assert_eq!(stats.status, 200, "{}", stats.text());
        let queues =
            stats.json()["queues"].as_array().unwrap().iter().map(|it| it["queue"].clone()).collect::<Vec<_>>();
        assert_eq!(queues, ["tour"]);
        let found = root.get(&format!("/sessions?code={}", waiting.as_str().unwrap())).await;
        assert_eq!(found.json()["sessions"][0]["queue"], "tour", "{}", found.text());
        assert_eq!(root.get("/queues").await.status, 200);
        assert_eq!(root.patch("/queues/tour/controls", json!({ "quota": 1 })).await.status, 200);
    }
}

async fn notice(backoffice: &Backoffice) {
    record_samples(&*backoffice.store, &**backoffice.admin.records()).await.unwrap();
}

async fn history_of_a_removed_queue_stays_with_its_tenant(backoffice: Backoffice) {
    for tenant in ["acme", "blue"] {
        backoffice.tenant(tenant).await;
    }
    let mut root = backoffice.root();
    for (tenant, visitors) in [("acme", 3), ("blue", 0)] {
        backoffice.queue("tour", tenant, json!({ "quota": 4 })).await;
        let history = root.get("/queues/tour/history").await.json();
        assert_eq!(history["points"], json!([]), "{tenant}: {history}");
        backoffice.join("tour", visitors).await;
        backoffice.advance_seconds(60);
        notice(&backoffice).await;
        let history = root.get("/queues/tour/history").await.json();
        let points = history["points"].as_array().unwrap();
        assert_eq!((points.len(), &points[0][2]), (1, &json!(visitors)), "{tenant}: {history}");
        root.confirmed(Method::DELETE, "/queues/tour", None).await;
    }

    // A later tenant with the same ID does not see it either.
    root.confirmed(Method::DELETE, "/tenants/acme", None).await;
    backoffice.advance_seconds(60);
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "quota": 4 })).await;
    backoffice.join("tour", 2).await;
    notice(&backoffice).await;
    let history = root.get("/queues/tour/history").await.json();
    let points: Vec<_> = history["points"].as_array().unwrap().iter().map(|point| &point[0]).collect();
    assert_eq!(points, [&json!(backoffice.now())], "{history}");
}

async fn queue_stats_summarize_the_line(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "quota": 4, "name": "The tour" })).await;
    let empty = backoffice.root().get("/queues/tour/stats").await.json();
    assert_eq!(empty["wait_seconds"], json!({ "p50": 0, "p90": 0 }), "nobody waits and slots are free");
    backoffice.join("tour", 5).await;
    notice(&backoffice).await;
    backoffice.advance_seconds(20);
    backoffice.join("tour", 2).await;
    let stats = backoffice.root().get("/queues/tour/stats").await.json();
    let wait = stats["wait_seconds"].clone();
    assert!(wait["p50"].as_u64() > Some(0) && wait["p90"].as_u64() >= wait["p50"].as_u64(), "{stats}");
    let mut expected = json!({
        "queue": "tour", "tenant": "acme", "name": "The tour", "mode": "open", "revision": 1, "at": backoffice.now(),
        "waiting": 3, "active": 4, "quota": 4, "admissions_every": null, "utilization": 1.0, "joined_per_minute": 6.0,
        "admitted_per_minute": 0.0, "oldest_wait_seconds": 19, "drained_in_seconds": null, "recovering": false,
        "effective_mode": "open", "event": null, "attack_mode_until": null,
    });
    expected["wait_seconds"] = wait;
    assert!((19..=20).contains(&stats["oldest_wait_seconds"].as_u64().unwrap()), "{stats}");
    expected["oldest_wait_seconds"] = stats["oldest_wait_seconds"].clone();
    assert_eq!(stats, expected);
}

async fn forecast_answers_for_a_quota(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "quota": 4 })).await;
    backoffice.join("tour", 14).await;
    let mut root = backoffice.root();
    let now = root.get("/queues/tour/forecast").await.json();
    let (wait, at) = (now["last_wait_seconds"].clone(), backoffice.now());
    let expected = json!({
        "quota": 4, "at": at, "begins_at": null, "waiting": 10, "admitted_now": 0, "last_wait_seconds": wait,
        "line_ends_at": { "p50": at + wait["p50"].as_u64().unwrap(), "p90": at + wait["p90"].as_u64().unwrap() },
    });
    assert_eq!(now, expected);
    let more = root.get("/queues/tour/forecast?quota=8").await.json();
    assert_eq!((&more["quota"], &more["admitted_now"]), (&json!(8), &json!(4)));
    assert!(more["last_wait_seconds"]["p50"].as_u64() < wait["p50"].as_u64(), "{more} {now}");
    let none = root.get("/queues/tour/forecast?quota=0").await.json();
    assert_eq!((&none["last_wait_seconds"], &none["line_ends_at"]), (&Value::Null, &Value::Null));
    let stats = root.get("/queues/tour/stats").await.json();
    assert_eq!((&stats["quota"], &stats["waiting"]), (&json!(4), &json!(10)), "nothing is changed");
    assert_eq!(root.get("/queues/tour/forecast?quota=-1").await.status, 422);
}

/// Visitors of a lobby are not in line yet, and nobody is admitted before the end of the draw.
async fn forecast_includes_the_lobby(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let now = backoffice.now();
    let at = |seconds: u64| Timestamp::of(Micros(0).add_seconds(now + seconds)).to_string();
    let sale = json!({ "id": "sale", "lobby_at": at(100), "starts_at": at(200), "ends_at": at(4_000) });
    backoffice.queue("tour", "acme", json!({ "quota": 0, "mode": "scheduled", "events": [sale] })).await;
    backoffice.advance_seconds(150);
    backoffice.join("tour", 14).await;
    let mut root = backoffice.root();
    let forecast = root.get("/queues/tour/forecast?quota=20").await.json();
    let ends_at = json!({ "p50": now + 230, "p90": now + 230 });
    assert_eq!(
        (&forecast["waiting"], &forecast["admitted_now"], &forecast["begins_at"], &forecast["line_ends_at"]),
        (&json!(14), &json!(14), &json!(now + 230), &ends_at)
    );
    let fewer = root.get("/queues/tour/forecast?quota=4").await.json();
    assert_eq!((&fewer["waiting"], &fewer["admitted_now"]), (&json!(14), &json!(4)));
    backoffice.advance_seconds(60);
    let drawing = root.get("/queues/tour/forecast?quota=4").await.json();
    assert_eq!((&drawing["waiting"], &drawing["begins_at"]), (&json!(14), &json!(now + 230)));
}

async fn stats_of_all_queues_include_recent_samples(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    for id in ["a", "b"] {
        backoffice.queue(id, "acme", json!({ "quota": 0 })).await;
    }
    let began = backoffice.now();
    notice(&backoffice).await;
    backoffice.advance_seconds(60);
    backoffice.join("a", 2).await;
    notice(&backoffice).await;
    backoffice.advance_seconds(59);
    let mut root = backoffice.root();
    let overview = root.get("/stats?recent=15").await.json();
    let listed: Vec<_> =
        overview["queues"].as_array().unwrap().iter().map(|it| (&it["queue"], &it["waiting"], &it["recent"])).collect();
    let recent = |second: u64| json!([[began, 0], [began + 60, second]]);
    assert_eq!(listed, [(&json!("a"), &json!(2), &recent(2)), (&json!("b"), &json!(0), &recent(0))]);
    assert_eq!(root.get("/stats").await.json()["queues"][0]["recent"], json!([]));
    assert_eq!(root.get("/stats?recent=61").await.status, 422);
}

async fn history_is_available_as_json_and_csv(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "quota": 1 })).await;
    let began = backoffice.now();
    for _ in 0..3 {
        backoffice.join("tour", 2).await;
        notice(&backoffice).await;
        backoffice.advance_seconds(60);
    }
    let mut root = backoffice.root();
    let history = root.get("/queues/tour/history").await.json();
    assert_eq!(
        history["columns"],
        json!(["at", "waiting", "active", "quota", "joined", "admitted", "pre_tickets", "rejected", "challenged"])
    );
    assert_eq!(history["step_seconds"], 60);
    let points = history["points"].as_array().unwrap();
    let listed: Vec<_> = points.iter().map(|point| (point[0].as_u64().unwrap(), &point[4])).collect();
    assert_eq!(listed, [(began, &json!(2)), (began + 60, &json!(2)), (began + 120, &json!(2))]);
    let from = root.get(&format!("/queues/tour/history?from={}", began + 100)).await.json();
    assert_eq!(from["points"].as_array().unwrap(), &points[2..]);
    let five = root.get("/queues/tour/history?step=five_minutes").await.json();
    assert_eq!((&five["step_seconds"], five["points"].as_array().unwrap().len()), (&json!(300), 1));
    let csv = root.get("/queues/tour/history?format=csv").await;
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    let lines: Vec<_> = csv.text().split("\r\n").collect();
    assert_eq!((lines[0], lines.len()), ("at,waiting,active,quota,joined,admitted,pre_tickets,rejected,challenged", 5));
    assert!(lines[1].starts_with(&format!("{began},1,1,1,2,1")), "{lines:?}");
    assert_eq!(root.get("/queues/tour/history?step=hour").await.status, 422);

    // In the next minute nothing is recorded.
    backoffice.advance_seconds(60);
    backoffice.join("tour", 1).await;
    notice(&backoffice).await;
    let history = root.get("/queues/tour/history").await.json();
    assert_eq!(history["points"][3], json!([began + 180, null, null, null, null, null, null, null, null]));
    assert_eq!(history["points"][4][0], began + 240);
    let csv = root.get("/queues/tour/history?format=csv").await;
    assert_eq!(csv.text().split("\r\n").nth(4), Some(format!("{},,,,,,,,", began + 180).as_str()));
}

async fn stats_tell_the_time_between_steps_of_admissions(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "admissions_per_minute": 60, "admissions_every": 120 })).await;
    let mut root = backoffice.root();
    assert_eq!(root.get("/queues/tour/stats").await.json()["admissions_every"], 120);
    assert_eq!(root.get("/stats").await.json()["queues"][0]["admissions_every"], 120);
}

async fn stats_stream_sends_changes(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.tenant("blue").await;
    backoffice.queue("tour", "acme", json!({ "quota": 0 })).await;
    backoffice.queue("blues", "blue", json!({})).await;
    let mut operator = backoffice.operator("zoe", "viewer", &["acme"]).await;
    let cookie = operator.visitor().cookie("vestibule_admin").unwrap().to_owned();
    let mut stream = BufReader::new(TcpStream::connect(backoffice.admin.address()).await.unwrap());
    let request = format!("GET /api/v1/stats/stream HTTP/1.1\r\nhost: x\r\ncookie: vestibule_admin={cookie}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut next = async || -> Value {
        loop {
            let mut line = String::new();
            timeout(Duration::from_secs(20), stream.read_line(&mut line)).await.unwrap().unwrap();
            // The last chunk.
            if line == "0\r\n" {
                return Value::Null;
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    };
    let first = next().await;
    assert_eq!((&first["queues"][0]["queue"], &first["queues"][0]["waiting"]), (&json!("tour"), &json!(0)));
    assert_eq!(first["queues"].as_array().unwrap().len(), 1, "the others are not theirs to see");
    backoffice.join("tour", 2).await;
    while next().await["queues"][0]["waiting"] != 2 {}
    let Some(redis) = &backoffice.redis else { return };
    redis.kill();
    let ends = async { while next().await != Value::Null {} };
    timeout(Duration::from_secs(20), ends).await.expect("old numbers are not taken for new ones");
}

async fn stats_stream_of_a_removed_operator_ends(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({})).await;
    let mut zoe = backoffice.operator("zoe", "viewer", &["acme"]).await;
    let mut stream = zoe.visitor().event_stream("/api/v1/stats/stream").await.unwrap();
    assert_eq!(backoffice.root().confirmed(Method::DELETE, "/operators/zoe", None).await.status, 204);
    let ends = async { while stream.next().await.is_some() {} };
    timeout(Duration::from_secs(20), ends).await.expect("the stream ends");
}

async fn streams_of_an_operator_are_limited(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let mut zoe = backoffice.operator("zoe", "viewer", &["acme"]).await;
    let mut streams = Vec::new();
    for _ in 0..20 {
        streams.push(zoe.visitor().event_stream("/api/v1/stats/stream").await.unwrap());
    }
    assert_eq!(zoe.get("/stats/stream").await.code(), "too_many_streams");
    let mut root = backoffice.root();
    assert!(root.visitor().event_stream("/api/v1/stats/stream").await.is_ok(), "others are not affected");
}

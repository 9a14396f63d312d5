//! The function as it is deployed, called by a schedule.

use serde_json::{Value, json};
use vestibule_tests::{Deployment, Function, Redis};

use super::ExpiredSessions;

/// As the schedule of `EventBridge` sends it; from its documentation.
const SCHEDULED: &str = r#"{
    "version": "0", "id": "53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa", "detail-type": "Scheduled Event",
    "source": "aws.events", "account": "123456789012", "time": "2015-10-08T16:53:06Z", "region": "us-east-1",
    "resources": ["arn:aws:events:us-east-1:123456789012:rule/my-scheduled-rule"], "detail": {}
}"#;

pub(super) fn deployed(url: &str) -> Deployment {
    Deployment::of("purge").env("VESTIBULE_REDIS_URL", url)
}

async fn call(function: &Function, event: &str) -> Value {
    let answer = function.invoke(event.to_owned()).await.unwrap_or_else(|error| panic!("{error}\n{}", function.log()));
    serde_json::from_slice(&answer).unwrap()
}

/// The lines of the log about a round, as they are at the usual level.
fn rounds(log: &str) -> Vec<Value> {
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["message"] == "purged").collect()
}

#[tokio::test]
async fn a_scheduled_call_purges_and_reports_every_queue() {
    let expired = ExpiredSessions::fill(8, 100, 1900).await;
    let function = deployed(&expired.redis.url()).emulated().await;
    let round = call(&function, SCHEDULED).await;
    expired.assert_all_expired().await;
    assert_eq!((&round["queues"], &round["failed"], &round["unfinished"]), (&json!(8), &json!(0), &json!(false)));
    let of = round["by_queue"].as_array().unwrap();
    assert_eq!(of.len(), 8);
    let sum: u64 = of.iter().map(|queue| queue["expired"].as_u64().unwrap()).sum();
    assert_eq!(round["expired"], sum);

    let listed = rounds(&function.log());
    assert_eq!(listed.len(), 1, "one line a round, at the level that is the default:\n{}", function.log());
    for field in ["queues", "failed", "expired", "tombstones", "admitted", "unfinished", "took_ms"] {
        assert_eq!(listed[0][field], round[field], "{field}");
    }
    let record = expired.store.last_purge().await.unwrap().expect("it is recorded");
    assert_eq!((record.queues, record.expired, record.unfinished), (8, sum, false));

    let again = call(&function, SCHEDULED).await;
    assert_eq!((&again["expired"], &again["by_queue"]), (&json!(0), &json!([])));
    assert_eq!(expired.store.last_purge().await.unwrap().unwrap().expired, 0);
}

#[tokio::test]
async fn any_event_is_accepted_and_invalid_json_is_an_error() {
    let expired = ExpiredSessions::fill(1, 1, 1).await;
    let function = deployed(&expired.redis.url()).instances(1).await;
    for event in [SCHEDULED, "{}", "null", "[]", "\"text\"", "17", r#"{"requestContext":{"elb":{}}}"#] {
        assert_eq!(call(&function, event).await["queues"], 1, "{event}");
    }
    for no_event in ["", "{", "nonsense", "{\"a\":}", "\u{0}"] {
        let error = function.invoke(no_event.to_owned()).await.unwrap_err();
        assert!(error.contains("deserialize"), "{no_event:?}: {error}");
        assert_eq!(call(&function, "{}").await["queues"], 1, "the next call is served by the same process");
    }
    assert_eq!(function.each()[0].starts(), 1);
    assert!(!function.log().contains("panicked"), "{}", function.log());
}

#[tokio::test]
async fn a_round_stops_at_its_budget_and_the_next_continues() {
    let expired = ExpiredSessions::fill(30, 0, 20_000).await;
    let function = deployed(&expired.redis.url()).env("VESTIBULE_PURGE_BUDGET_MS", "100").instances(1).await;
    let first = call(&function, "{}").await;
    assert_eq!(first["unfinished"], true, "{first}");
    assert!(expired.store.last_purge().await.unwrap().unwrap().unfinished);
    let mut sum = first["expired"].as_u64().unwrap();
    assert!(sum > 0 && sum < expired.sessions);
    while sum < expired.sessions {
        let next = call(&function, "{}").await;
        let expired = next["expired"].as_u64().unwrap();
        // One batch is always done. Whose turn it is is drawn, so it may be a queue that is empty already.
        assert!(next["queues"].as_u64().unwrap() > 0 && next["failed"] == 0, "every round takes its turn: {next}");
        assert!(expired > 0 || next["unfinished"] == true, "and gets on, or says that more is left: {next}");
        sum += expired;
    }
    expired.assert_all_expired().await;
}

#[tokio::test]
async fn queue_metrics_are_written_if_enabled() {
    let expired = ExpiredSessions::fill(3, 1, 1).await;
    let metrics = async |setting: &str| {
        let function = deployed(&expired.redis.url()).env("VESTIBULE_QUEUE_METRICS", setting).instances(1).await;
        call(&function, SCHEDULED).await;
        let log = function.log();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["_aws"].is_object()).collect::<Vec<_>>()
    };
    assert_eq!(metrics("").await, Vec::<Value>::new());
    let lines = metrics("Vestibule/staging").await;
    assert_eq!(lines.len(), 3, "{lines:?}");
    for line in lines {
        let listed = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!((&listed["Namespace"], &listed["Dimensions"]), (&json!("Vestibule/staging"), &json!([["Queue"]])));
        for metric in listed["Metrics"].as_array().unwrap() {
            assert!(line[metric["Name"].as_str().unwrap()].is_number(), "{line}");
        }
        assert!(line["_aws"]["Timestamp"].as_u64() > Some(1_600_000_000_000) && line["Queue"].is_string(), "{line}");
    }
}

#[tokio::test]
async fn invalid_settings_are_rejected_by_name() {
    for (variable, value, words) in [
        ("VESTIBULE_PURGE_BUDGET_MS", "soon", "100 to 890000"),
        ("VESTIBULE_PURGE_BUDGET_MS", "99", "100 to 890000"),
        ("VESTIBULE_QUEUE_METRICS", "AWS/Lambda", "a namespace of CloudWatch"),
        ("VESTIBULE_REDIS_URL", "", "is not set"),
        ("VESTIBULE_REDIS_URL", "http://x", "redis://"),
    ] {
        let function = deployed("redis://127.0.0.1:1").env(variable, value).instances(1).await;
        assert!(function.invoke("{}").await.is_err());
        let log = function.log();
        assert!(log.contains(variable) && log.contains(words) && !log.contains("panicked"), "{value:?}: {log}");
    }
}

#[tokio::test]
async fn a_call_fails_only_while_the_store_is_unavailable() {
    let redis = Redis::start().await;
    let function = deployed(&redis.url()).instances(1).await;
    assert_eq!(call(&function, "{}").await["queues"], 0);
    redis.kill();
    let error = function.invoke("{}").await.unwrap_err();
    assert!(error.contains("nothing was purged"), "{error}");
    assert!(error.contains(r#""errorType":"QueueIndexUnavailable""#), "an alarm names the error: {error}");
    redis.restart_empty().await;
    vestibule_tests::wait_until("it purges again", crate::gate_fixture::TIMEOUT, async || {
        function.invoke("{}").await.is_ok()
    })
    .await;
    assert_eq!(function.each()[0].starts(), 1);
}

use serde_json::{Value, json};
use vestibule_tests::{Origin, Redis};

use super::{body, call, event, gate, navigation, open_queue};

#[tokio::test]
async fn malformed_events_do_not_stop_the_process() {
    let (redis, origin) = (Redis::start().await, Origin::start());
    open_queue(&redis, &origin.url(), &json!({})).await;
    let gate = gate(&redis, &[]).await;
    let schedule = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/events/eventbridge-schedule.json"));
    let junk = json!("\u{1f600}\u{0}".repeat(400_000)).to_string();
    let junk_members = format!("{{{}\"z\":0}}", "\"a\":[{}],".repeat(200_000));
    for (malformed, named) in [
        ("{}", "an event of an unknown kind"),
        ("[]", "an event of an unknown kind"),
        ("null", "an event of an unknown kind"),
        (schedule, "an event of EventBridge"),
        (&junk, "an event of an unknown kind"),
        (&junk_members, "an event of an unknown kind"),
        ("no json", "expected"),
    ] {
        let error = gate.invoke(malformed.to_owned()).await.unwrap_err();
        let error: Value = serde_json::from_str(&error).unwrap_or_else(|_| panic!("{error}"));
        assert!(error["errorMessage"].as_str().unwrap().contains(named), "{error}");
        assert_eq!(call(&gate, &navigation("/")).await["statusCode"], 200);
    }
    let mut unreadable = event("POST", "/", &[]);
    unreadable["body"] = json!("no base64!");
    unreadable["isBase64Encoded"] = json!(true);
    let answer = call(&gate, &unreadable).await;
    assert_eq!(answer["statusCode"], 400);
    assert!(body(&answer).contains("base64"), "{answer}");
    assert_eq!(gate.each()[0].starts(), 1);
    let log = gate.log();
    assert!(!log.contains("panicked"), "{log}");
    assert!(log.contains("an event of EventBridge: this function answers HTTP requests"), "{log}");
}

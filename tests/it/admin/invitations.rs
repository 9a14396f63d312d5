//! Invitations: their settings, and the download of codes.

use serde_json::{Value, json};
use vestibule_core::SaleKeys;
use vestibule_tests::GateUnderTest;

use super::backoffice::{Backoffice, on_memory_and_redis, queue};

on_memory_and_redis! {
    codes_are_those_of_the_gate,
    downloads_are_audited_without_codes,
    viewers_see_batches_but_no_codes,
    batches_keep_their_sale_key,
    a_missing_sale_key_is_an_error,
}

fn batch(changes: &Value) -> Value {
    let mut batch = json!({ "number": 7, "id": "fans", "head_start": 600, "count": 12 });
    batch.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    batch
}

async fn invited(backoffice: &Backoffice, hosts: &[&str]) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "hosts": hosts, "invitations": [batch(&json!({}))] })).await;
}

async fn codes_are_those_of_the_gate(backoffice: Backoffice) {
    invited(&backoffice, &["*.example.com", "tickets.example.com"]).await;
    let mut root = backoffice.root();
    let answer = root.get("/queues/tour/invitations/fans/codes?from=11&count=5").await;
    assert_eq!((answer.status.as_u16(), answer.header("cache-control")), (200, Some("no-store")));
    let settings = backoffice.store.settings(&"tour".parse().unwrap()).await.unwrap().unwrap();
    let keys = SaleKeys::new(&GateUnderTest::sale_keys()).unwrap();
    let key = keys.batch_key(&settings, &settings.invitations[0]).unwrap();
    let row = |number| {
        let code = key.code(number);
        format!("{number},{code},https://tickets.example.com/?vestibule_invite={code}")
    };
    let lines: Vec<String> = answer.text().lines().map(str::to_owned).collect();
    assert_eq!(lines, ["number,code,link".to_owned(), row(11), row(12)], "the batch has 12 codes");
    let all = root.get("/queues/tour/invitations/fans/codes").await;
    assert_eq!(all.text().lines().count(), 13);
    for (query, status) in [("from=13", 200), ("from=0", 422), ("count=100001", 422), ("count=0", 422)] {
        let answer = root.get(&format!("/queues/tour/invitations/fans/codes?{query}")).await;
        assert_eq!(answer.status, status, "{query}: {}", answer.text());
    }
    assert_eq!(root.get("/queues/tour/invitations/press/codes").await.status, 404);
    let mut any = root.patch("/queues/tour", json!({ "hosts": ["*.example.com"] })).await;
    assert_eq!(any.status, 200, "{}", any.text());
    any = root.get("/queues/tour/invitations/fans/codes?count=1").await;
    assert!(any.text().contains(",/?vestibule_invite="), "{}", any.text());
}

async fn downloads_are_audited_without_codes(backoffice: Backoffice) {
    invited(&backoffice, &["tickets.example.com"]).await;
    let mut root = backoffice.root();
    let codes = root.get("/queues/tour/invitations/fans/codes?from=2&count=3").await.text().to_owned();
    let log = root.get("/audit?action=invitations.download").await;
    let event = &log.json()["events"][0];
    assert_eq!(
        (&event["queue"], &event["subject"], &event["operator"]),
        (&json!("tour"), &json!("fans"), &json!("root"))
    );
    let numbers: Vec<&Value> = event["changes"].as_array().unwrap().iter().map(|change| &change["to"]).collect();
    assert_eq!(numbers, [2, 4]);
    let code = codes.lines().nth(1).unwrap().split(',').nth(1).unwrap();
    assert!(!log.text().contains(code), "{}", log.text());
}

async fn viewers_see_batches_but_no_codes(backoffice: Backoffice) {
    invited(&backoffice, &["tickets.example.com"]).await;
    let mut viewer = backoffice.operator("vera", "viewer", &["acme"]).await;
    assert_eq!(viewer.get("/queues/tour").await.json()["invitations"][0]["head_start"], 600);
    let listed = viewer.get("/queues/tour/invitations").await.json();
    assert_eq!((&listed["invitations"][0]["key"], &listed["invitations"][0]["problems"]), (&json!("s1"), &json!([])));
    let refused = viewer.get("/queues/tour/invitations/fans/codes").await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (403, "permission_denied"));
}

async fn batches_keep_their_sale_key(backoffice: Backoffice) {
    invited(&backoffice, &["tickets.example.com"]).await;
    let mut root = backoffice.root();
    assert_eq!(root.get("/queues/tour").await.json()["invitations"][0]["key"], "s1");
    let renamed = root.patch("/queues/tour", json!({ "invitations": [batch(&json!({ "name": "Fan club" }))] })).await;
    assert_eq!((renamed.status.as_u16(), &renamed.json()["invitations"][0]["key"]), (200, &json!("s1")));
    let unknown = root.patch("/queues/tour", json!({ "invitations": [batch(&json!({ "key": "s9" }))] })).await;
    assert_eq!(unknown.status, 422);
    let error = &unknown.json()["errors"][0];
    assert_eq!((&error["field"], &error["code"]), (&json!("invitations[0].key"), &json!("unknown_sale_key")));
}

async fn a_missing_sale_key_is_an_error(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    // As another process stored it, with a key that this one does not have.
    let settings = queue("tour", "acme", json!({ "invitations": [batch(&json!({ "key": "gone" }))] }));
    let settings = vestibule_core::settings::Settings::from_value(&settings).unwrap();
    backoffice.store.put_settings(&settings, vestibule_core::PutMode::Always).await.unwrap();
    let mut root = backoffice.root();
    let answer = root.get("/queues/tour/invitations/fans/codes").await;
    assert_eq!((answer.status.as_u16(), answer.code().as_str()), (409, "invitation_key_missing"));
    let listed = root.get("/queues/tour/invitations").await.json();
    let problem = json!({ "code": "sale_key_missing", "params": { "key": "gone" } });
    assert_eq!(listed, json!({ "invitations": [{ "number": 7, "id": "fans", "key": "gone", "problems": [problem] }] }));
    let kept = root.patch("/queues/tour", json!({ "quota": 3 })).await;
    assert_eq!((kept.status.as_u16(), &kept.json()["invitations"][0]["key"]), (200, &json!("gone")));
}

//! No spelling of a path reaches the checkout of a real origin while nobody is admitted, whatever that origin makes of it.

use serde_json::{Value, json};
use vestibule_tests::{GateOptions, GateUnderTest, Nginx, Site};

use crate::gate_fixture::{StoreSetup, document_of, navigation, random_id, raw};
use crate::handover::documented_nginx;

const HOST: &str = "shop.test";

/// Spellings that one origin or another takes for a page of the checkout.
const TARGETS: [&str; 47] = [
    "/checkout",
    "/checkout/",
    "/checkout/pay",
    "/CHECKOUT/pay",
    "//checkout/pay",
    "/checkout//pay",
    "/%63heckout/pay",
    "/%2563heckout/pay",
    "/checkout%2fpay",
    "/checkout%252fpay",
    "/checkout/../static/x",
    "/checkout/%2e%2e/static/x",
    "/checkout/%2E%2E/static/x",
    "/checkout/.%2e/static/x",
    "/checkout/%252e%252e/static/x",
    "/checkout/%25252e%25252e/static/x",
    "/checkout/%2525252e%2525252e/static/x",
    "/checkout/..%2fstatic/x",
    "/checkout/..%252fstatic/x",
    "/checkout/..%5cstatic/x",
    "/checkout/..%255cstatic/x",
    "/checkout/..\\static\\x",
    "/checkout/pay/%252e%252e/%252e%252e/static/x",
    "/checkout//../static/x",
    "/checkout/;/../static/x",
    "/checkout/..;/static/x",
    "/checkout/..;a=b/static/x",
    "/checkout;x/../static/x",
    "/checkout/%252e%252e/x",
    "/checkout/%252e%252e",
    "/checkout/../x",
    "/checkout/..%2fx",
    "/checkout/..%5cx",
    "/static/../checkout/pay",
    "/static/%2e%2e/checkout/pay",
    "/static/..%2fcheckout/pay",
    "/static/%2e%2e%2fcheckout/pay",
    "/static//..//checkout/pay",
    "/a%2fb/%2e%2e/checkout/pay",
    "/a//../checkout/pay",
    "/a//../../checkout/pay",
    "/#/../checkout/pay",
    "/static/x#/../../checkout/pay",
    "/./checkout/pay",
    "/checkout%20/pay",
    "/checkout./pay",
    "/checkout%ff/pay",
];

/// Spellings of a method that one origin or another takes for POST.
const METHODS: [&str; 4] = ["POST", "post", "Post", "pOST"];

async fn asked(address: &str, target: &str) -> String {
    raw(address, &navigation(target, HOST, &[])).await.1
}

async fn posted(address: &str, method: &str) -> String {
    let request = [method.as_bytes(), &navigation("/checkout/pay", HOST, &[])["GET".len()..]].concat();
    raw(address, &request).await.1
}

/// A gate for a closed queue with these rules. Where `beside` has rules, another queue of the host comes first, which admits at once.
async fn gate(rules: &Value, beside: &Value, handover: &Value, trusted_proxies: usize) -> GateUnderTest {
    let mut document = document_of(&random_id(), HOST, "http://unused.test", &json!({ "rules": rules }));
    document["queues"][0]["handover"] = handover.clone();
    if !beside.is_null() {
        let mut open = document["queues"][0].clone();
        let changed = json!({
            "id": random_id(), "rules": beside, "mode": "open", "quota": 1000, "protection": { "pre_ticket_from": "none" },
        });
        open.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        document["queues"].as_array_mut().unwrap().insert(0, open);
    }
    StoreSetup::memory().gate(&document, GateOptions { trusted_proxies, ..GateOptions::default() }).await
}

async fn assert_closed(site: &Site, rules: Value, beside: Value, free: &str) {
    let origin = format!("http://{}", site.address());
    let proxying = gate(&rules, &beside, &json!({ "kind": "proxy", "origin": origin }), 0).await;
    let checking = gate(&rules, &beside, &json!({ "kind": "check" }), 1).await;
    let nginx = Nginx::start(&documented_nginx(&format!("http://{}", checking.address()), &origin)).await;
    for (handover, address) in [("proxy", proxying.address().to_owned()), ("check", nginx.address())] {
        for target in TARGETS {
            let body = asked(&address, target).await;
            assert!(!body.contains("SITE-CHECKOUT"), "{handover}: {target} reached the checkout: {body}");
        }
        let body = asked(&address, free).await;
        assert!(body.contains("SITE-STATIC"), "{handover}: {free} waits: {body}");
    }
}

async fn no_target_spelling_reaches_the_checkout(site: Site) {
    let mut open = 0;
    for target in TARGETS {
        open += usize::from(asked(&site.address(), target).await.contains("SITE-CHECKOUT"));
    }
    assert!(open > 20, "only {open} of these reach the checkout of a site without a gate");
    let bypass = json!([{ "action": "bypass", "path": "/static/**" }]);
    assert_closed(&site, bypass, json!(null), "/static/app.js").await;
    let queue = json!([{ "action": "queue", "path": "/checkout/**" }]);
    assert_closed(&site, queue.clone(), json!(null), "/static/app.js").await;
    assert_closed(&site, queue, json!([{ "action": "queue", "path": "/static/**" }]), "/static/app.js").await;
}

#[tokio::test]
async fn no_path_bypasses_a_rule_with_express() {
    no_target_spelling_reaches_the_checkout(Site::express().await).await;
}

#[tokio::test]
async fn no_path_bypasses_a_rule_with_flask() {
    no_target_spelling_reaches_the_checkout(Site::flask().await).await;
}

#[tokio::test]
async fn no_path_bypasses_a_rule_with_nginx() {
    no_target_spelling_reaches_the_checkout(Site::nginx().await).await;
}

/// nginx and Express refuse all but the first of them.
#[tokio::test]
async fn no_method_bypasses_a_rule_with_flask() {
    let site = Site::flask().await;
    let handover = json!({ "kind": "proxy", "origin": format!("http://{}", site.address()) });
    let rules = json!([{ "action": "queue", "path": "/checkout/**", "method": "POST" }]);
    let gate = gate(&rules, &json!(null), &handover, 0).await;
    for method in METHODS {
        assert_eq!(posted(&site.address(), method).await, "SITE-CHECKOUT POST /checkout/pay", "without a gate");
        let body = posted(gate.address(), method).await;
        assert!(!body.contains("SITE-CHECKOUT"), "{method} reached the checkout: {body}");
    }
    assert!(posted(gate.address(), "GET").await.contains("SITE-CHECKOUT"));
}

//! Hosts of one tenant within a wildcard of another: the queues of the one whose host is named more exactly count.

use std::fs;

use http::{Request, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use vestibule_tests::{GateOptions, GateUnderTest, Origin, Visitor};

use crate::gate_fixture::{StoreSetup, random_id};

/// Two tenants: `acme` with all hosts of a domain, and `blue` with one of them, whose checkout is queued.
struct Platform {
    gate: GateUnderTest,
    origins: [Origin; 2],
    domain: String,
    acme: String,
    blue: String,
    _themes: TempDir,
}

impl Platform {
    async fn open() -> Self {
        let (acme, blue, domain) = (random_id(), random_id(), format!("{}.example.com", random_id()));
        let origins = [Origin::start(), Origin::start()];
        let themes = tempfile::tempdir().unwrap();
        fs::create_dir(themes.path().join("acme")).unwrap();
        fs::write(themes.path().join("acme/page.js"), "acme()").unwrap();
        let queue = |id: &str, tenant: &str, host: String, origin: &Origin, rules: Value| {
            json!({
                "id": id, "tenant": tenant, "hosts": [host], "quota": 10, "rules": rules,
                "handover": { "kind": "proxy", "origin": origin.url() }, "protection": { "pre_ticket_from": "none" },
            })
        };
        let mut wild = queue(&acme, "acme", format!("*.{domain}"), &origins[0], json!([]));
        wild["theme"] = json!("acme");
        let checkout = json!([{ "action": "queue", "path": "/checkout/**" }]);
        let shop = queue(&blue, "blue", format!("shop.{domain}"), &origins[1], checkout);
        let tenants = json!([{ "id": "acme", "name": "Acme" }, { "id": "blue", "name": "Blue" }]);
        let document = json!({ "tenants": tenants, "queues": [wild, shop] });
        let options = GateOptions { themes: Some(themes.path().to_owned()), ..GateOptions::default() };
        let gate = StoreSetup::memory().gate(&document, options).await;
        Self { gate, origins, domain, acme, blue, _themes: themes }
    }

    fn visitor(&self, label: &str) -> Visitor {
        Visitor::new(self.gate.address(), &format!("{label}.{}", self.domain))
    }

    /// Whether the endpoint of the queue of `acme` answers a page of this host with its cookies.
    async fn allows(&self, label: &str) -> bool {
        let request = Request::post(format!("/_vestibule/leave?queue={}", self.acme));
        let origin = format!("http://{label}.{}", self.domain);
        let answer = self.visitor("tickets").request(request.header("origin", origin), "").await;
        answer.header("access-control-allow-credentials").is_some()
    }
}

#[tokio::test]
async fn wildcard_of_another_tenant_serves_no_script_on_a_host() {
    let platform = Platform::open().await;
    let script = format!("/_vestibule/theme/{}/page.js", platform.acme);
    for (label, status) in [("tickets", StatusCode::OK), ("shop", StatusCode::NOT_FOUND)] {
        assert_eq!(platform.visitor(label).fetch(&script).await.status, status, "{label}");
    }
}

#[tokio::test]
async fn wildcard_of_another_tenant_answers_no_endpoint_on_a_host() {
    let platform = Platform::open().await;
    for (label, queue, status) in [
        ("tickets", &platform.acme, StatusCode::OK),
        ("shop", &platform.blue, StatusCode::OK),
        ("shop", &platform.acme, StatusCode::NOT_FOUND),
        ("tickets", &platform.blue, StatusCode::NOT_FOUND),
    ] {
        assert_eq!(platform.visitor(label).status(queue).await.status, status, "{queue} on {label}");
    }
    assert_eq!(platform.visitor("shop").fetch("/_vestibule/status").await.json()["queue"], platform.blue.as_str());
}

#[tokio::test]
async fn wildcard_of_another_tenant_allows_no_page_of_a_host() {
    let platform = Platform::open().await;
    assert!(platform.allows("tickets").await && platform.allows("other").await);
    assert!(!platform.allows("shop").await, "a page of blue");
}

#[tokio::test]
async fn wildcard_of_another_tenant_takes_no_request_of_a_host() {
    let platform = Platform::open().await;
    assert_eq!(platform.visitor("shop").navigate("/about").await.status, StatusCode::OK);
    assert_eq!(platform.origins.each_ref().map(|origin| origin.requests().len()), [0, 1]);
}

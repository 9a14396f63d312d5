use std::sync::Arc;

use serde_json::{Value, json};
use vestibule_core::Micros;
use vestibule_core::fields::Object as _;
use vestibule_core::jobs::{
    Failure, FailureReason, JobId, JobQueueSettings, JobState, Lease, LeasedJob, Outcome, Payload,
};
use vestibule_core::settings::{StoredJobQueue, Tenant};
use vestibule_runtime::CachedJobQueue;

use super::fixture::Fixture;
use crate::call::Handler;

/// The outcome of a call of this address, for a tenant with this list of origins.
async fn outcome(url: &str, tenant: Option<&Value>) -> Outcome {
    let secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    let target = json!({ "kind": "http", "url": url, "secret": secret });
    let value = json!({ "id": "emails", "tenant": "acme", "target": target, "timeout": 1 });
    let settings = JobQueueSettings::from_json(&value).unwrap();
    let tenant = tenant.map(|origins| {
        let value = json!({ "id": "acme", "name": "Acme", "origins": origins });
        Arc::new(Tenant::from_value(&value).unwrap())
    });
    let stored = StoredJobQueue { settings, revision: 1, retired_secret: None, restored_from: None };
    let handler = Handler::new(&CachedJobQueue { stored, tenant }, None, false).unwrap();
    let job = LeasedJob {
        lease: Lease { job: JobId::random(), receive_count: 1 },
        group: None,
        sequence: 1,
        enqueued_at: Micros(0),
        user_id: None,
        session: None,
        params: None,
        payload: Payload { content_type: "text/plain".to_owned(), bytes: b"hello".to_vec() },
    };
    handler.call(job).await
}

fn is_refused(outcome: &Outcome) -> bool {
    *outcome == Outcome::Failed(Failure { reason: FailureReason::AddressRefused, status: None, response: Vec::new() })
}

#[tokio::test]
async fn internal_addresses_are_refused_in_every_form() {
    for host in [
        "0.0.0.0",
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.1.1",
        "192.0.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "[::]",
        "[::1]",
        "[fe80::1]",
        "[fc00::1]",
        "[fd12::1]",
        "[ff02::1]",
        "[100::1]",
        "[2001:db8::1]",
        "[::ffff:10.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::a00:1]",
        "[2002:a00:1::1]",
        "localhost",
        "2130706433",
        "127.1",
        "0x7f.1",
    ] {
        let refused = outcome(&format!("http://{host}:1/"), None).await;
        assert!(is_refused(&refused), "{host}: {refused:?}");
        // The tenant's list has another network.
        let refused = outcome(&format!("http://{host}:1/"), Some(&json!(["http://10.20.0.0/16:1"]))).await;
        assert!(is_refused(&refused), "{host}: {refused:?}");
    }
}

#[tokio::test]
async fn metadata_services_are_refused_even_if_listed() {
    for host in ["169.254.169.254", "169.254.170.2", "[fd00:ec2::254]", "[::ffff:169.254.169.254]", "100.100.100.200"] {
        let listed = json!([format!("http://{host}:1"), "http://0.0.0.0/0:1", "http://[::/0]:1"]);
        let refused = outcome(&format!("http://{host}:1/"), Some(&listed)).await;
        assert!(is_refused(&refused), "{host}: {refused:?}");
    }
}

#[tokio::test]
async fn listed_addresses_and_networks_are_called() {
    let connection = FailureReason::Connection;
    for origins in [json!(["http://127.0.0.1:1"]), json!(["http://127.0.0.0/8:1"])] {
        let called = outcome("http://127.0.0.1:1/", Some(&origins)).await;
        assert_eq!(called, Outcome::Failed(Failure { reason: connection, status: None, response: Vec::new() }));
        for other in ["http://127.0.0.1:2/", "https://127.0.0.1:1/", "http://localhost:1/", "http://128.0.0.1:1/"] {
            assert!(is_refused(&outcome(other, Some(&origins)).await), "{other}");
        }
    }
}

#[tokio::test]
async fn refused_handler_is_never_connected_to() {
    let mut fixture = Fixture::of_tenant(8, &json!({ "origins": ["https://crm.acme.example"] })).await;
    let settings = fixture.job_queue("emails", &json!({ "max_attempts": 1 })).await;
    let id = fixture.enqueue(&settings, None, "hello").await;
    let view = fixture.reaches(&settings, id, JobState::Failed).await;
    assert_eq!(view.reason, Some(FailureReason::AddressRefused));
    assert!(fixture.handler.is_quiet());
}

//! Job queues in the API.

mod access;
mod jobs;
mod settings;

use http::request::Builder;
use http::{Method, header};
use serde_json::{Value, json};
use vestibule_tests::{AdminClient, TestResponse};

use super::backoffice::Backoffice;

pub(super) fn job_queue(id: &str, more: &Value) -> Value {
    let mut job_queue = json!({
        "id": id, "tenant": "acme", "target": { "kind": "http", "url": "https://crm.acme.example/jobs" },
    });
    job_queue.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    job_queue
}

/// Imports job queues of the tenant acme.
pub(super) async fn import(backoffice: &Backoffice, job_queues: &[Value]) {
    let document = json!({ "tenants": [{ "id": "acme", "name": "acme" }], "job_queues": job_queues });
    let imported = backoffice.root().confirmed(Method::POST, "/settings", Some(document)).await;
    assert_eq!(imported.json()["applied"], true, "{}", imported.text());
}

pub(super) async fn enqueue(client: &mut AdminClient, path: &str, content_type: &str, body: &[u8]) -> TestResponse {
    let request = Builder::new().method(Method::POST).uri(format!("/api/v1/job-queues/{path}"));
    client.visitor().request(request.header(header::CONTENT_TYPE, content_type), body.to_vec()).await
}

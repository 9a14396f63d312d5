//! Tenants in the API.

use http::Method;
use serde_json::json;

use super::office::{Office, over_both_stores};

over_both_stores! {
    a_tenant_is_created_read_changed_and_removed,
    a_tenant_with_queues_is_not_removed_and_says_why,
    wrong_and_unknown_fields_are_all_named,
    what_is_to_be_confirmed_is_confirmed_once_and_for_exactly_that,
}

async fn a_tenant_is_created_read_changed_and_removed(office: Office) {
    let mut root = office.root();
    let acme = root.create("/tenants", json!({ "id": "acme", "name": "Acme", "colour": "#0A7D5A" })).await;
    assert_eq!(acme, json!({ "id": "acme", "name": "Acme", "colour": "#0a7d5a", "logo": null }));
    assert_eq!(root.post("/tenants", json!({ "id": "acme", "name": "Acme" })).await.code(), "taken");
    assert_eq!(root.get("/tenants/acme").await.json(), acme);
    assert_eq!(root.get("/tenants").await.json(), json!({ "tenants": [acme] }));
    let changed = root.patch("/tenants/acme", json!({ "colour": null, "logo": "logo.svg" })).await.json();
    assert_eq!(changed, json!({ "id": "acme", "name": "Acme", "colour": null, "logo": "logo.svg" }));
    assert_eq!(root.confirmed(Method::DELETE, "/tenants/acme", None).await.status, 204);
    assert_eq!(root.get("/tenants/acme").await.status, 404);
    assert_eq!(root.get("/tenants").await.json(), json!({ "tenants": [] }));
}

async fn a_tenant_with_queues_is_not_removed_and_says_why(office: Office) {
    office.tenant("acme").await;
    office.queue("tour", "acme", json!({})).await;
    let refused = office.root().send(Method::DELETE, "/tenants/acme", &[], None).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (409, "not_empty".to_owned()));
    assert!(refused.text().contains("\\\"tour\\\""), "{}", refused.text());
}

async fn wrong_and_unknown_fields_are_all_named(office: Office) {
    let body = json!({ "id": "Acme", "name": "", "colour": "green", "color": "#fff" });
    let refused = office.root().post("/tenants", body).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (422, "wrong_fields".to_owned()));
    let fields = refused.wrong_fields();
    let names: Vec<_> = fields.iter().map(|field| field.split(':').next().unwrap()).collect();
    assert_eq!(names, ["id", "name", "colour", "color"], "{fields:?}");
    assert_eq!(refused.json()["error"]["field"], "id");
    assert!(fields[3].contains("is not a field here; the fields are id, name, colour, logo"), "{fields:?}");
}

async fn what_is_to_be_confirmed_is_confirmed_once_and_for_exactly_that(office: Office) {
    office.tenant("acme").await;
    office.tenant("blue").await;
    let mut root = office.root();
    let asked = root.send(Method::DELETE, "/tenants/acme", &[], None).await;
    let said = asked.json()["confirmation"]["effect"].as_str().unwrap().to_owned();
    assert_eq!(said, "The tenant \"acme\" will be removed for good");
    let token = asked.confirmation();
    let with = [("x-vestibule-confirm", token.as_str())];
    root.send(Method::DELETE, "/tenants/blue", &with, None).await.assert_code("confirmation_required");
    root.send(Method::DELETE, "/tenants/acme", &with, None).await.assert_code("confirmation_required");
    let token = root.send(Method::DELETE, "/tenants/acme", &[], None).await.confirmation();
    office.pass(121);
    root.send(Method::DELETE, "/tenants/acme", &[("x-vestibule-confirm", &token)], None)
        .await
        .assert_code("confirmation_required");
    assert_eq!(root.get("/tenants").await.json()["tenants"].as_array().unwrap().len(), 2, "nothing is gone");
    assert_eq!(root.confirmed(Method::DELETE, "/tenants/acme", None).await.status, 204);
}

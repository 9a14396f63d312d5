//! Tenants in the API.

use http::Method;
use serde_json::{Value, json};
use vestibule_tests::AdminClient;

use super::backoffice::{Backoffice, on_memory_and_redis, queue};

on_memory_and_redis! {
    tenant_is_created_read_updated_and_removed,
    concurrent_updates_of_a_tenant_are_all_kept,
    removed_tenant_does_not_come_back,
    removal_names_the_operators_of_a_tenant,
    tenant_with_queues_cannot_be_removed,
    all_invalid_and_unknown_fields_are_listed,
    confirmation_is_valid_once_for_one_request,
    operators_are_limited_to_tenant_lists,
    operators_without_lists_cannot_set_hosts_or_origins,
    only_superusers_update_tenant_lists,
    lists_must_cover_all_queues_of_the_tenant,
    import_is_limited_to_tenant_lists,
}

async fn tenant_is_created_read_updated_and_removed(backoffice: Backoffice) {
    let mut root = backoffice.root();
    let acme = root.create("/tenants", json!({ "id": "acme", "name": "Acme", "color": "#0A7D5A" })).await;
    let read = json!({ "id": "acme", "name": "Acme", "color": "#0a7d5a", "logo": null, "domains": null, "origins": null, "max_job_queues": null });
    assert_eq!(acme, read);
    assert_eq!(root.post("/tenants", json!({ "id": "acme", "name": "Acme" })).await.code(), "already_exists");
    assert_eq!(root.get("/tenants/acme").await.json(), acme);
    assert_eq!(root.get("/tenants").await.json(), json!({ "tenants": [acme] }));
    let changed = json!({ "color": null, "logo": "logo.svg", "domains": "Acme.example", "origins": ["https://acme.example:443"] });
    let changed = root.patch("/tenants/acme", changed).await.json();
    assert_eq!((&changed["color"], &changed["logo"]), (&json!(null), &json!("logo.svg")));
    assert_eq!(
        (&changed["domains"], &changed["origins"]),
        (&json!(["acme.example"]), &json!(["https://acme.example"]))
    );
    assert_eq!(root.confirmed(Method::DELETE, "/tenants/acme", None).await.status, 204);
    assert_eq!(root.get("/tenants/acme").await.status, 404);
    assert_eq!(root.get("/tenants").await.json(), json!({ "tenants": [] }));
}

async fn concurrent_updates_of_a_tenant_are_all_kept(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let (mut root, mut zoe) = (backoffice.root(), backoffice.operator("zoe", "operator", &["acme"]).await);
    for round in 0..20 {
        let (name, domain) = (format!("Acme {round}"), format!("{round}.acme.test"));
        let (tightened, renamed) = tokio::join!(
            root.patch("/tenants/acme", json!({ "domains": [domain] })),
            zoe.patch("/tenants/acme", json!({ "name": name })),
        );
        assert_eq!((tightened.status.as_u16(), renamed.status.as_u16()), (200, 200));
        let acme = root.get("/tenants/acme").await.json();
        assert_eq!((&acme["name"], &acme["domains"]), (&json!(name), &json!([domain])), "in round {round}");
    }
}

async fn removed_tenant_does_not_come_back(backoffice: Backoffice) {
    let mut root = backoffice.root();
    for round in 0..12 {
        let path = format!("/tenants/t{round}");
        backoffice.tenant(&format!("t{round}")).await;
        let mut other = backoffice.root();
        let token = root.send(Method::DELETE, &path, &[], None).await.confirmation();
        let confirmed = [("x-vestibule-confirm", token.as_str())];
        let (removed, ()) = tokio::join!(root.send(Method::DELETE, &path, &confirmed, None), async {
            for name in ["One", "Two", "Three"] {
                other.patch(&path, json!({ "name": name })).await;
            }
        });
        assert_eq!(removed.status, 204);
        assert_eq!(root.get(&path).await.status, 404, "in round {round}");
    }
}

async fn removal_names_the_operators_of_a_tenant(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.operator("eve", "operator", &["acme"]).await;
    let asked = backoffice.root().send(Method::DELETE, "/tenants/acme", &[], None).await;
    let consequence = asked.json()["confirmation"]["consequence"].as_str().unwrap().to_owned();
    assert!(consequence.contains("a later tenant with this ID, unless you change them: eve."), "{consequence}");
}

async fn tenant_with_queues_cannot_be_removed(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({})).await;
    let refused = backoffice.root().send(Method::DELETE, "/tenants/acme", &[], None).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (409, "not_empty".to_owned()));
    assert!(refused.text().contains("\\\"tour\\\""), "{}", refused.text());
}

async fn all_invalid_and_unknown_fields_are_listed(backoffice: Backoffice) {
    let body = json!({ "id": "Acme", "name": "", "color": "green", "shade": "#fff" });
    let refused = backoffice.root().post("/tenants", body).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (422, "validation_failed".to_owned()));
    let fields = refused.wrong_fields();
    let names: Vec<_> = fields.iter().map(|field| field.split(':').next().unwrap()).collect();
    assert_eq!(names, ["id", "name", "color", "shade"], "{fields:?}");
    assert_eq!(refused.json()["errors"][0]["field"], "id");
    assert!(fields[3].contains("is unknown; known fields are id, name, color, logo, domains, origins"), "{fields:?}");
}

async fn confirmation_is_valid_once_for_one_request(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.tenant("blue").await;
    let mut root = backoffice.root();
    let asked = root.send(Method::DELETE, "/tenants/acme", &[], None).await;
    let said = asked.json()["confirmation"]["consequence"].as_str().unwrap().to_owned();
    assert_eq!(said, "The tenant \"acme\" will be removed permanently.");
    let token = asked.confirmation();
    let with = [("x-vestibule-confirm", token.as_str())];
    root.send(Method::DELETE, "/tenants/blue", &with, None).await.assert_code("confirmation_required");
    root.send(Method::DELETE, "/tenants/acme", &with, None).await.assert_code("confirmation_required");
    let token = root.send(Method::DELETE, "/tenants/acme", &[], None).await.confirmation();
    backoffice.advance_seconds(121);
    root.send(Method::DELETE, "/tenants/acme", &[("x-vestibule-confirm", &token)], None)
        .await
        .assert_code("confirmation_required");
    assert_eq!(root.get("/tenants").await.json()["tenants"].as_array().unwrap().len(), 2, "nothing is gone");
    assert_eq!(root.confirmed(Method::DELETE, "/tenants/acme", None).await.status, 204);
}

/// An operator of blue, whose queue `b` is within the lists of the tenant.
async fn listed(backoffice: &Backoffice) -> AdminClient {
    backoffice.tenant_with("blue", &["b.test"], &["https://www.b.test", "https://*.shop.test"]).await;
    let handover = json!({ "kind": "proxy", "origin": "https://www.b.test" });
    backoffice.queue("b", "blue", json!({ "hosts": ["b.test"], "handover": handover })).await;
    backoffice.operator("bob", "operator", &["blue"]).await
}

fn handover(origin: &str) -> Value {
    json!({ "handover": { "kind": "proxy", "origin": origin } })
}

/// Accounts of the site, with another address.
fn accounts(field: &str, address: &str) -> Value {
    let mut identity = json!({
        "jwks": "https://www.b.test/keys", "issuer": "https://www.b.test", "audience": "b", "from": ["cookie:id"],
        "sign_in": "https://www.b.test/sign-in",
    });
    identity[field] = json!(address);
    json!({ "protection": { "identity": identity } })
}

async fn operators_are_limited_to_tenant_lists(backoffice: Backoffice) {
    let mut bob = listed(&backoffice).await;
    for (patch, field) in [
        (handover("http://127.0.0.1:8191"), "handover.origin"),
        (handover("http://[::1]:9001"), "handover.origin"),
        (json!({ "handover": { "kind": "redirect", "origin": "https://evil.test" } }), "handover.origin"),
        (accounts("jwks", "https://evil.test/keys"), "protection.identity.jwks"),
        (accounts("jwks", "https://127.0.0.1:8191/keys"), "protection.identity.jwks"),
        (accounts("sign_in", "https://evil.test/?r={return}"), "protection.identity.sign_in"),
        (json!({ "hosts": ["b.test", "*"] }), "hosts[1]"),
        (json!({ "hosts": ["login.a.test"] }), "hosts[0]"),
        (json!({ "hosts": ["x.b.test"], "cookie_domain": "co.uk" }), "cookie_domain"),
    ] {
        for mut client in [bob.clone(), backoffice.root()] {
            let refused = client.patch("/queues/b", patch.clone()).await;
            assert_eq!((refused.status.as_u16(), refused.code()), (422, "validation_failed".to_owned()), "{patch}");
            assert!(refused.wrong_fields()[0].starts_with(field), "{:?}", refused.wrong_fields());
        }
        let mut draft = queue("new", "blue", json!({ "hosts": ["new.b.test"], "handover": { "kind": "check" } }));
        draft.as_object_mut().unwrap().extend(patch.as_object().unwrap().clone());
        assert_eq!(bob.post("/queues", draft).await.status, 422, "{patch}");
    }
    let errors = bob.patch("/queues/b", handover("https://evil.test")).await.wrong_fields();
    assert!(errors[0].ends_with("origins: https://www.b.test, https://*.shop.test"), "{errors:?}");
    let within = json!({ "hosts": ["b.test", "*.b.test"], "cookie_domain": "b.test" });
    assert_eq!(bob.patch("/queues/b", within).await.status, 200);
    assert_eq!(bob.patch("/queues/b", handover("https://eu.shop.test")).await.status, 200);
    bob.create("/queues/b/clone", json!({ "id": "b-2", "hosts": ["2.b.test"] })).await;
    assert_eq!(bob.post("/queues/b/clone", json!({ "id": "b-3", "hosts": ["3.a.test"] })).await.status, 422);
}

async fn operators_without_lists_cannot_set_hosts_or_origins(backoffice: Backoffice) {
    backoffice.tenant("blue").await;
    backoffice
        .queue("b", "blue", json!({ "hosts": ["*"], "handover": { "kind": "proxy", "origin": "http://10.0.0.5" } }))
        .await;
    let mut bob = backoffice.operator("bob", "operator", &["blue"]).await;
    for patch in [json!({ "hosts": ["b.test"] }), handover("https://b.test")] {
        let refused = bob.patch("/queues/b", patch).await;
        assert!(refused.text().contains("can only be set by a superuser or the settings file"), "{}", refused.text());
    }
    let kept = json!({ "hosts": ["*"], "quota": 7, "handover": { "kind": "redirect", "origin": "http://10.0.0.5" } });
    assert_eq!(bob.patch("/queues/b", kept).await.status, 200, "what is there stays");
    assert_eq!(bob.post("/queues", queue("b-2", "blue", json!({}))).await.status, 422);
}

async fn only_superusers_update_tenant_lists(backoffice: Backoffice) {
    let mut bob = listed(&backoffice).await;
    for (field, value) in
        [("domains", json!(null)), ("origins", json!(["http://127.0.0.1:8191"])), ("max_job_queues", json!(1000))]
    {
        let refused = bob.patch("/tenants/blue", json!({ field: value })).await;
        assert_eq!(refused.status, 422);
        assert_eq!(refused.wrong_fields(), [format!("{field}: can only be changed by a superuser")]);
    }
    let same = json!({ "name": "Blue", "domains": ["b.test"] });
    assert_eq!(bob.patch("/tenants/blue", same).await.status, 200, "it stays as it was");
    let mut root = backoffice.root();
    for (field, wrong) in
        [("domains", json!(["*"])), ("domains", json!(["https://b.test"])), ("origins", json!(["b.test"]))]
    {
        let refused = root.patch("/tenants/blue", json!({ field: wrong })).await;
        assert!(refused.wrong_fields()[0].starts_with(&format!("{field}[0]: must be a")), "{}", refused.text());
    }
    let opened = json!({ "origins": ["http://127.0.0.1:8191", "https://www.b.test"] });
    assert_eq!(root.patch("/tenants/blue", opened).await.status, 200);
    assert_eq!(bob.patch("/queues/b", handover("http://127.0.0.1:8191")).await.status, 200);
}

async fn lists_must_cover_all_queues_of_the_tenant(backoffice: Backoffice) {
    listed(&backoffice).await;
    let mut root = backoffice.root();
    for (lists, field) in [
        (json!({ "domains": ["c.test"] }), "b.hosts[0]"),
        (json!({ "origins": ["https://*.shop.test"] }), "b.handover.origin"),
        (json!({ "origins": [] }), "b.handover.origin"),
    ] {
        let refused = root.patch("/tenants/blue", lists.clone()).await;
        assert_eq!((refused.status.as_u16(), refused.code()), (409, "queues_outside".to_owned()), "{lists}");
        assert!(refused.wrong_fields()[0].starts_with(field), "{:?}", refused.wrong_fields());
    }
    let document = json!({ "tenants": [{ "id": "blue", "name": "Blue", "domains": ["c.test"] }], "queues": [] });
    root.post("/settings?validate=true", document).await.assert_code("queues_outside");
    assert_eq!(root.patch("/tenants/blue", json!({ "domains": ["b.test", "c.test"] })).await.status, 200);
}

async fn import_is_limited_to_tenant_lists(backoffice: Backoffice) {
    let document = |origin: &str| {
        json!({
            "tenants": [{ "id": "blue", "name": "Blue", "domains": ["b.test"], "origins": ["http://10.0.0.5"] }],
            "queues": [queue("b", "blue", json!({ "hosts": ["b.test"], "handover": { "kind": "proxy", "origin": origin } }))],
        })
    };
    let mut root = backoffice.root();
    let refused = root.post("/settings?validate=true", document("http://10.0.0.6")).await;
    assert!(refused.wrong_fields()[0].starts_with("queues[0].handover.origin: "), "{}", refused.text());
    let imported = root.confirmed(Method::POST, "/settings", Some(document("http://10.0.0.5"))).await.json();
    assert_eq!(imported["applied"], true, "{imported}");
    let exported = root.get("/settings").await.json();
    assert_eq!(exported["tenants"][0]["origins"], json!(["http://10.0.0.5"]));
}

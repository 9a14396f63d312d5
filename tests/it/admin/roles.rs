//! Who may what: every operation of the document, with every kind of credential.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};
use vestibule_core::jobs::{Outcome, Settlement};
use vestibule_tests::{AdminClient, TestResponse};
use vestibule_themes::{ThemeVersions, ThemesAddress};

use super::backoffice::{Backoffice, PASSWORD, queue};

/// Whom an operation is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum For {
    /// Anybody at all.
    Anybody,
    /// Whoever is known; what they get is cut to what is theirs.
    Known,
    /// Whoever sees the tenant.
    Viewers,
    /// Whoever operates the tenant.
    Operators,
    /// Whoever operates anything, and signed in.
    SignedInOperators,
    /// Whoever signed in.
    SignedIn,
    /// Superusers.
    Superusers,
    /// Superusers who signed in and gave their password.
    SuperusersInPerson,
    /// Superusers; to everybody else it is not there. (A token of somebody else's.)
    SuperusersOnly,
}

/// Every operation of the document: whom it is for, and a body where it takes one. What is not here fails the test.
fn operations() -> Vec<(&'static str, For, Option<Value>)> {
    use For::{
        Anybody, Known, Operators, SignedIn, SignedInOperators, Superusers, SuperusersInPerson, SuperusersOnly, Viewers,
    };
    let settings = || json!({ "tenants": [{ "id": "acme", "name": "acme" }], "queues": [] });
    let others = vec![
        ("sign_in", Anybody, Some(json!({ "name": "nobody", "password": "not the password" }))),
        ("list_sign_in_methods", Anybody, None),
        ("start_oidc", Anybody, None),
        ("complete_oidc", Anybody, None),
        ("get_current_principal", Anybody, None),
        ("confirm_password", SignedIn, Some(json!({ "password": "not the password" }))),
        ("change_password", SignedIn, Some(json!({ "current": "not the password", "new": PASSWORD }))),
        ("start_totp_setup", SignedIn, None),
        ("confirm_totp_setup", SignedIn, Some(json!({ "password": "not the password", "code": "000000" }))),
        ("remove_own_totp", SignedIn, None),
        ("list_tenants", Known, None),
        ("create_tenant", Superusers, Some(json!({ "id": "coral", "name": "Coral" }))),
        ("get_tenant", Viewers, None),
        ("update_tenant", Operators, Some(json!({ "name": "Acme" }))),
        ("remove_tenant", Superusers, None),
        ("list_queues", Known, None),
        ("create_queue", Operators, Some(queue("gig", "acme", json!({})))),
        ("get_queue", Viewers, None),
        ("update_queue", Operators, Some(json!({ "name": "The tour" }))),
        ("remove_queue", Operators, None),
        ("clone_queue", Operators, Some(json!({ "id": "tour-2", "hosts": ["2.example.com"] }))),
        ("get_event", Viewers, None),
        ("record_beacon_value", Operators, Some(json!({ "round": 1, "signature": "00" }))),
        ("get_event_report", Viewers, None),
        ("get_queue_report", Viewers, None),
        ("list_invitations", Viewers, None),
        ("get_invitation_codes", Operators, None),
        ("test_url", Known, Some(json!({ "url": "https://tour.example.com/" }))),
        ("update_controls", Operators, Some(json!({ "quota": 3 }))),
        ("release", Operators, Some(json!({ "count": 1 }))),
        ("drain_queue", Operators, None),
        ("start_attack_mode", Operators, Some(json!({ "duration_seconds": 60 }))),
        ("end_attack_mode", Operators, None),
        ("get_queue_protection", Viewers, None),
        ("reset_queue", Operators, None),
        ("search_sessions", Known, None),
        ("list_sessions", Viewers, None),
        ("find_session", Viewers, None),
        ("end_session", Operators, None),
        ("admit_session", Operators, None),
        ("list_queue_stats", Known, None),
        ("get_queue_stats", Viewers, None),
        ("get_queue_forecast", Viewers, None),
        ("get_queue_history", Viewers, None),
        ("stream_stats", Known, None),
        ("list_operators", Superusers, None),
        (
            "create_operator",
            SuperusersInPerson,
            Some(json!({ "name": "new", "password": PASSWORD, "role": "viewer", "tenants": ["acme"] })),
        ),
        ("get_operator", Superusers, None),
        ("update_operator", SuperusersInPerson, Some(json!({ "role": "viewer" }))),
        ("remove_operator", SuperusersInPerson, None),
        ("remove_operator_totp", SuperusersInPerson, None),
        ("list_tokens", Known, None),
        ("create_token", SignedInOperators, Some(token("viewer"))),
        ("search_audit", Known, None),
        ("export_audit", Known, None),
        ("export_settings", Known, None),
        ("import_settings", Superusers, Some(settings())),
        ("list_themes", Known, None),
        ("list_theme_versions", Viewers, None),
        ("upload_theme", Operators, Some(theme())),
        ("download_theme_version", Viewers, None),
        ("activate_theme_version", Operators, None),
        ("download_live_theme", Viewers, None),
        ("preview_theme", Viewers, None),
        ("preview_theme_draft", Viewers, Some(json!({ "templates": [] }))),
        ("deactivate_theme", Operators, None),
        ("remove_theme", Operators, None),
        ("revoke_token", SuperusersOnly, None),
        // Last, as it ends a sign-in.
        ("sign_out", Known, None),
    ];
    job_queue_operations().into_iter().chain(others).collect()
}

/// The same of job queues.
fn job_queue_operations() -> Vec<(&'static str, For, Option<Value>)> {
    use For::{Known, Operators, Viewers};
    vec![
        ("list_job_queues", Known, None),
        ("create_job_queue", Operators, Some(job_queue("more"))),
        ("get_job_queue", Viewers, None),
        ("update_job_queue", Operators, Some(json!({ "concurrency": 3 }))),
        ("remove_job_queue", Operators, None),
        ("get_job_queue_stats", Viewers, None),
        ("get_job_queue_secret", Operators, None),
        ("rotate_job_queue_secret", Operators, None),
        ("pause_job_queue", Operators, None),
        ("resume_job_queue", Operators, None),
        ("enqueue_job", Operators, Some(json!({ "number": 1 }))),
        ("enqueue_jobs", Operators, Some(json!({ "jobs": [{ "payload": 1 }] }))),
        ("get_job", Operators, None),
        ("receive_jobs", Operators, Some(json!({}))),
        ("acknowledge_jobs", Operators, Some(json!({ "receipt_handles": ["x"] }))),
        ("extend_leases", Operators, Some(json!({ "receipt_handles": ["x"], "seconds": 1 }))),
        ("fail_jobs", Operators, Some(json!({ "jobs": [{ "receipt_handle": "x" }] }))),
        ("list_schedules", Viewers, None),
        ("run_schedule", Operators, None),
        ("test_webhook", Operators, None),
        ("cancel_job", Operators, None),
        ("drain_job_queue", Operators, None),
        ("list_dead_letters", Operators, None),
        ("get_dead_letter", Operators, None),
        ("delete_dead_letter", Operators, None),
        ("delete_dead_letters", Operators, Some(json!({ "all": true }))),
        ("replay_dead_letters", Operators, Some(json!({ "all": true }))),
        ("resolve_dead_letter", Operators, Some(json!({ "outcome": "placed" }))),
    ]
}

fn job_queue(id: &str) -> Value {
    let schedule = json!({ "id": "nightly", "cron": "@daily", "payload": "{}" });
    let target = json!({ "kind": "http", "url": "https://crm.example.com/jobs" });
    let webhook = json!({ "event_types": ["queue.reset"] });
    json!({ "id": id, "tenant": "acme", "target": target, "schedules": [schedule], "webhook": webhook })
}

fn theme() -> Value {
    json!({ "files": [{ "path": "a.txt", "base64": "YQ==" }] })
}

fn token(role: &str) -> Value {
    let tenants = if role == "superuser" { json!([]) } else { json!(["acme"]) };
    json!({ "name": "script", "role": role, "tenants": tenants, "expires_in": 600 })
}

/// What an answer says about who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Done,
    NotSignedIn,
    NotAllowed,
    Unknown,
}

fn said(answer: &TestResponse) -> Said {
    match answer.status.as_u16() {
        401 if answer.code() != "wrong_password" => Said::NotSignedIn,
        403 => Said::NotAllowed,
        404 if answer.code() != "unknown_dead_letter" => Said::Unknown,
        _ => Said::Done,
    }
}

/// Somebody with a role, and the answer that they are due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Who {
    Nobody,
    Viewer,
    Operator,
    Superuser,
    /// An operator of another tenant.
    Foreigner,
}

fn due(who: Who, by_token: bool, operation: For) -> Said {
    use Said::{Done, NotAllowed, NotSignedIn, Unknown};
    match (operation, who) {
        (For::Anybody, _) => Done,
        (_, Who::Nobody) => NotSignedIn,
        (For::SignedIn | For::SignedInOperators | For::SuperusersInPerson, _) if by_token => NotAllowed,
        // A token revokes itself only.
        (For::SuperusersOnly, _) if by_token => Unknown,
        (For::SignedInOperators, Who::Viewer) => NotAllowed,
        (For::Known | For::SignedIn | For::SignedInOperators, _) | (_, Who::Superuser) => Done,
        (For::SuperusersOnly, _) | (For::Viewers | For::Operators, Who::Foreigner) => Unknown,
        (For::Viewers, _) | (For::Operators, Who::Operator) => Done,
        (For::Superusers | For::SuperusersInPerson | For::Operators, _) => NotAllowed,
    }
}

/// The document's operations by id: method, and address with its variables filled in.
fn addresses(document: &Value, variables: &[(&str, &str)]) -> Vec<(String, Method, String)> {
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap().to_owned();
            let mut path = path.strip_prefix("/api/v1").unwrap().to_owned();
            for (name, value) in variables {
                path = path.replace(&format!("{{{name}}}"), value);
            }
            assert!(!path.contains('{'), "{path} has a variable that the test does not know");
            found.push((id, method.to_uppercase().parse().unwrap(), path));
        }
    }
    found
}

async fn assert_all(
    mut client: AdminClient,
    name: &str,
    who: Who,
    by_token: bool,
    addresses: &[(String, Method, String)],
) {
    for (id, operation, body) in operations() {
        let Some((_, method, path)) = addresses.iter().find(|(found, _, _)| *found == id) else {
            panic!("the document has no {id}");
        };
        let mut due = due(who, by_token, operation);
        let is_foreign = ["create_queue", "create_job_queue"].contains(&id) && who == Who::Foreigner;
        if is_foreign {
            due = Said::Done; // A wrong field: the tenant.
        }
        if id == "get_current_principal" && who == Who::Nobody && by_token {
            due = Said::NotSignedIn; // An invalid token is reported as an invalid one, not as a missing one.
        }
        if id == "stream_stats" && due == Said::Done {
            continue; // An answer without an end; it has a test of its own.
        }
        let answer = client.send(method.clone(), path, &[("if-match", "*")], body.clone()).await;
        assert_eq!(said(&answer), due, "{name}: {id}: {} {}", answer.status, answer.text());
        assert!(answer.status.as_u16() < 500, "{name}: {id}: {}", answer.text());
        let written = [200, 201, 204].contains(&answer.status.as_u16());
        assert!(!(is_foreign && written), "{name}: {}", answer.text());
    }
}

/// A superuser's token that has expired, and one that was revoked.
async fn spent_tokens(backoffice: &Backoffice) -> (String, String) {
    let mut root = backoffice.root();
    let expired = root.create("/tokens", token("superuser")).await;
    backoffice.advance_seconds(600);
    let revoked = root.create("/tokens", token("superuser")).await;
    let id = revoked["token"]["id"].as_str().unwrap();
    assert_eq!(root.send(Method::DELETE, &format!("/tokens/{id}"), &[], None).await.status, 204);
    let secret = |token: &Value| token["secret"].as_str().unwrap().to_owned();
    (secret(&expired), secret(&revoked))
}

#[tokio::test]
async fn role_matrix_covers_every_operation() {
    let folder = tempfile::tempdir().unwrap();
    let backoffice =
        Backoffice::memory_with_themes(ThemeVersions::at(ThemesAddress::Folder(folder.path().to_owned()))).await;
    for tenant in ["acme", "blue"] {
        backoffice.tenant_with(tenant, &["example.com"], &[]).await;
    }
    let sale = json!({ "id": "sale", "starts_at": "2027-03-04T10:00:00Z", "ends_at": "2027-03-04T14:00:00Z", "order": "arrival" });
    let fans = json!({ "number": 1, "id": "fans", "count": 10 });
    backoffice.queue("tour", "acme", json!({ "events": [sale], "invitations": [fans] })).await;
    backoffice.queue("blues", "blue", json!({})).await;
    let mut root = backoffice.root();
    let (expired, revoked) = spent_tokens(&backoffice).await;
    let proof = root.post("/sign-in/proof", json!({ "password": "correct horse battery" })).await;
    assert_eq!(proof.status, 204, "{}", proof.text());
    let session = backoffice.join("tour", 1).await[0].to_string();
    let document = root.get("/openapi.json").await.json();
    let victim = json!({ "name": "victim", "password": PASSWORD, "role": "viewer", "tenants": ["acme"] });
    root.create("/operators", victim).await;
    let spare = root.create("/tokens", token("viewer")).await;
    let spare = spare["token"]["id"].as_str().unwrap();
    let version = root.create("/themes/acme/versions", theme()).await;
    let version = version["id"].as_str().unwrap();
    root.send(Method::POST, &format!("/themes/acme/versions/{version}/activate"), &[("if-match", "*")], None).await;
    root.create("/job-queues", job_queue("mails")).await;
    let job = root.post("/job-queues/mails/jobs", json!({})).await.json();
    // A completed job can't be canceled.
    let jobs = backoffice.admin.jobs();
    let mails = jobs.get(&"mails".parse().unwrap()).await.unwrap().unwrap().settings.clone();
    let lease = jobs.backend().receive(&mails, 1).await.unwrap().jobs[0].lease;
    let outcome = Outcome::Acknowledged(None);
    jobs.backend().settle(&mails, vec![Settlement { lease, outcome }]).await.unwrap();
    let variables = [
        ("job_queue", "mails"),
        ("job", job["job_id"].as_str().unwrap()),
        ("schedule", "nightly"),
        ("queue", "tour"),
        ("tenant", "acme"),
        ("session", &session),
        ("event", "sale"),
        ("batch", "fans"),
        ("operator", "victim"),
        ("token", spare),
        ("theme", "acme"),
        ("version", version),
    ];
    let addresses = addresses(&document, &variables);
    let known: BTreeSet<_> = operations().iter().map(|(id, _, _)| (*id).to_owned()).collect();
    let there: BTreeSet<_> = addresses.iter().map(|(id, _, _)| id.clone()).collect();
    assert_eq!(known, there, "every operation of the document has its line in this test");

    let client = backoffice.admin.client();
    assert_all(client.clone(), "nobody", Who::Nobody, false, &addresses).await;
    for garbage in ["", "x", "vestibule_0123456789abcdef_x", "Basic cm9vdDpyb290"] {
        let client = client.clone().with_header("authorization", &format!("Bearer {garbage}"));
        assert_all(client, "garbage", Who::Nobody, true, &addresses).await;
    }
    let basic = client.clone().with_header("authorization", "Basic cm9vdDpyb290");
    assert_all(basic, "another scheme", Who::Nobody, true, &addresses).await;
    let mut forged = client.clone();
    forged.visitor().set_cookie("vestibule_admin", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    assert_all(forged, "a forged cookie", Who::Nobody, false, &addresses).await;

    assert_all(client.clone().with_token(&revoked), "a revoked token", Who::Nobody, true, &addresses).await;
    assert_all(client.clone().with_token(&expired), "an expired token", Who::Nobody, true, &addresses).await;

    for (who, role, tenants) in [
        (Who::Viewer, "viewer", vec!["acme"]),
        (Who::Operator, "operator", vec!["acme"]),
        (Who::Foreigner, "operator", vec!["blue"]),
        (Who::Superuser, "superuser", vec![]),
    ] {
        let name = format!("{who:?}").to_lowercase();
        let signed_in = backoffice.operator(&name, role, &tenants).await;
        let mut maker = signed_in.clone();
        // A viewer makes no token; one that was made before stays, and may no more than its owner.
        let raised = json!({ "role": "operator", "tenants": tenants });
        if who == Who::Viewer {
            assert_eq!(root.patch(&format!("/operators/{name}"), raised).await.status, 200);
        }
        let wanted = json!({ "name": "script", "role": if who == Who::Viewer { "operator" } else { role }, "tenants": tenants, "expires_in": 600 });
        let token = maker.create("/tokens", wanted).await["secret"].as_str().unwrap().to_owned();
        if who == Who::Viewer {
            root.patch(&format!("/operators/{name}"), json!({ "role": "viewer", "tenants": tenants })).await;
        }
        assert_all(client.clone().with_token(&token), &format!("{name}'s token"), who, true, &addresses).await;
        let mut ended = signed_in.clone();
        assert_all(signed_in, &name, who, false, &addresses).await;
        assert_eq!(said(&ended.get("/queues").await), Said::NotSignedIn, "{name} has signed out at the end");
    }
}

#[tokio::test]
async fn audit_log_shows_accessible_events_only() {
    let backoffice = Backoffice::memory().await;
    for tenant in ["acme", "blue"] {
        backoffice.tenant(tenant).await;
        backoffice.queue(&format!("{tenant}-tour"), tenant, json!({})).await;
    }
    let mut operator = backoffice.operator("zoe", "viewer", &["acme"]).await;
    for path in
        ["/tenants", "/queues", "/stats", "/settings", "/settings?format=toml", "/audit", "/audit/export", "/tokens"]
    {
        let answer = operator.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(!answer.text().contains("blue"), "{path}: {}", answer.text());
        assert!(path == "/tokens" || answer.text().contains("acme"), "{path}: {}", answer.text());
        assert!(backoffice.root().get(path).await.text().contains("blue") || path == "/tokens", "{path}");
    }
}

#[tokio::test]
async fn audit_log_shows_a_token_its_tenants_only() {
    let backoffice = Backoffice::memory().await;
    for tenant in ["acme", "blue"] {
        backoffice.tenant(tenant).await;
        backoffice.queue(&format!("{tenant}-tour"), tenant, json!({})).await;
    }
    let created = backoffice.root().create("/tokens", token("viewer")).await;
    let mut limited = backoffice.admin.client().with_token(created["secret"].as_str().unwrap());
    for query in ["", "?tenant=blue", "?queue=blue-tour", "?action=operator."] {
        for path in ["/audit", "/audit/export"] {
            let answer = limited.get(&format!("{path}{query}")).await;
            assert_eq!(answer.status, 200, "{path}{query}");
            assert!(!answer.text().contains("blue"), "{path}{query}: {}", answer.text());
            assert!(!answer.text().contains("operator.create"), "{path}{query}: {}", answer.text());
        }
    }
    assert!(limited.get("/audit").await.text().contains("acme-tour"));
}

#[tokio::test]
async fn token_lists_and_revokes_itself_only() {
    let backoffice = Backoffice::memory().await;
    backoffice.tenant("acme").await;
    let mut root = backoffice.root();
    let spare = root.create("/tokens", token("superuser")).await;
    let id = |created: &Value| created["token"]["id"].as_str().unwrap().to_owned();
    for role in ["viewer", "superuser"] {
        let created = root.create("/tokens", token(role)).await;
        let mut client = backoffice.admin.client().with_token(created["secret"].as_str().unwrap());
        let listed = client.get("/tokens").await.json();
        let ids: Vec<_> = listed["tokens"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
        assert_eq!(ids, [json!(id(&created))], "{role}");
        let mut revoke =
            async |id: String| client.send(Method::DELETE, &format!("/tokens/{id}"), &[], None).await.status;
        assert_eq!(revoke(id(&spare)).await, 404, "{role}");
        assert_eq!(revoke(id(&created)).await, 204, "{role}");
        assert_eq!(revoke(id(&created)).await, 401, "{role}");
    }
    assert_eq!(root.get("/tokens").await.json()["tokens"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn large_bodies_are_read_after_authorization() {
    let backoffice = Backoffice::memory().await;
    backoffice.tenant("acme").await;
    let mut viewer = backoffice.operator("vera", "viewer", &["acme"]).await;
    let unknown = json!({ "a": 0 });
    assert_eq!(viewer.post("/settings", unknown.clone()).await.status, 403);
    for operation in ["jobs/batch", "receive", "acknowledge", "fail", "extend"] {
        let refused = viewer.post(&format!("/job-queues/nothing/{operation}"), unknown.clone()).await;
        assert_eq!(refused.status, 404, "{operation}: {}", refused.text());
    }
}

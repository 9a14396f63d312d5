//! TOTP, the second factor of operators who sign in with a password.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use totp_rs::{Builder, Secret};
use vestibule_admin::{OperatorReset, OperatorResetError, RequireTotp, Role, reset_operator};
use vestibule_records::DocumentKind;
use vestibule_tests::{AdminClient, AdminUnderTest, TestResponse};

use super::backoffice::{Backoffice, PASSWORD, on_memory};

const ROOT_PASSWORD: &str = "correct horse battery";

on_memory! {
    totp_needs_the_password_and_a_first_code,
    sign_in_needs_a_code,
    code_signs_in_once,
    recovery_code_signs_in_once,
    wrong_codes_are_throttled_and_audited,
    totp_ends_sign_ins_with_the_password_alone,
    totp_is_turned_off_with_the_password,
    superuser_removes_totp_with_the_password,
    required_totp_must_be_set_up_first,
    reset_operator_keeps_role_and_tokens_but_no_totp,
    last_superuser_keeps_the_role,
}

/// The code that an app shows for a secret now.
fn code(backoffice: &Backoffice, secret: &str) -> String {
    let secret = Secret::try_from_base32(secret).unwrap();
    Builder::new().with_secret(secret).build().unwrap().generate(backoffice.now()).to_string()
}

/// A code that is not right now.
fn wrong_code(backoffice: &Backoffice, secret: &str) -> String {
    let right: u32 = code(backoffice, secret).parse().unwrap();
    format!("{:06}", (right + 1) % 1_000_000)
}

async fn confirm(client: &mut AdminClient, password: &str, code: &str) -> TestResponse {
    client.send(Method::PUT, "/sign-in/totp", &[], Some(json!({ "password": password, "code": code }))).await
}

/// Sets TOTP up. Returns the secret and the recovery codes; the first code has been used then.
async fn set_up(backoffice: &Backoffice, client: &mut AdminClient, password: &str) -> (String, Vec<String>) {
    let setup = client.send(Method::POST, "/sign-in/totp", &[], None).await;
    let secret = setup.json()["secret"].as_str().unwrap().to_owned();
    let answer = confirm(client, password, &code(backoffice, &secret)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let codes: Vec<String> = serde_json::from_value(answer.json()["recovery_codes"].clone()).unwrap();
    assert_eq!(codes.len(), 10);
    (secret, codes)
}

/// Signs in from another browser.
async fn sign_in(admin: &AdminUnderTest, name: &str, password: &str, code: Option<&str>) -> TestResponse {
    admin.client().post("/sign-in", json!({ "name": name, "password": password, "code": code })).await
}

fn assert_refused(answer: &TestResponse, status: u16, code: &str) {
    assert_eq!((answer.status.as_u16(), answer.code()), (status, code.to_owned()), "{}", answer.text());
}

async fn totp_needs_the_password_and_a_first_code(backoffice: Backoffice) {
    let mut operator = backoffice.operator("zoe", "superuser", &[]).await;
    let mut root = backoffice.root();
    assert_eq!(root.get("/sign-in").await.json()["totp"], "off");
    assert_refused(&confirm(&mut root, ROOT_PASSWORD, "000000").await, 409, "no_totp_setup");
    let setup = root.send(Method::POST, "/sign-in/totp", &[], None).await.json();
    let secret = setup["secret"].as_str().unwrap();
    assert!(setup["uri"].as_str().unwrap().starts_with(&format!("otpauth://totp/Vestibule:root?secret={secret}")));
    assert!(setup["qr_code"]["size"].as_u64().unwrap() >= 21);

    let right = code(&backoffice, secret);
    let refused = confirm(&mut root, "this is not it", &right).await;
    assert_eq!(refused.wrong_fields(), ["password: is not the password of this operator"]);
    let refused = confirm(&mut root, ROOT_PASSWORD, &wrong_code(&backoffice, secret)).await;
    assert_eq!(refused.wrong_fields(), ["code: is not the current code of the authenticator app"]);
    assert_eq!(sign_in(&backoffice.admin, "root", ROOT_PASSWORD, None).await.status, 200, "it is not active yet");

    assert_eq!(confirm(&mut root, ROOT_PASSWORD, &right).await.status, 200);
    assert_eq!(root.get("/sign-in").await.json()["totp"], "on");
    assert_eq!(root.get("/operators/root").await.json()["totp_at"], backoffice.now());
    assert_refused(&root.send(Method::POST, "/sign-in/totp", &[], None).await, 409, "totp_exists");

    let setup = operator.send(Method::POST, "/sign-in/totp", &[], None).await.json();
    backoffice.advance_seconds(600);
    let late = confirm(&mut operator, PASSWORD, &code(&backoffice, setup["secret"].as_str().unwrap())).await;
    assert_refused(&late, 409, "no_totp_setup");
}

async fn sign_in_needs_a_code(backoffice: Backoffice) {
    let (secret, _) = set_up(&backoffice, &mut backoffice.root(), ROOT_PASSWORD).await;
    backoffice.advance_seconds(30);
    let right = code(&backoffice, &secret);
    let without = sign_in(&backoffice.admin, "root", ROOT_PASSWORD, None).await;
    assert_refused(&without, 401, "code_required");
    assert_eq!(without.header("set-cookie"), None);
    assert_refused(&sign_in(&backoffice.admin, "root", "this is not it", Some(&right)).await, 401, "wrong_password");
    assert_refused(&sign_in(&backoffice.admin, "root", "this is not it", None).await, 401, "wrong_password");
    let wrong = wrong_code(&backoffice, &secret);
    assert_refused(&sign_in(&backoffice.admin, "root", ROOT_PASSWORD, Some(&wrong)).await, 401, "wrong_code");
    assert_refused(&sign_in(&backoffice.admin, "root", ROOT_PASSWORD, Some("")).await, 401, "wrong_code");
    let signed_in = sign_in(&backoffice.admin, "root", ROOT_PASSWORD, Some(&right)).await;
    assert_eq!((signed_in.status.as_u16(), &signed_in.json()["totp"]), (200, &json!("on")), "{}", signed_in.text());
}

async fn code_signs_in_once(backoffice: Backoffice) {
    let (secret, _) = set_up(&backoffice, &mut backoffice.root(), ROOT_PASSWORD).await;
    let first = code(&backoffice, &secret);
    assert_refused(&sign_in(&backoffice.admin, "root", ROOT_PASSWORD, Some(&first)).await, 401, "wrong_code");
    backoffice.advance_seconds(30);
    let right = code(&backoffice, &secret);
    assert_eq!(sign_in(&backoffice.admin, "root", ROOT_PASSWORD, Some(&right)).await.status, 200);
    assert_refused(&sign_in(&backoffice.admin, "root", ROOT_PASSWORD, Some(&right)).await, 401, "wrong_code");

    backoffice.advance_seconds(30);
    let right = code(&backoffice, &secret);
    let at_once = (0..4).map(|_| sign_in(&backoffice.admin, "root", ROOT_PASSWORD, Some(&right)));
    let answers = futures_util::future::join_all(at_once).await;
    let signed_in = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(signed_in, 1, "of several at once, one signs in");
}

async fn recovery_code_signs_in_once(backoffice: Backoffice) {
    let (_, codes) = set_up(&backoffice, &mut backoffice.root(), ROOT_PASSWORD).await;
    assert_eq!(sign_in(&backoffice.admin, "root", ROOT_PASSWORD, Some(&codes[7])).await.status, 200);
    assert_refused(&sign_in(&backoffice.admin, "root", ROOT_PASSWORD, Some(&codes[7])).await, 401, "wrong_code");
    let typed = codes[2].replace('-', "").to_uppercase();
    assert_eq!(sign_in(&backoffice.admin, "root", ROOT_PASSWORD, Some(&typed)).await.status, 200);
    let mut client = backoffice.admin.client();
    let body = json!({ "name": "root", "password": ROOT_PASSWORD, "code": codes[0] });
    assert_eq!(client.post("/sign-in", body).await.status, 200);
    let entry = client.get("/audit?action=account.sign_in&limit=1").await.json()["events"][0].clone();
    assert_eq!(entry["changes"], json!([{ "field": "recovery_codes_left", "from": null, "to": 7 }]));
    let kept = backoffice.admin.records().get_document(DocumentKind::Operators, "root").await.unwrap().unwrap().text;
    assert!(codes.iter().all(|code| !kept.contains(code) && !kept.contains(&code.replace('-', ""))), "only hashes");
}

async fn wrong_codes_are_throttled_and_audited(backoffice: Backoffice) {
    let (secret, _) = set_up(&backoffice, &mut backoffice.root(), ROOT_PASSWORD).await;
    backoffice.advance_seconds(30);
    let wrong = wrong_code(&backoffice, &secret);
    for _ in 0..6 {
        // The right password alone neither counts nor forgets what failed.
        assert_refused(&sign_in(&backoffice.admin, "root", ROOT_PASSWORD, None).await, 401, "code_required");
        assert_refused(&sign_in(&backoffice.admin, "root", ROOT_PASSWORD, Some(&wrong)).await, 401, "wrong_code");
    }
    let right = code(&backoffice, &secret);
    let slowed = sign_in(&backoffice.admin, "root", ROOT_PASSWORD, Some(&right)).await;
    assert_refused(&slowed, 429, "rate_limited");
    backoffice.advance_seconds(1);
    let mut client = backoffice.admin.client();
    let body = json!({ "name": "root", "password": ROOT_PASSWORD, "code": right });
    assert_eq!(client.post("/sign-in", body).await.status, 200);
    let failed = client.get("/audit?action=account.sign_in_failed").await.json();
    assert_eq!(failed["events"][0]["operator"], "root", "{failed}");
}

async fn totp_ends_sign_ins_with_the_password_alone(backoffice: Backoffice) {
    let mut other = backoffice.admin.root().await;
    let mut root = backoffice.root();
    set_up(&backoffice, &mut root, ROOT_PASSWORD).await;
    assert_eq!(root.get("/queues").await.status, 200, "with the cookie that came along");
    assert_refused(&other.get("/queues").await, 401, "credential_invalid");
    let body = json!({ "current": ROOT_PASSWORD, "new": "a new password" });
    assert_eq!(root.send(Method::PUT, "/sign-in/password", &[], Some(body)).await.status, 204);
    assert_eq!(root.get("/queues").await.status, 200, "a new password keeps the second factor of this sign-in");
}

async fn totp_is_turned_off_with_the_password(backoffice: Backoffice) {
    let mut root = backoffice.root();
    set_up(&backoffice, &mut root, ROOT_PASSWORD).await;
    backoffice.advance_seconds(300);
    assert_refused(&root.send(Method::DELETE, "/sign-in/totp", &[], None).await, 403, "password_required");
    assert_eq!(root.post("/sign-in/proof", json!({ "password": ROOT_PASSWORD })).await.status, 204);
    assert_eq!(root.send(Method::DELETE, "/sign-in/totp", &[], None).await.status, 204);
    assert_eq!(root.get("/sign-in").await.json()["totp"], "off");
    assert_eq!(sign_in(&backoffice.admin, "root", ROOT_PASSWORD, None).await.status, 200);
    let actions = async |client: &mut AdminClient, action: &str| {
        client.get(&format!("/audit?action={action}")).await.json()["events"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(actions(&mut root, "account.enable_totp").await, 1);
    assert_eq!(actions(&mut root, "account.disable_totp").await, 1);
}

async fn superuser_removes_totp_with_the_password(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let mut operator = backoffice.operator("zoe", "operator", &["acme"]).await;
    set_up(&backoffice, &mut operator, PASSWORD).await;
    assert_refused(&operator.send(Method::DELETE, "/operators/zoe/totp", &[], None).await, 403, "permission_denied");
    let mut root = backoffice.root();
    let token = root.create("/tokens", json!({ "name": "script", "role": "superuser", "expires_in": 600 })).await;
    let mut script = backoffice.admin.client().with_token(token["secret"].as_str().unwrap());
    assert_refused(&script.send(Method::DELETE, "/operators/zoe/totp", &[], None).await, 403, "permission_denied");
    backoffice.advance_seconds(300);
    assert_refused(&root.send(Method::DELETE, "/operators/zoe/totp", &[], None).await, 403, "password_required");
    assert_refused(&sign_in(&backoffice.admin, "zoe", PASSWORD, None).await, 401, "code_required");
    assert_eq!(root.post("/sign-in/proof", json!({ "password": ROOT_PASSWORD })).await.status, 204);
    assert_eq!(root.send(Method::DELETE, "/operators/zoe/totp", &[], None).await.status, 204);
    assert_eq!(sign_in(&backoffice.admin, "zoe", PASSWORD, None).await.status, 200);
    assert_eq!(root.get("/operators/zoe").await.json()["totp_at"], Value::Null);
    let entry = root.get("/audit?action=operator.disable_totp").await.json()["events"][0].clone();
    assert_eq!((&entry["operator"], &entry["subject"]), (&json!("root"), &json!("zoe")), "{entry}");
}

async fn required_totp_must_be_set_up_first(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let mut root = backoffice.root();
    let token = root.create("/tokens", json!({ "name": "script", "role": "superuser", "expires_in": 600 })).await;
    backoffice.operator("zoe", "operator", &["acme"]).await;
    let records = Arc::clone(backoffice.admin.records());
    let strict = AdminUnderTest::start_with_totp(backoffice.store.clone(), records, RequireTotp::Superusers).await;

    let mut client = strict.client();
    let signed_in = client.post("/sign-in", json!({ "name": "root", "password": ROOT_PASSWORD })).await;
    assert_eq!((signed_in.status.as_u16(), &signed_in.json()["totp"]), (200, &json!("required")));
    assert_eq!(client.get("/sign-in").await.json()["totp"], "required");
    for path in ["/queues", "/operators", "/audit", "/tokens", "/stats/stream", "/settings"] {
        assert_refused(&client.get(path).await, 403, "totp_setup_required");
    }
    assert_refused(&client.post("/tenants", json!({ "id": "b", "name": "B" })).await, 403, "totp_setup_required");
    let proof = client.post("/sign-in/proof", json!({ "password": ROOT_PASSWORD })).await;
    assert_refused(&proof, 403, "totp_setup_required");

    let mut script = strict.client().with_token(token["secret"].as_str().unwrap());
    assert_eq!(script.get("/queues").await.status, 200, "tokens are not affected");
    let mut operator = strict.client();
    operator.sign_in("zoe", PASSWORD).await;
    assert_eq!(operator.get("/queues").await.status, 200, "not a superuser");
    assert_eq!(operator.get("/sign-in").await.json()["totp"], "off");

    set_up(&backoffice, &mut client, ROOT_PASSWORD).await;
    assert_eq!(client.get("/queues").await.status, 200);
    assert_eq!(client.send(Method::DELETE, "/sign-in/totp", &[], None).await.status, 204);
    assert_refused(&client.get("/queues").await, 403, "totp_setup_required");
    assert_eq!(client.send(Method::DELETE, "/sign-in", &[], None).await.status, 204, "signing out works");
}

async fn reset_operator_keeps_role_and_tokens_but_no_totp(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let mut zoe = backoffice.operator("zoe", "operator", &["acme"]).await;
    set_up(&backoffice, &mut zoe, PASSWORD).await;
    let token = zoe
        .create("/tokens", json!({ "name": "script", "role": "viewer", "tenants": ["acme"], "expires_in": 600 }))
        .await;
    let mut script = backoffice.admin.client().with_token(token["secret"].as_str().unwrap());
    let records = backoffice.admin.records();
    let reset = |role| OperatorReset::new("zoe", "a new password", role, Vec::new()).unwrap();
    assert_eq!(reset_operator(&**records, &reset(None)).await.unwrap(), Role::Operator);
    assert_eq!(sign_in(&backoffice.admin, "zoe", "a new password", None).await.status, 200);
    assert_eq!(script.get("/queues").await.status, 200, "the token is still valid");
    let audit = backoffice.root().get("/audit").await.json();
    let changes =
        &audit["events"].as_array().unwrap().iter().find(|it| it["action"] == "operator.update").unwrap()["changes"];
    let fields: Vec<_> = changes.as_array().unwrap().iter().map(|it| it["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["totp", "password"], "{changes}");

    assert_eq!(reset_operator(&**records, &reset(Some(Role::Viewer))).await.unwrap(), Role::Viewer);
    assert_eq!(backoffice.root().get("/operators").await.json()["operators"][1]["role"], "viewer");
    let unknown = OperatorReset::new("zeo", "a new password", None, Vec::new()).unwrap();
    assert!(matches!(reset_operator(&**records, &unknown).await, Err(OperatorResetError::Unknown)));
}

async fn last_superuser_keeps_the_role(backoffice: Backoffice) {
    let tenants = vec!["acme".parse().unwrap()];
    let reset = OperatorReset::new("root", "a new password", Some(Role::Viewer), tenants).unwrap();
    let refused = reset_operator(&**backoffice.admin.records(), &reset).await;
    assert!(matches!(refused, Err(OperatorResetError::LastSuperuser)));
    assert_eq!(sign_in(&backoffice.admin, "root", ROOT_PASSWORD, None).await.status, 200);
}

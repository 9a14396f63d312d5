//! Signing in, and how sign-ins and tokens end.

use http::Method;
use serde_json::json;
use vestibule_admin::NewOperator;
use vestibule_records::DocumentKind;

use super::backoffice::{Backoffice, PASSWORD, on_memory};

on_memory! {
    sign_in_cookie_is_http_only_and_same_site,
    cookie_writes_require_the_request_header,
    wrong_passwords_are_throttled,
    failed_sign_ins_do_not_lock_out_known_addresses,
    sign_in_expires_when_idle_or_after_twelve_hours,
    changed_password_ends_other_sign_ins,
    password_reset_by_a_superuser_ends_all_sign_ins,
    removed_operator_loses_sign_ins_and_tokens,
    the_last_superuser_stays,
    cookies_of_other_pages_do_not_replace_the_sign_in,
    sign_out_is_not_undone_by_a_concurrent_request,
    expired_tokens_do_not_count_and_others_are_limited,
    tenants_of_an_operator_exist,
    wrong_passwords_for_a_change_are_audited,
    rejected_password_is_not_echoed,
    token_cannot_exceed_its_creator,
    token_use_is_recorded_once_a_minute,
    first_superuser_is_created_once,
    managing_operators_needs_a_confirmed_password,
    token_never_manages_operators,
    settings_token_is_limited_to_settings,
    concurrent_removal_keeps_one_superuser,
    operators_behind_one_address_do_not_lock_each_other_out,
}

async fn sign_in_cookie_is_http_only_and_same_site(backoffice: Backoffice) {
    let mut client = backoffice.admin.client();
    let body = json!({ "name": "root", "password": "correct horse battery" });
    let plain = client.post("/sign-in", body.clone()).await;
    let cookie = plain.header("set-cookie").unwrap();
    assert!(cookie.starts_with("vestibule_admin="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict"), "{cookie}");
    let secure = client.send(Method::POST, "/sign-in", &[("x-forwarded-proto", "https")], Some(body)).await;
    let cookie = secure.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-vestibule_admin="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure"), "{cookie}");
    let who = client.get("/sign-in").await.json();
    assert_eq!((&who["operator"], &who["role"], &who["tenants"]), (&json!("root"), &json!("superuser"), &json!(null)));
    assert_eq!(who["ends_at"], backoffice.now() + 43_200);
    let secret = client.visitor().cookie("vestibule_admin").unwrap().to_owned();
    assert_eq!(client.send(Method::DELETE, "/sign-in", &[], None).await.status, 204);
    assert_eq!(client.visitor().cookie("vestibule_admin"), None);
    client.visitor().set_cookie("vestibule_admin", &secret);
    assert_eq!(client.get("/queues").await.code(), "not_signed_in", "the sign-in is invalid");
    assert_eq!(client.get("/sign-in").await.json(), json!(null));
}

#[tokio::test]
async fn redis_has_no_sign_in_cookie() {
    let backoffice = Backoffice::redis().await;
    let secret = backoffice.root().visitor().cookie("vestibule_admin").unwrap().to_owned();
    let keys = backoffice.redis.as_ref().unwrap().command(&["KEYS", "*"]).await;
    let keys: Vec<&str> = keys.array().iter().map(vestibule_tests::Value::text).collect();
    assert!(keys.iter().any(|key| key.contains("sign-in")), "{keys:?}");
    assert!(!keys.iter().any(|key| key.contains(&secret)), "only its hash is kept");
}

async fn cookies_of_other_pages_do_not_replace_the_sign_in(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let mut zoe = backoffice.operator("zoe", "operator", &["acme"]).await;
    let of_zoe = zoe.visitor().cookie("vestibule_admin").unwrap().to_owned();
    let mut root = backoffice.root();
    let of_root = root.visitor().cookie("vestibule_admin").unwrap().to_owned();
    let who = async |cookies: String, scheme: &str| {
        let mut client = backoffice.admin.client().with_header("cookie", &cookies);
        client.send(Method::GET, "/sign-in", &[("x-forwarded-proto", scheme)], None).await.json()["operator"].clone()
    };
    let tossed = format!("vestibule_admin=x; vestibule_admin={of_root}");
    assert_eq!(who(tossed, "http").await, "root", "one that is no sign-in hides none");
    let over_https = format!("vestibule_admin={of_zoe}; __Host-vestibule_admin={of_root}");
    assert_eq!(who(over_https, "https").await, "root", "only this host can set that cookie");
    assert_eq!(who(format!("vestibule_admin={of_zoe}"), "https").await, json!(null));
}

async fn sign_out_is_not_undone_by_a_concurrent_request(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let mut zoe = backoffice.operator("zoe", "operator", &["acme"]).await;
    let (mut other, secret) = (zoe.clone(), zoe.visitor().cookie("vestibule_admin").unwrap().to_owned());
    // The password is verified while the other tab signs out.
    let (proof, signed_out) = tokio::join!(zoe.post("/sign-in/proof", json!({ "password": PASSWORD })), async {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        other.send(Method::DELETE, "/sign-in", &[], None).await
    });
    assert_eq!(signed_out.status, 204);
    assert!([204, 401].contains(&proof.status.as_u16()), "{}", proof.text());
    zoe.visitor().set_cookie("vestibule_admin", &secret);
    assert_eq!(zoe.get("/sign-in").await.json(), json!(null));
}

async fn expired_tokens_do_not_count_and_others_are_limited(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let mut zoe = backoffice.operator("zoe", "operator", &["acme"]).await;
    let token = json!({ "name": "x", "role": "viewer", "tenants": ["acme"], "expires_in": 60 });
    for _ in 0..95 {
        zoe.create("/tokens", token.clone()).await;
    }
    let mut concurrent = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (mut zoe, token) = (zoe.clone(), token.clone());
        concurrent.spawn(async move { zoe.post("/tokens", token).await.status });
    }
    let created = concurrent.join_all().await.into_iter().filter(|status| *status == 201).count();
    let count = zoe.get("/tokens").await.json()["tokens"].as_array().unwrap().len();
    assert!(count == 95 + created && created <= 5, "{created} created, {count} in all");
    for _ in count..100 {
        zoe.create("/tokens", token.clone()).await;
    }
    let refused = zoe.post("/tokens", token.clone()).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (409, "limit_reached".to_owned()));
    let mut root = backoffice.root();
    root.create("/tokens", token.clone()).await;
    backoffice.advance_seconds(61);
    zoe.create("/tokens", token).await;
    assert_eq!(root.get("/tokens").await.json()["tokens"].as_array().unwrap().len(), 1, "the others have expired");
}

async fn wrong_passwords_for_a_change_are_audited(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let mut zoe = backoffice.operator("zoe", "operator", &["acme"]).await;
    let wrong = json!({ "current": "this is not it", "new": "another donkey charger" });
    assert_eq!(zoe.send(Method::PUT, "/sign-in/password", &[], Some(wrong)).await.status, 422);
    let events = backoffice.root().get("/audit?action=account.change_password_failed").await.json();
    assert_eq!(events["events"][0]["operator"], "zoe", "{events}");
}

async fn tenants_of_an_operator_exist(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let mut root = backoffice.root();
    let zoe = json!({ "name": "zoe", "password": PASSWORD, "role": "viewer", "tenants": ["acme", "blue"] });
    let refused = root.post("/operators", zoe).await;
    assert_eq!(refused.wrong_fields(), ["tenants[1]: is not a tenant: \"blue\""]);
    backoffice.operator("ben", "viewer", &["acme"]).await;
    let refused = root.patch("/operators/ben", json!({ "tenants": ["blue"] })).await;
    assert_eq!(refused.wrong_fields(), ["tenants[0]: is not a tenant: \"blue\""]);
}

async fn cookie_writes_require_the_request_header(backoffice: Backoffice) {
    let mut root = backoffice.root();
    let cookie = format!("vestibule_admin={}", root.visitor().cookie("vestibule_admin").unwrap());
    let post =
        || http::Request::post("/api/v1/tenants").header("content-type", "application/json").header("cookie", &cookie);
    let mut other = vestibule_tests::Visitor::new(backoffice.admin.address(), "admin.example.com");
    let body = json!({ "id": "acme", "name": "Acme" }).to_string();
    let refused = other.request(post(), body.clone()).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (403, "no_request_header".to_owned()));
    assert_eq!(refused.header("access-control-allow-origin"), None);
    let preflight = http::Request::options("/api/v1/tenants").header("origin", "https://evil.example");
    let preflight = preflight.header("access-control-request-headers", "x-vestibule-request");
    let answer = other.request(preflight, "").await;
    assert!(answer.headers.keys().all(|name| !name.as_str().starts_with("access-control")), "{:?}", answer.headers);
    let get = http::Request::get("/api/v1/tenants").header("cookie", &cookie);
    assert_eq!(other.request(get, "").await.status, 200, "looking needs none");
    assert_eq!(other.request(post().header("x-vestibule-request", "1"), body).await.status, 201);
}

async fn wrong_passwords_are_throttled(backoffice: Backoffice) {
    let mut client = backoffice.admin.client();
    let wrong = |name: &str| json!({ "name": name, "password": "this is not it" });
    let known = client.post("/sign-in", wrong("root")).await;
    let unknown = client.post("/sign-in", wrong("nobody")).await;
    assert_eq!((known.status, known.text()), (unknown.status, unknown.text()), "it does not tell who there is");
    for _ in 0..5 {
        assert_eq!(client.post("/sign-in", wrong("root")).await.status, 401);
    }
    let right = json!({ "name": "root", "password": "correct horse battery" });
    let slowed = client.post("/sign-in", right.clone()).await;
    assert_eq!((slowed.status.as_u16(), slowed.header("retry-after")), (429, Some("1")), "the right one too");
    backoffice.advance_seconds(1);
    assert_eq!(client.post("/sign-in", right).await.status, 200, "and a second later it is in");
    for _ in 0..5 {
        assert_eq!(client.post("/sign-in", wrong("root")).await.status, 401, "what failed before is forgotten");
    }
}

async fn failed_sign_ins_do_not_lock_out_known_addresses(backoffice: Backoffice) {
    let from = |address: &str| backoffice.admin.client().with_header("x-forwarded-for", address);
    let right = json!({ "name": "root", "password": "correct horse battery" });
    assert_eq!(from("192.0.2.1").post("/sign-in", right.clone()).await.status, 200);
    for stranger in 0..21 {
        let mut client = from(&format!("198.51.100.{stranger}"));
        let status = client.post("/sign-in", json!({ "name": "root", "password": "this is not it" })).await.status;
        assert_eq!(status, 401);
    }
    assert_eq!(from("203.0.113.7").post("/sign-in", right.clone()).await.status, 429);
    assert_eq!(from("192.0.2.1").post("/sign-in", right).await.status, 200);
}

async fn sign_in_expires_when_idle_or_after_twelve_hours(backoffice: Backoffice) {
    let mut idle = backoffice.root();
    let mut busy = backoffice.admin.root().await;
    for _ in 0..12 {
        backoffice.advance_seconds(3540);
        assert_eq!(busy.get("/queues").await.status, 200);
    }
    assert_eq!(idle.get("/queues").await.status, 401);
    backoffice.advance_seconds(719);
    assert_eq!(busy.get("/queues").await.status, 200);
    backoffice.advance_seconds(1);
    assert_eq!(busy.get("/queues").await.status, 401, "twelve hours are over");
}

async fn changed_password_ends_other_sign_ins(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let mut one = backoffice.operator("zoe", "operator", &["acme"]).await;
    let mut other = backoffice.admin.client();
    other.sign_in("zoe", PASSWORD).await;
    backoffice.advance_seconds(1);
    let put = async |client: &mut vestibule_tests::AdminClient, current: &str, new: &str| {
        client.send(Method::PUT, "/sign-in/password", &[], Some(json!({ "current": current, "new": new }))).await
    };
    assert_eq!(put(&mut one, "not the password", "a new password").await.wrong_fields().len(), 1);
    assert_eq!(put(&mut one, PASSWORD, "short").await.wrong_fields().len(), 1);
    assert_eq!(put(&mut one, PASSWORD, "a new password").await.status, 204);
    assert_eq!(one.get("/queues").await.status, 200, "with the cookie that came along");
    assert_eq!(other.get("/queues").await.code(), "credential_invalid");
    let mut again = backoffice.admin.client();
    assert_eq!(again.post("/sign-in", json!({ "name": "zoe", "password": PASSWORD })).await.status, 401);
    again.sign_in("zoe", "a new password").await;
}

async fn password_reset_by_a_superuser_ends_all_sign_ins(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let mut operator = backoffice.operator("zoe", "operator", &["acme"]).await;
    backoffice.advance_seconds(1);
    assert_eq!(backoffice.root().patch("/operators/zoe", json!({ "password": "a new password" })).await.status, 200);
    assert_eq!(operator.get("/queues").await.code(), "credential_invalid");
}

async fn removed_operator_loses_sign_ins_and_tokens(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let mut operator = backoffice.operator("zoe", "operator", &["acme"]).await;
    let token = json!({ "name": "x", "role": "operator", "tenants": ["acme"], "expires_in": 600 });
    let token = operator.create("/tokens", token).await["secret"].as_str().unwrap().to_owned();
    let mut script = backoffice.admin.client().with_token(&token);
    assert_eq!(script.get("/queues").await.status, 200);
    let mut root = backoffice.root();
    assert_eq!(root.confirmed(Method::DELETE, "/operators/zoe", None).await.status, 204);
    backoffice.advance_seconds(1);
    let again = json!({ "name": "zoe", "password": PASSWORD, "role": "operator", "tenants": ["acme"] });
    root.create("/operators", again).await;
    assert_eq!(operator.get("/queues").await.code(), "credential_invalid", "the name is somebody else's now");
    assert_eq!(script.get("/queues").await.code(), "credential_invalid");
    assert_eq!(root.get("/tokens").await.json(), json!({ "tokens": [] }));
}

async fn the_last_superuser_stays(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let mut root = backoffice.root();
    for answer in [
        root.send(Method::DELETE, "/operators/root", &[], None).await,
        root.patch("/operators/root", json!({ "role": "viewer", "tenants": ["acme"] })).await,
    ] {
        assert_eq!((answer.status.as_u16(), answer.code()), (409, "last_superuser".to_owned()), "{}", answer.text());
    }
    root.create("/operators", json!({ "name": "second", "password": PASSWORD, "role": "superuser" })).await;
    assert_eq!(root.patch("/operators/root", json!({ "role": "viewer", "tenants": ["acme"] })).await.status, 200);
    assert_eq!(root.get("/operators").await.status, 403, "at once");
}

async fn rejected_password_is_not_echoed(backoffice: Backoffice) {
    let mut root = backoffice.root();
    let short = json!({ "name": "zoe", "password": "s3cret", "role": "superuser" });
    let refused = root.post("/operators", short).await;
    assert_eq!(refused.wrong_fields(), ["password: must be 12 to 256 characters"]);
    let long = "s3cret".repeat(100);
    let mut texts = vec![refused.text().to_owned()];
    texts.push(root.patch("/operators/root", json!({ "password": long })).await.text().to_owned());
    texts.push(root.post("/sign-in", json!({ "name": "root", "password": long })).await.text().to_owned());
    let new = json!({ "current": long, "new": "s3cret" });
    texts.push(root.send(Method::PUT, "/sign-in/password", &[], Some(new)).await.text().to_owned());
    assert!(texts.iter().all(|text| text.contains("must be") && !text.contains("s3cret")), "{texts:?}");
}

async fn token_cannot_exceed_its_creator(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.tenant("blue").await;
    let mut operator = backoffice.operator("zoe", "operator", &["acme"]).await;
    let more = json!({ "name": "x", "role": "superuser", "expires_in": 600 });
    assert_eq!(operator.post("/tokens", more).await.wrong_fields(), ["role: exceeds your own role"]);
    let others = json!({ "name": "x", "role": "viewer", "tenants": ["acme", "blue"], "expires_in": 600 });
    assert_eq!(
        operator.post("/tokens", others).await.wrong_fields(),
        ["tenants[1]: is not a tenant that you have access to: \"blue\""]
    );
    let long = json!({ "name": "x", "role": "viewer", "tenants": ["acme"], "expires_in": 40_000_000 });
    assert!(
        operator.post("/tokens", long).await.wrong_fields()[0]
            .starts_with("expires_in: must be a whole number from 60 to")
    );
    let wrong = json!({ "name": "", "role": "king", "tenant": "acme" });
    assert_eq!(operator.post("/tokens", wrong).await.wrong_fields().len(), 4);
}

async fn token_use_is_recorded_once_a_minute(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let mut root = backoffice.root();
    let made = json!({ "name": "x", "role": "viewer", "tenants": ["acme"], "expires_in": 600 });
    let made = root.create("/tokens", made).await;
    assert_eq!(made["token"]["used_at"], json!(null));
    let id = made["token"]["id"].as_str().unwrap();
    let mut script = backoffice.admin.client().with_token(made["secret"].as_str().unwrap());
    let revision = async || {
        let kept = backoffice.admin.records().get_document(DocumentKind::Tokens, id).await.unwrap().unwrap();
        kept.revision
    };
    assert_eq!(revision().await, 1);
    let mut used = async || {
        assert_eq!(script.get("/queues").await.status, 200);
        root.get("/tokens").await.json()["tokens"][0]["used_at"].as_u64().unwrap()
    };
    let first = backoffice.now();
    assert_eq!(used().await, first);
    backoffice.advance_seconds(59);
    assert_eq!((used().await, revision().await), (first, 2), "it is not written with every request");
    backoffice.advance_seconds(1);
    assert_eq!((used().await, revision().await), (first + 60, 3));
}

async fn first_superuser_is_created_once(backoffice: Backoffice) {
    let records = backoffice.admin.records();
    let eve: NewOperator = "eve:a long password".parse().unwrap();
    assert!(!vestibule_admin::bootstrap(&**records, &eve).await.unwrap());
    assert_eq!(backoffice.root().get("/operators/eve").await.status, 404);
    for wrong in ["", "root", "root:short", "Root:a long password", ":a long password"] {
        let error = wrong.parse::<NewOperator>().unwrap_err().to_string();
        assert!(error.starts_with("must be name:password"), "{error}");
    }
}

async fn managing_operators_needs_a_confirmed_password(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.advance_seconds(300);
    let mut root = backoffice.root();
    let operator = json!({ "name": "zoe", "password": PASSWORD, "role": "viewer", "tenants": ["acme"] });
    let refused = root.post("/operators", operator.clone()).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (403, "password_required".to_owned()), "{}", refused.text());
    assert_eq!(root.patch("/operators/root", json!({ "password": PASSWORD })).await.code(), "password_required");
    assert_eq!(root.send(Method::DELETE, "/operators/root", &[], None).await.code(), "password_required");
    assert_eq!(root.get("/operators").await.status, 200, "looking needs none");
    let wrong = root.post("/sign-in/proof", json!({ "password": "this is not it" })).await;
    assert_eq!(wrong.wrong_fields(), ["password: is not the password of this operator"]);
    assert_eq!(root.post("/operators", operator.clone()).await.status, 403);
    let proof = root.post("/sign-in/proof", json!({ "password": "correct horse battery" })).await;
    assert_eq!(proof.status, 204, "{}", proof.text());
    assert_eq!(root.post("/operators", operator).await.status, 201);
}

async fn token_never_manages_operators(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let token = json!({ "name": "script", "role": "superuser", "expires_in": 600 });
    let token = backoffice.root().create("/tokens", token).await;
    let mut script = backoffice.admin.client().with_token(token["secret"].as_str().unwrap());
    let eve = json!({ "name": "eve", "password": PASSWORD, "role": "superuser" });
    for refused in [
        script.post("/operators", eve).await,
        script.patch("/operators/root", json!({ "password": PASSWORD })).await,
        script.send(Method::DELETE, "/operators/root", &[], None).await,
        script.post("/sign-in/proof", json!({ "password": "correct horse battery" })).await,
    ] {
        assert_eq!(
            (refused.status.as_u16(), refused.code()),
            (403, "permission_denied".to_owned()),
            "{}",
            refused.text()
        );
    }
}

async fn settings_token_is_limited_to_settings(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let token = json!({ "name": "apply", "role": "superuser", "only": "settings", "expires_in": 600 });
    let token = backoffice.root().create("/tokens", token).await;
    assert_eq!(token["token"]["only"], "settings");
    let mut script = backoffice.admin.client().with_token(token["secret"].as_str().unwrap());
    assert_eq!(script.get("/settings").await.status, 200);
    assert_eq!(script.get("/sign-in").await.json()["role"], "superuser");
    let document = json!({ "tenants": [{ "id": "blue", "name": "Blue" }], "queues": [] });
    assert_eq!(script.confirmed(Method::POST, "/settings", Some(document)).await.status, 200);
    for path in ["/queues", "/operators", "/tokens", "/audit", "/tenants", "/settings/x"] {
        assert_ne!(script.get(path).await.status, 200, "{path}");
    }
    assert_eq!(script.post("/tenants", json!({ "id": "coral", "name": "Coral" })).await.code(), "permission_denied");
    let wrong = json!({ "name": "x", "role": "viewer", "tenants": ["acme"], "only": "all", "expires_in": 600 });
    assert_eq!(backoffice.root().post("/tokens", wrong).await.wrong_fields().len(), 1);
}

async fn concurrent_removal_keeps_one_superuser(backoffice: Backoffice) {
    let mut desks = vec![backoffice.root()];
    for name in ["ada", "bea", "cleo"] {
        desks.push(backoffice.operator(name, "superuser", &[]).await);
    }
    let victims = ["ada", "bea", "cleo", "root"];
    let mut asked = Vec::new();
    for (client, victim) in desks.iter_mut().zip(victims) {
        let answer = client.send(Method::DELETE, &format!("/operators/{victim}"), &[], None).await;
        asked.push(answer.confirmation());
    }
    let removals = desks.iter_mut().zip(victims).zip(&asked).map(async |((client, victim), token)| {
        let confirm = [("x-vestibule-confirm", token.as_str())];
        client.send(Method::DELETE, &format!("/operators/{victim}"), &confirm, None).await.status.as_u16()
    });
    let removed = futures_util::future::join_all(removals).await;
    assert!(removed.iter().filter(|status| **status == 204).count() < 4, "{removed:?}");
    assert!(vestibule_admin::has_superuser(&**backoffice.admin.records()).await.unwrap());
}

async fn operators_behind_one_address_do_not_lock_each_other_out(backoffice: Backoffice) {
    let client = backoffice.admin.client().with_header("x-forwarded-for", "192.0.2.1");
    let right = json!({ "name": "root", "password": "correct horse battery" });
    for _ in 0..33 {
        assert_eq!(client.clone().post("/sign-in", right.clone()).await.status, 200);
    }
}

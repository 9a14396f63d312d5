//! Signing in through an identity provider, a real one on loopback.

use std::sync::Arc;

use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{Method, Request};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use vestibule_admin::RequireTotp;
use vestibule_core::{Clock as _, ManualClock, SystemClock};
use vestibule_store_memory::{MemoryRecords, MemoryStore};
use vestibule_tests::{AdminClient, AdminUnderTest, IdentityProvider, Redis, TestResponse};

use super::backoffice::{PASSWORD, redis_store};

/// A backoffice with an identity provider. Its time begins now, as the provider goes by the machine's clock.
struct Front {
    provider: IdentityProvider,
    admin: AdminUnderTest,
    clock: Arc<ManualClock>,
    root: AdminClient,
    _redis: Option<Redis>,
}

impl Front {
    async fn memory() -> Self {
        let clock = Arc::new(ManualClock::at(SystemClock::new().now()));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        Self::over(store, Arc::new(MemoryRecords::new(clock.clone())), clock, None).await
    }

    async fn redis() -> Self {
        let (redis, clock) = (Redis::start().await, Arc::new(ManualClock::at(SystemClock::new().now())));
        let store = redis_store(&redis, &clock);
        Self::over(store.clone(), store, clock, Some(redis)).await
    }

    async fn over(
        store: Arc<dyn vestibule_core::Store>,
        records: Arc<dyn vestibule_records::RecordStore>,
        clock: Arc<ManualClock>,
        redis: Option<Redis>,
    ) -> Self {
        let person =
            |sub: &str, email: &str, verified: bool| json!({ "sub": sub, "email": email, "email_verified": verified });
        let people = [
            person("1", "Zoe@Example.com", true),
            person("2", "eve@example.com", true),
            person("3", "zoe@example.com", false),
        ];
        let provider = IdentityProvider::start(&people).await;
        let admin = AdminUnderTest::start_with_provider(store, records, &provider.issuer()).await;
        let mut root = admin.root().await;
        root.create("/tenants", json!({ "id": "acme", "name": "Acme" })).await;
        let operator = json!({ "name": "zoe@example.com", "role": "operator", "tenants": ["acme"] });
        let made = root.create("/operators", operator).await;
        assert_eq!(made["password_at"], json!(null));
        Self { provider, admin, clock, root, _redis: redis }
    }

    /// Begins, and signs somebody in at the provider. Returns where the browser is sent to then.
    async fn proven(&self, client: &mut AdminClient, sub: &str) -> String {
        self.provider.sign_in(&begun(client).await, sub).await
    }
}

/// Begins to sign in. Returns the provider's page.
async fn begun(client: &mut AdminClient) -> String {
    let answer = client.get("/sign-in/oidc").await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    answer.header("location").unwrap().to_owned()
}

/// Follows an address of the backoffice.
async fn follow(client: &mut AdminClient, address: &str) -> TestResponse {
    let uri: http::Uri = address.parse().unwrap();
    client.visitor().request(Request::get(uri.path_and_query().unwrap().as_str()), "").await
}

fn assert_refused(answer: &TestResponse, problem: &str) {
    assert_eq!(answer.status, 303, "{}", answer.text());
    assert_eq!(answer.header("location"), Some(format!("/sign-in?problem={problem}").as_str()));
    let cookies: Vec<_> = answer.headers.get_all("set-cookie").iter().collect();
    assert!(cookies.iter().all(|cookie| !cookie.to_str().unwrap().starts_with("vestibule_admin")), "{cookies:?}");
}

async fn signs_in(front: Front) {
    let mut client = front.admin.client();
    let ways = client.get("/sign-in/methods").await.json();
    assert_eq!(ways["oidc"], json!({ "name": "Single sign-on", "start": "/api/v1/sign-in/oidc" }));
    let callback = front.proven(&mut client, "1").await;
    let attempt = client.visitor().cookie("vestibule_sign_in").unwrap().to_owned();
    let answer = follow(&mut client, &callback).await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, Some("/")), "{}", answer.text());
    assert_eq!(client.visitor().cookie("vestibule_sign_in"), None, "an attempt ends with it");
    let who = client.get("/sign-in").await.json();
    assert_eq!((&who["operator"], &who["role"]), (&json!("zoe@example.com"), &json!("operator")));
    let refused = client.post("/tenants", json!({ "id": "blue", "name": "Blue" })).await;
    assert_eq!(refused.code(), "permission_denied", "what they may is said here");
    let log = front.root.clone().get("/audit").await.json();
    let signed_in = log["events"].as_array().unwrap().iter().find(|entry| entry["operator"] == "zoe@example.com");
    let signed_in = signed_in.unwrap_or_else(|| panic!("{log}"));
    assert_eq!(
        (&signed_in["action"], &signed_in["changes"][0]["field"]),
        (&json!("account.sign_in"), &json!("provider"))
    );
    for cookie in ["", &attempt] {
        client.visitor().set_cookie("vestibule_sign_in", cookie);
        assert_refused(&follow(&mut client, &callback).await, "attempt_expired");
    }
    assert_eq!(client.get("/sign-in").await.status, 200, "an address that was used changes nothing");
}

#[tokio::test]
async fn superuser_without_password_signs_in_to_manage_operators() {
    let front = Front::memory().await;
    let mut root = front.root.clone();
    assert_eq!(root.patch("/operators/zoe@example.com", json!({ "role": "superuser" })).await.status, 200);
    let mut zoe = front.admin.client();
    let callback = front.proven(&mut zoe, "1").await;
    follow(&mut zoe, &callback).await;
    let ben = json!({ "name": "ben", "role": "viewer", "tenants": ["acme"] });
    assert_eq!(zoe.post("/operators", ben).await.status, 201);
    front.clock.advance(300 * 1_000_000);
    zoe.patch("/operators/ben", json!({ "role": "operator" })).await.assert_code("sign_in_again");
    zoe.post("/sign-in/proof", json!({ "password": "this is not it" })).await.assert_code("sign_in_again");
}

#[tokio::test]
async fn oidc_identity_signs_in_as_the_operator() {
    signs_in(Front::memory().await).await;
}

#[tokio::test]
async fn oidc_sign_in_works_over_redis() {
    signs_in(Front::redis().await).await;
}

#[tokio::test]
async fn auth_request_cookie_is_http_only_with_a_narrow_path() {
    let front = Front::memory().await;
    let mut client = front.admin.client();
    let plain = client.get("/sign-in/oidc").await;
    let cookie = plain.header("set-cookie").unwrap();
    assert!(cookie.starts_with("vestibule_sign_in="), "{cookie}");
    assert!(cookie.ends_with("; Path=/api/v1/sign-in/oidc; Max-Age=600; HttpOnly; SameSite=Lax"), "{cookie}");
    let location = plain.header("location").unwrap();
    for part in ["code_challenge_method=S256", "response_type=code", "state=", "nonce=", "scope=openid+email+profile"] {
        assert!(location.contains(part), "{location}");
    }
    let secret = client.visitor().cookie("vestibule_sign_in").unwrap().to_owned();
    assert!(!location.contains(&secret), "{location}");
    let secure = client.send(Method::GET, "/sign-in/oidc", &[("x-forwarded-proto", "https")], None).await;
    let cookie = secure.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-vestibule_sign_in="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure"), "{cookie}");
}

#[tokio::test]
async fn unknown_or_unverified_identity_is_rejected() {
    let front = Front::memory().await;
    let mut client = front.admin.client();
    for (sub, problem) in [("2", "unknown_operator"), ("3", "missing_claim")] {
        let callback = front.proven(&mut client, sub).await;
        assert_refused(&follow(&mut client, &callback).await, problem);
    }
    let log = front.root.clone().get("/audit").await.json();
    let refused = log["events"].as_array().unwrap().iter().find(|it| it["action"] == "account.sign_in_rejected");
    assert_eq!(refused.unwrap_or_else(|| panic!("{log}"))["subject"], "eve@example.com");
    let page = begun(&mut client).await;
    let declined = front.provider.decline(&page).await;
    // This provider leaves the state out where somebody declines.
    let state = page.split('&').find(|part| part.starts_with("state=")).unwrap();
    assert_refused(&follow(&mut client, &format!("{declined}&{state}")).await, "provider_refused");
}

#[tokio::test]
async fn callback_with_another_state_is_rejected() {
    let front = Front::memory().await;
    let mut client = front.admin.client();
    let callback = front.proven(&mut client, "1").await;
    let other = front.proven(&mut front.admin.client(), "1").await;
    assert_refused(&follow(&mut front.admin.client(), &callback).await, "attempt_expired");
    assert_refused(&follow(&mut client, &other).await, "wrong_state");
    assert_refused(&follow(&mut client, &callback).await, "attempt_expired");

    let page = begun(&mut client).await;
    let nonce = page.split('&').find(|part| part.starts_with("nonce=")).unwrap();
    let replayed = front.provider.sign_in(&page.replace(nonce, "nonce=of-another-attempt"), "1").await;
    assert_refused(&follow(&mut client, &replayed).await, "invalid_id_token");
}

/// A provider that records what it is asked for tokens with, and gives none.
async fn recording() -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    let document = json!({
        "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"), "jwks_uri": format!("{issuer}/keys"),
        "token_endpoint": format!("{issuer}/token"), "response_types_supported": ["code"],
        "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["RS256"],
    });
    let asked = Arc::new(Mutex::new(String::new()));
    let recorded = asked.clone();
    let refuse = async move |body: String| {
        *recorded.lock() = body;
        (http::StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_grant" })))
    };
    let router = Router::new()
        .route("/.well-known/openid-configuration", get(async move || Json(document)))
        .route("/keys", get(async || Json(json!({ "keys": [] }))))
        .route("/token", post(refuse));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (issuer, asked)
}

#[tokio::test]
async fn code_exchange_needs_the_pkce_verifier() {
    let (issuer, asked) = recording().await;
    let clock = Arc::new(ManualClock::at(SystemClock::new().now()));
    let (store, records) = (Arc::new(MemoryStore::new(clock.clone())), Arc::new(MemoryRecords::new(clock)));
    let admin = AdminUnderTest::start_with_provider(store, records, &issuer).await;
    let mut client = admin.client();
    let page = begun(&mut client).await;
    let part = |text: &str, name: &str| {
        let all = text.split(['?', '&']).find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
        all.unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
    };
    let state = part(&page, "state");
    let answer = client.get(&format!("/sign-in/oidc/callback?code=c0de&state={state}")).await;
    assert_refused(&answer, "provider_refused");
    let asked = asked.lock().clone();
    assert_eq!(
        (part(&asked, "grant_type"), part(&asked, "code")),
        ("authorization_code".to_owned(), "c0de".to_owned())
    );
    let verifier = part(&asked, "code_verifier");
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
    assert_eq!(part(&page, "code_challenge"), challenge);
    assert!(!page.contains(&verifier), "{page}");
}

#[tokio::test]
async fn expired_auth_request_is_rejected() {
    let front = Front::memory().await;
    let mut client = front.admin.client();
    let callback = front.proven(&mut client, "1").await;
    front.clock.advance((front.provider.proof_holds() + 60) * 1_000_000);
    assert_refused(&follow(&mut client, &callback).await, "invalid_id_token");
    let callback = front.proven(&mut client, "1").await;
    front.clock.advance(600 * 1_000_000);
    assert_refused(&follow(&mut client, &callback).await, "attempt_expired");
}

#[tokio::test]
async fn password_sign_in_works_while_oidc_is_unavailable() {
    let mut front = Front::memory().await;
    let mut client = front.admin.client();
    let callback = front.proven(&mut client, "1").await;
    front.provider.kill();
    assert_refused(&follow(&mut client, &callback).await, "provider_unavailable");
    assert_refused(&client.get("/sign-in/oidc").await, "provider_unavailable");
    let wrong = json!({ "name": "zoe@example.com", "password": PASSWORD });
    assert_eq!(client.post("/sign-in", wrong).await.code(), "wrong_password", "she has none");
    let set = front.root.patch("/operators/zoe@example.com", json!({ "password": PASSWORD })).await;
    assert!(set.json()["password_at"].is_u64(), "{}", set.text());
    client.sign_in("zoe@example.com", PASSWORD).await;
}

#[tokio::test]
async fn sign_on_starts_of_one_address_are_limited() {
    let mut front = Front::memory().await;
    front.provider.kill();
    let mut client = front.admin.client().with_header("x-forwarded-for", "192.0.2.1");
    for _ in 0..301 {
        assert_refused(&client.get("/sign-in/oidc").await, "provider_unavailable");
    }
    assert_refused(&client.get("/sign-in/oidc").await, "rate_limited");
    let mut other = front.admin.client().with_header("x-forwarded-for", "192.0.2.2");
    assert_refused(&other.get("/sign-in/oidc").await, "provider_unavailable");
}

#[tokio::test]
async fn unconfigured_oidc_is_not_offered() {
    let backoffice = super::backoffice::Backoffice::memory().await;
    let mut client = backoffice.admin.client();
    assert_eq!(client.get("/sign-in/methods").await.json(), json!({ "password": true, "oidc": Value::Null }));
    assert_refused(&client.get("/sign-in/oidc").await, "oidc_not_configured");
    assert_refused(&client.get("/sign-in/oidc/callback?code=a&state=b").await, "oidc_not_configured");
    let nobody = json!({ "name": "zoe", "role": "superuser" });
    let refused = backoffice.root().post("/operators", nobody).await;
    assert_eq!(refused.wrong_fields(), ["password: is required: 12 to 256 characters"]);
}

#[tokio::test]
async fn required_totp_does_not_apply_to_single_sign_on() {
    let front = Front::memory().await;
    let mut root = front.root.clone();
    assert_eq!(root.patch("/operators/zoe@example.com", json!({ "password": PASSWORD })).await.status, 200);
    let store = Arc::new(MemoryStore::new(front.clock.clone()));
    let (records, issuer) = (Arc::clone(front.admin.records()), front.provider.issuer());
    let strict = AdminUnderTest::start_with_provider_and_totp(store, records, &issuer, RequireTotp::Everybody).await;
    let mut by_password = strict.client();
    by_password.sign_in("zoe@example.com", PASSWORD).await;
    assert_eq!(by_password.get("/queues").await.code(), "totp_setup_required");
    let mut client = strict.client();
    let callback = front.proven(&mut client, "1").await;
    assert_eq!(follow(&mut client, &callback).await.status, 303);
    assert_eq!(client.get("/queues").await.status, 200);
    assert_eq!(client.get("/sign-in").await.json()["totp"], "off");
}

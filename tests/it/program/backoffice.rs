//! The backoffice of `vestibule serve --admin-listen`, and `vestibule admin create-user`.

use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::json;
use vestibule_tests::{AdminClient, IdentityProvider, Origin, Program, Redis, Visitor, free_port, wait_until};

use super::{RunningGate, run, settings};

const FIRST: &str = "root:correct horse battery";

/// One process over a store: a gate, and the backoffice beside it.
struct Both {
    gate: String,
    admin: String,
    program: Program,
}

impl Both {
    async fn start(store: &str, origin: &Origin, first: Option<&str>) -> Self {
        let (gate, admin) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
        let url = origin.url();
        let mut arguments = vec!["serve", "--listen", &gate, "--admin-listen", &admin, "--state", "state"];
        arguments.extend(["--store", store, "--origin", &url, "--quota", "1"]);
        let launch = Program::vestibule(&arguments);
        let launch = match first {
            Some(first) => launch.env("VESTIBULE_ADMIN_BOOTSTRAP", first),
            None => launch,
        };
        let mut program = launch.start();
        program.until_healthy(&gate).await;
        Self { gate, admin, program }
    }

    async fn stands(&self) -> Visitor {
        let mut visitor = Visitor::new(&self.gate, "www.example.com");
        visitor.navigate("/").await;
        visitor
    }
}

/// The first superuser, signed in as soon as there is one.
async fn signed_in(admin: &str) -> AdminClient {
    let mut client = AdminClient::at(admin);
    let root = json!({ "name": "root", "password": "correct horse battery" });
    wait_until("the first superuser can sign in", Duration::from_secs(15), async || {
        client.clone().post("/sign-in", root.clone()).await.status == 200
    })
    .await;
    client.sign_in("root", "correct horse battery").await;
    client
}

/// Of two who came, the second waits until the quota is raised to 2 by `client`.
async fn assert_quota_change_applies(gate: &Both, client: &mut AdminClient) {
    let (_first, mut second) = (gate.stands().await, gate.stands().await);
    assert_eq!(second.status("default").await.json()["state"], "waiting");
    let answer = client.patch("/queues/default", json!({ "quota": 2 })).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(second.status("default").await.json()["state"], "admitted");
}

#[tokio::test]
async fn backoffice_changes_apply_to_its_gate() {
    let origin = Origin::start();
    let both = Both::start("memory", &origin, Some(FIRST)).await;
    let mut client = signed_in(&both.admin).await;
    assert_quota_change_applies(&both, &mut client).await;
    assert!(both.program.log().contains("when this process ends"), "{}", both.program.log());
    assert!(!both.program.log().contains("correct horse"), "{}", both.program.log());
}

#[tokio::test]
async fn confirmed_changes_survive_a_crash() {
    let origin = Origin::start();
    let mut both = Both::start("memory", &origin, Some(FIRST)).await;
    let mut client = signed_in(&both.admin).await;
    let queue = json!({ "id": "gig", "tenant": "default", "hosts": ["gig.example.com"], "quota": 1, "handover": { "kind": "check" } });
    client.create("/queues", queue).await;
    assert_eq!(client.patch("/queues/default/controls", json!({ "quota": 7 })).await.status, 200);
    both.program.restart();
    both.program.until_healthy(&both.gate).await;

    let mut client = signed_in(&both.admin).await;
    assert_eq!(client.get("/queues/default").await.json()["quota"], 7);
    let epoch = client.get("/queues/gig").await.json()["epoch"].as_u64().unwrap();
    client.confirmed(Method::POST, "/queues/gig/reset", None).await;
    client.confirmed(Method::DELETE, "/queues/default", None).await;
    both.program.restart();
    both.program.until_healthy(&both.gate).await;

    let mut client = signed_in(&both.admin).await;
    assert!(client.get("/queues/gig").await.json()["epoch"].as_u64().unwrap() > epoch);
    assert_eq!(client.get("/queues/default").await.status, 404);
}

#[tokio::test]
async fn backoffice_changes_apply_to_other_processes() {
    let (origin, redis) = (Origin::start(), Redis::start().await);
    let one = Both::start(&redis.url(), &origin, Some(FIRST)).await;
    let other = Both::start(&redis.url(), &origin, None).await;
    let mut client = signed_in(&one.admin).await;
    assert_quota_change_applies(&other, &mut client).await;
}

#[tokio::test]
async fn missing_superuser_is_logged() {
    let (origin, redis) = (Origin::start(), Redis::start().await);
    let mut both = Both::start(&redis.url(), &origin, None).await;
    both.program.until_logged("vestibule admin create-user").await;
    let answer = AdminClient::at(&both.admin).get("/queues").await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn invalid_bootstrap_stops_startup_without_printing_it() {
    let arguments = ["serve", "--origin", "http://127.0.0.1:1", "--listen", "127.0.0.1:0", "--state", "state"];
    let bootstrap = ["--admin-listen", "127.0.0.1:0", "--admin-bootstrap", "root:short"];
    let (status, said) = run(&[&arguments[..], &bootstrap].concat()).await;
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("--admin-bootstrap must be name:password"), "{said}");
    assert!(!said.contains("root:short"), "{said}");
}

#[tokio::test]
async fn gate_proxies_are_not_trusted_by_the_backoffice() {
    let (gate, admin) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
    let arguments =
        ["serve", "--listen", &gate, "--admin-listen", &admin, "--state", "state", "--trusted-proxies", "1"];
    let mut program = Program::vestibule(&[&arguments[..], &["--origin", "http://127.0.0.1:1"]].concat()).start();
    program.until_healthy(&gate).await;
    let mut tries = 0..100;
    let refused = loop {
        let number = tries.next().expect("the address is throttled in the end");
        let mut client = AdminClient::at(&admin).with_header("x-forwarded-for", &format!("203.0.113.{number}"));
        let wrong = json!({ "name": format!("name-{number}"), "password": "a wrong long password" });
        match client.post("/sign-in", wrong).await.status {
            StatusCode::UNAUTHORIZED => {}
            status => break status,
        }
    };
    assert_eq!(refused, StatusCode::TOO_MANY_REQUESTS);
}

/// `vestibule admin create-user`, with a password in the environment.
async fn create(redis: &Redis, password: &str, more: &[&str]) -> (bool, String) {
    let url = redis.url();
    let mut arguments = vec!["admin", "create-user", "--store", &url];
    arguments.extend(more);
    let mut program = Program::vestibule(&arguments).env("VESTIBULE_ADMIN_PASSWORD", password).start();
    let status = program.end().await;
    (status.success(), program.log())
}

#[tokio::test]
async fn create_user_creates_and_replaces_operators() {
    let (origin, redis) = (Origin::start(), Redis::start().await);
    assert_eq!(create(&redis, "a first long password", &["zoe"]).await, (true, "Created superuser zoe\n".into()));
    let (made, said) = create(&redis, "a second long password", &["zoe"]).await;
    assert!(!made && said.contains("--replace"), "{said}");
    let both = Both::start(&redis.url(), &origin, None).await;
    let mut client = AdminClient::at(&both.admin);
    client.sign_in("zoe", "a first long password").await;
    let replaced = create(&redis, "a second long password", &["zoe", "--replace"]).await;
    assert_eq!(replaced, (true, "Replaced superuser zoe\n".into()));
    assert_eq!(client.get("/queues").await.status, StatusCode::UNAUTHORIZED, "the old sign-in is over");
    client.sign_in("zoe", "a second long password").await;
    let (made, said) = create(&redis, "a third long password", &["ben", "--role", "viewer", "--tenant", "acme"]).await;
    assert!(!made && said.contains("--tenant \"acme\" does not exist; the tenants in the store are default"), "{said}");
    let mut ben = AdminClient::at(&both.admin);
    assert!(create(&redis, "a third long password", &["ben", "--role", "viewer", "--tenant", "default"]).await.0);
    let replaced = create(&redis, "a fourth long password", &["ben", "--replace"]).await;
    assert_eq!(replaced, (true, "Replaced viewer ben\n".into()));
    let (made, said) = create(&redis, "a fourth long password", &["bne", "--replace"]).await;
    assert!(!made && said.contains("\"bne\" does not exist"), "{said}");
    ben.sign_in("ben", "a fourth long password").await;
    assert_eq!(ben.patch("/queues/default", json!({ "quota": 2 })).await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn create_user_reports_invalid_input() {
    let redis = Redis::start().await;
    for (arguments, password, why) in [
        (&["Zoe"][..], "a long enough password", "the name must be"),
        (&["zoe"], "short", "the password must be 12 to 256"),
        (&["zoe", "--role", "viewer"], "a long enough password", "need at least one tenant"),
        (&["zoe", "--tenant", "acme"], "a long enough password", "a superuser has access to all"),
        (&["zoe", "--role", "viewer", "--tenant", "acme"], "a long enough password", "the store has no tenants"),
        (&["zoe", "--role", "king"], "a long enough password", "superuser, operator, viewer"),
    ] {
        let (made, said) = create(&redis, password, arguments).await;
        assert!(!made && said.contains(why), "{arguments:?}: {said}");
        assert!(!said.contains(password), "{said}");
    }
}

#[tokio::test]
async fn backoffice_changes_survive_a_restart_with_the_same_file() {
    let redis = Redis::start().await;
    let (url, admin) = (redis.url(), format!("127.0.0.1:{}", free_port()));
    let more = ["--store", &url, "--admin-listen", &admin];
    let mut served =
        RunningGate::launched("quota = 5", &more, |launch| launch.env("VESTIBULE_ADMIN_BOOTSTRAP", FIRST)).await;
    let mut client = signed_in(&admin).await;
    assert_eq!(client.patch("/queues/tour", json!({ "quota": 7 })).await.status, 200);
    assert_eq!(client.patch("/tenants/acme", json!({ "name": "Acme Live" })).await.status, 200);

    served.program.restart();
    served.program.until_healthy(&served.address).await;
    served.program.until_logged("kept the changes of the backoffice").await;
    assert_eq!(client.get("/queues/tour").await.json()["quota"], 7);
    assert_eq!(client.get("/tenants/acme").await.json()["name"], "Acme Live");

    served.file.write(&settings(&served.origin.url(), "quota = 9"));
    served.program.signal("HUP");
    wait_until("the file's quota is in force", Duration::from_secs(15), async || {
        client.clone().get("/queues/tour").await.json()["quota"] == 9
    })
    .await;
    assert_eq!(client.get("/tenants/acme").await.json()["name"], "Acme Live", "the file still says what it said of it");
}

/// A gate, and a backoffice whose flags name a provider.
fn with_provider((gate, admin): (&str, &str), origin: &Origin, provider: &[&str]) -> Program {
    let (url, own) = (origin.url(), format!("http://{admin}"));
    let mut arguments = vec!["serve", "--listen", gate, "--admin-listen", admin, "--state", "state"];
    arguments.extend(["--origin", &url, "--admin-url", &own]);
    arguments.extend(["--oidc-client-id", "vestibule", "--oidc-client-secret", "s3cret", "--oidc-name", "Our own"]);
    arguments.extend(provider);
    Program::vestibule(&arguments).env("VESTIBULE_ADMIN_BOOTSTRAP", FIRST).start()
}

/// Goes to the provider and signs in there. Returns where the backoffice then sends the browser.
async fn through(provider: &IdentityProvider, client: &mut AdminClient) -> String {
    let begun = client.get("/sign-in/oidc").await;
    let address = begun.header("location").unwrap().to_owned();
    if !address.starts_with("http") {
        return address;
    }
    let uri: http::Uri = provider.sign_in(&address, "1").await.parse().unwrap();
    let back = http::Request::get(uri.path_and_query().unwrap().as_str());
    client.visitor().request(back, "").await.header("location").unwrap().to_owned()
}

#[tokio::test]
async fn oidc_provider_with_a_private_ca() {
    let (origin, people) = (Origin::start(), [json!({ "sub": "1", "preferred_username": "zoe" })]);
    let provider = IdentityProvider::start(&people).await;
    let (issuer, ca) = (provider.tls_issuer(), provider.authority());
    let claim = ["--oidc-claim", "preferred_username", "--oidc-issuer", &issuer];
    let knows = ["--oidc-ca", ca.to_str().unwrap()];
    for (flags, leads) in [(&[][..], "/sign-in?problem=provider_unavailable"), (&knows, "/")] {
        let (gate, admin) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
        let mut program = with_provider((&gate, &admin), &origin, &[&claim, flags].concat());
        program.until_healthy(&gate).await;
        let mut root = signed_in(&admin).await;
        let operator = json!({ "name": "zoe", "role": "superuser" });
        assert_eq!(root.post("/operators", operator).await.status, 201, "{}", program.log());
        let mut client = AdminClient::at(&admin);
        assert_eq!(client.get("/sign-in/methods").await.json()["oidc"]["name"], "Our own");
        assert_eq!(through(&provider, &mut client).await, leads, "{}", program.log());
        assert!(!program.log().contains("s3cret"), "{}", program.log());
    }
}

#[tokio::test]
async fn invalid_oidc_flags_are_reported() {
    let (origin, issuer) = (Origin::start(), ["--oidc-issuer", "https://id.example.com"]);
    for (flags, said) in [
        (&["--oidc-ca", "/nothing.pem"][..], "--oidc-ca (VESTIBULE_OIDC_CA) cannot be read"),
        (&["--oidc-claim", "groups"], "--oidc-claim (VESTIBULE_OIDC_CLAIM) must be email"),
    ] {
        let mut program = with_provider(("127.0.0.1:0", "127.0.0.1:0"), &origin, &[&issuer, flags].concat());
        assert!(!program.end().await.success());
        assert!(program.log().contains(said), "{}", program.log());
    }
}

#[tokio::test]
async fn oidc_flags_without_an_issuer_are_reported() {
    let origin = Origin::start();
    let (gate, admin) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
    let mut program = with_provider((&gate, &admin), &origin, &["--oidc-claim", "email"]);
    program.until_healthy(&gate).await;
    assert!(program.log().contains("these options have no effect without --oidc-issuer"), "{}", program.log());
    assert!(program.log().contains("--oidc-client-id"), "{}", program.log());
}

#[tokio::test]
async fn settings_file_changes_are_audited() {
    let (origin, redis) = (Origin::start(), Redis::start().await);
    let both = Both::start(&redis.url(), &origin, Some(FIRST)).await;
    let mut client = signed_in(&both.admin).await;
    let found = client.get("/audit?action=queue.create").await.json();
    let event = &found["events"][0];
    assert_eq!((&event["queue"], &event["via"]), (&json!("default"), &json!("settings_file")), "{found}");
    let found = client.get("/audit?action=operator.create").await.json();
    assert_eq!(found["events"][0]["via"], "command_line", "{found}");
    let log = both.program.log();
    let line = log.lines().find(|line| line.contains(r#"action="queue.create""#)).unwrap_or_else(|| panic!("{log}"));
    assert!(line.contains(r#"outcome="done" via="settings_file""#) && !line.contains(" request="), "{line}");
    assert!(log.contains(r#"operator created operator=root role="superuser""#), "{log}");
}

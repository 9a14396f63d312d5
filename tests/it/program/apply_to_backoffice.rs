//! `vestibule apply --to https://..`: through the API of a backoffice.

use serde_json::{Value, json};
use vestibule_tests::Program;

use super::{SettingsFile, settings};
use crate::admin::backoffice::Backoffice;

/// A backoffice, an API token of its superuser, and a file.
struct AdminClient {
    backoffice: Backoffice,
    token: String,
    file: SettingsFile,
}

impl AdminClient {
    async fn with(lines: &str) -> Self {
        Self::of(Backoffice::memory().await, lines).await
    }

    async fn of(backoffice: Backoffice, lines: &str) -> Self {
        let token = json!({ "name": "apply", "role": "superuser", "expires_in": 600 });
        let token = backoffice.root().create("/tokens", token).await["secret"].as_str().unwrap().to_owned();
        Self { backoffice, token, file: SettingsFile::of(&settings("https://www.example.com", lines)) }
    }

    async fn apply(&self, more: &[&str]) -> (i32, String) {
        let url = format!("http://{}/", self.backoffice.admin.address());
        self.apply_to(&url, &self.token, more).await
    }

    async fn apply_to(&self, url: &str, token: &str, more: &[&str]) -> (i32, String) {
        let shown = self.file.shown();
        let mut arguments = vec!["apply", &shown, "--to", url];
        arguments.extend(more);
        let mut program = Program::vestibule(&arguments).env("VESTIBULE_ADMIN_TOKEN", token).start();
        let status = program.end().await;
        assert!(!program.log().contains("vestibule_"), "tokens are not printed: {}", program.log());
        (status.code().unwrap_or(-1), program.log())
    }

    fn change(&self, lines: &str) {
        self.file.write(&settings("https://www.example.com", lines));
    }

    async fn tour(&self) -> Value {
        self.backoffice.root().get("/queues/tour").await.json()
    }
}

#[tokio::test]
async fn apply_shows_the_plan_and_writes_it_once() {
    let client = AdminClient::with("quota = 500").await;
    for flag in ["--plan", "--dry-run"] {
        let (status, said) = client.apply(&[flag]).await;
        assert_eq!(status, 0, "{said}");
        assert!(said.contains("+ tenant acme") && said.contains("+ queue tour"), "{said}");
        assert_eq!(client.backoffice.root().get("/queues/tour").await.status, 404, "{flag}");
    }
    let (status, said) = client.apply(&["--yes"]).await;
    assert_eq!((status, said.contains("queue tour: written")), (0, true), "{said}");
    assert_eq!(client.tour().await["quota"], 500);
    let (status, said) = client.apply(&["--yes"]).await;
    assert_eq!((status, said.contains("No changes.")), (0, true), "{said}");

    client.change("quota = 700");
    let (status, said) = client.apply(&["--yes"]).await;
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("~ queue tour") && said.contains("quota: 500 -> 700"), "{said}");
    let log = client.backoffice.root().get("/audit?action=settings.import&limit=1").await.json();
    assert_eq!(log["events"][0]["operator"], "root", "{log}");
    assert!(log["events"][0]["token"].is_string(), "{log}");
}

#[tokio::test]
async fn settings_that_cannot_be_read_are_replaced() {
    let client = AdminClient::of(Backoffice::redis().await, "quota = 1").await;
    assert_eq!(client.apply(&["--yes"]).await.0, 0);
    let redis = client.backoffice.redis.as_ref().unwrap();
    redis.command(&["HSET", "vestibule:{tour}:settings", "rules", "nonsense"]).await;
    let (status, said) = client.apply(&["--yes"]).await;
    assert_eq!(status, 0, "{said}");
    assert!(
        said.contains("  ~ queue tour\n      replaces settings that cannot be read\nqueue tour: written"),
        "{said}"
    );
    assert_eq!(client.tour().await["quota"], 1);
    let (status, said) = client.apply(&["--yes"]).await;
    assert_eq!((status, said.contains("No changes.")), (0, true), "{said}");
}

#[tokio::test]
async fn queues_not_in_the_file_stay_unless_remove_is_given() {
    let client = AdminClient::with("quota = 1").await;
    client.apply(&["--yes"]).await;
    client.backoffice.queue("old", "acme", json!({})).await;
    client.change("quota = 2");
    let (_, said) = client.apply(&["--yes"]).await;
    assert!(said.contains("queue old is not in the file and stays"), "{said}");
    assert_eq!(client.backoffice.root().get("/queues/old").await.status, 200);
    let (status, said) = client.apply(&["--yes", "--remove"]).await;
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("- queue old, with all its visitors"), "{said}");
    assert_eq!(client.backoffice.root().get("/queues/old").await.status, 404);
}

#[tokio::test]
async fn rejected_import_writes_nothing() {
    let client = AdminClient::with("quota = 1").await;
    let at = format!("http://{}", client.backoffice.admin.address());
    let (status, said) = client.apply(&[]).await;
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("stdin is not a terminal"), "{said}");

    client.backoffice.tenant("blue").await;
    let mut operator = client.backoffice.operator("zoe", "operator", &["blue"]).await;
    let weak = json!({ "name": "weak", "role": "operator", "tenants": ["blue"], "expires_in": 600 });
    let weak = operator.create("/tokens", weak).await["secret"].as_str().unwrap().to_owned();
    for (to, token, says) in [
        (at.as_str(), weak.as_str(), "This requires the role superuser"),
        (at.as_str(), "nonsense", "This sign-in or token is invalid"),
        (at.as_str(), "", "VESTIBULE_ADMIN_TOKEN is not set"),
        ("http://127.0.0.1:9", "nonsense", "cannot reach the backoffice"),
        ("http://admin.example.com", "nonsense", "--to must be an https:// URL"),
        ("https://user:word@admin.example.com", "nonsense", "--to must be an https:// URL"),
    ] {
        let (status, said) = client.apply_to(to, token, &["--yes"]).await;
        assert_eq!((status, said.contains(says)), (1, true), "{to}: {said}");
    }
    client.backoffice.tenant("acme").await;
    client.backoffice.queue("a", "acme", json!({ "hosts": ["tickets.example.com"] })).await;
    let (status, said) = client.apply(&["--yes"]).await;
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("the backoffice rejected the file:\n  tour.hosts[0]: never applies"), "{said}");
    assert_eq!(client.backoffice.root().get("/queues/tour").await.status, 404);
}

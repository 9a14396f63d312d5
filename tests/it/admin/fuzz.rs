//! The API as its document describes it, asked at random by schemathesis: no answer is a 5xx, and every answer is one that
//! the document describes, by status, content type and body.
//!
//! The seed is always the same, so that a failure can be had again; `VESTIBULE_FUZZ_SEED` takes another one, and
//! `VESTIBULE_FUZZ_SECONDS` more time.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;
use vestibule_themes::{ThemeVersions, ThemesAddress};

use super::backoffice::Backoffice;
use super::dead_letters::{enqueue_text, failed, run_jobs};
use super::job_queues::job_queue;

/// Default duration of the requests, and the additional time until the test fails.
const SECONDS: &str = "25";
const TIMEOUT: Duration = Duration::from_mins(2);
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";

/// A backoffice with something in it, and a folder for what the program writes.
struct Target {
    backoffice: Backoffice,
    folder: TempDir,
    token: String,
}

impl Target {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let themes = folder.path().join("themes");
        std::fs::create_dir(&themes).unwrap();
        let backoffice = Backoffice::memory_with_themes(ThemeVersions::at(ThemesAddress::Folder(themes))).await;
        backoffice.tenant("acme").await;
        backoffice.queue("tour", "acme", json!({ "quota": 1 })).await;
        backoffice.operator("victim", "viewer", &["acme"]).await;
        let token = json!({ "name": "fuzz", "role": "superuser", "expires_in": 86_400 });
        let token = backoffice.root().create("/tokens", token).await["secret"].as_str().unwrap().to_owned();
        Self { backoffice, folder, token }
    }

    /// Names of what there is, for the variables of paths.
    async fn names(&self) -> [(&'static str, String); 10] {
        let session = self.backoffice.join("tour", 3).await[2].support_code();
        let mut root = self.backoffice.root();
        let theme = json!({ "files": [{ "path": "a.txt", "base64": "YQ==" }] });
        let version = root.create("/themes/acme/versions", theme).await;
        let spare = json!({ "name": "spare", "role": "viewer", "tenants": ["acme"], "expires_in": 600 });
        let spare = root.create("/tokens", spare).await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        [
            ("queue", "tour".to_owned()),
            ("tenant", "acme".to_owned()),
            ("operator", "victim".to_owned()),
            ("theme", "acme".to_owned()),
            ("session", session),
            ("version", text(&version["id"])),
            ("token", text(&spare["token"]["id"])),
            ("job_queue", "mails".to_owned()),
            ("schedule", "nightly".to_owned()),
            ("job", self.dead_letter().await),
        ]
    }

    /// The ID of a dead letter in a job queue with a schedule, webhook events and a waiting job.
    async fn dead_letter(&self) -> String {
        let mut root = self.backoffice.root();
        let schedule = json!({ "id": "nightly", "cron": "@daily", "payload": "{}" });
        let more = json!({ "schedules": [schedule], "webhook": { "event_types": ["queue.reset"] } });
        root.create("/job-queues", job_queue("mails", &more)).await;
        let dead = enqueue_text(&mut root, "mails/jobs", "one").await;
        run_jobs(&self.backoffice, "mails", vec![failed(410)]).await;
        enqueue_text(&mut root, "mails/jobs", "two").await;
        dead
    }

    /// Asks at random, these variables of paths given, for all operations but some.
    async fn ask(&self, names: &[(&str, String)], but: &[&str]) {
        let parameters = names.iter().map(|(name, value)| format!("\"path.{name}\" = {}\n", json!(value)));
        let config = format!("[parameters]\n{}", parameters.collect::<String>());
        std::fs::write(self.folder.path().join("schemathesis.toml"), config).unwrap();
        let variable = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
        let (seed, seconds) = (variable("VESTIBULE_FUZZ_SEED", "7"), variable("VESTIBULE_FUZZ_SECONDS", SECONDS));
        let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.tools/python/bin/schemathesis"));
        command
            .args(["run", &format!("http://{}/api/v1/openapi.json", self.backoffice.admin.address())])
            .args(["--header", &format!("Authorization: Bearer {}", self.token)])
            .args(["--generation-with-security-parameters", "false", "--generation-database", "none"])
            .args(["--phases", "coverage,fuzzing", "--checks", CHECKS, "--seed", &seed, "--max-time", &seconds])
            .args(["--request-timeout", "10", "--no-color"])
            // An answer without an end has a test of its own.
            .args(["--exclude-operation-id", "stream_stats"])
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        for operation in but {
            command.args(["--exclude-operation-id", operation]);
        }
        let limit = TIMEOUT + Duration::from_secs(seconds.parse().unwrap());
        let output = timeout(limit, command.output()).await.expect("it ends in time").expect("schemathesis starts");
        let said = String::from_utf8_lossy(&output.stdout);
        println!("{said}");
        assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    }

    /// It was somebody who may, to the end.
    async fn assert_asked_to_the_end(&self) {
        let mut script = self.backoffice.admin.client().with_token(&self.token);
        let answer = script.get("/tokens").await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

#[tokio::test]
async fn responses_for_missing_objects_conform_to_openapi() {
    let target = Target::open().await;
    // It finds the names of what there is by itself, that of its own token as well.
    target.ask(&[], &["revoke_token"]).await;
    target.assert_asked_to_the_end().await;
}

#[tokio::test]
async fn responses_conform_to_openapi() {
    let target = Target::open().await;
    let names = target.names().await;
    target.ask(&names, &[]).await;
    target.assert_asked_to_the_end().await;
}

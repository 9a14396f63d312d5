//! The program over a bucket, found by the usual environment of AWS.

use std::time::Duration;

use base64::Engine as _;
use http::StatusCode;
use tokio::time::sleep;
use vestibule_tests::{Program, ProgramOptions, S3, TestResponse, Visitor, free_port, wait_until};

use super::saying;
use crate::gate_fixture::TIMEOUT;

const PAGE: &str = "themes/acme/queue.html";
const ASSETS: &str = "/_vestibule/theme/tour";

/// A settings file with one queue, which admits nobody.
const SETTINGS: &str = "[[tenants]]\nid = \"acme\"\nname = \"Acme\"\n[[queues]]\nid = \"tour\"\ntenant = \"acme\"\nquota = 0\n\
                        hosts = [\"tickets.example.com\"]\ntheme = \"acme\"\nhandover = { kind = \"check\" }\n";

/// A program whose only queue admits nobody.
struct RunningGate {
    s3: S3,
    address: String,
    program: Program,
}

impl RunningGate {
    async fn over(s3: S3) -> Self {
        // Every second is the most often there is.
        Self::with(s3, &["--themes-recheck", "1"]).await
    }

    async fn with(s3: S3, more: &[&str]) -> Self {
        Self::launched(s3, more, |launch| launch).await
    }

    async fn launched(s3: S3, more: &[&str], change: impl FnOnce(ProgramOptions) -> ProgramOptions) -> Self {
        let address = format!("127.0.0.1:{}", free_port());
        let themes = s3.themes("themes/");
        let mut arguments = vec!["serve", "--listen", &address, "--settings", "vestibule.toml", "--state", "state"];
        arguments.extend(["--themes", &themes]);
        arguments.extend(more);
        let program = Program::vestibule(&arguments).file("vestibule.toml", SETTINGS);
        let mut program = change(by_environment(&s3, program)).start();
        program.until_healthy(&address).await;
        Self { s3, address, program }
    }

    async fn page(&self) -> String {
        super::said(Visitor::new(&self.address, "tickets.example.com").navigate("/").await.text())
    }

    async fn until_says(&self, text: &str) {
        wait_until(&format!("the page says {text}"), TIMEOUT, async || self.page().await == text).await;
    }

    async fn asset(&self, path: &str, etag: &str) -> TestResponse {
        let visitor = Visitor::new(&self.address, "tickets.example.com");
        visitor.with_header("if-none-match", etag).fetch(&format!("{ASSETS}/{path}")).await
    }
}

fn by_environment(s3: &S3, launch: ProgramOptions) -> ProgramOptions {
    s3.environment().iter().fold(launch, |launch, (name, value)| launch.env(name, value))
}

#[tokio::test]
async fn gate_reads_the_aws_environment() {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("first")).await;
    let served = RunningGate::over(s3).await;
    served.until_says("first").await;
    served.s3.put(PAGE, saying("second")).await;
    served.until_says("second").await;
}

#[tokio::test]
async fn broken_upload_is_logged_once_with_file_and_line() {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("first")).await;
    let mut served = RunningGate::over(s3).await;
    served.until_says("first").await;
    served.s3.put(PAGE, "{{ script_tags }}\n\n{{ positon }}").await;
    let file = format!("{}/acme/queue.html:3:", served.s3.themes("themes"));
    wait_until("the fault is logged", TIMEOUT, async || {
        served.page().await == "first" && served.program.log().contains(&file)
    })
    .await;
    let looks = served.s3.listings("themes/acme/");
    wait_until("it was looked at again", TIMEOUT, async || {
        served.page().await == "first" && served.s3.listings("themes/acme/") >= looks + 2
    })
    .await;
    served.program.terminate().await;
    let log = served.program.log();
    assert_eq!(log.matches("a theme is invalid").count(), 1, "{log}");
    assert!(log.contains("the last valid version"), "{log}");
}

#[tokio::test]
async fn s3_outage_is_logged_once() {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("first")).await;
    let mut served = RunningGate::over(s3).await;
    served.until_says("first").await;
    served.s3.kill();
    // A look tries twice.
    wait_until("it was looked at three times", TIMEOUT, async || {
        assert_eq!(served.page().await, "first");
        served.s3.refused() > 2 * 3
    })
    .await;
    served.program.terminate().await;
    let log = served.program.log();
    assert_eq!(log.matches("a theme cannot be read").count(), 1, "{log}");
}

#[tokio::test]
async fn assets_are_served_from_a_bucket_as_from_a_folder() {
    let s3 = S3::start().await;
    s3.put("themes/acme/logo.svg", "<svg/>").await;
    s3.put("themes/acme/logo.3f2a9c1b.svg", "<svg/>").await;
    s3.put("themes/acme/unread.svg", "<svg/>").await;
    let mut served = RunningGate::with(s3, &["--themes-recheck", "3600"]).await;
    for path in ["logo.svg", "logo.3f2a9c1b.svg"] {
        wait_until("it is read", TIMEOUT, async || served.asset(path, "\"other\"").await.status == StatusCode::OK)
            .await;
    }
    let logo = served.asset("logo.svg", "\"other\"").await;
    assert_eq!((logo.status, logo.text()), (StatusCode::OK, "<svg/>"));
    assert_eq!(logo.header("content-type"), Some("image/svg+xml"));
    assert_eq!(logo.header("cache-control"), Some("public, max-age=300"));
    let again = served.asset("logo.svg", logo.header("etag").unwrap()).await;
    assert_eq!((again.status, again.body.len()), (StatusCode::NOT_MODIFIED, 0));
    let hashed = served.asset("logo.3f2a9c1b.svg", "\"other\"").await;
    assert_eq!(hashed.header("cache-control"), Some("public, max-age=31536000, immutable"));

    served.s3.kill();
    assert_eq!(served.asset("logo.svg", "\"other\"").await.text(), "<svg/>");
    assert_eq!(served.asset("none.svg", "\"other\"").await.status, StatusCode::NOT_FOUND);
    let away = served.asset("unread.svg", "\"other\"").await;
    assert_eq!((away.status, away.header("cache-control")), (StatusCode::SERVICE_UNAVAILABLE, Some("no-store")));
    assert!(away.header("retry-after").is_some());
}

#[tokio::test]
async fn freeze_does_not_time_out_a_refresh() {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("first")).await;
    let mut served = RunningGate::over(s3).await;
    served.until_says("first").await;
    served.s3.put(PAGE, saying("second")).await;
    served.s3.delay(Duration::from_millis(500));
    let looks = served.s3.listings("themes/acme/");
    wait_until("it is looking", TIMEOUT, async || {
        served.page().await;
        served.s3.listings("themes/acme/") > looks
    })
    .await;
    served.program.signal("STOP");
    // Longer than S3 may ever take.
    sleep(Duration::from_secs(6)).await;
    served.program.signal("CONT");
    served.until_says("second").await;
    served.program.terminate().await;
    let log = served.program.log();
    let others = log.lines().find(|line| line.contains("WARN") && !line.contains("the process was frozen"));
    assert_eq!(others, None, "{log}");
}

#[tokio::test]
async fn credentials_are_never_logged() {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("first")).await;
    let (secret, token) = (s3.secret_key(), "a-token-that-is-nobody-elses-business");
    let launched = |launch: ProgramOptions| launch.env("AWS_SESSION_TOKEN", token);
    let mut served = RunningGate::launched(s3, &["--log", "trace"], launched).await;
    served.until_says("first").await;
    served.program.terminate().await;
    let log = served.program.log();
    assert!(log.contains("TRACE"), "{log}");
    for private in [secret.as_str(), token] {
        assert!(!log.contains(private), "{private} is in the log:\n{log}");
    }
}

#[tokio::test]
async fn invalid_theme_addresses_are_refused() {
    for (themes, words) in [
        ("s3://", "--themes: s3:// has an invalid bucket name"),
        ("s3://A_bucket/x", "--themes: s3://A_bucket/x has an invalid bucket name"),
        ("s3://bucket//x", "has an invalid prefix: no part may be empty"),
        ("https://bucket.s3.amazonaws.com", "must be a folder or s3://bucket/prefix"),
        ("no/such/folder", "--themes: no/such/folder is not a folder"),
    ] {
        let arguments = ["serve", "--settings", "vestibule.toml", "--state", "state", "--themes", themes];
        let mut program = Program::vestibule(&arguments).file("vestibule.toml", SETTINGS).start();
        assert!(!program.end().await.success(), "{themes}");
        assert!(program.log().contains(words), "{themes}: {}", program.log());
    }
}

#[tokio::test]
async fn function_refuses_an_invalid_recheck_time() {
    let key = format!("k1:{}", base64::engine::general_purpose::STANDARD.encode([7; 32]));
    for seconds in ["0", "ten", "3601"] {
        let mut gate = Program::named("gate", &[])
            .env("VESTIBULE_REDIS_URL", "redis://127.0.0.1:1")
            .env("VESTIBULE_TICKET_KEYS", &key)
            .env("VESTIBULE_PASS_KEYS", &key)
            .env("VESTIBULE_THEMES_RECHECK", seconds)
            .start();
        assert!(!gate.end().await.success(), "{seconds}");
        assert!(
            gate.log().contains("VESTIBULE_THEMES_RECHECK must be a whole number from 1 to 3600"),
            "{}",
            gate.log()
        );
    }
}

#[tokio::test]
async fn check_reads_the_bucket() {
    let s3 = S3::start().await;
    let check = async |themes: &str| {
        let launch =
            Program::vestibule(&["check", "vestibule.toml", "--themes", themes]).file("vestibule.toml", SETTINGS);
        let mut program = by_environment(&s3, launch).start();
        (program.end().await.success(), program.log())
    };
    let themes = s3.themes("themes");
    let (good, said) = check(&themes).await;
    assert!(!good && said.contains("theme acme does not exist"), "{said}");
    s3.put(PAGE, saying("first")).await;
    let (good, said) = check(&themes).await;
    assert!(good && !said.contains("error"), "{said}");
    s3.put(PAGE, "{{ script_tags }}\n{% if %}").await;
    let (good, said) = check(&themes).await;
    assert!(!good && said.contains(&format!("{themes}/acme/queue.html:2:")), "{said}");
    let (good, said) = check("s3://no-such-bucket").await;
    assert!(!good && said.contains("NoSuchBucket"), "{said}");
}

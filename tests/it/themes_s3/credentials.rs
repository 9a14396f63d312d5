//! Credentials and signatures of requests to a bucket.

use vestibule_aws::AwsServer;
use vestibule_core::Micros;
use vestibule_tests::{Program, ProgramOptions, S3};
use vestibule_themes::{Draft, ThemeFiles, ThemeVersions, Themes};

use super::{AT_ONCE, NEVER, address, asset, saying, theme, until_says};

const PAGE: &str = "themes/acme/queue.html";

#[tokio::test]
async fn requests_are_signed() {
    let s3 = S3::start().await;
    for path in ["queue.html", "img/logo.svg", "a b+c.css", "café~(1).css"] {
        s3.put(&format!("themes/acme/{path}"), saying(path)).await;
    }
    let server = s3.require_signatures().await;
    let themes = Themes::on_server(server.clone(), address(&s3.themes("themes")), NEVER);
    until_says(&themes, "acme", "queue").await;
    for path in ["img/logo.svg", "a b+c.css", "café~(1).css"] {
        assert!(asset(&themes, "acme", path).await.is_some(), "{path}");
    }
    let versions = ThemeVersions::on_server(server, address(&s3.themes("themes")));
    let files = ThemeFiles::from([("queue.html".to_owned(), saying("published").into())]);
    let draft = Draft::check(files.clone()).await.ok().unwrap();
    for at in 1..3 {
        let created = versions.create(&theme("acme"), &draft, "anna", Micros(at)).await.unwrap();
        versions.activate(&theme("acme"), &created.id, Some(at - 1), "anna", Micros(at)).await.unwrap();
    }
    assert_eq!(versions.live(&theme("acme")).await.unwrap(), Some(files));
}

#[tokio::test]
async fn a_wrong_secret_key_is_reported_without_the_key() {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("acme")).await;
    let server = AwsServer { secret_key: "this-is-another-one".to_owned(), ..s3.require_signatures().await };
    let themes = Themes::on_server(server, address(&s3.themes("themes")), AT_ONCE);
    let said = themes.check(&theme("acme")).await.unwrap_err().to_string();
    assert!(said.contains("S3 answered 403 SignatureDoesNotMatch"), "{said}");
    assert!(!said.contains("this-is-another-one"), "{said}");
}

/// `vestibule check` of a theme, with no AWS configuration but the endpoint: whether it succeeds, and what it says.
async fn check(s3: &S3, change: impl FnOnce(ProgramOptions) -> ProgramOptions) -> (bool, String) {
    let settings = "[[tenants]]\nid = \"acme\"\nname = \"Acme\"\n[[queues]]\nid = \"tour\"\ntenant = \"acme\"\nquota = 1\n\
                    hosts = [\"tickets.example.com\"]\ntheme = \"acme\"\nhandover = { kind = \"check\" }\n";
    let launch = Program::vestibule(&["check", "vestibule.toml", "--themes", &s3.themes("themes")]);
    let launch = launch.file("vestibule.toml", settings).env("HOME", ".").env("AWS_ENDPOINT_URL", &s3.endpoint());
    let mut program = change(launch).start();
    (program.end().await.success(), program.log())
}

#[tokio::test]
async fn a_profile_names_credentials_and_region() {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("acme")).await;
    let server = s3.require_signatures().await;
    let profiles = format!(
        "[other]\naws_access_key_id = x\naws_secret_access_key = y\n\n\
         [gates]\nregion = eu-west-1\naws_access_key_id = {id}\naws_secret_access_key = {secret}\n\n\
         [process]\nregion = eu-west-1\n\
         credential_process = echo '{{\"Version\": 1, \"AccessKeyId\": \"{id}\", \"SecretAccessKey\": \"{secret}\"}}'\n",
        id = server.access_key,
        secret = server.secret_key
    );
    for profile in ["gates", "process"] {
        let (succeeded, log) = check(&s3, |launch| {
            let launch = launch.file("credentials", &profiles).env("AWS_SHARED_CREDENTIALS_FILE", "credentials");
            launch.env("AWS_PROFILE", profile).env("AWS_EC2_METADATA_DISABLED", "true")
        })
        .await;
        assert!(succeeded, "{profile}: {log}");
    }
}

#[tokio::test]
async fn missing_credentials_are_reported() {
    let s3 = S3::start().await;
    let (succeeded, log) = check(&s3, |launch| launch.env("AWS_EC2_METADATA_DISABLED", "true")).await;
    assert!(!succeeded && log.contains("credential"), "{log}");
}

//! The keys to a bucket, where AWS puts them, and what is signed with them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::{Json, Router};
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpListener;
use vestibule_core::Micros;
use vestibule_tests::{Launch, Program, S3};
use vestibule_themes::{Draft, Publisher, S3Server, ThemeFiles, Themes};

use super::{AT_ONCE, NEVER, address, asset, saying, theme, until_says};

const PAGE: &str = "themes/acme/queue.html";

#[tokio::test]
async fn requests_are_signed_as_s3_wants_them() {
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
    let publisher = Publisher::on_server(server, address(&s3.themes("themes")));
    let files = ThemeFiles::from([("queue.html".to_owned(), saying("published").into())]);
    let draft = Draft::check(files.clone()).await.ok().unwrap();
    for at in 1..3 {
        publisher.publish(&theme("acme"), &draft, "anna", Micros(at)).await.unwrap();
    }
    assert_eq!(publisher.live(&theme("acme")).await.unwrap(), Some(files));
}

#[tokio::test]
async fn a_wrong_key_is_told_and_not_repeated() {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("acme")).await;
    let server = S3Server { secret_key: "this-is-another-one".to_owned(), ..s3.require_signatures().await };
    let themes = Themes::on_server(server, address(&s3.themes("themes")), AT_ONCE);
    let said = themes.check(&theme("acme")).await.unwrap_err().to_string();
    assert!(said.contains("S3 answered 403 SignatureDoesNotMatch"), "{said}");
    assert!(!said.contains("this-is-another-one"), "{said}");
}

/// Whoever gives out keys, and what it was asked.
struct KeyGiver {
    address: String,
    asked: Arc<Mutex<Vec<(Uri, HeaderMap)>>>,
}

type Given = (Arc<Mutex<Vec<(Uri, HeaderMap)>>>, Arc<BTreeMap<&'static str, serde_json::Value>>);

impl KeyGiver {
    /// Gives these keys, as a container's agent and as a machine's metadata do.
    async fn of((server, token): (S3Server, String)) -> Self {
        let keys = json!({
            "Code": "Success", "AccessKeyId": server.access_key, "SecretAccessKey": server.secret_key,
            "Token": token, "Expiration": "2100-01-01T00:00:00Z", "LastUpdated": "2026-01-01T00:00:00Z",
        });
        let answers =
            BTreeMap::from([("/keys", keys.clone()), ("/latest/meta-data/iam/security-credentials/gates", keys)]);
        let asked = Arc::<Mutex<Vec<(Uri, HeaderMap)>>>::default();
        let router = Router::new().fallback(give).with_state((Arc::clone(&asked), Arc::new(answers)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|(uri, _)| uri.path().to_owned()).collect()
    }
}

async fn give(State((asked, answers)): State<Given>, uri: Uri, headers: HeaderMap) -> axum::response::Response {
    use axum::response::IntoResponse as _;
    asked.lock().unwrap().push((uri.clone(), headers));
    match uri.path() {
        "/latest/api/token" => "a-session-with-the-metadata".into_response(),
        "/latest/meta-data/iam/security-credentials/" => "gates".into_response(),
        path => Json(answers[path].clone()).into_response(),
    }
}

/// A program that looks at a theme, and knows of AWS only what it is told.
struct Look {
    program: Program,
    _folder: TempDir,
}

impl Look {
    async fn at(s3: &S3, change: impl FnOnce(Launch) -> Launch) -> (bool, String) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("vestibule.toml");
        let settings = "[[tenants]]\nid = \"acme\"\nname = \"Acme\"\n[[queues]]\nid = \"tour\"\ntenant = \"acme\"\nquota = 1\n\
                        hosts = [\"tickets.example.com\"]\ntheme = \"acme\"\nhandover = { kind = \"check\" }\n";
        std::fs::write(&file, settings).unwrap();
        let launch = Program::vestibule(&["check", &file.display().to_string(), "--themes", &s3.themes("themes")]);
        let launch = launch.env("HOME", &folder.path().display().to_string()).env("AWS_REGION", "eu-west-1");
        let launch = launch.env("AWS_ENDPOINT_URL", &s3.endpoint());
        let mut look = Self { program: change(launch).start(), _folder: folder };
        (look.program.end().await.success(), look.program.log())
    }
}

#[tokio::test]
async fn a_container_is_given_its_keys_by_its_agent() {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("acme")).await;
    let agent = KeyGiver::of(s3.require_temporary_keys().await).await;
    let (good, said) = Look::at(&s3, |launch| {
        let launch = launch.env("AWS_CONTAINER_CREDENTIALS_FULL_URI", &format!("{}/keys", agent.address));
        launch.env("AWS_CONTAINER_AUTHORIZATION_TOKEN", "who-may-ask").env("AWS_EC2_METADATA_DISABLED", "true")
    })
    .await;
    assert!(good, "{said}");
    assert_eq!(agent.asked(), ["/keys"]);
    assert_eq!(agent.asked.lock().unwrap()[0].1["authorization"], "who-may-ask");
}

#[tokio::test]
async fn a_machine_s_keys_are_found_in_its_metadata() {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("acme")).await;
    let metadata = KeyGiver::of(s3.require_temporary_keys().await).await;
    let (good, said) = Look::at(&s3, |launch| launch.env("AWS_EC2_METADATA_SERVICE_ENDPOINT", &metadata.address)).await;
    assert!(good, "{said}");
    assert_eq!(metadata.asked().first().map(String::as_str), Some("/latest/api/token"));
    let asked = metadata.asked.lock().unwrap();
    assert_eq!(asked.last().unwrap().1["x-aws-ec2-metadata-token"], "a-session-with-the-metadata");
}

#[tokio::test]
async fn a_profile_s_keys_are_read_from_its_file() {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("acme")).await;
    let server = s3.require_signatures().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("credentials");
    let profile = format!(
        "[other]\naws_access_key_id = x\naws_secret_access_key = y\n\n[gates]\naws_access_key_id = {}\naws_secret_access_key = {}\n",
        server.access_key, server.secret_key
    );
    std::fs::write(&file, profile).unwrap();
    let (good, said) = Look::at(&s3, |launch| {
        let launch = launch.env("AWS_SHARED_CREDENTIALS_FILE", &file.display().to_string());
        launch.env("AWS_PROFILE", "gates").env("AWS_EC2_METADATA_DISABLED", "true")
    })
    .await;
    assert!(good, "{said}");
}

#[tokio::test]
async fn a_token_is_sent_with_the_keys_that_it_belongs_to() {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("acme")).await;
    let (good, said) = Look::at(&s3, |launch| {
        let launch = s3.environment().iter().fold(launch, |launch, (name, value)| launch.env(name, value));
        launch.env("AWS_SESSION_TOKEN", "the-token")
    })
    .await;
    assert!(good, "{said}");
    assert!(s3.headers("x-amz-security-token").iter().all(|token| token == "the-token"));
    assert!(!s3.headers("x-amz-security-token").is_empty());
}

#[tokio::test]
async fn where_there_are_no_keys_the_message_says_where_they_were_looked_for() {
    let s3 = S3::start().await;
    let (good, said) = Look::at(&s3, |launch| launch.env("AWS_EC2_METADATA_DISABLED", "true")).await;
    assert!(!good && said.contains("no credentials for S3: none is set"), "{said}");
    let closed = format!("http://127.0.0.1:{}", vestibule_tests::free_port());
    let (good, said) = Look::at(&s3, |launch| launch.env("AWS_EC2_METADATA_SERVICE_ENDPOINT", &closed)).await;
    assert!(!good && said.contains("the machine's metadata: "), "{said}");
}

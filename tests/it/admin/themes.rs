//! Themes in the API.

use std::io::{Cursor, Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use serde_json::{Value, json};
use tempfile::TempDir;
use vestibule_tests::{AdminClient, GateUnderTest, S3, TestResponse, Visitor};
use vestibule_themes::{BucketAddress, ThemeVersions, ThemesAddress};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use super::backoffice::Backoffice;

const LIVE: &str = "/themes/acme-summer";
const VERSIONS: &str = "/themes/acme-summer/versions";

/// An backoffice with a folder for themes, and an operator of acme.
struct Studio {
    backoffice: Backoffice,
    operator: AdminClient,
    folder: TempDir,
}

impl Studio {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let backoffice =
            Backoffice::memory_with_themes(ThemeVersions::at(ThemesAddress::Folder(folder.path().to_owned()))).await;
        Self::of(backoffice, folder).await
    }

    async fn of(backoffice: Backoffice, folder: TempDir) -> Self {
        let acme = json!({ "id": "acme", "name": "Acme & Sons", "color": "#c2185b", "logo": "logo.svg" });
        backoffice.root().create("/tenants", acme).await;
        backoffice.tenant("blue").await;
        backoffice.queue("tour", "acme", json!({ "theme": "acme-summer", "name": "Summer tour" })).await;
        let operator = backoffice.operator("zoe", "operator", &["acme"]).await;
        Self { backoffice, operator, folder }
    }

    async fn shown(&self) -> String {
        live_page(&ThemeVersions::at(ThemesAddress::Folder(self.folder.path().to_owned()))).await
    }
}

/// The live page of the theme.
async fn live_page(versions: &ThemeVersions) -> String {
    let live = versions.live(&"acme-summer".parse().unwrap()).await.unwrap().unwrap_or_default();
    live.get("queue.html").map_or_else(String::new, |page| String::from_utf8(page.to_vec()).unwrap())
}

/// A page that says a text.
pub(super) fn page(text: &str) -> String {
    format!("<!doctype html><html lang=\"{{{{ lang }}}}\"><h1>{text}</h1>{{{{ heading }}}}{{{{ script_tags }}}}</html>")
}

/// The body of an upload.
pub(super) fn upload(files: &[(&str, &str)]) -> Value {
    let file = |(path, content): &(&str, &str)| json!({ "path": path, "base64": STANDARD.encode(content) });
    json!({ "files": files.iter().map(file).collect::<Vec<_>>() })
}

/// Uploads what must work. Returns the version.
async fn uploaded(client: &mut AdminClient, text: &str) -> String {
    client.create(VERSIONS, upload(&[("queue.html", &page(text))])).await["id"].as_str().unwrap().to_owned()
}

async fn activate(client: &mut AdminClient, version: &str) -> TestResponse {
    client.send(http::Method::POST, &format!("{VERSIONS}/{version}/activate"), &[("if-match", "*")], None).await
}

async fn send_zip(client: &mut AdminClient, path: &str, bytes: Vec<u8>) -> TestResponse {
    let request = Request::post(format!("/api/v1{path}")).header("content-type", "application/zip");
    client.visitor().request(request, bytes).await
}

fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

async fn version_is_previewed_activated_and_rolled_back(mut studio: Studio, shown: impl AsyncFn(&Studio) -> String) {
    let first = uploaded(&mut studio.operator, "First").await;
    let frame = studio.operator.get(&format!("{LIVE}/preview?version={first}")).await;
    assert!(frame.text().contains("<h1>First</h1>"), "{}", frame.text());
    assert!(!shown(&studio).await.contains("First"), "no visitor sees it yet");
    assert_eq!(activate(&mut studio.operator, &first).await.json()["live"], true);
    assert!(shown(&studio).await.contains("First"));

    studio.backoffice.advance_seconds(60);
    let second = uploaded(&mut studio.operator, "Second").await;
    assert_eq!(activate(&mut studio.operator, &second).await.status, 200);
    assert!(shown(&studio).await.contains("Second"));
    let versions = studio.operator.get(VERSIONS).await.json();
    let field_of = |index: usize, field: &str| versions["versions"][index][field].clone();
    assert_eq!(
        (field_of(0, "id"), field_of(0, "live"), field_of(0, "operator")),
        (json!(second), json!(true), json!("zoe"))
    );
    assert_eq!(
        (field_of(1, "id"), field_of(1, "live"), field_of(1, "at")),
        (json!(first), json!(false), json!(studio.backoffice.now() - 60))
    );

    assert_eq!(activate(&mut studio.operator, &first).await.status, 200);
    assert!(shown(&studio).await.contains("First"), "and back again");
    let log = studio.operator.get("/audit?action=theme.").await.json();
    let actions: Vec<_> = log["events"].as_array().unwrap().iter().map(|it| it["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["theme.activate", "theme.activate", "theme.upload", "theme.activate", "theme.upload"]);
    let last = &log["events"][0];
    assert_eq!((&last["subject"], &last["tenant"]), (&json!("acme-summer"), &json!("acme")));
    assert_eq!(last["changes"], json!([{ "field": "live", "from": second, "to": first }]));
}

#[tokio::test]
async fn version_lifecycle_in_a_folder() {
    version_is_previewed_activated_and_rolled_back(Studio::open().await, async |studio| studio.shown().await).await;
}

#[tokio::test]
async fn version_lifecycle_in_a_bucket() {
    let s3 = S3::start().await;
    let ThemesAddress::Bucket(address) = s3.themes("themes").parse::<ThemesAddress>().unwrap() else { unreachable!() };
    let address: BucketAddress = address;
    let backoffice = Backoffice::memory_with_themes(ThemeVersions::on_server(s3.server(), address.clone())).await;
    let studio = Studio::of(backoffice, tempfile::tempdir().unwrap()).await;
    let reader = ThemeVersions::on_server(s3.server(), address);
    version_is_previewed_activated_and_rolled_back(studio, async |_| live_page(&reader).await).await;
}

#[tokio::test]
async fn uploaded_archive_can_be_downloaded() {
    let mut studio = Studio::open().await;
    let text = page("Zipped");
    let files: [(&str, &[u8]); 3] = [
        ("summer/queue.html", text.as_bytes()),
        ("summer/img/a.svg", b"<svg/>"),
        ("__MACOSX/summer/._queue.html", b"x"),
    ];
    let checked = send_zip(&mut studio.operator, &format!("{VERSIONS}?validate=true"), archive(&files)).await;
    assert_eq!((checked.status.as_u16(), checked.json()["files"].clone()), (200, json!(2)), "{}", checked.text());
    assert_eq!(
        studio.operator.get(VERSIONS).await.json(),
        json!({ "revision": 0, "versions": [] }),
        "nothing is stored"
    );
    let version = send_zip(&mut studio.operator, VERSIONS, archive(&files)).await.json();
    let id = version["id"].as_str().unwrap_or_else(|| panic!("{version}"));
    let down = studio.operator.get(&format!("{VERSIONS}/{id}/download")).await;
    assert_eq!(down.header("content-disposition"), Some("attachment; filename=\"acme-summer.zip\""));
    let mut found = ZipArchive::new(Cursor::new(down.body.to_vec())).unwrap();
    let mut page = String::new();
    found.by_name("queue.html").unwrap().read_to_string(&mut page).unwrap();
    assert_eq!((found.len(), page), (2, text));
    let again = send_zip(&mut studio.operator, VERSIONS, down.body.to_vec()).await;
    assert_eq!(again.status, 201, "{}", again.text());
}

#[tokio::test]
async fn invalid_theme_is_rejected_with_file_and_line() {
    let mut studio = Studio::open().await;
    let first = uploaded(&mut studio.operator, "First").await;
    activate(&mut studio.operator, &first).await;
    for (files, wrong) in [
        (upload(&[("queue.html", "{{ script_tags }}\n{{ positon }}")]), "queue.html:2: "),
        (upload(&[("queue.html", "{{ script_tags }}"), ("closed.html", "\n\n{% if %}")]), "closed.html:3: "),
        (upload(&[("queue.html", "no script")]), "queue.html: must contain {{ script_tags }}"),
        (upload(&[("queue.html", "{{ script_tags }}"), ("../evil.css", "x")]), "../evil.css: is not a theme file"),
        (upload(&[("page.php", "x")]), "page.php: is not a theme file"),
        (upload(&[]), ".: must have at least one file"),
    ] {
        let refused = studio.operator.post(VERSIONS, files).await;
        assert_eq!((refused.status.as_u16(), refused.code()), (422, "theme_invalid".to_owned()), "{}", refused.text());
        assert!(refused.wrong_fields()[0].starts_with(wrong), "{wrong}: {:?}", refused.wrong_fields());
    }
    let large = "x".repeat(256 * 1024 + 1);
    let refused = studio.operator.post(VERSIONS, upload(&[("queue.html", &large)])).await;
    assert_eq!(refused.wrong_fields(), ["queue.html: must be at most 262144 bytes"]);
    let twice = upload(&[("queue.html", "a"), ("queue.html", "b")]);
    assert_eq!(studio.operator.post(VERSIONS, twice).await.wrong_fields(), ["files[1].path: is given twice"]);
    let no_base64 = json!({ "files": [{ "path": "queue.html", "base64": "?" }] });
    assert!(
        studio.operator.post(VERSIONS, no_base64).await.wrong_fields()[0]
            .starts_with("files[0].base64: must be base64")
    );
    assert_eq!(send_zip(&mut studio.operator, VERSIONS, b"no archive".to_vec()).await.code(), "invalid_body");
    let tar = Request::post(format!("/api/v1{VERSIONS}")).header("content-type", "application/x-tar");
    let refused = studio.operator.visitor().request(tar, "x").await;
    assert_eq!((refused.status.as_u16(), refused.code()), (415, "wrong_content_type".to_owned()));
    assert!(studio.shown().await.contains("First"), "visitors see what worked");
    assert_eq!(studio.operator.get(VERSIONS).await.json()["versions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn preview_renders_every_state_and_language() {
    let mut studio = Studio::open().await;
    let listed = studio.operator.get("/themes").await.json();
    let each = |name: &str| -> Vec<String> {
        listed[name].as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
    };
    for state in each("states") {
        for language in each("languages") {
            let frame = studio.operator.get(&format!("{LIVE}/preview?state={state}&language={language}")).await;
            assert_eq!(frame.status, 200, "{state} {language}: {}", frame.text());
            let text = frame.text();
            assert!(text.contains(&format!("lang=\"{language}\"")) && text.contains("Acme &amp; Sons"), "{text}");
            assert!(text.contains("Summer tour") && !text.contains("logo.svg"), "it has no logo yet: {text}");
        }
    }
    let own = "{% extends \"vestibule/queue.html\" %}";
    let files = upload(&[("queue.html", own), ("logo.svg", "<svg/>")]);
    let version = studio.operator.create(VERSIONS, files).await["id"].as_str().unwrap().to_owned();
    let frame = studio.operator.get(&format!("{LIVE}/preview?version={version}")).await;
    assert!(frame.text().replace("&#x2f;", "/").contains("/logo.svg\" alt=\"Acme &amp; Sons\""), "{}", frame.text());
    for wrong in ["state=asleep", "language=tlh", "version=1", "v=1"] {
        assert_eq!(studio.operator.get(&format!("{LIVE}/preview?{wrong}")).await.status, 422, "{wrong}");
    }
    let unknown = "0000000000000009-01234567";
    assert_eq!(studio.operator.get(&format!("{LIVE}/preview?version={unknown}")).await.status, 404);
}

/// Visitors of a queue without a theme, or with a shared one, see a theme that is not the tenant's.
#[tokio::test]
async fn preview_of_a_queue_shows_its_name_brand_and_settings() {
    let mut studio = Studio::open().await;
    let text = "{{ script_tags }}<h1>{{ queue.name }} of {{ brand.name }}</h1>{{ message }}";
    let mut root = studio.backoffice.root();
    for theme in ["default", "shared", "acme-summer"] {
        let path = format!("/themes/{theme}/versions");
        let version = root.create(&path, upload(&[("queue.html", text)])).await["id"].as_str().unwrap().to_owned();
        let active = format!("{path}/{version}/activate");
        assert_eq!(root.send(http::Method::POST, &active, &[("if-match", "*")], None).await.status, 200);
    }
    studio.backoffice.advance_seconds(1);
    for (id, theme) in [("plain", None), ("gala", Some("shared")), ("winter", Some("acme-summer"))] {
        let settings = json!({ "theme": theme, "name": format!("The {id}"), "message": { "default": "Be kind." } });
        studio.backoffice.queue(id, "acme", settings).await;
        let path = format!("/themes/{}/preview?queue={id}", theme.unwrap_or("default"));
        let page = studio.operator.get(&path).await;
        assert_eq!(page.status, 200, "{id}: {}", page.text());
        let heading = format!("The {id} of Acme &amp; Sons");
        assert!(page.text().contains(&heading) && page.text().contains("Be kind."), "{}", page.text());
    }
    let status = async |client: &mut AdminClient, path: &str| client.get(path).await.status.as_u16();
    for refused in ["default/preview", "default/preview?queue=winter", "default/preview?queue=none"] {
        assert_eq!(status(&mut studio.operator, &format!("/themes/{refused}")).await, 404, "{refused}");
    }
    let version = root.get("/themes/default/versions").await.json()["versions"][0]["id"].clone();
    let draft = format!("/themes/default/preview?queue=plain&version={}", version.as_str().unwrap());
    assert_eq!(status(&mut studio.operator, &draft).await, 404, "visitors see the active version");
    let mut stranger = studio.backoffice.operator("max", "operator", &["blue"]).await;
    assert_eq!(status(&mut stranger, "/themes/default/preview?queue=plain").await, 404);
}

#[tokio::test]
async fn draft_preview_is_validated_for_each_queue() {
    let mut studio = Studio::open().await;
    let text = "{{ script_tags }}\n{% if queue.id != \"sample\" %}{{ gone }}{% endif %}";
    let draft = json!({ "templates": [{ "path": "queue.html", "text": text }] });
    let refused = studio.operator.post(&format!("{LIVE}/preview"), draft).await;
    assert!(refused.wrong_fields()[0].starts_with("queue.html:2: "), "{}", refused.text());
}

#[tokio::test]
async fn preview_shows_countdown_message_and_kept_position() {
    let mut studio = Studio::open().await;
    let at = "starts_at=2027-03-04T10%3A00%3A00Z";
    let page =
        studio.operator.get(&format!("{LIVE}/preview?state=paused&event=Spring%20sale&{at}&starts_in=5460")).await;
    for words in ["Start of Spring sale: 2027-03-04 10:00 UTC", "about 1 h 31 min"] {
        assert!(page.text().contains(words), "{words}: {}", page.text());
    }
    for (state, words) in [
        ("lobby", vec!["Spring sale", "about 15 minutes"]),
        ("closed", vec!["7 minutes"]),
        ("waiting", vec!["Sample message"]),
    ] {
        let page = studio.operator.get(&format!("{LIVE}/preview?state={state}")).await;
        assert!(words.iter().all(|words| page.text().contains(words)), "{state}: {}", page.text());
    }
    let page = studio.operator.get(&format!("{LIVE}/preview?state=lobby&message=Sold%20out%20%3Cb%3E")).await;
    assert!(page.text().contains("Sold out &lt;b&gt;") && !page.text().contains("Sample message"), "{}", page.text());
    assert_eq!(studio.operator.get(&format!("{LIVE}/preview?message={}", "a".repeat(281))).await.status, 422);
    let waiting = studio.operator.get(&format!("{LIVE}/preview?event=Spring%20sale&{at}")).await;
    assert!(
        waiting.text().contains("in line") && !waiting.text().contains("Start of Spring sale"),
        "the event has started"
    );
    let without_time = studio.operator.get(&format!("{LIVE}/preview?event=Spring%20sale")).await;
    assert_eq!((without_time.status.as_u16(), without_time.wrong_fields()[0].starts_with("starts_at")), (422, true));
}

#[tokio::test]
async fn preview_has_no_access_to_the_backoffice() {
    let mut studio = Studio::open().await;
    let text = "<img src=\"{{ asset_base }}img/a.svg\">{{ script_tags }}";
    let evil = "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";
    let files = upload(&[("queue.html", text), ("img/a.svg", evil), ("fonts/a.woff2", "font")]);
    let version = studio.operator.create(VERSIONS, files).await["id"].as_str().unwrap().to_owned();
    let frame = studio.operator.get(&format!("{LIVE}/preview?version={version}")).await;
    let policy = frame.header("content-security-policy").unwrap();
    for part in ["default-src 'none'", "frame-ancestors 'self'", "form-action 'none'", "base-uri 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(
        policy.ends_with("; sandbox allow-scripts") && !policy.contains("script-src"),
        "no origin, no script: {policy}"
    );
    assert_eq!(frame.header("x-frame-options"), Some("SAMEORIGIN"));
    assert_eq!(frame.header("cache-control"), Some("no-store"));

    let text = frame.text().replace("&#x2f;", "/");
    let base = text.split("src=\"").nth(1).unwrap().split("img/a.svg").next().unwrap();
    // The frame has no origin, so no cookie goes with what it loads.
    let mut anybody = Visitor::new(studio.backoffice.admin.address(), "admin.example.com");
    let picture = anybody.request(Request::get(format!("{base}img/a.svg")), "").await;
    assert_eq!((picture.status.as_u16(), picture.header("content-type")), (200, Some("image/svg+xml")));
    let policy = picture.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'") && policy.ends_with("; sandbox"), "{policy}");
    let font = anybody.request(Request::get(format!("{base}fonts/a.woff2")), "").await;
    assert_eq!(font.header("access-control-allow-origin"), Some("*"));
    for gone in ["queue.html", "img/b.svg", "..%2f..%2fqueue.html"] {
        assert_eq!(anybody.request(Request::get(format!("{base}{gone}")), "").await.status, 404, "{gone}");
    }
    let guessed = "/api/v1/preview-files/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA/img/a.svg";
    assert_eq!(anybody.request(Request::get(guessed), "").await.status, 404);

    // Another process has the token's note and the files, and nothing else.
    let publisher = ThemeVersions::at(ThemesAddress::Folder(studio.folder.path().to_owned()));
    let other = studio.backoffice.another_process(publisher).await;
    let mut elsewhere = Visitor::new(other.address(), "admin.example.com");
    assert_eq!(elsewhere.request(Request::get(format!("{base}img/a.svg")), "").await.body, evil.as_bytes());
    studio.backoffice.advance_seconds(600);
    assert_eq!(anybody.request(Request::get(format!("{base}img/a.svg")), "").await.status, 404, "it expires");
}

#[tokio::test]
async fn tenant_owns_themes_with_its_prefix() {
    let mut studio = Studio::open().await;
    let mut root = studio.backoffice.root();
    for theme in ["acme", "acme-summer", "blue-night", "default"] {
        let made = root.post(&format!("/themes/{theme}/versions"), upload(&[("queue.html", &page(theme))])).await;
        assert_eq!(made.status, 201, "{theme}: {}", made.text());
    }
    let ids = |listed: &Value| -> Vec<String> {
        let all = listed["themes"].as_array().unwrap().iter();
        all.map(|theme| theme["id"].as_str().unwrap().to_owned()).collect()
    };
    let listed = studio.operator.get("/themes").await.json();
    assert_eq!(ids(&listed), ["acme", "acme-summer"]);
    assert_eq!((&listed["themes"][1]["tenant"], &listed["themes"][1]["queues"]), (&json!("acme"), &json!(["tour"])));
    assert_eq!(ids(&root.get("/themes").await.json()), ["acme", "acme-summer", "blue-night", "default"]);
    for foreign in ["blue-night", "default", "acmeish", "%2e%2e"] {
        let answer =
            studio.operator.post(&format!("/themes/{foreign}/versions"), upload(&[("queue.html", &page("x"))])).await;
        assert_eq!(answer.status, 404, "{foreign}: {}", answer.text());
    }
    let mut viewer = studio.backoffice.operator("vic", "viewer", &["acme"]).await;
    assert_eq!(viewer.get(VERSIONS).await.status, 200);
    assert_eq!(viewer.post(VERSIONS, upload(&[("queue.html", &page("x"))])).await.code(), "permission_denied");
    let broken = send_zip(&mut viewer, VERSIONS, b"no archive".to_vec()).await;
    assert_eq!(broken.code(), "permission_denied", "before it is unpacked");
}

#[tokio::test]
async fn gate_shows_an_activated_theme_within_seconds() {
    let mut studio = Studio::open().await;
    let options = vestibule_tests::GateOptions { themes: Some(studio.folder.path().to_owned()), ..Default::default() };
    let none = json!({ "tenants": [], "queues": [] });
    let gate = GateUnderTest::start_with(studio.backoffice.store.clone(), &none, options).await;
    studio.backoffice.root().patch("/queues/tour/controls", json!({ "quota": 0 })).await;
    let mut visitor = Visitor::new(gate.address(), "tour.example.com");
    assert!(visitor.navigate("/").await.text().contains("Summer tour"), "the built-in page");
    let version = uploaded(&mut studio.operator, "From the backoffice").await;
    activate(&mut studio.operator, &version).await;
    vestibule_tests::wait_until("the gate shows it", std::time::Duration::from_secs(10), async || {
        visitor.clone().navigate("/").await.text().contains("From the backoffice")
    })
    .await;
}

#[tokio::test]
async fn missing_theme_storage_is_reported() {
    let backoffice = Backoffice::memory().await;
    let mut root = backoffice.root();
    for answer in [root.get("/themes").await, root.get("/themes/default/versions").await] {
        assert_eq!(
            (answer.status.as_u16(), answer.code()),
            (409, "theme_storage_not_configured".to_owned()),
            "{}",
            answer.text()
        );
    }
    let refused = root.post("/themes/default/versions", upload(&[("queue.html", &page("x"))])).await;
    assert_eq!(refused.code(), "theme_storage_not_configured");
    assert_eq!(root.get("/themes/default/preview").await.status, 200, "the built-in page");
}

#[tokio::test]
async fn unavailable_theme_storage_is_reported() {
    let mut s3 = S3::start().await;
    let ThemesAddress::Bucket(address) = s3.themes("themes").parse::<ThemesAddress>().unwrap() else { unreachable!() };
    let backoffice = Backoffice::memory_with_themes(ThemeVersions::on_server(s3.server(), address)).await;
    backoffice.tenant("acme").await;
    let mut zoe = backoffice.operator("zoe", "operator", &["acme"]).await;
    s3.kill();
    assert_eq!(zoe.post("/themes/acme/versions", upload(&[("queue.html", &page("x"))])).await.status, 503);
    let event = zoe.get("/audit?action=theme.upload").await.json()["events"][0].clone();
    assert_eq!(event["outcome"], "unknown", "files may have been stored: {event}");
    let answer = backoffice.root().get("/themes").await;
    assert_eq!(
        (answer.status.as_u16(), answer.code()),
        (503, "theme_storage_unavailable".to_owned()),
        "{}",
        answer.text()
    );
    assert_eq!(backoffice.root().get("/queues").await.status, 200, "everything else goes on");
}

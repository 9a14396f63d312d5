//! Previews of files that are not kept.

use http::Request;
use serde_json::{Value, json};
use vestibule_tests::Visitor;

use super::backoffice::Backoffice;
use super::theme_fixture::{THEME, ThemeFixture, in_folder_and_bucket};
use super::themes::page;

const STATES: [&str; 8] =
    ["waiting", "admitted", "paused", "lobby", "closed", "full", "invitation_required", "unavailable"];

in_folder_and_bucket! {
    draft_is_rendered_in_every_state_and_language,
    draft_errors_have_file_and_line,
}

fn draft(templates: &[(&str, &str)]) -> Value {
    let template = |(path, text): &(&str, &str)| json!({ "path": path, "text": text });
    json!({ "templates": templates.iter().map(template).collect::<Vec<_>>() })
}

/// A draft with more members.
fn with(mut draft: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("more is an object") };
    draft.as_object_mut().unwrap().extend(more);
    draft
}

async fn draft_is_rendered_in_every_state_and_language(mut theme_fixture: ThemeFixture) {
    theme_fixture.published("Published").await;
    let templates = [
        (
            "queue.html",
            "{% extends \"vestibule/queue.html\" %}{% block notes %}{% include \"part.html\" %}{% endblock %}",
        ),
        ("part.html", "<p>Not kept</p><img src=\"{{ asset_base }}img/a.svg\">"),
    ];
    let path = format!("{THEME}/preview");
    for language in ["en", "de", "fr", "es", "nl", "cy"] {
        let asked = with(draft(&templates), json!({ "assets": ["logo.svg"], "language": language }));
        let drawn = theme_fixture.operator.post(&path, asked).await;
        assert_eq!(drawn.status, 200, "{}", drawn.text());
        let drawn = drawn.json();
        let pages = drawn["pages"].as_array().unwrap();
        assert_eq!(pages.iter().map(|page| page["state"].as_str().unwrap()).collect::<Vec<_>>(), STATES);
        for page in pages {
            let html = page["html"].as_str().unwrap().replace("&#x2f;", "/");
            assert!(html.contains(&format!("lang=\"{language}\"")) && html.contains("Acme &amp; Sons"), "{html}");
            assert_eq!(html.contains("<p>Not kept</p>"), page["state"] != "closed", "{html}");
            assert!(html.contains("src=\"https://theme.invalid/logo.svg\""), "the tenant's logo is among them: {html}");
            assert!(html.contains(&format!("nonce=\"{}\"", drawn["nonce"].as_str().unwrap())), "{html}");
        }
        assert!(pages[0]["html"].as_str().unwrap().contains("img/a.svg"));
    }
    let one = theme_fixture.operator.post(&path, with(draft(&templates), json!({ "states": ["paused"] }))).await.json();
    assert_eq!(one["pages"].as_array().unwrap().len(), 1);
    assert!(!one["pages"][0]["html"].as_str().unwrap().contains("logo.svg"), "it is not said to be there");

    assert!(theme_fixture.shown().await.contains("Published"), "no visitor sees it");
    assert_eq!(theme_fixture.versions().await.len(), 1, "and it is not stored");
    let log = theme_fixture.audit_events().await;
    assert_eq!(log, ["theme.activate", "theme.upload"], "nothing was changed");
}

async fn draft_errors_have_file_and_line(mut theme_fixture: ThemeFixture) {
    let path = format!("{THEME}/preview");
    for (templates, wrong) in [
        (draft(&[("queue.html", "{{ script_tags }}\n{{ positon }}")]), "queue.html:2: "),
        (draft(&[("queue.html", "{{ script_tags }}"), ("closed.html", "\n\n{% if %}")]), "closed.html:3: "),
        (draft(&[("queue.html", "no script")]), "queue.html: must contain {{ script_tags }}"),
        (draft(&[("../queue.html", "x")]), "../queue.html: is not a theme file"),
        (
            draft(&[("queue.html", "{% for a in range(100000) %}{{ a }}{% endfor %}{{ script_tags }}")]),
            "queue.html:1: ",
        ),
    ] {
        let refused = theme_fixture.operator.post(&path, templates).await;
        assert_eq!((refused.status.as_u16(), refused.code()), (422, "theme_invalid".to_owned()), "{}", refused.text());
        assert!(refused.wrong_fields()[0].starts_with(wrong), "{wrong}: {:?}", refused.wrong_fields());
    }
    assert_eq!(theme_fixture.listed().await, [], "there is still no such theme");
}

#[tokio::test]
async fn draft_without_templates_shows_built_in_pages() {
    let mut theme_fixture = ThemeFixture::folder().await;
    let drawn = theme_fixture.operator.post(&format!("{THEME}/preview"), draft(&[])).await.json();
    let html = drawn["pages"][0]["html"].as_str().unwrap();
    assert!(html.contains("<main class=\"card\">") && html.contains("#c2185b"), "{html}");
    let nowhere = Backoffice::memory().await;
    let drawn = nowhere.root().post("/themes/default/preview", draft(&[("queue.html", &page("x"))])).await;
    assert_eq!(drawn.status, 200, "themes need not be kept anywhere for it: {}", drawn.text());
}

#[tokio::test]
async fn invalid_draft_is_rejected_by_field() {
    let mut theme_fixture = ThemeFixture::folder().await;
    let path = format!("{THEME}/preview");
    for (more, field) in [
        (json!({ "states": ["asleep"] }), "states[0]: "),
        (json!({ "states": vec!["waiting"; 100] }), "states: "),
        (json!({ "language": "tlh" }), "language: "),
        (json!({ "assets": [1] }), "assets[0]: "),
        (json!({ "templates": [{ "path": "queue.html" }] }), "templates[0].text: is required"),
        (
            json!({ "templates": [{ "path": "a.html", "text": "" }, { "path": "a.html", "text": "" }] }),
            "templates: is given twice",
        ),
        (json!({ "version": "1" }), "version: "),
    ] {
        let refused = theme_fixture.operator.post(&path, with(draft(&[]), more.clone())).await;
        assert_eq!((refused.status.as_u16(), refused.code()), (422, "validation_failed".to_owned()), "{more}");
        assert!(refused.wrong_fields()[0].starts_with(field), "{more}: {:?}", refused.wrong_fields());
    }
    let large = theme_fixture.operator.post(&path, draft(&[("queue.html", &"x".repeat(1024 * 1024))])).await;
    assert_eq!((large.status.as_u16(), large.code()), (413, "too_large".to_owned()));
    assert_eq!(theme_fixture.operator.post("/themes/blue/preview", draft(&[])).await.status, 404, "another tenant's");
}

#[tokio::test]
async fn many_at_once_are_all_drawn() {
    let theme_fixture = ThemeFixture::folder().await;
    let draw = async |n: usize| {
        let text = format!("{n} of them");
        let path = format!("{THEME}/preview");
        let drawn = theme_fixture.operator.clone().post(&path, draft(&[("queue.html", &page(&text))])).await;
        assert!(drawn.text().contains(&text), "{}", drawn.text());
    };
    futures_util::future::join_all((0..12).map(draw)).await;
}

#[tokio::test]
async fn preview_frame_runs_only_its_own_script() {
    let theme_fixture = ThemeFixture::folder().await;
    let mut anybody = Visitor::new(theme_fixture.backoffice.admin.address(), "admin.example.com");
    let frame = anybody.request(Request::get("/api/v1/preview-frame"), "").await;
    assert_eq!((frame.status.as_u16(), frame.header("x-frame-options")), (200, Some("SAMEORIGIN")));
    let policy = frame.header("content-security-policy").unwrap().to_owned();
    for part in [
        "default-src 'none'",
        "script-src 'sha256-",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'self'",
        "sandbox allow-scripts;",
        "style-src 'nonce-",
    ] {
        assert!(policy.contains(part), "{part}: {policy}");
    }
    assert!(!policy.contains("unsafe") && !policy.contains("'self';  ") && !policy.contains("connect-src"), "{policy}");
    let again = anybody.request(Request::get("/api/v1/preview-frame"), "").await;
    assert_ne!(again.header("content-security-policy"), Some(policy.as_str()), "another nonce for everybody");
}

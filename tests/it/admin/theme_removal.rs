//! Themes that are deactivated or removed, and themes that were copied by hand.

use std::io::{Cursor, Read as _};

use http::Method;
use serde_json::json;
use vestibule_core::PutMode;
use vestibule_core::settings::Settings;
use zip::ZipArchive;

use super::backoffice::queue;
use super::theme_fixture::{THEME, ThemeFixture, in_folder_and_bucket};
use super::themes::{page, upload};

in_folder_and_bucket! {
    deactivated_theme_can_be_activated_again,
    theme_in_use_cannot_be_removed,
    theme_of_another_tenant_is_not_accessible,
    new_tenant_takes_over_no_themes,
    tenant_with_themes_cannot_be_removed,
    logo_must_be_in_an_active_theme,
    every_theme_change_is_audited,
    stale_revision_changes_nothing,
    copied_files_are_live_until_the_first_activation,
    deactivated_copied_files_are_not_shown,
}

async fn deactivated_theme_can_be_activated_again(mut theme_fixture: ThemeFixture) {
    let version = theme_fixture.published("Summer").await;
    assert!(theme_fixture.shown().await.contains("<h1>Summer</h1>"));
    assert_eq!(theme_fixture.listed().await, [("acme-summer".to_owned(), json!(true))]);

    assert_eq!(theme_fixture.deactivate().await.status, 204);
    assert!(theme_fixture.shown().await.contains("<main class=\"card\">"), "the built-in page");
    assert_eq!(theme_fixture.versions().await, [(json!("zoe"), json!(false))], "the version stays");
    assert_eq!(theme_fixture.listed().await, [("acme-summer".to_owned(), json!(false))]);
    assert_eq!(theme_fixture.operator.get(&format!("{THEME}/download")).await.status, 404, "nothing is live");
    let entry = theme_fixture.operator.get("/audit?action=theme.deactivate").await.json()["events"][0].clone();
    assert_eq!(
        (&entry["operator"], &entry["tenant"], &entry["subject"]),
        (&json!("zoe"), &json!("acme"), &json!("acme-summer"))
    );
    assert_eq!(entry["changes"], json!([{ "field": "live", "from": version, "to": null }]));

    let before = theme_fixture.audit_events().await.len();
    assert_eq!(theme_fixture.deactivate().await.status, 204, "it is down already");
    assert_eq!(theme_fixture.audit_events().await.len(), before);

    assert_eq!(theme_fixture.activate(&version).await.json()["live"], true);
    assert!(theme_fixture.shown().await.contains("<h1>Summer</h1>"), "and back again");
}

async fn theme_in_use_cannot_be_removed(mut theme_fixture: ThemeFixture) {
    theme_fixture.published("First").await;
    theme_fixture.published("Second").await;
    theme_fixture.backoffice.queue("tour", "acme", json!({ "theme": "acme-summer" })).await;

    let refused = theme_fixture.operator.send(Method::DELETE, THEME, &[], None).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (409, "theme_in_use".to_owned()));
    assert!(refused.text().contains("tour"), "{}", refused.text());
    theme_fixture.operator.patch("/queues/tour", json!({ "theme": null })).await;

    let asked = theme_fixture.operator.send(Method::DELETE, THEME, &[], None).await;
    let effect = asked.json()["confirmation"]["consequence"].as_str().unwrap().to_owned();
    assert!(effect.contains("\"acme-summer\"") && effect.contains("2 versions"), "{effect}");
    assert!(theme_fixture.shown().await.contains("Second"), "not before it was confirmed");
    let token = asked.confirmation();
    theme_fixture.published("Third").await;
    let again = theme_fixture.operator.send(Method::DELETE, THEME, &[("x-vestibule-confirm", &token)], None).await;
    assert_eq!(again.status, 428, "another version was added since it was said what would go");

    assert_eq!(theme_fixture.operator.confirmed(Method::DELETE, THEME, None).await.status, 204);
    assert!(theme_fixture.shown().await.contains("<main class=\"card\">"), "the built-in page");
    assert_eq!((theme_fixture.listed().await, theme_fixture.versions().await), (vec![], vec![]));
    assert_eq!(theme_fixture.audit_events().await[0], "theme.remove");
    assert_eq!(theme_fixture.operator.send(Method::DELETE, THEME, &[], None).await.status, 404, "it is gone");
    assert_eq!(theme_fixture.deactivate().await.status, 404, "it is gone");
    assert_eq!(theme_fixture.listed().await, [], "asking for what is not there makes nothing");

    theme_fixture.published("Again").await;
    assert!(theme_fixture.shown().await.contains("<h1>Again</h1>"));
    assert_eq!(theme_fixture.versions().await.len(), 1, "nothing of the old one came back");
}

async fn theme_of_another_tenant_is_not_accessible(mut theme_fixture: ThemeFixture) {
    theme_fixture.published("First").await;
    let foreign = json!({ "theme": "acme-summer" });
    let mut root = theme_fixture.backoffice.root();
    let refused = root.post("/queues", queue("blues", "blue", foreign.clone())).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (422, "validation_failed".to_owned()));
    assert!(refused.wrong_fields()[0].starts_with("theme: \"acme-summer\" is not a theme of the tenant"));
    let mut blues = Settings::from_value(&theme_fixture.backoffice.queue("blues", "blue", json!({})).await).unwrap();
    let mut bob = theme_fixture.backoffice.operator("bob", "operator", &["blue"]).await;
    assert_eq!(bob.patch("/queues/blues", foreign).await.status, 422);
    assert_eq!(bob.patch("/queues/blues", json!({ "theme": "shared" })).await.status, 422, "it is nobody's");
    assert_eq!(bob.patch("/queues/blues", json!({ "theme": "default" })).await.status, 200);
    assert_eq!(root.patch("/queues/blues", json!({ "theme": "shared" })).await.status, 200);

    blues.theme = Some("acme-summer".parse().unwrap());
    theme_fixture.backoffice.store.put_settings(&blues, PutMode::Always).await.unwrap();
    assert_eq!(
        theme_fixture.operator.confirmed(Method::DELETE, THEME, None).await.status,
        204,
        "a queue from before holds nothing"
    );
}

async fn new_tenant_takes_over_no_themes(mut theme_fixture: ThemeFixture) {
    theme_fixture.published("Summer").await;
    let mut root = theme_fixture.backoffice.root();
    let takes = json!({ "id": "acme-summer", "name": "Summer" });
    let refused = root.post("/tenants", takes.clone()).await;
    assert_eq!(refused.status, 422);
    assert!(refused.wrong_fields()[0].starts_with("id: would take over themes"), "{}", refused.text());
    let document = json!({ "tenants": [takes], "queues": [] });
    let refused = root.post("/settings?validate=true", document).await;
    assert!(refused.wrong_fields()[0].starts_with("acme-summer.id: would take over"), "{}", refused.text());
    root.create("/tenants", json!({ "id": "acme-winter", "name": "Winter" })).await;

    // A theme of superusers that a queue uses.
    let version = root.create("/themes/shared/versions", upload(&[("queue.html", &page("Shared"))])).await;
    let activate = format!("/themes/shared/versions/{}/activate", version["id"].as_str().unwrap());
    assert_eq!(root.send(Method::POST, &activate, &[("if-match", "*")], None).await.status, 200);
    theme_fixture.backoffice.queue("tour", "acme", json!({ "theme": "shared" })).await;
    assert_eq!(root.post("/tenants", json!({ "id": "shared", "name": "Shared" })).await.status, 422);
}

async fn tenant_with_themes_cannot_be_removed(mut theme_fixture: ThemeFixture) {
    theme_fixture.published("Summer").await;
    let mut root = theme_fixture.backoffice.root();
    let refused = root.send(Method::DELETE, "/tenants/acme", &[], None).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (409, "has_themes".to_owned()), "{}", refused.text());
    assert!(refused.text().contains("acme-summer"), "{}", refused.text());
    assert_eq!(root.confirmed(Method::DELETE, THEME, None).await.status, 204);
    assert_eq!(root.confirmed(Method::DELETE, "/tenants/acme", None).await.status, 204);
}

async fn logo_must_be_in_an_active_theme(mut theme_fixture: ThemeFixture) {
    let patch = |logo: &str| json!({ "logo": logo });
    assert_eq!(
        theme_fixture.operator.patch("/tenants/acme", patch("red.svg")).await.status,
        200,
        "there is no theme yet"
    );
    by_hand(&theme_fixture).await;
    let refused = theme_fixture.operator.patch("/tenants/acme", patch("red")).await;
    let detail = "logo: \"red\" is not in an active theme of the tenant (\"acme-summer\"); activate a theme that contains it first";
    assert_eq!((refused.status.as_u16(), refused.wrong_fields()), (422, vec![detail.to_owned()]));
    assert_eq!(
        theme_fixture.operator.patch("/tenants/acme", patch("notes.toml")).await.status,
        422,
        "no gate serves it"
    );
    assert_eq!(
        theme_fixture.operator.patch("/tenants/acme", json!({ "name": "Acme" })).await.status,
        200,
        "the old logo stays"
    );
    assert_eq!(theme_fixture.operator.patch("/tenants/acme", patch("img/a.svg")).await.status, 200);
    let blue = json!({ "id": "blue-2", "name": "Blue", "logo": "img/a.svg" });
    assert_eq!(theme_fixture.backoffice.root().post("/tenants", blue).await.status, 201, "it has no theme yet");
}

async fn every_theme_change_is_audited(mut theme_fixture: ThemeFixture) {
    by_hand(&theme_fixture).await;
    let asked = theme_fixture.operator.send(Method::DELETE, THEME, &[], None).await;
    assert!(asked.text().contains("Its files were copied into the folder by hand"), "{}", asked.text());
    theme_fixture.published("First").await;
    theme_fixture.operator.post(&format!("{THEME}/preview"), json!({ "templates": [] })).await;
    theme_fixture.deactivate().await;
    theme_fixture.operator.confirmed(Method::DELETE, THEME, None).await;
    let log = theme_fixture.operator.get("/audit?action=theme.").await.json();
    let entries = log["events"].as_array().unwrap();
    let actions: Vec<_> = entries.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["theme.remove", "theme.deactivate", "theme.activate", "theme.upload"]);
    for entry in entries {
        assert_eq!((&entry["operator"], &entry["subject"]), (&json!("zoe"), &json!("acme-summer")), "{entry}");
    }
    assert_eq!(entries[0]["changes"], json!([{ "field": "versions", "from": null, "to": 1 }]));
}

async fn stale_revision_changes_nothing(mut theme_fixture: ThemeFixture) {
    let first = theme_fixture.published("First").await;
    let second = theme_fixture.published("Second").await;
    let path = format!("{THEME}/versions/{first}/activate");
    for path in [path.as_str(), &format!("{THEME}/deactivate")] {
        let missing = theme_fixture.operator.send(Method::POST, path, &[], None).await;
        assert_eq!((missing.status.as_u16(), missing.code()), (428, "revision_required".to_owned()), "{path}");
        let stale = theme_fixture.operator.send(Method::POST, path, &[("if-match", "\"1\"")], None).await;
        assert_eq!((stale.status.as_u16(), stale.code()), (412, "revision_conflict".to_owned()), "{path}");
        assert_eq!(stale.json()["params"], json!({ "revision": 2 }), "{path}");
        assert_eq!(
            theme_fixture.operator.send(Method::POST, path, &[("if-match", "x")], None).await.status,
            422,
            "{path}"
        );
    }
    assert!(theme_fixture.shown().await.contains("<h1>Second</h1>"));
    let versions = theme_fixture.operator.get(&format!("{THEME}/versions")).await;
    assert_eq!((versions.header("etag"), &versions.json()["revision"]), (Some("\"2\""), &json!(2)));
    let back = theme_fixture.operator.send(Method::POST, &path, &[("if-match", "\"2\"")], None).await;
    assert_eq!((back.status.as_u16(), back.header("etag")), (200, Some("\"3\"")), "{}", back.text());
    let event = theme_fixture.operator.get("/audit?action=theme.activate").await.json()["events"][0].clone();
    let change = json!([{ "field": "live", "from": second, "to": first }]);
    assert_eq!((&event["revision"], &event["changes"]), (&json!(3), &change));
}

async fn copied_files_are_live_until_the_first_activation(mut theme_fixture: ThemeFixture) {
    by_hand(&theme_fixture).await;
    assert_eq!(theme_fixture.listed().await, [("acme-summer".to_owned(), json!(true))]);
    assert_eq!(theme_fixture.versions().await, []);
    let archive = theme_fixture.operator.get(&format!("{THEME}/download")).await;
    assert_eq!(archive.header("content-disposition"), Some("attachment; filename=\"acme-summer.zip\""));
    let mut found = ZipArchive::new(Cursor::new(archive.body.to_vec())).unwrap();
    let mut text = String::new();
    found.by_name("queue.html").unwrap().read_to_string(&mut text).unwrap();
    assert_eq!((text, found.len()), (page("By hand"), 2));

    theme_fixture.operator.create(&format!("{THEME}/versions"), upload(&[("queue.html", &page("Saved"))])).await;
    assert!(theme_fixture.shown().await.contains("By hand"), "visitors see it until a version is activated");
    assert_eq!(theme_fixture.versions().await, [(json!("zoe"), json!(false))]);
    let versions = theme_fixture.operator.get(&format!("{THEME}/versions")).await.json();
    assert_eq!(versions["revision"], 0);
    assert_eq!(theme_fixture.activate(versions["versions"][0]["id"].as_str().unwrap()).await.status, 200);
    assert!(theme_fixture.shown().await.contains("Saved"));
}

async fn deactivated_copied_files_are_not_shown(mut theme_fixture: ThemeFixture) {
    by_hand(&theme_fixture).await;
    assert_eq!(theme_fixture.deactivate().await.status, 204);
    assert!(theme_fixture.shown().await.contains("<main class=\"card\">"), "the built-in page");
    assert_eq!(theme_fixture.listed().await, [("acme-summer".to_owned(), json!(false))]);
    assert_eq!(theme_fixture.versions().await, []);
}

async fn by_hand(theme_fixture: &ThemeFixture) {
    theme_fixture.storage.write("acme-summer/queue.html", &page("By hand")).await;
    theme_fixture.storage.write("acme-summer/img/a.svg", "<svg/>").await;
    theme_fixture.storage.write("acme-summer/notes.toml", "no gate reads this").await;
}

#[tokio::test]
async fn interrupted_removal_is_audited() {
    let mut theme_fixture = ThemeFixture::folder().await;
    theme_fixture.published("Summer").await;
    // A file where a folder is expected cannot be removed as one.
    theme_fixture.storage.write("acme-summer", "x").await;
    let refused = theme_fixture.operator.confirmed(Method::DELETE, THEME, None).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (503, "theme_storage_unavailable".to_owned()));
    let events = theme_fixture.operator.get("/audit?action=theme.").await.json();
    let event = &events["events"][0];
    assert_eq!((&event["action"], &event["outcome"]), (&json!("theme.remove"), &json!("incomplete")), "{events}");
}

//! A backoffice with themes: with its themes in a folder or in a bucket.

use http::Method;
use serde_json::{Value, json};
use vestibule_tests::{AdminClient, TestResponse};

use super::backoffice::Backoffice;
use super::themes::{page, upload};
use crate::gate_fixture::{view, visitor_status};
use crate::theme_versions::ThemeStorage;

/// The address of the theme that the tests are about.
pub(super) const THEME: &str = "/themes/acme-summer";

/// An backoffice, where its themes are, and an operator of acme.
pub(super) struct ThemeFixture {
    pub(super) backoffice: Backoffice,
    pub(super) storage: ThemeStorage,
    pub(super) operator: AdminClient,
}

impl ThemeFixture {
    pub(super) async fn folder() -> Self {
        let storage = ThemeStorage::folder();
        Self::of(Backoffice::memory_with_themes(storage.versions()).await, storage).await
    }

    pub(super) async fn bucket() -> Self {
        let storage = ThemeStorage::bucket().await;
        Self::of(Backoffice::memory_with_themes(storage.versions()).await, storage).await
    }

    async fn of(backoffice: Backoffice, storage: ThemeStorage) -> Self {
        let acme = json!({ "id": "acme", "name": "Acme & Sons", "color": "#c2185b", "logo": "logo.svg" });
        backoffice.root().create("/tenants", acme).await;
        backoffice.tenant("blue").await;
        let operator = backoffice.operator("zoe", "operator", &["acme"]).await;
        Self { backoffice, storage, operator }
    }

    /// Uploads a page that says this, and activates it. Returns the version.
    pub(super) async fn published(&mut self, text: &str) -> String {
        let version = self.operator.create(&format!("{THEME}/versions"), upload(&[("queue.html", &page(text))])).await;
        let version = version["id"].as_str().unwrap().to_owned();
        assert_eq!(self.activate(&version).await.status, 200);
        self.backoffice.advance_seconds(1);
        version
    }

    pub(super) async fn activate(&mut self, version: &str) -> TestResponse {
        let headers = [("if-match", "*")];
        self.operator.send(Method::POST, &format!("{THEME}/versions/{version}/activate"), &headers, None).await
    }

    pub(super) async fn deactivate(&mut self) -> TestResponse {
        self.operator.send(Method::POST, &format!("{THEME}/deactivate"), &[("if-match", "*")], None).await
    }

    /// The versions, newest first: who made each, and whether it is live.
    pub(super) async fn versions(&mut self) -> Vec<(Value, Value)> {
        let versions = self.operator.get(&format!("{THEME}/versions")).await.json();
        let each = versions["versions"].as_array().unwrap().iter();
        each.map(|version| (version["operator"].clone(), version["live"].clone())).collect()
    }

    /// The themes that are listed: id, and whether each is live.
    pub(super) async fn listed(&mut self) -> Vec<(String, Value)> {
        let listed = self.operator.get("/themes").await.json();
        let each = listed["themes"].as_array().unwrap().iter();
        each.map(|theme| (theme["id"].as_str().unwrap().to_owned(), theme["live"].clone())).collect()
    }

    /// What a gate shows that looks now.
    pub(super) async fn shown(&self) -> String {
        let visitor_status = visitor_status();
        self.storage.themes().queue_page(Some(&"acme-summer".parse().unwrap()), &view(&visitor_status)).await
    }

    /// What was written into the audit log on themes, newest first.
    pub(super) async fn audit_events(&mut self) -> Vec<Value> {
        let log = self.operator.get("/audit?action=theme.").await.json();
        log["events"].as_array().unwrap().iter().map(|entry| entry["action"].clone()).collect()
    }
}

/// Runs each of these behaviors with a folder and with a bucket.
macro_rules! in_folder_and_bucket {
    ($($behavior:ident,)+) => {
        $crate::suite::on_each! {
            {
                folder: $crate::admin::theme_fixture::ThemeFixture::folder().await,
                bucket: $crate::admin::theme_fixture::ThemeFixture::bucket().await,
            }
            { $($behavior,)+ }
        }
    };
}

pub(super) use in_folder_and_bucket;

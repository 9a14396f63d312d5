//! A backoffice with themes: over memory and a folder, or over Redis and a bucket.

use http::Method;
use serde_json::{Value, json};
use vestibule_tests::{Answer, Desk};

use super::office::Office;
use super::themes::{page, upload};
use crate::scene::{view, visitor_status};
use crate::theme_versions::Place;

/// The address of the theme that the tests are about.
pub(super) const THEME: &str = "/themes/acme-summer";

/// An office, where its themes are, and an operator of acme.
pub(super) struct Workshop {
    pub(super) office: Office,
    pub(super) place: Place,
    pub(super) zoe: Desk,
}

impl Workshop {
    pub(super) async fn folder() -> Self {
        let place = Place::folder();
        Self::of(Office::memory_with_themes(place.versions()).await, place).await
    }

    pub(super) async fn bucket() -> Self {
        let place = Place::bucket().await;
        Self::of(Office::redis_with_themes(place.versions()).await, place).await
    }

    async fn of(office: Office, place: Place) -> Self {
        let acme = json!({ "id": "acme", "name": "Acme & Sons", "color": "#c2185b", "logo": "logo.svg" });
        office.root().create("/tenants", acme).await;
        office.tenant("blue").await;
        let zoe = office.operator("zoe", "operator", &["acme"]).await;
        Self { office, place, zoe }
    }

    /// Uploads a page that says this, and activates it. Returns the version.
    pub(super) async fn published(&mut self, text: &str) -> String {
        let version = self.zoe.create(&format!("{THEME}/versions"), upload(&[("queue.html", &page(text))])).await;
        let version = version["id"].as_str().unwrap().to_owned();
        assert_eq!(self.publish(&version).await.status, 200);
        self.office.pass(1);
        version
    }

    pub(super) async fn publish(&mut self, version: &str) -> Answer {
        let headers = [("if-match", "*")];
        self.zoe.send(Method::POST, &format!("{THEME}/versions/{version}/activate"), &headers, None).await
    }

    pub(super) async fn unpublish(&mut self) -> Answer {
        self.zoe.send(Method::POST, &format!("{THEME}/deactivate"), &[("if-match", "*")], None).await
    }

    /// The versions, newest first: who made each, and whether it is live.
    pub(super) async fn versions(&mut self) -> Vec<(Value, Value)> {
        let versions = self.zoe.get(&format!("{THEME}/versions")).await.json();
        let each = versions["versions"].as_array().unwrap().iter();
        each.map(|version| (version["operator"].clone(), version["live"].clone())).collect()
    }

    /// The themes that are listed: id, and whether each is live.
    pub(super) async fn listed(&mut self) -> Vec<(String, Value)> {
        let listed = self.zoe.get("/themes").await.json();
        let each = listed["themes"].as_array().unwrap().iter();
        each.map(|theme| (theme["id"].as_str().unwrap().to_owned(), theme["live"].clone())).collect()
    }

    /// What a gate shows that looks now.
    pub(super) async fn shown(&self) -> String {
        let visitor_status = visitor_status();
        self.place.themes().queue_page(Some(&"acme-summer".parse().unwrap()), &view(&visitor_status)).await
    }

    /// What was written into the audit log on themes, newest first.
    pub(super) async fn deeds(&mut self) -> Vec<Value> {
        let log = self.zoe.get("/audit?action=theme.").await.json();
        log["events"].as_array().unwrap().iter().map(|entry| entry["action"].clone()).collect()
    }
}

/// Runs each of these behaviours over memory and a folder, and over Redis and a bucket.
macro_rules! in_each_workshop {
    ($($behaviour:ident,)+) => {
        mod folder {
            $(
                #[tokio::test]
                async fn $behaviour() {
                    super::$behaviour($crate::admin::workshop::Workshop::folder().await).await;
                }
            )+
        }

        mod bucket {
            $(
                #[tokio::test]
                async fn $behaviour() {
                    super::$behaviour($crate::admin::workshop::Workshop::bucket().await).await;
                }
            )+
        }
    };
}

pub(super) use in_each_workshop;

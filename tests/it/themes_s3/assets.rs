//! Files of a theme in a bucket.

use std::time::Duration;

use futures_util::future::join_all;
use vestibule_tests::{S3, wait_until};
use vestibule_themes::Asset;

use super::{AT_ONCE, NEVER, asset, fresh, saying, until_looked, until_says};
use crate::gate_fixture::TIMEOUT;

const LOGO: &str = "themes/acme/img/logo.svg";

#[tokio::test]
async fn content_type_follows_the_file_extension() {
    let s3 = S3::start().await;
    s3.put(LOGO, "<svg/>").await;
    s3.put("themes/acme/app.0123456789abcdef.js", "1").await;
    let themes = fresh(&s3, NEVER);
    let logo = asset(&themes, "acme", "img/logo.svg").await.unwrap();
    assert_eq!((&logo.bytes[..], logo.content_type, logo.immutable), (&b"<svg/>"[..], "image/svg+xml", false));
    assert!(asset(&themes, "acme", "app.0123456789abcdef.js").await.unwrap().immutable);
}

#[tokio::test]
async fn concurrent_asset_requests_share_one_read() {
    let s3 = S3::start().await;
    s3.put(LOGO, "<svg/>").await;
    s3.put("themes/acme/queue.html", saying("acme")).await;
    let themes = fresh(&s3, AT_ONCE);
    until_says(&themes, "acme", "acme").await;
    s3.delay(Duration::from_millis(50));
    let assets = join_all((0..200).map(|_| asset(&themes, "acme", "img/logo.svg"))).await;
    assert!(assets.iter().all(Option::is_some), "{assets:?}");
    until_looked(&s3, &themes, "acme").await;
    assert!(asset(&themes, "acme", "img/logo.svg").await.is_some());
    assert_eq!(s3.reads(LOGO), 1);
}

#[tokio::test]
async fn changed_and_deleted_assets_are_noticed() {
    let s3 = S3::start().await;
    s3.put(LOGO, "<svg/>").await;
    let themes = fresh(&s3, AT_ONCE);
    let logo = async || asset(&themes, "acme", "img/logo.svg").await;
    let first: Asset = logo().await.unwrap();
    s3.put(LOGO, "<svg></svg>").await;
    wait_until("the asset changes", TIMEOUT, async || logo().await.unwrap().etag != first.etag).await;
    assert_eq!(logo().await.unwrap().bytes, "<svg></svg>");
    s3.delete(LOGO).await;
    wait_until("the asset is gone", TIMEOUT, async || logo().await.is_none()).await;
}

#[tokio::test]
async fn default_page_has_its_assets() {
    let s3 = S3::start().await;
    s3.put("themes/default/queue.html", saying("default")).await;
    s3.put("themes/default/logo.svg", "<svg id=\"default\"/>").await;
    s3.put("themes/default/only.svg", "<svg/>").await;
    s3.put("themes/broken/queue.html", "{% if %}").await;
    s3.put("themes/broken/logo.svg", "<svg id=\"broken\"/>").await;
    s3.put("themes/acme/queue.html", saying("acme")).await;
    let themes = fresh(&s3, NEVER);
    let text = async |name: &str, path: &str| {
        asset(&themes, name, path).await.map(|found| String::from_utf8(found.bytes.to_vec()).unwrap())
    };
    assert_eq!(text("missing", "logo.svg").await.unwrap(), "<svg id=\"default\"/>");
    assert_eq!(text("broken", "logo.svg").await.unwrap(), "<svg id=\"broken\"/>");
    assert_eq!(text("broken", "only.svg").await.unwrap(), "<svg/>");
    assert_eq!(text("acme", "logo.svg").await, None);
}

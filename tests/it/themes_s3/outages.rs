//! S3 gone, silent or slow.

use std::time::Duration;

use tokio::time::timeout;
use vestibule_tests::{S3, wait_until};
use vestibule_themes::{ThemeError, ThemeStorageUnavailable, Themes};

use super::{AT_ONCE, NEVER, address, asset, fresh, page, saying, theme, until_looked, until_says};
use crate::gate_fixture::TIMEOUT;

const PAGE: &str = "themes/acme/queue.html";
const LOGO: &str = "themes/acme/logo.svg";
/// Far less than if each of a hundred requests waited for S3, and far more than any machine takes.
const SOON: Duration = Duration::from_secs(20);

/// A bucket with one theme that is shown, one of its two assets kept.
async fn shown() -> (S3, Themes) {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("first")).await;
    s3.put(LOGO, "<svg/>").await;
    s3.put("themes/acme/other.svg", "<svg/>").await;
    let themes = fresh(&s3, AT_ONCE);
    until_says(&themes, "acme", "first").await;
    assert!(asset(&themes, "acme", "logo.svg").await.is_some());
    until_looked(&s3, &themes, "acme").await;
    (s3, themes)
}

async fn assert_what_was_read_is_served(themes: &Themes) {
    let served = timeout(SOON, async {
        for _ in 0..100 {
            assert_eq!(page(themes, "acme").await, "first");
            assert_eq!(&themes.asset(&theme("acme"), "logo.svg").await.unwrap().unwrap().bytes[..], b"<svg/>");
            assert_eq!(themes.asset(&theme("acme"), "none.svg").await, Ok(None));
        }
    });
    served.await.expect("requests waited for S3");
    let unread = timeout(SOON, themes.asset(&theme("acme"), "other.svg")).await;
    assert_eq!(unread.expect("a request waited for S3 without end"), Err(ThemeStorageUnavailable));
}

#[tokio::test]
async fn cached_files_are_served_while_s3_is_down() {
    let (mut s3, themes) = shown().await;
    s3.kill();
    assert_what_was_read_is_served(&themes).await;
    s3.restart().await;
    s3.put(PAGE, saying("second")).await;
    until_says(&themes, "acme", "second").await;
}

#[tokio::test]
async fn cached_files_are_served_while_s3_is_silent() {
    let (s3, themes) = shown().await;
    s3.freeze();
    assert_what_was_read_is_served(&themes).await;
    s3.thaw();
    s3.put(PAGE, saying("second")).await;
    until_says(&themes, "acme", "second").await;
}

#[tokio::test]
async fn built_in_page_is_shown_without_s3_from_the_start() {
    let mut s3 = S3::start().await;
    s3.kill();
    let themes = fresh(&s3, NEVER);
    assert_eq!(page(&themes, "acme").await, "built-in");
    assert_eq!(themes.asset(&theme("acme"), "logo.svg").await, Err(ThemeStorageUnavailable));
    s3.restart().await;
    s3.put(PAGE, saying("there")).await;
    until_says(&themes, "acme", "there").await;
}

#[tokio::test]
async fn only_first_requests_wait_for_a_silent_s3() {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("there")).await;
    s3.freeze();
    let themes = fresh(&s3, NEVER);
    let shown = timeout(SOON, async {
        for _ in 0..100 {
            assert_eq!(page(&themes, "acme").await, "built-in");
        }
    });
    shown.await.expect("every request waited");
    s3.thaw();
    until_says(&themes, "acme", "there").await;
}

#[tokio::test]
async fn slow_s3_is_read_in_the_background() {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("there")).await;
    s3.delay(Duration::from_millis(1200));
    let themes = fresh(&s3, NEVER);
    assert_eq!(page(&themes, "acme").await, "built-in");
    until_says(&themes, "acme", "there").await;
}

#[tokio::test]
async fn missing_bucket_is_reported() {
    let s3 = S3::start().await;
    let themes = Themes::on_server(s3.server(), address("s3://no-such-bucket/themes"), AT_ONCE);
    assert_eq!(page(&themes, "acme").await, "built-in");
    let Err(ThemeError::Read { file, message }) = themes.check(&theme("acme")).await else { panic!("found nothing") };
    assert_eq!(file.to_str(), Some("s3://no-such-bucket/themes/acme"));
    assert!(message.contains("404 NoSuchBucket"), "{message}");
}

#[tokio::test]
async fn refused_connection_is_reported() {
    let mut s3 = S3::start().await;
    let mut server = s3.server();
    server.endpoint = format!("http://127.0.0.1:{}", vestibule_tests::free_port());
    s3.kill();
    let themes = Themes::on_server(server, address("s3://themes"), AT_ONCE);
    let Err(ThemeError::Read { message, .. }) = themes.check(&theme("acme")).await else { panic!("found nothing") };
    assert!(message.contains("refused"), "{message}");
    wait_until("the built-in page is shown", TIMEOUT, async || page(&themes, "acme").await == "built-in").await;
}

#[tokio::test]
async fn lost_response_is_retried_once() {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("acme")).await;
    let themes = fresh(&s3, NEVER);
    until_says(&themes, "other", "built-in").await;
    s3.drop_next(1);
    assert_eq!(themes.check(&theme("acme")).await, Ok(()));
    s3.drop_next(2);
    let Err(ThemeError::Read { .. }) = themes.check(&theme("acme")).await else { panic!("asked three times") };
}

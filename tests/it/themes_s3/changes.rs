//! What happens to a theme while it is shown.

use std::time::Duration;

use tokio::time::sleep;
use vestibule_tests::{S3, wait_until};
use vestibule_themes::{TEMPLATE_MAX, TEMPLATES_MAX};

use super::{AT_ONCE, NEVER, closed_page, fresh, listings, page, saying, until_looked, until_says};
use crate::gate_fixture::TIMEOUT;

const PAGE: &str = "themes/acme/queue.html";

/// A bucket with one theme that is shown.
async fn shown() -> (S3, vestibule_themes::Themes) {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("first")).await;
    let themes = fresh(&s3, AT_ONCE);
    until_says(&themes, "acme", "first").await;
    (s3, themes)
}

#[tokio::test]
async fn changes_are_refreshed_in_the_background() {
    let (s3, themes) = shown().await;
    s3.delay(Duration::from_millis(400));
    s3.put(PAGE, saying("second")).await;
    let before = listings(&s3, "acme");
    assert_eq!(page(&themes, "acme").await, "first", "the request waited for the look that it began");
    wait_until("the theme is being looked at", TIMEOUT, async || listings(&s3, "acme") > before).await;
    assert_eq!(page(&themes, "acme").await, "first", "a request waited for a look under way");
    until_says(&themes, "acme", "second").await;
}

#[tokio::test]
async fn only_changed_files_are_reread() {
    let (s3, themes) = shown().await;
    s3.put("themes/acme/closed.html", "shut.").await;
    wait_until("the closed page is there", TIMEOUT, async || closed_page(&themes, "acme").await == "shut").await;
    until_looked(&s3, &themes, "acme").await;
    assert_eq!((s3.reads(PAGE), s3.reads("themes/acme/closed.html")), (1, 1));
    s3.put("themes/acme/closed.html", "shut again.").await;
    wait_until("the closed page changes", TIMEOUT, async || closed_page(&themes, "acme").await == "shut again").await;
    assert_eq!((s3.reads(PAGE), s3.reads("themes/acme/closed.html")), (1, 2));
}

#[tokio::test]
async fn deleted_theme_is_not_shown() {
    let (s3, themes) = shown().await;
    s3.put("themes/acme/closed.html", "shut.").await;
    wait_until("the closed page is there", TIMEOUT, async || closed_page(&themes, "acme").await == "shut").await;
    s3.delete("themes/acme/closed.html").await;
    wait_until("the closed page is gone", TIMEOUT, async || closed_page(&themes, "acme").await == "built-in").await;
    assert_eq!(page(&themes, "acme").await, "first");

    s3.put("themes/default/queue.html", saying("default")).await;
    s3.delete(PAGE).await;
    until_says(&themes, "acme", "default").await;
    s3.delete("themes/default/queue.html").await;
    until_says(&themes, "acme", "built-in").await;
    s3.put(PAGE, saying("third")).await;
    until_says(&themes, "acme", "third").await;
}

/// Whatever may be wrong with one file of a theme.
fn broken() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let of = |text: &str| text.as_bytes().to_vec();
    vec![
        ("does not compile", "queue.html", of("{% if %}{{ script_tags }}")),
        ("is cut off", "queue.html", of("{{ script_tags }}{% if posit")),
        ("fails in one state", "queue.html", of("{{ script_tags }}{% if state == \"paused\" %}{{ 1 / 0 }}{% endif %}")),
        ("fails in one language", "queue.html", of("{{ script_tags }}{% if lang == \"cy\" %}{{ 1 / 0 }}{% endif %}")),
        ("names what there is not", "queue.html", of("{{ script_tags }}{{ positon }}")),
        ("would never move", "queue.html", of("no script.")),
        (
            "never ends",
            "queue.html",
            of("{{ script_tags }}{% for a in range(1000) %}{% for b in range(1000) %}{% endfor %}{% endfor %}"),
        ),
        ("is too large", "queue.html", vec![b'x'; TEMPLATE_MAX as usize + 1]),
        ("is no text", "queue.html", vec![0xff; 64]),
        ("is no text, and not even used", "part.html", vec![0xff; 64]),
        ("breaks the other page", "closed.html", of("{% if %}")),
    ]
}

#[tokio::test]
async fn broken_upload_keeps_the_last_valid_version() {
    let (s3, themes) = shown().await;
    for (what, file, content) in broken() {
        let key = format!("themes/acme/{file}");
        s3.put(&key, content).await;
        until_looked(&s3, &themes, "acme").await;
        assert_eq!(page(&themes, "acme").await, "first", "a template that {what}");
        if key == PAGE {
            s3.put(PAGE, saying("first")).await;
        } else {
            s3.delete(&key).await;
        }
        until_looked(&s3, &themes, "acme").await;
    }
    s3.put(PAGE, saying("second")).await;
    until_says(&themes, "acme", "second").await;
}

#[tokio::test]
async fn a_broken_version_is_read_once() {
    let (s3, themes) = shown().await;
    s3.put(PAGE, "{% if %}").await;
    until_looked(&s3, &themes, "acme").await;
    until_looked(&s3, &themes, "acme").await;
    assert_eq!(s3.reads(PAGE), 2);
}

#[tokio::test]
async fn new_process_falls_back_on_a_broken_upload() {
    let s3 = S3::start().await;
    for (what, file, content) in broken() {
        s3.put(&format!("themes/acme/{file}"), content).await;
        let themes = fresh(&s3, AT_ONCE);
        until_looked(&s3, &themes, "acme").await;
        assert_eq!(page(&themes, "acme").await, "built-in", "a template that {what}");
        s3.delete(&format!("themes/acme/{file}")).await;
    }
    s3.put(PAGE, "{% if %}").await;
    s3.put("themes/default/queue.html", saying("default")).await;
    let themes = fresh(&s3, AT_ONCE);
    until_says(&themes, "acme", "default").await;
    s3.put(PAGE, saying("fixed")).await;
    until_says(&themes, "acme", "fixed").await;
}

#[tokio::test]
async fn incomplete_theme_is_not_shown() {
    let (s3, themes) = shown().await;
    s3.put(PAGE, "second{% include \"part.html\" %}{{ script_tags }}").await;
    until_looked(&s3, &themes, "acme").await;
    assert_eq!(page(&themes, "acme").await, "first");
    s3.put("themes/acme/part.html", ", with its part.").await;
    until_says(&themes, "acme", "second, with its part").await;
}

#[tokio::test]
async fn too_many_templates_keep_the_page_that_works() {
    let (s3, themes) = shown().await;
    for n in 0..TEMPLATES_MAX {
        s3.put(&format!("themes/acme/part-{n}.html"), "x").await;
    }
    s3.put(PAGE, saying("second")).await;
    until_looked(&s3, &themes, "acme").await;
    assert_eq!(page(&themes, "acme").await, "first");
    s3.delete("themes/acme/part-0.html").await;
    until_says(&themes, "acme", "second").await;
}

#[tokio::test]
async fn theme_changed_during_refresh_is_listed_again() {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("first")).await;
    let themes = fresh(&s3, NEVER);
    until_says(&themes, "other", "built-in").await;
    s3.delay(Duration::from_secs(1));
    let first = themes.clone();
    tokio::spawn(async move { page(&first, "acme").await });
    wait_until("the theme is being listed", TIMEOUT, async || listings(&s3, "acme") == 1).await;
    // The answer is on its way, and says what was there before this.
    sleep(Duration::from_millis(300)).await;
    s3.put(PAGE, saying("second")).await;
    s3.delay(Duration::ZERO);
    until_says(&themes, "acme", "second").await;
    assert_eq!((listings(&s3, "acme"), s3.reads(PAGE)), (2, 2));
}

//! The first look at a theme.

use std::time::Duration;

use futures_util::future::join_all;
use vestibule_tests::{S3, wait_until};
use vestibule_themes::{ThemeError, Themes};

use super::{
    NEVER, address, closed_page, first_says, fresh, listings, page, said, saying, theme, until_says, view,
    visitor_status,
};
use crate::gate_fixture::TIMEOUT;

#[tokio::test]
async fn first_request_waits_for_the_theme() {
    let s3 = S3::start().await;
    s3.put("themes/acme/queue.html", "{% include \"part.html\" %}{{ script_tags }}").await;
    s3.put("themes/acme/part.html", "Acme {{ queue.name }}.").await;
    s3.put("themes/acme/closed.html", "Acme shut.").await;
    s3.put("themes/acme/deep/queue.html", "not a page.").await;
    s3.put("themes/acme-2/queue.html", saying("the other")).await;
    s3.put("themes-old/acme/queue.html", saying("the old")).await;
    let themes = first_says(&s3, NEVER, "acme", "Acme World tour").await;
    assert_eq!(closed_page(&themes, "acme").await, "Acme shut");
    until_says(&themes, "acme-2", "the other").await;
    assert_eq!(closed_page(&themes, "acme-2").await, "built-in");
    assert_eq!(themes.check(&theme("acme")).await, Ok(()));
}

#[tokio::test]
async fn default_theme_is_the_fallback() {
    let s3 = S3::start().await;
    s3.put("themes/acme/queue.html", saying("acme")).await;
    let themes = fresh(&s3, NEVER);
    assert_eq!(page(&themes, "missing").await, "built-in");
    assert_eq!(said(&themes.queue_page(None, &view(&visitor_status())).await), "built-in");
    assert_eq!(themes.check(&theme("missing")).await, Err(ThemeError::Missing { theme: theme("missing") }));

    s3.put("themes/default/queue.html", saying("default")).await;
    let themes = first_says(&s3, NEVER, "missing", "default").await;
    assert_eq!(said(&themes.queue_page(None, &view(&visitor_status())).await), "default");
    until_says(&themes, "acme", "acme").await;
}

#[tokio::test]
async fn prefix_is_optional() {
    let s3 = S3::start().await;
    s3.put("acme/queue.html", saying("at the top")).await;
    let themes = Themes::on_server(s3.server(), address(&s3.themes("")), NEVER);
    until_says(&themes, "acme", "at the top").await;
}

#[tokio::test]
async fn first_requests_share_one_listing() {
    let s3 = S3::start().await;
    s3.put("themes/acme/queue.html", saying("acme")).await;
    s3.delay(Duration::from_millis(50));
    let mut processes = 0;
    wait_until("all first requests of a process get the page", TIMEOUT, async || {
        let themes = fresh(&s3, NEVER);
        let pages = join_all((0..1000).map(|_| page(&themes, "acme"))).await;
        until_says(&themes, "acme", "acme").await;
        processes += 1;
        assert_eq!((listings(&s3, "acme"), s3.reads("themes/acme/queue.html")), (processes, processes));
        pages.iter().all(|page| page == "acme")
    })
    .await;
}

#[tokio::test]
async fn a_hundred_themes_are_each_read_once() {
    let s3 = S3::start().await;
    let names: Vec<String> = (0..100).map(|n| format!("brand-{n}")).collect();
    for name in &names {
        s3.put(&format!("themes/{name}/queue.html"), saying(name)).await;
    }
    let themes = fresh(&s3, NEVER);
    for _round in 0..2 {
        for name in &names {
            until_says(&themes, name, name).await;
        }
    }
    for name in &names {
        assert_eq!((listings(&s3, name), s3.reads(&format!("themes/{name}/queue.html"))), (1, 1), "{name}");
    }
}

#[tokio::test]
async fn default_theme_is_loaded_at_start() {
    let s3 = S3::start().await;
    s3.put("themes/default/queue.html", saying("default")).await;
    let _themes = fresh(&s3, NEVER);
    wait_until("it is read", TIMEOUT, async || s3.reads("themes/default/queue.html") == 1).await;
}

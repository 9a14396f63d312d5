//! Themes in a bucket: what visitors see while its owners, the network and S3 do what they do.

mod assets;
mod changes;
mod credentials;
mod limits;
mod loading;
mod outages;
mod program;

use std::time::Duration;

use vestibule_core::ThemeId;
use vestibule_tests::{S3, wait_until};
use vestibule_themes::{Asset, BucketAddress, Themes};

use crate::gate_fixture::{TIMEOUT, view, visitor_status};

/// Every request looks again, unless a look is under way: no test waits for a time to pass.
const AT_ONCE: Option<Duration> = Some(Duration::ZERO);
/// Nobody looks again.
const NEVER: Option<Duration> = Some(Duration::from_hours(1));

/// A page of the theme's own, which says `text`.
fn saying(text: &str) -> String {
    format!("{text}.{{{{ script_tags }}}}")
}

/// The themes of a bucket, as a process that has just started finds them.
fn fresh(s3: &S3, recheck: Option<Duration>) -> Themes {
    Themes::on_server(s3.server(), address(&s3.themes("themes")), recheck)
}

fn address(text: &str) -> BucketAddress {
    text.parse().unwrap()
}

fn theme(name: &str) -> ThemeId {
    name.parse().unwrap()
}

/// The page of one who waits: what stands before its script, and `built-in` for the built-in one.
async fn page(themes: &Themes, name: &str) -> String {
    said(&themes.queue_page(Some(&theme(name)), &view(&visitor_status())).await)
}

async fn closed_page(themes: &Themes, name: &str) -> String {
    said(&themes.closed_page(Some(&theme(name)), &view(&visitor_status())).await)
}

fn said(page: &str) -> String {
    if page.contains("<main class=\"card\">") {
        return "built-in".to_owned();
    }
    page.split('.').next().unwrap_or_default().to_owned()
}

/// Waits until the theme's page says `text`.
async fn until_says(themes: &Themes, name: &str, text: &str) {
    wait_until(&format!("{name} says {text}"), TIMEOUT, async || page(themes, name).await == text).await;
}

/// A process whose very first page of a theme says `text`. On a busy machine not every one's does.
async fn first_says(s3: &S3, recheck: Option<Duration>, name: &str, text: &str) -> Themes {
    let mut found = None;
    wait_until(&format!("the first page of {name} says {text}"), TIMEOUT, async || {
        let themes = fresh(s3, recheck);
        found = (page(&themes, name).await == text).then_some(themes);
        found.is_some()
    })
    .await;
    found.unwrap()
}

/// A file of a theme, asked for until the answer is one.
async fn asset(themes: &Themes, name: &str, path: &str) -> Option<Asset> {
    let mut found = None;
    wait_until(&format!("there is an answer about {path}"), TIMEOUT, async || {
        found = themes.asset(&theme(name), path).await.ok();
        found.is_some()
    })
    .await;
    found.unwrap()
}

/// Waits until a look at the theme that began after this call has ended. For [`AT_ONCE`].
async fn until_looked(s3: &S3, themes: &Themes, name: &str) {
    let before = listings(s3, name);
    wait_until("the theme is looked at again", TIMEOUT, async || {
        page(themes, name).await;
        // One may have been under way, and the last of three may be now.
        listings(s3, name) >= before + 3
    })
    .await;
}

fn listings(s3: &S3, name: &str) -> usize {
    s3.listings(&format!("themes/{name}/"))
}

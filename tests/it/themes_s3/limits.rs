//! What a bucket may hold, and what of it is taken.

use futures_util::{StreamExt as _, stream};
use vestibule_tests::S3;
use vestibule_themes::{ASSET_MAX, ASSETS_KEPT_MAX, FILES_MAX, ThemeError};

use super::{AT_ONCE, NEVER, asset, fresh, page, saying, theme, until_looked, until_says};

const PAGE: &str = "themes/acme/queue.html";

#[tokio::test]
async fn too_many_files_keep_the_page_that_works() {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("first")).await;
    s3.put("themes/acme/logo.svg", "<svg/>").await;
    let themes = fresh(&s3, AT_ONCE);
    until_says(&themes, "acme", "first").await;
    stream::iter(0..FILES_MAX - 1)
        .for_each_concurrent(16, async |n| s3.put(&format!("themes/acme/img/{n}.svg"), "<svg/>").await)
        .await;
    s3.put(PAGE, saying("second")).await;
    until_looked(&s3, &themes, "acme").await;
    assert_eq!(page(&themes, "acme").await, "first");
    assert!(asset(&themes, "acme", "logo.svg").await.is_some());
    let another = fresh(&s3, AT_ONCE);
    until_looked(&s3, &another, "acme").await;
    assert_eq!(page(&another, "acme").await, "built-in");
    assert!(matches!(another.check(&theme("acme")).await, Err(ThemeError::TooManyFiles { .. })));

    s3.delete("themes/acme/img/0.svg").await;
    until_says(&themes, "acme", "second").await;
    until_says(&another, "acme", "second").await;
    assert!(asset(&themes, "acme", "img/1.svg").await.is_some());
}

#[tokio::test]
async fn odd_keys_do_not_leave_the_theme_or_break_listing() {
    let s3 = S3::start().await;
    s3.put(PAGE, saying("acme")).await;
    s3.put("themes/secret.css", "secret").await;
    s3.put("themes/other/x.css", "secret").await;
    let odd = [
        "/x.css",
        "..",
        ".hidden.css",
        "a\\b.css",
        "c:x.css",
        "x\u{1}.css",
        "\u{1}\u{7f}&<>.html",
        "dir/",
        "",
        "a/.git/x.css",
    ];
    for path in odd {
        s3.put(&format!("themes/acme/{path}"), "odd").await;
    }
    for path in ["img/a b+c&é%20.css", "köln.svg", "key.pem", "notes.toml", "UPPER.CSS"] {
        s3.put(&format!("themes/acme/{path}"), path).await;
    }
    let themes = fresh(&s3, NEVER);
    until_says(&themes, "acme", "acme").await;
    for path in
        odd.into_iter().chain(["../secret.css", "../other/x.css", "queue.html", "key.pem", "notes.toml", "UPPER.CSS"])
    {
        assert_eq!(asset(&themes, "acme", path).await, None, "{path:?}");
    }
    let listings: Vec<String> = s3.asked().into_iter().filter(|asked| asked.contains("list-type=2")).collect();
    assert!(
        listings.iter().all(|asked| asked.contains("encoding-type=url")),
        "as they are, keys are no XML: {listings:?}"
    );
    for path in ["img/a b+c&é%20.css", "köln.svg"] {
        let found = asset(&themes, "acme", path).await.unwrap_or_else(|| panic!("{path}"));
        assert_eq!(found.bytes, path);
    }
}

#[tokio::test]
async fn an_asset_that_is_too_large_is_not_served() {
    let s3 = S3::start().await;
    s3.put("themes/acme/fits.mp4", vec![0; ASSET_MAX as usize]).await;
    s3.put("themes/acme/big.mp4", vec![0; ASSET_MAX as usize + 1]).await;
    let themes = fresh(&s3, NEVER);
    assert!(asset(&themes, "acme", "fits.mp4").await.is_some());
    assert_eq!(asset(&themes, "acme", "big.mp4").await, None);
    assert_eq!(s3.reads("themes/acme/big.mp4"), 0);
}

#[tokio::test]
async fn assets_in_memory_are_bounded() {
    let mut s3 = S3::start().await;
    let names: Vec<String> = (0..2 * ASSETS_KEPT_MAX / ASSET_MAX).map(|n| format!("{n}.mp4")).collect();
    for name in &names {
        s3.put(&format!("themes/acme/{name}"), vec![0; ASSET_MAX as usize]).await;
    }
    let themes = fresh(&s3, NEVER);
    for name in &names {
        assert!(asset(&themes, "acme", name).await.is_some(), "{name}");
    }
    s3.kill();
    let mut kept = 0;
    for name in &names {
        kept += u64::from(themes.asset(&theme("acme"), name).await.is_ok());
    }
    assert!(kept > 0 && kept <= ASSETS_KEPT_MAX / ASSET_MAX, "{kept} of {} are kept", names.len());
}

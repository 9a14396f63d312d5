//! The queue page of first visits. It is the same for all of them, so it is rendered once a second at most.
//!
//! It has no nonce: its policy names the styles by their hashes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use vestibule_core::QueueId;
use vestibule_freeze::FreezeAwareInstant;
use vestibule_themes::Language;

use crate::compression::{Compression, gzip};

/// For how long a page is used.
const USED_FOR: Duration = Duration::from_secs(1);
/// Maximum number of pages. Hosts and languages of requests make them, so it is bounded.
const PAGES_MAX: usize = 256;

/// All that the page of a first visit depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct PageKey {
    pub(crate) queue: QueueId,
    pub(crate) revision: u64,
    /// The name of the visitor state.
    pub(crate) state: &'static str,
    pub(crate) host: Option<String>,
    pub(crate) language: Language,
    pub(crate) message: Option<String>,
}

/// A rendered page.
pub(crate) struct CachedPage {
    pub(crate) body: Bytes,
    /// `None` if it can't be compressed.
    pub(crate) gzipped: Option<Bytes>,
    /// The sources of its styles, for `style-src`.
    pub(crate) style_sources: String,
    rendered_at: FreezeAwareInstant,
}

impl CachedPage {
    fn of(html: String) -> Self {
        let gzipped = gzip(html.as_bytes(), Compression::default()).map(Bytes::from);
        Self { style_sources: style_sources(&html), gzipped, body: html.into(), rendered_at: FreezeAwareInstant::now() }
    }
}

/// The pages of first visits.
#[derive(Default)]
pub(crate) struct PageCache(Mutex<HashMap<PageKey, Arc<CachedPage>>>);

impl PageCache {
    /// The page of this key if it was rendered within the last second, else what `render` makes.
    pub(crate) async fn page(&self, key: PageKey, render: impl AsyncFnOnce() -> String) -> Arc<CachedPage> {
        if let Some(page) = self.found(&key) {
            return page;
        }
        let page = Arc::new(CachedPage::of(Box::pin(render()).await));
        let mut pages = self.0.lock();
        if pages.len() >= PAGES_MAX {
            pages.retain(|_, page| page.rendered_at.elapsed() < USED_FOR);
        }
        if pages.len() < PAGES_MAX {
            pages.insert(key, page.clone());
        }
        page
    }

    fn found(&self, key: &PageKey) -> Option<Arc<CachedPage>> {
        let pages = self.0.lock();
        pages.get(key).filter(|page| page.rendered_at.elapsed() < USED_FOR).cloned()
    }
}

/// The hashes of the inline styles of a page, as sources of a content security policy.
fn style_sources(html: &str) -> String {
    // Names of elements have no case. The positions are those in the page itself.
    let lowercase = html.to_ascii_lowercase();
    let styles = lowercase.match_indices("<style").filter_map(|(at, _)| {
        let begin = at + lowercase[at..].find('>')? + 1;
        let end = begin + lowercase[begin..].find("</style")?;
        Some(&html[begin..end])
    });
    let hashes = styles.map(|style| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(style.as_bytes()))));
    hashes.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(host: &str) -> PageKey {
        PageKey {
            queue: "tour".parse().unwrap(),
            revision: 1,
            state: "waiting",
            host: Some(host.to_owned()),
            language: Language::English,
            message: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn page_is_rendered_once_a_second() {
        let cache = PageCache::default();
        let first = cache.page(key("a"), async || "<p>1</p>".to_owned()).await;
        tokio::time::advance(Duration::from_millis(999)).await;
        let again = cache.page(key("a"), async || "<p>2</p>".to_owned()).await;
        assert_eq!((&first.body[..], &again.body[..]), (&b"<p>1</p>"[..], &b"<p>1</p>"[..]));
        assert_eq!(cache.page(key("b"), async || "<p>3</p>".to_owned()).await.body, "<p>3</p>");
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(cache.page(key("a"), async || "<p>4</p>".to_owned()).await.body, "<p>4</p>");
    }

    #[tokio::test(start_paused = true)]
    async fn number_of_pages_is_bounded() {
        let cache = PageCache::default();
        for host in 0..2 * PAGES_MAX {
            cache.page(key(&host.to_string()), async || String::new()).await;
        }
        assert_eq!(cache.0.lock().len(), PAGES_MAX);
        tokio::time::advance(USED_FOR).await;
        cache.page(key("later"), async || String::new()).await;
        assert_eq!(cache.0.lock().len(), 1);
    }

    #[test]
    fn styles_are_named_by_their_hashes() {
        assert_eq!(style_sources("<p>a</p>"), "");
        let one = "'sha256-X1RutGBrXCt9KkSaXMK7tHftWiRscFHOhxsS8tv8hBk='";
        let two = style_sources("<style nonce=\"\">a{}</style><style>a{}</style>");
        assert_eq!(two, format!("{one} {one}"));
        assert_eq!(style_sources("<STYLE>a{}</Style>"), one);
    }
}

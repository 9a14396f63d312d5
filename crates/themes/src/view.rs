//! What a page is told.

use vestibule_core::VisitorStatus;

use crate::{Color, Language};

/// Where the own endpoints live.
pub(crate) const BASE_PATH: &str = "/_vestibule";

/// One visitor's view of one queue. Every text in it is escaped where it is shown.
#[derive(Debug, Clone, Copy)]
pub struct PageView<'a> {
    /// Where the visitor stands.
    pub visitor_status: &'a VisitorStatus,
    /// The queue's name as people know it: "Acme world tour".
    pub queue_name: &'a str,
    /// The brand's name: "Acme". Empty: the queue's name stands in.
    pub brand_name: &'a str,
    /// The brand's color; the built-in one without it.
    pub color: Option<Color>,
    /// Address of the brand's logo, best a path of this host: other hosts are outside the page's policy.
    pub logo: Option<&'a str>,
    /// The language to speak.
    pub language: Language,
    /// The nonce of this answer's `style-src`.
    pub nonce: &'a str,
    /// Where the theme's assets are, a `/` at its end: `/_vestibule/theme/acme-tour/`.
    pub asset_base: &'a str,
    /// Seconds after which a page without JavaScript loads itself again.
    pub refresh_seconds: u64,
    /// The queue's `hold_ttl` in seconds: how long an absent visitor's place is kept.
    pub hold_seconds: u64,
    /// The queue's `claim_ttl` in seconds: a tab that nobody looks at holds an admission for half of it.
    pub claim_seconds: u64,
    /// For how many more seconds the visitor's position, or the session of an admitted one, is kept; `None` if they have
    /// neither, or it is not known.
    pub kept_seconds: Option<u64>,
}

impl PageView<'_> {
    /// The brand's name, or the best there is in its place.
    pub(crate) fn brand(&self) -> &str {
        let names = [self.brand_name, self.queue_name, self.visitor_status.queue.as_str()];
        names.into_iter().find(|name| !name.is_empty()).unwrap_or_default()
    }

    /// Where an admitted visitor goes. Empty, which as a link is the page's own address, unless it is one to follow.
    pub(crate) fn enter_url(&self) -> &str {
        self.visitor_status.enter_url.as_deref().and_then(followable).unwrap_or_default()
    }

    /// The logo's address, if it is one to load.
    pub(crate) fn logo(&self) -> Option<&str> {
        self.logo.and_then(followable)
    }
}

/// An address of the web or a path of this host; never `javascript:` and its kin. Browsers take `\\` for `/`.
fn followable(url: &str) -> Option<&str> {
    let path = url.starts_with('/') && !url.starts_with("//") && !url.starts_with("/\\");
    (path || url.starts_with("https://") || url.starts_with("http://")).then_some(url)
}

/// A page that says one thing, in place of the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorPage {
    /// The site can't be reached: goes with 502. Retries automatically.
    OriginDown,
    /// The site didn't answer in time: goes with 504. Retries automatically.
    OriginSlow,
    /// No queue for this host: goes with 404.
    NoQueue,
    /// The line can't be reached: goes with 503. Retries automatically.
    Unavailable,
    /// The site's answer is more than can be passed on: goes with 502.
    ResponseTooLarge {
        /// The most that can be, in MiB.
        limit_mib: u32,
    },
}

impl ErrorPage {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::OriginDown, Self::OriginSlow, Self::NoQueue, Self::Unavailable, Self::ResponseTooLarge { limit_mib: 1 }];
    /// Seconds after which a page that retries loads itself again, with or without JavaScript.
    pub const RETRY_SECONDS: u64 = 10;

    /// Whether the page loads itself again.
    #[must_use]
    pub const fn retries(self) -> bool {
        matches!(self, Self::OriginDown | Self::OriginSlow | Self::Unavailable)
    }

    /// Its name in file names: `no_queue`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OriginDown => "origin_down",
            Self::OriginSlow => "origin_slow",
            Self::NoQueue => "no_queue",
            Self::Unavailable => "unavailable",
            Self::ResponseTooLarge { .. } => "response_too_large",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_urls_and_paths_are_links() {
        for good in ["/tickets?a=1", "https://shop.example/x", "http://localhost:8080/"] {
            assert_eq!(followable(good), Some(good));
        }
        for bad in ["", "javascript:alert(1)", "//evil.example", "/\\evil.example", "data:text/html,x", " https://x"] {
            assert_eq!(followable(bad), None, "{bad}");
        }
    }
}

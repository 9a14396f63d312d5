//! The public URL of the dashboard.

use std::fmt;
use std::str::FromStr;

use http::Uri;
use vestibule_core::QueueId;

/// Where browsers reach the dashboard: an address without a query, such as `https://admin.example.com`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminUrl(String);

/// The error for a text that is not an [`AdminUrl`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be the address of the dashboard, beginning with https:// or http:// and without a query, such as \
     https://admin.example.com"
)]
pub struct InvalidAdminUrl;

impl FromStr for AdminUrl {
    type Err = InvalidAdminUrl;

    fn from_str(text: &str) -> Result<Self, InvalidAdminUrl> {
        let text = text.trim();
        let url: Uri = text.parse().map_err(|_| InvalidAdminUrl)?;
        let is_http = matches!(url.scheme_str(), Some("http" | "https"));
        let has_host = url.authority().is_some_and(|it| !it.host().is_empty() && !it.as_str().contains('@'));
        let is_plain = url.query().is_none() && !text.contains('#');
        if is_http && has_host && is_plain {
            Ok(Self(text.trim_end_matches('/').to_owned()))
        } else {
            Err(InvalidAdminUrl)
        }
    }
}

impl fmt::Display for AdminUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AdminUrl {
    /// The address of a queue's overlay.
    pub(crate) fn overlay(&self, queue: &QueueId) -> String {
        format!("{self}/queues/{queue}/overlay")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admin_url_is_an_address_without_a_query() {
        let queue = "acme-tour".parse().unwrap();
        for url in ["https://admin.example.com", " https://admin.example.com/ "] {
            let url: AdminUrl = url.parse().unwrap();
            assert_eq!(url.overlay(&queue), "https://admin.example.com/queues/acme-tour/overlay");
        }
        assert!("http://127.0.0.1:8081".parse::<AdminUrl>().is_ok());
        for wrong in [
            "admin.example.com",
            "/admin",
            "ftp://admin.example.com",
            "https://",
            "https://user@admin.example.com",
            "https://admin.example.com/?a=1",
            "https://admin.example.com/#a",
            "https://admin.example.com/\r\nx: y",
        ] {
            assert_eq!(wrong.parse::<AdminUrl>(), Err(InvalidAdminUrl), "{wrong}");
        }
    }
}

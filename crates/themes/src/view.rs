//! The values of a page.

use vestibule_core::{JoinStep, VisitorState, VisitorStatus};

use crate::{Color, Language};

/// Base path of the gate's own endpoints.
pub(crate) const BASE_PATH: &str = "/_vestibule";

/// One visitor's view of one queue. Templates escape all texts.
#[derive(Debug, Clone, Copy)]
pub struct PageView<'a> {
    /// The status of the visitor.
    pub visitor_status: &'a VisitorStatus,
    /// The queue's display name: "Acme world tour".
    pub queue_name: &'a str,
    /// The brand's name: "Acme". If it is empty, the queue's name is shown.
    pub brand_name: &'a str,
    /// The brand color; by default that of the built-in theme.
    pub color: Option<Color>,
    /// URL of the brand's logo, preferably a path of this host: the page's policy does not allow other hosts.
    pub logo: Option<&'a str>,
    /// The language of the page.
    pub language: Language,
    /// The nonce of the response's `style-src`.
    pub nonce: &'a str,
    /// URL prefix of the theme's assets: `/_vestibule/theme/acme-tour/`.
    pub asset_base: &'a str,
    /// Seconds after which a page without JavaScript reloads; 0 if it must not repeat its request.
    pub refresh_seconds: u64,
    /// The queue's `hold_ttl` in seconds: how long an absent visitor's position is kept.
    pub hold_seconds: u64,
    /// Seconds for which the position or, after admission, the session is still kept; `None` without either, or if
    /// unknown.
    pub kept_seconds: Option<u64>,
    /// Path of the stream endpoint; `None` if the page only polls.
    pub stream_url: Option<&'a str>,
    /// The invitation code in the address of the page, as a pair of a query: an open page presents it again with each poll, until
    /// there is room for its session.
    pub invitation: Option<&'a str>,
    /// Whether the invitation code that the visitor presented last was wrong.
    pub code_wrong: bool,
    /// Names and values of the parameters of the address, which the form for an invitation code sends again.
    pub code_fields: &'a [(String, String)],
}

impl<'a> PageView<'a> {
    /// The view of a queue without a name, color or logo, in English; it reloads every 20 seconds, and `hold_ttl` is 10 minutes.
    pub const fn new(visitor_status: &'a VisitorStatus, nonce: &'a str, asset_base: &'a str) -> Self {
        Self {
            visitor_status,
            queue_name: "",
            brand_name: "",
            color: None,
            logo: None,
            language: Language::English,
            nonce,
            asset_base,
            refresh_seconds: 20,
            hold_seconds: 600,
            kept_seconds: None,
            stream_url: None,
            invitation: None,
            code_wrong: false,
            code_fields: &[],
        }
    }
}

impl PageView<'_> {
    /// The brand's name, else the queue's name, else its ID.
    pub(crate) fn brand(&self) -> &str {
        let names = [self.brand_name, self.queue_name, self.visitor_status.queue.as_str()];
        names.into_iter().find(|name| !name.is_empty()).unwrap_or_default()
    }

    /// Whether the page has the form for an invitation code, so that it does not reload by itself.
    pub(crate) fn asks_for_code(&self) -> bool {
        self.code_wrong || self.visitor_status.state == VisitorState::InvitationRequired
    }

    /// URL for an admitted visitor. Empty, which links to the page itself, if it is not safe to follow.
    pub(crate) fn enter_url(&self) -> &str {
        self.visitor_status.enter_url.as_deref().and_then(followable).unwrap_or_default()
    }

    /// URL of the page on which a newcomer signs in; empty for others.
    pub(crate) fn sign_in_url(&self) -> &str {
        match &self.visitor_status.join {
            Some(JoinStep::SignIn { url }) => followable(url).unwrap_or_default(),
            _ => "",
        }
    }

    /// URL of the line document, which also has the draw of an event.
    pub(crate) fn line_url(&self) -> String {
        format!("{BASE_PATH}/line?queue={}", self.visitor_status.queue)
    }

    /// URL of the logo, if it is safe to load.
    pub(crate) fn logo(&self) -> Option<&str> {
        self.logo.and_then(followable)
    }
}

/// Accepts web URLs and paths of this host, not `javascript:` and the like. Browsers read `\\` as `/`.
fn followable(url: &str) -> Option<&str> {
    let path = url.starts_with('/') && !url.starts_with("//") && !url.starts_with("/\\");
    (path || url.starts_with("https://") || url.starts_with("http://")).then_some(url)
}

/// Seconds after which the page of a job asks for its state, or an app for its outcome.
pub const JOB_POLL_SECONDS: u64 = 2;

/// The page of a job that a visitor follows: a held order, or a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobPage<'a> {
    /// What the page says.
    pub news: JobNews,
    /// The code that a visitor quotes: the job ID in groups of six characters.
    pub code: &'a str,
    /// Where the visitor continues; `None` if the page has no link.
    pub url: Option<&'a str>,
    /// Path of the JSON about the job, which the page asks for while the job runs.
    pub status_url: Option<&'a str>,
    /// What else is known about the job.
    pub details: &'a JobDetails,
}

/// What the page of a job shows beside the news.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobDetails {
    /// Its position among the jobs that wait, from 1; `None` if it does not wait, or if that is not known.
    pub position: Option<u64>,
    /// What its handler reported last.
    pub progress: Option<String>,
    /// The text with which its handler completed it.
    pub response: Option<String>,
}

impl JobPage<'_> {
    /// The link, if it is safe to follow.
    pub(crate) fn followable_url(&self) -> Option<&str> {
        self.url.and_then(followable)
    }
}

/// What the page of a job says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobNews {
    /// The order waits for its turn, or is being sent.
    OrderQueued,
    /// The shop could not take the order yet; it is sent again.
    OrderRetrying,
    /// The order was not placed.
    OrderFailed,
    /// Nobody knows whether the order was placed.
    OrderUnknown,
    /// The shop has answered, and its response can't be shown.
    OrderReceived,
    /// The order was submitted before, and its response is not kept any more.
    OrderSubmitted,
    /// The shop says that the order was placed.
    OrderPlaced,
    /// The job waits or runs.
    JobQueued,
    /// The job is done.
    JobCompleted,
    /// The job failed.
    JobFailed,
    /// Nobody knows whether the job was stored, or whether it was done.
    JobUnknown,
}

impl JobNews {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::OrderQueued,
        Self::OrderRetrying,
        Self::OrderFailed,
        Self::OrderUnknown,
        Self::OrderReceived,
        Self::OrderSubmitted,
        Self::OrderPlaced,
        Self::JobQueued,
        Self::JobCompleted,
        Self::JobFailed,
        Self::JobUnknown,
    ];

    /// Whether the page will say something else soon.
    pub const fn is_running(self) -> bool {
        matches!(self, Self::OrderQueued | Self::OrderRetrying | Self::JobQueued)
    }
}

/// An error page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorPage {
    /// The site is unreachable; status 502. Retries automatically.
    OriginDown,
    /// The site did not respond in time; status 504. Retries automatically.
    OriginSlow,
    /// No queue for this host; status 404.
    NoQueue,
    /// The line is unavailable; status 503. Retries automatically.
    Unavailable,
    /// The site's response is too large; status 502.
    ResponseTooLarge {
        /// The limit in MiB.
        limit_mib: u32,
    },
    /// The visitor's network is blocked; status 429. Retries automatically.
    JoinBlocked,
    /// More visitors join than the queue allows per second; status 429. Retries automatically.
    JoinRate,
    /// Too many visitors joined from the visitor's address or network; status 429. Retries automatically.
    JoinLimit,
    /// The visitor must sign in to join; status of the queue page.
    SignIn,
    /// The visitor's form was not accepted, or its page is not known; status of the error.
    NotProcessed,
    /// The same if the form was too large, or there were too many; status of the error.
    OverLimit,
}

impl ErrorPage {
    /// All error pages.
    pub const ALL: [Self; 11] = [
        Self::OriginDown,
        Self::OriginSlow,
        Self::NoQueue,
        Self::Unavailable,
        Self::ResponseTooLarge { limit_mib: 1 },
        Self::JoinBlocked,
        Self::JoinRate,
        Self::JoinLimit,
        Self::SignIn,
        Self::NotProcessed,
        Self::OverLimit,
    ];
    /// Seconds after which a page that retries reloads, with or without JavaScript.
    pub const RETRY_SECONDS: u64 = 10;

    /// Whether the page reloads automatically.
    pub const fn retries(self) -> bool {
        self.is_watched() || self.is_rejection()
    }

    /// Whether the page looks in the background for another status of its address, and reloads only then.
    pub(crate) const fn is_watched(self) -> bool {
        matches!(self, Self::OriginDown | Self::OriginSlow | Self::Unavailable)
    }

    /// Whether the page tells a newcomer that a limit rejected the join. It reloads when the visitor may try again.
    pub const fn is_rejection(self) -> bool {
        matches!(self, Self::JoinBlocked | Self::JoinRate | Self::JoinLimit)
    }

    /// Its name in file names: `no_queue`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OriginDown => "origin_down",
            Self::OriginSlow => "origin_slow",
            Self::NoQueue => "no_queue",
            Self::Unavailable => "unavailable",
            Self::ResponseTooLarge { .. } => "response_too_large",
            Self::JoinBlocked => "join_blocked",
            Self::JoinRate => "join_rate",
            Self::JoinLimit => "join_limit",
            Self::SignIn => "sign_in",
            Self::NotProcessed => "not_processed",
            Self::OverLimit => "over_limit",
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

//! The answer to a request about a visitor, before it is written.

use axum::response::Response;
use http::{HeaderName, StatusCode};
use serde::Serialize;
use vestibule_core::Challenge;
use vestibule_core::jobs::{JobId, JobQueueId};
use vestibule_runtime::Directory;
use vestibule_themes::{ErrorPage, JobDetails, JobNews};

use crate::cors::{CorsOrigin, cors_origin};
use crate::error::GateError;
use crate::request::RequestInfo;
use crate::response_buffer::ResponseBuffer;
use crate::visit_result::VisitResult;

/// Tells the origin that a request passes without an admission, and why.
pub(crate) const BYPASS_HEADER: HeaderName = HeaderName::from_static("x-vestibule-bypass");
/// Carries the pass to the origin.
pub(crate) const PASS_HEADER: HeaderName = HeaderName::from_static("x-vestibule-pass");

/// The answer to a request about a visitor.
pub(crate) struct Answer {
    pub(crate) visit: VisitResult,
    pub(crate) reply: Reply,
    pub(crate) pass: PassDelivery,
    pub(crate) cors: Option<CorsOrigin>,
}

/// What the visitor gets.
pub(crate) enum Reply {
    /// The response of the origin.
    Forwarded(Response, ResponseBuffer),
    /// 302 to this address.
    Redirect(String),
    /// The same after a wrong invitation code, which the page at that address reports.
    WrongCode(String),
    /// The queue page.
    QueuePage(StatusCode),
    /// A page in place of the response of the origin.
    ErrorPage(StatusCode, ErrorPage),
    /// The visitor status as JSON.
    Status(StatusCode),
    /// 401 with the visitor status for a forward-auth proxy, which sends the visitor to this address.
    CheckDenied(String),
    /// The challenge of a newcomer who has to prove work.
    Challenge(Box<Challenge>),
    /// 303 to this address of the gate.
    SeeOther(String),
    /// 202: the request became a job.
    Queued(QueuedJob),
    /// The page of a job.
    JobPage(StatusCode, JobReport),
    /// No body.
    Empty(StatusCode),
    /// Problem details, or a page for a navigation.
    Error(GateError),
}

/// A job, for the client whose request became it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct QueuedJob {
    pub(crate) job_id: JobId,
    pub(crate) job_queue: JobQueueId,
    pub(crate) state: &'static str,
    /// Whether it equals an earlier job, whose ID this is.
    pub(crate) duplicate: bool,
    /// Where the client follows it.
    #[serde(skip)]
    pub(crate) location: String,
}

/// What the page of a job says.
pub(crate) struct JobReport {
    pub(crate) news: JobNews,
    /// The job, whose ID the visitor quotes.
    pub(crate) job: Option<JobId>,
    /// Its job queue, if the page can change.
    pub(crate) job_queue: Option<JobQueueId>,
    /// Where the visitor continues.
    pub(crate) url: Option<String>,
    /// What else is known about it.
    pub(crate) details: JobDetails,
    /// Seconds after which the visitor may try again.
    pub(crate) retry_after: Option<u64>,
}

impl Reply {
    /// The page for a visitor who is not admitted: the queue page with this status, or the page of a rejection.
    pub(crate) fn page_of(visit: &VisitResult, status: StatusCode) -> Self {
        if let Some(page) = visit.sign_in_page() {
            return Self::ErrorPage(status, page);
        }
        visit
            .rejection_page()
            .map_or(Self::QueuePage(status), |page| Self::ErrorPage(StatusCode::TOO_MANY_REQUESTS, page))
    }
}

/// How the pass of an admitted visitor is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PassDelivery {
    /// Not in this response.
    None,
    /// In a cookie, if the origin receives it.
    Cookie,
    /// In a header for a forward-auth proxy, or the reason why there is none.
    Header,
}

impl Answer {
    pub(crate) const fn new(visit: VisitResult, reply: Reply) -> Self {
        Self { visit, reply, pass: PassDelivery::None, cors: None }
    }

    pub(crate) fn with_pass(self, pass: PassDelivery) -> Self {
        Self { pass, ..self }
    }

    pub(crate) fn with_cors(self, cors: CorsOrigin) -> Self {
        Self { cors: Some(cors), ..self }
    }

    /// The answer to a request to the site. A page of the site that may read the answer of the site may read what the gate says in
    /// its place.
    pub(crate) fn in_place_of_site(self, directory: &Directory, info: &RequestInfo) -> Self {
        let is_of_site = matches!(self.reply, Reply::Forwarded(..));
        match cors_origin(directory, info, &self.visit.queue.settings) {
            Ok(origin) if !is_of_site => self.with_cors(origin),
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::body::Body;
    use http::{Extensions, HeaderMap, Method, Uri, header};
    use serde_json::json;
    use vestibule_core::settings::Settings;
    use vestibule_core::{Micros, SystemClock, VisitorState, VisitorStatus};
    use vestibule_runtime::{Outcome, Queue};
    use vestibule_store_memory::MemoryStore;

    use super::*;
    use crate::client_rules::ClientRules;

    #[test]
    fn pages_of_the_site_may_read_what_the_gate_says_in_its_place() {
        let settings = Settings::from_value(&json!({
            "id": "tour", "tenant": "acme", "hosts": ["shop.example"], "quota": 1, "handover": { "kind": "check" },
        }));
        let settings = settings.unwrap();
        let directory =
            Directory::new(Arc::new(MemoryStore::new(SystemClock::new())), Vec::new(), vec![settings.clone()]);
        let queue = Arc::new(Queue { settings, tenant: None, ticket_cookies: Default::default() });
        let is_allowed = |page: &str, reply| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, "shop.example".parse().unwrap());
            headers.insert(header::ORIGIN, page.parse().unwrap());
            let (uri, extensions) = (Uri::from_static("/a"), Extensions::new());
            let info = RequestInfo::of(&Method::POST, &uri, headers, &extensions, 0, &ClientRules::default());
            let status = VisitorStatus::new(queue.settings.id.clone(), VisitorState::Admitted, 1);
            let visit = VisitResult::new(queue.clone(), status, Micros(0), Outcome::Bypassed);
            matches!(Answer::new(visit, reply).in_place_of_site(&directory, &info).cors, Some(CorsOrigin::Allowed(_)))
        };
        let forwarded = Reply::Forwarded(Response::new(Body::empty()), ResponseBuffer::of(&Extensions::new()));
        assert!(is_allowed("http://shop.example", Reply::Empty(StatusCode::BAD_REQUEST)));
        assert!(!is_allowed("http://evil.example", Reply::Empty(StatusCode::BAD_REQUEST)));
        assert!(!is_allowed("http://shop.example", forwarded), "the site has headers of its own");
    }
}

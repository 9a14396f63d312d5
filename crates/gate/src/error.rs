//! Errors of the gate as problem details (RFC 9457). Causes go to the log, never to the body.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use vestibule_core::jobs::{ENQUEUES_WINDOW, JobId};
use vestibule_runtime::{Decision, JobRequestError, Outcome, Problem};
use vestibule_themes::ErrorPage;

/// An error as a client sees it. The text of a variant says what happened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GateError {
    #[error("No queue is configured for this host.")]
    UnknownHost,
    #[error("No queue with this ID on this host. Pass it as queue={{id}}.")]
    UnknownQueue,
    #[error("Missing or invalid Host header.")]
    InvalidHost,
    /// The path has readings that different queues take, or too many readings, and rules decide by the path.
    #[error("The path of this URL is ambiguous: too long, or open to different interpretations. Use a simpler path.")]
    AmbiguousPath,
    /// The query, or this parameter of it.
    #[error("Invalid query. Give each parameter once, with a valid value.")]
    InvalidQuery(String),
    /// Two headers of a forward-auth request contradict each other.
    #[error("The values of {0} disagree. Set each header once in the proxy, or remove one.")]
    ConflictingHeaders(&'static str),
    #[error("No such endpoint.")]
    NotFound,
    #[error("This endpoint does not support this method.")]
    MethodNotAllowed,
    #[error("This gate does not know the address of the dashboard. Set VESTIBULE_ADMIN_URL (--admin-url).")]
    NoAdminUrl,
    /// A page of another site sent the request.
    #[error("Requests from this origin are not allowed.")]
    OriginNotAllowed,
    #[error("The store is unavailable. Try again.")]
    StoreUnavailable,
    #[error("Queues are not loaded yet because the store is unavailable. Try again.")]
    QueuesNotLoaded,
    #[error("Invalid {0} in the request.")]
    InvalidRequest(&'static str),
    #[error(
        "This request needs a pre-ticket. Send it again with the pre-ticket of this response, or of a visitor status."
    )]
    PreTicketRequired,
    #[error("Nothing is left to prove. Request the visitor status with this pre-ticket.")]
    NothingToProve,
    #[error("The proof of work is not valid: {0}.")]
    InvalidProof(String),
    #[error("Too many proofs of work from this address were not valid. Try again in {0} seconds.")]
    TooManyInvalidProofs(u64),
    #[error("The body must be JSON. Send it with Content-Type: application/json.")]
    NotJson,
    #[error("The body exceeds {limit_bytes} bytes.")]
    BodyTooLarge { limit_bytes: usize },
    #[error("The origin of this host leads back to the gate. Set it to an address of the site itself.")]
    OriginLoop,
    /// The origin cannot be reached, or its response is not HTTP.
    #[error("The site is not responding. Whether it has processed the request is unknown.")]
    OriginDown,
    #[error("The site did not respond in time. Whether it has processed the request is unknown.")]
    OriginSlow,
    #[error("The request could not be forwarded: its body did not arrive in time, is too large, or is not valid.")]
    NotForwarded(StatusCode),
    #[error("Too many upgraded connections are open, in all or from this address. Try again later.")]
    TooManyTunnels,
    /// The response of the origin exceeds the limit of a function.
    #[error("The origin's response exceeds {limit_mib} MB.")]
    ResponseTooLarge { limit_mib: u32 },
    #[error("No job queue with this ID takes jobs from visitors of this host. Check the ID and the setting producers.")]
    UnknownJobQueue,
    #[error("No job with this ID that this visitor may follow. Results are kept for result_ttl.")]
    UnknownJob,
    #[error("Only visitors with a ticket can do this. Open a page of this host first, and send its cookie.")]
    TicketRequired,
    #[error("Only admitted visitors can enqueue jobs here. Wait until it is your turn.")]
    NotActive,
    #[error("The job was not queued: {0}.")]
    InvalidJob(JobRequestError),
    #[error("The progress was not recorded: the body must be JSON: {0}.")]
    InvalidProgress(String),
    #[error("This job queue does not accept this Content-Type. Send one of its setting accepts.")]
    UnsupportedContentType,
    #[error("This visitor has enqueued too many jobs. Try again in a minute.")]
    TooManyJobs,
    #[error("The form is incomplete, or its boundary is wrong.")]
    InvalidForm,
    /// A function cannot upgrade connections.
    #[error("This deployment has no WebSockets. Use server-sent events: the same request without Upgrade.")]
    NoWebSockets,
    #[error("The job queue is full. Nothing was stored; try again later.")]
    JobQueueFull,
    /// The backend of the jobs can't be reached.
    #[error("Nothing was queued. Try again later.")]
    NotQueued,
    #[error("The job {0} may or may not be queued. Send the request again with the same Idempotency-Key.")]
    EnqueueUnconfirmed(JobId),
    /// The address at which progress is reported was not signed with the secret of the job queue.
    #[error("The signature of this address is not valid. Use the Vestibule-Progress-Url of the call as it is.")]
    InvalidSignature,
    /// The lease under which progress is reported has ended.
    #[error("The call of this address has ended, so its progress is not recorded any more.")]
    LeaseEnded,
    #[error(
        "Too many clients follow this job, or too many streams are open. Ask for the job without /events after poll_after seconds."
    )]
    TooManyFollowers,
    #[error("The order was not placed. It can be submitted again.")]
    OrderNotPlaced,
    #[error("The order may or may not have been placed. Do not submit it again; ask the shop about the job {0}.")]
    OrderOutcomeUnknown(JobId),
    #[error("This order has already been submitted, and the response to it is not kept any more.")]
    OrderAlreadySubmitted,
    /// A function cannot upgrade connections.
    #[error("Connection upgrades are not supported in this deployment.")]
    UpgradeNotSupported,
}

/// Seconds until a client should try again while the store is unavailable.
const RETRY_AFTER: u64 = 5;

impl GateError {
    /// Whether the same request may succeed soon.
    const fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::QueuesNotLoaded
                | Self::StoreUnavailable
                | Self::OrderNotPlaced
                | Self::JobQueueFull
                | Self::NotQueued
                | Self::EnqueueUnconfirmed(_)
                | Self::TooManyFollowers
                | Self::TooManyTunnels
        )
    }

    const fn table(&self) -> (StatusCode, &'static str, Option<&'static str>) {
        match self {
            Self::UnknownHost => (StatusCode::NOT_FOUND, "unknown_host", None),
            Self::UnknownQueue => (StatusCode::NOT_FOUND, "unknown_queue", Some("queue")),
            Self::InvalidHost => (StatusCode::BAD_REQUEST, "invalid_host", Some("host")),
            Self::AmbiguousPath => (StatusCode::BAD_REQUEST, "ambiguous_path", None),
            Self::InvalidQuery(_) => (StatusCode::BAD_REQUEST, "invalid_query", None),
            Self::ConflictingHeaders(headers) => (StatusCode::BAD_REQUEST, "conflicting_headers", Some(headers)),
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found", None),
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", None),
            Self::NoAdminUrl => (StatusCode::NOT_FOUND, "no_admin_url", None),
            Self::OriginNotAllowed => (StatusCode::FORBIDDEN, "origin_not_allowed", Some("origin")),
            Self::StoreUnavailable => (StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", None),
            Self::QueuesNotLoaded => (StatusCode::TOO_MANY_REQUESTS, "queues_not_loaded", None),
            Self::PreTicketRequired => (StatusCode::FORBIDDEN, "pre_ticket_required", None),
            Self::NothingToProve => (StatusCode::BAD_REQUEST, "nothing_to_prove", None),
            Self::InvalidProof(_) => (StatusCode::BAD_REQUEST, "invalid_proof", Some("proof")),
            Self::TooManyInvalidProofs(_) => (StatusCode::TOO_MANY_REQUESTS, "too_many_invalid_proofs", None),
            Self::NotJson => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", Some("content-type")),
            Self::BodyTooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", None),
            Self::InvalidRequest(part) => (StatusCode::BAD_REQUEST, "invalid_request", Some(part)),
            Self::OriginLoop => (StatusCode::LOOP_DETECTED, "origin_loop", None),
            Self::OriginDown => (StatusCode::BAD_GATEWAY, "origin_down", None),
            Self::OriginSlow => (StatusCode::GATEWAY_TIMEOUT, "origin_slow", None),
            Self::NotForwarded(status) => (*status, "not_forwarded", None),
            Self::TooManyTunnels => (StatusCode::SERVICE_UNAVAILABLE, "too_many_tunnels", None),
            Self::ResponseTooLarge { .. } => (StatusCode::BAD_GATEWAY, "response_too_large", None),
            Self::UnknownJobQueue => (StatusCode::NOT_FOUND, "unknown_job_queue", None),
            Self::UnknownJob => (StatusCode::NOT_FOUND, "unknown_job", None),
            Self::TicketRequired => (StatusCode::UNAUTHORIZED, "ticket_required", None),
            Self::NotActive => (StatusCode::FORBIDDEN, "not_active", None),
            Self::InvalidJob(error) => error.response(),
            Self::InvalidProgress(_) => (StatusCode::BAD_REQUEST, "invalid_json", None),
            Self::UnsupportedContentType => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_content_type", Some("content-type"))
            }
            Self::TooManyJobs => (StatusCode::TOO_MANY_REQUESTS, "too_many_jobs", None),
            Self::InvalidForm => (StatusCode::BAD_REQUEST, "invalid_form", None),
            Self::NoWebSockets => (StatusCode::NOT_IMPLEMENTED, "no_web_sockets", None),
            Self::JobQueueFull => (StatusCode::SERVICE_UNAVAILABLE, "job_queue_full", None),
            Self::NotQueued => (StatusCode::SERVICE_UNAVAILABLE, "not_queued", None),
            Self::EnqueueUnconfirmed(_) => (StatusCode::SERVICE_UNAVAILABLE, "enqueue_unconfirmed", None),
            Self::InvalidSignature => (StatusCode::FORBIDDEN, "invalid_signature", None),
            Self::LeaseEnded => (StatusCode::GONE, "lease_ended", None),
            Self::TooManyFollowers => (StatusCode::SERVICE_UNAVAILABLE, "too_many_followers", None),
            Self::OrderNotPlaced => (StatusCode::SERVICE_UNAVAILABLE, "order_not_placed", None),
            Self::OrderOutcomeUnknown(_) => (StatusCode::GATEWAY_TIMEOUT, "order_outcome_unknown", None),
            Self::OrderAlreadySubmitted => (StatusCode::CONFLICT, "order_already_submitted", None),
            Self::UpgradeNotSupported => (StatusCode::NOT_IMPLEMENTED, "upgrade_not_supported", None),
        }
    }

    /// The status of the response.
    pub(crate) fn status(&self) -> StatusCode {
        self.table().0
    }

    /// The page for a visitor whose browser shows the response.
    pub(crate) const fn page(&self) -> ErrorPage {
        match self {
            Self::InvalidJob(JobRequestError::PayloadTooLarge) | Self::TooManyJobs | Self::JobQueueFull => {
                ErrorPage::OverLimit
            }
            _ => ErrorPage::NotProcessed,
        }
    }

    /// Seconds after which the same request may succeed.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        match self {
            Self::TooManyInvalidProofs(seconds) => Some(*seconds),
            Self::TooManyJobs => Some(ENQUEUES_WINDOW),
            error => error.is_temporary().then_some(RETRY_AFTER),
        }
    }
}

impl IntoResponse for GateError {
    fn into_response(self) -> Response {
        let status = self.status();
        self.into_response_with(status)
    }
}

impl GateError {
    /// The values in the text.
    fn params(&self) -> Option<Value> {
        Some(match self {
            Self::ResponseTooLarge { limit_mib } => json!({ "limit_mib": limit_mib }),
            Self::BodyTooLarge { limit_bytes } => json!({ "limit_bytes": limit_bytes }),
            Self::OrderOutcomeUnknown(job) | Self::EnqueueUnconfirmed(job) => json!({ "job_id": job }),
            Self::ConflictingHeaders(headers) => json!({ "headers": headers.split(" and ").collect::<Vec<_>>() }),
            Self::InvalidRequest(part) => json!({ "part": part }),
            Self::InvalidProof(reason) | Self::InvalidProgress(reason) => json!({ "reason": reason }),
            Self::TooManyInvalidProofs(seconds) => json!({ "seconds": seconds }),
            _ => return None,
        })
    }

    /// The response with another status, for proxies that know only some.
    pub(crate) fn into_response_with(self, status: StatusCode) -> Response {
        let (_, code, field) = self.table();
        let mut problem = Problem::new(status, code, self.to_string());
        if let Self::InvalidQuery(parameter) = &self {
            problem = problem.with_field(parameter.clone());
        } else if let Some(field) = field {
            problem = problem.with_field(field);
        }
        if let Some(params) = self.params() {
            problem = problem.with_params(params);
        }
        let mut response = problem.into_response();
        if self == Self::QueuesNotLoaded {
            response.extensions_mut().insert(Decision::without_queue(Outcome::Unavailable));
        }
        if let Some(seconds) = self.retry_after() {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

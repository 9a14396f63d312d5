//! Answers one event.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use lambda_runtime::Context;
use tokio::time::{Instant, timeout_at};
use tower::ServiceExt as _;
use tracing::{debug, warn};
use vestibule_core::{Clock as _, SystemClock};
use vestibule_runtime::{Problem, RequestId};

use crate::event::{Event, InvalidEvent, UnsupportedEvent};
use crate::limit::{ResponseError, ResponseLimit};
use crate::response::FunctionResponse;

/// Time before the timeout of the function at which its router must have a response.
const ANSWER_BEFORE: Duration = Duration::from_millis(700);
/// Time before the timeout of the function at which it responds without its router.
const GIVE_UP_BEFORE: Duration = Duration::from_millis(350);

/// The time by which a response must be complete; an extension of the requests of a function. After it, Lambda ends the
/// process, and the visitor sees an error of the event source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline(pub Instant);

/// One invocation of the function.
#[derive(Debug, Clone, Default)]
pub struct Invocation {
    /// The ID of the invocation in all logs.
    pub request_id: String,
    /// The time until the timeout; `None` if unknown.
    pub time_left: Option<Duration>,
}

impl Invocation {
    pub(crate) fn of(context: Context) -> Self {
        let now = Duration::from_micros(SystemClock::new().now().0);
        let left = Duration::from_millis(context.deadline).saturating_sub(now);
        // Without time left, the clocks differ: a response would be impossible anyway.
        Self { request_id: context.request_id, time_left: Some(left).filter(|left| !left.is_zero()) }
    }

    fn end(&self, before: Duration) -> Option<Instant> {
        Some(Instant::now() + self.time_left?.saturating_sub(before))
    }
}

/// A router as a function; clones share it.
#[derive(Clone)]
pub struct Function(Router);

impl Function {
    /// Wraps a router.
    pub fn new(router: Router) -> Self {
        Self(router)
    }

    /// Answers one event.
    ///
    /// # Errors
    /// The event is not an HTTP request. An invalid request gets a 400.
    pub async fn call(&self, event: Event, invocation: Invocation) -> Result<FunctionResponse, UnsupportedEvent> {
        let caller = event.caller()?;
        let limit = ResponseLimit { caller };
        let response = match event.request(caller) {
            Ok(request) => self.in_time(request, limit, invocation).await,
            Err(InvalidEvent(part)) => {
                debug!(part, "invalid request in the event");
                problem(StatusCode::BAD_REQUEST, "invalid_request", format!("Invalid {part} in the request."), limit)
                    .await
            }
        };
        let (head, body) = response.into_parts();
        Ok(FunctionResponse::of(caller, &head).with_body(body))
    }

    async fn in_time(&self, request: Request<Bytes>, limit: ResponseLimit, invocation: Invocation) -> Response<Bytes> {
        let end = invocation.end(GIVE_UP_BEFORE);
        let answered = self.serve(request, limit, invocation);
        let Some(end) = end else { return answered.await };
        if let Ok(response) = timeout_at(end, answered).await {
            return response;
        }
        warn!("no response shortly before the timeout of the function");
        problem(StatusCode::GATEWAY_TIMEOUT, "gateway_timeout", "The origin did not respond in time.".to_owned(), limit)
            .await
    }

    async fn serve(
        &self,
        mut request: Request<Bytes>,
        limit: ResponseLimit,
        invocation: Invocation,
    ) -> Response<Bytes> {
        let has_body = request.method() != Method::HEAD;
        let deadline = invocation.end(ANSWER_BEFORE).map(Deadline);
        let extensions = request.extensions_mut();
        extensions.insert(limit);
        extensions.insert(RequestId::given(&invocation.request_id));
        if let Some(deadline) = deadline {
            extensions.insert(deadline);
        }
        let response = self.0.clone().oneshot(request.map(Body::from)).await;
        let response = response.unwrap_or_else(|never: Infallible| match never {});
        let response = if has_body { response } else { response.map(|_| Body::empty()) };
        match limit.collect(response).await {
            Ok(response) => response,
            Err(ResponseError::TooLarge { limit: most, announced }) => {
                warn!(limit = most, announced, "response exceeds the limit of the caller");
                let detail =
                    format!("The response exceeds {} MB, which is more than the function can send.", limit.mib());
                problem(StatusCode::BAD_GATEWAY, "response_too_large", detail, limit).await
            }
            Err(ResponseError::Broken(error)) => {
                warn!(%error, "response interrupted");
                let detail = "The origin closed the connection before the response was complete.".to_owned();
                problem(StatusCode::BAD_GATEWAY, "response_interrupted", detail, limit).await
            }
        }
    }
}

/// An error instead of the router's response.
async fn problem(status: StatusCode, code: &'static str, detail: String, limit: ResponseLimit) -> Response<Bytes> {
    limit.collect(Problem::new(status, code, detail).into_response()).await.unwrap_or_default()
}

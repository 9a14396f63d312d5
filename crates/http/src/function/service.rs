//! One event in, one answer out.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::{Method, Request};
use lambda_runtime::Context;
use tokio::time::{Instant, timeout_at};
use tower::ServiceExt as _;
use tracing::{debug, warn};
use vestibule_core::{Clock as _, SystemClock};

use super::answer::FunctionAnswer;
use super::event::{Event, ForeignEvent, Unreadable};
use super::limit::{AnswerLimit, NoAnswer};
use crate::error::ApiError;
use crate::request_log::RequestId;

/// How long before the end of a function's time its router must have an answer.
const ANSWER_BEFORE: Duration = Duration::from_millis(700);
/// How long before the end of a function's time it answers, router or not.
const GIVE_UP_BEFORE: Duration = Duration::from_millis(350);

/// When an answer must be there; stands among the extensions of a function's requests. Whoever waits for longer is ended
/// together with the process, and the visitor sees an error of somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline(pub Instant);

/// What the runtime says of one call.
#[derive(Debug, Clone, Default)]
pub struct Invocation {
    /// Names the call in every log.
    pub request_id: String,
    /// What is left of the function's time; `None` if nobody said.
    pub time_left: Option<Duration>,
}

impl Invocation {
    pub(super) fn of(context: Context) -> Self {
        let now = Duration::from_micros(SystemClock::new().now().0);
        let left = Duration::from_millis(context.deadline).saturating_sub(now);
        // Without any time left nothing could be answered anyway; where that is said, two clocks differ.
        Self { request_id: context.request_id, time_left: Some(left).filter(|left| !left.is_zero()) }
    }

    fn end(&self, before: Duration) -> Option<Instant> {
        Some(Instant::now() + self.time_left?.saturating_sub(before))
    }
}

/// A router as a function; clones are the same one.
#[derive(Clone)]
pub struct Function(Router);

impl Function {
    /// Makes a function of a router.
    #[must_use]
    pub fn new(router: Router) -> Self {
        Self(router)
    }

    /// Answers one event.
    ///
    /// # Errors
    /// The event is no HTTP request. A request that can't be read is answered with 400.
    pub async fn call(&self, event: Event, invocation: Invocation) -> Result<FunctionAnswer, ForeignEvent> {
        let caller = event.caller()?;
        let limit = AnswerLimit { caller };
        let response = match event.request(caller) {
            Ok(request) => self.in_time(request, limit, invocation).await,
            Err(Unreadable(part)) => {
                debug!(part, "a request that can't be read");
                instead(ApiError::Unreadable(part), limit).await
            }
        };
        let (head, body) = response.into_parts();
        Ok(FunctionAnswer::of(caller, &head).with_body(body))
    }

    async fn in_time(&self, request: Request<Bytes>, limit: AnswerLimit, invocation: Invocation) -> Response<Bytes> {
        let end = invocation.end(GIVE_UP_BEFORE);
        let answered = self.serve(request, limit, invocation);
        let Some(end) = end else { return answered.await };
        if let Ok(response) = timeout_at(end, answered).await {
            return response;
        }
        warn!("the function's time is nearly over, and there is no answer");
        instead(ApiError::OutOfTime, limit).await
    }

    async fn serve(&self, mut request: Request<Bytes>, limit: AnswerLimit, invocation: Invocation) -> Response<Bytes> {
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
            Err(NoAnswer::TooLarge { limit: most, announced }) => {
                warn!(limit = most, announced, "a response is more than the caller of a function takes");
                instead(ApiError::AnswerTooLarge { limit_mib: limit.mib() }, limit).await
            }
            Err(NoAnswer::Broken(error)) => {
                warn!(%error, "a response broke off");
                instead(ApiError::AnswerBroken, limit).await
            }
        }
    }
}

/// An error in the place of an answer.
async fn instead(error: ApiError, limit: AnswerLimit) -> Response<Bytes> {
    limit.collect(error.into_response()).await.unwrap_or_default()
}

//! The response body of an origin.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep};
use vestibule_http_client::causes;

use crate::error::ProxyError;
use crate::failure_log::FailureLog;
use crate::request_body::UploadProgress;

/// The response body was truncated.
#[derive(Debug, thiserror::Error)]
pub(super) enum ResponseTruncated {
    #[error("the origin stopped sending")]
    Silence,
    #[error("the origin closed the connection")]
    Broken(#[source] hyper::Error),
}

/// The proxy error for a response that was truncated with this error.
pub fn error_of_truncated(error: &(dyn std::error::Error + 'static)) -> ProxyError {
    let silent =
        |cause: &&(dyn std::error::Error + 'static)| matches!(cause.downcast_ref(), Some(ResponseTruncated::Silence));
    if causes(error).any(|cause| silent(&cause)) { ProxyError::Timeout } else { ProxyError::BadResponse }
}

/// A body that fails once the origin has been silent for too long.
///
/// The timer runs only while the body is read: neither a slow visitor nor a slow upload is a fault of the origin.
pub(super) struct ResponseBody {
    body: Incoming,
    upload: Arc<UploadProgress>,
    limit: Duration,
    clock: Pin<Box<Sleep>>,
    clock_runs: bool,
    origin: Arc<str>,
    log: Arc<FailureLog>,
}

impl ResponseBody {
    pub(super) fn new(
        body: Incoming,
        upload: Arc<UploadProgress>,
        limit: Duration,
        origin: Arc<str>,
        log: Arc<FailureLog>,
    ) -> Self {
        Self { body, upload, limit, clock: Box::pin(sleep(limit)), clock_runs: false, origin, log }
    }

    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<ResponseTruncated> {
        if !self.clock_runs {
            self.clock.as_mut().reset(Instant::now() + self.limit);
            self.clock_runs = true;
        }
        loop {
            ready!(self.clock.as_mut().poll(context));
            let due = self.upload.last_progress() + self.limit;
            if due <= Instant::now() {
                return Poll::Ready(ResponseTruncated::Silence);
            }
            self.clock.as_mut().reset(due);
        }
    }

    fn cut(&self, cut: ResponseTruncated) -> ResponseTruncated {
        self.log.warn(&self.origin, &"the response was truncated", &cut);
        cut
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = ResponseTruncated;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ResponseTruncated>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Pending => self.poll_silence(context).map(|cut| Some(Err(self.cut(cut)))),
            Poll::Ready(next) => {
                self.clock_runs = false;
                Poll::Ready(next.map(|frame| frame.map_err(|error| self.cut(ResponseTruncated::Broken(error)))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    /// Unknown for an empty body: a length of 0 would be added to responses to `HEAD`.
    fn size_hint(&self) -> SizeHint {
        let size = self.body.size_hint();
        if size.exact() == Some(0) { SizeHint::default() } else { size }
    }
}

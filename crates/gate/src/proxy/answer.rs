//! The origin's body on its way to the visitor.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

use super::{
    error::{ProxyError, causes, chain},
    upload::Upload,
};

/// The origin's body broke off.
#[derive(Debug, thiserror::Error)]
pub(super) enum AnswerCut {
    #[error("the origin fell silent within its answer")]
    Silence,
    #[error("the origin broke off its answer")]
    Broken(#[source] hyper::Error),
}

/// What went wrong with an origin whose answer broke off with this error.
pub(crate) fn cut_short(error: &(dyn std::error::Error + 'static)) -> ProxyError {
    let silent = |cause: &&(dyn std::error::Error + 'static)| matches!(cause.downcast_ref(), Some(AnswerCut::Silence));
    if chain(error).any(|cause| silent(&cause)) { ProxyError::Timeout } else { ProxyError::BadAnswer }
}

/// A body that ends with an error once the origin has been silent for too long.
///
/// The clock runs only while somebody reads: a slow visitor is no fault of the origin. Nor is a slow upload.
pub(super) struct AnswerBody {
    body: Incoming,
    upload: Arc<Upload>,
    limit: Duration,
    clock: Pin<Box<Sleep>>,
    clock_runs: bool,
    origin: Arc<str>,
}

impl AnswerBody {
    pub(super) fn new(body: Incoming, upload: Arc<Upload>, limit: Duration, origin: Arc<str>) -> Self {
        Self { body, upload, limit, clock: Box::pin(sleep(limit)), clock_runs: false, origin }
    }

    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<AnswerCut> {
        if !self.clock_runs {
            self.clock.as_mut().reset(Instant::now() + self.limit);
            self.clock_runs = true;
        }
        loop {
            ready!(self.clock.as_mut().poll(context));
            let due = self.upload.last_progress() + self.limit;
            if due <= Instant::now() {
                return Poll::Ready(AnswerCut::Silence);
            }
            self.clock.as_mut().reset(due);
        }
    }

    fn cut(&self, cut: AnswerCut) -> AnswerCut {
        let (origin, cause) = (&*self.origin, causes(&cut));
        tracing::warn!(origin, cause, "the answer was cut short");
        cut
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = AnswerCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerCut>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Pending => self.poll_silence(context).map(|cut| Some(Err(self.cut(cut)))),
            Poll::Ready(next) => {
                self.clock_runs = false;
                Poll::Ready(next.map(|frame| frame.map_err(|error| self.cut(AnswerCut::Broken(error)))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    /// Says nothing of an empty body: a length of 0 would be written into answers to `HEAD` that have none.
    fn size_hint(&self) -> SizeHint {
        let size = self.body.size_hint();
        if size.exact() == Some(0) { SizeHint::default() } else { size }
    }
}

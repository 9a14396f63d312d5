//! A body of which the start was read.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{BodyDataStream, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

/// What was read of a body, and the rest of it. It has the length of the whole body, so that the site gets it with the same framing.
pub(super) struct PartlyReadBody {
    start: Option<Bytes>,
    rest: BodyDataStream,
}

impl PartlyReadBody {
    pub(super) const fn new(start: Bytes, rest: BodyDataStream) -> Self {
        Self { start: Some(start), rest }
    }
}

impl HttpBody for PartlyReadBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match self.start.take() {
            Some(start) => Poll::Ready(Some(Ok(Frame::data(start)))),
            None => Pin::new(&mut self.rest).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.start.is_none() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (start, rest) = (self.start.as_ref().map_or(0, Bytes::len) as u64, self.rest.size_hint());
        let mut size = SizeHint::new();
        size.set_lower(start + rest.lower());
        if let Some(upper) = rest.upper() {
            size.set_upper(start + upper);
        }
        size
    }
}

//! The request body of a visitor, and its progress, which tells whether visitor or origin is slow.

use std::{
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as _, Frame, SizeHint};
use tokio::time::Instant;

use crate::error::{Failure, ProxyError};

/// The progress of an upload.
#[derive(Debug)]
pub(super) struct UploadProgress {
    started: Instant,
    progress_micros: AtomicU64,
    waits_for_visitor: AtomicBool,
    failure: OnceLock<ProxyError>,
}

impl UploadProgress {
    pub(super) fn start() -> Arc<Self> {
        Arc::new(Self {
            started: Instant::now(),
            progress_micros: AtomicU64::new(0),
            waits_for_visitor: AtomicBool::new(false),
            failure: OnceLock::new(),
        })
    }

    pub(super) fn progress(&self) {
        self.progress_micros.store(self.started.elapsed().as_micros() as u64, Relaxed);
    }

    /// When a chunk was last sent to the origin, or the request got its connection.
    pub(super) fn last_progress(&self) -> Instant {
        self.started + Duration::from_micros(self.progress_micros.load(Relaxed))
    }

    /// Whether the origin waits for the visitor.
    pub(super) fn waits_for_visitor(&self) -> bool {
        self.waits_for_visitor.load(Relaxed)
    }

    /// The error of the visitor, if any.
    pub(super) fn failure(&self) -> Option<ProxyError> {
        self.failure.get().copied()
    }
}

/// A body that reports its progress and enforces a limit.
#[derive(Debug)]
pub(super) struct RequestBody {
    body: Body,
    upload: Arc<UploadProgress>,
    bytes_left: Option<u64>,
}

impl RequestBody {
    /// Rejects a body at once if its announced length exceeds the limit.
    pub(super) fn new(body: Body, upload: Arc<UploadProgress>, limit: Option<u64>) -> Result<Self, Failure> {
        if limit.is_some_and(|limit| body.size_hint().lower() > limit) {
            return Err(Failure::new(ProxyError::TooLarge, "its announced length"));
        }
        Ok(Self { body, upload, bytes_left: limit })
    }

    fn count(&mut self, frame: &Frame<Bytes>) -> Result<(), ProxyError> {
        let (Some(left), Some(data)) = (self.bytes_left, frame.data_ref()) else { return Ok(()) };
        self.bytes_left = Some(left.checked_sub(data.len() as u64).ok_or(ProxyError::TooLarge)?);
        Ok(())
    }
}

impl hyper::body::Body for RequestBody {
    type Data = Bytes;
    type Error = ProxyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ProxyError>>> {
        self.upload.waits_for_visitor.store(true, Relaxed);
        let next = ready!(Pin::new(&mut self.body).poll_frame(context));
        self.upload.waits_for_visitor.store(false, Relaxed);
        self.upload.progress();
        let counted = match next {
            None => return Poll::Ready(None),
            Some(Err(_)) => Err(ProxyError::BadRequest),
            Some(Ok(frame)) => self.count(&frame).map(|()| frame),
        };
        if let Err(failure) = counted {
            self.upload.failure.get_or_init(|| failure);
        }
        Poll::Ready(Some(counted))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

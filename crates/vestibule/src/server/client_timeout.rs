//! Timeouts for clients that stall while they send a request body or receive a response.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::connections::Connection;

/// Minimum transfer rate of a body, in bytes per second.
const RATE_MIN: u64 = 1024;

/// The time that a client may stall. Each byte sent or received restores time at [`RATE_MIN`], up to the initial amount.
struct StallTimeout {
    limit: Duration,
    left: Duration,
    since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl StallTimeout {
    fn new(limit: Duration) -> Self {
        Self { limit, left: limit, since: None, timer: None }
    }

    /// Waits for the client; ready when the time is up.
    fn poll_wait(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.since.is_none() {
            let now = Instant::now();
            self.since = Some(now);
            match &mut self.timer {
                Some(timer) => timer.as_mut().reset(now + self.left),
                None => self.timer = Some(Box::pin(sleep(self.left))),
            }
        }
        self.timer.as_mut().map_or(Poll::Pending, |timer| timer.as_mut().poll(context))
    }

    /// The client sent or received this many bytes.
    fn moved(&mut self, bytes: usize) {
        if let Some(since) = self.since.take() {
            self.left = self.left.saturating_sub(since.elapsed());
        }
        let earned = Duration::from_micros((bytes as u64).saturating_mul(1_000_000) / RATE_MIN);
        self.left = self.left.saturating_add(earned).min(self.limit);
    }
}

fn too_slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the client was too slow")
}

/// A client's connection, which fails if the client does not send the head of a request in time, or does not receive the response.
pub(super) struct ClientStream<S> {
    stream: S,
    connection: Connection,
    timeout: StallTimeout,
    head_timeout: Duration,
    /// Runs from the start of the connection, and from the first byte of each further request, to the end of its head. With the number
    /// of requests before it.
    head_timer: Option<(u64, Pin<Box<Sleep>>)>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> ClientStream<S> {
    pub(super) fn new(stream: S, connection: Connection, timeout: Duration, head_timeout: Duration) -> Self {
        let head_timer = Some((0, Box::pin(sleep(head_timeout))));
        Self { stream, connection, timeout: StallTimeout::new(timeout), head_timeout, head_timer }
    }

    fn poll_sent(
        &mut self,
        context: &mut Context<'_>,
        sent: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let Poll::Ready(outcome) = sent(Pin::new(&mut self.stream), context) else {
            self.connection.blocked();
            ready!(self.timeout.poll_wait(context));
            return Poll::Ready(Err(too_slow()));
        };
        self.timeout.moved(*outcome.as_ref().unwrap_or(&0));
        self.connection.moved();
        Poll::Ready(outcome)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ClientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (requests, expects_request) = self.connection.requests();
        if self.head_timer.as_ref().is_some_and(|(before, _)| *before != requests) {
            self.head_timer = None;
        }
        if let Poll::Ready(outcome) = Pin::new(&mut self.stream).poll_read(context, buffer) {
            if expects_request && self.head_timer.is_none() {
                self.head_timer = Some((requests, Box::pin(sleep(self.head_timeout))));
            }
            return Poll::Ready(outcome);
        }
        if let Some((_, timer)) = &mut self.head_timer {
            ready!(timer.as_mut().poll(context));
            return Poll::Ready(Err(too_slow()));
        }
        Poll::Pending
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ClientStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_sent(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_sent(context, |stream, context| stream.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A request body, which fails if the client does not send it.
pub(super) struct ClientBody {
    body: Incoming,
    connection: Connection,
    timeout: StallTimeout,
    was_too_slow: Arc<AtomicBool>,
}

impl ClientBody {
    /// `was_too_slow` is set when the body fails.
    pub(super) fn new(
        body: Incoming,
        connection: Connection,
        timeout: Duration,
        was_too_slow: Arc<AtomicBool>,
    ) -> Self {
        Self { body, connection, timeout: StallTimeout::new(timeout), was_too_slow }
    }
}

impl Body for ClientBody {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
            self.connection.blocked();
            ready!(self.timeout.poll_wait(context));
            self.was_too_slow.store(true, Ordering::Relaxed);
            return Poll::Ready(Some(Err(too_slow().into())));
        };
        let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
        self.timeout.moved(data.map_or(0, Bytes::len));
        self.connection.moved();
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::time::advance;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    /// Seconds until the timeout of a silent client.
    async fn seconds_until_timeout(timeout: &mut StallTimeout) -> u64 {
        let began = Instant::now();
        poll_fn(|context| timeout.poll_wait(context)).await;
        began.elapsed().as_secs()
    }

    /// The client sends bytes after some seconds; `false` if that is too late.
    async fn sends(timeout: &mut StallTimeout, after: u64, bytes: usize) -> bool {
        let is_late = tokio::time::timeout(Duration::from_secs(after), poll_fn(|context| timeout.poll_wait(context)))
            .await
            .is_ok();
        timeout.moved(bytes);
        !is_late
    }

    #[tokio::test(start_paused = true)]
    async fn silent_client_times_out() {
        assert_eq!(seconds_until_timeout(&mut StallTimeout::new(LIMIT)).await, 30);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_drip_times_out_like_silence() {
        let mut timeout = StallTimeout::new(LIMIT);
        let mut seconds = 0;
        while sends(&mut timeout, 1, 1).await {
            seconds += 1;
        }
        assert!((29..=31).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn minimum_rate_never_times_out() {
        let mut timeout = StallTimeout::new(LIMIT);
        for _ in 0..1000 {
            assert!(sends(&mut timeout, 10, 10 * RATE_MIN as usize + 1).await);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_stalled_time_counts_and_credit_is_capped() {
        let mut timeout = StallTimeout::new(LIMIT);
        timeout.moved(1 << 30);
        advance(Duration::from_hours(1)).await;
        assert!(sends(&mut timeout, 20, 0).await);
        assert_eq!(seconds_until_timeout(&mut timeout).await, 10);
    }
}

//! How long a client may keep this process waiting: for more of a request's body, or to take more of an answer.

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

/// Least rate of a client that sends or takes a body, in bytes a second.
const LEAST_RATE: u64 = 1024;

/// Time that a client may let pass. What it sends or takes earns time back at [`LEAST_RATE`], up to the first amount.
struct Patience {
    most: Duration,
    left: Duration,
    since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Patience {
    fn new(most: Duration) -> Self {
        Self { most, left: most, since: None, timer: None }
    }

    /// Waits for the client; ready when the patience is at its end.
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

    /// The client sent or took this many bytes.
    fn moved(&mut self, bytes: usize) {
        if let Some(since) = self.since.take() {
            self.left = self.left.saturating_sub(since.elapsed());
        }
        let earned = Duration::from_micros((bytes as u64).saturating_mul(1_000_000) / LEAST_RATE);
        self.left = self.left.saturating_add(earned).min(self.most);
    }
}

fn too_slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the client was too slow")
}

/// A client's connection, which ends if the client does not take what it is sent.
pub(super) struct ClientStream<S> {
    stream: S,
    connection: Connection,
    patience: Patience,
}

impl<S: AsyncRead + AsyncWrite + Unpin> ClientStream<S> {
    pub(super) fn new(stream: S, connection: Connection, patience: Duration) -> Self {
        Self { stream, connection, patience: Patience::new(patience) }
    }

    fn poll_sent(
        &mut self,
        context: &mut Context<'_>,
        sent: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let Poll::Ready(outcome) = sent(Pin::new(&mut self.stream), context) else {
            self.connection.blocked();
            ready!(self.patience.poll_wait(context));
            return Poll::Ready(Err(too_slow()));
        };
        self.patience.moved(*outcome.as_ref().unwrap_or(&0));
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
        Pin::new(&mut self.stream).poll_read(context, buffer)
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

/// A request's body, which ends with an error if the client does not send it.
pub(super) struct ClientBody {
    body: Incoming,
    connection: Connection,
    patience: Patience,
    was_too_slow: Arc<AtomicBool>,
}

impl ClientBody {
    /// `was_too_slow` becomes true with the error.
    pub(super) fn new(
        body: Incoming,
        connection: Connection,
        patience: Duration,
        was_too_slow: Arc<AtomicBool>,
    ) -> Self {
        Self { body, connection, patience: Patience::new(patience), was_too_slow }
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
            ready!(self.patience.poll_wait(context));
            self.was_too_slow.store(true, Ordering::Relaxed);
            return Poll::Ready(Some(Err(too_slow().into())));
        };
        let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
        self.patience.moved(data.map_or(0, Bytes::len));
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

    use tokio::time::{advance, timeout};

    use super::*;

    const MOST: Duration = Duration::from_secs(30);

    /// Seconds that a client's silence is borne from now on.
    async fn borne(patience: &mut Patience) -> u64 {
        let began = Instant::now();
        poll_fn(|context| patience.poll_wait(context)).await;
        began.elapsed().as_secs()
    }

    /// The client sends this after so many seconds; `false` if that is too late.
    async fn sends(patience: &mut Patience, after: u64, bytes: usize) -> bool {
        let is_late = timeout(Duration::from_secs(after), poll_fn(|context| patience.poll_wait(context))).await.is_ok();
        patience.moved(bytes);
        !is_late
    }

    #[tokio::test(start_paused = true)]
    async fn silence_has_an_end() {
        assert_eq!(borne(&mut Patience::new(MOST)).await, 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_drip_ends_as_silence_does() {
        let mut patience = Patience::new(MOST);
        let mut seconds = 0;
        while sends(&mut patience, 1, 1).await {
            seconds += 1;
        }
        assert!((29..=31).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_least_rate_goes_on_for_ever() {
        let mut patience = Patience::new(MOST);
        for _ in 0..1000 {
            assert!(sends(&mut patience, 10, 10 * LEAST_RATE as usize + 1).await);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_waiting_counts_and_speed_saves_no_time_up() {
        let mut patience = Patience::new(MOST);
        patience.moved(1 << 30);
        advance(Duration::from_hours(1)).await;
        assert!(sends(&mut patience, 20, 0).await);
        assert_eq!(borne(&mut patience).await, 10);
    }
}

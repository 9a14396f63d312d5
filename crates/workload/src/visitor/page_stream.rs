//! What a queue page knows of its stream.

use crate::sim_time::SimTime;

/// Time until a browser reconnects before the server has sent a `retry`, in milliseconds.
const RETRY_MS: u32 = 3000;

/// What a page knows of its stream.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent")]
pub(crate) struct PageStream {
    /// Whether the page uses streams; not after one that was silent, refused or ended too soon.
    pub(super) is_usable: bool,
    /// Whether the visitor is in line, by the last status.
    pub(super) is_in_line: bool,
    /// Whether the page has a stream: opening, open, or about to be opened again.
    pub(super) is_listening: bool,
    /// Whether the open stream has sent a status.
    pub(super) is_heard: bool,
    /// When the request of the open stream was sent, until its first status.
    pub(super) asked_at: Option<SimTime>,
    pub(super) ended_at: Option<SimTime>,
    pub(super) retry_ms: u32,
}

impl PageStream {
    pub(super) const fn new(is_usable: bool) -> Self {
        Self {
            is_usable,
            is_in_line: false,
            is_listening: false,
            is_heard: false,
            asked_at: None,
            ended_at: None,
            retry_ms: RETRY_MS,
        }
    }
}

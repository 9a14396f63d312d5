//! The stream of a queue page, which replaces its polls: opened, followed and given up as in `queue.js`.

use vestibule_core::VisitorState;

use super::{GateResponse, Next, ReportedStatus, RequestKind, Visitor};
use crate::sim_time::SimTime;

/// Minimum time from the page to its stream, in seconds; the maximum is twice as long.
const FIRST: f64 = 2.0;
/// Time without a byte after opening until the page gives streams up, in seconds.
const SILENT: f64 = 3.0;
/// The same after a stream has ended, the time until the browser opens it again included.
const REOPEN: f64 = 20.0;
/// Two ends within this time, in seconds: the page gives streams up.
const ENDS: f64 = 5.0;
/// Time until a session expires if a status does not say it, in seconds.
const EXPIRES_IN: u64 = 60;

impl Visitor {
    /// Whether the page has a stream, open or about to be opened again.
    pub const fn is_listening(&self) -> bool {
        self.stream.is_listening
    }

    /// When the last stream ended.
    pub(crate) const fn stream_ended_at(&self) -> Option<SimTime> {
        self.stream.ended_at
    }

    /// The queue page was loaded. Returns the time until its first request, in milliseconds.
    pub(super) fn first_request(&mut self, poll_after_ms: u32, is_in_line: bool) -> u32 {
        self.stream.is_in_line = is_in_line;
        if !self.may_stream() {
            return poll_after_ms;
        }
        let soon = FIRST * self.rng.between(1.0, 2.0);
        poll_after_ms.min(SimTime::from_seconds(soon).0)
    }

    /// The status of a poll or an update.
    pub(super) fn note_state(&mut self, status: &ReportedStatus) {
        // An operator can pause a queue in its lobby.
        let in_lobby = status.position == 0 && status.expires_in.is_none();
        self.stream.is_in_line = status.session != 0
            && match status.state {
                VisitorState::Waiting => true,
                VisitorState::Paused => !in_lobby,
                _ => false,
            };
    }

    const fn may_stream(&self) -> bool {
        self.stream.is_usable && self.stream.is_in_line && self.trace.joined.is_some()
    }

    /// The next request of the page is due: opens a stream, or polls.
    pub(super) fn ask(&mut self, now: SimTime) -> Next {
        if !self.stream.is_listening && !self.may_stream() {
            return self.poll(now);
        }
        if !self.stream.is_listening {
            self.stream.is_listening = true;
            self.stream.is_heard = false;
            self.timers.silent = now.add_seconds(SILENT);
        }
        self.timers.request = SimTime::NEVER;
        self.record_absence(now);
        self.send(RequestKind::Stream)
    }

    /// The page closes its stream, if it has one.
    pub(super) const fn stop_listening(&mut self) {
        self.stream.is_listening = false;
        self.timers.silent = SimTime::NEVER;
    }

    pub(super) fn on_stream(&mut self, now: SimTime, sent: SimTime, response: &GateResponse) -> Next {
        if !self.stream.is_listening {
            return self.wait_for_timer();
        }
        match response {
            GateResponse::Stream => {
                self.trace.streams = self.trace.streams.saturating_add(1);
                self.stream.asked_at = Some(sent);
                self.timers.silent = now.add_seconds(SILENT);
                self.wait_for_timer()
            }
            // The browser tries again, as after the end of a stream.
            GateResponse::Failed { .. } => self.on_stream_end(now, None),
            _ => {
                self.stream.is_heard = false;
                self.on_silence(now)
            }
        }
    }

    /// The stream has ended. `retry_ms` is the time until the browser opens it again, if the server has sent one.
    pub(super) fn on_stream_end(&mut self, now: SimTime, retry_ms: Option<u32>) -> Next {
        if !self.stream.is_listening {
            return self.wait_for_timer();
        }
        let stream = &mut self.stream;
        stream.retry_ms = retry_ms.unwrap_or(stream.retry_ms);
        let too_soon = stream.ended_at.is_some_and(|before| now.since(before) < ENDS);
        stream.ended_at = Some(now);
        if std::mem::take(&mut stream.is_heard) {
            self.timers.silent = now.add_seconds(REOPEN);
        }
        if too_soon {
            return self.on_silence(now);
        }
        self.timers.request = now.add_ms(self.stream.retry_ms);
        self.wait_for_timer()
    }

    /// Nothing came for too long. Only a page that received a status before trusts the next stream.
    pub(super) fn on_silence(&mut self, now: SimTime) -> Next {
        if !self.stream.is_heard {
            self.stream.is_usable = false;
            self.trace.gave_up_streams = true;
        }
        self.stop_listening();
        self.poll(now)
    }

    /// A status came by the stream.
    pub(super) fn on_update(&mut self, now: SimTime, status: &ReportedStatus) -> Next {
        if !self.stream.is_listening {
            return self.wait_for_timer();
        }
        let was_heard = std::mem::replace(&mut self.stream.is_heard, true);
        if status.state == VisitorState::Admitted {
            // The first status of a stream says nothing of its lag: the turn may have come before it was opened.
            if was_heard {
                self.trace.turn_shown.get_or_insert(now);
            }
            self.stop_listening();
            return self.poll(now);
        }
        let expires_in = status.expires_in.unwrap_or(EXPIRES_IN) as f64;
        self.timers.silent = now.add_seconds(expires_in.max(SILENT));
        self.note_state(status);
        self.record_position(status);
        self.record_number(status);
        match status.state {
            VisitorState::Closed | VisitorState::Full => {
                // The page reloads itself.
                self.stop_listening();
                self.enter(now)
            }
            VisitorState::Unavailable => self.wait_for_timer(),
            _ => {
                // Opening the stream was a visit of a waiting visitor. When later updates were read is not known.
                if let Some(asked_at) = self.stream.asked_at.take() {
                    self.trace.last_waiting = Some(asked_at);
                }
                self.take_status(now, status);
                self.wait_for_timer()
            }
        }
    }
}

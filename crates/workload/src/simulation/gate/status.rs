//! What a gate shows a visitor: the visitor status with its estimate, and when the page asks again.

use vestibule_core::line::{Mode, VisitAnswer, VisitKind};
use vestibule_core::{
    JoinStep, MICROS_PER_SECOND, Micros, NEAR_FRONT, VisitorState, draw_after, full_after, poll_after, rejected_after,
};
use vestibule_estimate::{WaitRange, estimate_wait};

use super::super::polls::polls;
use super::{MICROS_PER_MILLI, PRESENCE_TTL, VirtualGate};
use crate::sim_time::SimTime;
use crate::visitor::{GateResponse, PollSpan, ReportedStatus, RequestKind};

impl VirtualGate {
    /// The wait to show, smoothed from the last one as a gate does.
    fn shown_wait(&self, now: SimTime, number: u32, expected: WaitRange, known_for: f64) -> WaitRange {
        let session_of = self.session_of(number);
        let before = (f64::from(session_of.shown_wait) * 1000.0) as u64;
        if before == 0 { expected } else { expected.after(before, now.since(session_of.shown_at), known_for) }
    }

    pub(super) fn tell(&mut self, now: SimTime, number: u32, kind: RequestKind, answer: &VisitAnswer) -> GateResponse {
        let admitted = answer.session.is_some_and(|session| session.admitted_at.is_some());
        let drawing = answer.mode == Mode::Draw && !admitted;
        let position = answer.session.filter(|_| !admitted && !drawing).map(|session| session.position);
        let seen = answer.pace.observed(answer.now);
        let known_for = seen.age;
        let ranked = position.filter(|_| answer.mode.admits());
        let expected = ranked.and_then(|position| estimate_wait(&self.rules, &answer.flow(), answer.now, position));
        let wait = expected.map(|expected| self.shown_wait(now, number, expected, known_for).seconds());
        let poll_wait = expected.map(WaitRange::seconds).into_iter().chain(wait).map(|wait| wait.p50).min();
        let full = match wait {
            _ if admitted => self.rules.active_ttl,
            Some(wait) => self.rules.poll_ttl(answer.now, &seen, position, Some(answer.now.add_seconds(wait.p50))),
            None => self.rules.waiting_ttl,
        };
        let left = answer.session.map(|session| full.min(session.expires_at.since(answer.now) / MICROS_PER_SECOND));
        let is_asked = !matches!(kind, RequestKind::Enter | RequestKind::Page);
        let proof = match answer.kind {
            VisitKind::NeedsProof(_) if is_asked => self.solve(now, number),
            _ => None,
        };
        let jittered = self.with_random_micros(answer.now);
        let ask_after = match answer.kind {
            VisitKind::Full => full_after(jittered),
            VisitKind::NeedsPreTicket | VisitKind::NeedsProof(_) => JoinStep::REDEEM_AFTER,
            VisitKind::Rejected(rejection) => rejected_after(rejection.retry_after, jittered),
            _ if drawing => {
                let draw_ends_in = self.sale.as_ref().and_then(|sale| sale.event.draw_ends_in(answer.now));
                draw_after(draw_ends_in, self.rules.waiting_ttl, left, jittered)
            }
            _ => poll_after(position, poll_wait, full, left, jittered),
        };
        let poll_after_ms = u32::try_from(ask_after * 1000).unwrap_or(u32::MAX);
        // Polls that are frequent for another reason than the wait are not skipped, and neither is the first one after joining:
        // no wait was shown before, so the session is present for less time.
        let near_front = NEAR_FRONT.max(self.rules.quota);
        let skip = poll_wait
            .filter(|_| kind == RequestKind::Poll && answer.kind == VisitKind::Renewed && seen.is_known())
            .filter(|_| position.is_some_and(|position| position > near_front))
            .and_then(|poll_wait| self.skip(now, poll_wait as f64, known_for));
        let session_of = &mut self.sessions[number as usize];
        session_of.shown_at = now;
        session_of.is_presumed = !seen.is_known();
        session_of.shown_wait = wait.map_or(0.0, |wait| wait.p50 as f32);
        session_of.poll_wait = poll_wait.map_or(0.0, |poll_wait| poll_wait as f32);
        session_of.shown_position = position.map_or(0, |position| {
            if session_of.shown_position == 0 { position } else { position.min(session_of.shown_position) }
        });
        let (session, shown) = (ReportedStatus::session_prefix(session_of.session), session_of.shown_position);
        let drawn = session_of.number;
        match kind {
            RequestKind::Enter | RequestKind::Page if admitted => GateResponse::Site { slot_ms: None },
            RequestKind::Enter | RequestKind::Page => {
                GateResponse::QueuePage { poll_after_ms, ticket: answer.session.is_some(), lobby: false }
            }
            _ => GateResponse::Status(ReportedStatus {
                state: match answer.kind {
                    VisitKind::Full => VisitorState::Full,
                    _ if admitted => VisitorState::Admitted,
                    _ if drawing => VisitorState::Lobby,
                    _ => VisitorState::Waiting,
                },
                session: if answer.session.is_some() { session } else { 0 },
                position: u32::try_from(shown).unwrap_or(u32::MAX),
                joined_at: answer.session.map_or(0, |session| session.arrival.0),
                number: drawn,
                drawing,
                wait,
                expires_in: Some(if admitted { full } else { PRESENCE_TTL }),
                poll_after_ms,
                is_limited: matches!(answer.kind, VisitKind::Rejected(_)),
                proof,
                skip,
            }),
        }
    }

    /// Adds random microseconds to virtual time, from which `poll_after` derives its jitter.
    pub(super) fn with_random_micros(&mut self, at: Micros) -> Micros {
        Micros(at.0 + self.rng.between(0.0, MICROS_PER_MILLI as f64) as u64)
    }

    /// The span in which polls are skipped: half of the wait, and half of the time for which the pace is known. `None` if it
    /// has fewer than two polls.
    fn skip(&self, now: SimTime, wait: f64, known_for: f64) -> Option<PollSpan> {
        let wait_for_timer = (wait / 2.0).min(self.skip_max).min(known_for / 2.0);
        let polls = polls(wait - wait_for_timer, wait, &self.rules) as f32;
        (polls >= 2.0).then(|| PollSpan { until: now.add_seconds(wait_for_timer), polls })
    }
}

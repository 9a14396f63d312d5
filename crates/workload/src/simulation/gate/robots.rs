//! Clients without cookies, each of whose requests is a newcomer.

use vestibule_core::line::{LocatedSession, SessionLocation, Visit};

use super::{MICROS_PER_MILLI, VirtualGate, WaitingRobot, instant, sim_time};
use crate::sim_time::SimTime;
use crate::visitor::GateResponse;

impl VirtualGate {
    /// A client whose tokens are worth nothing is a newcomer each time.
    pub(super) fn answer_robot(&mut self, now: SimTime, number: u32) -> GateResponse {
        let (session, client) = (self.rng.session(), self.client_of(number));
        let answer = self.line.visit(instant(now), &Visit { client, ..Visit::joining(session) });
        if answer.session.is_some_and(|session| session.admitted_at.is_none()) {
            let due = SimTime(now.add_seconds(self.rules.claim_ttl as f64).0.saturating_sub(1));
            self.robots.push_back(WaitingRobot { due, number, session });
        }
        match answer.session.filter(|session| session.admitted_at.is_some()) {
            Some(session) => {
                let slot_ms = session.expires_at.since(answer.now) / MICROS_PER_MILLI;
                GateResponse::Site { slot_ms: u32::try_from(slot_ms).ok() }
            }
            None => GateResponse::QueuePage { poll_after_ms: 2000, ticket: answer.session.is_some(), lobby: false },
        }
    }

    /// The next client without cookies whose session was admitted after it had waited, with the time of the slot. Nobody
    /// came back to claim it.
    pub(in crate::simulation) fn next_admitted_robot(&mut self, now: SimTime) -> Option<(u32, SimTime, SimTime)> {
        while let Some(robot) = self.robots.pop_front_if(|robot| robot.due <= now) {
            let found = self.line.find(instant(robot.due), robot.session);
            if let Some(LocatedSession { state: SessionLocation::Active { admitted_at }, expires_at }) = found {
                return Some((robot.number, sim_time(admitted_at), sim_time(expires_at)));
            }
        }
        None
    }
}

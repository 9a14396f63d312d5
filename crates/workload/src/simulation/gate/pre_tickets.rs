//! Pre-tickets of newcomers, and their proofs of work.

use vestibule_core::line::delay_of;
use vestibule_core::{ClientNetworks, FirstVisit, MICROS_PER_SECOND, Micros, PreTicket};

use super::{VirtualGate, instant, sim_time};
use crate::sim_time::SimTime;
use crate::visitor::ProofNeeded;

/// Seconds of a minute, for which a challenge is the same, and minutes from its start to the end of the challenge.
const MINUTE: u64 = 60;
const CHALLENGE_MINUTES: u64 = 3;

impl VirtualGate {
    /// A newcomer who is turned away keeps the first visit as the arrival, if the queue uses pre-tickets.
    pub(super) fn preserve_first_visit(&mut self, now: SimTime, number: u32) {
        if self.rules.protection.pre_ticket_from.is_none() {
            return;
        }
        match &mut self.sessions[number as usize].pre_ticket {
            Some(pre_ticket) => *pre_ticket = pre_ticket.preserve(),
            None => self.sign_first_visit(now, number, true),
        }
    }

    /// The pre-ticket of a newcomer who has to prove work says how much.
    pub(super) fn require_proof(&mut self, now: SimTime, number: u32, difficulty: u64) {
        if self.session_of(number).pre_ticket.is_none() {
            self.sign_first_visit(now, number, false);
        }
        let max_age = self.rules.protection.pre_ticket_max_age;
        let pre_ticket = &mut self.sessions[number as usize].pre_ticket;
        *pre_ticket = pre_ticket.map(|sent| {
            // Nothing is computed twice, and the arrival is kept (rule W5).
            let kept = match sent.proven() {
                Some(_) if sent.is_preserved() || first_visit_counts(&sent, now, max_age) => sent.preserve(),
                Some(_) => sent.restart(instant(now)),
                None => sent,
            };
            kept.requiring(u32::try_from(difficulty).unwrap_or(u32::MAX))
        });
    }

    /// When a newcomer has solved a challenge that is issued now, or when the group has a core for it. The first visit counts while
    /// the newcomer solves (rule W6).
    pub(super) fn solve(&mut self, now: SimTime, number: u32) -> Option<ProofNeeded> {
        let pre_ticket = self.session_of(number).pre_ticket?;
        let work = pre_ticket.work_left() as f64 * self.rules.protection.proof_of_work.effort as f64;
        // The counter is one of twice the mean, each as likely.
        let derivations = self.rng.between(0.0, 2.0) * work;
        let (starts, solved) = self.devices.solve(&self.workload, number, now, derivations);
        let expires_at = (instant(starts).0 / MICROS_PER_SECOND / MINUTE + CHALLENGE_MINUTES) * MINUTE;
        let counts = first_visit_counts(&pre_ticket, starts, self.rules.protection.pre_ticket_max_age);
        self.sessions[number as usize].pre_ticket =
            Some(if counts { pre_ticket.solving(expires_at) } else { pre_ticket });
        let difficulty = pre_ticket.difficulty().unwrap_or_default().into();
        let first_visit = sim_time(pre_ticket.first_visit());
        let delayed = first_visit.add_seconds(delay_of(difficulty) as f64);
        Some(ProofNeeded {
            solved_after_ms: solved.0.saturating_sub(now.0).max(1),
            delayed_after_ms: delayed.0.saturating_sub(now.0),
        })
    }

    /// The newcomer sends the solution of the challenge.
    pub(super) fn prove(&mut self, now: SimTime, number: u32) {
        let pre_ticket = &mut self.sessions[number as usize].pre_ticket;
        *pre_ticket =
            pre_ticket.and_then(|sent| sent.proving(sent.proven().unwrap_or(0).into(), sent.work_left(), instant(now)));
    }

    pub(super) fn sign_first_visit(&mut self, now: SimTime, number: u32, preserved: bool) {
        let (epoch, session) = (self.rules.epoch, self.session_of(number).session);
        // Virtual time is in milliseconds; a real clock tells first visits apart.
        self.last_first_visit = instant(now).max(Micros(self.last_first_visit.0 + 1));
        let network = self.network_of(number);
        let network = network.as_deref();
        let visit = FirstVisit { preserved, ..FirstVisit::new(epoch, session, self.last_first_visit) };
        let token = self.signer.sign_first_visit(&self.queue, &visit, network);
        let verify = |token: String| self.signer.verify_pre_ticket(&self.queue, token.as_bytes(), network).ok();
        let verified = token.and_then(verify);
        self.sessions[number as usize].pre_ticket = verified;
    }

    /// The network of a client, as pre-tickets name it.
    fn network_of(&self, number: u32) -> Option<String> {
        let networks = ClientNetworks::of(self.addresses.as_ref()?.of(number))?;
        Some(networks.network.to_string())
    }
}

/// Whether the first visit counts as the arrival, though it is not preserved.
fn first_visit_counts(pre_ticket: &PreTicket, now: SimTime, max_age: u64) -> bool {
    let is_solving = pre_ticket.challenge_ends_at().is_some_and(|end| instant(now) <= end);
    is_solving || instant(now).since(pre_ticket.first_visit()) <= max_age * MICROS_PER_SECOND
}

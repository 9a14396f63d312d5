//! The state of one line and the operations on it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use wabi_tree::OSBTreeSet;

use super::continuity::{Continuity, Recovery, RecoveryTtls, VoidTickets};
use super::event_windows::EventWindows;
use super::limits::Limits;
use super::newcomer::Newcomer;
use super::pace::Movements;
use super::presence::Presence;
use super::types::{
    ListedSession, LocatedSession, PageStart, PurgeReport, RecognizedSession, Removed, SessionList, SessionLocation,
    SessionPage, SessionState, Stats, Visit, VisitAnswer, VisitKind,
};
use super::work::JoinRefusal;
use super::{
    Bucket, Counters, LimitCounters, LineRules, Mode, PAGE_MAX, PAGE_SKIP_MAX, PURGE_BATCH, Pace, Phase, REAP_BATCH,
    RELEASE_BATCH, Waits,
};
use crate::SessionId;
use crate::line::Ticket;
use crate::time::{MICROS_PER_SECOND, Micros};

/// The line, the active set and the pool of one queue, with everything its rules record.
#[derive(Debug)]
pub struct Line {
    pub(super) rules: LineRules,
    pub(super) state_since: Micros,
    /// Whether the rules have not been changed since the state began; another process may hold
    /// newer ones.
    pub(super) provisional: bool,
    /// Whether the rules are those that a process held when the state was lost.
    pub(super) restored: bool,
    pub(super) continuity: Continuity,
    pub(super) recovery: Recovery,
    pub(super) void_tickets: VoidTickets,
    pub(super) last_arrival: Micros,
    /// The latest arrival that was admitted in order.
    pub(super) reached: Micros,
    /// Since when newcomers could join by the rules before the current ones, or the last change of the rules while they could not.
    pub(super) opened_at: Micros,
    /// Since when the line of a draining queue has been empty, as seen by purge.
    pub(super) empty_since: Option<Micros>,
    pub(super) present: HashMap<SessionId, Presence>,
    pub(super) order: OSBTreeSet<(Micros, SessionId)>,
    pub(super) pool: BTreeSet<(Micros, SessionId)>,
    /// When sessions ended, by their tombstones.
    pub(super) ended: HashMap<SessionId, Micros>,
    pub(super) tombstones: BTreeSet<(Micros, SessionId)>,
    pub(super) bucket: Bucket,
    pub(super) pace: Pace,
    pub(super) counters: Counters,
    pub(super) waits: Waits,
    pub(super) limits: Limits,
    pub(super) limit_counters: LimitCounters,
    /// The events counted by window.
    pub(super) event_windows: EventWindows,
    /// When attack mode ends; 0 if it was never on.
    pub(super) attack_until: Micros,
    /// Lobby tickets by the opening of the lobby.
    pub(super) lobby_tickets: BTreeMap<Micros, u64>,
    /// No state: the movements of the current operation. Its last step adds them to the pace.
    pub(super) movements: Movements,
}

/// Who ends a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndedBy {
    /// An operator: the session does not take part in the draw of an event whose lobby is open, whatever the mode.
    Operator,
    /// Its visitor.
    Visitor {
        /// Whether its tickets are valid for `claim_ttl` only, and so is the tombstone of a session that is not active.
        is_brief: bool,
        /// Whether its own ticket could have restored it to a slot.
        returned: bool,
    },
}

impl Line {
    /// An empty line whose state begins now. With `lost`, the store lost an earlier state, so the
    /// line starts in recovery.
    pub fn new(rules: LineRules, now: Micros, lost: bool) -> Self {
        let lost_at = if lost { now } else { Micros(0) };
        let ttls = RecoveryTtls::of(&rules);
        Self {
            rules,
            state_since: now,
            provisional: true,
            restored: lost,
            continuity: Continuity { used_at: now, ..Continuity::default() },
            recovery: Recovery { since: lost_at, lost_until: lost_at, ttls, ..Recovery::default() },
            void_tickets: VoidTickets::default(),
            last_arrival: Micros(0),
            reached: Micros(0),
            opened_at: Micros(0),
            empty_since: None,
            present: HashMap::new(),
            order: OSBTreeSet::new(),
            pool: BTreeSet::new(),
            ended: HashMap::new(),
            tombstones: BTreeSet::new(),
            bucket: Bucket::default(),
            pace: Pace::default(),
            counters: Counters::default(),
            waits: Waits::default(),
            limits: Limits::default(),
            limit_counters: LimitCounters::default(),
            event_windows: EventWindows::default(),
            attack_until: Micros(0),
            lobby_tickets: BTreeMap::new(),
            movements: Movements::default(),
        }
    }

    /// The rules in force.
    pub const fn rules(&self) -> &LineRules {
        &self.rules
    }

    /// Settings that a process holds of a removed queue do not replace those of a new one.
    pub const fn confirm_rules(&mut self) {
        self.provisional = false;
        self.restored = false;
    }

    /// Applies other rules immediately, without eviction. Another epoch starts a new line (rule
    /// 11).
    pub fn change_rules(&mut self, rules: LineRules, now: Micros) {
        self.confirm_rules();
        if rules.epoch == self.rules.epoch {
            // Units earned until now were earned at the old rate.
            if let Some(rate) = self.rules.rate() {
                self.bucket.refill(now, rate);
            }
            let (pacing, opened_at) = (self.pacing(now), self.open_since(now));
            self.void_tickets = self.void_tickets.after_change(now, &self.rules, &rules);
            self.rules = rules;
            self.opened_at = opened_at;
            if !self.rules.protection.show_networks {
                self.limits.forget_networks();
            }
            self.empty_since = None;
            self.advance(now, None);
            self.change_pace(now, pacing);
        } else {
            *self = Self { provisional: false, ..Self::new(rules, now, false) };
        }
    }

    /// Applies rules that a process held before the state was lost. They replace rules that another
    /// process restored if their epoch is higher, or their revision is higher in the same epoch. Returns
    /// whether they are in force.
    pub fn restore_rules(&mut self, rules: LineRules, now: Micros) -> bool {
        let is_newer = (rules.epoch, rules.revision) > (self.rules.epoch, self.rules.revision);
        if !self.restored || !is_newer {
            return false;
        }
        if rules.epoch == self.rules.epoch {
            self.change_rules(rules, now);
            (self.provisional, self.restored) = (true, true);
        } else {
            *self = Self::new(rules, now, true);
        }
        true
    }

    /// Handles a visit: joins or returns, renews the presence, admits sessions, and returns the
    /// session's state. A read-only visit only admits sessions and reads.
    pub fn visit(&mut self, now: Micros, visit: &Visit) -> VisitAnswer {
        if self.mode(now) == Mode::Bypass && !self.may_have_waited(now) {
            return self.answer(now, None);
        }
        if let Some(ticket) = &visit.ticket {
            self.adopt_epoch(now, ticket);
        }
        let ticket = visit.ticket.as_ref().filter(|ticket| ticket.epoch() == self.rules.epoch);
        self.check_continuity(now, ticket, &visit.witness);
        self.start(now);
        self.advance_event_windows(now);
        let mut newcomer = Newcomer::of(visit, self.rules.epoch);
        let ticket = ticket.filter(|ticket| !self.is_void(now, ticket));
        let formed = self.order.is_empty();
        let visitor = if visit.read_only {
            ticket.and_then(|ticket| self.find_present(now, ticket))
        } else {
            let found = ticket.and_then(|ticket| self.find_or_restore(now, ticket));
            // The session of an invitation stays that of its code.
            let account = visit.account.filter(|_| ticket.is_none_or(|ticket| ticket.batch().is_none()));
            found.map(|found| self.hand_over(now, found, account))
        };
        let (visitor, needs_pre_ticket) = match visitor {
            None if !visit.read_only => self.enter(now, &mut newcomer),
            found => (found, false),
        };
        // Nobody is served by a read-only visit.
        let served = visitor.as_ref().filter(|_| !visit.read_only);
        if let Some(visitor) = served {
            self.refresh(now, visitor);
        }
        let is_full = self.is_full(now);
        let enters_lobby = visitor.is_none() && self.enters_lobby(now, ticket, &mut newcomer);
        let is_uninvited = self.needs_invitation(now, visit);
        let newly = |v: &RecognizedSession| matches!(v.kind, VisitKind::Joined | VisitKind::Restored);
        self.advance(now, served.map(|v| (v.session, v.confirmed, newly(v))));
        if formed && !self.order.is_empty() {
            self.form(now);
        }
        self.counters.pre_tickets_issued += visit.pre_tickets_issued;
        self.counters.identities_accepted += visit.identities.accepted;
        self.counters.identities_rejected += visit.identities.rejected;
        self.count_proofs(visit.proofs);
        let answer = self.answer(now, visitor.as_ref());
        let refusal = newcomer.refusal.map(|refusal| match refusal {
            JoinRefusal::Rejected(rejection) => VisitKind::Rejected(rejection),
            JoinRefusal::NeedsProof(difficulty) => VisitKind::NeedsProof(difficulty),
        });
        match answer.kind {
            VisitKind::Absent if refusal.is_some() => VisitAnswer { kind: refusal.unwrap_or(answer.kind), ..answer },
            VisitKind::Absent if enters_lobby => VisitAnswer { kind: VisitKind::Lobby, ..answer },
            VisitKind::Absent if visitor.is_none() && is_uninvited => {
                VisitAnswer { kind: VisitKind::InvitationRequired, ..answer }
            }
            VisitKind::Absent if visitor.is_none() && is_full => VisitAnswer { kind: VisitKind::Full, ..answer },
            VisitKind::Absent if needs_pre_ticket => VisitAnswer { kind: VisitKind::NeedsPreTicket, ..answer },
            _ => answer,
        }
    }

    /// Rule 14: in the lobby a newcomer is counted, and nothing else. Returns whether the visitor is in the lobby.
    fn enters_lobby(&mut self, now: Micros, ticket: Option<&Ticket>, newcomer: &mut Newcomer<'_>) -> bool {
        if self.mode(now) != Mode::Lobby {
            return false;
        }
        let from_lobby = ticket.is_some_and(Ticket::is_new_from_lobby);
        // The draw would not give its session back.
        let visit = newcomer.visit;
        let is_new = visit.join.is_some_and(|session| !from_lobby && !self.bars(now, visit, session));
        if !is_new || self.needs_invitation(now, visit) || self.is_blocked(now, newcomer) {
            return from_lobby;
        }
        let Some(event) = self.current_event(now) else { return from_lobby };
        *self.lobby_tickets.entry(event).or_default() += 1;
        true
    }

    /// The effective mode.
    pub(super) fn mode(&self, now: Micros) -> Mode {
        self.rules.effective_mode(now, self.may_wait(now))
    }

    /// Whether the line has sessions, or had some of the last event that may not have returned since its state was lost: an
    /// event is not over before that.
    pub(super) fn may_wait(&self, now: Micros) -> bool {
        !self.order.is_empty() || (self.is_incomplete(now) && self.rules.may_be_ending(now))
    }

    /// Whether the line of an event may have become empty only because nobody could be served. A visit that may tell is handled as in
    /// the event.
    fn may_have_waited(&self, now: Micros) -> bool {
        let is_scheduled = self.rules.mode == Mode::Scheduled;
        is_scheduled && self.open_silence(now).is_some() && self.rules.may_be_ending(now)
    }

    /// When the lobby of the current event opened; `None` between events.
    fn current_event(&self, now: Micros) -> Option<Micros> {
        let current = self.rules.phase(now, self.may_wait(now))?;
        current.event.filter(|_| current.phase != Phase::Idle).map(|event| event.lobby_at().micros())
    }

    /// Rule 22: whether no newcomer can join because the line is full.
    pub(super) fn is_full(&self, now: Micros) -> bool {
        self.mode(now).accepts_joins() && self.rules.max_waiting.is_some_and(|most| self.waiting() >= most)
    }

    /// Rule 20: whether the visitor could join, or come to the lobby, with an invitation only.
    pub(super) fn needs_invitation(&self, now: Micros, visit: &Visit) -> bool {
        let mode = self.mode(now);
        self.rules.is_restricted() && visit.head_start.is_none() && mode.accepts_newcomers()
    }

    /// First step of every operation (rule 6).
    pub(super) fn start(&mut self, now: Micros) {
        self.reap(now, REAP_BATCH);
    }

    /// Rule 1: the arrival of a newcomer at the end of the line.
    pub(super) fn next_arrival(&self, now: Micros) -> Micros {
        now.max(Micros(self.last_arrival.0 + 1))
    }

    /// Rules 1, 19, 20 and 22: a newcomer joins at this arrival unless the line is full or needs an invitation, an invited one
    /// ahead of it. The same id joins only once. `confirmed` says that the client came back with a token.
    pub(super) fn join(
        &mut self,
        now: Micros,
        newcomer: &mut Newcomer<'_>,
        session: SessionId,
        arrival: Micros,
        confirmed: bool,
    ) -> Option<RecognizedSession> {
        let visit = newcomer.visit;
        let visitor = |arrival, kind| RecognizedSession::without_ticket(session, arrival, kind, confirmed);
        // An account joins again under the same session after it has ended, once its slot is free.
        if self.bars(now, visit, session) {
            return None;
        }
        if let Some(presence) = self.present.get(&session) {
            let is_over = presence.admitted_at().is_some_and(|admitted_at| self.is_over(now, session, admitted_at));
            return (!is_over).then(|| visitor(presence.since(), VisitKind::Renewed));
        }
        if !self.mode(now).accepts_joins() || self.needs_invitation(now, visit) || !self.admits_join(now, newcomer) {
            return None;
        }
        let arrival = if newcomer.joins_late { self.next_arrival(now) } else { arrival };
        let head_start = visit.head_start.unwrap_or_default();
        // Invited visitors do not delay others who come now.
        if head_start == 0 {
            self.last_arrival = self.last_arrival.max(arrival);
        }
        let arrival = if head_start == 0 { arrival } else { self.rules.arrival_ahead(now, arrival, head_start) };
        self.insert(session, Presence::waiting(arrival));
        self.counters.joined += 1;
        Some(visitor(arrival, VisitKind::Joined))
    }

    /// Number of waiting sessions.
    pub fn waiting(&self) -> u64 {
        self.order.len() as u64
    }

    /// Number of active sessions.
    pub fn active(&self) -> u64 {
        (self.present.len() - self.order.len()) as u64
    }

    fn rank(&self, arrival: Micros, session: SessionId) -> u64 {
        self.order.rank_of(&(arrival, session)).map_or(0, |rank| rank as u64 + 1)
    }

    fn answer(&self, now: Micros, visitor: Option<&RecognizedSession>) -> VisitAnswer {
        let session = visitor.and_then(|visitor| {
            let presence = self.present.get(&visitor.session)?;
            let admitted_at = presence.admitted_at();
            let position = if admitted_at.is_none() { self.rank(presence.since(), visitor.session) } else { 0 };
            let RecognizedSession { session: id, arrival, confirmed, .. } = *visitor;
            Some(SessionState { id, arrival, admitted_at, position, expires_at: presence.expires_at, confirmed })
        });
        VisitAnswer {
            now,
            revision: self.rules.revision,
            epoch: self.rules.epoch,
            mode: self.mode(now),
            kind: session.and(visitor).map_or(VisitKind::Absent, |visitor| visitor.kind),
            session,
            waiting: self.waiting(),
            active: self.active(),
            reached: self.reached,
            quota: self.rules.quota,
            recovering: self.recovering(now),
            restoring: self.restoring(now),
            attack_mode: self.attack_mode(now),
            pace: self.pace,
        }
    }

    /// Rule 8: ends the visitor's own session; its ticket can't return. The slot is free once the
    /// last credential has expired.
    pub fn leave(&mut self, now: Micros, ticket: &Ticket) -> Removed {
        if ticket.epoch() != self.rules.epoch || self.is_void(now, ticket) {
            return Removed::Absent;
        }
        let is_brief = ticket.is_unconfirmed() && !ticket.may_follow_an_end();
        let returned = ticket.admitted_at().is_some() && self.is_good(now, ticket);
        let removed = self.end_and_advance(now, ticket.session(), EndedBy::Visitor { is_brief, returned });
        self.counters.left += u64::from(removed != Removed::Absent);
        removed
    }

    /// Rule 8: an operator ends a session, present or away.
    pub fn end(&mut self, now: Micros, session: SessionId) -> Removed {
        let removed = self.end_and_advance(now, session, EndedBy::Operator);
        self.counters.ended += u64::from(removed != Removed::Absent);
        removed
    }

    /// Ends a session, present or away, and admits to what it frees.
    fn end_and_advance(&mut self, now: Micros, session: SessionId, by: EndedBy) -> Removed {
        self.start(now);
        self.clear_tombstones(now, REAP_BATCH);
        let removed = self.end_session(now, session, by);
        self.advance(now, None);
        removed
    }

    /// Ends a session, present or away.
    pub(super) fn end_session(&mut self, now: Micros, session: SessionId, by: EndedBy) -> Removed {
        let was_ended = self.is_ended(now, session);
        let presence = self.present.get(&session).copied();
        let admitted_at = presence.and_then(|presence| presence.admitted_at());
        let removed = match presence.map(|presence| (presence.admitted_at(), presence.expires_at)) {
            Some((Some(admitted_at), _)) if self.is_over(now, session, admitted_at) => Removed::Absent,
            Some((Some(_), expires_at)) => {
                let last_credential = now.add_seconds(self.rules.credential_ttl).min(expires_at);
                if last_credential > now {
                    self.set_expiry(session, last_credential);
                } else {
                    self.record_stay(now, session);
                    self.remove(session);
                }
                Removed::Active
            }
            Some((None, _)) => self.remove_from_line(session),
            None => {
                if matches!(by, EndedBy::Visitor { returned: true, .. }) && !was_ended {
                    self.settle(now);
                }
                Removed::Absent
            }
        };
        let ended_at = match (by, admitted_at) {
            // The session may be in the lobby, whose tickets restore it after the draw.
            (EndedBy::Operator, _) => now.max(admitted_at.unwrap_or(now)).max(self.rules.draw_phase_ends_at(now)),
            (EndedBy::Visitor { .. }, Some(admitted_at)) => now.max(admitted_at),
            // As if it had ended so long ago that only claim_ttl is left.
            (EndedBy::Visitor { is_brief: true, .. }, None) => {
                let expires_at = now.add_seconds(self.rules.claim_ttl);
                Micros(expires_at.0.saturating_sub(self.rules.tombstone_ttl() * MICROS_PER_SECOND))
            }
            (EndedBy::Visitor { is_brief: false, .. }, None) => now,
        };
        self.add_tombstone(session, ended_at);
        removed
    }

    /// Rule 8: the queue page was closed. The presence of a waiting session ends; its ticket still
    /// holds the position.
    pub fn away(&mut self, now: Micros, ticket: &Ticket) -> Removed {
        self.start(now);
        let session = ticket.session();
        let waits = self.present.get(&session).is_some_and(|presence| presence.admitted_at().is_none());
        let removed = if waits && ticket.epoch() == self.rules.epoch {
            self.counters.away += 1;
            self.remove_from_line(session)
        } else {
            Removed::Absent
        };
        self.advance(now, None);
        removed
    }

    /// Rule 10: admits the next `count` sessions (at most [`RELEASE_BATCH`]) regardless of quota,
    /// rate and pause. Returns their number; 0 while the order is drawn (rule 13.9).
    pub fn release(&mut self, now: Micros, count: u64) -> u64 {
        self.start(now);
        self.advance(now, None);
        if self.mode(now) == Mode::Draw {
            return 0;
        }
        let released = self.admit_from_head(now, count.min(RELEASE_BATCH as u64) as usize, RELEASE_BATCH, None);
        self.save_pace(now, 0);
        self.counters.released += released.admitted;
        released.admitted
    }

    /// Rule 6: removes up to `limit` (at most [`PURGE_BATCH`]) expired sessions and as many old
    /// tombstones, and admits waiting sessions. Closes a draining queue that is due.
    pub fn purge(&mut self, now: Micros, limit: usize) -> PurgeReport {
        let limit = limit.min(PURGE_BATCH);
        self.reanchor_expiries(now, limit);
        self.limits.forget_old_networks(now);
        let expired = self.reap(now, limit);
        let tombstones = self.clear_tombstones(now, limit);
        let before = self.counters.expired_waiting;
        let admitted = self.advance(now, None);
        // Sessions that expired at the head of the line count as well.
        let expired = expired + self.counters.expired_waiting - before;
        let has_expired = self.pool.first().is_some_and(|(due, _)| *due <= now);
        let more =
            has_expired || self.tombstones.first().is_some_and(|(ended_at, _)| self.tombstone_expiry(*ended_at) <= now);
        PurgeReport { expired, tombstones, admitted, more, closed: self.close_when_drained(now) }
    }

    /// The statistics of the queue. Does not change the state.
    pub fn stats(&self, now: Micros) -> Stats {
        Stats {
            now,
            mode: self.mode(now),
            phase: self.rules.phase(now, self.may_wait(now)).map(|current| current.phase),
            rules: self.rules.in_mode(self.rules.mode),
            state_since: self.state_since,
            recovering: self.recovering(now),
            reserved: self.reserved(now),
            paid_admissions: self.paid_admissions(now),
            waiting: self.waiting(),
            active: self.active(),
            oldest_arrival: self.order.first().map(|(arrival, _)| self.rules.waits_since(now, *arrival)),
            lobby_tickets: self
                .current_event(now)
                .and_then(|event| self.lobby_tickets.get(&event))
                .copied()
                .unwrap_or(0),
            pace: self.pace,
            counters: self.counters,
            waits: self.waits,
            limits: self.limit_stats(now),
            attack_mode_until: self.attack_mode_until(now),
        }
    }

    /// Looks up a session. Does not change the state.
    pub fn find(&self, now: Micros, session: SessionId) -> Option<LocatedSession> {
        let is_over = |admitted_at| self.is_over(now, session, admitted_at);
        if let Some(presence) = self.present.get(&session).filter(|it| !it.admitted_at().is_some_and(is_over)) {
            let state = match presence.admitted_at() {
                Some(admitted_at) => SessionLocation::Active { admitted_at },
                None => SessionLocation::Waiting {
                    arrival: presence.since(),
                    position: self.rank(presence.since(), session),
                },
            };
            return Some(LocatedSession { state, expires_at: presence.expires_at });
        }
        let expires_at = self.tombstone_expiry(self.ended_at(now, session)?);
        Some(LocatedSession { state: SessionLocation::Ended, expires_at })
    }

    /// A page of up to `limit` (at most [`PAGE_MAX`]) sessions of a list. Does not change the state.
    /// Sessions in the list of active ones that have ended, and hold their slot for a last
    /// credential, are left out. O(log n + `limit`); the list of active sessions takes O(n log n).
    pub fn page(&self, now: Micros, list: SessionList, start: PageStart, limit: usize) -> SessionPage {
        let first = (start.at, SessionId::from_bytes([0; SessionId::SIZE]));
        match list {
            SessionList::Waiting => self.page_of(now, list, start, limit, self.order.range(first..).copied()),
            SessionList::Active => {
                let active = self.present.iter().filter_map(|(session, it)| Some((it.admitted_at()?, *session)));
                let mut active: Vec<_> = active.filter(|entry| *entry >= first).collect();
                active.sort_unstable();
                self.page_of(now, list, start, limit, active)
            }
            SessionList::Ended => {
                // The entries to skip are forgotten by now.
                let skip = if start.at <= now { 0 } else { start.skip };
                let ttl = self.rules.tombstone_ttl() * MICROS_PER_SECOND;
                let first = (Micros(start.at.0.saturating_sub(ttl)), first.1);
                let expiries =
                    self.tombstones.range(first..).map(|(at, session)| (self.tombstone_expiry(*at), *session));
                let valid = expiries.skip_while(|(until, _)| *until <= now);
                self.page_of(now, list, PageStart { skip, ..start }, limit, valid)
            }
        }
    }

    fn page_of(
        &self,
        now: Micros,
        list: SessionList,
        start: PageStart,
        limit: usize,
        found: impl IntoIterator<Item = (Micros, SessionId)>,
    ) -> SessionPage {
        let limit = limit.min(PAGE_MAX);
        let found = found.into_iter().skip(start.skip.min(PAGE_SKIP_MAX) as usize).take(limit + 1);
        let mut found: Vec<_> = found.collect();
        let next = found.get(limit).map(|(at, _)| {
            let same = found[..limit].iter().filter(|(other, _)| other == at).count() as u64;
            PageStart { at: *at, skip: if *at == start.at { start.skip + same } else { same } }
        });
        found.truncate(limit);
        let listed = |(at, session): (Micros, SessionId)| {
            let expires_at = match list {
                SessionList::Ended => at,
                SessionList::Waiting | SessionList::Active => self.present.get(&session)?.expires_at,
            };
            let is_ended = list == SessionList::Active && self.is_over(now, session, at);
            (!is_ended).then_some(ListedSession { session, at, expires_at })
        };
        SessionPage { entries: found.into_iter().filter_map(listed).collect(), next }
    }
}

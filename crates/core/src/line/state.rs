//! The state of one line.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use wabi_tree::OSBTreeSet;

use super::continuity::{Continuity, Recovery, RecoveryTtls};
use super::event_windows::EventWindows;
use super::limits::Limits;
use super::pace::Movements;
use super::presence::Presence;
use super::types::{PurgeReport, Stats, Visit};
use super::void_tickets::VoidTickets;
use super::{Bucket, Counters, LimitCounters, LineRules, Mode, PURGE_BATCH, Pace, Phase, REAP_BATCH, Waits};
use crate::SessionId;
use crate::time::Micros;

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

    /// The effective mode.
    pub(super) fn mode(&self, now: Micros) -> Mode {
        self.rules.effective_mode(now, self.may_wait(now))
    }

    /// Whether the line has sessions, or had some of the last event that may not have returned since its state was lost: an
    /// event is not over before that.
    pub(super) fn may_wait(&self, now: Micros) -> bool {
        !self.order.is_empty() || (self.is_incomplete(now) && self.rules.may_be_ending(now))
    }

    /// When the lobby of the current event opened; `None` between events.
    pub(super) fn current_event(&self, now: Micros) -> Option<Micros> {
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

    /// Number of waiting sessions.
    pub fn waiting(&self) -> u64 {
        self.order.len() as u64
    }

    /// Number of active sessions.
    pub fn active(&self) -> u64 {
        (self.present.len() - self.order.len()) as u64
    }

    /// Position of a waiting session, from 1; 0 if it does not wait.
    pub(super) fn rank(&self, arrival: Micros, session: SessionId) -> u64 {
        self.order.rank_of(&(arrival, session)).map_or(0, |rank| rank as u64 + 1)
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
}

//! The serialized form of a line: everything that its operations depend on, self-describing and
//! read leniently.

use serde::{Deserialize, Serialize};

use super::continuity::{Continuity, Recovery};
use super::presence::Presence;
use super::state::Line;
use super::void_tickets::VoidTickets;
use super::{Bucket, Counters, LimitCounters, LineRules, Pace, Waits};
use crate::SessionId;
use crate::time::Micros;

/// The state of a line at one instant. Fields missing in an older version's snapshot have their
/// defaults.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LineSnapshot {
    rules: LineRules,
    state_since: Micros,
    #[serde(default)]
    provisional: bool,
    #[serde(default)]
    restored: bool,
    #[serde(default)]
    continuity: Continuity,
    #[serde(default)]
    recovery: Recovery,
    #[serde(default)]
    void_tickets: VoidTickets,
    #[serde(default)]
    last_arrival: Micros,
    #[serde(default)]
    reached: Micros,
    #[serde(default)]
    opened_at: Micros,
    #[serde(default)]
    empty_since: Option<Micros>,
    /// Waiting sessions: arrival and expiry.
    #[serde(default)]
    waiting: Vec<(SessionId, Micros, Micros)>,
    /// Active sessions: time of admission and expiry.
    #[serde(default)]
    active: Vec<(SessionId, Micros, Micros)>,
    /// Ended sessions: when they ended.
    #[serde(default)]
    ended: Vec<(SessionId, Micros)>,
    #[serde(default)]
    bucket: Bucket,
    #[serde(default)]
    pace: Pace,
    #[serde(default)]
    counters: Counters,
    #[serde(default)]
    waits: Waits,
    #[serde(default)]
    limit_counters: LimitCounters,
    #[serde(default)]
    attack_until: Micros,
    /// Lobby tickets by the opening of the lobby.
    #[serde(default)]
    lobby_tickets: Vec<(Micros, u64)>,
}

impl LineSnapshot {
    /// Restores the line.
    pub fn into_line(self) -> Line {
        let mut line = Line::new(self.rules, self.state_since, false);
        line.provisional = self.provisional;
        line.restored = self.restored;
        line.continuity = self.continuity;
        line.recovery = self.recovery;
        line.void_tickets = self.void_tickets;
        line.last_arrival = self.last_arrival;
        line.reached = self.reached;
        line.opened_at = self.opened_at;
        line.empty_since = self.empty_since;
        line.bucket = self.bucket;
        line.pace = self.pace;
        line.counters = self.counters;
        line.waits = self.waits;
        line.limit_counters = self.limit_counters;
        line.attack_until = self.attack_until;
        line.lobby_tickets = self.lobby_tickets.into_iter().collect();
        for (session, arrival, expires_at) in self.waiting {
            line.insert(session, Presence::waiting(arrival).until(expires_at));
        }
        for (session, admitted_at, expires_at) in self.active {
            line.insert(session, Presence::admitted(admitted_at).until(expires_at));
        }
        for (session, ended_at) in self.ended {
            line.add_tombstone(session, ended_at);
        }
        line
    }
}

impl Line {
    /// The current state of the line, for storage on disk.
    pub fn snapshot(&self) -> LineSnapshot {
        let (mut waiting, mut active) = (Vec::new(), Vec::new());
        for (session, presence) in &self.present {
            let list = if presence.admitted_at().is_some() { &mut active } else { &mut waiting };
            list.push((*session, presence.since(), presence.expires_at));
        }
        LineSnapshot {
            rules: self.rules.clone(),
            state_since: self.state_since,
            provisional: self.provisional,
            restored: self.restored,
            continuity: self.continuity,
            recovery: self.recovery,
            void_tickets: self.void_tickets,
            last_arrival: self.last_arrival,
            reached: self.reached,
            opened_at: self.opened_at,
            empty_since: self.empty_since,
            waiting,
            active,
            ended: self.ended.iter().map(|(session, ended_at)| (*session, *ended_at)).collect(),
            bucket: self.bucket,
            pace: self.pace,
            counters: self.counters,
            waits: self.waits,
            limit_counters: self.limit_counters,
            attack_until: self.attack_until,
            lobby_tickets: self.lobby_tickets.iter().map(|(event, count)| (*event, *count)).collect(),
        }
    }
}

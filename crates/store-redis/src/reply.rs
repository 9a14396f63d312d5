//! Decodes the replies of scripts. An unknown code is an error, never a default.

use std::vec::IntoIter;

use bytes::Bytes;
use fred::types::Value;
use vestibule_core::line::{
    AttackModeChange, Checkpoint, Counters, EventWindows, JoinDistribution, JoinRejection, JoinState, JoinTotals,
    LimitCounters, LimitStats, LineRules, LineView, ListedSession, LocatedSession, Mode, Pace, PageStart, Phase,
    ProtectionReport, PurgeReport, RecentCount, RejectionReason, Removed, SessionLocation, SessionPage, SessionState,
    Stats, StayCounts, Visit, VisitAnswer, VisitKind, WAIT_BUCKETS, Waits, WindowEvents, WindowJoins, WindowTotals,
};
use vestibule_core::{
    JOIN_WINDOWS, LastPurge, Micros, NetworkPrefix, PreTicket, QueueId, SessionId, StoreError, Ticket,
};

use crate::codes;

pub(crate) fn corrupt(expected: &str, found: impl std::fmt::Debug) -> StoreError {
    StoreError::Corrupt(format!("{expected} was expected, not {found:?}"))
}

/// The fields of the last purge, as written by `set_last_purge.lua`.
pub(crate) const PURGE_FIELDS: [&str; 8] =
    ["at", "took_ms", "queues", "failed", "expired", "tombstones", "admitted", "unfinished"];

/// The record of joins.
struct JoinRecord([u64; codes::JOIN_RECORD_SIZE]);

impl JoinRecord {
    fn totals(&self) -> JoinTotals {
        let [window, _, rest @ ..] = &self.0;
        let half = |from: usize| WindowTotals {
            joins: rest[from],
            without_address: rest[from + 1],
            networks: rest[from + 2],
            extra_hops: rest[from + 3],
        };
        JoinTotals { window: *window, halves: [half(0), half(4)] }
    }

    const fn recent(&self) -> RecentCount {
        let [.., slot, _, _, current, before, _, _, _] = self.0;
        RecentCount { slot, current, before }
    }
}

/// The values of a reply, read one by one.
pub(crate) struct Reply(IntoIter<Value>);

impl Reply {
    /// The reply to an operation on this queue.
    pub(crate) fn to(queue: &QueueId, value: Value) -> Result<Self, StoreError> {
        let mut reply = Self::of(value)?;
        match reply.code()? {
            codes::DONE => Ok(reply),
            codes::UNKNOWN_QUEUE => Err(StoreError::UnknownQueue(queue.clone())),
            other => Err(corrupt("what became of the operation", other)),
        }
    }

    /// The values of a reply to a command.
    pub(crate) fn of(value: Value) -> Result<Self, StoreError> {
        let Value::Array(values) = value else { return Err(corrupt("an array", value.kind())) };
        Ok(Self(values.into_iter()))
    }

    pub(crate) fn value(&mut self) -> Result<Value, StoreError> {
        self.0.next().ok_or_else(|| corrupt("one more value", "the end"))
    }

    /// A number from a script, or from text stored by the server.
    pub(crate) fn number(&mut self) -> Result<Option<u64>, StoreError> {
        let value = self.value()?;
        let number = match &value {
            Value::Integer(-1) | Value::Null => return Ok(None),
            Value::Integer(number) => u64::try_from(*number).ok(),
            text => text.as_str().and_then(|text| text.parse().ok()),
        };
        number.map(Some).ok_or_else(|| corrupt("a number", value.kind()))
    }

    pub(crate) fn whole(&mut self) -> Result<u64, StoreError> {
        self.number()?.ok_or_else(|| corrupt("a number", "none"))
    }

    fn micros(&mut self) -> Result<Micros, StoreError> {
        self.whole().map(Micros)
    }

    pub(crate) fn code(&mut self) -> Result<i64, StoreError> {
        self.value()?.as_i64().ok_or_else(|| corrupt("a code", "another value"))
    }

    pub(crate) fn flag(&mut self) -> Result<bool, StoreError> {
        match self.code()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(corrupt("0 or 1", other)),
        }
    }

    pub(crate) fn bytes(&mut self) -> Result<Bytes, StoreError> {
        self.next_bytes()?.ok_or_else(|| corrupt("one more value", "the end"))
    }

    /// The next bytes; `None` at the end of the reply.
    pub(crate) fn next_bytes(&mut self) -> Result<Option<Bytes>, StoreError> {
        match self.0.next() {
            None => Ok(None),
            Some(Value::Bytes(bytes)) => Ok(Some(bytes)),
            Some(Value::String(text)) => Ok(Some(text.into_inner())),
            Some(other) => Err(corrupt("bytes", other.kind())),
        }
    }

    /// Bytes; `None` for nil.
    pub(crate) fn stored_bytes(&mut self) -> Result<Option<Bytes>, StoreError> {
        match self.value()? {
            Value::Null => Ok(None),
            Value::Bytes(bytes) => Ok(Some(bytes)),
            Value::String(text) => Ok(Some(text.into_inner())),
            other => Err(corrupt("bytes", other.kind())),
        }
    }

    /// A text; `None` for nil.
    pub(crate) fn text(&mut self) -> Result<Option<String>, StoreError> {
        match self.value()? {
            Value::Null => Ok(None),
            value => value.as_string().map(Some).ok_or_else(|| corrupt("a text", "another value")),
        }
    }

    fn rules(&mut self) -> Result<LineRules, StoreError> {
        codes::unpack_rules(&self.bytes()?)
    }

    /// A mode that this version does not know is read as paused.
    fn mode(&mut self) -> Result<Mode, StoreError> {
        let mode = self.text()?.unwrap_or_default();
        Ok(serde_json::from_value(mode.into()).unwrap_or(Mode::Paused))
    }

    /// The phase; empty for a queue that does not follow its events.
    fn phase(&mut self) -> Result<Option<Phase>, StoreError> {
        let phase = self.text()?.unwrap_or_default();
        if phase.is_empty() {
            return Ok(None);
        }
        serde_json::from_value(phase.as_str().into()).map(Some).map_err(|_| corrupt("a phase", phase))
    }

    fn session(&mut self) -> Result<SessionId, StoreError> {
        let bytes = self.bytes()?;
        let bytes = bytes.as_ref().try_into().map_err(|_| corrupt("the bytes of a session", bytes.len()))?;
        Ok(SessionId::from_bytes(bytes))
    }

    /// Twelve numbers in one text; empty while the pace is unknown.
    fn pace(&mut self) -> Result<Pace, StoreError> {
        let bytes = self.bytes()?;
        if bytes.is_empty() {
            return Ok(Pace::default());
        }
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        let numbers: Vec<i64> = text.split(' ').filter_map(|number| number.parse().ok()).collect();
        let wrong = |_| corrupt("a pace", text);
        let [since, window, current, previous, departures, departures_before, stays @ ..]: [i64; 12] =
            numbers.try_into().map_err(|_| corrupt("a pace", text))?;
        let whole = |number: i64| u64::try_from(number).map_err(wrong);
        let [stays, stays_before] = [&stays[..3], &stays[3..]].map(|numbers| -> Result<StayCounts, StoreError> {
            Ok(StayCounts { short: whole(numbers[0])?, short_ms: whole(numbers[1])?, long: whole(numbers[2])? })
        });
        Ok(Pace {
            since: Micros(whole(since)?),
            window: Micros(whole(window)?),
            current: whole(current)?,
            previous: whole(previous)?,
            departures,
            departures_before,
            stays: stays?,
            stays_before: stays_before?,
        })
    }

    /// The answers to these visits.
    pub(crate) fn visits(&mut self, visits: &[Visit]) -> Result<Vec<VisitAnswer>, StoreError> {
        let (now, quota) = (self.micros()?, self.whole()?);
        let mut answers: Vec<VisitAnswer> = Vec::with_capacity(visits.len());
        let mut queue_figures = None;
        for visit in visits {
            let code = self.code()?;
            let (kind, session) = self.session_state(visit, code % codes::CHANGED)?;
            if code >= codes::CHANGED {
                queue_figures = Some(self.queue_figures(now, quota)?);
            }
            let Some(queue_figures) = queue_figures else { return Err(corrupt("the queue's figures", "none")) };
            answers.push(VisitAnswer { kind, session, ..queue_figures });
        }
        Ok(answers)
    }

    /// The queue's figures, in an answer without a session.
    fn queue_figures(&mut self, now: Micros, quota: u64) -> Result<VisitAnswer, StoreError> {
        Ok(VisitAnswer {
            now,
            quota,
            kind: VisitKind::Absent,
            session: None,
            epoch: self.whole()?,
            revision: self.whole()?,
            waiting: self.whole()?,
            active: self.whole()?,
            recovering: self.flag()?,
            restoring: self.flag()?,
            pace: self.pace()?,
            reached: self.micros()?,
            mode: self.mode()?,
            attack_mode: self.flag()?,
        })
    }

    /// How the session of a visit was found, and its state.
    fn session_state(&mut self, visit: &Visit, code: i64) -> Result<(VisitKind, Option<SessionState>), StoreError> {
        let kind = match code % codes::BY_JOINING {
            codes::NOT_JOINED => return Ok((VisitKind::Absent, None)),
            codes::LINE_FULL => return Ok((VisitKind::Full, None)),
            codes::UNINVITED => return Ok((VisitKind::InvitationRequired, None)),
            codes::IN_LOBBY => return Ok((VisitKind::Lobby, None)),
            codes::NEEDS_PRE_TICKET => return Ok((VisitKind::NeedsPreTicket, None)),
            codes::REJECTED => return Ok((VisitKind::Rejected(self.rejection()?), None)),
            codes::NEEDS_PROOF => return Ok((VisitKind::NeedsProof(self.whole()?), None)),
            codes::RENEWED => VisitKind::Renewed,
            codes::RESTORED => VisitKind::Restored,
            codes::JOINED => VisitKind::Joined,
            other => return Err(corrupt("a kind", other)),
        };
        let position = self.whole()?;
        let admitted_at = if position == 0 { Some(self.micros()?) } else { None };
        let expires_at = self.micros()?;
        let of_account = code >= codes::BY_ACCOUNT;
        let redeemed = code >= codes::BY_REDEEMING;
        let joined = code >= codes::BY_JOINING;
        let (id, arrival) = if of_account {
            (visit.account.or(visit.ticket.as_ref().map(Ticket::session)), self.micros()?)
        } else if redeemed {
            (visit.redeem.as_ref().map(PreTicket::session), self.micros()?)
        } else if joined {
            (visit.join, self.micros()?)
        } else {
            let ticket = visit.ticket.as_ref().ok_or_else(|| corrupt("another answer", "that to a ticket"))?;
            (Some(ticket.session()), ticket.arrival())
        };
        let id = id.ok_or_else(|| corrupt("another answer", "that to somebody who joins"))?;
        let confirmed = redeemed || !joined;
        Ok((kind, Some(SessionState { id, arrival, admitted_at, position, expires_at, confirmed })))
    }

    fn rejection(&mut self) -> Result<JoinRejection, StoreError> {
        let reason = match self.code()? {
            codes::REJECTED_BLOCKED => RejectionReason::Blocked,
            codes::REJECTED_RATE => RejectionReason::Rate,
            codes::REJECTED_LIMIT => RejectionReason::Limit,
            other => return Err(corrupt("a reason", other)),
        };
        Ok(JoinRejection { reason, retry_after: self.whole()? })
    }

    /// The record of joins, see `limits.lua`; empty if nobody joined.
    fn join_record(&mut self) -> Result<JoinRecord, StoreError> {
        let text = self.text()?.unwrap_or_default();
        let numbers = text.split(' ').filter_map(|number| number.parse().ok());
        // Older versions have fewer numbers.
        let mut record = [0; codes::JOIN_RECORD_SIZE];
        record.iter_mut().zip(numbers).for_each(|(field, number)| *field = number);
        Ok(JoinRecord(record))
    }

    /// The events until the start of the current window and of the one before, as `events,events`.
    fn event_windows(&mut self) -> Result<EventWindows, StoreError> {
        let (window, text) = (self.whole()?, self.text()?.unwrap_or_default());
        let events = |text: &str| {
            let mut values = [0; WindowEvents::COUNT];
            let numbers = text.split(' ').filter_map(|number| number.parse().ok());
            values.iter_mut().zip(numbers).for_each(|(value, number)| *value = number);
            WindowEvents::from_values(values)
        };
        let (current, previous) = text.split_once(',').unwrap_or_default();
        Ok(EventWindows { window, current: events(current), previous: events(previous) })
    }

    /// The histograms of both halves; empty if nobody joined.
    fn histograms(&mut self) -> Result<[WindowJoins; JOIN_WINDOWS], StoreError> {
        let bytes = self.bytes()?;
        let number = |cell: &[u8]| cell.iter().fold(0, |sum, byte| (sum << 8) | u64::from(*byte));
        let mut cells = bytes.chunks_exact(size_of::<u32>()).map(number);
        let mut histogram = || std::array::from_fn(|_| cells.next().unwrap_or_default());
        let mut half = || {
            let (by_address, by_network) = (histogram(), histogram());
            WindowJoins { by_address, by_network, ..WindowJoins::default() }
        };
        Ok(std::array::from_fn(|_| half()))
    }

    pub(crate) fn protection(mut self) -> Result<ProtectionReport, StoreError> {
        let (stats, record) = self.stats_and_joins()?;
        let (events, mut halves) = (self.event_windows()?, self.histograms()?);
        while self.0.len() > 0 {
            let (member, score) = (self.bytes()?, self.whole()?);
            let invalid = || corrupt("a network", &member);
            let (half, prefix) = member.split_first().ok_or_else(invalid)?;
            let network = prefix.try_into().ok().and_then(NetworkPrefix::from_bytes).ok_or_else(invalid)?;
            let half = halves.get_mut(usize::from(half.wrapping_sub(b'0'))).ok_or_else(invalid)?;
            half.networks.insert(network, score % codes::HALF_SCORE);
        }
        let distribution = JoinDistribution::new(record.totals().window, halves);
        let joins = JoinState { totals: record.totals(), recent: record.recent(), distribution, events };
        Ok(ProtectionReport::of(stats, joins))
    }

    pub(crate) fn removal(&mut self) -> Result<Removed, StoreError> {
        match self.code()? {
            codes::REMOVED_WAITING => Ok(Removed::Waiting),
            codes::REMOVED_ACTIVE => Ok(Removed::Active),
            codes::REMOVED_ABSENT => Ok(Removed::Absent),
            other => Err(corrupt("a removal", other)),
        }
    }

    pub(crate) fn attack_mode(&mut self) -> Result<AttackModeChange, StoreError> {
        Ok(AttackModeChange { before: self.number()?.map(Micros), until: self.number()?.map(Micros) })
    }

    pub(crate) fn purge(&mut self) -> Result<PurgeReport, StoreError> {
        Ok(PurgeReport {
            expired: self.whole()?,
            tombstones: self.whole()?,
            admitted: self.whole()?,
            more: self.flag()?,
            closed: self.number()?,
        })
    }

    /// Decodes [`PURGE_FIELDS`]; all are nil before the first run.
    pub(crate) fn last_purge_record(value: Value) -> Result<Option<LastPurge>, StoreError> {
        let mut reply = Self::of(value)?;
        let Some(at) = reply.number()? else { return Ok(None) };
        Ok(Some(LastPurge {
            at: Micros(at),
            took_ms: reply.whole()?,
            queues: reply.whole()?,
            failed: reply.whole()?,
            expired: reply.whole()?,
            tombstones: reply.whole()?,
            admitted: reply.whole()?,
            unfinished: reply.whole()? > 0,
        }))
    }

    fn counts<const N: usize>(&mut self) -> Result<[u64; N], StoreError> {
        let mut counts = [0; N];
        for count in &mut counts {
            *count = self.number()?.unwrap_or(0);
        }
        Ok(counts)
    }

    pub(crate) fn line(mut self) -> Result<LineView, StoreError> {
        let stats = self.stats()?;
        let front = if stats.waiting > 0 { Some(self.session()?) } else { None };
        let mut checkpoints = Vec::new();
        while self.0.len() > 0 {
            checkpoints.push(Checkpoint { rank: self.whole()?, arrival: self.micros()? });
        }
        Ok(LineView { stats, checkpoints, front })
    }

    pub(crate) fn stats(&mut self) -> Result<Stats, StoreError> {
        self.stats_and_joins().map(|(stats, _)| stats)
    }

    fn stats_and_joins(&mut self) -> Result<(Stats, JoinRecord), StoreError> {
        let (now, state_since, recovering, reserved) = (self.micros()?, self.micros()?, self.flag()?, self.whole()?);
        let (waiting, active) = (self.whole()?, self.whole()?);
        let (oldest_arrival, pace, rules) = (self.number()?.map(Micros), self.pace()?, self.rules()?);
        let (mode, phase, lobby_tickets) = (self.mode()?, self.phase()?, self.number()?.unwrap_or(0));
        let counters = Counters::from_values(self.counts()?);
        let waits = Waits { buckets: self.counts::<{ WAIT_BUCKETS.len() + 1 }>()?, sum_us: self.counts::<1>()?[0] };
        let limit_counters = LimitCounters::from_values(self.counts()?);
        let record = self.join_record()?;
        let client_address = record.totals().sum(now).client_address();
        let (attack_mode_until, paid_admissions) = (self.number()?.map(Micros), self.number()?);
        let stats = Stats {
            now,
            rules,
            mode,
            phase,
            state_since,
            recovering,
            reserved,
            paid_admissions,
            waiting,
            active,
            oldest_arrival,
            lobby_tickets,
            pace,
            counters,
            waits,
            limits: LimitStats { counters: limit_counters, client_address },
            attack_mode_until,
        };
        Ok((stats, record))
    }

    pub(crate) fn found(mut self) -> Result<Option<LocatedSession>, StoreError> {
        let code = self.code()?;
        if code == codes::ABSENT {
            return Ok(None);
        }
        let expires_at = self.micros()?;
        let state = match code {
            codes::WAITING => SessionLocation::Waiting { arrival: self.micros()?, position: self.whole()? },
            codes::ADMITTED => SessionLocation::Active { admitted_at: self.micros()? },
            codes::ENDED_BEFORE => SessionLocation::Ended,
            other => return Err(corrupt("where a session is", other)),
        };
        Ok(Some(LocatedSession { state, expires_at }))
    }

    pub(crate) fn page(mut self) -> Result<SessionPage, StoreError> {
        let (at, skip) = (self.number()?, self.whole()?);
        let mut page = SessionPage { entries: Vec::new(), next: at.map(|at| PageStart { at: Micros(at), skip }) };
        while self.0.len() > 0 {
            let (session, at, expires_at) = (self.session()?, self.micros()?, self.micros()?);
            page.entries.push(ListedSession { session, at, expires_at });
        }
        Ok(page)
    }
}

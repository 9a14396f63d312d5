//! What scripts answer, as types. A code that is not known is an error, never a default.

use std::vec::IntoIter;

use bytes::Bytes;
use fred::types::Value;
use vestibule_core::line::{
    Counters, FoundSession, FoundState, LetIn, LineEntry, LinePage, LineRules, Pace, Place, Presentation, PurgeReport,
    Removal, Stats, Stays, Visit, VisitAnswer, WAIT_BUCKETS, Waits,
};
use vestibule_core::{Micros, PurgeRecord, QueueId, SessionId, StoreError};

use crate::batch::Batch;
use crate::codes;
use crate::packed::unpack_rules;

fn corrupt(expected: &str, found: impl std::fmt::Debug) -> StoreError {
    StoreError::Corrupt(format!("{expected} was expected, not {found:?}"))
}

/// The fields of the purge's record, as `record_purge.lua` writes them.
pub(crate) const PURGE_FIELDS: [&str; 8] =
    ["at", "took_ms", "queues", "failed", "expired", "tombstones", "admitted", "unfinished"];

/// The line around a visitor.
#[derive(Clone, Copy)]
struct Surroundings {
    waiting: u64,
    active: u64,
    recovering: bool,
    pace: Pace,
}

/// The values of a reply, taken one by one.
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
    fn of(value: Value) -> Result<Self, StoreError> {
        let Value::Array(values) = value else { return Err(corrupt("an array", value.kind())) };
        Ok(Self(values.into_iter()))
    }

    fn value(&mut self) -> Result<Value, StoreError> {
        self.0.next().ok_or_else(|| corrupt("one more value", "the end"))
    }

    /// A number that a script made, or that the server keeps as text.
    fn number(&mut self) -> Result<Option<u64>, StoreError> {
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

    fn flag(&mut self) -> Result<bool, StoreError> {
        match self.code()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(corrupt("0 or 1", other)),
        }
    }

    fn bytes(&mut self) -> Result<Bytes, StoreError> {
        match self.value()? {
            Value::Bytes(bytes) => Ok(bytes),
            Value::String(text) => Ok(text.into_inner()),
            other => Err(corrupt("bytes", other.kind())),
        }
    }

    fn rules(&mut self) -> Result<LineRules, StoreError> {
        unpack_rules(&self.bytes()?)
    }

    fn session(&mut self) -> Result<SessionId, StoreError> {
        let bytes = self.bytes()?;
        let bytes = bytes.as_ref().try_into().map_err(|_| corrupt("the bytes of a session", bytes.len()))?;
        Ok(SessionId::from_bytes(bytes))
    }

    /// Twelve numbers in one text; empty while the pace is not known.
    fn pace(&mut self) -> Result<Pace, StoreError> {
        let bytes = self.bytes()?;
        if bytes.is_empty() {
            return Ok(Pace::default());
        }
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        let numbers: Vec<i64> = text.split(' ').filter_map(|number| number.parse().ok()).collect();
        let wrong = |_| corrupt("a pace", text);
        let [since, window, current, previous, gone, gone_before, stays @ ..]: [i64; 12] =
            numbers.try_into().map_err(|_| corrupt("a pace", text))?;
        let whole = |number: i64| u64::try_from(number).map_err(wrong);
        let [stays, stays_before] = [&stays[..3], &stays[3..]].map(|numbers| -> Result<Stays, StoreError> {
            Ok(Stays { short: whole(numbers[0])?, short_ms: whole(numbers[1])?, long: whole(numbers[2])? })
        });
        Ok(Pace {
            since: Micros(whole(since)?),
            window: Micros(whole(window)?),
            current: whole(current)?,
            previous: whole(previous)?,
            gone,
            gone_before,
            stays: stays?,
            stays_before: stays_before?,
        })
    }

    /// Whom the operation let in, at the end of the reply, if anybody.
    pub(crate) fn let_in(&mut self) -> Result<Option<LetIn>, StoreError> {
        if self.0.len() == 0 {
            return Ok(None);
        }
        let mut let_in =
            LetIn { epoch: self.whole()?, at: self.micros()?, until: self.micros()?, sessions: Vec::new() };
        while self.0.len() > 0 {
            let_in.sessions.push(self.session()?);
        }
        Ok(Some(let_in))
    }

    /// What came of each of these visits, in the order in which they came.
    pub(crate) fn visits(&mut self, batch: &Batch<'_>) -> Result<Vec<VisitAnswer>, StoreError> {
        let (now, rules, at_first) = (self.micros()?, self.rules()?, self.surroundings()?);
        let answer = |around: Surroundings, presentation, place| VisitAnswer {
            now,
            revision: rules.revision,
            epoch: rules.epoch,
            mode: rules.mode,
            place,
            presentation,
            waiting: around.waiting,
            active: around.active,
            quota: rules.quota,
            recovering: around.recovering,
            pace: around.pace,
        };
        let mut answers: Vec<Option<VisitAnswer>> = Vec::new();
        answers.resize_with(batch.len(), || None);
        let (quick, believed) = (self.whole()?, self.whole()?);
        for ((place, visit), count) in batch.iter().zip(0..) {
            answers[place] = Some(if count < quick {
                answer(at_first, Presentation::Present, Some(self.quick_place(visit, count < believed)?))
            } else {
                let (presentation, found) = self.place(visit)?;
                answer(self.surroundings()?, presentation, found)
            });
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// Where the bearer of the visit's ticket stands, which is believed, or not, to say until when they are present in line.
    fn quick_place(&mut self, visit: &Visit, believed: bool) -> Result<Place, StoreError> {
        let ticket = visit.ticket.as_ref().ok_or_else(|| corrupt("another answer", "that of a ticket"))?;
        let (session, arrival, rank) = (ticket.session(), ticket.arrival(), self.whole()?);
        let admitted_at = if rank == 0 { Some(self.micros()?) } else { None };
        let expires_at = match ticket.present_until().filter(|_| believed && rank > 0) {
            Some(present_until) => present_until,
            None => self.micros()?,
        };
        Ok(Place { session, arrival, admitted_at, rank, expires_at, granted: true })
    }

    fn surroundings(&mut self) -> Result<Surroundings, StoreError> {
        Ok(Surroundings { waiting: self.whole()?, active: self.whole()?, recovering: self.flag()?, pace: self.pace()? })
    }

    fn place(&mut self, visit: &Visit) -> Result<(Presentation, Option<Place>), StoreError> {
        let who = self.code()?;
        let session = match who {
            codes::NOBODY => None,
            codes::BY_TICKET => visit.ticket.as_ref().map(vestibule_core::VerifiedTicket::session),
            codes::BY_JOINING => visit.join,
            other => return Err(corrupt("who is there", other)),
        };
        let granted = who == codes::BY_TICKET;
        let presentation = match self.code()? {
            codes::ABSENT => Presentation::Absent,
            codes::PRESENT => Presentation::Present,
            codes::RETURNED => Presentation::Returned,
            codes::JOINED => Presentation::Joined,
            other => return Err(corrupt("a presentation", other)),
        };
        let (arrival, admitted_at) = (self.micros()?, self.number()?.map(Micros));
        let (rank, expires_at) = (self.whole()?, self.micros()?);
        let place = |session| Place { session, arrival, admitted_at, rank, expires_at, granted };
        Ok((presentation, session.map(place)))
    }

    pub(crate) fn removal(&mut self) -> Result<Removal, StoreError> {
        match self.code()? {
            codes::WAITED => Ok(Removal::Waited),
            codes::WAS_ADMITTED => Ok(Removal::WasAdmitted),
            codes::WAS_ABSENT => Ok(Removal::WasAbsent),
            other => Err(corrupt("a removal", other)),
        }
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

    /// The reply to [`PURGE_FIELDS`]; all are nil before the first round.
    pub(crate) fn purge_record(value: Value) -> Result<Option<PurgeRecord>, StoreError> {
        let mut reply = Self::of(value)?;
        let Some(at) = reply.number()? else { return Ok(None) };
        Ok(Some(PurgeRecord {
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

    pub(crate) fn stats(mut self) -> Result<Stats, StoreError> {
        Ok(Stats {
            now: self.micros()?,
            rules: self.rules()?,
            began: self.micros()?,
            recovering: self.flag()?,
            waiting: self.whole()?,
            active: self.whole()?,
            oldest_arrival: self.number()?.map(Micros),
            pace: self.pace()?,
            counters: Counters::from_values(self.counts()?),
            waits: Waits { buckets: self.counts::<{ WAIT_BUCKETS.len() + 1 }>()?, sum_us: self.counts::<1>()?[0] },
        })
    }

    pub(crate) fn found(mut self) -> Result<Option<FoundSession>, StoreError> {
        let code = self.code()?;
        if code == codes::ABSENT {
            return Ok(None);
        }
        let expires_at = self.micros()?;
        let state = match code {
            codes::WAITING => FoundState::Waiting { arrival: self.micros()?, rank: self.whole()? },
            codes::ADMITTED => FoundState::Admitted { admitted_at: self.micros()? },
            codes::ENDED_BEFORE => FoundState::Ended,
            other => return Err(corrupt("where a session is", other)),
        };
        Ok(Some(FoundSession { state, expires_at }))
    }

    pub(crate) fn page(mut self) -> Result<LinePage, StoreError> {
        let mut page = LinePage { entries: Vec::new(), next: self.number()?.map(Micros) };
        while self.0.len() > 0 {
            let (session, arrival, expires_at) = (self.session()?, self.micros()?, self.micros()?);
            page.entries.push(LineEntry { session, arrival, expires_at });
        }
        Ok(page)
    }
}

//! Reads the logs of audit events as one, the newest event first.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::str::FromStr;

use futures_util::{StreamExt as _, stream};
use tracing::debug;
use vestibule_core::{Micros, StoreError, TenantId};
use vestibule_records::{ENTRIES_MAX, Entry, EntryId, LogName};

use crate::access::{Principal, Tenants};
use crate::audit::{AuditEvent, before};
use crate::former_tenants::FormerTenants;
use crate::state::Admin;

/// Least events of a log that are read at once.
const CHUNK_MIN: usize = 20;
/// How many logs are read at once.
const AT_ONCE: usize = 64;
/// Stands behind the id of an event about sign-ins.
const OF_ACCOUNTS: &str = "~";

/// Names an event among those of all logs: the id within its log, and the log. `1700000000000-0@acme` is one of a
/// tenant, `1700000000000-0~` one about sign-ins, `1700000000000-0` one of superusers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AuditId {
    entry: EntryId,
    log: String,
}

impl fmt::Display for AuditId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.entry, self.log)
    }
}

impl FromStr for AuditId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (entry, log) = text.find(['@', '~']).map_or((text, ""), |at| text.split_at(at));
        let is_log = match log.strip_prefix('@') {
            Some(tenant) => tenant.parse::<TenantId>().is_ok(),
            None => ["", OF_ACCOUNTS].contains(&log),
        };
        let entry = entry.parse().map_err(|_| ())?;
        if is_log { Ok(Self { entry, log: log.to_owned() }) } else { Err(()) }
    }
}

/// A log that is being read.
struct Source {
    log: LogName,
    name: String,
    before: Option<EntryId>,
    read: VecDeque<Entry>,
    ended: bool,
}

impl Source {
    fn new(log: LogName, from: Option<&AuditId>) -> Self {
        let name = match &log {
            LogName::TenantAudit(tenant) => format!("@{tenant}"),
            LogName::AccountAudit => OF_ACCOUNTS.to_owned(),
            _ => String::new(),
        };
        // Of events of the same instant those of logs with a lower name are still to come.
        let before = from.map(|from| {
            if name < from.log { EntryId { number: from.entry.number + 1, ..from.entry } } else { from.entry }
        });
        Self { log, name, before, read: VecDeque::new(), ended: false }
    }

    fn is_due(&self) -> bool {
        !self.ended && self.read.is_empty()
    }

    fn take(&mut self, found: Vec<Entry>, chunk: usize) {
        self.ended = found.len() < chunk;
        self.before = found.last().map(|entry| entry.id).or(self.before);
        self.read = found.into();
    }
}

/// The logs that a principal may look into, as one.
pub(crate) struct AuditReader {
    admin: Admin,
    principal: Principal,
    former: FormerTenants,
    sources: Vec<Source>,
    chunk: usize,
    /// Events of an earlier second are kept no longer.
    from: u64,
}

impl AuditReader {
    /// Begins with the event before `from`, or with the newest; `tenant` leaves the logs of other tenants out.
    pub(crate) async fn new(
        admin: &Admin,
        principal: &Principal,
        tenant: Option<&TenantId>,
        from: Option<&AuditId>,
    ) -> Result<Self, StoreError> {
        let oldest = before(admin.now().await?, admin.audit_days);
        let mut former = FormerTenants::load(&*admin.records).await?;
        if let Err(error) = former.forget(&*admin.records, oldest).await {
            debug!(%error, "old events of removed tenants could not be dropped yet");
        }
        let tenants: BTreeSet<TenantId> = match (&principal.tenants, tenant) {
            (_, Some(tenant)) => Some(tenant.clone()).filter(|tenant| principal.can_view(tenant)).into_iter().collect(),
            (Tenants::These(these), None) => these.iter().cloned().collect(),
            (Tenants::All, None) => {
                let tenants = admin.store.tenants().await?.into_iter().map(|tenant| tenant.id);
                tenants.chain(former.ids().cloned()).collect()
            }
        };
        let logs = tenants.into_iter().map(LogName::TenantAudit).chain([LogName::Audit, LogName::AccountAudit]);
        let sources: Vec<_> = logs.map(|log| Source::new(log, from)).collect();
        let chunk = (ENTRIES_MAX / sources.len()).max(CHUNK_MIN);
        let from = oldest.seconds();
        Ok(Self { admin: admin.clone(), principal: principal.clone(), former, sources, chunk, from })
    }

    /// Whether the principal can view an event: their own actions and changes to their tenants, but not to a removed tenant whose
    /// ID is in use again. Superusers view all. The own actions of an API token are those that were made with it: its owner can do
    /// more.
    pub(crate) fn can_view(&self, id: &AuditId, event: &AuditEvent) -> bool {
        let at = Micros(id.entry.at_ms * 1000);
        let is_of_tenant = |tenant: &TenantId| self.principal.can_view(tenant) && !self.former.include(tenant, at);
        let is_own = match &self.principal.token {
            Some(token) => event.token.as_ref() == Some(token),
            None => event.operator.as_deref() == Some(self.principal.operator.as_str()),
        };
        self.principal.is_superuser() || is_own || event.tenant.as_ref().is_some_and(is_of_tenant)
    }

    /// Reads on in all logs of which nothing is left.
    async fn fill(&mut self) -> Result<(), StoreError> {
        let due = self.sources.iter().enumerate().filter(|(_, source)| source.is_due());
        let due: Vec<_> = due.map(|(index, source)| (index, source.log.clone(), source.before)).collect();
        let reads = due.into_iter().map(|(index, log, before)| {
            let (admin, chunk) = (self.admin.clone(), self.chunk);
            async move { (index, admin.records.entries(&log, before, chunk).await) }
        });
        for (index, found) in stream::iter(reads).buffer_unordered(AT_ONCE).collect::<Vec<_>>().await {
            self.sources[index].take(found?, self.chunk);
        }
        Ok(())
    }

    /// The next event, which is older than the one before; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<(AuditId, AuditEvent)>, StoreError> {
        loop {
            self.fill().await?;
            let newest = self.sources.iter_mut().filter(|source| !source.read.is_empty());
            let newest = newest.max_by(|one, other| {
                let key = |source: &Source| source.read.front().map(|entry| entry.id);
                key(one).cmp(&key(other)).then_with(|| one.name.cmp(&other.name))
            });
            let Some(source) = newest else { return Ok(None) };
            let Some(entry) = source.read.pop_front() else { return Ok(None) };
            if entry.id.at_ms / 1000 < self.from {
                return Ok(None);
            }
            let id = AuditId { entry: entry.id, log: source.name.clone() };
            if let Ok(mut parsed) = serde_json::from_str::<AuditEvent>(&entry.text) {
                (parsed.id, parsed.at) = (id.to_string(), entry.id.at_ms / 1000);
                return Ok(Some((id, parsed)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_event_id_round_trips() {
        for text in ["1700000000000-3", "1700000000000-3~", "1700000000000-3@acme"] {
            assert_eq!(text.parse::<AuditId>().unwrap().to_string(), text);
        }
        for wrong in ["", "1", "1-2@", "1-2@A", "1-2~x", "1-2x", "@acme"] {
            assert!(wrong.parse::<AuditId>().is_err(), "{wrong}");
        }
    }
}

//! Tenants that were removed. Superusers can still read their audit events; operators of a later tenant with the same ID see
//! the events of that tenant only. The history of its queues begins with that tenant for everyone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tracing::warn;
use vestibule_core::{Micros, StoreError, TenantId};
use vestibule_records::{DOCUMENTS_MAX, DocumentKind, DocumentOutcome, LogName, RecordStore};

use crate::audit::before;
use crate::problem::Problem;
use crate::state::Admin;

/// The removal of a tenant at an unknown time: operators of a later tenant with the same ID see no events at all.
const UNKNOWN_REMOVAL: Micros = Micros(1 << 53);

/// A removed tenant as stored.
#[derive(Serialize, Deserialize)]
struct FormerTenant {
    /// When it was removed last.
    removed_at: Micros,
}

/// The removed tenants whose audit events are kept, with the time of their removal.
pub(crate) struct FormerTenants(BTreeMap<TenantId, Micros>);

impl FormerTenants {
    /// Reads them from the store.
    pub(crate) async fn load(records: &dyn RecordStore) -> Result<Self, StoreError> {
        let mut removed = BTreeMap::new();
        for (id, document) in records.list_documents(DocumentKind::FormerTenants).await? {
            let Ok(parsed) = id.parse() else {
                warn!(id, "the ID of a former tenant cannot be read");
                continue;
            };
            let removed_at = match serde_json::from_str::<FormerTenant>(&document.text) {
                Ok(former) => former.removed_at,
                Err(error) => {
                    warn!(id, %error, "a former tenant cannot be read");
                    UNKNOWN_REMOVAL
                }
            };
            removed.insert(parsed, removed_at);
        }
        Ok(Self(removed))
    }

    /// Records that a tenant is removed now. Forgets the tenants whose audit events are no longer kept. Returns when an
    /// earlier tenant with the ID was removed.
    pub(crate) async fn add(admin: &Admin, id: &TenantId) -> Result<Option<Micros>, Problem> {
        let (records, now) = (&*admin.records, admin.now().await?);
        let mut known = Self::load(records).await?;
        known.forget(records, before(now, admin.audit_days)).await?;
        Self::put(records, id, now).await?;
        Ok(known.0.remove(id))
    }

    /// Forgets the tenants that were removed before an instant, from which on audit events are kept.
    pub(crate) async fn forget(&mut self, records: &dyn RecordStore, oldest: Micros) -> Result<(), StoreError> {
        for (id, _) in self.0.extract_if(.., |_, removed_at| *removed_at < oldest) {
            records.trim(&LogName::TenantAudit(id.clone()), oldest).await?;
            records.remove_document(DocumentKind::FormerTenants, id.as_str()).await?;
        }
        Ok(())
    }

    /// Restores what was recorded before [`add`](Self::add), for a tenant that was not removed after all.
    pub(crate) async fn restore(admin: &Admin, id: &TenantId, earlier: Option<Micros>) -> Result<(), Problem> {
        if let Some(removed_at) = earlier {
            return Self::put(&*admin.records, id, removed_at).await;
        }
        admin.records.remove_document(DocumentKind::FormerTenants, id.as_str()).await?;
        Ok(())
    }

    async fn put(records: &dyn RecordStore, id: &TenantId, removed_at: Micros) -> Result<(), Problem> {
        let over = records.get_document(DocumentKind::FormerTenants, id.as_str()).await?.map_or(0, |it| it.revision);
        let text = serde_json::json!(FormerTenant { removed_at }).to_string();
        match records.put_document(DocumentKind::FormerTenants, id.as_str(), &text, over).await? {
            DocumentOutcome::Full => Err(Problem::LimitReached(DOCUMENTS_MAX)),
            DocumentOutcome::Conflict(_) => Err(Problem::ConcurrentChange),
            DocumentOutcome::Stored(_) | DocumentOutcome::NoOther => Ok(()),
        }
    }

    /// The IDs of the tenants.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &TenantId> {
        self.0.keys()
    }

    /// Whether an event of a tenant at this time is of a removed one.
    pub(crate) fn include(&self, id: &TenantId, at: Micros) -> bool {
        self.removed_at(id).is_some_and(|removed_at| at <= removed_at)
    }

    /// When a tenant with this ID was removed last.
    pub(crate) fn removed_at(&self, id: &TenantId) -> Option<Micros> {
        self.0.get(id).copied()
    }
}

#[cfg(test)]
mod tests {
    use vestibule_core::{ManualClock, SystemClock};
    use vestibule_store_memory::MemoryRecords;

    use super::*;

    #[tokio::test]
    async fn unreadable_former_tenant_hides_only_its_own_events() {
        let records = MemoryRecords::new(SystemClock::new());
        for (id, text) in [("acme", r#"{"removed_at":5}"#), ("globex", "{}"), ("Not an ID", "{}")] {
            records.put_document(DocumentKind::FormerTenants, id, text, 0).await.unwrap();
        }
        let former = FormerTenants::load(&records).await.unwrap();
        let includes = |id: &str, at: u64| former.include(&id.parse().unwrap(), Micros(at));
        assert!(includes("acme", 5) && !includes("acme", 6));
        assert!(includes("globex", 1_800_000_000_000_000), "when it was removed is not known");
        assert!(!includes("initech", 5));
    }

    #[tokio::test]
    async fn former_tenant_is_forgotten_with_its_events() {
        let records = MemoryRecords::new(ManualClock::at(Micros(5_000_000)));
        for (id, removed_at) in [("acme", 6_000_000_u64), ("globex", 60_000_000)] {
            let text = format!(r#"{{"removed_at":{removed_at}}}"#);
            records.put_document(DocumentKind::FormerTenants, id, &text, 0).await.unwrap();
            records.append(&LogName::TenantAudit(id.parse().unwrap()), "{}").await.unwrap();
        }
        let mut former = FormerTenants::load(&records).await.unwrap();
        former.forget(&records, Micros(7_000_000)).await.unwrap();
        for (id, kept) in [("acme", 0), ("globex", 1)] {
            let id: TenantId = id.parse().unwrap();
            let events = records.entries(&LogName::TenantAudit(id.clone()), None, 9).await.unwrap();
            let listed = records.get_document(DocumentKind::FormerTenants, id.as_str()).await.unwrap();
            assert_eq!(
                (events.len(), usize::from(listed.is_some()), former.ids().any(|it| *it == id)),
                (kept, kept, kept > 0)
            );
        }
    }
}

//! Tenants that were removed. Superusers can still read their audit events; operators of a later tenant with the same ID see
//! the events of that tenant only. The history of its queues begins with that tenant for everyone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use vestibule_core::{Micros, StoreError, TenantId};
use vestibule_records::{DOCUMENTS_MAX, DocumentKind, DocumentOutcome, LogName, RecordStore};

use crate::audit::before;
use crate::problem::Problem;
use crate::state::Admin;

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
            let id = id.parse().map_err(|_| StoreError::Corrupt("a former tenant has no ID".to_owned()))?;
            let former: FormerTenant = serde_json::from_str(&document.text)
                .map_err(|error| StoreError::Corrupt(format!("a former tenant: {error}")))?;
            removed.insert(id, former.removed_at);
        }
        Ok(Self(removed))
    }

    /// Records that a tenant is removed now. Forgets the tenants whose audit events are no longer kept. Returns when an earlier tenant
    /// with the ID was removed.
    pub(crate) async fn add(admin: &Admin, id: &TenantId) -> Result<Option<Micros>, Problem> {
        let (records, now) = (&*admin.records, admin.now().await?);
        let oldest = before(now, admin.audit_days);
        let mut known = Self::load(records).await?.0;
        for (id, _) in known.extract_if(.., |_, removed_at| *removed_at < oldest) {
            records.trim(&LogName::TenantAudit(id.clone()), oldest).await?;
            records.remove_document(DocumentKind::FormerTenants, id.as_str()).await?;
        }
        Self::put(records, id, now).await?;
        Ok(known.remove(id))
    }

    /// Takes [`add`](Self::add) back for a tenant that was not removed after all.
    pub(crate) async fn take_back(admin: &Admin, id: &TenantId, earlier: Option<Micros>) -> Result<(), Problem> {
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

//! The audit log: looking things up in it, and taking it along.

mod export;
mod search;

use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::settings::{FieldWording, Fields};
use vestibule_core::{QueueId, TenantId};

use crate::access::Principal;
use crate::audit::AuditEvent;
use crate::audit_reader::AuditId;
use crate::codes::Code;
use crate::query::parsed;
use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new().routes(routes!(search::search_audit)).routes(routes!(export::export_audit))
}

/// Longest text that is searched for.
const SEARCH_MAX: usize = 200;

/// Which entries are wanted.
struct Filter {
    tenant: Option<TenantId>,
    queue: Option<QueueId>,
    operator: Option<String>,
    action: Option<String>,
    search: Option<String>,
    from: u64,
    to: u64,
    before: Option<AuditId>,
}

impl Filter {
    fn read(fields: &mut Fields<'_>) -> Self {
        let takes = || Code::TextAtMost.with("most", SEARCH_MAX);
        let text = |value: &Value| value.as_str().filter(|it| it.len() <= SEARCH_MAX).map(str::to_lowercase);
        Self {
            tenant: parsed(fields, "tenant", FieldWording::Id),
            queue: parsed(fields, "queue", FieldWording::Id),
            operator: fields.optional("operator", takes(), text),
            action: fields.optional("action", takes(), text),
            search: fields.optional("search", takes(), text),
            from: crate::query::number(fields, "from", 0, 0, 1 << 40),
            to: crate::query::number(fields, "to", 1 << 40, 0, 1 << 40),
            before: parsed(fields, "before", Code::EntryId),
        }
    }

    /// Whether an entry is wanted, and the principal's to see: their own deeds, and what was done with their tenants.
    fn takes(&self, principal: &Principal, entry: &AuditEvent) -> bool {
        let own = entry.operator.as_deref() == Some(principal.operator.as_str());
        let visible =
            principal.is_superuser() || own || entry.tenant.as_ref().is_some_and(|tenant| principal.can_view(tenant));
        visible
            && (self.from..=self.to).contains(&entry.at)
            && self.tenant.is_none_or_is(entry.tenant.as_ref())
            && self.queue.is_none_or_is(entry.queue.as_ref())
            && self.operator.is_none_or_is(entry.operator.as_ref())
            && self.action.as_ref().is_none_or(|action| entry.action.starts_with(action))
            && self.search.as_ref().is_none_or(|text| json(entry).to_lowercase().contains(text))
    }
}

trait IsNoneOrIs<T> {
    fn is_none_or_is(&self, found: Option<&T>) -> bool;
}

impl<T: PartialEq> IsNoneOrIs<T> for Option<T> {
    fn is_none_or_is(&self, found: Option<&T>) -> bool {
        self.as_ref().is_none_or(|wanted| Some(wanted) == found)
    }
}

fn json(entry: &AuditEvent) -> String {
    serde_json::json!(entry).to_string()
}

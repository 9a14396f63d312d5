use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::Principal;
use crate::api::audit::Filter;
use crate::audit::AuditEvent;
use crate::audit_reader::AuditReader;
use crate::problem::Problem;
use crate::query::{Query, number};
use crate::state::Admin;

/// Most entries of a page.
const PAGE_MAX: u64 = 200;
/// Most events that one search looks through.
const LOOKED_MAX: usize = 5000;

/// A page of the audit log.
#[derive(Serialize, ToSchema)]
pub(crate) struct AuditPage {
    /// The events, newest first.
    events: Vec<AuditEvent>,
    /// Start of the next page as `before`; `null` at the end. A page can have few events although more follow:
    /// a search scans a part of the log at a time.
    next: Option<String>,
}

/// Search the audit log
///
/// Returns events, newest first: your own actions and all changes to your tenants. Superusers see all events.
#[utoipa::path(get, path = "/audit", tag = "audit",
    params(
        ("tenant" = Option<String>, Query, description = "Only events of this tenant"),
        ("queue" = Option<String>, Query, description = "Only events of this queue"),
        ("operator" = Option<String>, Query, description = "Only events of this operator"),
        ("action" = Option<String>, Query, description = "Only actions with this prefix, such as `queue.`"),
        ("search" = Option<String>, Query, description = "Only events that contain this text"),
        ("from" = Option<u64>, Query, description = "Earliest time in seconds since 1970"),
        ("to" = Option<u64>, Query, description = "Latest time in seconds since 1970"),
        ("before" = Option<String>, Query, description = "`next` of the previous page", pattern = "^[0-9]{1,16}-[0-9]{1,10}(~|@[a-z0-9-]{1,63})?$"),
        ("limit" = Option<u64>, Query, description = "Maximum number of results", minimum = 1, maximum = 200),
    ),
    responses((status = 200, description = "The events", body = AuditPage)))]
pub(crate) async fn search_audit(
    State(admin): State<Admin>,
    principal: Principal,
    query: Query,
) -> Result<Json<AuditPage>, Problem> {
    let (filter, limit) =
        query.read(|fields| (Filter::read(fields), number(fields, "limit", 50, 1, PAGE_MAX) as usize))?;
    let mut page = AuditPage { events: Vec::new(), next: None };
    let mut reader = AuditReader::new(&admin, &principal, filter.tenant.as_ref(), filter.before.as_ref()).await?;
    for looked in 1.. {
        let Some((id, entry)) = reader.next().await?.filter(|(_, entry)| entry.at >= filter.from) else { break };
        if filter.takes(&principal, &entry) {
            if page.events.len() == limit {
                page.next = page.events.last().map(|entry| entry.id.clone());
                break;
            }
            page.events.push(entry);
        }
        if looked == LOOKED_MAX {
            page.next = Some(id.to_string());
            break;
        }
    }
    Ok(Json(page))
}

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use vestibule_core::settings::FieldWording;
use vestibule_core::{QueueId, TenantId};

use crate::access::Principal;
use crate::codes::Code;
use crate::problem::Problem;
use crate::query::{Query, number, parsed};
use crate::schema::QueueSettings;
use crate::state::Admin;

/// Most queues of a page.
const PAGE_MAX: u64 = 500;

/// A page of queues.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueuePage {
    /// The queues by id.
    #[schema(value_type = Vec<QueueSettings>)]
    queues: Vec<Value>,
    /// Start of the next page as `after`; `null` at the end.
    next: Option<String>,
}

/// List queues
///
/// Returns the queues that you have access to, with all settings, by ID.
#[utoipa::path(get, path = "/queues", tag = "queues",
    params(
        ("tenant" = Option<String>, Query, description = "Only queues of this tenant"),
        ("search" = Option<String>, Query, description = "Only queues with this text in ID, name or a host"),
        ("after" = Option<String>, Query, description = "Return queues after this ID"),
        ("limit" = Option<u64>, Query, description = "Maximum number of results", minimum = 1, maximum = 500),
    ),
    responses((status = 200, description = "The queues", body = QueuePage)))]
pub(crate) async fn list_queues(
    State(admin): State<Admin>,
    principal: Principal,
    query: Query,
) -> Result<Json<QueuePage>, Problem> {
    let (tenant, search, after, limit) = query.read(|fields| {
        let tenant = parsed::<TenantId>(fields, "tenant", FieldWording::Id);
        let search = fields.or("search", String::new(), Code::Text, |value| value.as_str().map(str::to_lowercase));
        let after = parsed::<QueueId>(fields, "after", FieldWording::Id);
        (tenant, search, after, number(fields, "limit", 100, 1, PAGE_MAX) as usize)
    })?;
    admin.directory.refresh().await?;
    let mut queues = admin.directory.queues();
    queues.retain(|queue| {
        let settings = &queue.settings;
        principal.can_view(&settings.tenant)
            && tenant.as_ref().is_none_or(|tenant| settings.tenant == *tenant)
            && after.as_ref().is_none_or(|after| settings.id > *after)
            && (settings.id.as_str().contains(&search)
                || settings.name.to_lowercase().contains(&search)
                || settings.hosts.iter().any(|host| host.to_string().contains(&search)))
    });
    queues.sort_by(|one, other| one.settings.id.cmp(&other.settings.id));
    let more = queues.len() > limit;
    queues.truncate(limit);
    let next = queues.last().filter(|_| more).map(|queue| queue.settings.id.to_string());
    Ok(Json(QueuePage { queues: queues.iter().map(|queue| queue.settings.to_value()).collect(), next }))
}

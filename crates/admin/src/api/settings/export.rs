use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::access::Principal;
use crate::api::tenants::TenantView;
use crate::problem::Problem;
use crate::query::{Query, format};
use crate::schema::QueueSettings;
use crate::state::Admin;
use crate::toml::to_toml;

/// A settings document.
#[derive(Serialize, ToSchema)]
pub(crate) struct SettingsDocument {
    /// The tenants by id.
    #[schema(value_type = Vec<TenantView>)]
    tenants: Vec<Value>,
    /// The queues by id.
    #[schema(value_type = Vec<QueueSettings>)]
    queues: Vec<Value>,
}

/// Export all settings
///
/// Returns all tenants and queues that you have access to as one JSON or TOML document, in the format of `POST
/// /settings` and `vestibule serve --settings`.
#[utoipa::path(get, path = "/settings", tag = "settings",
    params(("format" = Option<String>, Query, description = "`json` or `toml`", pattern = "^(json|toml)$")),
    responses((status = 200, description = "The document", content((SettingsDocument = "application/json"), (String = "application/toml")))))]
pub(crate) async fn export_settings(
    State(admin): State<Admin>,
    principal: Principal,
    query: Query,
) -> Result<Response, Problem> {
    let format = query.read(|fields| format(fields, ["json", "toml"]))?;
    admin.directory.refresh().await?;
    let tenants = admin.store.tenants().await?;
    let mut queues = admin.directory.queues();
    queues.retain(|queue| principal.can_view(&queue.settings.tenant));
    queues.sort_by(|one, other| one.settings.id.cmp(&other.settings.id));
    let tenants = tenants.iter().filter(|tenant| principal.can_view(&tenant.id)).map(|tenant| json!(tenant));
    let document = SettingsDocument {
        tenants: tenants.collect(),
        queues: queues.iter().map(|it| it.settings.to_value()).collect(),
    };
    if format == "toml" {
        let head =
            [(CONTENT_TYPE, "application/toml"), (CONTENT_DISPOSITION, "attachment; filename=\"vestibule.toml\"")];
        return Ok((head, to_toml(&json!(document))).into_response());
    }
    Ok(Json(document).into_response())
}

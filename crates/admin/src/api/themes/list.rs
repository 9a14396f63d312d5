use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::VisitorState;
use vestibule_themes::Language;

use crate::access::Caller;
use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::all_seen;

/// The states that a page is shown in.
pub(super) const STATES: [VisitorState; 5] = [
    VisitorState::Waiting,
    VisitorState::Admitted,
    VisitorState::Paused,
    VisitorState::Closed,
    VisitorState::Unavailable,
];

/// The themes that the caller may see.
#[derive(Serialize, ToSchema)]
pub(crate) struct ThemeList {
    /// The themes by id.
    themes: Vec<ThemeView>,
    /// The states in which a page can be looked at.
    #[schema(value_type = Vec<String>)]
    states: [&'static str; 5],
    /// The languages in which a page can be looked at.
    languages: Vec<&'static str>,
}

/// A theme.
#[derive(Serialize, ToSchema)]
pub(crate) struct ThemeView {
    /// Its id, as a queue's `theme` names it.
    id: String,
    /// The tenant whose it is: the one whose id it has or begins with; `null` for the superusers' own.
    tenant: Option<String>,
    /// The queues that have it, as far as the caller may see them.
    queues: Vec<String>,
    /// Whether visitors see something of it: what was published, or put there by hand.
    live: bool,
}

/// List themes
///
/// The themes that there are and that the caller may see, by id. `default` is for queues without one.
#[utoipa::path(get, path = "/themes", tag = "themes",
    responses(
        (status = 200, description = "The themes", body = ThemeList),
        (status = 409, description = "Theme storage is not configured"),
    ))]
pub(crate) async fn list_themes(State(admin): State<Admin>, caller: Caller) -> Result<Json<ThemeList>, Problem> {
    let owned = all_seen(&admin, &caller).await?;
    admin.directory.refresh().await?;
    let mut queues = admin.directory.queues();
    queues.retain(|queue| caller.sees(&queue.settings.tenant));
    queues.sort_by(|one, other| one.settings.id.cmp(&other.settings.id));
    let themes = owned.into_iter().map(|(theme, live)| ThemeView {
        tenant: theme.tenant_id().map(ToString::to_string),
        queues: queues
            .iter()
            .filter(|queue| queue.settings.theme.as_ref() == Some(&theme.id))
            .map(|queue| queue.settings.id.to_string())
            .collect(),
        id: theme.id.to_string(),
        live,
    });
    let languages = Language::ALL.iter().map(|language| language.code()).collect();
    Ok(Json(ThemeList { themes: themes.collect(), states: STATES.map(VisitorState::as_str), languages }))
}

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::VisitorState;
use vestibule_themes::Language;

use crate::access::Principal;
use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::all_visible;

/// The states of a page.
pub(super) const STATES: [VisitorState; 8] = [
    VisitorState::Waiting,
    VisitorState::Admitted,
    VisitorState::Paused,
    VisitorState::Lobby,
    VisitorState::Closed,
    VisitorState::Full,
    VisitorState::InvitationRequired,
    VisitorState::Unavailable,
];

/// A list of themes.
#[derive(Serialize, ToSchema)]
pub(crate) struct ThemeList {
    /// The themes by id.
    themes: Vec<ThemeView>,
    /// States for previews.
    #[schema(value_type = Vec<String>)]
    states: [&'static str; 8],
    /// Languages for previews.
    languages: Vec<&'static str>,
}

/// A theme.
#[derive(Serialize, ToSchema)]
pub(crate) struct ThemeView {
    /// ID of the theme.
    id: String,
    /// The owner: the tenant whose ID the theme ID equals or starts with; `null` for shared themes.
    tenant: Option<String>,
    /// Accessible queues that use the theme.
    queues: Vec<String>,
    /// Whether the theme is active.
    live: bool,
}

/// List themes
///
/// Returns the themes that you have access to, by ID. `default` is for queues without a theme.
#[utoipa::path(get, path = "/themes", tag = "themes",
    responses(
        (status = 200, description = "The themes", body = ThemeList),
        (status = 409, description = "Theme storage is not configured"),
    ))]
pub(crate) async fn list_themes(State(admin): State<Admin>, principal: Principal) -> Result<Json<ThemeList>, Problem> {
    let owned = all_visible(&admin, &principal).await?;
    let queues = admin.visible_queues(&principal).await?;
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

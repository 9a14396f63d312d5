use std::collections::HashSet;

use axum::Json;
use axum::extract::State;
use serde_json::Value;
use utoipa::ToSchema;
use vestibule_core::VisitorState;
use vestibule_themes::{FILES_MAX, Language};

use crate::access::Principal;
use crate::api::themes::list::STATES;
use crate::api::themes::preview::{language, state};
use crate::body::{JsonBody, read, wrong};
use crate::codes::Code;
use crate::problem::Problem;
use crate::query::{Segments, one_of};
use crate::state::Admin;
use crate::themes::{DRAFT_MAX, DraftPreview, DraftTemplate, ThemeDraftPreview, find_visible, render_preview};

/// A theme draft.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a body")]
pub(crate) struct ThemeDraft {
    /// Templates; without any, the built-in pages are rendered.
    #[schema(max_items = 32)]
    templates: Vec<DraftTemplate>,
    /// Paths of the other files, which are not sent. The tenant's logo is shown if it is one of them.
    #[schema(max_items = 1000, required = false)]
    assets: Vec<String>,
    /// States to render; all by default.
    #[schema(max_items = 5, required = false)]
    states: Vec<PreviewState>,
    /// Visitor language; `en` by default.
    #[schema(pattern = "^(en|de|fr|es|nl|cy)$", required = false)]
    language: String,
}

/// A visitor state.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "describes a body")]
enum PreviewState {
    Waiting,
    Admitted,
    Paused,
    Closed,
    Unavailable,
}

/// Preview a theme draft
///
/// Renders pages from the given templates with sample data. Nothing is stored, and no visitor sees them. Send templates
/// only; the client inserts the other files of the theme where `asset_base` appears. Send at most one request per
/// second. The body is limited to 1 MB.
#[utoipa::path(post, path = "/themes/{theme}/preview", tag = "themes",
    request_body = ThemeDraft,
    params(("theme" = String, Path, description = "ID of the theme, which need not exist yet")),
    responses(
        (status = 200, description = "The pages", body = ThemeDraftPreview),
        (status = 422, description = "A field or the theme is invalid; `errors` lists all problems, with file and line as `field`"),
    ))]
pub(crate) async fn preview_theme_draft(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
    JsonBody(body): JsonBody<DRAFT_MAX>,
) -> Result<Json<ThemeDraftPreview>, Problem> {
    let preview = read(&body, |fields| {
        let (names, languages) = (STATES.map(VisitorState::as_str), Language::ALL.map(Language::code));
        DraftPreview {
            templates: fields.required("templates", Code::DraftTemplates, templates).unwrap_or_default(),
            assets: fields.or("assets", HashSet::new(), Code::DraftAssets.with("most", FILES_MAX), assets),
            states: fields.or("states", STATES.to_vec(), one_of(&names), states),
            language: fields.or("language", Language::ALL[0], one_of(&languages), language),
        }
    })?;
    let paths: HashSet<_> = preview.templates.iter().map(|template| &template.path).collect();
    if paths.len() < preview.templates.len() {
        return Err(wrong("templates", Code::Duplicate));
    }
    let theme = find_visible(&admin, &principal, &id).await?;
    render_preview(&admin, &theme, preview).await.map(Json)
}

fn templates(value: &Value) -> Option<Vec<DraftTemplate>> {
    serde_json::from_value(value.clone()).ok()
}

fn assets(value: &Value) -> Option<HashSet<String>> {
    serde_json::from_value(value.clone()).ok().filter(|assets: &HashSet<String>| assets.len() <= FILES_MAX)
}

fn states(value: &Value) -> Option<Vec<VisitorState>> {
    value.as_array().filter(|states| states.len() <= STATES.len())?.iter().map(state).collect()
}

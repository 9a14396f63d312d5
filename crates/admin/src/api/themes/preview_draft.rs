use std::collections::HashSet;

use axum::Json;
use axum::extract::State;
use vestibule_core::fields;
use vestibule_core::fields::{List, Text};
use vestibule_themes::{FILES_MAX, Language};

use crate::access::Principal;
use crate::api::themes::list::STATES;
use crate::api::themes::preview::{PreviewLanguage, PreviewState};
use crate::body::{Body, Segments, wrong};
use crate::codes::Code;
use crate::describe::describe;
use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::{DRAFT_MAX, DraftPreview, DraftTemplate, ThemeDraftPreview, find_visible, render_preview};

fields! {
    /// A theme draft.
    pub(crate) struct ThemeDraft {
        /// Templates; without any, the built-in pages are rendered.
        templates: List<DraftTemplate, 0, 32>,
        /// Paths of the other files, which are not sent. The tenant's logo is shown if it is one of them.
        assets: List<Text<255>, 0, FILES_MAX> = Vec::new(),
        /// States to render; all by default.
        states: List<PreviewState, 0, 5> = STATES.to_vec(),
        /// Visitor language; `en` by default.
        language: PreviewLanguage = Language::ALL[0],
    }
}

describe!(request ThemeDraft);

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
    Body(draft): Body<ThemeDraft, DRAFT_MAX>,
) -> Result<Json<ThemeDraftPreview>, Problem> {
    let ThemeDraft { templates, assets, states, language } = draft;
    let preview = DraftPreview { templates, assets: assets.into_iter().collect(), states, language };
    let paths: HashSet<_> = preview.templates.iter().map(|template| &template.path).collect();
    if paths.len() < preview.templates.len() {
        return Err(wrong("templates", Code::Duplicate));
    }
    let theme = find_visible(&admin, &principal, &id).await?;
    render_preview(&admin, &theme, preview).await.map(Json)
}

use std::collections::HashSet;

use axum::Json;
use axum::extract::State;
use serde_json::Value;
use utoipa::ToSchema;
use vestibule_core::VisitorState;
use vestibule_themes::{FILES_MAX, Language};

use crate::access::Caller;
use crate::api::themes::list::STATES;
use crate::api::themes::preview::{language, state};
use crate::body::{JsonBody, read, wrong};
use crate::codes::Code;
use crate::problem::Problem;
use crate::query::{Segments, one_of};
use crate::state::Admin;
use crate::themes::{DraftTemplate, SKETCH_MAX, Sketch, ThemeDraftPreview, drawn, seen};

/// A theme that somebody is at work on.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a body")]
pub(crate) struct ThemeDraft {
    /// Its templates; without any, the pages are the built-in ones.
    #[schema(max_items = 32)]
    templates: Vec<DraftTemplate>,
    /// Paths of its other files, which are not sent: the tenant's logo is shown if it is one of them.
    #[schema(max_items = 1000, required = false)]
    assets: Vec<String>,
    /// The states to draw, all of them without it.
    #[schema(max_items = 5, required = false)]
    states: Vec<PreviewState>,
    /// Language of the visitor, `en` without it.
    #[schema(pattern = "^(en|de|fr|es|nl|cy)$", required = false)]
    language: String,
}

/// A state that a page is shown in.
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
/// Draws the pages of templates as they are sent, with sample data. Nothing of them is kept, and no visitor sees them. Only
/// templates are sent: whoever shows the pages has the theme's other files, and puts them where `asset_base` stands. Ask
/// again when something changed, not more often than once a second on end: drawing takes a moment of a core. At most 1 MB.
#[utoipa::path(post, path = "/themes/{theme}/preview", tag = "themes",
    request_body = ThemeDraft,
    params(("theme" = String, Path, description = "ID of the theme, whether there is one yet or not")),
    responses(
        (status = 200, description = "The pages", body = ThemeDraftPreview),
        (status = 422, description = "A field is wrong, or it is broken; `errors` names all that is, `field` as file and line"),
    ))]
pub(crate) async fn preview_theme_draft(
    State(admin): State<Admin>,
    caller: Caller,
    Segments(id): Segments<String>,
    JsonBody(body): JsonBody<SKETCH_MAX>,
) -> Result<Json<ThemeDraftPreview>, Problem> {
    let sketch = read(&body, |fields| {
        let (names, languages) = (STATES.map(VisitorState::as_str), Language::ALL.map(Language::code));
        Sketch {
            templates: fields.required("templates", Code::DraftTemplates, templates).unwrap_or_default(),
            assets: fields.or("assets", HashSet::new(), Code::DraftAssets.with("most", FILES_MAX), assets),
            states: fields.or("states", STATES.to_vec(), one_of(&names), states),
            language: fields.or("language", Language::ALL[0], one_of(&languages), language),
        }
    })?;
    let paths: HashSet<_> = sketch.templates.iter().map(|template| &template.path).collect();
    if paths.len() < sketch.templates.len() {
        return Err(wrong("templates", Code::Duplicate));
    }
    let theme = seen(&admin, &caller, &id).await?;
    drawn(&admin, &theme, sketch).await.map(Json)
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

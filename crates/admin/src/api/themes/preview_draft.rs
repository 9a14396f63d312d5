use std::collections::HashSet;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::fields;
use vestibule_core::fields::{List, Text};
use vestibule_themes::{Draft, FILES_MAX, Language, ThemeFiles};

use crate::access::Principal;
use crate::api::themes::list::STATES;
use crate::api::themes::preview::{PreviewLanguage, PreviewState};
use crate::body::{Body, Segments, wrong};
use crate::codes::Code;
use crate::describe::describe;
use crate::problem::Problem;
use crate::secret::random_hex;
use crate::state::Admin;
use crate::themes::{Sample, SamplePage, find_visible, queues_of};

/// Most bytes of the body. A load balancer takes 1 MB for a function.
const DRAFT_MAX: usize = 1024 * 1024;
/// URL prefix of the theme's files in the pages. There is no such host: the client has the files and inserts them.
const ASSET_BASE: &str = "https://theme.invalid/";

fields! {
    /// A template of a draft.
    pub(crate) struct DraftTemplate {
        /// Its path within the theme: `queue.html`.
        path: Text<255>,
        /// Its text.
        text: Text<DRAFT_MAX>,
    }
}

fields! {
    /// A theme draft.
    pub(crate) struct ThemeDraft {
        /// Templates; without any, the built-in pages are rendered.
        templates: List<DraftTemplate, 0, 32>,
        /// Paths of the other files, which are not sent. The tenant's logo is shown if it is one of them.
        assets: List<Text<255>, 0, FILES_MAX> = Vec::new(),
        /// States to render; all by default.
        states: List<PreviewState, 0, { STATES.len() }> = STATES.to_vec(),
        /// Visitor language.
        language: PreviewLanguage = Language::ALL[0],
    }
}

describe!(request DraftTemplate, ThemeDraft);

/// Rendered pages of a draft.
#[derive(Serialize, ToSchema)]
pub(crate) struct ThemeDraftPreview {
    /// One page per requested state.
    pages: Vec<PreviewPage>,
    /// Prefix of the URLs of the theme's other files in the pages. Nothing is served there; the client
    /// inserts the files.
    asset_base: &'static str,
    /// The nonce of the pages' styles.
    nonce: String,
}

/// One page.
#[derive(Serialize, ToSchema)]
struct PreviewPage {
    /// The visitor state.
    state: &'static str,
    /// The HTML. It is untrusted: show it only in a sandbox without scripts.
    html: String,
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
    Body(draft): Body<ThemeDraft, DRAFT_MAX>,
) -> Result<Json<ThemeDraftPreview>, Problem> {
    let ThemeDraft { templates, assets, states, language } = draft;
    let count = templates.len();
    let files: ThemeFiles = templates.into_iter().map(|template| (template.path, template.text.into())).collect();
    if files.len() < count {
        return Err(wrong("templates", Code::Duplicate));
    }
    let theme = find_visible(&admin, &principal, &id).await?;
    // The semaphore is never closed.
    let _permit = admin.theme_work.renders.acquire().await;
    let draft = if files.is_empty() {
        None
    } else {
        let checked = Draft::check_for(files, queues_of(&admin, &theme)).await;
        Some(checked.map_err(|faults| Problem::theme_invalid(&faults))?)
    };
    let assets: HashSet<String> = assets.into_iter().collect();
    let has = |logo: &str| assets.contains(logo);
    let sample = Sample::of(&admin, &theme, None, ASSET_BASE.to_owned(), random_hex::<16>(), has).await?;
    let mut pages = Vec::new();
    for state in states {
        pages.push(PreviewPage {
            state: state.as_str(),
            html: sample.page(draft.as_ref(), &SamplePage { state, language, event: None, message: None }).await?,
        });
    }
    Ok(Json(ThemeDraftPreview { pages, asset_base: ASSET_BASE, nonce: sample.nonce }))
}

//! Preview of a draft: its pages as visitors would see them. Nothing is stored.

use std::collections::HashSet;

use serde::Serialize;
use tokio::sync::Semaphore;
use utoipa::ToSchema;
use vestibule_core::fields::Text;
use vestibule_core::{VisitorState, fields};
use vestibule_themes::{Draft, Language, ThemeFiles};

use crate::describe::describe;
use crate::problem::Problem;
use crate::secret::random_hex;
use crate::state::Admin;
use crate::themes::OwnedTheme;
use crate::themes::sample::Sample;

/// Most bytes of the body. A load balancer takes 1 MB for a function.
pub(crate) const DRAFT_MAX: usize = 1024 * 1024;
/// Drafts that one process renders at the same time; others wait. Each takes a core.
const RENDERS_MAX: usize = 2;
/// URL prefix of the theme's files in the pages. There is no such host: the client has the files and inserts them.
const ASSET_BASE: &str = "https://theme.invalid/";

fields! {
    /// A template of a draft.
    pub(crate) struct DraftTemplate {
        /// Its path within the theme: `queue.html`.
        pub(crate) path: Text<255>,
        /// Its text.
        pub(crate) text: Text<DRAFT_MAX>,
    }
}

describe!(request DraftTemplate);

/// A preview request.
pub(crate) struct DraftPreview {
    pub(crate) templates: Vec<DraftTemplate>,
    /// Paths of the theme's other files.
    pub(crate) assets: HashSet<String>,
    pub(crate) states: Vec<VisitorState>,
    pub(crate) language: Language,
}

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

/// Limits concurrent renders.
pub(crate) struct RenderLimiter(Semaphore);

impl Default for RenderLimiter {
    fn default() -> Self {
        Self(Semaphore::new(RENDERS_MAX))
    }
}

/// Renders a draft that is valid in every state and language.
pub(crate) async fn render_preview(
    admin: &Admin,
    theme: &OwnedTheme,
    request: DraftPreview,
) -> Result<ThemeDraftPreview, Problem> {
    let DraftPreview { templates, assets, states, language } = request;
    // The semaphore is never closed.
    let _permit = admin.render_limiter.0.acquire().await;
    let files: ThemeFiles = templates.into_iter().map(|template| (template.path, template.text.into())).collect();
    let draft = if files.is_empty() {
        None
    } else {
        Some(Draft::check(files).await.map_err(|faults| Problem::theme_invalid(&faults))?)
    };
    let has = |logo: &str| assets.contains(logo);
    let sample = Sample::of(admin, theme, ASSET_BASE.to_owned(), random_hex::<16>(), has).await?;
    let mut pages = Vec::new();
    for state in states {
        pages.push(PreviewPage { state: state.as_str(), html: sample.page(draft.as_ref(), state, language).await? });
    }
    Ok(ThemeDraftPreview { pages, asset_base: ASSET_BASE, nonce: sample.nonce })
}

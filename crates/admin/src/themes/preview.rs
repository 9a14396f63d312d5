//! Preview of a version as a separate page. Nothing in it runs or reaches the backoffice; it loads only its own files.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_FRAME_OPTIONS,
};
use serde::{Deserialize, Serialize};
use vestibule_core::settings::Settings;
use vestibule_core::{StoreError, ThemeId};
use vestibule_records::{EphemeralKey, EphemeralKind};
use vestibule_themes::{Draft, VersionId};

use crate::body::Segments;
use crate::prefix::PREFIX;
use crate::problem::Problem;
use crate::secret::{hash, new_secret, random_hex};
use crate::state::Admin;
use crate::themes::sample::{Sample, SamplePage};
use crate::themes::{OwnedTheme, theme_versions};

/// Route of a preview's files.
pub(crate) const PREVIEW_FILES: &str = "/preview-files/{token}/{*path}";
/// Seconds for which the files of a preview are available.
const FILES_TTL: u64 = 600;
/// Policy of a page without an origin. 'self' still matches the frame's own address, so it loads its files.
/// `allow-scripts` only hides the content for browsers without scripts: without `script-src`, no script runs.
const FRAME: &str = "img-src 'self' data:; font-src 'self'; media-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts";
/// Policy of a file. An SVG image that is opened directly is a page, and may contain a script.
const FILE: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// The version of a preview, stored so that any process finds its files.
#[derive(Serialize, Deserialize)]
struct Shown {
    theme: ThemeId,
    /// The live files without it.
    version: Option<VersionId>,
}

/// A page of a theme with sample data, as a visitor of that language would see it in this queue, or in any of the theme.
pub(crate) async fn preview_page(
    admin: &Admin,
    theme: &OwnedTheme,
    queue: Option<&Settings>,
    version: Option<VersionId>,
    shown_page: &SamplePage,
) -> Result<Response, Problem> {
    let shown = Shown { theme: theme.id.clone(), version };
    let draft = draft(admin, &shown).await?;
    let token = new_secret();
    if let Some(draft) = &draft {
        let text = serde_json::to_string(&shown).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        admin.records.set_ephemeral(&key(&token), &text, FILES_TTL).await?;
        admin.theme_work.previews.keep(hash(&token), Arc::clone(draft));
    }
    let (asset_base, nonce) = (format!("{PREFIX}/preview-files/{token}/"), random_hex::<16>());
    let has = |logo: &str| draft.as_ref().is_some_and(|draft| draft.asset(logo).is_some());
    let sample = Sample::of(admin, theme, queue, asset_base, nonce, has).await?;
    let page = sample.page(draft.as_deref(), shown_page).await?;
    let nonce = &sample.nonce;
    let policy = format!("default-src 'none'; style-src 'self' 'nonce-{nonce}'; {FRAME}");
    Ok(([(CONTENT_SECURITY_POLICY, policy), (X_FRAME_OPTIONS, "SAMEORIGIN".to_owned())], Html(page)).into_response())
}

/// A file of a preview. A frame without an origin sends no cookies, so the token, which expires, is the only credential.
pub(crate) async fn preview_file(
    State(admin): State<Admin>,
    Segments((token, path)): Segments<(String, String)>,
) -> Result<Response, Problem> {
    let id = hash(&token);
    let Some(text) = admin.records.get_ephemeral(&key(&token)).await? else { return Err(Problem::RouteNotFound) };
    let draft = if let Some(draft) = admin.theme_work.previews.find(&id) {
        draft
    } else {
        // Another process rendered the page.
        let shown: Shown = serde_json::from_str(&text).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        let draft = draft(&admin, &shown).await?.ok_or(Problem::RouteNotFound)?;
        admin.theme_work.previews.keep(id, Arc::clone(&draft));
        draft
    };
    let asset = draft.asset(&path).ok_or(Problem::RouteNotFound)?;
    let head = [
        (CONTENT_TYPE, asset.content_type),
        (CONTENT_SECURITY_POLICY, FILE),
        (CACHE_CONTROL, "private, max-age=600"),
        // Fonts are requested with the origin of the page, which has none.
        (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    ];
    Ok((head, asset.bytes).into_response())
}

fn key(token: &str) -> EphemeralKey {
    EphemeralKey::new(EphemeralKind::Preview, hash(token))
}

/// The files of a version, or the live ones; `None` for the built-in pages. They are validated once as long as a preview of them is
/// cached.
async fn draft(admin: &Admin, shown: &Shown) -> Result<Option<Arc<Draft>>, Problem> {
    let files = match (&shown.version, &admin.themes) {
        (Some(version), _) => Some(theme_versions(admin)?.read(&shown.theme, version).await?),
        (None, Some(versions)) => versions.live(&shown.theme).await?,
        (None, None) => None,
    };
    let Some(files) = files else { return Ok(None) };
    if let Some(draft) = admin.theme_work.previews.of_files(&files) {
        return Ok(Some(draft));
    }
    admin.theme_work.checked(files, Vec::new()).await.map(|draft| Some(Arc::new(draft)))
}

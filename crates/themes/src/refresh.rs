//! One refresh of a theme: lists it, reads changed templates and validates its pages.

use std::path::Path;
use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use vestibule_core::QueueId;

use crate::ThemeError;
use crate::compiled::{CompiledTheme, TEMPLATE_MAX, TEMPLATES_MAX};
use crate::source::{ETag, FILES_MAX, FileSet, Listing, Source, SourceError, is_template};
use crate::validate::validate;

/// Concurrent reads of templates.
const READS_AT_ONCE: usize = 8;
/// How often a theme is listed again because it changed while it was read.
const ATTEMPTS_MAX: usize = 3;

/// Identifies the templates of a theme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    templates: FileSet,
    cut_off: bool,
}

/// The result of the previous refresh.
#[derive(Clone, Default)]
pub(crate) struct PreviousResult {
    /// The valid pages.
    pub(crate) pages: Option<Arc<CompiledTheme>>,
    /// The version that was last found invalid.
    pub(crate) refused: Option<Version>,
}

/// The result of a refresh.
pub(crate) enum RefreshResult {
    /// No such theme.
    Missing,
    /// The templates have not changed.
    Unchanged(Listing),
    /// New, valid pages.
    Updated(Listing, Arc<CompiledTheme>),
    /// New, invalid pages.
    Invalid(Listing, Version, Vec<ThemeError>),
}

/// Refreshes a theme; again if it changes meanwhile.
pub(crate) async fn refresh(
    source: &Source,
    theme: &str,
    previous: &PreviousResult,
) -> Result<RefreshResult, SourceError> {
    let mut attempts = 1;
    loop {
        match refresh_once(source, theme, previous).await {
            Err(SourceError::Changed) if attempts < ATTEMPTS_MAX => attempts += 1,
            found => return found,
        }
    }
}

async fn refresh_once(source: &Source, theme: &str, previous: &PreviousResult) -> Result<RefreshResult, SourceError> {
    let Some(listing) = source.list(theme).await? else { return Ok(RefreshResult::Missing) };
    let templates: FileSet = listing.files.iter().filter(|(path, _)| is_template(path)).map(owned).collect();
    let version = Version { templates, cut_off: listing.cut_off };
    let works = |pages: &Arc<CompiledTheme>| *pages.templates() == version.templates && !version.cut_off;
    if previous.refused.as_ref() == Some(&version) || previous.pages.as_ref().is_some_and(works) {
        return Ok(RefreshResult::Unchanged(listing));
    }
    Ok(match pages(source, theme, &version, previous).await? {
        Ok(pages) => RefreshResult::Updated(listing, Arc::new(pages)),
        Err(faults) => RefreshResult::Invalid(listing, version, faults),
    })
}

fn owned((path, etag): (&String, &ETag)) -> (String, ETag) {
    (path.clone(), etag.clone())
}

async fn pages(
    source: &Source,
    theme: &str,
    version: &Version,
    previous: &PreviousResult,
) -> Result<Result<CompiledTheme, Vec<ThemeError>>, SourceError> {
    let place = source.place(theme);
    if version.cut_off {
        return Ok(Err(vec![ThemeError::TooManyFiles { place, max: FILES_MAX }]));
    }
    if version.templates.len() > TEMPLATES_MAX {
        return Ok(Err(vec![ThemeError::TooMany { folder: place, max: TEMPLATES_MAX }]));
    }
    let known = previous.pages.as_deref();
    let read = async |name: &String, etag| Ok((name.clone(), text(source, theme, name, etag, known).await?));
    let reads: Vec<_> = version.templates.iter().map(|(name, etag)| read(name, etag)).collect();
    let texts: Vec<_> = stream::iter(reads).buffered(READS_AT_ONCE).try_collect().await?;
    let (texts, faults) = sorted(texts);
    if !faults.is_empty() {
        return Ok(Err(faults));
    }
    let templates = version.templates.clone();
    // Rendering every page takes a while, so it must not block requests.
    let validated = tokio::task::spawn_blocking(move || compile_and_validate(&place, templates, texts, &[])).await;
    validated.map_err(|error| SourceError::Unavailable(error.to_string()))
}

/// A template's text: the one in memory if it is current. Errors of the theme's author are returned as such.
async fn text(
    source: &Source,
    theme: &str,
    name: &str,
    etag: &ETag,
    known: Option<&CompiledTheme>,
) -> Result<Result<String, ThemeError>, SourceError> {
    if let Some(text) = known.and_then(|known| known.text(name, etag)) {
        return Ok(Ok(text));
    }
    let file = source.place(theme).join(name);
    if etag.bytes > TEMPLATE_MAX {
        return Ok(Err(ThemeError::TooLarge { file, max: TEMPLATE_MAX }));
    }
    match source.template(theme, name, etag, TEMPLATE_MAX).await {
        Ok(bytes) => {
            let text = String::from_utf8(bytes.into());
            Ok(text.map_err(|error| ThemeError::Read { file, message: error.utf8_error().to_string() }))
        }
        Err(SourceError::Fault(fault)) => Ok(Err(fault)),
        Err(error) => Err(error),
    }
}

fn sorted(texts: Vec<(String, Result<String, ThemeError>)>) -> (Vec<(String, String)>, Vec<ThemeError>) {
    let (mut good, mut faults) = (Vec::new(), Vec::new());
    for (name, text) in texts {
        match text {
            Ok(text) => good.push((name, text)),
            Err(fault) => faults.push(fault),
        }
    }
    (good, faults)
}

/// Compiles templates and renders every page of them.
pub(crate) fn compile_and_validate(
    place: &Path,
    templates: FileSet,
    texts: Vec<(String, String)>,
    queues: &[QueueId],
) -> Result<CompiledTheme, Vec<ThemeError>> {
    let compiled = CompiledTheme::compile(place, templates, texts)?;
    validate(&compiled, queues).map_err(|fault| vec![fault])?;
    Ok(compiled)
}

//! One look at a theme: what there is of it now, and whether its pages work.

use std::path::Path;
use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use vestibule_core::QueueId;

use crate::ThemeError;
use crate::loaded::{Loaded, TEMPLATE_MAX, TEMPLATES_MAX};
use crate::source::{FILES_MAX, Files, Listing, Source, SourceError, Stamp, is_template};
use crate::trial::try_out;

/// Templates that are fetched at the same time.
const READS_AT_ONCE: usize = 8;
/// How often a theme is listed anew because it changed while it was read.
const TRIES_MAX: usize = 3;

/// What tells one version of a theme's pages from the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    templates: Files,
    cut_off: bool,
}

/// What was seen before, and needs no second look.
#[derive(Clone, Default)]
pub(crate) struct Before {
    /// The pages that work.
    pub(crate) pages: Option<Arc<Loaded>>,
    /// The version that was last found not to.
    pub(crate) refused: Option<Version>,
}

/// What there is.
pub(crate) enum Found {
    /// No such theme.
    Missing,
    /// Nothing new among the pages.
    Same(Listing),
    /// Pages that work.
    Works(Listing, Arc<Loaded>),
    /// Pages that don't.
    Broken(Listing, Version, Vec<ThemeError>),
}

/// Looks at a theme, again if it changes meanwhile.
pub(crate) async fn look(source: &Source, theme: &str, before: &Before) -> Result<Found, SourceError> {
    let mut tries = 1;
    loop {
        match look_once(source, theme, before).await {
            Err(SourceError::Changed) if tries < TRIES_MAX => tries += 1,
            found => return found,
        }
    }
}

async fn look_once(source: &Source, theme: &str, before: &Before) -> Result<Found, SourceError> {
    let Some(listing) = source.list(theme).await? else { return Ok(Found::Missing) };
    let templates: Files = listing.files.iter().filter(|(path, _)| is_template(path)).map(owned).collect();
    let version = Version { templates, cut_off: listing.cut_off };
    let works = |pages: &Arc<Loaded>| *pages.templates() == version.templates && !version.cut_off;
    if before.refused.as_ref() == Some(&version) || before.pages.as_ref().is_some_and(works) {
        return Ok(Found::Same(listing));
    }
    Ok(match pages(source, theme, &version, before).await? {
        Ok(pages) => Found::Works(listing, Arc::new(pages)),
        Err(faults) => Found::Broken(listing, version, faults),
    })
}

fn owned((path, stamp): (&String, &Stamp)) -> (String, Stamp) {
    (path.clone(), stamp.clone())
}

async fn pages(
    source: &Source,
    theme: &str,
    version: &Version,
    before: &Before,
) -> Result<Result<Loaded, Vec<ThemeError>>, SourceError> {
    let place = source.place(theme);
    if version.cut_off {
        return Ok(Err(vec![ThemeError::TooManyFiles { place, max: FILES_MAX }]));
    }
    if version.templates.len() > TEMPLATES_MAX {
        return Ok(Err(vec![ThemeError::TooMany { folder: place, max: TEMPLATES_MAX }]));
    }
    let known = before.pages.as_deref();
    let read = async |name: &String, stamp| Ok((name.clone(), text(source, theme, name, stamp, known).await?));
    let reads: Vec<_> = version.templates.iter().map(|(name, stamp)| read(name, stamp)).collect();
    let texts: Vec<_> = stream::iter(reads).buffered(READS_AT_ONCE).try_collect().await?;
    let (texts, faults) = sorted(texts);
    if !faults.is_empty() {
        return Ok(Err(faults));
    }
    let templates = version.templates.clone();
    // Drawing every page takes a while, and whoever waits in line shall not notice.
    let tried = tokio::task::spawn_blocking(move || compile_and_try(&place, templates, texts, &[])).await;
    tried.map_err(|error| SourceError::Away(error.to_string()))
}

/// A template's text: the one at hand if it is of that version. What the theme's author can mend is a fault.
async fn text(
    source: &Source,
    theme: &str,
    name: &str,
    stamp: &Stamp,
    known: Option<&Loaded>,
) -> Result<Result<String, ThemeError>, SourceError> {
    if let Some(text) = known.and_then(|known| known.text(name, stamp)) {
        return Ok(Ok(text));
    }
    let file = source.place(theme).join(name);
    if stamp.bytes > TEMPLATE_MAX {
        return Ok(Err(ThemeError::TooLarge { file, max: TEMPLATE_MAX }));
    }
    match source.template(theme, name, stamp, TEMPLATE_MAX).await {
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

/// Templates that compile, and whose pages can be drawn.
pub(crate) fn compile_and_try(
    place: &Path,
    templates: Files,
    texts: Vec<(String, String)>,
    queues: &[QueueId],
) -> Result<Loaded, Vec<ThemeError>> {
    let loaded = Loaded::compile(place, templates, texts)?;
    try_out(&loaded, queues).map_err(|fault| vec![fault])?;
    Ok(loaded)
}

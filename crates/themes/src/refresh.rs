//! One refresh of a theme: finds its files, reads changed templates and validates its pages.

use std::sync::Arc;

use futures_util::future::join_all;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use crate::ThemeError;
use crate::compiled::{CompiledTheme, TEMPLATE_MAX, TEMPLATES_MAX};
use crate::files::{FILES_MAX, FileSet, StorageError, is_template, template_text};
use crate::live::{LiveRecord, Pointer, revisions};
use crate::storage::Storage;
use crate::validate::compile_and_validate;
use crate::version::{Manifest, folder_of};

/// Concurrent reads of templates.
const READS_AT_ONCE: usize = 8;
/// How often a theme is read again because it changed while it was read.
const ATTEMPTS_MAX: usize = 3;

/// The files of a version, or those that were copied by hand.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    /// The folder that they are in.
    pub(crate) folder: String,
    pub(crate) set: FileSet,
    /// There are more files than a theme may have.
    pub(crate) cut_off: bool,
    /// Whether they never change. Other files are read only as they were listed.
    pub(crate) is_version: bool,
}

/// Everything that a theme serves.
#[derive(Debug, Clone, Default)]
pub(crate) struct ThemeContent {
    /// The live files; empty if the theme is inactive or does not exist.
    pub(crate) live: Files,
    /// The files that were live before the last changes, newest first.
    pub(crate) earlier: Vec<Files>,
}

/// Identifies the templates of a theme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TemplateSet {
    templates: FileSet,
    cut_off: bool,
}

/// The result of the previous refresh.
#[derive(Clone, Default)]
pub(crate) struct PreviousResult {
    pub(crate) pointer: Option<Pointer>,
    /// The valid pages.
    pub(crate) pages: Option<Arc<CompiledTheme>>,
    /// The templates that were last found invalid.
    pub(crate) refused: Option<TemplateSet>,
}

/// The result of a refresh.
pub(crate) enum RefreshResult {
    /// The pointer has not changed, and versions never do.
    Unchanged,
    Found(Option<Pointer>, ThemeContent, Pages),
}

/// The pages of the files that were found.
pub(crate) enum Pages {
    /// There are no files.
    Missing,
    /// The templates have not changed and are valid.
    Unchanged,
    /// The templates were found invalid before.
    Refused,
    Valid(Arc<CompiledTheme>),
    Invalid(TemplateSet, Vec<ThemeError>),
}

/// Refreshes a theme; again if it changes meanwhile.
pub(crate) async fn refresh(
    storage: &dyn Storage,
    theme: &str,
    previous: &PreviousResult,
) -> Result<RefreshResult, StorageError> {
    let mut attempts = 1;
    loop {
        match refresh_once(storage, theme, previous).await {
            Err(StorageError::Changed) if attempts < ATTEMPTS_MAX => attempts += 1,
            found => return found,
        }
    }
}

async fn refresh_once(
    storage: &dyn Storage,
    theme: &str,
    previous: &PreviousResult,
) -> Result<RefreshResult, StorageError> {
    let pointer = Pointer::read(storage, theme).await?;
    if pointer.is_some() && pointer == previous.pointer {
        return Ok(RefreshResult::Unchanged);
    }
    let content = content(storage, theme, pointer.as_ref()).await?;
    let pages = pages(storage, &content.live, previous).await?;
    Ok(RefreshResult::Found(pointer, content, pages))
}

async fn content(storage: &dyn Storage, theme: &str, pointer: Option<&Pointer>) -> Result<ThemeContent, StorageError> {
    let revisions = revisions(pointer.map_or(0, |pointer| pointer.revision));
    let mut found = join_all(revisions.map(|revision| files_at(storage, theme, revision))).await.into_iter();
    let live = found.next().transpose()?.flatten().unwrap_or_default();
    // A page that needs them is rare, so their absence is no reason to keep the live files back.
    Ok(ThemeContent { live, earlier: found.filter_map(|files| files.ok().flatten()).collect() })
}

/// The files that became live with a revision; `None` if the theme was deactivated with it.
async fn files_at(storage: &dyn Storage, theme: &str, revision: u64) -> Result<Option<Files>, StorageError> {
    if revision == 0 {
        let folder = format!("{theme}/");
        let listing = storage.list(&folder, FILES_MAX).await?;
        return Ok(Some(Files { folder, set: listing.files, cut_off: listing.cut_off, is_version: false }));
    }
    let record = LiveRecord::read(storage, theme, revision).await?.ok_or(StorageError::Changed)?;
    let Some(id) = record.version else { return Ok(None) };
    let manifest = Manifest::read(storage, theme, &id).await?.ok_or(StorageError::Changed)?;
    Ok(Some(Files { folder: folder_of(theme, &id), set: manifest.files(&id), cut_off: false, is_version: true }))
}

async fn pages(storage: &dyn Storage, files: &Files, previous: &PreviousResult) -> Result<Pages, StorageError> {
    if files.set.is_empty() {
        return Ok(Pages::Missing);
    }
    let templates = files.set.iter().filter(|(path, _)| is_template(path));
    let templates = templates.map(|(path, etag)| (path.clone(), etag.clone())).collect();
    let wanted = TemplateSet { templates, cut_off: files.cut_off };
    let is_same = |pages: &Arc<CompiledTheme>| *pages.templates() == wanted.templates && !wanted.cut_off;
    if previous.pages.as_ref().is_some_and(is_same) {
        return Ok(Pages::Unchanged);
    }
    if previous.refused.as_ref() == Some(&wanted) {
        return Ok(Pages::Refused);
    }
    Ok(match compile(storage, files, &wanted, previous.pages.as_deref()).await? {
        Ok(pages) => Pages::Valid(Arc::new(pages)),
        Err(faults) => Pages::Invalid(wanted, faults),
    })
}

async fn compile(
    storage: &dyn Storage,
    files: &Files,
    wanted: &TemplateSet,
    known: Option<&CompiledTheme>,
) -> Result<Result<CompiledTheme, Vec<ThemeError>>, StorageError> {
    let folder = storage.location(&files.folder);
    if wanted.cut_off {
        return Ok(Err(vec![ThemeError::TooManyFiles { folder, max: FILES_MAX }]));
    }
    if wanted.templates.len() > TEMPLATES_MAX {
        return Ok(Err(vec![ThemeError::TooMany { folder, max: TEMPLATES_MAX }]));
    }
    let read = async |name: &String| Ok((name.clone(), template(storage, files, name, known).await?));
    let reads: Vec<_> = wanted.templates.keys().map(read).collect();
    let read: Vec<_> = stream::iter(reads).buffered(READS_AT_ONCE).try_collect().await?;
    let (mut texts, mut faults) = (Vec::new(), Vec::new());
    for (name, text) in read {
        match text {
            Ok(text) => texts.push((name, text)),
            Err(fault) => faults.push(fault),
        }
    }
    if !faults.is_empty() {
        return Ok(Err(faults));
    }
    let templates = wanted.templates.clone();
    // Rendering every page takes a while, so it must not block requests.
    let validated = tokio::task::spawn_blocking(move || compile_and_validate(&folder, templates, texts, &[])).await;
    validated.map_err(|error| StorageError::Unavailable(error.to_string()))
}

/// A template's text: the one in memory if it is current. Errors of the theme's author are returned as such.
async fn template(
    storage: &dyn Storage,
    files: &Files,
    name: &str,
    known: Option<&CompiledTheme>,
) -> Result<Result<String, ThemeError>, StorageError> {
    let etag = files.set.get(name).ok_or(StorageError::Changed)?;
    if let Some(text) = known.and_then(|known| known.text(name, etag)) {
        return Ok(Ok(text));
    }
    let file = storage.location(&files.folder).join(name);
    if etag.bytes > TEMPLATE_MAX {
        return Ok(Err(ThemeError::TooLarge { file, max: TEMPLATE_MAX }));
    }
    let as_listed = (!files.is_version).then_some(etag);
    match storage.read(&files.folder, name, as_listed, TEMPLATE_MAX).await {
        Ok(Some(bytes)) => Ok(template_text(file, &bytes)),
        Ok(None) => Err(StorageError::Changed),
        Err(StorageError::Fault(fault)) => Ok(Err(fault)),
        Err(error) => Err(error),
    }
}

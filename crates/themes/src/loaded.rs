//! One theme, compiled: its templates as they were on disk at one moment, and what is wrong with them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use minijinja::{Environment, Error};

use crate::ThemeError;
use crate::context::Context;
use crate::templates;

/// Most bytes of a template.
pub const TEMPLATE_MAX: u64 = 256 * 1024;
/// Most templates of a theme.
pub const TEMPLATES_MAX: usize = 32;

/// What tells one version of a theme from the next: every template's name, length and time of change.
pub(crate) type Version = Vec<(String, u64, Option<SystemTime>)>;

/// The version on disk now. `None` if there is no such folder.
pub(crate) fn version(folder: &Path) -> Option<Version> {
    let mut version: Version = fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let meta = is_template(&name).then(|| fs::metadata(folder.join(&name)).ok())?;
            Some((name, meta.as_ref().map_or(0, fs::Metadata::len), meta.and_then(|meta| meta.modified().ok())))
        })
        .take(TEMPLATES_MAX + 1)
        .collect();
    version.sort();
    Some(version)
}

fn is_template(name: &str) -> bool {
    !name.starts_with('.') && name.rsplit_once('.').is_some_and(|(_, ending)| ending == "html")
}

/// A theme's templates, compiled.
pub(crate) struct Loaded {
    folder: PathBuf,
    environment: Environment<'static>,
    /// By template: what is wrong with it. What fails at rendering is added then.
    faults: Mutex<HashMap<String, ThemeError>>,
}

impl Loaded {
    /// Reads and compiles what `version` names. What can't be is a fault of that template alone.
    pub(crate) fn read(folder: &Path, version: &Version) -> Self {
        let mut environment = templates::environment();
        let mut faults = HashMap::new();
        if version.len() > TEMPLATES_MAX {
            let fault = ThemeError::TooMany { folder: folder.to_owned(), max: TEMPLATES_MAX };
            faults.insert("queue.html".to_owned(), fault);
        }
        for (name, ..) in version.iter().take(TEMPLATES_MAX) {
            let added = read_template(folder, name).and_then(|source| {
                let compiled = environment.add_template_owned(name.clone(), source);
                compiled.map_err(|error| template_error(folder, name, &error))
            });
            if let Err(fault) = added {
                faults.insert(name.clone(), fault);
            }
        }
        Self { folder: folder.to_owned(), environment, faults: Mutex::new(faults) }
    }

    /// What is wrong with the theme, as far as is known.
    pub(crate) fn faults(&self) -> Vec<ThemeError> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// The page, or `None` if the theme has no such template or it fails; the first failure is logged.
    pub(crate) fn render(&self, name: &str, context: &Context) -> Option<String> {
        self.environment.get_template(name).ok()?;
        match templates::render(&self.environment, name, context) {
            Ok(page) => Some(page),
            Err(error) => {
                self.note(name, template_error(&self.folder, name, &error));
                None
            }
        }
    }

    /// The page as `vestibule check` wants it: a variable that doesn't exist is an error too.
    pub(crate) fn render_strictly(&self, name: &str, context: &Context) -> Result<Option<String>, ThemeError> {
        let mut environment = self.environment.clone();
        environment.set_undefined_behavior(minijinja::UndefinedBehavior::SemiStrict);
        if environment.get_template(name).is_err() {
            return Ok(None);
        }
        let page = templates::render(&environment, name, context);
        page.map(Some).map_err(|error| template_error(&self.folder, name, &error))
    }

    /// Where a template is, for messages.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn note(&self, name: &str, fault: ThemeError) {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        if !faults.contains_key(name) {
            warn(&fault);
            faults.insert(name.to_owned(), fault);
        }
    }
}

/// Tells the operator, once a version: whoever calls this sees to the once.
pub(crate) fn warn(fault: &ThemeError) {
    tracing::warn!(%fault, "a theme is broken; the built-in page stands in");
}

fn read_template(folder: &Path, name: &str) -> Result<String, ThemeError> {
    let file = folder.join(name);
    let unreadable = |message: String| ThemeError::Read { file: file.clone(), message };
    let inside =
        inside(folder, name).ok_or_else(|| unreadable("can't be read, or leads out of the theme".to_owned()))?;
    let length = fs::metadata(&inside).map_err(|error| unreadable(error.to_string()))?.len();
    if length > TEMPLATE_MAX {
        return Err(ThemeError::TooLarge { file, max: TEMPLATE_MAX });
    }
    fs::read_to_string(&inside).map_err(|error| unreadable(error.to_string()))
}

/// The real path of a regular file of the folder; `None` if there is none, or a link leads out of the folder.
pub(crate) fn inside(folder: &Path, name: &str) -> Option<PathBuf> {
    let (folder, file) = (folder.canonicalize().ok()?, folder.join(name).canonicalize().ok()?);
    (file.starts_with(&folder) && file.is_file()).then_some(file)
}

/// The innermost cause that names a place in one of the theme's own files: an error inside a block or an include is
/// reported where it is.
fn template_error(folder: &Path, name: &str, error: &Error) -> ThemeError {
    let file = folder.join(error.name().unwrap_or(name));
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    ThemeError::Template { file, line: error.line().unwrap_or(1), message: format!("{detail}{cause}") }
}

//! One theme, compiled: its templates as they were at one moment.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use minijinja::{Environment, Error};

use crate::ThemeError;
use crate::context::Context;
use crate::source::{Files, Stamp};
use crate::templates;

/// Most bytes of a template.
pub const TEMPLATE_MAX: u64 = 256 * 1024;
/// Most templates of a theme.
pub const TEMPLATES_MAX: usize = 32;

/// A theme's templates, compiled.
pub(crate) struct Loaded {
    place: PathBuf,
    templates: Files,
    environment: Environment<'static>,
    /// Templates that failed while a visitor waited for them, each of which is told once.
    failed: Mutex<HashSet<String>>,
}

impl Loaded {
    /// Compiles the templates of a version, with a text for each that could be had.
    ///
    /// # Errors
    /// What is wrong with each that doesn't compile.
    pub(crate) fn compile(
        place: &Path,
        templates: Files,
        texts: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Vec<ThemeError>> {
        let mut environment = templates::environment();
        let mut faults = Vec::new();
        for (name, text) in texts {
            if let Err(error) = environment.add_template_owned(name.clone(), text) {
                faults.push(template_error(place, &name, &error));
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Self { place: place.to_owned(), templates, environment, failed: Mutex::default() })
    }

    /// Its templates, as they were when it was compiled.
    pub(crate) fn templates(&self) -> &Files {
        &self.templates
    }

    /// The text of a template, if it is of that version.
    pub(crate) fn text(&self, name: &str, stamp: &Stamp) -> Option<String> {
        let template = self.environment.get_template(name).ok()?;
        (self.templates.get(name) == Some(stamp)).then(|| template.source().to_owned())
    }

    /// The page, or `None` if the theme has no such template or it fails; the first failure is logged.
    pub(crate) fn render(&self, name: &str, context: &Context) -> Option<String> {
        self.environment.get_template(name).ok()?;
        match templates::render(&self.environment, name, context) {
            Ok(page) => Some(page),
            Err(error) => {
                self.tell_once(name, &error);
                None
            }
        }
    }

    /// For the trial, which wants a variable that doesn't exist to be an error too.
    pub(crate) fn strict(&self) -> Environment<'static> {
        let mut environment = self.environment.clone();
        environment.set_undefined_behavior(minijinja::UndefinedBehavior::SemiStrict);
        environment
    }

    /// Where a template is, for messages.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    /// What is wrong with a template, by file and line.
    pub(crate) fn fault(&self, name: &str, error: &Error) -> ThemeError {
        template_error(&self.place, name, error)
    }

    fn tell_once(&self, name: &str, error: &Error) {
        let new = self.failed.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        if new {
            tracing::warn!(fault = %self.fault(name, error), "a theme's page failed; the built-in one stands in");
        }
    }
}

/// The innermost cause that names a place in one of the theme's own files: an error inside a block or an include is
/// reported where it is.
fn template_error(place: &Path, name: &str, error: &Error) -> ThemeError {
    let file = place.join(error.name().unwrap_or(name));
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    ThemeError::Template { file, line: error.line().unwrap_or(1), message: format!("{detail}{cause}") }
}

//! A compiled theme: the templates of one version.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;
use std::time::Duration;

use minijinja::{Environment, Error, ErrorKind};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use vestibule_freeze::FreezeAwareInstant;

use crate::ThemeError;
use crate::bounds;
use crate::context::Context;
use crate::files::{ETag, FileSet};
use crate::templates;

/// Most bytes of a template.
pub const TEMPLATE_MAX: u64 = 256 * 1024;
/// Most templates of a theme.
pub const TEMPLATES_MAX: usize = 32;

/// How long a visitor waits for a theme's page; the built-in one is shown after that.
pub const RENDER_WAIT_MAX: Duration = Duration::from_millis(500);
/// How long the built-in pages are used after a page took too long.
const SLOW_PAUSE: Duration = Duration::from_mins(1);

/// What an undefined value often is, after its error.
const UNDEFINED_HINT: &str =
    ": mistyped, or part of a value that not all pages have, such as {% if event %}{{ event.name }}{% endif %}";

/// Pages of all themes that may be rendered at the same time.
static RENDERS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(renders_at_once())));

/// A theme's templates, compiled.
pub(crate) struct CompiledTheme {
    folder: PathBuf,
    templates: FileSet,
    environment: Environment<'static>,
    /// Templates that failed for a visitor. Each is logged once.
    failed: Mutex<HashSet<String>>,
    /// Pages of this theme that may be rendered at the same time: half of all, so that one theme never holds up another.
    renders: Arc<Semaphore>,
    /// When a page took too long.
    slow_at: Mutex<Option<FreezeAwareInstant>>,
}

fn renders_at_once() -> usize {
    available_parallelism().map_or(2, |cores| cores.get().max(2))
}

impl CompiledTheme {
    /// Compiles the texts of these templates.
    ///
    /// # Errors
    /// One error for each template that does not compile.
    pub(crate) fn compile(
        folder: &Path,
        templates: FileSet,
        texts: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Vec<ThemeError>> {
        let mut environment = templates::environment();
        let (mut faults, mut longest_piece) = (Vec::new(), 0);
        for (name, text) in texts {
            match bounds::check_syntax(&text, templates::syntax()) {
                Ok(longest) => longest_piece = longest_piece.max(longest),
                Err((line, message)) => {
                    faults.push(ThemeError::Template { file: folder.join(&name), line, message: message.to_owned() });
                    continue;
                }
            }
            if let Err(error) = environment.add_template_owned(name.clone(), text) {
                faults.push(template_error(folder, &name, &error));
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        environment.set_fuel(Some(bounds::fuel(longest_piece)));
        Ok(Self {
            folder: folder.to_owned(),
            templates,
            environment,
            failed: Mutex::default(),
            renders: Arc::new(Semaphore::new(renders_at_once() / 2)),
            slow_at: Mutex::default(),
        })
    }

    /// The templates that were compiled.
    pub(crate) fn templates(&self) -> &FileSet {
        &self.templates
    }

    /// The text of a template, if it has this `ETag`.
    pub(crate) fn text(&self, name: &str, etag: &ETag) -> Option<String> {
        let template = self.environment.get_template(name).ok()?;
        (self.templates.get(name) == Some(etag)).then(|| template.source().to_owned())
    }

    /// The page, or `None` if the theme has no such template, it fails or it takes too long; the first failure is logged.
    /// Rendering does not block other requests.
    pub(crate) async fn page(self: &Arc<Self>, name: &'static str, context: &Arc<Context>) -> Option<String> {
        self.environment.get_template(name).ok()?;
        if self.is_slow() {
            return None;
        }
        let permits = vestibule_freeze::timeout(RENDER_WAIT_MAX, self.permits()).await??;
        let (theme, context) = (Arc::clone(self), Arc::clone(context));
        let render = move || {
            let _permits = permits;
            templates::render(&theme.environment, name, &context)
        };
        match vestibule_freeze::timeout(RENDER_WAIT_MAX, tokio::task::spawn_blocking(render)).await {
            Some(Ok(Ok(page))) => Some(page),
            Some(Ok(Err(error))) => {
                if bounds::was_slow(&error) {
                    self.pause();
                }
                self.log_once(name, &error);
                None
            }
            Some(Err(_)) => None,
            None => {
                self.pause();
                let file = self.path(name);
                tracing::warn!(file = %file.display(), "a page of a theme takes too long; the built-in page is shown for a minute");
                None
            }
        }
    }

    /// The page for a preview, and the error if visitors would see the built-in page instead. `None` if the theme has no such template.
    ///
    /// # Errors
    /// The page fails or takes too long.
    pub(crate) async fn preview(
        self: &Arc<Self>,
        name: &'static str,
        context: &Arc<Context>,
    ) -> Result<Option<String>, ThemeError> {
        if self.environment.get_template(name).is_err() {
            return Ok(None);
        }
        let (theme, context) = (Arc::clone(self), Arc::clone(context));
        let render = move || templates::render(&theme.environment, name, &context);
        match tokio::task::spawn_blocking(render).await {
            Ok(page) => page.map(Some).map_err(|error| self.fault(name, &error)),
            Err(error) => Err(ThemeError::Read { file: self.path(name), message: error.to_string() }),
        }
    }

    async fn permits(&self) -> Option<(OwnedSemaphorePermit, OwnedSemaphorePermit)> {
        let own = Arc::clone(&self.renders).acquire_owned().await.ok()?;
        Some((own, Arc::clone(&RENDERS).acquire_owned().await.ok()?))
    }

    fn is_slow(&self) -> bool {
        let slow_at = *self.slow_at.lock();
        slow_at.is_some_and(|at| at.elapsed() < SLOW_PAUSE)
    }

    fn pause(&self) {
        *self.slow_at.lock() = Some(FreezeAwareInstant::now());
    }

    /// For validation: an undefined variable is an error.
    pub(crate) fn strict(&self) -> Environment<'static> {
        let mut environment = self.environment.clone();
        environment.set_undefined_behavior(minijinja::UndefinedBehavior::SemiStrict);
        environment
    }

    /// Where a template is, for messages.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// An error of a template, by file and line.
    pub(crate) fn fault(&self, name: &str, error: &Error) -> ThemeError {
        template_error(&self.folder, name, error)
    }

    fn log_once(&self, name: &str, error: &Error) {
        let new = self.failed.lock().insert(name.to_owned());
        if new {
            tracing::warn!(fault = %self.fault(name, error), "a page of a theme failed; the built-in page is shown");
        }
    }
}

/// The innermost cause that names a line in one of the theme's own files: an error inside a block or an include is
/// reported where it is.
fn template_error(folder: &Path, name: &str, error: &Error) -> ThemeError {
    let file = folder.join(error.name().unwrap_or(name));
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    let hint = if error.kind() == ErrorKind::UndefinedError { UNDEFINED_HINT } else { "" };
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned) + hint;
    ThemeError::Template { file, line: error.line().unwrap_or(1), message: format!("{detail}{cause}") }
}

//! Validated files that can become a version of a theme.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use vestibule_core::{QueueId, VisitorState, VisitorStatus};

use crate::asset::{ASSET_MAX, Asset, content_hash, content_type, is_safe_path};
use crate::compiled::{CompiledTheme, TEMPLATE_MAX, TEMPLATES_MAX};
use crate::context::Context;
use crate::files::{ETag, FILES_MAX, FileSet, is_template, template_text};
use crate::templates::render_built_in;
use crate::validate::compile_and_validate;
use crate::{PageView, ThemeError};

/// Most bytes of all files of a theme together.
pub const THEME_MAX: u64 = 64 * 1024 * 1024;

/// Files of a theme by their paths in it: `queue.html`, `img/logo.svg`.
pub type ThemeFiles = BTreeMap<String, Bytes>;

/// Validated files of a theme.
pub struct Draft {
    files: ThemeFiles,
    pages: Arc<CompiledTheme>,
}

impl Draft {
    /// Validates files as gates do. Files that no gate would read are errors too. Runs on a blocking thread.
    ///
    /// # Errors
    /// All errors that one pass can find.
    pub async fn check(files: ThemeFiles) -> Result<Self, Vec<ThemeError>> {
        Self::check_for(files, Vec::new()).await
    }

    /// As [`Self::check`], and renders the pages for these queues too (at most 100), because templates can depend on the
    /// queue.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub async fn check_for(files: ThemeFiles, queues: Vec<QueueId>) -> Result<Self, Vec<ThemeError>> {
        let failed = |error: tokio::task::JoinError| {
            vec![ThemeError::Read { file: PathBuf::new(), message: format!("the check failed: {error}") }]
        };
        tokio::task::spawn_blocking(move || Self::checked(files, &queues)).await.map_err(failed)?
    }

    /// The files.
    pub const fn files(&self) -> &ThemeFiles {
        &self.files
    }

    /// The page for this visitor status; the built-in one if the draft has no template for it.
    ///
    /// # Errors
    /// The page fails, so that visitors would see the built-in one.
    pub async fn page(&self, view: &PageView<'_>) -> Result<String, ThemeError> {
        if view.visitor_status.state == VisitorState::Closed {
            let visitor_status = VisitorStatus { position: None, ..view.visitor_status.clone() };
            return self
                .rendered("closed.html", Context::of(&PageView { visitor_status: &visitor_status, ..*view }))
                .await;
        }
        self.rendered("queue.html", Context::of(view)).await
    }

    /// A file as gates serve it; `None` if it does not exist or is a template.
    pub fn asset(&self, path: &str) -> Option<Asset> {
        Asset::new(path, self.files.get(path)?.clone())
    }

    async fn rendered(&self, name: &'static str, context: Context) -> Result<String, ThemeError> {
        let context = Arc::new(context);
        let page = self.pages.preview(name, &context).await?;
        Ok(page.unwrap_or_else(|| render_built_in(name, &context)))
    }

    fn checked(files: ThemeFiles, queues: &[QueueId]) -> Result<Self, Vec<ThemeError>> {
        let mut faults = faults_of_all(&files);
        faults.extend(files.iter().filter_map(|(path, content)| fault_of(path, content)));
        let (templates, texts, unreadable) = templates_of(&files);
        faults.extend(unreadable);
        if !faults.is_empty() {
            return Err(faults);
        }
        let pages = compile_and_validate(Path::new(""), templates, texts, queues)?;
        Ok(Self { files, pages: Arc::new(pages) })
    }
}

/// Whether a gate would ever read such a file.
pub(crate) fn is_theme_file(path: &str) -> bool {
    is_safe_path(path) && (is_template(path) || content_type(path).is_some())
}

/// Most bytes of such a file.
pub(crate) fn max_of(path: &str) -> u64 {
    if is_template(path) { TEMPLATE_MAX } else { ASSET_MAX }
}

fn faults_of_all(files: &ThemeFiles) -> Vec<ThemeError> {
    let mut faults = Vec::new();
    if files.is_empty() {
        faults.push(ThemeError::Empty);
    }
    if files.len() > FILES_MAX {
        faults.push(ThemeError::TooManyFiles { folder: PathBuf::from("."), max: FILES_MAX });
    }
    if files.keys().filter(|path| is_template(path)).count() > TEMPLATES_MAX {
        faults.push(ThemeError::TooMany { folder: PathBuf::from("."), max: TEMPLATES_MAX });
    }
    if files.values().map(|content| content.len() as u64).sum::<u64>() > THEME_MAX {
        faults.push(ThemeError::TooLarge { file: PathBuf::from("."), max: THEME_MAX });
    }
    faults
}

fn fault_of(path: &str, content: &Bytes) -> Option<ThemeError> {
    if !is_theme_file(path) {
        let file = path.into();
        let lowercase = path.rsplit_once('.').map(|(name, ending)| format!("{name}.{}", ending.to_ascii_lowercase()));
        return Some(match lowercase {
            Some(lowercase) if is_theme_file(&lowercase) => ThemeError::UpperCaseEnding { file },
            _ => ThemeError::Kind { file },
        });
    }
    let max = max_of(path);
    (content.len() as u64 > max).then(|| ThemeError::TooLarge { file: path.into(), max })
}

fn templates_of(files: &ThemeFiles) -> (FileSet, Vec<(String, String)>, Vec<ThemeError>) {
    let (mut templates, mut texts, mut faults) = (FileSet::new(), Vec::new(), Vec::new());
    for (path, content) in files.iter().filter(|(path, _)| is_template(path)) {
        match template_text(path.into(), content) {
            Ok(text) => {
                let etag = ETag { bytes: content.len() as u64, value: content_hash(content).into() };
                templates.insert(path.clone(), etag);
                texts.push((path.clone(), text));
            }
            Err(fault) => faults.push(fault),
        }
    }
    (templates, texts, faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files<const N: usize>(files: [(&str, &str); N]) -> ThemeFiles {
        files.map(|(path, content)| (path.to_owned(), Bytes::copy_from_slice(content.as_bytes()))).into()
    }

    #[tokio::test]
    async fn templates_are_not_served_as_assets() {
        let draft = files([("queue.html", "{% include \"part.html\" %}{{ script_tags }}"), ("part.html", "Acme")]);
        let draft = Draft::check(draft).await.ok().unwrap();
        assert_eq!(draft.files().len(), 2);
        assert!(draft.asset("queue.html").is_none(), "a template is no asset");
        let draft = Draft::check(files([("img/logo.svg", "<svg/>")])).await.ok().unwrap();
        assert_eq!(draft.asset("img/logo.svg").unwrap().content_type, "image/svg+xml");
    }

    #[tokio::test]
    async fn a_draft_is_validated_for_each_queue() {
        let hidden = files([("queue.html", "{% if queue.id == \"tour\" %}{{ gone }}{% endif %}{{ script_tags }}")]);
        assert!(Draft::check(hidden.clone()).await.is_ok());
        let faults = Draft::check_for(hidden, vec!["tour".parse().unwrap()]).await.err().unwrap();
        assert!(faults[0].to_string().contains("queue.html:1:"), "{faults:?}");
    }

    #[tokio::test]
    async fn branches_of_rare_pages_are_validated() {
        for (name, condition) in [
            ("queue.html", "logo"),
            ("queue.html", "not logo"),
            ("queue.html", "code_wrong"),
            ("queue.html", "asks_for_code and not code_wrong"),
            ("queue.html", "code_fields"),
            ("queue.html", "needs_cookies"),
            ("error.html", "can_retry"),
            ("error.html", "not can_retry"),
            ("error.html", "sign_in_url"),
            ("error.html", "heading == texts.error_page.no_queue.heading"),
            ("job.html", "job.url"),
            ("job.html", "not job.url"),
        ] {
            let text = format!("{{{{ script_tags }}}}{{% if {condition} %}}{{{{ gone }}}}{{% endif %}}");
            let faults = Draft::check(files([(name, &text)])).await.err();
            assert!(faults.is_some_and(|faults| faults[0].to_string().contains("undefined")), "{name}: {condition}");
        }
    }

    #[tokio::test]
    async fn preview_of_a_page_that_fails_is_an_error() {
        let text = "{{ script_tags }}{% if brand.name == \"Acme\" %}\n{{ gone.gone }}{% endif %}";
        let draft = Draft::check(files([("queue.html", text)])).await.ok().unwrap();
        let status = VisitorStatus::new("tour".parse().unwrap(), VisitorState::Waiting, 5);
        let view = PageView::new(&status, "n0nce", "/");
        assert!(draft.page(&view).await.is_ok());
        let error = draft.page(&PageView { brand_name: "Acme", ..view }).await.unwrap_err();
        assert!(error.to_string().starts_with("queue.html:2: "), "{error}");
    }

    #[tokio::test]
    async fn all_invalid_files_are_reported_at_once() {
        let draft = files([
            ("queue.html", "{{ script_tags }}"),
            ("../x.css", "x"),
            ("deep/queue.html", "x"),
            (".env", "x"),
            ("key.pem", "x"),
        ]);
        let faults = Draft::check(draft).await.err().unwrap();
        assert_eq!(faults.len(), 4, "{faults:?}");
        assert!(faults.iter().all(|fault| matches!(fault, ThemeError::Kind { .. })), "{faults:?}");
    }

    #[tokio::test]
    async fn drafts_that_gates_refuse_are_invalid() {
        for (wrong, said) in [
            (files([]), "at least one file"),
            (files([("queue.html", "no script")]), "script_tags"),
            (files([("img/Logo.PNG", "x")]), "img/Logo.PNG: write the ending in lower case"),
            (files([("Logo.PSD", "x")]), "is not a theme file"),
            (files([("queue.html", "{{ script_tags }}\n{{ positon }}")]), "queue.html:2:"),
            (files([("queue.html", "{{ script_tags }}"), ("closed.html", "{% if %}")]), "closed.html:1:"),
            (files([("queue.html", &"x".repeat(TEMPLATE_MAX as usize + 1))]), "at most"),
            ((0..=TEMPLATES_MAX).map(|n| (format!("{n}.html"), Bytes::new())).collect(), "templates"),
            ((0..=FILES_MAX).map(|n| (format!("{n}.css"), Bytes::new())).collect(), "files"),
            ((0..40).map(|n| (format!("{n}.png"), Bytes::from(vec![0; ASSET_MAX as usize]))).collect(), "at most"),
            (ThemeFiles::from([("queue.html".to_owned(), Bytes::from_static(&[0xff]))]), "queue.html:1: is not UTF-8"),
        ] {
            let faults = Draft::check(wrong).await.err().unwrap();
            assert!(faults.iter().any(|fault| fault.to_string().contains(said)), "{said}: {faults:?}");
        }
    }
}

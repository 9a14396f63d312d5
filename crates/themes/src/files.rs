//! Files of themes, as a storage lists them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::ThemeError;

/// Most files of a theme, templates and assets together.
pub const FILES_MAX: usize = 1000;

/// Identifies the content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ETag {
    /// Its length.
    pub(crate) bytes: u64,
    /// An `ETag`, a modification time or a version: changes with the content.
    pub(crate) value: Arc<str>,
}

/// Files by path.
pub(crate) type FileSet = BTreeMap<String, ETag>;

/// The files of a folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    /// The files, by their path in the folder. Hidden files are left out.
    pub(crate) files: FileSet,
    /// There are more files than were asked for, and these are some of them.
    pub(crate) cut_off: bool,
}

/// Why storage cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StorageError {
    /// An error of the theme's author.
    #[error(transparent)]
    Fault(ThemeError),
    /// A file was removed or changed since it was listed.
    #[error("changed while it was read")]
    Changed,
    /// No usable response; the cause, for the log.
    #[error("{0}")]
    Unavailable(String),
}

/// The text of a template. Line ends are normalized as browsers do before they hash a style, which the gate does too.
///
/// # Errors
/// The text is not UTF-8.
pub(crate) fn template_text(file: PathBuf, content: &[u8]) -> Result<String, ThemeError> {
    match str::from_utf8(content) {
        Ok(text) => Ok(text.replace("\r\n", "\n").replace('\r', "\n")),
        Err(error) => {
            let valid = &content[..error.valid_up_to()];
            Err(ThemeError::NotUtf8 { file, line: valid.split(|byte| *byte == b'\n').count() })
        }
    }
}

/// Whether a file is a template: in the theme's folder itself, and not hidden.
pub(crate) fn is_template(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending);
    ending == Some("html") && !path.starts_with('.') && !path.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_of_templates_are_those_of_browsers() {
        let text = template_text(PathBuf::new(), b"a\r\nb\rc\n\r\nd").unwrap();
        assert_eq!(text, "a\nb\nc\n\nd");
    }

    #[test]
    fn text_that_is_not_utf_8_is_reported_by_line() {
        let error = template_text("queue.html".into(), b"one\r\nT\xfcren").unwrap_err();
        assert_eq!(error.to_string(), "queue.html:2: is not UTF-8: save the file as UTF-8");
    }
}

//! Errors of themes, by file and line.

use std::path::PathBuf;

use vestibule_core::ThemeId;

/// Why a theme is invalid. Visitors see the last valid version, or the default or built-in pages. The path of a file in a
/// bucket is its address: `s3://bucket/prefix/theme/queue.html`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThemeError {
    /// No theme of that name.
    #[error("theme {theme} does not exist")]
    Missing {
        /// The requested theme.
        theme: ThemeId,
    },
    /// A file, folder or bucket cannot be read.
    #[error("{}: {message}", file.display())]
    Read {
        /// The path.
        file: PathBuf,
        /// The cause.
        message: String,
    },
    /// A file or a theme is too large.
    #[error("{}: must have at most {max} bytes", file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// The limit in bytes.
        max: u64,
    },
    /// More templates than [`TEMPLATES_MAX`](crate::TEMPLATES_MAX).
    #[error("{}: must have at most {max} templates", folder.display())]
    TooMany {
        /// The theme's folder.
        folder: PathBuf,
        /// The limit.
        max: usize,
    },
    /// More files than [`FILES_MAX`](crate::FILES_MAX).
    #[error("{}: must have at most {max} files", folder.display())]
    TooManyFiles {
        /// The folder of the theme.
        folder: PathBuf,
        /// The limit.
        max: usize,
    },
    /// A draft without files.
    #[error("must have at least one file")]
    Empty,
    /// A file that gates do not read.
    #[error(
        "{}: is not a theme file: use templates (.html, in no folder) and assets (.css, .js, .svg, .png, .woff2 and the like), without names that begin with a dot",
        file.display()
    )]
    Kind {
        /// The file.
        file: PathBuf,
    },
    /// A file that gates would read if its ending were in lower case.
    #[error("{}: write the ending in lower case", file.display())]
    UpperCaseEnding {
        /// The file.
        file: PathBuf,
    },
    /// A template that does not compile or cannot be rendered.
    #[error("{}:{line}: {message}", file.display())]
    Template {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The error.
        message: String,
    },
    /// A template that is not UTF-8.
    #[error("{}:{line}: is not UTF-8: save the file as UTF-8", file.display())]
    NotUtf8 {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A queue page without `{{ script_tags }}`, which would never be updated.
    #[error("{}: must contain {{{{ script_tags }}}}, without which the page is not updated", file.display())]
    NoScript {
        /// The file.
        file: PathBuf,
    },
}

//! What can be wrong with a theme, said so that its author finds it.

use std::path::PathBuf;

use vestibule_core::ThemeId;

/// Why a theme can't be used as it is. Visitors see what worked before it, or the default or built-in pages. Where it
/// stands in a bucket, a file's path is its address: `s3://bucket/prefix/theme/queue.html`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThemeError {
    /// No theme of that name.
    #[error("theme {theme} is not there")]
    Missing {
        /// The theme asked for.
        theme: ThemeId,
    },
    /// A file, folder or bucket can't be read.
    #[error("{}: {message}", file.display())]
    Read {
        /// Where.
        file: PathBuf,
        /// What the system said.
        message: String,
    },
    /// A template is larger than [`TEMPLATE_MAX`](crate::TEMPLATE_MAX).
    #[error("{}: takes at most {max} bytes", file.display())]
    TooLarge {
        /// Which.
        file: PathBuf,
        /// The limit in bytes.
        max: u64,
    },
    /// More templates than [`TEMPLATES_MAX`](crate::TEMPLATES_MAX).
    #[error("{}: takes at most {max} templates", folder.display())]
    TooMany {
        /// The theme's folder.
        folder: PathBuf,
        /// The limit.
        max: usize,
    },
    /// More files than [`FILES_MAX`](crate::FILES_MAX) in a bucket.
    #[error("{}: takes at most {max} files", place.display())]
    TooManyFiles {
        /// Where the theme is.
        place: PathBuf,
        /// The limit.
        max: usize,
    },
    /// A draft without a file.
    #[error("takes at least one file")]
    Empty,
    /// A file of a draft that no gate would read.
    #[error(
        "{}: takes templates (.html, in no folder) and assets (.css, .js, .svg, .png, .woff2 and the like), no name beginning with a dot",
        file.display()
    )]
    Kind {
        /// Which.
        file: PathBuf,
    },
    /// A template that doesn't compile, or fails when it is rendered.
    #[error("{}:{line}: {message}", file.display())]
    Template {
        /// Which.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// A queue page that leaves out `{{ script_tags }}`: it would never move.
    #[error("{}: leaves out {{{{ script_tags }}}}, so the page would stand still", file.display())]
    NoScript {
        /// Which.
        file: PathBuf,
    },
}

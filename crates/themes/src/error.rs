//! What can be wrong with a theme, said so that its author finds it.

use std::path::PathBuf;

use vestibule_core::ThemeId;

/// Why a theme can't be used as it is. Visitors see the built-in page instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThemeError {
    /// No folder of that name.
    #[error("theme {theme} has no folder")]
    Missing {
        /// The theme asked for.
        theme: ThemeId,
    },
    /// A file or folder can't be read.
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

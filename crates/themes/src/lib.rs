//! The pages that visitors see: queue page, closed page and error page, the themes of tenants, and two scripts.
//!
//! The one idea: a page never fails. The built-in theme is compiled in and tested; a tenant's theme is templates and
//! assets in a folder or an S3 bucket. Every page of it is rendered before the first visitor sees one. If that fails,
//! visitors get the last valid version or the built-in theme, and the log names the file and line. Pages are complete
//! without JavaScript; the script only updates them.
//!
//! ```
//! # use vestibule_core::{VisitorStatus, VisitorState};
//! use vestibule_themes::{PageView, RequestLanguages, Themes};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), vestibule_core::IdError> {
//! # let visitor_status = VisitorStatus {
//! #     position: Some(42), waiting: Some(100), ..VisitorStatus::new("acme-tour".parse()?, VisitorState::Waiting, 5)
//! # };
//! let themes = Themes::built_in();
//! let page = themes.queue_page(None, &PageView {
//!     queue_name: "Acme world tour",
//!     brand_name: "Acme",
//!     color: "#c2185b".parse().ok(),
//!     language: RequestLanguages::of(None, Some("cy, en;q=0.8")).page,
//!     ..PageView::new(&visitor_status, "r4nd0m", "/_vestibule/theme/acme-tour/")
//! }).await;
//! assert!(page.contains(r#"<html lang="cy""#) && page.contains(">42<"));
//! # Ok(())
//! # }
//! ```
//!
//! `docs/themes.md` says how to write a theme. The parts: [`Themes`] selects and renders a theme for a [`PageView`],
//! [`ThemesAddress`] is where themes are stored, [`ThemeVersions`] manages their versions, [`RequestLanguages`] selects the
//! language, [`WaitText`] rounds an estimated wait, [`Color`] derives readable colors from the brand color, and
//! [`queue_script`] and [`keepalive_script`] are the two scripts.

mod address;
mod asset;
mod assets;
mod blocks;
mod bounds;
#[cfg(feature = "s3")]
mod bucket;
mod cache;
mod cache_entry;
mod color;
mod compiled;
mod config;
mod context;
mod draft;
mod error;
mod file_folder;
mod files;
mod folder;
mod hold;
mod language;
mod live;
mod refresh;
mod script;
mod storage;
mod templates;
mod texts;
mod themes;
mod validate;
mod version;
mod versions;
mod view;
mod wait;

#[cfg(feature = "s3")]
pub use address::BucketAddress;
pub use address::{ThemesAddress, ThemesAddressError};
pub use asset::{ASSET_MAX, Asset};
pub use assets::{ASSETS_KEPT_MAX, ThemeStorageUnavailable};
pub use color::{Color, ColorError};
pub use compiled::{RENDER_WAIT_MAX, TEMPLATE_MAX, TEMPLATES_MAX};
pub use config::{THEMES_RECHECK, ThemesConfig, ThemesConfigError};
pub use draft::{Draft, THEME_MAX, ThemeFiles};
pub use error::ThemeError;
pub use file_folder::{FileFolder, FileFolderError, FileFolderLimits, FilesVersion};
pub use files::FILES_MAX;
pub use language::{Language, RequestLanguages};
pub use script::{fallback_script, job_script, keepalive_script, queue_script, queue_script_version};
pub use templates::{PAGE_MAX, PAGES};
pub use themes::{FOLDER_RECHECK, Themes};
pub use version::{ThemeVersion, VersionId, VersionIdError};
pub use versions::{LiveChange, PRUNE_AFTER, ThemeVersions, VERSIONS_KEPT_MAX, VersionError, VersionList};
pub use view::{ErrorPage, JOB_POLL_SECONDS, JobNews, JobPage, PageView};
pub use wait::WaitText;

#![doc = include_str!("../README.md")]

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
mod open_storage;
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
pub use script::{fallback_script, job_script, keepalive_script, queue_script, queue_script_version, retry_script};
pub use templates::{PAGE_MAX, PAGES};
pub use themes::{FOLDER_RECHECK, Themes};
pub use version::{ThemeVersion, VersionId, VersionIdError};
pub use versions::{LiveChange, PRUNE_AFTER, ThemeVersions, VERSIONS_KEPT_MAX, VersionError, VersionList};
pub use view::{ErrorPage, JOB_POLL_SECONDS, JobDetails, JobNews, JobPage, PageView};
pub use wait::WaitText;

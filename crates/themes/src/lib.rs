//! What a visitor sees: the queue page, the closed page, a brand's own themes, and the two scripts.
//!
//! The one idea: a page never fails. The built-in theme is compiled in and tested; a brand's theme is templates and
//! assets beside it, in a folder or in a bucket of S3. Every page of it is drawn before the first visitor sees one, and
//! whatever is wrong leaves the last version that worked, or the built-in one, to the visitor and tells the file and line
//! to the operator. Pages are whole without JavaScript; the script only makes them live.
//!
//! ```
//! # use vestibule_core::{VisitorStatus, VisitorState};
//! use vestibule_themes::{Language, PageView, Themes, negotiate};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), vestibule_core::IdError> {
//! # let visitor_status = VisitorStatus { queue: "acme-tour".parse()?, session: None, state: VisitorState::Waiting,
//! #     reason: None, position: Some(42), waiting: Some(100), active: None, wait_seconds: None, joined_at: None, expires_in: None,
//! #     poll_after: 5, enter_url: None, revision: None };
//! let themes = Themes::built_in();
//! let page = themes.queue_page(None, &PageView {
//!     visitor_status: &visitor_status,
//!     queue_name: "Acme world tour",
//!     brand_name: "Acme",
//!     color: "#c2185b".parse().ok(),
//!     logo: None,
//!     language: negotiate(Some("cy, en;q=0.8")),
//!     nonce: "r4nd0m",
//!     asset_base: "/_vestibule/theme/acme-tour/",
//!     refresh_seconds: 20,
//!     hold_seconds: 600,
//!     claim_seconds: 30,
//!     kept_seconds: None,
//! }).await;
//! assert!(page.contains(r#"<html lang="cy""#) && page.contains(">42<"));
//! # Ok(())
//! # }
//! ```
//!
//! How to write a theme stands in `docs/themes.md`. The parts: [`Themes`] picks and renders, [`PageView`] is what it
//! is told, [`ThemesAddress`] is where themes are, [`Publisher`] writes them there, [`negotiate`] finds the language, [`WaitText`] rounds a wait so that the words stay true, [`Color`] turns
//! a brand's color into ones that can be read, [`queue_script`] and [`keepalive_script`] are served as they are.

mod address;
mod asset;
mod assets;
mod bounds;
#[cfg(feature = "s3")]
mod bucket;
mod color;
mod context;
mod error;
mod folder;
mod freeze_safe;
mod language;
mod loaded;
mod look;
mod publish;
mod script;
mod shelf;
mod slot;
mod source;
mod templates;
mod texts;
mod themes;
mod throttle;
mod trial;
mod view;
mod wait;

pub use address::{ThemesAddress, ThemesAddressError};
pub use asset::{ASSET_MAX, Asset};
pub use assets::{ASSET_WAIT_MAX, ASSETS_KEPT_MAX, ThemesAway};
pub use bounds::{FUEL, RENDER_TIME_MAX};
#[cfg(feature = "s3")]
pub use bucket::{BucketAddress, S3Server};
pub use color::{Color, ColorError};
pub use error::ThemeError;
pub use language::{Language, negotiate};
pub use loaded::{RENDER_WAIT_MAX, SLOW_PAUSE, TEMPLATE_MAX, TEMPLATES_MAX};
pub use publish::{
    Draft, KnownTheme, PublishError, Publisher, THEME_MAX, ThemeFiles, ThemeVersion, VERSIONS_KEPT_MAX, VersionId,
    VersionIdError,
};
pub use script::{keepalive_script, queue_script};
pub use shelf::THEMES_KEPT_MAX;
pub use slot::FIRST_LOAD_MAX;
pub use source::FILES_MAX;
pub use templates::PAGE_MAX;
pub use themes::{BUCKET_RECHECK, FOLDER_RECHECK, Themes};
pub use view::{ErrorPage, PageView};
pub use wait::WaitText;

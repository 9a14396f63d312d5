//! What a visitor sees: the queue page, the closed page, a brand's own themes, and the two scripts.
//!
//! The one idea: a page never fails. The built-in theme is compiled in and tested, a brand's theme is a folder of
//! templates and assets beside it, and whatever is wrong with that folder shows the built-in page to the visitor and
//! the file and line to the operator. Pages are whole without JavaScript; the script only makes them live.
//!
//! ```
//! # use vestibule_core::{Standing, StandingState};
//! use vestibule_themes::{Language, PageView, Themes, negotiate};
//!
//! # let standing = Standing { queue: "acme-tour".parse()?, session: None, state: StandingState::Waiting,
//! #     position: Some(42), waiting: Some(100), active: None, wait_seconds: None, joined_at: None, expires_in: None,
//! #     poll_after: 5, enter_url: None, revision: None };
//! let themes = Themes::built_in();
//! let page = themes.queue_page(None, &PageView {
//!     standing: &standing,
//!     queue_name: "Acme world tour",
//!     brand_name: "Acme",
//!     colour: "#c2185b".parse().ok(),
//!     logo: None,
//!     language: negotiate(Some("cy, en;q=0.8")),
//!     nonce: "r4nd0m",
//!     asset_base: "/_vestibule/theme/acme-tour/",
//!     refresh_seconds: 20,
//!     hold_seconds: 600,
//! });
//! assert!(page.contains(r#"<html lang="cy""#) && page.contains(">42<"));
//! # Ok::<(), vestibule_core::IdError>(())
//! ```
//!
//! How to write a theme stands in `docs/themes.md`. The parts: [`Themes`] picks and renders, [`PageView`] is what it
//! is told, [`negotiate`] finds the language, [`WaitWords`] rounds a wait so that the words stay true, [`Colour`] turns
//! a brand's colour into ones that can be read, [`queue_script`] and [`keepalive_script`] are served as they are.

mod asset;
mod colour;
mod context;
mod error;
mod folder;
mod language;
mod loaded;
mod script;
mod templates;
mod texts;
mod themes;
mod view;
mod wait;

pub use asset::{ASSET_MAX, Asset};
pub use colour::{Colour, ColourError};
pub use error::ThemeError;
pub use folder::RECHECK_AFTER;
pub use language::{Language, negotiate};
pub use loaded::{TEMPLATE_MAX, TEMPLATES_MAX};
pub use script::{keepalive_script, queue_script};
pub use templates::{FUEL, PAGE_MAX};
pub use themes::Themes;
pub use view::{PageView, PlainPage};
pub use wait::WaitWords;

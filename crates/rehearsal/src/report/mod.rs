//! A report: all that came out, as JSON and as a page of its own.

mod chart;
mod html;
mod json;
mod sweep;

pub use json::{Cost, Report, Scene, Series, measured, shown};
pub use sweep::Sweep;

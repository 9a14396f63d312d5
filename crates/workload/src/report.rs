//! Reports as text, JSON and HTML.

mod chart;
mod comparison;
mod html;
#[expect(clippy::module_inception, reason = "the report itself")]
mod report;

pub use comparison::Comparison;
pub use report::{CostEstimate, CostItem, Report, RunDescription, Series, measured, number};

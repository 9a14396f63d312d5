//! The newcomer of a visit: what the steps of joining know of it.

use super::types::Visit;
use super::work::{JoinRefusal, JoinWork};

/// A visitor who may join, for the time of one visit.
#[derive(Debug)]
pub(super) struct Newcomer<'a> {
    /// The visit.
    pub(super) visit: &'a Visit,
    /// What is proven.
    pub(super) work: JoinWork,
    /// Why the visitor did not join.
    pub(super) refusal: Option<JoinRefusal>,
    /// Whether the visitor joins without a proof of work, after a waiting time.
    pub(super) joins_late: bool,
}

impl<'a> Newcomer<'a> {
    /// The newcomer of this visit to a line of this epoch.
    pub(super) fn of(visit: &'a Visit, epoch: u64) -> Self {
        Self { visit, work: JoinWork::of(visit, epoch), refusal: None, joins_late: false }
    }
}

//! The draining mode: a draining queue closes once no visitor can return to its line.

use super::Mode;
use super::state::Line;
use crate::time::Micros;

impl Line {
    /// Rule 9: closes a draining queue whose line has been empty for `hold_ttl`. Returns the new
    /// revision if it did.
    ///
    /// It does not close at the moment the line is empty: a page that is reloaded is away for an
    /// instant and a sleeping phone for minutes, and a closed queue admits no one. The last waiting
    /// session had a ticket signed before the line was empty, and `hold_ttl` later no such ticket
    /// is valid. The delay costs nothing, since newcomers see the closed page throughout.
    pub(super) fn close_when_drained(&mut self, now: Micros) -> Option<u64> {
        if self.rules.mode != Mode::Draining || !self.order.is_empty() {
            return None;
        }
        let since = *self.empty_since.get_or_insert(now);
        if now < since.add_seconds(self.rules.hold_ttl) {
            return None;
        }
        self.rules.mode = Mode::Closed;
        self.rules.revision += 1;
        self.empty_since = None;
        Some(self.rules.revision)
    }
}

//! What the page and its script say alike about waiting visitors.

use crate::texts::texts;
use crate::view::PageView;

/// Visitors whose wait is at most as many seconds, nine times out of ten, see that it is almost their turn.
pub(crate) const NEXT_WITHIN: u64 = 180;

/// How long visitors can be away: in line, and in the lobby.
pub(crate) fn hold_notices(view: &PageView<'_>) -> [String; 2] {
    let texts = &texts(view.language).texts;
    [&texts.hold_notice, &texts.draw_hold_notice].map(|notice| notice.count(view.language, minutes(view.hold_seconds)))
}

pub(crate) fn minutes(seconds: u64) -> u64 {
    (seconds / 60).max(1)
}

//! What the page and its script say alike about waiting visitors.

use crate::texts::{Plural, texts};
use crate::view::PageView;

/// Visitors whose wait is at most as many seconds, nine times out of ten, see that it is almost their turn.
pub(crate) const NEXT_WITHIN: u64 = 180;

/// How long visitors can be away: in line, and in the lobby.
pub(crate) fn hold_notices(view: &PageView<'_>) -> [String; 2] {
    let texts = &texts(view.language).texts;
    [&texts.hold_notice, &texts.draw_hold_notice].map(|notice| notice.count(view.language, minutes(view.hold_seconds)))
}

/// How long the position or the session is kept, in whole minutes; `None` if it is less than one, or unknown.
pub(crate) fn kept_text(view: &PageView<'_>, text: &Plural) -> Option<String> {
    let minutes = view.kept_seconds? / 60;
    (minutes > 0).then(|| text.count(view.language, minutes))
}

fn minutes(seconds: u64) -> u64 {
    (seconds / 60).max(1)
}

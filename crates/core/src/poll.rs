//! Poll intervals of visitors.

use crate::time::Micros;

/// Poll interval near the head of the line, in seconds.
const POLL_NEAR: u64 = 2;
/// Positions that count as near the head, however slow the line moves.
const NEAR_FRONT: u64 = 10;
/// Polls per expected wait: a visitor with an hour to wait need not poll every two seconds.
const POLLS_PER_WAIT: u64 = 20;

/// Seconds until the visitor should poll again: 2 near the head, more further back. The interval is
/// jittered to spread the load, and is at most a third of the presence TTL (`full`), or two thirds
/// of what is left of it.
#[must_use]
pub fn poll_after(rank: Option<u64>, wait: Option<u64>, full: u64, left: Option<u64>, now: Micros) -> u64 {
    let most = (full / 3).min(left.map_or(u64::MAX, |left| left * 2 / 3)).max(1);
    let wanted = match (rank, wait) {
        (Some(rank), _) if rank <= NEAR_FRONT => POLL_NEAR,
        (Some(_), Some(wait)) => (wait / POLLS_PER_WAIT).max(POLL_NEAR),
        _ => most,
    };
    let longest = wanted.min(most);
    // The last digits of the store's clock are random enough for jitter, and free.
    let spread = longest.saturating_sub(POLL_NEAR).min(longest / 4) + 1;
    longest - now.0 % spread
}

/// Seconds until a client that has not returned its ticket should do so: 2 to 4, jittered to spread
/// the load. It is short because an unconfirmed position is held for `claim_ttl` only, and a phone
/// may be put away at any moment.
#[must_use]
pub const fn confirm_after(now: Micros) -> u64 {
    POLL_NEAR + now.0 % 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_are_jittered_and_never_later_than_a_third_of_the_presence() {
        let at = |micros: u64, rank, wait| poll_after(Some(rank), Some(wait), 60, Some(60), Micros(micros));
        assert_eq!(at(5, 1, 3600), 2, "near the front");
        assert_eq!(at(5, 500, 20), 2, "a fast line");
        let far: Vec<u64> = (0..100).map(|micros| at(micros, 5000, 3600)).collect();
        assert!(far.iter().all(|seconds| (15..=20).contains(seconds)));
        assert!(far.iter().any(|seconds| *seconds != far[0]), "everyone at the same second");
        assert_eq!(poll_after(Some(900), Some(3600), 3, Some(3), Micros(0)), 1);
        assert_eq!(poll_after(None, None, 60, Some(6), Micros(0)), 4, "before the session lapses");
    }

    #[test]
    fn a_new_position_is_confirmed_within_seconds() {
        let seconds: std::collections::BTreeSet<u64> = (0..100).map(|micros| confirm_after(Micros(micros))).collect();
        assert_eq!(seconds, [2, 3, 4].into());
    }
}

//! Poll intervals of visitors.

use crate::time::Micros;

/// Poll interval near the head of the line, in seconds.
pub const POLL_NEAR: u64 = 2;
/// Positions that count as near the head, however slow the line moves.
pub const NEAR_FRONT: u64 = 10;
/// Polls per expected wait: a visitor with an hour to wait need not poll every two seconds.
pub const POLLS_PER_WAIT: u64 = 16;

/// Seconds until the visitor should poll again: 2 near the head, more further back. The interval is
/// jittered to spread the load, and is at most a third of the presence TTL (`full`), or two thirds
/// of what is left of it.
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
pub const fn confirm_after(now: Micros) -> u64 {
    POLL_NEAR + now.0 % 3
}

/// Interval in seconds at which a newcomer tries again to join a full line.
const FULL_RETRY: u64 = 60;

/// Rule 22: seconds until a newcomer who found the line full should try again: 60 less up to a quarter,
/// jittered to spread the load.
pub const fn full_after(now: Micros) -> u64 {
    FULL_RETRY - now.0 % (FULL_RETRY / 4 + 1)
}

/// Seconds until a newcomer whose join was rejected should try again: `retry_after` and up to half as many more, jittered to spread
/// the load.
pub const fn rejected_after(retry_after: u64, now: Micros) -> u64 {
    retry_after + now.0 % (retry_after / 2 + 1)
}

/// Bounds of the interval at which a visitor in the lobby asks again, in seconds.
const LOBBY_RETRY: (u64, u64) = (20, 240);

/// Seconds before the start from which a visitor in the lobby asks after it only.
const LOBBY_LAST: u64 = 10;

/// Rule 14: seconds until a visitor in the lobby should ask again: a quarter of the time to the start within bounds, jittered
/// by a quarter. Once more between half and three quarters of the last 25 seconds, so that a start that was postponed is noticed.
/// The last time is after the start, spread over two thirds of `draw_seconds`, in which everyone joins the line.
/// While an operator has set another mode, the start is unknown: the lower bound applies.
pub fn lobby_after(starts_in: Option<f64>, draw_seconds: u64, now: Micros) -> u64 {
    let (least, _) = LOBBY_RETRY;
    let Some(starts_in) = starts_in else { return beacon_after(now) };
    let left = starts_in.max(0.0).ceil() as u64;
    if left == 0 {
        return confirm_after(now);
    }
    if left <= LOBBY_LAST {
        return left + now.0 % (draw_seconds * 2 / 3).max(1);
    }
    if left <= least + least / 4 {
        return left / 2 + now.0 % (left / 4 + 1);
    }
    let longest = lobby_retry(left);
    longest - now.0 % (longest / 4 + 1)
}

/// Maximum number of seconds until a visitor in the lobby asks again, this many seconds before the start.
pub(crate) fn lobby_retry(left: u64) -> u64 {
    let (least, most) = LOBBY_RETRY;
    (left / 4).clamp(least, most)
}

/// Rule 14.7: seconds until a visitor in the lobby should ask again while the value of the beacon is missing, or while the start
/// is unknown: 15 to 20.
pub const fn beacon_after(now: Micros) -> u64 {
    LOBBY_RETRY.0 - now.0 % (LOBBY_RETRY.0 / 4 + 1)
}

/// Rule 15: seconds until a visitor in line should ask again while the order is drawn: after its end, jittered by a third of
/// `waiting_ttl`, but soon enough to stay present. The end is unknown while the value of a beacon is missing.
pub fn draw_after(draw_ends_in: Option<f64>, waiting_ttl: u64, left: Option<u64>, now: Micros) -> u64 {
    let third = (waiting_ttl / 3).max(1);
    let after = match draw_ends_in {
        Some(left) => (left.max(0.0).ceil() as u64).saturating_add(now.0 % third),
        None => third - now.0 % (third / 4 + 1),
    };
    after.min(third).min(left.map_or(u64::MAX, |left| left * 2 / 3)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::LineRules;

    #[test]
    fn lobby_is_polled_rarely_and_once_after_the_start() {
        let ask = |starts_in: Option<f64>| {
            let polls: Vec<u64> = (0..1000).map(|micros| lobby_after(starts_in, 30, Micros(micros))).collect();
            (*polls.iter().min().unwrap(), *polls.iter().max().unwrap())
        };
        let at = |starts_in: f64| ask(Some(starts_in));
        assert_eq!([at(1800.0), at(400.0), at(60.0)], [(180, 240), (75, 100), (15, 20)]);
        assert_eq!([at(25.0), at(11.0)], [(12, 18), (5, 7)], "once more before the start");
        assert_eq!([at(10.0), at(0.2), at(0.0)], [(10, 29), (1, 20), (2, 4)]);
        assert_eq!(ask(None), (15, 20));
        let (mut left, mut polls) = (1800.0, 0);
        while left > 0.0 {
            left -= lobby_after(Some(left), 30, Micros(polls * 7919)) as f64;
            polls += 1;
        }
        assert!((12..=22).contains(&polls), "{polls} polls in half an hour");
        assert!(left > -21.0, "{left}");
    }

    #[test]
    fn visitors_stay_present_while_the_order_is_drawn() {
        let at = |ends_in, left| draw_after(Some(ends_in), 60, left, Micros(0));
        assert_eq!([at(12.5, Some(60)), at(300.0, Some(60)), at(300.0, Some(15))], [13, 20, 10]);
        let spread: Vec<u64> = (0..100).map(|micros| draw_after(Some(0.0), 60, Some(60), Micros(micros))).collect();
        assert_eq!((spread.iter().min(), spread.iter().max()), (Some(&1), Some(&19)));
        let unknown: std::collections::BTreeSet<u64> =
            (0..100).map(|micros| draw_after(None, 60, Some(60), Micros(micros))).collect();
        assert_eq!(unknown, (15..=20).collect(), "the value of a beacon is missing");
    }

    #[test]
    fn polls_are_jittered_within_a_third_of_the_ttl() {
        let at = |micros: u64, rank, wait| poll_after(Some(rank), Some(wait), 60, Some(60), Micros(micros));
        assert_eq!(at(5, 1, 3600), 2, "near the front");
        assert_eq!(at(5, 500, 20), 2, "a fast line");
        let far: Vec<u64> = (0..100).map(|micros| at(micros, 5000, 3600)).collect();
        assert!(far.iter().all(|seconds| (15..=20).contains(seconds)));
        assert!(far.iter().any(|seconds| *seconds != far[0]), "everyone at the same second");
        assert_eq!(poll_after(Some(900), Some(3600), 3, Some(3), Micros(0)), 1);
        assert_eq!(poll_after(None, None, 60, Some(6), Micros(0)), 4, "before the session expires");
    }

    #[test]
    fn far_visitors_poll_rarely() {
        let rules = LineRules { waiting_ttl: 60, hold_ttl: 600, ..LineRules::default() };
        let longest = |wait| {
            let full = rules.presence_ttl(Micros(0), Some(Micros(0).add_seconds(wait)));
            poll_after(Some(5000), Some(wait), full, Some(full), Micros(0))
        };
        assert_eq!([60, 480, 1200, 3600].map(longest), [3, 30, 75, 100]);
    }

    #[test]
    fn a_full_line_is_tried_again_about_every_minute() {
        let seconds: std::collections::BTreeSet<u64> = (0..100).map(|micros| full_after(Micros(micros))).collect();
        assert_eq!(seconds, (45..=60).collect());
    }

    #[test]
    fn a_new_position_is_confirmed_within_seconds() {
        let seconds: std::collections::BTreeSet<u64> = (0..100).map(|micros| confirm_after(Micros(micros))).collect();
        assert_eq!(seconds, [2, 3, 4].into());
    }
}

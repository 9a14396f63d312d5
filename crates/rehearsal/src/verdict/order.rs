//! Whether the order of admission was that of arrival, as far as can be said for certain from outside of the gate.
//!
//! An arrival lies between the moment at which a visitor's first request was sent and the moment at which its answer was
//! heard; an admission between the last request that was answered with "wait" and the first answer that said "in". So one
//! visitor certainly came before another if the answer was heard before the other one sent anything, and was certainly
//! let in later if a request that was still to be sent when the other one heard "in" was answered with "wait". Nothing
//! of it rests on what the gate says of arrivals, and a gate that keeps the order is never accused.

use crate::moment::Moment;
use crate::visitor::Story;

/// What is known of the order.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Order {
    /// How many stayed from their arrival on, so that nobody may be let in before them.
    pub judged: u64,
    /// Pairs of them of whom one came certainly earlier and was certainly let in later.
    pub inversions: u64,
    /// Of those who were overtaken: how much later somebody came who was let in before them, in seconds at most.
    pub worst_seconds: f64,
    /// How many were overtaken.
    pub overtaken: u64,
}

impl Order {
    /// The normalised Kendall tau distance between arrivals and admissions: 0 is the same order, 1 the reverse.
    #[must_use]
    pub fn tau(&self) -> Option<f64> {
        let pairs = self.judged as f64 * (self.judged as f64 - 1.0) / 2.0;
        (pairs > 0.0).then(|| self.inversions as f64 / pairs)
    }
}

/// Somebody in line: came at `joined` at the latest, and waited still at `waited`.
struct Older {
    joined: Moment,
    waited: Moment,
}

/// Somebody let in: came at `came` at the earliest, and was in at `admitted` at the latest.
struct Younger {
    came: Moment,
    admitted: Moment,
    stayed: bool,
}

/// Looks at everybody.
#[must_use]
pub fn order_of(stories: &[Story]) -> Order {
    let older = |story: &Story| Some(Older { joined: story.joined?, waited: story.waited? });
    let mut olders: Vec<Older> = stories.iter().filter(|story| story.stayed()).filter_map(older).collect();
    let younger = |story: &Story| {
        let (came, admitted) = (story.came?, story.admitted?);
        Some(Younger { came, admitted, stayed: story.stayed() })
    };
    let mut youngers: Vec<Younger> = stories.iter().filter(|story| story.is_person()).filter_map(younger).collect();
    let judged = stories.iter().filter(|story| story.stayed()).count() as u64;
    let (overtaken, worst_seconds) = worst(&mut olders, &mut youngers);
    Order { judged, inversions: inversions(&mut olders, &mut youngers), worst_seconds, overtaken }
}

/// Of each who was overtaken, the youngest who went first.
fn worst(olders: &mut [Older], youngers: &mut [Younger]) -> (u64, f64) {
    olders.sort_by_key(|older| older.waited);
    youngers.sort_by_key(|younger| younger.admitted);
    let (mut next, mut youngest, mut overtaken, mut worst) = (0, Moment(0), 0, 0.0_f64);
    for older in olders {
        while let Some(younger) = youngers.get(next).filter(|younger| younger.admitted < older.waited) {
            youngest = youngest.max(younger.came);
            next += 1;
        }
        if youngest > older.joined {
            overtaken += 1;
            worst = worst.max(youngest.since(older.joined));
        }
    }
    (overtaken, worst)
}

/// Pairs of those who stayed: counted with a Fenwick tree over the instants up to which people waited.
fn inversions(olders: &mut [Older], youngers: &mut [Younger]) -> u64 {
    let mut instants: Vec<Moment> = olders.iter().map(|older| older.waited).collect();
    instants.sort_unstable();
    instants.dedup();
    olders.sort_by_key(|older| older.joined);
    youngers.sort_by_key(|younger| younger.came);
    let mut tree = vec![0_u64; instants.len() + 1];
    let (mut next, mut count) = (0, 0);
    for younger in youngers.iter().filter(|younger| younger.stayed) {
        while let Some(older) = olders.get(next).filter(|older| older.joined < younger.came) {
            let mut at = instants.partition_point(|instant| *instant < older.waited) + 1;
            while at < tree.len() {
                tree[at] += 1;
                at += at & at.wrapping_neg();
            }
            next += 1;
        }
        // All who came before, less those who did not wait any more.
        let mut at = instants.partition_point(|instant| *instant <= younger.admitted);
        let mut gone = 0;
        while at > 0 {
            gone += tree[at];
            at -= at & at.wrapping_neg();
        }
        count += next as u64 - gone;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crowd::Kind;

    fn story(came: u32, joined: u32, waited: u32, admitted: u32) -> Story {
        let mut story = Story::of(Kind::Person);
        (story.came, story.joined) = (Some(Moment(came)), Some(Moment(joined)));
        (story.waited, story.admitted) = (Some(Moment(waited)), Some(Moment(admitted)));
        story
    }

    #[test]
    fn who_is_let_in_before_somebody_who_came_earlier_is_found() {
        let first = story(0, 10, 9_000, 9_100);
        let second = story(3_000, 3_010, 5_000, 5_100);
        let order = order_of(&[first.clone(), second]);
        assert_eq!((order.judged, order.inversions, order.overtaken), (2, 1, 1));
        assert_eq!((order.worst_seconds, order.tau()), (2.99, Some(1.0)));
        let absent = Story { absent: true, ..first };
        assert_eq!(
            order_of(&[absent, story(3_000, 3_010, 5_000, 5_100)]).inversions,
            0,
            "who was away may be overtaken"
        );
    }

    #[test]
    fn nobody_is_accused_for_what_can_not_be_told_apart() {
        let together = [story(0, 3_000, 5_000, 5_100), story(2_000, 2_100, 3_000, 3_100)];
        assert_eq!(order_of(&together).inversions, 0, "either may have arrived first");
        let noticed_late = [story(0, 10, 4_000, 6_000), story(1_000, 1_010, 4_500, 4_600)];
        assert_eq!(order_of(&noticed_late).inversions, 0, "the first may have been in since shortly after 4 s");
    }

    #[test]
    fn many_are_counted_as_pairs_are() {
        let mut chance = crate::chance::Chance::of(1, 0);
        let stories: Vec<Story> = (0..300)
            .map(|_| {
                let came = (chance.share() * 1e5) as u32;
                let waited = came + (chance.share() * 1e5) as u32;
                story(came, came + 50, waited, waited + 60)
            })
            .collect();
        let mut expected = 0;
        for one in &stories {
            for other in &stories {
                expected += u64::from(one.joined < other.came && other.admitted < one.waited);
            }
        }
        assert_eq!(order_of(&stories).inversions, expected);
        assert!(expected > 1000);
    }
}

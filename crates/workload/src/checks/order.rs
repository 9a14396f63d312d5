//! Inversions: visitors who were certainly admitted before one who certainly arrived earlier.
//!
//! An arrival is between the time when the visitor's first request was sent and the time when its response was received; an
//! admission is between the last request with the response to wait and the first response that shows the admission. One
//! visitor certainly arrived before another if the response was received before the other's first request was sent, and was
//! certainly admitted later if a request sent after the other's admission was received still had the response to wait.
//! The arrivals that the gate reports are not used, and ambiguous order is not an inversion.
//!
//! With pre-tickets the first visit counts as the arrival if it is recent enough: see [`inversions_beyond`].
//!
//! Drawn visitors come in the order of their numbers, ahead of everyone who came after the start of the sale.

use crate::sim_time::SimTime;
use crate::visitor::VisitorTrace;

/// The result of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OrderCheck {
    /// Number of visitors who were present from their arrival on.
    pub compared: u64,
    /// Pairs of them of whom one certainly arrived earlier and was certainly admitted later.
    pub inversions: u64,
    /// Largest inversion: by how many seconds a visitor arrived later who was admitted first.
    pub worst_seconds: f64,
    /// Number of visitors who were admitted after a later arrival.
    pub inverted: u64,
}

impl OrderCheck {
    /// The normalized Kendall tau distance between arrivals and admissions: 0 is the same order, 1 the reverse.
    pub fn tau(&self) -> Option<f64> {
        let pairs = self.compared as f64 * (self.compared as f64 - 1.0) / 2.0;
        (pairs > 0.0).then(|| self.inversions as f64 / pairs)
    }
}

/// A key of the order: a drawn number, or else an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum OrderKey {
    Drawn(u32),
    Came(SimTime),
}

impl OrderKey {
    fn of(trace: &VisitorTrace, at: SimTime) -> Self {
        trace.number.map_or(Self::Came(at), Self::Drawn)
    }

    /// By how many seconds this visitor came after another. Draw numbers are not times.
    fn seconds_after(self, other: Self) -> f64 {
        match (self, other) {
            (Self::Came(at), Self::Came(before)) => at.since(before),
            _ => 0.0,
        }
    }
}

/// A waiting visitor: arrived at `joined` at the latest, and still waited at `last_waiting`.
struct Older {
    joined: OrderKey,
    last_waiting: SimTime,
}

/// An admitted visitor: arrived at `arrived` at the earliest, and was admitted at `admitted` at the latest.
struct Younger {
    arrived: OrderKey,
    admitted: SimTime,
    stayed_present: bool,
}

/// The interval in which the arrival of a visitor certainly is.
type ArrivalInterval = (SimTime, SimTime);

/// Visitors who stayed present, and those who were admitted, with their arrivals.
fn compared(
    traces: &[VisitorTrace],
    admitted: impl Fn(&VisitorTrace) -> bool,
    arrival: impl Fn(&VisitorTrace) -> Option<ArrivalInterval>,
) -> (Vec<Older>, Vec<Younger>) {
    let older = |trace: &VisitorTrace| {
        Some(Older { joined: OrderKey::of(trace, arrival(trace)?.1), last_waiting: trace.last_waiting? })
    };
    let olders = traces.iter().filter(|trace| trace.stayed_present()).filter_map(older).collect();
    let younger = |trace: &VisitorTrace| {
        let (arrived, admitted) = (OrderKey::of(trace, arrival(trace)?.0), trace.admitted?);
        Some(Younger { arrived, admitted, stayed_present: trace.stayed_present() })
    };
    let youngers = traces.iter().filter(|trace| admitted(trace)).filter_map(younger).collect();
    (olders, youngers)
}

/// Number of visitors who were admitted after a client, bots included, that certainly arrived later. The first visit counts as
/// the arrival for `max_age` seconds (`pre_ticket_max_age`), so a client that hoards its pre-ticket for longer arrives when it
/// redeems it.
pub fn inversions_beyond(traces: &[VisitorTrace], max_age: u64) -> u64 {
    let arrival = |trace: &VisitorTrace| {
        let (first, joined) = ((trace.arrived?, trace.first_received?), (trace.join_sent?, trace.joined?));
        let age = joined.0.since(first.1)..=joined.1.since(first.0);
        Some(match max_age as f64 {
            // It may count for longer, as that of a visitor who was turned away.
            _ if trace.was_turned_away => (first.0, joined.1),
            max_age if *age.end() <= max_age => first,
            max_age if *age.start() > max_age => joined,
            _ => (first.0, joined.1),
        })
    };
    let (mut olders, mut youngers) = compared(traces, VisitorTrace::has_own_session, arrival);
    worst(&mut olders, &mut youngers).0
}

/// Compares all visitors.
pub fn check_order(traces: &[VisitorTrace]) -> OrderCheck {
    let (mut olders, mut youngers) = compared(traces, VisitorTrace::is_person, |trace| trace.arrived.zip(trace.joined));
    let compared = traces.iter().filter(|trace| trace.stayed_present()).count() as u64;
    let (inverted, worst_seconds) = worst(&mut olders, &mut youngers);
    OrderCheck { compared, inversions: inversions(&mut olders, &mut youngers), worst_seconds, inverted }
}

/// For each visitor, the latest arrival that was admitted before.
fn worst(olders: &mut [Older], youngers: &mut [Younger]) -> (u64, f64) {
    olders.sort_by_key(|older| older.last_waiting);
    youngers.sort_by_key(|younger| younger.admitted);
    let (mut next, mut youngest, mut inverted, mut worst) = (0, OrderKey::Drawn(0), 0, 0.0_f64);
    for older in olders {
        while let Some(younger) = youngers.get(next).filter(|younger| younger.admitted < older.last_waiting) {
            youngest = youngest.max(younger.arrived);
            next += 1;
        }
        if youngest > older.joined {
            inverted += 1;
            worst = worst.max(youngest.seconds_after(older.joined));
        }
    }
    (inverted, worst)
}

/// Counts inverted pairs with a Fenwick tree over the last instants of waiting.
fn inversions(olders: &mut [Older], youngers: &mut [Younger]) -> u64 {
    let mut instants: Vec<SimTime> = olders.iter().map(|older| older.last_waiting).collect();
    instants.sort_unstable();
    instants.dedup();
    olders.sort_by_key(|older| older.joined);
    youngers.sort_by_key(|younger| younger.arrived);
    let mut tree = vec![0_u64; instants.len() + 1];
    let (mut next, mut count) = (0, 0);
    for younger in youngers.iter().filter(|younger| younger.stayed_present) {
        while let Some(older) = olders.get(next).filter(|older| older.joined < younger.arrived) {
            let mut at = instants.partition_point(|instant| *instant < older.last_waiting) + 1;
            while at < tree.len() {
                tree[at] += 1;
                at += at & at.wrapping_neg();
            }
            next += 1;
        }
        // All who arrived before, except those who no longer waited.
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
    use crate::visitor_kind::VisitorKind;

    fn trace(arrived: u32, joined: u32, last_waiting: u32, admitted: u32) -> VisitorTrace {
        let mut trace = VisitorTrace::new(VisitorKind::Person);
        (trace.arrived, trace.joined) = (Some(SimTime(arrived)), Some(SimTime(joined)));
        (trace.last_waiting, trace.admitted) = (Some(SimTime(last_waiting)), Some(SimTime(admitted)));
        trace
    }

    #[test]
    fn earlier_admission_of_a_later_arrival_is_an_inversion() {
        let first = trace(0, 10, 9_000, 9_100);
        let second = trace(3_000, 3_010, 5_000, 5_100);
        let order = check_order(&[first.clone(), second]);
        assert_eq!((order.compared, order.inversions, order.inverted), (2, 1, 1));
        assert_eq!((order.worst_seconds, order.tau()), (2.99, Some(1.0)));
        let was_absent = VisitorTrace { was_absent: true, ..first };
        assert_eq!(
            check_order(&[was_absent, trace(3_000, 3_010, 5_000, 5_100)]).inversions,
            0,
            "who was away may be inverted"
        );
    }

    #[test]
    fn drawn_visitors_come_in_the_order_of_their_numbers() {
        let drawn = |number, last_waiting, admitted| VisitorTrace {
            number: Some(number),
            ..trace(0, 10, last_waiting, admitted)
        };
        let (first, second) = (drawn(41_579, 9_000, 9_100), drawn(855_761, 12_000, 12_100));
        let late = trace(5_000, 5_010, 13_000, 13_100);
        assert_eq!(check_order(&[second.clone(), late.clone(), first.clone()]).inversions, 0);
        let hasty = VisitorTrace { number: Some(900_000), ..first.clone() };
        assert_eq!(check_order(&[hasty, second.clone()]).inversions, 1);
        let early = trace(5_000, 5_010, 8_000, 8_100);
        let order = check_order(&[early, first, second]);
        assert_eq!((order.inversions, order.inverted, order.worst_seconds), (2, 2, 0.0));
    }

    #[test]
    fn hoarded_first_visits_do_not_count_as_arrivals() {
        let at = |ms| Some(SimTime(ms));
        let hoarder = |first: u32, redeemed: u32, admitted: u32| VisitorTrace {
            first_received: at(first + 10),
            join_sent: at(redeemed),
            kind: VisitorKind::Farm,
            ..trace(first, redeemed + 10, redeemed + 10, admitted)
        };
        let visitor = |first, last_waiting, admitted| VisitorTrace {
            first_received: at(first + 10),
            join_sent: at(first + 1000),
            ..trace(first, first + 1010, last_waiting, admitted)
        };
        let late = visitor(40_000, 70_000, 70_100);
        let inversions = |first| inversions_beyond(&[hoarder(first, 60_000, 65_000), late.clone()], 30);
        assert_eq!(inversions(5_000), 1, "the hoarder arrived at 60 s");
        assert_eq!(inversions(35_000), 0, "the first visit counts");
        assert_eq!(inversions(45_000), 1, "the first visit was after that of the visitor");
        assert_eq!(inversions(29_995), 0, "it may be 30 seconds old, or not");
        let rejected = VisitorTrace { was_turned_away: true, ..hoarder(5_000, 60_000, 65_000) };
        assert_eq!(inversions_beyond(&[rejected, late], 30), 0, "the first visit is preserved");
    }

    #[test]
    fn ambiguous_order_is_not_an_inversion() {
        let together = [trace(0, 3_000, 5_000, 5_100), trace(2_000, 2_100, 3_000, 3_100)];
        assert_eq!(check_order(&together).inversions, 0, "either may have arrived first");
        let noticed_late = [trace(0, 10, 4_000, 6_000), trace(1_000, 1_010, 4_500, 4_600)];
        assert_eq!(check_order(&noticed_late).inversions, 0, "the first may have been in since shortly after 4 s");
    }

    #[test]
    fn inversions_equal_a_count_of_all_pairs() {
        let mut rng = crate::rng::Rng::for_visitor(1, 0);
        let traces: Vec<VisitorTrace> = (0..300)
            .map(|_| {
                let arrived = (rng.share() * 1e5) as u32;
                let last_waiting = arrived + (rng.share() * 1e5) as u32;
                trace(arrived, arrived + 50, last_waiting, last_waiting + 60)
            })
            .collect();
        let mut expected = 0;
        for one in &traces {
            for other in &traces {
                expected += u64::from(one.joined < other.arrived && other.admitted < one.last_waiting);
            }
        }
        assert_eq!(check_order(&traces).inversions, expected);
        assert!(expected > 1000);
    }
}

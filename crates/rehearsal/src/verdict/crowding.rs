//! How many were in at once, how well the places were used, and how soon a free one was taken: by what visitors
//! themselves went through.

use std::collections::VecDeque;

use crate::histogram::Histogram;
use crate::moment::Moment;
use crate::visitor::Story;

/// What is known of the places.
#[derive(Debug, Clone, Default)]
pub struct Crowding {
    /// Most people who were certainly in at once: from the answer that said so to the last request that was answered so,
    /// or to the moment at which they said that they leave.
    pub most_inside: u64,
    /// When that was.
    pub most_at: Moment,
    /// Share of the places that were taken while somebody waited who was let in later.
    pub used: Option<f64>,
    /// From a place that became free to the next visitor who heard that they are in.
    pub refill: Histogram,
    /// People in line at the end of each second, as they saw it.
    pub waiting: Vec<u32>,
    /// People who were in.
    pub inside: Vec<u32>,
    /// People who were let in during each second.
    pub admissions: Vec<u32>,
    /// People who came.
    pub arrivals: Vec<u32>,
}

/// In the order in which those of one instant are taken, so that nobody is counted twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Out,
    Free,
    Come,
    In,
}

/// Looks at everybody, up to `end`.
#[must_use]
pub fn crowding_of(stories: &[Story], quota: Option<u64>, end: Moment) -> Crowding {
    let mut turns = turns_of(stories, end);
    turns.sort_unstable();
    let mut crowding = Crowding::default();
    let (mut inside, mut taken, mut waiting) = (0_u64, 0_u64, 0_u64);
    let (mut used, mut offered, mut before) = (0.0, 0.0, Moment(0));
    let mut free: VecDeque<Moment> = VecDeque::new();
    for (at, turn) in turns {
        if let Some(quota) = quota.filter(|_| waiting > 0) {
            used += at.since(before) * taken.min(quota) as f64;
            offered += at.since(before) * quota as f64;
        }
        before = at;
        match turn {
            Turn::Come => waiting += 1,
            Turn::In => {
                (waiting, inside, taken) = (waiting - 1, inside + 1, taken + 1);
                if let Some(since) = free.pop_front() {
                    crowding.refill.add(u64::from(at.0 - since.0) * 1000);
                }
                if inside > crowding.most_inside {
                    (crowding.most_inside, crowding.most_at) = (inside, at);
                }
            }
            Turn::Out => inside -= 1,
            Turn::Free => {
                taken -= 1;
                free.push_back(at);
            }
        }
        if waiting == 0 {
            free.clear();
        }
    }
    crowding.used = (offered > 0.0).then(|| used / offered);
    crowding.draw(stories, end);
    crowding
}

fn turns_of(stories: &[Story], end: Moment) -> Vec<(Moment, Turn)> {
    let mut turns = Vec::with_capacity(stories.len() * 4);
    for story in stories.iter().filter(|story| story.is_person()) {
        let (Some(came), Some(admitted)) = (story.came, story.admitted) else { continue };
        turns.push((came, Turn::Come));
        turns.push((admitted, Turn::In));
        let out = story.inside_until.unwrap_or(admitted).max(admitted).min(end);
        turns.push((out.max(admitted.after_ms(1)), Turn::Out));
        let free = story.free_at.unwrap_or(out).max(out).max(admitted.after_ms(1));
        if free <= end {
            turns.push((free, Turn::Free));
        }
    }
    turns
}

impl Crowding {
    /// The curves by the second.
    fn draw(&mut self, stories: &[Story], end: Moment) {
        let seconds = end.second() + 1;
        let count = |of: &dyn Fn(&Story) -> Option<Moment>| {
            let mut counts = vec![0_u32; seconds];
            for at in stories.iter().filter(|story| story.is_person()).filter_map(of).filter(|at| *at <= end) {
                counts[at.second()] += 1;
            }
            counts
        };
        self.arrivals = count(&|story| story.came);
        self.admissions = count(&|story| story.admitted);
        // Who gave up was last heard of at the last poll.
        let left_line = count(&|story| {
            let gave_up = story.waited.filter(|_| story.gave_up || story.turned_away);
            story.came.and(story.admitted.or(gave_up))
        });
        let out = count(&|story| story.admitted.and(story.inside_until));
        self.waiting = running(&self.arrivals, &left_line);
        self.inside = running(&self.admissions, &out);
    }
}

fn running(more: &[u32], less: &[u32]) -> Vec<u32> {
    let mut level = 0_i64;
    let step = |(more, less): (&u32, &u32)| {
        level += i64::from(*more) - i64::from(*less);
        u32::try_from(level).unwrap_or(0)
    };
    more.iter().zip(less).map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crowd::Kind;

    fn shopper(came: u32, admitted: u32, until: u32) -> Story {
        let mut story = Story::of(Kind::Person);
        (story.came, story.joined, story.admitted) = (Some(Moment(came)), Some(Moment(came)), Some(Moment(admitted)));
        (story.inside_until, story.free_at) = (Some(Moment(until)), Some(Moment(until)));
        story
    }

    #[test]
    fn those_who_are_in_at_once_are_counted_and_no_others() {
        let stories = [shopper(0, 0, 1000), shopper(0, 1000, 2000), shopper(0, 1500, 3000)];
        let crowding = crowding_of(&stories, Some(1), Moment(4000));
        assert_eq!((crowding.most_inside, crowding.most_at), (2, Moment(1500)));
        assert_eq!(crowding.admissions, [1, 2, 0, 0, 0]);
        assert_eq!(crowding.inside, [1, 2, 1, 0, 0]);
    }

    #[test]
    fn a_place_that_lies_free_while_somebody_waits_is_a_place_unused() {
        let stories = [shopper(0, 0, 1000), shopper(0, 3000, 4000)];
        let crowding = crowding_of(&stories, Some(1), Moment(5000));
        assert!((crowding.used.unwrap() - 1.0 / 3.0).abs() < 0.01, "{:?}", crowding.used);
        let refill = crowding.refill.quantile_ms(0.5).unwrap();
        assert!((refill / 2000.0 - 1.0).abs() < 0.1, "{refill}");
    }
}

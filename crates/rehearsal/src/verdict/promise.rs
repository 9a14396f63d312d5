//! Whether the wait that was told was the wait that it became.

use serde::Serialize;

use crate::visitor::{Promise, Story};

/// Seconds by which somebody may hear later that they are in than they were let in: polls near the front are 2 s apart.
const NOTICE: f64 = 2.0;

/// What is known of the promises.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Promises {
    /// How many were told a wait, stayed and got in.
    pub judged: u64,
    /// Share who waited as long as the p90 they were told, or less: nine tenths if the estimate is right.
    pub kept: f64,
    /// Share who waited as long as between p50 and p90: four tenths if the estimate is right.
    pub inside: f64,
    /// The median of how much longer people waited than the p50 they were told, in seconds; below 0 is shorter.
    pub bias_seconds: f64,
    /// The same as a share of the wait: 1 is twice as long as told, -0.5 half as long.
    pub bias: f64,
}

/// Looks at everybody, by the promise that `of` picks.
#[must_use]
pub fn promises_of(stories: &[Story], of: impl Fn(&Story) -> Option<Promise>) -> Option<Promises> {
    let judged = stories.iter().filter(|story| story.stayed());
    let waits: Vec<(f64, Promise)> = judged
        .filter_map(|story| {
            let promise = of(story)?;
            Some((story.admitted?.since(promise.at), promise))
        })
        .collect();
    if waits.is_empty() {
        return None;
    }
    let share = |test: &dyn Fn(&(f64, Promise)) -> bool| {
        waits.iter().filter(|wait| test(wait)).count() as f64 / waits.len() as f64
    };
    let kept = share(&|(wait, promise)| *wait <= f64::from(promise.p90) + NOTICE);
    let inside = share(&|(wait, promise)| *wait <= f64::from(promise.p90) + NOTICE && *wait >= f64::from(promise.p50));
    let median = |of: &dyn Fn(&(f64, Promise)) -> f64| {
        let mut all: Vec<f64> = waits.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let bias_seconds = median(&|(wait, promise)| wait - f64::from(promise.p50));
    let bias = median(&|(wait, promise)| (wait - f64::from(promise.p50)) / f64::from(promise.p50).max(1.0));
    Some(Promises { judged: waits.len() as u64, kept, inside, bias_seconds, bias })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crowd::Kind;
    use crate::moment::Moment;

    #[test]
    fn a_wait_that_was_told_too_short_is_found() {
        let story = |wait: f64, p50, p90| {
            let mut story = Story::of(Kind::Person);
            (story.came, story.joined) = (Some(Moment(0)), Some(Moment(0)));
            story.admitted = Some(Moment::of_seconds(wait));
            story.first_promise = Some(Promise { at: Moment(0), p50, p90 });
            story
        };
        let stories = [story(100.0, 10, 20), story(100.0, 50, 120), story(100.0, 110, 150)];
        let promises = promises_of(&stories, |story| story.first_promise).unwrap();
        assert_eq!(promises.judged, 3);
        assert!((promises.kept - 2.0 / 3.0).abs() < 1e-9 && (promises.inside - 1.0 / 3.0).abs() < 1e-9);
        assert!((promises.bias_seconds - 50.0).abs() < 1e-9 && (promises.bias - 1.0).abs() < 1e-9);
        assert_eq!(promises_of(&stories, |story| story.later_promise), None);
    }
}

//! The origin's own access log: who was served, by the word of neither the gate nor this program.
//!
//! The log is in the Combined Log Format of nginx and Apache:
//!
//! ```text
//! 127.0.0.1 - - [21/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 200 512 "-" "vestibule-rehearsal/1 (visitor 17)"
//! ```
//!
//! Only the time and the last field count, the name of the browser, by which a rehearsal tells its visitors apart. Lines
//! of others are left out. Times are whole seconds, so that a visitor is taken to be in from the end of the second of
//! the first line to the beginning of that of the last: never longer than it was.

use std::collections::HashMap;

use serde::Serialize;

use crate::http::AGENT;
use crate::visitor::Story;

/// What the log says.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct OriginCounts {
    /// Lines of this rehearsal's visitors.
    pub requests: u64,
    /// Lines that could not be read.
    pub unread: u64,
    /// Lines of others.
    pub others: u64,
    /// How many visitors were served.
    pub visitors: u64,
    /// Most visitors at once who were served both before and after that.
    pub most_at_once: u64,
    /// How many were served who never heard that they are in.
    pub uninvited: u64,
}

/// Reads the log of a rehearsal with these visitors.
#[must_use]
pub fn read_origin_log(log: &str, stories: &[Story]) -> OriginCounts {
    let mut counts = OriginCounts::default();
    let mut seen: HashMap<u32, (i64, i64)> = HashMap::new();
    for line in log.lines().filter(|line| !line.trim().is_empty()) {
        let Some(agent) = last_field(line) else {
            counts.unread += 1;
            continue;
        };
        let Some(number) = agent.strip_prefix(AGENT).and_then(|rest| rest.strip_suffix(')')?.parse::<u32>().ok())
        else {
            counts.others += 1;
            continue;
        };
        let (Some(at), true) = (time_of(line), (number as usize) < stories.len()) else {
            counts.unread += 1;
            continue;
        };
        counts.requests += 1;
        let (first, last) = seen.entry(number).or_insert((at, at));
        (*first, *last) = ((*first).min(at), (*last).max(at));
    }
    let is_person = |number: &u32| stories[*number as usize].is_person();
    counts.visitors = seen.len() as u64;
    counts.most_at_once = most_at_once(seen.iter().filter(|(number, _)| is_person(number)).map(|(_, span)| *span));
    let was_in = |number: &u32| stories[*number as usize].admitted.is_some();
    counts.uninvited = seen.keys().filter(|number| is_person(number) && !was_in(number)).count() as u64;
    counts
}

fn most_at_once(spans: impl Iterator<Item = (i64, i64)>) -> u64 {
    let mut turns: Vec<(i64, i64)> = spans
        .filter(|(first, last)| first + 1 < *last)
        .flat_map(|(first, last)| [(first + 1, 1), (last, -1)])
        .collect();
    turns.sort_unstable();
    let (mut inside, mut most) = (0_i64, 0_i64);
    for (_, step) in turns {
        inside += step;
        most = most.max(inside);
    }
    most.unsigned_abs()
}

fn last_field(line: &str) -> Option<&str> {
    line.trim_end().strip_suffix('"')?.rsplit_once('"').map(|(_, field)| field)
}

/// Seconds since 1970 of `[21/Nov/2026:15:04:05 +0000]`.
fn time_of(line: &str) -> Option<i64> {
    let time = line.split_once('[')?.1.split_once(']')?.0;
    let (local, zone) = time.split_once(' ')?;
    let mut parts = local.split(['/', ':']);
    let mut number = || parts.next().map(str::to_owned);
    let (day, month, year) = (number()?.parse::<i64>().ok()?, number()?, number()?.parse::<i64>().ok()?);
    let (hours, minutes, seconds) =
        (number()?.parse::<i64>().ok()?, number()?.parse::<i64>().ok()?, number()?.parse::<i64>().ok()?);
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = months.iter().zip(1..).find(|(name, _)| **name == month)?.1;
    let zone: i64 = zone.parse().ok()?;
    let offset = (zone / 100 * 60 + zone % 100) * 60;
    Some(days(year, month, day) * 86_400 + hours * 3600 + minutes * 60 + seconds - offset)
}

/// Days since 1970 of a date: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crowd::Kind;
    use crate::moment::Moment;

    fn line(second: u32, visitor: u32) -> String {
        format!(
            "127.0.0.1 - - [21/Nov/2026:15:04:{second:02} +0000] \"GET / HTTP/1.1\" 200 512 \"-\" \"vestibule-rehearsal/1 (visitor {visitor})\"\n"
        )
    }

    #[test]
    fn who_was_served_at_once_and_who_was_not_let_in_is_counted() {
        let let_in = Story { admitted: Some(Moment(1)), ..Story::of(Kind::Person) };
        let stories = [let_in.clone(), let_in, Story::of(Kind::Person)];
        let spans = [
            line(1, 0),
            line(9, 0),
            line(5, 1),
            line(9, 1),
            line(9, 2),
            "::1 - - [x] \"GET /\" 200 1 \"-\" \"curl/8\"\n".to_owned(),
            "?\n".to_owned(),
        ];
        let counts = read_origin_log(&spans.concat(), &stories);
        assert_eq!((counts.requests, counts.visitors, counts.others, counts.unread), (5, 3, 1, 1));
        assert_eq!((counts.most_at_once, counts.uninvited), (2, 1));
    }

    #[test]
    fn seconds_that_touch_are_not_at_once() {
        let stories = [Story::of(Kind::Person), Story::of(Kind::Person)];
        let spans = [line(1, 0), line(5, 0), line(5, 1), line(9, 1)];
        assert_eq!(read_origin_log(&spans.concat(), &stories).most_at_once, 1);
    }

    #[test]
    fn times_are_read_with_their_zone() {
        assert_eq!(time_of("x [01/Jan/1970:01:00:00 +0100] y"), Some(0));
        assert_eq!(time_of("x [29/Feb/2024:00:00:00 +0000] y"), Some(1_709_164_800));
        assert_eq!(time_of("x [29/Feb/2024 00:00:00] y"), None);
    }
}

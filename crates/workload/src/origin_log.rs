//! The access log of the origin: which visitors it served, independent of the gate and of this program.
//!
//! The log is in the Combined Log Format of nginx and Apache:
//!
//! ```text
//! 127.0.0.1 - - [21/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 200 512 "-" "vestibule-workload/1 (visitor 17)"
//! ```
//!
//! The last field, the user agent, identifies the virtual visitor; other lines are ignored. Times are whole seconds, so a
//! visitor counts as present from the end of the second of the first line to the start of the second of the last line.

use std::collections::HashMap;

use serde::Serialize;

use crate::http::USER_AGENT_PREFIX;
use crate::visitor::VisitorTrace;

/// The counts of a log.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct OriginCounts {
    /// Lines of virtual visitors.
    pub requests: u64,
    /// Lines that could not be parsed.
    pub unparsed: u64,
    /// Other lines.
    pub others: u64,
    /// Number of visitors who were served.
    pub visitors: u64,
    /// Maximum number of visitors present at the same time.
    pub peak_concurrent: u64,
    /// Number of visitors who were served without an admission.
    pub unadmitted: u64,
}

/// Reads the log of a run.
pub fn read_origin_log(log: &str, traces: &[VisitorTrace]) -> OriginCounts {
    let mut counts = OriginCounts::default();
    let mut seen: HashMap<u32, (i64, i64)> = HashMap::new();
    for line in log.lines().filter(|line| !line.trim().is_empty()) {
        let Some(agent) = last_field(line) else {
            counts.unparsed += 1;
            continue;
        };
        let Some(number) =
            agent.strip_prefix(USER_AGENT_PREFIX).and_then(|rest| rest.strip_suffix(')')?.parse::<u32>().ok())
        else {
            counts.others += 1;
            continue;
        };
        let (Some(at), true) = (time_of(line), (number as usize) < traces.len()) else {
            counts.unparsed += 1;
            continue;
        };
        counts.requests += 1;
        let (first, last) = seen.entry(number).or_insert((at, at));
        (*first, *last) = ((*first).min(at), (*last).max(at));
    }
    let is_person = |number: &u32| traces[*number as usize].is_person();
    counts.visitors = seen.len() as u64;
    counts.peak_concurrent =
        peak_concurrent(seen.iter().filter(|(number, _)| is_person(number)).map(|(_, span)| *span));
    let was_in = |number: &u32| traces[*number as usize].admitted.is_some();
    counts.unadmitted = seen.keys().filter(|number| is_person(number) && !was_in(number)).count() as u64;
    counts
}

fn peak_concurrent(spans: impl Iterator<Item = (i64, i64)>) -> u64 {
    let mut transitions: Vec<(i64, i64)> = spans
        .filter(|(first, last)| first + 1 < *last)
        .flat_map(|(first, last)| [(first + 1, 1), (last, -1)])
        .collect();
    transitions.sort_unstable();
    let (mut active, mut most) = (0_i64, 0_i64);
    for (_, step) in transitions {
        active += step;
        most = most.max(active);
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
    use crate::sim_time::SimTime;
    use crate::visitor_kind::VisitorKind;

    fn line(second: u32, visitor: u32) -> String {
        format!(
            "127.0.0.1 - - [21/Nov/2026:15:04:{second:02} +0000] \"GET / HTTP/1.1\" 200 512 \"-\" \"vestibule-workload/1 (visitor {visitor})\"\n"
        )
    }

    #[test]
    fn concurrent_and_unadmitted_visitors_are_counted() {
        let record_admission = VisitorTrace { admitted: Some(SimTime(1)), ..VisitorTrace::new(VisitorKind::Person) };
        let traces = [record_admission.clone(), record_admission, VisitorTrace::new(VisitorKind::Person)];
        let spans = [
            line(1, 0),
            line(9, 0),
            line(5, 1),
            line(9, 1),
            line(9, 2),
            "::1 - - [x] \"GET /\" 200 1 \"-\" \"curl/8\"\n".to_owned(),
            "?\n".to_owned(),
        ];
        let counts = read_origin_log(&spans.concat(), &traces);
        assert_eq!((counts.requests, counts.visitors, counts.others, counts.unparsed), (5, 3, 1, 1));
        assert_eq!((counts.peak_concurrent, counts.unadmitted), (2, 1));
    }

    #[test]
    fn adjacent_seconds_are_not_concurrent() {
        let traces = [VisitorTrace::new(VisitorKind::Person), VisitorTrace::new(VisitorKind::Person)];
        let spans = [line(1, 0), line(5, 0), line(5, 1), line(9, 1)];
        assert_eq!(read_origin_log(&spans.concat(), &traces).peak_concurrent, 1);
    }

    #[test]
    fn times_are_parsed_with_their_zone() {
        assert_eq!(time_of("x [01/Jan/1970:01:00:00 +0100] y"), Some(0));
        assert_eq!(time_of("x [29/Feb/2024:00:00:00 +0000] y"), Some(1_709_164_800));
        assert_eq!(time_of("x [29/Feb/2024 00:00:00] y"), None);
    }
}

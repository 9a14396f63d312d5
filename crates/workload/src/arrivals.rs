//! The arrivals of a workload over time.

use std::fmt;
use std::str::FromStr;

use crate::rng::Rng;

/// Maximum number of rows of a curve.
const ROWS_MAX: usize = 100_000;

/// The valid values, for error messages.
pub const ARRIVALS_EXPECTED: &str =
    "must be burst:SECONDS (most arrive at the start), steady:SECONDS, ramp:SECONDS (increasing), or csv:FILE";

/// The distribution of arrivals. Times in seconds.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrivals {
    /// All within this time, half of them in the first eighth.
    Burst(f64),
    /// Evenly over this time.
    Steady(f64),
    /// Over this time, at a rate that increases from 0.
    Ramp(f64),
    /// By a file.
    Curve(Curve),
}

/// A curve of arrivals.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The start of each step, and the number of arrivals before it.
    steps: Vec<(f64, f64)>,
}

/// An invalid curve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CurveError {
    /// Not a row.
    #[error("line {line}: {text:?} is not a row; use SECONDS,VISITORS, such as 60,1200")]
    Row {
        /// Its number, from 1.
        line: usize,
        /// Its text.
        text: String,
    },
    /// Times that do not increase.
    #[error("line {0}: the seconds must increase from row to row")]
    Order(usize),
    /// No arrivals.
    #[error("no arrivals: use at least two rows; the last one ends the curve")]
    Empty,
    /// Too many rows.
    #[error("more than {ROWS_MAX} rows")]
    TooLong,
}

impl Curve {
    /// Parses rows of `seconds,visitors`: the visitors arrive evenly until the next row; the last row ends the curve.
    /// The first line may be a heading; lines that start with `#` are comments.
    ///
    /// # Errors
    /// The first invalid line.
    pub fn parse(text: &str) -> Result<(Self, u32), CurveError> {
        let (mut steps, mut sum) = (Vec::new(), 0.0);
        for (index, line) in text.lines().enumerate() {
            let line_number = index + 1;
            let row = line.trim();
            if row.is_empty() || row.starts_with('#') {
                continue;
            }
            let Some((at, count)) = row_of(row) else {
                if steps.is_empty() && index == 0 && row.chars().any(char::is_alphabetic) {
                    continue;
                }
                return Err(CurveError::Row { line: line_number, text: row.to_owned() });
            };
            if steps.last().is_some_and(|(before, _)| *before >= at) {
                return Err(CurveError::Order(line_number));
            }
            if steps.len() == ROWS_MAX {
                return Err(CurveError::TooLong);
            }
            steps.push((at, sum));
            sum += count;
        }
        // The visitors of the last row are ignored.
        let all = steps.last().map_or(0.0, |(_, before)| *before);
        if all < 1.0 { Err(CurveError::Empty) } else { Ok((Self { steps }, all as u32)) }
    }

    /// The arrival of the visitor after this share of all.
    fn at(&self, share: f64) -> f64 {
        let all = self.steps.last().map_or(0.0, |(_, before)| *before);
        let wanted = share * all;
        let after = self.steps.partition_point(|(_, before)| *before <= wanted).clamp(1, self.steps.len() - 1);
        let ((from, low), (until, high)) = (self.steps[after - 1], self.steps[after]);
        from + (until - from) * ((wanted - low) / (high - low).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
    }
}

fn row_of(row: &str) -> Option<(f64, f64)> {
    let (at, count) = row.split_once([',', ';', '\t'])?;
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    Some((number(at)?, number(count)?))
}

impl Arrivals {
    /// Draws an arrival.
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        match self {
            // Half of the cubes are below one eighth.
            Self::Burst(seconds) => seconds * rng.share().powi(3),
            Self::Steady(seconds) => seconds * rng.share(),
            Self::Ramp(seconds) => seconds * rng.share().sqrt(),
            Self::Curve(curve) => curve.at(rng.share()),
        }
    }

    /// The last arrival.
    pub fn end(&self) -> f64 {
        match self {
            Self::Burst(seconds) | Self::Steady(seconds) | Self::Ramp(seconds) => *seconds,
            Self::Curve(curve) => curve.steps.last().map_or(0.0, |(at, _)| *at),
        }
    }
}

impl FromStr for Arrivals {
    type Err = String;

    /// Parses all but `csv:FILE`.
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || ARRIVALS_EXPECTED.to_owned();
        let (kind, seconds) = text.split_once(':').ok_or_else(expected)?;
        let seconds: f64 = seconds.trim_end_matches('s').parse().map_err(|_| expected())?;
        if !(0.0..=4e6).contains(&seconds) {
            return Err(expected());
        }
        match kind {
            "burst" => Ok(Self::Burst(seconds)),
            "steady" => Ok(Self::Steady(seconds)),
            "ramp" => Ok(Self::Ramp(seconds)),
            _ => Err(expected()),
        }
    }
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Burst(seconds) => write!(f, "a burst of {seconds} s"),
            Self::Steady(seconds) => write!(f, "evenly over {seconds} s"),
            Self::Ramp(seconds) => write!(f, "a ramp of {seconds} s"),
            Self::Curve(_) => write!(f, "a curve of {} s", self.end()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_follow_the_curve_of_a_file() {
        let (curve, all) = Curve::parse("seconds,visitors\n# opening\n0,100\n10,300\n20,0\n30,0\n").unwrap();
        assert_eq!(all, 400);
        let arrivals = Arrivals::Curve(curve);
        let times: Vec<f64> = (0..4000).map(|number| arrivals.draw(&mut Rng::for_visitor(1, number))).collect();
        let within = |from: f64, until: f64| times.iter().filter(|at| **at >= from && **at < until).count();
        assert!((900..1100).contains(&within(0.0, 10.0)), "{}", within(0.0, 10.0));
        assert!((2900..3100).contains(&within(10.0, 20.0)), "{}", within(10.0, 20.0));
        assert_eq!(within(20.0, 1e9), 0);
    }

    #[test]
    fn invalid_curves_are_reported_by_line() {
        let wrong = |text: &str| Curve::parse(text).unwrap_err().to_string();
        assert!(wrong("0,10\nten,20\n").starts_with("line 2: \"ten,20\" is not a row"));
        assert!(wrong("0,10\n10,20\n5,1\n").starts_with("line 3:"));
        assert!(wrong("0,10\n").starts_with("no arrivals"));
        assert!(wrong("0,-1\n").starts_with("line 1:"));
    }

    #[test]
    fn bursts_are_early_and_ramps_late() {
        let mean = |text: &str| {
            let arrivals: Arrivals = text.parse().unwrap();
            (0..4000).map(|number| arrivals.draw(&mut Rng::for_visitor(1, number))).sum::<f64>() / 4000.0
        };
        assert!((mean("burst:60") - 15.0).abs() < 1.0);
        assert!((mean("steady:60") - 30.0).abs() < 1.0);
        assert!((mean("ramp:60") - 40.0).abs() < 1.0);
        for wrong in ["burst", "burst:x", "wave:3", "burst:-1", ""] {
            assert!(wrong.parse::<Arrivals>().is_err(), "{wrong}");
        }
    }
}

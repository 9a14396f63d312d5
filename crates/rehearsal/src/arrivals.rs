//! When a crowd comes: the curve of its arrivals.

use std::fmt;
use std::str::FromStr;

use crate::chance::Chance;

/// Most rows of a curve that is read from a file.
const ROWS_MAX: usize = 100_000;

/// What a curve takes, for messages.
pub const ARRIVALS_TAKE: &str =
    "takes burst:SECONDS (most come at once), steady:SECONDS, ramp:SECONDS (more and more), or csv:FILE";

/// How arrivals are spread over time. Times in seconds.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrivals {
    /// All within so long, half of them in its first eighth: a sale opens.
    Burst(f64),
    /// Evenly over so long.
    Steady(f64),
    /// Over so long, at a rate that grows from nothing.
    Ramp(f64),
    /// As a file says.
    Curve(Curve),
}

/// A curve of arrivals: from which second on how many come, up to the next row.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Where each step begins, and how many came before it.
    steps: Vec<(f64, f64)>,
}

/// A curve that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CurveError {
    /// A line that is no row.
    #[error("line {line}: {text:?} is no row; a row is SECONDS,VISITORS, such as 60,1200")]
    Row {
        /// Its number, from 1.
        line: usize,
        /// What it says.
        text: String,
    },
    /// Times that don't grow.
    #[error("line {0}: its seconds are not later than those of the row before")]
    Order(usize),
    /// Nobody comes.
    #[error("nobody comes: it takes two rows at least, the last one says when the one before it ends")]
    Empty,
    /// More rows than are read.
    #[error("it has more than {ROWS_MAX} rows")]
    TooLong,
}

impl Curve {
    /// Reads rows of `seconds,visitors`: so many come evenly from there to the next row; the last row ends the curve.
    /// A first line of words is a heading, and what begins with `#` a remark.
    ///
    /// # Errors
    /// The first line that is no row, or rows that are no curve.
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
        // What the last row counts has no end to come in before.
        let all = steps.last().map_or(0.0, |(_, before)| *before);
        if all < 1.0 { Err(CurveError::Empty) } else { Ok((Self { steps }, all as u32)) }
    }

    /// When the visitor comes before whom this share of all came.
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
    /// When somebody comes.
    #[must_use]
    pub fn draw(&self, chance: &mut Chance) -> f64 {
        match self {
            // Cubed, half of the shares are below an eighth of the time.
            Self::Burst(seconds) => seconds * chance.share().powi(3),
            Self::Steady(seconds) => seconds * chance.share(),
            Self::Ramp(seconds) => seconds * chance.share().sqrt(),
            Self::Curve(curve) => curve.at(chance.share()),
        }
    }

    /// When the last have come.
    #[must_use]
    pub fn end(&self) -> f64 {
        match self {
            Self::Burst(seconds) | Self::Steady(seconds) | Self::Ramp(seconds) => *seconds,
            Self::Curve(curve) => curve.steps.last().map_or(0.0, |(at, _)| *at),
        }
    }
}

impl FromStr for Arrivals {
    type Err = String;

    /// Reads all but a curve from a file, which takes reading the file.
    fn from_str(text: &str) -> Result<Self, String> {
        let takes = || ARRIVALS_TAKE.to_owned();
        let (kind, seconds) = text.split_once(':').ok_or_else(takes)?;
        let seconds: f64 = seconds.trim_end_matches('s').parse().map_err(|_| takes())?;
        if !(0.0..=4e6).contains(&seconds) {
            return Err(takes());
        }
        match kind {
            "burst" => Ok(Self::Burst(seconds)),
            "steady" => Ok(Self::Steady(seconds)),
            "ramp" => Ok(Self::Ramp(seconds)),
            _ => Err(takes()),
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
    fn a_curve_from_a_file_is_kept_to() {
        let (curve, all) = Curve::parse("seconds,visitors\n# opening\n0,100\n10,300\n20,0\n30,0\n").unwrap();
        assert_eq!(all, 400);
        let arrivals = Arrivals::Curve(curve);
        let times: Vec<f64> = (0..4000).map(|number| arrivals.draw(&mut Chance::of(1, number))).collect();
        let within = |from: f64, until: f64| times.iter().filter(|at| **at >= from && **at < until).count();
        assert!((900..1100).contains(&within(0.0, 10.0)), "{}", within(0.0, 10.0));
        assert!((2900..3100).contains(&within(10.0, 20.0)), "{}", within(10.0, 20.0));
        assert_eq!(within(20.0, 1e9), 0);
    }

    #[test]
    fn a_curve_that_is_none_is_told_by_its_line() {
        let wrong = |text: &str| Curve::parse(text).unwrap_err().to_string();
        assert!(wrong("0,10\nten,20\n").starts_with("line 2: \"ten,20\" is no row"));
        assert!(wrong("0,10\n10,20\n5,1\n").starts_with("line 3:"));
        assert!(wrong("0,10\n").starts_with("nobody comes"));
        assert!(wrong("0,-1\n").starts_with("line 1:"));
    }

    #[test]
    fn bursts_come_early_and_ramps_late() {
        let mean = |text: &str| {
            let arrivals: Arrivals = text.parse().unwrap();
            (0..4000).map(|number| arrivals.draw(&mut Chance::of(1, number))).sum::<f64>() / 4000.0
        };
        assert!((mean("burst:60") - 15.0).abs() < 1.0);
        assert!((mean("steady:60") - 30.0).abs() < 1.0);
        assert!((mean("ramp:60") - 40.0).abs() < 1.0);
        for wrong in ["burst", "burst:x", "wave:3", "burst:-1", ""] {
            assert!(wrong.parse::<Arrivals>().is_err(), "{wrong}");
        }
    }
}

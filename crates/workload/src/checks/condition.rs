//! Conditions under which a check fails.

use std::fmt;
use std::str::FromStr;

/// A figure and its limit: `over_admission>0`, `utilization<0.9`.
#[derive(Debug, Clone, PartialEq)]
pub struct FailCondition {
    /// The name of the figure.
    pub name: String,
    /// Whether the check fails above the limit rather than below it.
    pub above: bool,
    /// The limit.
    pub number: f64,
}

impl FailCondition {
    /// Whether a value fails the check.
    pub fn fails(&self, value: f64) -> bool {
        if self.above { value > self.number } else { value < self.number }
    }
}

impl FromStr for FailCondition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected =
            || "must be FIGURE>NUMBER or FIGURE<NUMBER, such as over_admission>0 or utilization<0.9".to_owned();
        let at = text.find(['<', '>']).ok_or_else(expected)?;
        let (name, number) = (text[..at].trim(), &text[at + 1..]);
        let number: f64 = number.trim().parse().map_err(|_| expected())?;
        if super::FIGURES.iter().any(|figure| figure.name == name) && number.is_finite() {
            return Ok(Self { name: name.to_owned(), above: text.as_bytes()[at] == b'>', number });
        }
        let names: Vec<&str> = super::FIGURES.iter().map(|figure| figure.name).collect();
        Err(format!("unknown figure {name:?}; valid figures are {}", names.join(", ")))
    }
}

impl fmt::Display for FailCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.name, if self.above { '>' } else { '<' }, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_name_a_known_figure() {
        let limit: FailCondition = "utilization < 0.9".parse().unwrap();
        assert!(limit.fails(0.89) && !limit.fails(0.9));
        assert_eq!(limit.to_string(), "utilization<0.9");
        assert!("over_admission".parse::<FailCondition>().unwrap_err().starts_with("must be FIGURE>NUMBER"));
        assert!(
            "speed>3"
                .parse::<FailCondition>()
                .unwrap_err()
                .contains("unknown figure \"speed\"; valid figures are over_admission")
        );
    }
}

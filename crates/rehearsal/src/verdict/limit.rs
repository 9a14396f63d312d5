//! Limits that verdicts are held against.

use std::fmt;
use std::str::FromStr;

/// A figure and what makes it a failure: `overshoot>0`, `use_of_places<0.9`.
#[derive(Debug, Clone, PartialEq)]
pub struct FailIf {
    /// The figure's name.
    pub name: String,
    /// Whether it fails above the number, rather than below it.
    pub above: bool,
    /// The number.
    pub number: f64,
}

impl FailIf {
    /// Whether this value fails.
    #[must_use]
    pub fn fails(&self, value: f64) -> bool {
        if self.above { value > self.number } else { value < self.number }
    }
}

impl FromStr for FailIf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let takes = || "takes FIGURE>NUMBER or FIGURE<NUMBER, such as overshoot>0 or use_of_places<0.9".to_owned();
        let at = text.find(['<', '>']).ok_or_else(takes)?;
        let (name, number) = (text[..at].trim(), &text[at + 1..]);
        let number: f64 = number.trim().parse().map_err(|_| takes())?;
        if super::FIGURES.iter().any(|figure| figure.name == name) && number.is_finite() {
            return Ok(Self { name: name.to_owned(), above: text.as_bytes()[at] == b'>', number });
        }
        let names: Vec<&str> = super::FIGURES.iter().map(|figure| figure.name).collect();
        Err(format!("{name:?} is no figure of a report; there are {}", names.join(", ")))
    }
}

impl fmt::Display for FailIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.name, if self.above { '>' } else { '<' }, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_names_a_figure_that_there_is() {
        let limit: FailIf = "use_of_places < 0.9".parse().unwrap();
        assert!(limit.fails(0.89) && !limit.fails(0.9));
        assert_eq!(limit.to_string(), "use_of_places<0.9");
        assert!("overshoot".parse::<FailIf>().unwrap_err().starts_with("takes FIGURE>NUMBER"));
        assert!(
            "speed>3"
                .parse::<FailIf>()
                .unwrap_err()
                .contains("\"speed\" is no figure of a report; there are overshoot")
        );
    }
}

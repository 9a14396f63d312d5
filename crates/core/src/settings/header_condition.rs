//! What a rule asks of a header.

use super::value_text::ValueText;
use crate::fields::FieldErrorCode as Code;
use crate::fields::{Bounded, Flag, ObjectReader, Omissible};

/// Maximum number that a header can be compared with.
const NUMBER_MAX: u64 = 1_000_000;

/// A number that a header is compared with.
type Number = Omissible<Bounded<0, NUMBER_MAX>>;

crate::fields! {
    /// A header that a request must have with exactly this value; or, for headers of `VESTIBULE_TRUSTED_HEADERS`, an integer in a
    /// range, or its presence.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct HeaderCondition {
        /// Name of the header (case-insensitive).
        pub name: ValueText,
        /// The required value.
        pub value: Omissible<ValueText>,
        /// The header is an integer below this one.
        pub below: Number,
        /// The header is an integer above this one.
        pub above: Number,
        /// Whether the request has the header.
        pub present: Omissible<Flag>,
    }
    check = check_tests;
}

/// A header is tested in one way. An unknown test of a stored one makes it unreadable.
fn check_tests(condition: &mut HeaderCondition, object: &mut ObjectReader<'_>) {
    let is_number = condition.below.is_some() || condition.above.is_some();
    let tests = [condition.value.is_some(), is_number, condition.present.is_some()];
    let is_unknown = object.is_stored() && object.has_ignored();
    if is_unknown || (tests.into_iter().filter(|test| *test).count() != 1 && !object.has_errors()) {
        object.error("", Code::HeaderTest);
    }
    if let (Some(below), Some(above)) = (condition.below, condition.above)
        && above.saturating_add(1) >= below
    {
        object.error("below", Code::HeaderRange);
    }
}

impl HeaderCondition {
    /// Whether the header has to come from a trusted proxy.
    pub const fn needs_trust(&self) -> bool {
        self.below.is_some() || self.above.is_some() || self.present.is_some()
    }

    /// Whether a value of the header, or its absence, is as required.
    pub fn matches(&self, value: Option<&[u8]>) -> bool {
        if let Some(present) = self.present {
            return value.is_some() == present;
        }
        let Some(value) = value else { return false };
        if let Some(required) = &self.value {
            return value == required.as_bytes();
        }
        let text = std::str::from_utf8(value).unwrap_or_default();
        let Ok(number) = text.trim().parse::<i64>() else { return false };
        self.below.is_none_or(|below| number < below.cast_signed())
            && self.above.is_none_or(|above| number > above.cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fields::{Object as _, Reader, Reading, joined};

    fn condition(value: &Value) -> HeaderCondition {
        HeaderCondition::from_json(value).unwrap_or_else(|errors| panic!("{value}: {errors:?}"))
    }

    #[test]
    fn header_is_compared_as_an_integer() {
        let suspicious = condition(&json!({ "name": "cf-bot-score", "below": 30 }));
        let matches = |condition: &HeaderCondition, values: &[&str]| {
            values.iter().map(|value| condition.matches(Some(value.as_bytes()))).collect::<Vec<_>>()
        };
        assert_eq!(matches(&suspicious, &["29", " 1 ", "-5", "30", "99"]), [true, true, true, false, false]);
        assert_eq!(matches(&suspicious, &["", "low", "29.5", "29, 29", "9223372036854775808"]), [false; 5]);
        assert!(!suspicious.matches(None), "an absent header is no number");
        let middle = condition(&json!({ "name": "cf-bot-score", "above": 10, "below": 30 }));
        assert_eq!(matches(&middle, &["10", "11", "29", "30"]), [false, true, true, false]);
    }

    #[test]
    fn header_is_present_or_absent() {
        let present = condition(&json!({ "name": "x-amzn-waf-bot", "present": true }));
        assert!(present.matches(Some(b"")) && !present.matches(None) && present.needs_trust());
        let absent = condition(&json!({ "name": "x-amzn-waf-bot", "present": false }));
        assert!(absent.matches(None) && !absent.matches(Some(b"1")));
        let equal = condition(&json!({ "name": "x-app", "value": "1" }));
        assert!(equal.matches(Some(b"1")) && !equal.matches(Some(b"2")) && !equal.needs_trust());
    }

    #[test]
    fn header_is_tested_in_one_way() {
        let errors = |value: Value| joined(&HeaderCondition::from_json(&value).unwrap_err());
        let one_way = "document: needs either value, or below or above or both, or present";
        assert_eq!(errors(json!({ "name": "x" })), one_way);
        assert_eq!(errors(json!({ "name": "x", "value": "1", "below": 3 })), one_way);
        assert_eq!(errors(json!({ "name": "x", "above": 3, "present": true })), one_way);
        assert_eq!(
            errors(json!({ "name": "x", "above": 9, "below": 10 })),
            "below: must leave an integer between above and below"
        );
        assert_eq!(
            errors(json!({ "name": "x", "below": -1 })),
            "below: must be a whole number from 0 to 1000000; got -1"
        );
        let stored = Reader::read::<HeaderCondition>(&json!({ "name": "x", "value": "1", "near": 3 }), Reading::Stored);
        assert!(stored.is_err(), "a test of a later version");
    }
}

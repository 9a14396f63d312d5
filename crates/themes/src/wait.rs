//! The rounding of an estimated wait.

use vestibule_core::WaitSeconds;

const HOUR: u64 = 3600;
/// Ranges that end after this many minutes are given in hours, or only by their beginning.
const RANGE_MAX_MINUTES: u64 = 90;

/// An estimated wait, rounded outwards, so that it always covers `p50` to `p90`. The page's script rounds in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitText {
    /// "less than a minute"
    LessThanMinute,
    /// "about 5 minutes"
    Minutes(u64),
    /// "about 4 to 6 minutes"
    Range {
        /// Whole minutes, at most `p50`.
        from: u64,
        /// Whole minutes, at least `p90`.
        to: u64,
    },
    /// "up to 3 minutes"
    UpToMinutes(u64),
    /// "more than 40 minutes"
    MoreThanMinutes(u64),
    /// "up to 2 hours"
    UpToHours(u64),
    /// "more than an hour"
    MoreThanHours(u64),
}

impl WaitText {
    /// Rounds an estimated wait. A `p90` below `p50` counts as `p50`.
    pub const fn of(wait: WaitSeconds) -> Self {
        let p50 = wait.p50;
        let p90 = if wait.p90 < p50 { p50 } else { wait.p90 };
        if p90 < 60 {
            return Self::LessThanMinute;
        }
        let step = 60 * step_minutes(p90);
        let to = p90.div_ceil(step).saturating_mul(step) / 60;
        if to > RANGE_MAX_MINUTES {
            return Self::long(p50, p90);
        }
        match p50 / step * step / 60 {
            0 => Self::UpToMinutes(to),
            from if from == to => Self::Minutes(to),
            from => Self::Range { from, to },
        }
    }

    const fn long(p50: u64, p90: u64) -> Self {
        match (p50 / HOUR, p50 / 300 * 5) {
            (0, 0) => Self::UpToHours(p90.div_ceil(HOUR)),
            (0, minutes) => Self::MoreThanMinutes(minutes),
            (hours, _) => Self::MoreThanHours(hours),
        }
    }

    /// The covered range in seconds; its end if it has one.
    pub const fn bounds(self) -> (u64, Option<u64>) {
        match self {
            Self::LessThanMinute => (0, Some(60)),
            Self::Minutes(n) => (n * 60, Some(n * 60)),
            Self::Range { from, to } => (from * 60, Some(to * 60)),
            Self::UpToMinutes(n) => (0, Some(n * 60)),
            Self::MoreThanMinutes(n) => (n * 60, None),
            Self::UpToHours(n) => (0, Some(n.saturating_mul(HOUR))),
            Self::MoreThanHours(n) => (n * HOUR, None),
        }
    }
}

/// The rounding step: short waits are rounded to a minute, longer ones to five, then ten.
const fn step_minutes(p90: u64) -> u64 {
    if p90 <= 600 {
        1
    } else if p90 <= HOUR {
        5
    } else {
        10
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Language;
    use crate::texts::texts;
    use proptest::prelude::*;

    fn say(language: Language, p50: u64, p90: u64) -> String {
        texts(language).texts.wait.say(language, WaitText::of(WaitSeconds { p50, p90 }))
    }

    #[test]
    fn waits_are_rounded() {
        for (p50, p90, words) in [
            (0, 0, "less than a minute"),
            (20, 59, "less than a minute"),
            (20, 60, "up to 1 minute"),
            (59, 100, "up to 2 minutes"),
            (240, 360, "about 4 to 6 minutes"),
            (299, 301, "about 4 to 6 minutes"),
            (300, 300, "about 5 minutes"),
            (700, 1000, "about 10 to 20 minutes"),
            (2400, 4700, "about 40 to 80 minutes"),
            (2500, 9000, "more than 40 minutes"),
            (3700, 9000, "more than an hour"),
            (3 * HOUR, 5 * HOUR, "more than 3 hours"),
            (30, 2 * HOUR, "up to 2 hours"),
        ] {
            assert_eq!(say(Language::English, p50, p90), words, "{p50} {p90}");
        }
        assert_eq!(say(Language::Welsh, 70, 115), "tua 1 i 2 funud");
        assert_eq!(say(Language::German, 240, 360), "etwa 4 bis 6 Minuten");
    }

    /// The browser tests hold the page's script against the same file, so that the two roundings can't drift apart.
    #[test]
    fn the_script_is_tested_against_the_same_words() {
        let file: serde_json::Value =
            serde_json::from_str(include_str!("../tests/wait-words.json")).expect("tests/wait-words.json is JSON");
        for language in Language::ALL {
            let rows = file[language.code()].as_array().expect("rows of every language");
            assert!(rows.len() > 20, "{}", language.code());
            for row in rows {
                let (p50, p90) = (row[0].as_u64().unwrap(), row[1].as_u64().unwrap());
                assert_eq!(row[2], say(language, p50, p90), "{} {p50} {p90}", language.code());
            }
        }
    }

    proptest! {
        #[test]
        fn the_words_stay_true(p50 in 0_u64..40_000, more in 0_u64..40_000) {
            let wait = WaitSeconds { p50, p90: p50 + more };
            let (from, to) = WaitText::of(wait).bounds();
            prop_assert!(from <= wait.p50);
            prop_assert!(to.is_none_or(|to| to >= wait.p90));
        }

        #[test]
        fn no_wait_whatever_fails(p50 in any::<u64>(), p90 in any::<u64>()) {
            for language in Language::ALL {
                let words = say(language, p50, p90);
                let filled = !words.contains('{');
                prop_assert!(filled, "{}", words);
            }
        }
    }
}

//! The languages of the built-in texts: negotiation, plural categories and numbers.

use serde::{Deserialize, Serialize};

/// Most bytes of an `Accept-Language` that are read.
const ACCEPT_MAX: usize = 1024;
/// Most language ranges that are read.
const RANGES_MAX: usize = 32;

/// A language of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Language {
    /// English, the default.
    #[default]
    English,
    /// German.
    German,
    /// French.
    French,
    /// Spanish.
    Spanish,
    /// Dutch.
    Dutch,
    /// Welsh.
    Welsh,
}

/// A plural category of Unicode's CLDR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Category {
    Zero,
    One,
    Two,
    Few,
    Many,
    Other,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 6] = [Self::English, Self::German, Self::French, Self::Spanish, Self::Dutch, Self::Welsh];

    /// The language code, for `lang` attributes.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
            Self::French => "fr",
            Self::Spanish => "es",
            Self::Dutch => "nl",
            Self::Welsh => "cy",
        }
    }

    /// The direction of its script, for `dir` attributes.
    #[must_use]
    pub const fn direction(self) -> &'static str {
        "ltr"
    }

    fn from_tag(tag: &str) -> Option<Self> {
        let primary = tag.split('-').next()?;
        Self::ALL.into_iter().find(|language| primary.eq_ignore_ascii_case(language.code()))
    }

    /// The plural categories of whole numbers in this language.
    #[cfg(test)]
    pub(crate) const fn categories(self) -> &'static [Category] {
        use Category::{Few, Many, One, Other, Two, Zero};
        match self {
            Self::English | Self::German | Self::Dutch => &[One, Other],
            Self::French | Self::Spanish => &[One, Many, Other],
            Self::Welsh => &[Zero, One, Two, Few, Many, Other],
        }
    }

    /// The plural category of a whole number.
    pub(crate) const fn category(self, n: u64) -> Category {
        match (self, n) {
            (Self::Welsh, 0) => Category::Zero,
            (Self::French, 0) | (_, 1) => Category::One,
            (Self::Welsh, 2) => Category::Two,
            (Self::Welsh, 3) => Category::Few,
            (Self::Welsh, 6) => Category::Many,
            (Self::French | Self::Spanish, n) if n != 0 && n.is_multiple_of(1_000_000) => Category::Many,
            _ => Category::Other,
        }
    }

    /// Formats a whole number for the language, as `Intl.NumberFormat` does in the page.
    pub(crate) fn number(self, n: u64) -> String {
        let (separator, grouped_from) = match self {
            Self::English | Self::Welsh => (',', 4),
            Self::German | Self::Dutch => ('.', 4),
            Self::French => ('\u{202f}', 4),
            Self::Spanish => ('.', 5),
        };
        let digits = n.to_string();
        if digits.len() < grouped_from {
            return digits;
        }
        let mut grouped = String::with_capacity(digits.len() + digits.len() / 3 * separator.len_utf8());
        for (at, digit) in digits.char_indices() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                grouped.push(separator);
            }
            grouped.push(digit);
        }
        grouped
    }
}

/// Selects the language by an `Accept-Language` header. The highest weight wins, then the first. Invalid language ranges
/// are ignored.
#[must_use]
pub fn negotiate(accept_language: Option<&str>) -> Language {
    let header = accept_language.unwrap_or_default();
    let header = &header[..header.floor_char_boundary(ACCEPT_MAX)];
    let mut best = (0, Language::default());
    for range in header.split(',').take(RANGES_MAX) {
        let (tag, weight) = parse_range(range);
        let language = if tag == "*" { Some(Language::default()) } else { Language::from_tag(tag) };
        if let Some(language) = language
            && weight > best.0
        {
            best = (weight, language);
        }
    }
    best.1
}

/// The tag of a range and its weight in thousandths: 1000 without a weight, 0 for an invalid one.
fn parse_range(range: &str) -> (&str, u32) {
    let mut parts = range.split(';').map(str::trim);
    let tag = parts.next().unwrap_or_default();
    let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    let weight = quality.map_or(1000, |q| match q.trim().parse::<f32>() {
        Ok(q) if (0.0..=1.0).contains(&q) => (q * 1000.0) as u32,
        _ => 0,
    });
    (tag, weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_language_with_the_highest_weight_wins() {
        for (header, expected) in [
            ("de-AT,de;q=0.9,en;q=0.8", Language::German),
            ("ja, cy;q=0.2, fr;q=0.3", Language::French),
            ("en;q=0, nl", Language::Dutch),
            ("fr;q=0.5, es;q=0.5", Language::French),
            ("ES-419", Language::Spanish),
            ("*", Language::English),
            ("ja", Language::English),
            ("de;q=7, cy;q=0.001", Language::Welsh),
        ] {
            assert_eq!(negotiate(Some(header)), expected, "{header}");
        }
        assert_eq!(negotiate(None), Language::English);
    }

    #[test]
    fn a_header_without_end_is_read_only_so_far() {
        let late = format!("{},de", "x".repeat(ACCEPT_MAX));
        assert_eq!(negotiate(Some(&late)), Language::English);
    }

    #[test]
    fn numbers_are_written_as_the_browser_writes_them() {
        for (language, expected) in [
            (Language::English, ["7", "999", "1,234", "1,234,567"]),
            (Language::German, ["7", "999", "1.234", "1.234.567"]),
            (Language::French, ["7", "999", "1\u{202f}234", "1\u{202f}234\u{202f}567"]),
            (Language::Spanish, ["7", "999", "1234", "1.234.567"]),
            (Language::Dutch, ["7", "999", "1.234", "1.234.567"]),
            (Language::Welsh, ["7", "999", "1,234", "1,234,567"]),
        ] {
            assert_eq!([7, 999, 1234, 1_234_567].map(|n| language.number(n)), expected, "{language:?}");
        }
    }

    proptest! {
        #[test]
        fn no_header_whatever_fails(header in ".{0,2000}") {
            prop_assert!(Language::ALL.contains(&negotiate(Some(&header))));
        }

        #[test]
        fn nothing_that_looks_like_a_header_fails(header in "[a-z*=;,.q0-9 \u{e9}-]{0,200}") {
            prop_assert!(Language::ALL.contains(&negotiate(Some(&header))));
        }

        #[test]
        fn every_number_has_a_category_of_its_language(n in any::<u64>()) {
            for language in Language::ALL {
                prop_assert!(language.categories().contains(&language.category(n)));
            }
        }
    }
}

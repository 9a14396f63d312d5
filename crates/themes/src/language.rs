//! The languages of the built-in texts: negotiation, plural categories and numbers.

use std::cmp::Reverse;

use icu_decimal::DecimalFormatter;
use icu_decimal::input::Decimal;
use icu_decimal::options::DecimalFormatterOptions;
use icu_locale_core::{Locale, locale};
use icu_plurals::{PluralCategory, PluralRules};
use serde::{Deserialize, Serialize};

/// Most bytes of an `Accept-Language` that are read.
const ACCEPT_MAX: usize = 1024;
/// Most language ranges that are read.
const RANGES_MAX: usize = 32;

vestibule_core::names! {
    /// A language of the pages.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Language {
        /// English, the default.
        #[default]
        English = "en",
        /// German.
        German = "de",
        /// French.
        French = "fr",
        /// Spanish.
        Spanish = "es",
        /// Dutch.
        Dutch = "nl",
        /// Welsh.
        Welsh = "cy",
        /// Portuguese.
        Portuguese = "pt",
        /// Italian.
        Italian = "it",
        /// Polish.
        Polish = "pl",
        /// Turkish.
        Turkish = "tr",
        /// Arabic.
        Arabic = "ar",
        /// Japanese.
        Japanese = "ja",
        /// Korean.
        Korean = "ko",
        /// Chinese in simplified characters.
        SimplifiedChinese = "zh-Hans",
        /// Chinese in traditional characters.
        TraditionalChinese = "zh-Hant",
    }
    /// The language code, for `lang` attributes.
    fn code
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

impl From<PluralCategory> for Category {
    fn from(category: PluralCategory) -> Self {
        match category {
            PluralCategory::Zero => Self::Zero,
            PluralCategory::One => Self::One,
            PluralCategory::Two => Self::Two,
            PluralCategory::Few => Self::Few,
            PluralCategory::Many => Self::Many,
            PluralCategory::Other => Self::Other,
        }
    }
}

impl Language {
    /// The name of the language in the language itself.
    pub const fn name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::German => "Deutsch",
            Self::French => "Français",
            Self::Spanish => "Español",
            Self::Dutch => "Nederlands",
            Self::Welsh => "Cymraeg",
            Self::Portuguese => "Português",
            Self::Italian => "Italiano",
            Self::Polish => "Polski",
            Self::Turkish => "Türkçe",
            Self::Arabic => "العربية",
            Self::Japanese => "日本語",
            Self::Korean => "한국어",
            Self::SimplifiedChinese => "简体中文",
            Self::TraditionalChinese => "繁體中文",
        }
    }

    /// The direction of its script, for `dir` attributes.
    pub const fn direction(self) -> &'static str {
        match self {
            Self::Arabic => "rtl",
            _ => "ltr",
        }
    }

    /// The language with this code.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.code() == code)
    }

    /// The language of a tag such as `de-AT`. Chinese is written in traditional characters if the script says so, or else in
    /// Taiwan, Hong Kong and Macao.
    fn from_tag(tag: &str) -> Option<Self> {
        let mut subtags = tag.split('-');
        let primary = subtags.next()?;
        if !primary.eq_ignore_ascii_case("zh") {
            return Self::ALL.into_iter().find(|language| primary.eq_ignore_ascii_case(language.code()));
        }
        let has = |names: &[&str]| subtags.clone().any(|tag| names.iter().any(|name| tag.eq_ignore_ascii_case(name)));
        let is_traditional = has(&["Hant"]) || (has(&["TW", "HK", "MO"]) && !has(&["Hans"]));
        Some(if is_traditional { Self::TraditionalChinese } else { Self::SimplifiedChinese })
    }

    /// The locale of numbers and plural forms. Digits are Latin in every language, as in the page's script.
    const fn locale(self) -> Locale {
        match self {
            Self::English => locale!("en"),
            Self::German => locale!("de"),
            Self::French => locale!("fr"),
            Self::Spanish => locale!("es"),
            Self::Dutch => locale!("nl"),
            Self::Welsh => locale!("cy"),
            Self::Portuguese => locale!("pt"),
            Self::Italian => locale!("it"),
            Self::Polish => locale!("pl"),
            Self::Turkish => locale!("tr"),
            Self::Arabic => locale!("ar-u-nu-latn"),
            Self::Japanese => locale!("ja"),
            Self::Korean => locale!("ko"),
            Self::SimplifiedChinese => locale!("zh-Hans"),
            Self::TraditionalChinese => locale!("zh-Hant"),
        }
    }

    /// The plural categories of the language.
    #[cfg(test)]
    pub(crate) fn categories(self) -> std::collections::BTreeSet<Category> {
        PluralRules::try_new_cardinal(self.locale().into()).unwrap().categories().map(Category::from).collect()
    }

    /// The plural category of a whole number.
    pub(crate) fn category(self, n: u64) -> Category {
        let rules = PluralRules::try_new_cardinal(self.locale().into());
        rules.map_or(Category::Other, |rules| rules.category_for(n).into())
    }

    /// Formats a whole number for the language, as `Intl.NumberFormat` does in the page.
    pub(crate) fn number(self, n: u64) -> String {
        let format = DecimalFormatter::try_new(self.locale().into(), DecimalFormatterOptions::default());
        format.map_or_else(|_| n.to_string(), |format| format.format(&Decimal::from(n)).to_string())
    }
}

/// The languages of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestLanguages<'a> {
    /// The language of the page.
    pub page: Language,
    /// The tags of the languages that the visitor prefers to that of the page, and of that one, best first. If the visitor
    /// prefers none of the page's languages, all tags.
    pub tags: Vec<&'a str>,
}

impl<'a> RequestLanguages<'a> {
    /// Selects the languages by the code that the visitor chose, if there is such a language, or else by an
    /// `Accept-Language` header. The highest weight wins, then the first. Invalid language ranges are ignored.
    pub fn of(chosen: Option<&str>, accept_language: Option<&'a str>) -> Self {
        if let Some(page) = chosen.and_then(Language::from_code) {
            return Self { page, tags: vec![page.code()] };
        }
        let header = accept_language.unwrap_or_default();
        let header = &header[..header.floor_char_boundary(ACCEPT_MAX)];
        let ranges = header.split(',').take(RANGES_MAX).map(parse_range);
        let mut ranges: Vec<_> = ranges.filter(|(tag, weight)| !tag.is_empty() && *weight > 0).collect();
        ranges.sort_by_key(|(_, weight)| Reverse(*weight));
        let mut tags = Vec::new();
        for (tag, _) in ranges {
            if tag == "*" {
                return Self { page: Language::default(), tags };
            }
            tags.push(tag);
            if let Some(page) = Language::from_tag(tag) {
                tags.push(page.code());
                return Self { page, tags };
            }
        }
        Self { page: Language::default(), tags }
    }
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
            ("xx, cy;q=0.2, fr;q=0.3", Language::French),
            ("en;q=0, nl", Language::Dutch),
            ("fr;q=0.5, es;q=0.5", Language::French),
            ("ES-419", Language::Spanish),
            ("*", Language::English),
            ("xx", Language::English),
            ("pt-BR", Language::Portuguese),
            ("ar-EG", Language::Arabic),
            ("zh", Language::SimplifiedChinese),
            ("zh-CN, en", Language::SimplifiedChinese),
            ("zh-TW", Language::TraditionalChinese),
            ("zh-hk", Language::TraditionalChinese),
            ("zh-Hant-CN", Language::TraditionalChinese),
            ("zh-Hans-HK", Language::SimplifiedChinese),
            ("de;q=7, cy;q=0.001", Language::Welsh),
        ] {
            assert_eq!(RequestLanguages::of(None, Some(header)).page, expected, "{header}");
        }
        assert_eq!(RequestLanguages::of(None, None), RequestLanguages::default());
    }

    #[test]
    fn tags_end_with_the_language_of_the_page() {
        for (header, expected) in [
            ("de-AT,de;q=0.9,en;q=0.8", vec!["de-AT", "de"]),
            ("fr;q=0.5, sv, en;q=0.6", vec!["sv", "en", "en"]),
            ("sv, da;q=0.5", vec!["sv", "da"]),
            ("sv, *;q=0.5, de;q=0.1", vec!["sv"]),
            ("zh-TW, zh;q=0.5", vec!["zh-TW", "zh-Hant"]),
        ] {
            assert_eq!(RequestLanguages::of(None, Some(header)).tags, expected, "{header}");
        }
    }

    #[test]
    fn a_chosen_language_precedes_the_header() {
        let chosen = RequestLanguages::of(Some("zh-Hant"), Some("de"));
        assert_eq!((chosen.page, chosen.tags), (Language::TraditionalChinese, vec!["zh-Hant"]));
        for invalid in ["", "xx", "DE", "de; Path=/", "<b>"] {
            assert_eq!(RequestLanguages::of(Some(invalid), Some("fr")).page, Language::French, "{invalid}");
        }
    }

    #[test]
    fn endless_accept_language_is_truncated() {
        let late = format!("{},de", "x".repeat(ACCEPT_MAX));
        assert_eq!(RequestLanguages::of(None, Some(&late)).page, Language::English);
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
            (Language::Portuguese, ["7", "999", "1.234", "1.234.567"]),
            (Language::Italian, ["7", "999", "1234", "1.234.567"]),
            (Language::Polish, ["7", "999", "1234", "1\u{a0}234\u{a0}567"]),
            (Language::Turkish, ["7", "999", "1.234", "1.234.567"]),
            (Language::Arabic, ["7", "999", "1,234", "1,234,567"]),
            (Language::Japanese, ["7", "999", "1,234", "1,234,567"]),
            (Language::Korean, ["7", "999", "1,234", "1,234,567"]),
            (Language::SimplifiedChinese, ["7", "999", "1,234", "1,234,567"]),
            (Language::TraditionalChinese, ["7", "999", "1,234", "1,234,567"]),
        ] {
            assert_eq!([7, 999, 1234, 1_234_567].map(|n| language.number(n)), expected, "{language:?}");
        }
    }

    proptest! {
        #[test]
        fn no_header_whatever_fails(header in ".{0,2000}") {
            prop_assert!(Language::ALL.contains(&RequestLanguages::of(None, Some(&header)).page));
        }

        #[test]
        fn nothing_that_looks_like_a_header_fails(header in "[a-z*=;,.q0-9 \u{e9}-]{0,200}") {
            prop_assert!(Language::ALL.contains(&RequestLanguages::of(None, Some(&header)).page));
        }

        #[test]
        fn every_number_has_a_category_of_its_language(n in any::<u64>()) {
            for language in Language::ALL {
                prop_assert!(language.categories().contains(&language.category(n)));
            }
        }
    }
}

//! Paths in the one form that rules are matched against, however the request spelled them.

use percent_encoding::percent_decode_str;

/// How often a path is percent-decoded before the rest counts as literal: some origins decode twice.
const DECODE_ROUNDS: usize = 3;

/// A path as rules see it: decoded, `\` as `/`, no empty, `.` or `..` segments, no `;parameters`, lower case, no slash
/// at the end. Different spellings of what an origin may treat as the same page become one, so that none slips past a rule.
#[must_use]
pub fn normalise_path(path: &str) -> String {
    let mut decoded = path.to_owned();
    for _ in 0..DECODE_ROUNDS {
        if !decoded.contains('%') {
            break;
        }
        decoded = percent_decode_str(&decoded).decode_utf8_lossy().into_owned();
    }
    let mut segments: Vec<&str> = Vec::new();
    for segment in decoded.split(['/', '\\']) {
        match segment.split(';').next().unwrap_or_default().trim_matches(|c: char| c.is_ascii_control()) {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            name => segments.push(name),
        }
    }
    let mut normal = String::with_capacity(decoded.len() + 1);
    for segment in &segments {
        normal.push('/');
        normal.push_str(&segment.to_lowercase());
    }
    if normal.is_empty() { "/".to_owned() } else { normal }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_spelling_of_a_page_is_one_path() {
        for spelling in [
            "/checkout/pay",
            "/Checkout/PAY",
            "//checkout///pay",
            "/checkout/./pay",
            "/x/../checkout/pay",
            "/checkout%2fpay",
            "/%63heckout/pay",
            "/checkout/%70ay/",
            "/%2e%2e/checkout/pay",
            "/checkout;id=1/pay;x",
            "\\checkout\\pay",
            "/%2563heckout/pay",
            "/checkout/pay%00",
        ] {
            assert_eq!(normalise_path(spelling), "/checkout/pay", "{spelling}");
        }
        assert_eq!(normalise_path(""), "/");
        assert_eq!(normalise_path("/../.."), "/");
    }

    proptest! {
        #[test]
        fn no_path_panics_and_a_normal_path_has_no_dots(path in "(\\PC|%[0-9a-f]{2}|/|\\.|;){0,80}") {
            let normal = normalise_path(&path);
            prop_assert!(normal.starts_with('/'));
            prop_assert!(!normal.split('/').any(|segment| segment == ".." || segment == "."));
        }
    }
}

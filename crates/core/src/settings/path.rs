//! Readings of a request path. Origins and proxies interpret paths differently: some decode twice,
//! some resolve `..` first, some treat `\` as `/`. Rules are matched against all interpretations.

use percent_encoding::percent_decode_str;

/// Maximum length of a path that rules are matched against, in bytes. Their time grows with it.
const PATH_MAX: usize = 4 * 1024;
/// Maximum number of readings of one path. Only an attack has more.
const READINGS_MAX: usize = 64;
/// Maximum total length of the readings of a path in bytes, which bounds the time for rules.
const READINGS_BYTES_MAX: usize = 16 * 1024;
/// Characters that clients always encode, so their encoded form is not another spelling.
const ALWAYS_ENCODED: &[u8] = b" \"<>^`{|}";

/// Length of an escape `%uXXXX`.
const WIDE_ESCAPE: usize = 6;

/// The transformations that an origin may apply to a path.
const STEPS: [fn(&str) -> String; 8] =
    [decode, decode_wide, resolve_merged, resolve_kept, turn_backslashes, drop_parameters, trim_segments, cut_off];

/// Every interpretation that an origin may have of a request path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathReadings {
    /// The normalized paths that rules are matched against: lower case, without empty segments and
    /// trailing slash. The first one is the path as sent; none if it is too long.
    pub paths: Vec<String>,
    /// Whether the list is complete. Hardly any legitimate client sends a path of more than 4 KiB, or one with more than 64 readings
    /// or 16 KiB of them.
    pub is_complete: bool,
}

/// Computes all readings of `path`: as it is, decoded once or more often, also from `%uXXXX`, each with and without dot
/// segments, `;` parameters, backslashes, trailing dots and spaces, and the text after a NUL, `?`
/// or `#`, with these steps in any order.
pub fn path_readings(path: &str) -> PathReadings {
    if path.len() > PATH_MAX {
        return PathReadings { paths: Vec::new(), is_complete: false };
    }
    let (mut found, mut bytes) = (vec![path.to_owned()], path.len());
    let mut next = 0;
    while next < found.len() && found.len() <= READINGS_MAX && bytes <= READINGS_BYTES_MAX {
        for step in STEPS {
            let reading = step(&found[next]);
            if !found.contains(&reading) {
                bytes += reading.len();
                found.push(reading);
            }
        }
        next += 1;
    }
    let is_complete = next == found.len();
    let mut paths: Vec<String> = Vec::new();
    for reading in found {
        let reading = matched_form(&reading);
        if !paths.contains(&reading) {
            paths.push(reading);
        }
    }
    PathReadings { paths, is_complete }
}

fn decode(path: &str) -> String {
    percent_decode_str(path).decode_utf8_lossy().into_owned()
}

/// Decodes `%uXXXX`, as http.sys and IIS do.
fn decode_wide(path: &str) -> String {
    let mut decoded = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('%') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        let escaped = wide_character(rest);
        decoded.push(escaped.unwrap_or('%'));
        rest = &rest[escaped.map_or(1, |_| WIDE_ESCAPE)..];
    }
    decoded + rest
}

/// The character of an escape that `text` begins with. Half of a surrogate pair is none.
fn wide_character(text: &str) -> Option<char> {
    let escape = text.get(..WIDE_ESCAPE)?;
    let digits = escape.strip_prefix("%u").or_else(|| escape.strip_prefix("%U"))?;
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let code = u32::from_str_radix(digits, 16).ok()?;
    Some(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
}

/// Resolves dot segments after empty segments are merged, as nginx and Go do.
fn resolve_merged(path: &str) -> String {
    resolve(path.split('/').filter(|segment| !segment.is_empty()))
}

/// Resolves dot segments like RFC 3986 and browsers, where `..` can remove an empty segment.
fn resolve_kept(path: &str) -> String {
    resolve(path.strip_prefix('/').unwrap_or(path).split('/'))
}

fn resolve<'a>(segments: impl Iterator<Item = &'a str>) -> String {
    let mut resolved = Vec::new();
    for segment in segments {
        match segment.to_ascii_lowercase().replace("%2e", ".").as_str() {
            "." => {}
            ".." => {
                resolved.pop();
            }
            _ => resolved.push(segment),
        }
    }
    format!("/{}", resolved.join("/"))
}

fn turn_backslashes(path: &str) -> String {
    path.replace('\\', "/")
}

fn drop_parameters(path: &str) -> String {
    each_segment(path, |segment| segment.split(';').next().unwrap_or_default().to_owned())
}

/// Windows drops trailing dots and spaces of a name; other systems drop control characters.
fn trim_segments(path: &str) -> String {
    each_segment(path, |segment| {
        let text: String = segment.chars().filter(|c| !c.is_control() && *c != char::REPLACEMENT_CHARACTER).collect();
        let text = text.trim();
        if matches!(text, "." | "..") { text.to_owned() } else { text.trim_end_matches(['.', ' ']).to_owned() }
    })
}

/// Programs that decode a URL before parsing it treat the text after these characters as no part of
/// the path.
fn cut_off(path: &str) -> String {
    path.split(['\0', '?', '#']).next().unwrap_or_default().to_owned()
}

fn each_segment(path: &str, change: impl Fn(&str) -> String) -> String {
    path.split('/').map(change).collect::<Vec<_>>().join("/")
}

/// Readings that differ only in case, doubled slashes or the encoding of always-encoded characters
/// are equal.
fn matched_form(path: &str) -> String {
    let path = decode_always_encoded(path).to_lowercase();
    let mut form = String::with_capacity(path.len() + 1);
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        form.push('/');
        form.push_str(segment);
    }
    if form.is_empty() { "/".to_owned() } else { form }
}

fn decode_always_encoded(path: &str) -> String {
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        match rest.get(..3).and_then(escaped_byte) {
            Some(byte) if !byte.is_ascii() || ALWAYS_ENCODED.contains(&byte) => {
                decoded.push(byte);
                rest = &rest[3..];
            }
            _ => {
                decoded.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(decoded).unwrap_or_else(|_| path.to_owned())
}

fn escaped_byte(escape: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(escape.strip_prefix(b"%")?).ok()?;
    u8::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn readings(path: &str) -> Vec<String> {
        path_readings(path).paths
    }

    #[test]
    fn every_spelling_of_a_path_has_its_canonical_reading() {
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
            "/%25252563heckout/pay",
            "/checkout/pay%00",
            "/checkout/pay%00.css",
            "/checkout/pay%3fx",
            "/checkout%20/pay",
            "/checkout./pay",
            "/checkout%ff/pay",
            "/a%2fb/%2e%2e/checkout/pay",
            "/static/..;/checkout/pay",
            "/static/..%5ccheckout/pay",
            "/%u0063heckout/pay",
            "/%U0063heck%u006Fut%u002fpay",
            "/%25u0063heckout/pay",
            "/%u00252563heckout/pay",
            "/static/%u002e%u002e/checkout/pay",
        ] {
            assert!(readings(spelling).contains(&"/checkout/pay".to_owned()), "{spelling}: {:?}", readings(spelling));
        }
        assert_eq!(readings(""), ["/"]);
        assert!(readings("/../..").contains(&"/".to_owned()));
    }

    #[test]
    fn escaping_path_also_reads_as_inside_the_folder() {
        for path in ["/checkout/../static/x", "/checkout/%252e%252e/static/x", "/checkout/..%5cstatic/x"] {
            let readings = readings(path);
            assert!(readings.iter().any(|reading| reading.starts_with("/checkout/")), "{path}: {readings:?}");
            assert!(readings.contains(&"/static/x".to_owned()), "{path}: {readings:?}");
        }
        assert!(readings("/a//../checkout").contains(&"/a/checkout".to_owned()), "an empty segment is one to RFC 3986");
    }

    #[test]
    fn ordinary_path_has_one_reading() {
        for (path, reading) in [
            ("/Shop/Seats", "/shop/seats"),
            ("/shop//seats/", "/shop/seats"),
            ("/%C3%BCber/uns", "/\u{fc}ber/uns"),
            ("/two%20words.png", "/two words.png"),
            ("/100%unique", "/100%unique"),
        ] {
            assert_eq!(readings(path), [reading]);
        }
    }

    #[test]
    fn path_with_too_many_readings_is_incomplete() {
        let nested = format!("/%{}2e/x", "25".repeat(READINGS_MAX + 1));
        assert!(!path_readings(&nested).is_complete);
        assert!(!path_readings(&"/%2541".repeat(4_000)).is_complete);
        assert!(path_readings(&"/long".repeat(800)).is_complete);
    }

    #[test]
    fn long_path_is_not_read() {
        assert!(path_readings(&format!("/{}", "a".repeat(PATH_MAX - 1))).is_complete);
        let too_long = path_readings(&format!("/{}", "a".repeat(PATH_MAX)));
        assert_eq!(too_long, PathReadings { paths: Vec::new(), is_complete: false });
    }

    proptest! {
        #[test]
        fn no_path_panics_and_the_resolved_reading_has_no_dots(path in "(\\PC|%[0-9a-f]{2}|/|\\.|;){0,80}") {
            let readings = path_readings(&path);
            prop_assert!(readings.paths.iter().all(|reading| reading.starts_with('/')));
            let is_resolved = |reading: &String| !reading.split('/').any(|segment| segment == ".." || segment == ".");
            prop_assert!(!readings.is_complete || readings.paths.iter().any(is_resolved));
        }
    }
}

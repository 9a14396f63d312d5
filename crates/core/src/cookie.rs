//! Parses `Cookie` headers as described in RFC 6265 section 5.4. Malformed parts are skipped;
//! parsing never fails.

/// Maximum number of bytes of `Cookie` headers that are read; the rest is ignored.
pub const COOKIE_HEADER_MAX: usize = 64 * 1024;

/// The cookies of one header, as (name, value) pairs in order. A pair of double quotes around a
/// value is removed.
pub fn cookies(header: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    header[..header.len().min(COOKIE_HEADER_MAX)].split(|byte| *byte == b';').filter_map(|pair| {
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii());
        let inner = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
        (!name.is_empty()).then_some((name, inner.unwrap_or(value)))
    })
}

/// The values of all cookies with this name, over all `Cookie` headers.
pub fn cookie_values<'a>(headers: impl Iterator<Item = &'a [u8]>, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    headers.flat_map(cookies).filter(move |(found, _)| *found == name.as_bytes()).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values(header: &[u8], name: &'static str) -> Vec<Vec<u8>> {
        cookie_values(std::iter::once(header), name).map(<[u8]>::to_vec).collect()
    }

    #[test]
    fn the_own_cookie_is_found_among_others() {
        for header in ["v=1", "_ga=GA1.2; v=1", "v=1; _ga=x", "a; ;; =x;v=1", " v = 1 ", "v=\"1\"", "x=\u{e4}; v=1"] {
            assert_eq!(values(header.as_bytes(), "v"), [b"1"], "{header}");
        }
        assert_eq!(values(b"v=1; v=2; V=3; vv=4", "v"), [b"1", b"2"]);
        assert!(values(b"w=v=1", "v").is_empty());
    }

    #[test]
    fn sixteen_kilobytes_of_garbage_are_no_cookie() {
        let garbage: Vec<u8> = (0..16_384_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        assert!(values(&garbage, "vestibule_acme").is_empty());
    }

    proptest! {
        #[test]
        fn a_cookie_is_found_whatever_stands_around_it(
            before in proptest::collection::vec(any::<u8>(), 0..200),
            after in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let header = [&before[..], b"; mine=here;", &after[..]].concat();
            prop_assert!(values(&header, "mine").iter().any(|value| value == b"here"));
        }
    }
}

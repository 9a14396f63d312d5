//! Compression of the gate's own responses. Responses of an origin are forwarded as they are.

use std::io::Write as _;

pub(crate) use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, header};

/// Whether the client accepts gzip: by name, or by `*` if it does not name it (RFC 9110, 12.5.3).
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let (mut by_name, mut by_wildcard) = (None, false);
    for offer in values.flat_map(|value| value.split(',')) {
        let mut parts = offer.split(';').map(str::trim);
        let coding = parts.next().unwrap_or_default();
        let accepted = parts.filter_map(|parameter| parameter.split_once('=')).all(|(name, weight)| {
            !name.eq_ignore_ascii_case("q") || weight.parse::<f32>().is_ok_and(|weight| weight > 0.0)
        });
        if coding.eq_ignore_ascii_case("gzip") {
            by_name = Some(accepted);
        } else if coding == "*" {
            by_wildcard = accepted;
        }
    }
    by_name.unwrap_or(by_wildcard)
}

/// Compresses a body.
pub(crate) fn gzip(body: &[u8], level: Compression) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 2), level);
    encoder.write_all(body).ok()?;
    encoder.finish().ok()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn gzip_is_sent_only_to_clients_that_accept_it() {
        let accepts = |values: &[&'static str]| {
            let values = values.iter().map(|value| (header::ACCEPT_ENCODING, HeaderValue::from_static(value)));
            accepts_gzip(&values.collect())
        };
        for accepted in [&["gzip"][..], &["br, gzip"], &["GZIP;q=0.5"], &["*"], &["br", "gzip"], &["br;q=1, *;q=0.1"]] {
            assert!(accepts(accepted), "{accepted:?}");
        }
        for refused in
            [&[][..], &[""], &["br"], &["gzip;q=0"], &["gzip;q=0.0"], &["gzip; Q=0.000, *"], &["*;q=0"], &["gzip;q=x"]]
        {
            assert!(!accepts(refused), "{refused:?}");
        }
    }
}

//! Compression of the gate's own responses. Responses of an origin are forwarded as they are.

use std::io::Write as _;

pub(crate) use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, header};

/// Whether the client accepts gzip.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let refused = |coding: &str| coding.split(';').nth(1).is_some_and(|q| q.trim() == "q=0");
    let offered = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    offered.split(',').map(str::trim).any(|coding| coding.split(';').next() == Some("gzip") && !refused(coding))
}

/// Compresses a body.
pub(crate) fn gzip(body: &[u8], level: Compression) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 2), level);
    encoder.write_all(body).ok()?;
    encoder.finish().ok()
}

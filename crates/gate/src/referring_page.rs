//! The page that sent a request.

use http::uri::PathAndQuery;
use http::{HeaderMap, Uri, header};
use vestibule_core::settings::normalize_host;

/// Path and query of the page that sent a request with these headers, if it is of this host.
pub(crate) fn referring_page(headers: &HeaderMap, host: Option<&str>) -> Option<PathAndQuery> {
    let referer: Uri = headers.get(header::REFERER)?.to_str().ok()?.parse().ok()?;
    let is_own = normalize_host(referer.authority()?.as_str()).as_deref() == host;
    referer.path_and_query().filter(|_| is_own).cloned()
}

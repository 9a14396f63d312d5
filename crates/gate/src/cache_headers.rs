//! Which caches may keep a response.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue, header};
use vestibule_core::Micros;

/// Headers other than `Cache-Control` that tell shared caches how long to keep a response.
const SHARED_CACHE_HEADERS: [HeaderName; 4] = [
    header::EXPIRES,
    HeaderName::from_static("surrogate-control"),
    HeaderName::from_static("cdn-cache-control"),
    HeaderName::from_static("x-accel-expires"),
];
const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");

/// Keeps a response out of all caches and search engines.
pub(crate) fn set_private_cache(headers: &mut HeaderMap) {
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(ROBOTS, HeaderValue::from_static("noindex"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Keeps an answer out of shared caches, whatever the origin said: they would hand it to others.
pub(crate) fn keep_private(headers: &mut HeaderMap) {
    for name in SHARED_CACHE_HEADERS {
        headers.remove(name);
    }
    let vendors: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().ends_with("-cdn-cache-control")).cloned().collect();
    for name in vendors {
        headers.remove(name);
    }
    let said: Vec<String> = cache_directives(headers).collect();
    if said.iter().any(|directive| directive == "no-store") {
        return;
    }
    // A directive with a list in quotes has commas of its own.
    let is_list = said.iter().any(|directive| directive.contains('"'));
    let kept = said.into_iter().filter(|directive| !is_list && !is_for_shared_caches(directive));
    let directives: Vec<String> = std::iter::once("private".to_owned()).chain(kept).collect();
    if let Ok(value) = HeaderValue::try_from(directives.join(", ")) {
        headers.insert(header::CACHE_CONTROL, value);
    }
}

/// Whether an answer says that a shared cache may keep it now.
pub(crate) fn allows_shared_cache(headers: &HeaderMap, now: Micros) -> bool {
    let mut directives = cache_directives(headers).peekable();
    if directives.peek().is_none() {
        let allows = |name: &HeaderName| *name != header::EXPIRES || !has_expired(headers, now);
        return SHARED_CACHE_HEADERS.iter().any(|name| headers.contains_key(name) && allows(name));
    }
    let said: Vec<String> = directives.collect();
    let is_kept_from_them = |directive: &String| {
        directive.starts_with("private")
            || directive.starts_with("no-cache")
            || matches!(directive.as_str(), "no-store" | "max-age=0")
    };
    !said.iter().any(is_kept_from_them)
        && said.iter().any(|directive| {
            directive == "immutable" || directive.starts_with("max-age") || is_for_shared_caches(directive)
        })
}

/// Whether `Expires` is past, or no date: both say that no cache may keep the answer.
fn has_expired(headers: &HeaderMap, now: Micros) -> bool {
    let now = SystemTime::UNIX_EPOCH + Duration::from_micros(now.0);
    let said = headers.get(header::EXPIRES).and_then(|value| httpdate::parse_http_date(value.to_str().ok()?).ok());
    said.is_none_or(|expires| expires <= now)
}

fn is_for_shared_caches(directive: &str) -> bool {
    matches!(directive, "public" | "private" | "proxy-revalidate") || directive.starts_with("s-maxage")
}

fn cache_directives(headers: &HeaderMap) -> impl Iterator<Item = String> {
    let values = headers.get_all(header::CACHE_CONTROL).into_iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .map(|directive| directive.trim().to_ascii_lowercase())
        .filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Micros = Micros(1_700_000_000_000_000);

    fn private(said: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in said {
            headers.append(*name, HeaderValue::from_static(value));
        }
        keep_private(&mut headers);
        headers
    }

    #[test]
    fn responses_with_tickets_are_private() {
        for (said, becomes) in [
            ("", "private"),
            ("public", "private"),
            ("max-age=300", "private, max-age=300"),
            ("Public, S-MaxAge=60, max-age=5, proxy-revalidate, immutable", "private, max-age=5, immutable"),
            ("private=\"x-a, x-b\", public", "private"),
            ("no-cache", "private, no-cache"),
            ("public, no-store", "public, no-store"),
        ] {
            assert_eq!(private(&[("cache-control", said)])[header::CACHE_CONTROL], becomes, "{said}");
        }
        let left = private(&[
            ("expires", "Thu, 01 Jan 2099 00:00:00 GMT"),
            ("x-accel-expires", "60"),
            ("cloudflare-cdn-cache-control", "max-age=60"),
            ("etag", "\"1\""),
        ]);
        assert_eq!(left.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["etag", "cache-control"]);
    }

    #[test]
    fn shared_caching_must_be_explicit() {
        for (name, value, offered) in [
            ("cache-control", "max-age=60", true),
            ("cache-control", "public", true),
            ("cache-control", "private, max-age=60", false),
            ("cache-control", "no-cache", false),
            ("cache-control", "max-age=0", false),
            ("expires", "Thu, 01 Jan 2099 00:00:00 GMT", true),
            ("expires", "Thu, 01 Jan 1970 00:00:00 GMT", false),
            ("expires", "0", false),
            ("x-accel-expires", "60", true),
            ("etag", "\"1\"", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            assert_eq!(allows_shared_cache(&headers, NOW), offered, "{name}: {value}");
        }
    }
}

//! `GET /_vestibule/language?language=&return=`: keeps the language that a visitor chose on the queue page in a cookie and
//! returns to that page. It works without JavaScript.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use vestibule_themes::Language;

use super::QueryParams;
use crate::cache_headers::set_private_cache;
use crate::cookies;
use crate::error::GateError;
use crate::referring_page::referring_page;
use crate::request::{LANGUAGE_COOKIE, RequestInfo};

/// Seconds for which a browser keeps the choice: 30 days.
const KEPT_SECONDS: u64 = 30 * 86_400;

#[derive(Debug, Deserialize)]
pub(crate) struct LanguageParams {
    /// Code of a language of the queue page.
    language: String,
    /// Path and query of the page; if empty, those of the `Referer`, or else `/`.
    #[serde(default, rename = "return")]
    return_to: String,
}

pub(crate) async fn language(
    info: RequestInfo,
    QueryParams(params): QueryParams<LanguageParams>,
) -> Result<Response, GateError> {
    let invalid = |parameter: &str| GateError::InvalidQuery(parameter.to_owned());
    let language = Language::from_code(&params.language).ok_or_else(|| invalid("language"))?;
    let location = match params.return_to.as_str() {
        // The page of a first visit is the same for all addresses, so without JavaScript only the browser knows its own.
        "" => referring_page(&info.headers, info.host.as_deref())
            .and_then(|page| own_path(page.as_str()))
            .unwrap_or(HeaderValue::from_static("/")),
        path => own_path(path).ok_or_else(|| invalid("return"))?,
    };
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    set_private_cache(headers);
    headers.insert(header::LOCATION, location);
    cookies::append(headers, LANGUAGE_COOKIE, language.code(), KEPT_SECONDS, None, info.origin.https);
    Ok(response)
}

/// A path of this host, and nothing that a browser takes for another one: browsers read `\\` as `/`, and ignore tabs and
/// line breaks.
fn own_path(path: &str) -> Option<HeaderValue> {
    let is_plain = path.bytes().all(|byte| byte.is_ascii_graphic());
    let is_own = path.starts_with('/') && !path.starts_with("//") && !path.starts_with("/\\");
    HeaderValue::from_str(path).ok().filter(|_| is_plain && is_own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_host_are_returned_to() {
        for given in ["/", "/a%20b?c=//d&e=\\"] {
            assert_eq!(own_path(given).unwrap(), given);
        }
        let others =
            ["", "a", "//x", "/\\x", "https://x", "/\t/x", "\t//x", "/\n/x", " /", "/ü", "\\\\x", "javascript:x"];
        for other in others {
            assert_eq!(own_path(other), None, "{other}");
        }
    }
}

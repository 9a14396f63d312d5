//! Invitation codes that visitors present (rule 20): in a link or in the form of the queue page, which both put it in the
//! query, or in a header. A code never stays in the address, and is never logged, forwarded or stored.

use http::{HeaderMap, HeaderName};
use vestibule_core::InvitationCode;

use crate::cookies;

/// Query parameter with a code, in links and in the form of the page.
pub(crate) const PARAMETER: &str = "vestibule_invite";
/// Header with a code, for apps.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-vestibule-invite");
/// Cookie that tells the next page that a code was wrong, as its address does not. Cookies of queues begin with `vestibule_`,
/// so this is none.
pub(crate) const WRONG_COOKIE: &str = "vestibule-invite";
const WRONG_VALUE: &str = "wrong";
/// Seconds after which the next page no longer says that a code was wrong.
const WRONG_KEPT: u64 = 60;
/// Maximum length of a presented code. Others are wrong: 24 digits, and room for separators.
const PRESENTED_MAX: usize = 100;

/// A code that a visitor presents, genuine or not.
pub(crate) struct PresentedCode {
    text: String,
    /// Whether it is in the query.
    in_address: bool,
}

/// Takes the code out of the query and the headers, so that no part of the gate shows or forwards it. Without a code, both
/// stay as they are.
pub(crate) fn take(query: &mut Option<String>, headers: &mut HeaderMap) -> Option<PresentedCode> {
    let in_header = headers.remove(HEADER).and_then(|value| value.to_str().ok().map(str::to_owned));
    let is_code = |pair: &&str| pair.split('=').next() == Some(PARAMETER);
    let given = query.as_deref().unwrap_or_default();
    let in_query = given.split('&').rfind(is_code);
    let Some(pair) = in_query else {
        return in_header.map(|text| PresentedCode { text, in_address: false });
    };
    let text = decoded(pair.split_once('=').map_or("", |(_, value)| value));
    let rest: Vec<&str> = given.split('&').filter(|pair| !is_code(pair)).collect();
    let rest = rest.join("&");
    *query = Some(rest).filter(|rest| !rest.is_empty());
    Some(PresentedCode { text, in_address: true })
}

impl PresentedCode {
    /// Whether the code is in the query.
    pub(crate) const fn is_in_address(&self) -> bool {
        self.in_address
    }

    /// The code as a pair of a query.
    pub(crate) fn as_pair(&self) -> String {
        let encoded = form_urlencoded::byte_serialize(self.text.as_bytes()).collect::<String>();
        format!("{PARAMETER}={encoded}")
    }

    pub(crate) fn code(&self) -> Option<InvitationCode> {
        (self.text.len() <= PRESENTED_MAX).then(|| self.text.parse().ok()).flatten()
    }
}

fn decoded(value: &str) -> String {
    form_urlencoded::parse(format!("v={value}").as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

/// The other parameters of a query, which the form of the page sends again.
pub(crate) fn other_parameters(query: Option<&str>) -> Vec<(String, String)> {
    form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect()
}

/// Tells the next page that the code was wrong.
pub(crate) fn set_wrong(headers: &mut HeaderMap, https: bool) {
    cookies::append(headers, WRONG_COOKIE, WRONG_VALUE, WRONG_KEPT, None, https);
}

/// Forgets it once a page has said so.
pub(crate) fn clear_wrong(headers: &mut HeaderMap, https: bool) {
    cookies::append(headers, WRONG_COOKIE, "", 0, None, https);
}

/// Whether the value of the cookie says that the last code was wrong.
pub(crate) fn says_wrong(value: Option<&str>) -> bool {
    value == Some(WRONG_VALUE)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn taken(query: &str) -> (Option<String>, Option<String>) {
        let mut query = Some(query.to_owned());
        let presented = take(&mut query, &mut HeaderMap::new());
        (presented.map(|code| code.text), query)
    }

    #[test]
    fn code_is_taken_out_of_the_query() {
        let code = || Some("0400E0-0000N1".to_owned());
        for (query, text, rest) in [
            ("vestibule_invite=0400E0-0000N1", code(), None),
            ("a=1&vestibule_invite=0400E0-0000N1&b=%20&c", code(), Some("a=1&b=%20&c")),
            ("vestibule_invite=other&a=1&vestibule_invite=0400E0%2D0000N1", code(), Some("a=1")),
            ("vestibule_invite", Some(String::new()), None),
            ("a=1;2&&vestibule_invited=x", None, Some("a=1;2&&vestibule_invited=x")),
        ] {
            assert_eq!(taken(query), (text, rest.map(str::to_owned)), "{query}");
        }
    }

    #[test]
    fn header_is_taken_out_of_the_request() {
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, HeaderValue::from_static("0400E0"));
        let presented = take(&mut None, &mut headers).unwrap();
        assert!(!presented.is_in_address() && headers.is_empty());
        assert_eq!(presented.as_pair(), "vestibule_invite=0400E0");
    }

    #[test]
    fn form_sends_other_parameters_again() {
        let pairs = other_parameters(Some("a=1&b=x%20y+z&c&a=2"));
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("a", "1"), ("b", "x y z"), ("c", ""), ("a", "2")]);
    }
}

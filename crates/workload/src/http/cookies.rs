//! The cookies of a visitor.

use http::HeaderValue;

/// Maximum size of all cookies, in bytes.
const COOKIES_MAX: usize = 4096;

/// The cookies of one site as the value of a `Cookie` header, which keeps 20,000 jars small. Paths are ignored.
#[derive(Debug, Clone, Default)]
pub(crate) struct CookieJar(Option<Box<[u8]>>);

impl CookieJar {
    /// The `Cookie` header; `None` without cookies.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        HeaderValue::from_bytes(self.0.as_ref()?).ok()
    }

    /// Whether there are no cookies.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// A jar with this `Cookie` header.
    pub(crate) fn of(header: Vec<u8>) -> Self {
        Self(Some(header.into_boxed_slice()))
    }

    /// The name and the token of the ticket or pre-ticket.
    pub(crate) fn ticket(&self) -> Option<(String, String)> {
        let is_ticket = |name: &str| name.trim_start_matches("__Host-").starts_with("vestibule_");
        let pairs = self.pairs().filter_map(|pair| std::str::from_utf8(pair).ok()?.split_once('='));
        let mut tickets = pairs.filter(|(name, _)| is_ticket(name));
        tickets.next().map(|(name, token)| (name.to_owned(), token.to_owned()))
    }

    /// Whether there is a cookie whose name has this prefix.
    pub(crate) fn has_prefix(&self, prefix: &str) -> bool {
        self.pairs().any(|pair| pair.starts_with(prefix.as_bytes()))
    }

    fn pairs(&self) -> impl Iterator<Item = &[u8]> {
        let bytes = self.0.as_deref().unwrap_or_default();
        bytes.split(|byte| *byte == b';').map(<[u8]>::trim_ascii).filter(|pair| !pair.is_empty())
    }

    /// The jar after a response; `None` if it is unchanged.
    pub(crate) fn updated(&self, set: &[HeaderValue]) -> Option<Self> {
        if set.is_empty() {
            return None;
        }
        let mut pairs: Vec<Vec<u8>> = self.pairs().map(<[u8]>::to_vec).collect();
        for cookie in set {
            let pair = cookie.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
            let Some(equals) = pair.iter().position(|byte| *byte == b'=') else { continue };
            pairs.retain(|old| !old.starts_with(&pair[..=equals]));
            if equals + 1 < pair.len() {
                pairs.push(pair.to_vec());
            }
        }
        let cookies = pairs.join(&b"; "[..]);
        let kept = !cookies.is_empty() && cookies.len() <= COOKIES_MAX;
        Some(Self(kept.then(|| cookies.into_boxed_slice())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookies(cookies: &CookieJar, set: &[&'static str]) -> CookieJar {
        let set: Vec<HeaderValue> = set.iter().map(|value| HeaderValue::from_static(value)).collect();
        cookies.updated(&set).unwrap()
    }

    #[test]
    fn cookies_are_replaced_by_name_and_removed_when_empty() {
        let one = cookies(&CookieJar::default(), &["a=1; Path=/; HttpOnly", "ab=2"]);
        assert_eq!(one.header().unwrap(), "a=1; ab=2");
        let two = cookies(&one, &["a=3"]);
        assert_eq!(two.header().unwrap(), "ab=2; a=3");
        let three = cookies(&two, &["ab=; Max-Age=0", "a="]);
        assert!(three.header().is_none());
        assert!(two.has_prefix("ab") && !three.has_prefix("ab"));
    }
}

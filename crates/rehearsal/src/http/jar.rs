//! A visitor's cookies.

use http::header::SET_COOKIE;
use http::{HeaderMap, HeaderValue};

/// Most bytes of cookies that a visitor keeps; browsers keep as many of one cookie.
const JAR_MAX: usize = 4096;

/// Cookies as they go into a request: `a=1; b=2`. Those of one host, whatever their path: a rehearsal visits one site.
#[derive(Debug, Clone, Default)]
pub(crate) struct Jar(Option<Box<[u8]>>);

impl Jar {
    /// What the `Cookie` header says; `None` if there is nothing to say.
    #[must_use]
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        HeaderValue::from_bytes(self.0.as_ref()?).ok()
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether a cookie is there whose name begins like this.
    #[must_use]
    pub(crate) fn has(&self, prefix: &str) -> bool {
        self.pairs().any(|pair| pair.starts_with(prefix.as_bytes()))
    }

    fn pairs(&self) -> impl Iterator<Item = &[u8]> {
        let bytes = self.0.as_deref().unwrap_or_default();
        bytes.split(|byte| *byte == b';').map(<[u8]>::trim_ascii).filter(|pair| !pair.is_empty())
    }

    /// The jar after an answer.
    #[must_use]
    pub(crate) fn after(&self, set: &[HeaderValue]) -> Option<Self> {
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
        let jar = pairs.join(&b"; "[..]);
        let kept = !jar.is_empty() && jar.len() <= JAR_MAX;
        Some(Self(kept.then(|| jar.into_boxed_slice())))
    }
}

/// The cookies that an answer sets.
pub(super) fn set_by(headers: &HeaderMap) -> Vec<HeaderValue> {
    headers.get_all(SET_COOKIE).into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jar(jar: &Jar, set: &[&'static str]) -> Jar {
        let set: Vec<HeaderValue> = set.iter().map(|value| HeaderValue::from_static(value)).collect();
        jar.after(&set).unwrap()
    }

    #[test]
    fn a_cookie_replaces_the_one_of_its_name_and_an_empty_one_removes_it() {
        let one = jar(&Jar::default(), &["a=1; Path=/; HttpOnly", "ab=2"]);
        assert_eq!(one.header().unwrap(), "a=1; ab=2");
        let two = jar(&one, &["a=3"]);
        assert_eq!(two.header().unwrap(), "ab=2; a=3");
        let three = jar(&two, &["ab=; Max-Age=0", "a="]);
        assert!(three.header().is_none());
        assert!(two.has("ab") && !three.has("ab"));
    }
}

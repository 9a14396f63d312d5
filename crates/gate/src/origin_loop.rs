//! Detects requests that this deployment forwarded to itself: an origin whose name leads back to the gate would otherwise take
//! all of its connections with one request.

use http::{HeaderMap, HeaderName, HeaderValue};
use vestibule_core::TicketSigner;

/// RFC 8586. Not `Via`, with which some servers do not compress their responses.
pub(crate) const LOOP_HEADER: HeaderName = HeaderName::from_static("cdn-loop");

/// How often a request may have passed this deployment. A site may ask another site behind the same gates for a visitor, and servers
/// pass unknown headers on.
const PASSES_MAX: usize = 2;

/// The names of this deployment in [`LOOP_HEADER`], one for each ticket key. The first one is sent.
pub(crate) struct DeploymentNames(Vec<String>);

impl DeploymentNames {
    pub(crate) fn of(tickets: &TicketSigner) -> Self {
        Self(tickets.deployment_digits().map(|digits| format!("vestibule-{digits}")).collect())
    }

    /// Whether gates of this deployment forwarded this request too often.
    pub(crate) fn is_loop(&self, headers: &HeaderMap) -> bool {
        let names =
            headers.get_all(LOOP_HEADER).into_iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
        let is_own = |name: &&[u8]| self.0.iter().any(|own| own.as_bytes() == *name);
        names.map(<[u8]>::trim_ascii).filter(is_own).count() >= PASSES_MAX
    }

    /// The header of a request that this gate forwards, with the names that are in it.
    pub(crate) fn header(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let mut names: Vec<&[u8]> = headers.get_all(LOOP_HEADER).iter().map(HeaderValue::as_bytes).collect();
        names.push(self.0.first()?.as_bytes());
        HeaderValue::from_bytes(&names.join(b", ".as_slice())).ok()
    }
}

#[cfg(test)]
mod tests {
    use vestibule_core::KeyList;

    use super::*;

    #[test]
    fn deployment_recognizes_its_own_requests() {
        let name = |key| DeploymentNames::of(&TicketSigner::new(&KeyList::of_bytes("k", [key; 32])).unwrap());
        let (own, other) = (name(1), name(2));
        let mut headers = HeaderMap::new();
        headers.append(LOOP_HEADER, HeaderValue::from_static("cdn.example; trace=1"));
        headers.append(LOOP_HEADER, HeaderValue::from_static("more.example"));
        for passes in 0..3 {
            assert_eq!((own.is_loop(&headers), other.is_loop(&headers)), (false, passes >= 2));
            let sent = other.header(&headers).unwrap();
            headers.insert(LOOP_HEADER, sent);
        }
        let sent = own.header(&headers).unwrap();
        assert!(sent.to_str().unwrap().starts_with("cdn.example; trace=1, more.example, vestibule-"), "{sent:?}");
    }
}

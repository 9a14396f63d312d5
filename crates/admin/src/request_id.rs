//! The ID of a request: the client's or a new one. The logs and the response contain it.

use http::{Extensions, HeaderMap, HeaderName};

use crate::secret::random_hex;

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The request ID of an AWS load balancer.
const TRACE_ID: HeaderName = HeaderName::from_static("x-amzn-trace-id");
/// Maximum length of a client's request ID.
const LONGEST: usize = 128;
/// Bytes of a new request ID.
const BYTES: usize = 8;

/// The id of a request.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) String);

impl RequestId {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let given = [REQUEST_ID, TRACE_ID].iter().find_map(|name| headers.get(name)?.to_str().ok());
        let fits = |text: &&str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=;:./+".contains(&byte);
            !text.is_empty() && text.len() <= LONGEST && text.bytes().all(plain)
        };
        Self(given.filter(fits).map_or_else(random_hex::<BYTES>, str::to_owned))
    }

    /// The ID of a request that has one already.
    pub(crate) fn in_extensions(extensions: &Extensions) -> Self {
        extensions.get().cloned().unwrap_or_else(|| Self(String::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: HeaderName, value: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        RequestId::of(&headers).0
    }

    #[test]
    fn valid_request_id_is_kept() {
        assert_eq!(id(REQUEST_ID, "a1-b2"), "a1-b2");
        assert_eq!(
            id(TRACE_ID, "Root=1-67891233-abcdef012345678912345678"),
            "Root=1-67891233-abcdef012345678912345678"
        );
        for odd in ["a b", "\"x\"", "<x>", &"x".repeat(129)] {
            assert_eq!(id(REQUEST_ID, odd).len(), 2 * BYTES, "{odd}");
        }
        assert_ne!(RequestId::of(&HeaderMap::new()).0, RequestId::of(&HeaderMap::new()).0);
    }
}

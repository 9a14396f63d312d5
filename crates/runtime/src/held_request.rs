//! Held orders: the request of a visitor as it is stored until a worker sends it (H3), and the headers of its response.

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde::{Deserialize, Serialize};
use vestibule_core::QueueId;
use vestibule_core::identity::AccountCode;
use vestibule_core::jobs::Payload;
use vestibule_core::settings::Origin;

/// Content type of the payload of a held order.
pub(crate) const HELD_REQUEST: &str = "application/vnd.vestibule.held-request";

/// A visitor's request, with the headers that the origin receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldRequest {
    /// The queue that admitted the visitor.
    pub queue: QueueId,
    /// The account of the session.
    pub account: Option<AccountCode>,
    /// The site.
    pub origin: Origin,
    /// The method.
    pub method: Method,
    /// Path and query.
    pub target: String,
    /// The headers, as the proxy would send them, without the pass.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

/// The first line of a stored request. It is followed by a line for each header, an empty line and the body.
#[derive(Serialize, Deserialize)]
struct Head {
    queue: QueueId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<AccountCode>,
    origin: String,
    method: String,
    target: String,
}

impl HeldRequest {
    /// The request as the payload of a job.
    pub fn to_payload(&self) -> Payload {
        let Self { queue, account, origin, method, target, headers, body } = self;
        let head = Head {
            queue: queue.clone(),
            account: *account,
            origin: origin.to_string(),
            method: method.to_string(),
            target: target.clone(),
        };
        let mut bytes = serde_json::to_vec(&head).unwrap_or_default();
        bytes.push(b'\n');
        bytes.extend(header_lines(headers));
        bytes.push(b'\n');
        bytes.extend_from_slice(body);
        Payload { content_type: HELD_REQUEST.to_owned(), bytes }
    }

    /// The request of a job; `None` if the job is no held order.
    pub fn from_payload(payload: &Payload) -> Option<Self> {
        if payload.content_type != HELD_REQUEST {
            return None;
        }
        let end = payload.bytes.iter().position(|byte| *byte == b'\n')?;
        let (head, rest) = payload.bytes.split_at(end);
        let rest = &rest[1..];
        let Head { queue, account, origin, method, target } = serde_json::from_slice(head).ok()?;
        let (headers, body) = if let Some(body) = rest.strip_prefix(b"\n") {
            (HeaderMap::new(), body)
        } else {
            let end = rest.windows(2).position(|two| two == b"\n\n")?;
            (headers_of_lines(&rest[..=end]), &rest[end + 2..])
        };
        Some(Self {
            queue,
            account,
            origin: origin.parse().ok()?,
            method: method.parse().ok()?,
            target,
            headers,
            body: body.to_vec(),
        })
    }
}

/// Headers as bytes: a line `name: value` for each value.
pub fn header_lines(headers: &HeaderMap) -> Vec<u8> {
    // A value has no line breaks.
    let line = |(name, value): (&HeaderName, &HeaderValue)| {
        [name.as_str().as_bytes(), b": ".as_slice(), value.as_bytes(), b"\n".as_slice()].concat()
    };
    headers.iter().flat_map(line).collect()
}

/// The headers of [`header_lines`]. Lines that are none are left out.
pub fn headers_of_lines(lines: &[u8]) -> HeaderMap {
    let header = |line: &[u8]| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let value = line[colon + 1..].strip_prefix(b" ").unwrap_or(&line[colon + 1..]);
        Some((HeaderName::from_bytes(&line[..colon]).ok()?, HeaderValue::from_bytes(value).ok()?))
    };
    let mut headers = HeaderMap::new();
    for (name, value) in lines.split(|byte| *byte == b'\n').filter_map(header) {
        headers.append(name, value);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&'static str, &[u8])], body: &[u8]) -> HeldRequest {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value).unwrap());
        }
        HeldRequest {
            queue: "tour".parse().unwrap(),
            account: None,
            origin: "https://shop.acme.example".parse().unwrap(),
            method: Method::POST,
            target: "/checkout?a=%20b".to_owned(),
            headers: map,
            body: body.to_vec(),
        }
    }

    #[test]
    fn request_is_restored_byte_for_byte() {
        for request in [
            request(&[], b""),
            request(&[], b"\n\nx"),
            request(&[("cookie", b"a=1"), ("cookie", b"b= \xff"), ("x-empty", b"")], b"\n\0\xffa=1&b=\r\n\r\n"),
        ] {
            assert_eq!(HeldRequest::from_payload(&request.to_payload()), Some(request));
        }
    }

    #[test]
    fn other_payloads_are_no_held_orders() {
        let whole = request(&[("a", b"1")], b"x").to_payload();
        for bytes in [b"".as_slice(), b"{}", b"{}\n\n", b"\n", &whole.bytes[..whole.bytes.len() - 3]] {
            let payload = Payload { bytes: bytes.to_vec(), ..whole.clone() };
            assert_eq!(HeldRequest::from_payload(&payload), None, "{bytes:?}");
        }
        assert_eq!(HeldRequest::from_payload(&Payload { content_type: "text/plain".to_owned(), ..whole }), None);
    }
}

//! Converts responses to the JSON of a function response.

use std::sync::Once;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, SET_COOKIE, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use http::response::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::{Serialize, Serializer};
use tracing::warn;

use crate::event::EventSource;

/// Headers of a connection, which a function does not have, and the length of the body. The event source sets the length; it
/// might reject another one, as in a response to `HEAD`.
const DROPPED: [HeaderName; 7] =
    [CONNECTION, CONTENT_LENGTH, HeaderName::from_static("keep-alive"), TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// A response in the form of its event source.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FunctionResponse {
    status_code: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<Named<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    multi_value_headers: Option<Named<Vec<String>>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cookies: Vec<String>,
    body: String,
    is_base64_encoded: bool,
}

/// Names and values as a JSON object, in this order.
#[derive(Debug)]
struct Named<T>(Vec<(String, T)>);

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl FunctionResponse {
    /// The response without its body.
    pub(crate) fn of(caller: EventSource, head: &Parts) -> Self {
        let mut answer = Self {
            status_code: head.status.as_u16(),
            status_description: None,
            headers: None,
            multi_value_headers: None,
            cookies: Vec::new(),
            body: String::new(),
            is_base64_encoded: false,
        };
        match caller {
            EventSource::LoadBalancer { multi_value } => {
                answer.status_description = Some(description(head.status));
                if multi_value {
                    answer.multi_value_headers = Some(every_value(&head.headers));
                } else {
                    answer.headers = Some(Named([joined(&head.headers), spelled_cookies(&head.headers)].concat()));
                }
            }
            EventSource::HttpApi => {
                answer.headers = Some(Named(joined(&head.headers)));
                answer.cookies = cookies(&head.headers).collect();
            }
        }
        answer
    }

    pub(crate) fn with_body(mut self, body: Bytes) -> Self {
        (self.body, self.is_base64_encoded) = match String::from_utf8(Vec::from(body)) {
            Ok(text) if escaped_length(text.as_bytes()) <= base64_length(text.len()) => (text, false),
            Ok(text) => (BASE64_STANDARD.encode(text), true),
            Err(bytes) => (BASE64_STANDARD.encode(bytes.as_bytes()), true),
        };
        self
    }

    /// Length of the response as JSON, without its body.
    pub(crate) fn length(&self) -> usize {
        serde_json::to_vec(self).map_or(usize::MAX, |json| json.len())
    }
}

/// Length of a text between the quotation marks of JSON.
pub(crate) fn escaped_length(text: &[u8]) -> usize {
    let length = |byte: &u8| match byte {
        b'"' | b'\\' | 0x08 | b'\t' | b'\n' | 0x0c | b'\r' => 2,
        0..=0x1f => 6,
        _ => 1,
    };
    text.iter().map(length).sum()
}

/// Length of this many bytes as base64.
pub(crate) const fn base64_length(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

fn description(status: StatusCode) -> String {
    status
        .canonical_reason()
        .map_or_else(|| status.as_str().to_owned(), |reason| format!("{} {reason}", status.as_u16()))
}

fn kept(headers: &HeaderMap) -> impl Iterator<Item = &HeaderName> {
    headers.keys().filter(|name| !DROPPED.contains(name))
}

fn every_value(headers: &HeaderMap) -> Named<Vec<String>> {
    let values = |name| headers.get_all(name).iter().map(text).collect();
    Named(kept(headers).map(|name| (name.to_string(), values(name))).collect())
}

/// One value per name, without cookies: only their values cannot be joined to a list.
fn joined(headers: &HeaderMap) -> Vec<(String, String)> {
    let values = |name| headers.get_all(name).iter().map(text).collect::<Vec<_>>().join(", ");
    kept(headers).filter(|name| **name != SET_COOKIE).map(|name| (name.to_string(), values(name))).collect()
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = String> + '_ {
    headers.get_all(SET_COOKIE).iter().map(text)
}

/// JSON has only text, so bytes that are not UTF-8 are read as Latin-1.
fn text(value: &HeaderValue) -> String {
    let bytes = value.as_bytes();
    std::str::from_utf8(bytes).map_or_else(|_| bytes.iter().copied().map(char::from).collect(), str::to_owned)
}

/// Several cookies where each name has one value: under names that differ only in case. The ticket, which is appended last,
/// gets the plain name. Load balancers forward such names, but this is not documented.
fn spelled_cookies(headers: &HeaderMap) -> Vec<(String, String)> {
    static SAID: Once = Once::new();
    let cookies: Vec<String> = cookies(headers).collect();
    if cookies.len() > 1 {
        SAID.call_once(|| {
            warn!(
                cookies = cookies.len(),
                "an answer sets several cookies, and some may be lost: set lambda.multi_value_headers.enabled = true on \
                 the target group"
            );
        });
    }
    let spelled = |(nth, cookie)| (spelling(&SET_COOKIE, nth), cookie);
    cookies.into_iter().rev().enumerate().map(spelled).collect()
}

/// The nth spelling of a name: the bits of the number select the capital letters.
fn spelling(name: &HeaderName, nth: usize) -> String {
    let mut letters = 0;
    let written = name.as_str().chars().map(|letter| {
        let capital = letter.is_ascii_alphabetic() && nth >> letters & 1 == 1;
        letters += u32::from(letter.is_ascii_alphabetic());
        if capital { letter.to_ascii_uppercase() } else { letter }
    });
    written.collect()
}

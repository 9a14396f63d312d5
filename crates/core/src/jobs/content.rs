//! What a job carries, and the hash that identifies equal content (J7).

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;

use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::id::{DeduplicationId, JobGroupId};
use crate::SessionId;
use crate::content_type::{JSON, media_type};

/// The content of a job: bytes, and their content type.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payload {
    /// The media type with its parameters, as the producer sent it.
    pub content_type: String,
    /// The bytes, which reach the handler unchanged.
    pub bytes: Vec<u8>,
}

/// Payloads never appear in logs (J19).
impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of {}", self.bytes.len(), self.content_type)
    }
}

impl Payload {
    /// Whether the media type says JSON: `application/json`, or one that ends with `+json`.
    pub fn is_json(&self) -> bool {
        let media_type = media_type(&self.content_type);
        media_type == JSON || media_type.ends_with("+json")
    }

    /// Whether the content has more levels of arrays and objects than JSON of a payload may have, [`super::JSON_LEVELS_MAX`].
    pub fn is_nested_too_deeply(&self) -> bool {
        let (mut levels, mut is_text, mut is_escaped) = (0_usize, false, false);
        self.bytes.iter().any(|byte| {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if is_text => is_escaped = true,
                b'"' => is_text = !is_text,
                b'[' | b'{' if !is_text => levels += 1,
                b']' | b'}' if !is_text => levels = levels.saturating_sub(1),
                _ => {}
            }
            levels > super::JSON_LEVELS_MAX
        })
    }

    /// The hash of the content type and the content. JSON that differs in white space or in the order of members has one hash.
    /// JSON with fractions or with integers beyond 64 bits is compared byte by byte: as doubles, different numbers could be
    /// equal, and a job that is no duplicate would be lost. So is JSON with an object that repeats a name, since handlers differ
    /// in which of the members they read, and JSON of more than 127 levels.
    pub fn hash(&self) -> [u8; 32] {
        let canonical = if self.is_json() { canonical_json(&self.bytes) } else { None };
        let content = canonical.as_deref().unwrap_or(&self.bytes);
        Sha256::new().chain_update(&self.content_type).chain_update([0]).chain_update(content).finalize().into()
    }
}

/// JSON with sorted members and without white space; `None` if that could make different content equal.
fn canonical_json(bytes: &[u8]) -> Option<Vec<u8>> {
    let Canonical(value) = serde_json::from_slice(bytes).ok()?;
    serde_json::to_vec(&value).ok()
}

/// JSON with sorted members. Fractions, integers beyond 64 bits, and objects that repeat a name are errors.
struct Canonical(Value);

impl<'de> Deserialize<'de> for Canonical {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CanonicalVisitor).map(Self)
    }
}

struct CanonicalVisitor;

impl<'de> Visitor<'de> for CanonicalVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without fractions and repeated names")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Canonical(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut sorted = BTreeMap::new();
        while let Some((name, Canonical(member))) = members.next_entry::<String, Canonical>()? {
            if sorted.insert(name, member).is_some() {
                return Err(de::Error::custom("a repeated name"));
            }
        }
        Ok(Value::Object(Map::from_iter(sorted)))
    }
}

/// What a request that enqueues a job has beside its body, such as path and query, as JSON text in ASCII that fits into a
/// header.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobParams(String);

impl JobParams {
    /// These parameters; `None` if their text is longer than [`super::PARAMS_MAX`].
    pub fn of(params: &Map<String, Value>) -> Option<Self> {
        let json = serde_json::to_string(params).ok()?;
        let mut text = String::with_capacity(json.len());
        for character in json.chars() {
            if character.is_ascii() && character != '\x7f' {
                text.push(character);
            } else {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    let _ = write!(text, "\\u{unit:04x}");
                }
            }
        }
        (text.len() <= super::PARAMS_MAX).then_some(Self(text))
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Parameters can be personal, as payloads are (J19).
impl fmt::Debug for JobParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of parameters", self.0.len())
    }
}

/// What identifies equal jobs of a FIFO job queue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeduplicationKey {
    group: JobGroupId,
    visitor: Option<SessionId>,
    content: DeduplicationContent,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum DeduplicationContent {
    Id(DeduplicationId),
    Hash([u8; 32]),
}

impl DeduplicationKey {
    /// The deduplication ID if there is one, otherwise the hash of the content, within a group. Jobs that visitors enqueue are
    /// compared within a session, so that nobody can make the job of another visitor a duplicate.
    pub(super) fn of(
        group: JobGroupId,
        visitor: Option<SessionId>,
        id: Option<DeduplicationId>,
        payload: &Payload,
    ) -> Self {
        let content = id.map_or_else(|| DeduplicationContent::Hash(payload.hash()), DeduplicationContent::Id);
        Self { group, visitor, content }
    }

    /// A hash of the key, for backends that store keys of one size.
    pub fn digest(&self) -> [u8; 32] {
        // A group ID contains no zero byte, and the byte after it tells the kinds apart.
        let (kind, content) = match &self.content {
            DeduplicationContent::Id(id) => (1, id.as_str().as_bytes()),
            DeduplicationContent::Hash(hash) => (2, hash.as_slice()),
        };
        let (kind, visitor) = match &self.visitor {
            None => (kind, &[][..]),
            Some(session) => (kind + 2, &session.as_bytes()[..]),
        };
        let digest = Sha256::new().chain_update(self.group.as_str()).chain_update([0, kind]);
        digest.chain_update(visitor).chain_update(content).finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hash(content_type: &str, text: &str) -> [u8; 32] {
        Payload { content_type: content_type.to_owned(), bytes: text.into() }.hash()
    }

    fn json(text: &str) -> [u8; 32] {
        hash("application/json", text)
    }

    #[test]
    fn json_is_compared_by_content() {
        assert_eq!(json(r#"{"a":1,"b":{"d":[1,2],"c":null}}"#), json(r#" {"b": {"c":null, "d":[1, 2]}, "a": 1} "#));
        assert_ne!(json("[1,2]"), json("[2,1]"), "the order of a list counts");
        assert_ne!(json(r#"{"a":1}"#), json(r#"{"a":"1"}"#));
        assert_ne!(json("1"), hash("text/plain", "1"));
        assert_ne!(hash("text/plain", "a b"), hash("text/plain", "a  b"));
    }

    #[test]
    fn different_numbers_are_never_equal() {
        for (a, b) in [
            ("123456789012345678901", "123456789012345678902"),
            ("0.1", "0.10000000000000000001"),
            ("9007199254740993", "9007199254740992"),
            ("[1e400]", "[1e401]"),
        ] {
            assert_ne!(json(a), json(b), "{a} {b}");
        }
    }

    #[test]
    fn json_that_repeats_a_name_is_compared_byte_by_byte() {
        assert_ne!(json(r#"{"seat":1,"seat":2}"#), json(r#"{"seat":2}"#));
        assert_ne!(json(r#"[{"seat":1,"\u0073eat":2}]"#), json(r#"[{"seat":2}]"#));
        assert_eq!(json(r#"{"seat":1,"seat":2}"#), json(r#"{"seat":1,"seat":2}"#));
        assert_eq!(json(r#"[{"seat":1}, {"seat":1}]"#), json(r#"[{"seat":1},{"seat":1}]"#), "in objects of their own");
    }

    #[test]
    fn json_of_many_levels_is_compared_byte_by_byte() {
        let nested = |levels, inner: &str| json(&format!("{}{inner}{}", "[".repeat(levels), "]".repeat(levels)));
        assert_eq!(nested(127, "1 "), nested(127, "1"));
        assert_ne!(nested(128, "1 "), nested(128, "1"));
    }

    #[test]
    fn levels_of_json_are_counted() {
        let is_too_deep = |text: String| {
            let content_type = "application/json".to_owned();
            Payload { content_type, bytes: text.into() }.is_nested_too_deeply()
        };
        let nested = |levels| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        let most = crate::jobs::JSON_LEVELS_MAX;
        assert!(!is_too_deep(nested(most)) && is_too_deep(nested(most + 1)));
        let objects = format!("{}1{}", r#"{"a":"#.repeat(most), "}".repeat(most));
        assert!(!is_too_deep(objects.clone()) && is_too_deep(format!("[{objects}]")));
        assert!(!is_too_deep(format!("[{}1]", "[],{},".repeat(most))), "levels that are closed do not count");
        assert!(!is_too_deep(format!(r#"["\"{}"]"#, "[{".repeat(most))), "brackets of a text do not count");
        assert!(is_too_deep(format!(r#"["\\",{}]"#, nested(most))), "the text ends before them");
    }

    #[test]
    fn params_are_json_in_ascii() {
        let params = |value: Value| JobParams::of(value.as_object().unwrap());
        let value = serde_json::json!({ "path": ["über", "\u{1f3ab}\u{7f}"], "query": { "q": "a\"\n" } });
        let text = params(value.clone()).unwrap();
        assert!(text.as_str().bytes().all(|b| (b' '..0x7f).contains(&b)), "{}", text.as_str());
        assert_eq!(serde_json::from_str::<Value>(text.as_str()).unwrap(), value);
        assert_eq!(params(serde_json::json!({ "q": "x".repeat(super::super::PARAMS_MAX) })), None);
    }

    #[test]
    fn digests_tell_keys_apart() {
        let payload = Payload { content_type: "text/plain".to_owned(), bytes: b"a".to_vec() };
        let of = |visitor, group: &str, id: Option<&str>| {
            let id = id.map(|id| id.parse().unwrap());
            DeduplicationKey::of(group.parse().unwrap(), visitor, id, &payload).digest()
        };
        let key = |group, id| of(None, group, id);
        let [one, other] = [SessionId::random(), SessionId::random()].map(Some);
        let digests = [
            key("a", None),
            key("b", None),
            key("a", Some("b")),
            key("b", Some("b")),
            key("ab", Some("b")),
            of(one, "a", Some("b")),
            of(other, "a", Some("b")),
            of(one, "a", None),
        ];
        for (at, digest) in digests.iter().enumerate() {
            assert!(!digests[..at].contains(digest), "{at}");
        }
        assert_eq!(key("a", None), digests[0]);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z]{0,4}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-z]{1,3}", inner), 0..4)
                    .prop_map(|it| Value::Object(it.into_iter().collect())),
            ]
        })
    }

    fn reversed(value: Value) -> Value {
        match value {
            Value::Array(items) => items.into_iter().map(reversed).collect(),
            Value::Object(map) => Value::Object(map.into_iter().rev().map(|(name, it)| (name, reversed(it))).collect()),
            value => value,
        }
    }

    proptest! {
        #[test]
        fn equal_json_has_one_hash(value in any_json()) {
            let shuffled = serde_json::to_string_pretty(&reversed(value.clone())).unwrap();
            prop_assert_eq!(json(&value.to_string()), json(&shuffled));
        }
    }
}

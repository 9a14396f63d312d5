//! The message that operators show on a queue's pages.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::Message;
use crate::fields::FieldErrorCode as Code;
use crate::fields::{Field, Reader};

/// Maximum length of a message in characters.
pub const MESSAGE_MAX: usize = 280;
/// Maximum number of languages beside the default.
const LANGUAGES_MAX: usize = 50;
/// Maximum length of a language tag.
const TAG_MAX: usize = 35;
/// Name of the text for visitors of all other languages.
const DEFAULT: &str = "default";

/// A plain text for the visitors of a queue, in one or several languages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorMessage {
    default: String,
    by_tag: BTreeMap<String, String>,
}

impl OperatorMessage {
    /// The text for a visitor who reads these languages, best first. Of each language tag it is the text of exactly this
    /// tag, else that of its primary subtag. Without any of them it is the default text. With the text comes its own tag, which
    /// the default text does not have.
    pub fn in_language<'a>(&self, tags: impl IntoIterator<Item = &'a str>) -> (&str, Option<&str>) {
        let of = |tag: &str| self.by_tag.iter().find(|(known, _)| known.eq_ignore_ascii_case(tag));
        let best = |tag: &str| of(tag).or_else(|| of(tag.split('-').next()?));
        let found = tags.into_iter().find_map(best);
        found.map_or((&self.default, None), |(tag, text)| (text, Some(tag)))
    }
}

crate::text_kind! {
    /// A message in one language.
    MessageText: Code::MessageText.with("most", MESSAGE_MAX), { "minLength": 1, "maxLength": MESSAGE_MAX }, message_text;
}

fn message_text(text: &str) -> Option<String> {
    let text = text.trim();
    let fits = !text.is_empty() && text.chars().count() <= MESSAGE_MAX && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
}

/// Whether this has the form of a BCP 47 language tag: `de`, `pt-BR`, `zh-Hant`.
fn is_language_tag(tag: &str) -> bool {
    let mut subtags = tag.split('-');
    let primary = subtags.next().unwrap_or_default();
    let is_word = |word: &str| (1..=8).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    tag.len() <= TAG_MAX
        && matches!(primary.len(), 2 | 3)
        && primary.bytes().all(|byte| byte.is_ascii_alphabetic())
        && subtags.all(is_word)
}

impl Field for OperatorMessage {
    type Value = Self;

    fn expected() -> Message {
        Code::OperatorMessage.with("most", MESSAGE_MAX)
    }

    fn schema() -> Value {
        let text = MessageText::schema();
        json!({
            "type": "object", "required": [DEFAULT], "properties": { DEFAULT: text }, "additionalProperties": text,
            "maxProperties": LANGUAGES_MAX + 1,
        })
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<Self> {
        let texts = value.as_object().filter(|texts| texts.contains_key(DEFAULT) && texts.len() <= LANGUAGES_MAX + 1);
        let Some(texts) = texts else { return reader.accept::<Self>(value, None) };
        let mut by_tag = BTreeMap::new();
        for (tag, text) in texts {
            let is_known = by_tag.keys().any(|known: &String| known.eq_ignore_ascii_case(tag));
            if tag != DEFAULT && (is_known || !is_language_tag(tag)) {
                reader.entry(tag, |reader| reader.error(if is_known { Code::TagTwice } else { Code::LanguageTag }));
            } else if let Some(text) = reader.entry(tag, |reader| MessageText::parse(text, reader)) {
                by_tag.insert(tag.clone(), text);
            }
        }
        let default = by_tag.remove(DEFAULT)?;
        Some(Self { default, by_tag })
    }

    fn to_json(value: &Self) -> Value {
        let texts = value.by_tag.iter().map(|(tag, text)| (tag.clone(), json!(text)));
        let default = std::iter::once((DEFAULT.to_owned(), json!(value.default)));
        Value::Object(default.chain(texts).collect::<Map<_, _>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    fn settings(message: &Value) -> Result<Settings, Vec<String>> {
        let value = json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 1, "handover": { "kind": "check" }, "message": message,
        });
        Settings::from_value(&value).map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_message_is_chosen_by_tag_then_primary_subtag() {
        let texts = json!({ "default": "D", "de": "de", "pt": "pt", "pt-BR": "br", "zh-Hant": "hant" });
        let message = settings(&texts).unwrap().message.unwrap();
        for (tags, text, tag) in [
            (vec![], "D", None),
            (vec!["de"], "de", Some("de")),
            (vec!["de-AT"], "de", Some("de")),
            (vec!["PT-br"], "br", Some("pt-BR")),
            (vec!["pt-PT"], "pt", Some("pt")),
            (vec!["sv", "de"], "de", Some("de")),
            (vec!["zh-TW", "zh-Hant"], "hant", Some("zh-Hant")),
            (vec!["zh-CN", "zh-Hans"], "D", None),
            (vec!["default"], "D", None),
            (vec!["", "-"], "D", None),
        ] {
            assert_eq!(message.in_language(tags.iter().copied()), (text, tag), "{tags:?}");
        }
    }

    #[test]
    fn a_message_has_1_to_280_plain_characters() {
        assert!(settings(&json!({ "default": "ä".repeat(280), "de": "<b>&" })).is_ok());
        assert!(settings(&Value::Null).unwrap().message.is_none());
        let long = "x".repeat(281);
        for (message, field) in [
            (json!("text"), "message: "),
            (json!({}), "message: "),
            (json!({ "de": "x" }), "message: "),
            (json!({ "default": long }), "message.default: "),
            (json!({ "default": " " }), "message.default: "),
            (json!({ "default": "a\nb" }), "message.default: "),
            (json!({ "default": "a", "de": 7 }), "message.de: "),
            (json!({ "default": "a", "german!": "x" }), "message.german!: "),
            (json!({ "default": "a", "de": "x", "DE": "y" }), "message."),
        ] {
            let errors = settings(&message).unwrap_err();
            assert!(errors.len() == 1 && errors[0].starts_with(field), "{message}: {errors:?}");
        }
    }

    #[test]
    fn a_queue_without_a_message_is_stored_as_before() {
        let without = settings(&Value::Null).unwrap();
        assert!(without.to_stored().get("message").is_none());
        let texts = json!({ "default": "a", "de": "b" });
        let stored = settings(&texts).unwrap().to_stored();
        assert_eq!(stored["message"], texts);
        assert_eq!(Settings::from_stored(&stored).unwrap().to_stored(), stored);
        let mut newer = stored;
        newer["message"] = json!({ "html": "<b>" });
        assert!(Settings::from_stored(&newer).unwrap().message.is_none());
    }
}

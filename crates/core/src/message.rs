//! Translatable messages: a code, an English text and its parameters. This is the type only. Each text
//! is written once, in English, in the crate that reports it; a client can translate it by its code.

use std::fmt;

use serde_json::{Map, Value, json};

/// A message or a part of one, with its placeholders filled. `Display` writes it in English.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    code: &'static str,
    english: &'static str,
    params: Vec<(&'static str, Param)>,
}

/// The value of a placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Param {
    /// A number, formatted by the client's locale.
    Number(u64),
    /// Text that is the same in every language: a name, a value or an API identifier.
    Text(String),
    /// Another message.
    Message(Message),
}

impl Message {
    /// A message with this code and text; placeholders are written as `{most}`.
    pub const fn new(code: &'static str, english: &'static str) -> Self {
        Self { code, english, params: Vec::new() }
    }

    /// Sets the placeholder `name`.
    #[must_use]
    pub fn with(mut self, name: &'static str, param: impl Into<Param>) -> Self {
        debug_assert!(
            placeholders(self.english).any(|placeholder| placeholder == name),
            "{} has no placeholder {name}",
            self.code
        );
        self.params.push((name, param.into()));
        self
    }

    /// The code, which is stable.
    pub const fn code(&self) -> &'static str {
        self.code
    }

    /// The parameters in their JSON form: a number, a string, or another message with its `code`
    /// and `params`.
    pub fn params(&self) -> Map<String, Value> {
        let value = |param: &Param| match param {
            Param::Number(number) => json!(number),
            Param::Text(text) => json!(text),
            Param::Message(message) => json!({ "code": message.code, "params": message.params() }),
        };
        self.params.iter().map(|(name, param)| ((*name).to_owned(), value(param))).collect()
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.english;
        while let Some((before, name, after)) = next_placeholder(rest) {
            f.write_str(before)?;
            let param = self.params.iter().find(|(known, _)| *known == name).map(|(_, param)| param);
            debug_assert!(param.is_some(), "the placeholder {name} of {} has no value", self.code);
            match param {
                Some(Param::Number(number)) => write!(f, "{number}")?,
                Some(Param::Text(text)) => f.write_str(text)?,
                Some(Param::Message(message)) => message.fmt(f)?,
                None => {}
            }
            rest = after;
        }
        f.write_str(rest)
    }
}

/// The placeholders of a text: names in braces, of lowercase letters and `_`. Other braces are
/// plain text.
pub fn placeholders(text: &'static str) -> impl Iterator<Item = &'static str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, name, after) = next_placeholder(rest)?;
        rest = after;
        Some(name)
    })
}

fn next_placeholder(text: &'static str) -> Option<(&'static str, &'static str, &'static str)> {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    text.match_indices('{').find_map(|(start, _)| {
        let (name, after) = text[start + 1..].split_once('}')?;
        is_name(name).then(|| (&text[..start], name, after))
    })
}

impl From<u64> for Param {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for Param {
    fn from(number: usize) -> Self {
        Self::Number(number as u64)
    }
}

impl From<String> for Param {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Param {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Message> for Param {
    fn from(message: Message) -> Self {
        Self::Message(message)
    }
}

/// Defines an enum of messages: `Variant("code", "English text with {placeholders}")`.
#[macro_export]
macro_rules! message_codes {
    ($(#[$meta:meta])* $visibility:vis enum $name:ident { $($variant:ident($code:literal, $english:expr),)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $visibility enum $name { $(#[doc = concat!("The message `", $code, "`.")] $variant,)+ }

        impl $name {
            /// All messages, each with its code and English text.
            $visibility const ALL: &'static [(&'static str, &'static str)] = &[$(($code, $english),)+];

            /// The message with its first placeholder set.
            $visibility fn with(self, name: &'static str, param: impl Into<$crate::Param>) -> $crate::Message {
                $crate::Message::from(self).with(name, param)
            }
        }

        impl From<$name> for $crate::Message {
            fn from(message: $name) -> Self {
                match message { $($name::$variant => Self::new($code, $english),)+ }
            }
        }

        impl From<$name> for $crate::Param {
            fn from(message: $name) -> Self {
                Self::Message(message.into())
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    message_codes! {
        enum TestCode {
            Takes("takes", "takes {what}, not {given}"),
            Numbers("numbers", "a number from {least} to {most}"),
            Table("table", "{ kind, origin }"),
        }
    }

    #[test]
    fn message_has_an_english_text_and_a_code() {
        let message = TestCode::Takes.with("what", TestCode::Numbers.with("least", 1_u64).with("most", 5_u64));
        let message = message.with("given", "{most}");
        assert_eq!(message.to_string(), "takes a number from 1 to 5, not {most}");
        let what = json!({ "code": "numbers", "params": { "least": 1, "most": 5 } });
        assert_eq!(
            (message.code(), Value::Object(message.params())),
            ("takes", json!({ "what": what, "given": "{most}" }))
        );
        assert_eq!(Message::from(TestCode::Table).to_string(), "{ kind, origin }");
        assert_eq!(TestCode::ALL.len(), 3);
    }
}

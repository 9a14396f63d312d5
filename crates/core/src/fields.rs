//! Fields of settings, request bodies and queries. A type states once how its value is parsed, what
//! is accepted and how it looks in JSON Schema; [`fields!`](crate::fields!) makes a struct of such
//! fields that parses, writes and describes itself.
//!
//! A [`Field`] names a kind of value, not the value itself: a member declared as `Bounded<3, 3600>`
//! is a `u64` in the struct.

mod error_code;
mod field;
mod kinds;

use serde_json::{Map, Value as Json, json};

pub use error_code::FieldErrorCode;
pub use field::{Field, FieldError, Member, Object, ObjectReader, ObjectSchema, Reader, Reading, Usage};
pub use kinds::{
    Bounded, Flag, Flatten, JsonText, List, NeverIgnored, Nullable, Omissible, OrDefault, OrEmpty, OrNone, Skipped,
    StringMap, Text,
};

use self::error_code::FieldErrorCode as Code;
use crate::Message;

/// What an object field accepts.
#[doc(hidden)]
pub fn expected_object() -> Message {
    Code::Object.into()
}

/// A reference to the schema of an object.
#[doc(hidden)]
pub fn schema_reference(name: &str) -> Json {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// Defines a struct of fields that parses, writes and describes itself. Each member is declared with
/// its [`Field`] and, if it is not required, a default. Doc comments are its descriptions in the
/// schema. `as "Name"` names the schema; `check = function;` checks members against each other; `const NEVER_IGNORED;` sets a
/// constant of [`Field`].
///
/// ```
/// use vestibule_core::fields::{Bounded, Object as _};
///
/// vestibule_core::fields! {
///     /// How many visitors to admit.
///     struct Release {
///         /// Number of visitors.
///         count: Bounded<1, 100> = 1,
///     }
/// }
/// assert_eq!(Release::from_json(&serde_json::json!({ "count": 7 })).unwrap().count, 7);
/// assert!(Release::from_json(&serde_json::json!({ "count": 0 })).is_err());
/// ```
#[macro_export]
macro_rules! fields {
    (
        $(#[$($meta:tt)+])*
        $vis:vis struct $name:ident $(as $label:literal)? {
            $($(#[$($field_meta:tt)+])* $field_vis:vis $field:ident: $kind:ty $(= $default:expr)?),* $(,)?
        }
        $(check = $check:path;)?
        $(const $constant:ident;)?
    ) => {
        $(#[$($meta)+])*
        $vis struct $name {
            $($(#[$($field_meta)+])* $field_vis $field: <$kind as $crate::fields::Member>::Value,)*
        }

        impl $crate::fields::Object for $name {
            const NAME: &'static str = $crate::fields!(@first $($label,)? stringify!($name),);
            const DESCRIPTION: &'static str = $crate::fields!(@doc $([$($meta)+])*);

            fn read(object: &mut $crate::fields::ObjectReader<'_>) -> Option<Self> {
                $(let $field = <$kind as $crate::fields::Member>::read(
                    object, stringify!($field), $crate::fields!(@default $($default)?),
                );)*
                Some(Self { $($field: $field?,)* })
            }

            $(fn check(&mut self, object: &mut $crate::fields::ObjectReader<'_>) {
                $check(self, object);
            })?

            fn write(&self, map: &mut $crate::fields::JsonMap) {
                $(<$kind as $crate::fields::Member>::write(&self.$field, stringify!($field), map);)*
            }

            fn describe(schema: &mut $crate::fields::ObjectSchema) {
                $(<$kind as $crate::fields::Member>::describe(
                    stringify!($field), $crate::fields!(@doc $([$($field_meta)+])*).trim(),
                    $crate::fields!(@default $($default)?), schema,
                );)*
            }
        }

        impl $crate::fields::Field for $name {
            type Value = Self;
            const DROPPED_IF_INVALID: bool = true;
            $(const $constant: bool = true;)?

            fn expected() -> $crate::Message {
                $crate::fields::expected_object()
            }

            fn schema() -> $crate::fields::JsonValue {
                $crate::fields::schema_reference(<Self as $crate::fields::Object>::NAME)
            }

            fn parse(value: &$crate::fields::JsonValue, reader: &mut $crate::fields::Reader) -> Option<Self> {
                reader.object(value)
            }

            fn to_json(value: &Self) -> $crate::fields::JsonValue {
                let mut map = $crate::fields::JsonMap::new();
                $crate::fields::Object::write(value, &mut map);
                $crate::fields::JsonValue::Object(map)
            }
        }
    };
    (@first $first:expr, $($rest:tt)*) => { $first };
    (@default) => { None };
    (@default $default:expr) => { Some($default) };
    (@doc $($attributes:tt)*) => { $crate::fields!(@doc_text [] $($attributes)*) };
    (@doc_text [$($text:expr,)*]) => { concat!($($text,)*) };
    (@doc_text [$($text:expr,)*] [doc = $more:expr] $($rest:tt)*) => { $crate::fields!(@doc_text [$($text,)* $more,] $($rest)*) };
    (@doc_text [$($text:expr,)*] [$($other:tt)+] $($rest:tt)*) => { $crate::fields!(@doc_text [$($text,)*] $($rest)*) };
}

/// Implements [`Field`] for a type that is text: what is accepted, and its JSON Schema.
#[macro_export]
macro_rules! text_field {
    ($($name:ty: $expected:expr, $schema:tt $(, $constant:ident)?;)+) => { $(
        $crate::text_kind!(@field $name, $name, $expected, $schema, |text| text.parse().ok() $(, $constant)?);
    )+ };
}

/// Defines kinds of text that are parsed to a `String`, or to the type after `->`: what is accepted, the JSON Schema, and how the text is
/// parsed.
#[macro_export]
macro_rules! text_kind {
    (@value) => { String };
    (@value $value:ty) => { $value };
    (@field $name:ty, $value:ty, $expected:expr, $schema:tt, $parse:expr $(, $constant:ident)?) => {
        impl $crate::fields::Field for $name {
            type Value = $value;
            $(const $constant: bool = true;)?

            fn expected() -> $crate::Message {
                $crate::Message::from($expected)
            }

            fn schema() -> $crate::fields::JsonValue {
                $crate::fields::text_schema(&serde_json::json!($schema))
            }

            fn parse(value: &$crate::fields::JsonValue, reader: &mut $crate::fields::Reader) -> Option<$value> {
                let parse: fn(&str) -> Option<$value> = $parse;
                reader.accept::<Self>(value, value.as_str().and_then(parse))
            }

            fn to_json(value: &$value) -> $crate::fields::JsonValue {
                value.to_string().into()
            }
        }
    };
    ($($(#[$doc:meta])* $vis:vis $name:ident $(-> $value:ty)?: $expected:expr, $schema:tt, $parse:expr $(, $constant:ident)?;)+) => { $(
        $(#[$doc])*
        $vis struct $name;

        $crate::text_kind!(@field $name, $crate::text_kind!(@value $($value)?), $expected, $schema, $parse $(, $constant)?);
    )+ };
}

/// Defines kinds of which only a few values are accepted: their type, the type in JSON, the values, and how one looks in JSON.
#[macro_export]
macro_rules! choice_kind {
    ($($(#[$doc:meta])* $vis:vis $name:ident -> $value:ty: $type:literal, $values:expr, $to_json:expr;)+) => { $(
        $(#[$doc])*
        $vis struct $name;

        impl $crate::fields::Field for $name {
            type Value = $value;

            fn expected() -> $crate::Message {
                $crate::fields::one_of($values.iter().map(<Self as $crate::fields::Field>::to_json))
            }

            fn schema() -> $crate::fields::JsonValue {
                let values: Vec<_> = $values.iter().map(<Self as $crate::fields::Field>::to_json).collect();
                serde_json::json!({ "type": $type, "enum": values })
            }

            fn parse(value: &$crate::fields::JsonValue, reader: &mut $crate::fields::Reader) -> Option<$value> {
                let chosen = $values.into_iter().find(|it| <Self as $crate::fields::Field>::to_json(it) == *value);
                reader.accept::<Self>(value, chosen)
            }

            fn to_json(value: &$value) -> $crate::fields::JsonValue {
                let to_json: fn(&$value) -> $crate::fields::JsonValue = $to_json;
                to_json(value)
            }
        }
    )+ };
}

/// Implements [`Field`] for an enum of words, and `as_str`. `else Variant` is what a stored word of
/// another version means. The words after `only shown` are written but never read.
#[macro_export]
macro_rules! word_field {
    (
        $name:ident { $($variant:ident = $word:literal),+ $(,)? } $(else $unknown:ident)?
        $(only shown { $($shown:ident = $shown_word:literal),+ $(,)? })? $(, $constant:ident)?
    ) => {
        impl $name {
            /// The words, each with its value.
            pub const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),+];

            /// The value as a word.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ $($(Self::$shown => $shown_word,)+)? }
            }
        }

        impl $crate::fields::serde::Serialize for $name {
            fn serialize<S: $crate::fields::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> $crate::fields::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::fields::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word: String = $crate::fields::serde::Deserialize::deserialize(deserializer)?;
                match word.as_str() {
                    $($word => Ok(Self::$variant),)+
                    $($($shown_word => Ok(Self::$shown),)+)?
                    other => Err($crate::fields::serde::de::Error::unknown_variant(other, &[$($word),+])),
                }
            }
        }

        impl $crate::fields::Field for $name {
            type Value = Self;
            $(const $constant: bool = true;)?

            fn expected() -> $crate::Message {
                $crate::fields::one_of(Self::WORDS.iter().map(|(word, _)| *word))
            }

            fn schema() -> $crate::fields::JsonValue {
                serde_json::json!({ "type": "string", "enum": [$($word),+] })
            }

            fn parse(value: &$crate::fields::JsonValue, reader: &mut $crate::fields::Reader) -> Option<Self> {
                let known = Self::WORDS.iter().find(|(word, _)| value.as_str() == Some(word)).map(|(_, value)| *value);
                $(let known = known.or_else(|| reader.is_stored().then_some(Self::$unknown));)?
                reader.accept::<Self>(value, known)
            }

            fn to_json(value: &Self) -> $crate::fields::JsonValue {
                value.as_str().into()
            }
        }
    };
}

/// The errors of several fields, in one line.
pub fn joined(errors: &[FieldError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// What a field accepts that accepts a few words or other values.
pub fn one_of(values: impl Iterator<Item = impl Into<Json>>) -> Message {
    let written: Vec<String> = values.map(|value| value.into().to_string()).collect();
    Code::OneOf.with("words", written.join(", "))
}

#[doc(hidden)]
pub fn text_schema(more: &Json) -> Json {
    let mut schema = json!({ "type": "string" });
    if let (Some(map), Some(more)) = (schema.as_object_mut(), more.as_object()) {
        map.extend(more.clone());
    }
    schema
}

#[doc(hidden)]
pub use serde;
#[doc(hidden)]
pub type JsonMap = Map<String, Json>;
#[doc(hidden)]
pub type JsonValue = Json;

//! Kinds of values that occur in many places.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde_json::{Map, Value, json};

use super::error_code::FieldErrorCode as Code;
use super::field::{Field, Member, Object, ObjectReader, ObjectSchema, Reader};
use crate::Message;

/// A whole number from `MIN` to `MAX`. A stored number is clamped.
pub struct Bounded<const MIN: u64, const MAX: u64>;

impl<const MIN: u64, const MAX: u64> Field for Bounded<MIN, MAX> {
    type Value = u64;

    fn expected() -> Message {
        Code::WholeNumber.with("least", MIN).with("most", MAX)
    }

    fn schema() -> Value {
        json!({ "type": "integer", "format": "int64", "minimum": MIN, "maximum": MAX })
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<u64> {
        let number = if reader.is_query() { value.as_str().and_then(|it| it.parse().ok()) } else { value.as_u64() };
        let number = number.map(|number| if reader.is_stored() { number.clamp(MIN, MAX) } else { number });
        reader.accept::<Self>(value, number.filter(|number| (MIN..=MAX).contains(number)))
    }

    fn to_json(value: &u64) -> Value {
        json!(value)
    }
}

/// `true` or `false`.
pub struct Flag;

impl Field for Flag {
    type Value = bool;

    fn expected() -> Message {
        super::one_of(["true", "false"].into_iter())
    }

    fn schema() -> Value {
        json!({ "type": "boolean" })
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<bool> {
        let flag = if reader.is_query() { value.as_str().and_then(|it| it.parse().ok()) } else { value.as_bool() };
        reader.accept::<Self>(value, flag)
    }

    fn to_json(value: &bool) -> Value {
        json!(value)
    }
}

/// A text of at most `MAX` bytes.
pub struct Text<const MAX: usize>;

impl<const MAX: usize> Field for Text<MAX> {
    type Value = String;

    fn expected() -> Message {
        Code::Text.with("most", MAX)
    }

    fn schema() -> Value {
        json!({ "type": "string" })
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<String> {
        reader.accept::<Self>(value, value.as_str().filter(|text| text.len() <= MAX).map(str::to_owned))
    }

    fn to_json(value: &String) -> Value {
        json!(value)
    }
}

/// Any JSON value, `null` included, as it was written. Its document has the text of the value in its place, since a parsed number
/// may not be the one that was written.
pub struct JsonText;

impl Field for JsonText {
    type Value = String;

    fn expected() -> Message {
        Code::AnyJson.into()
    }

    fn schema() -> Value {
        json!({ "type": ["object", "array", "string", "number", "boolean", "null"] })
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<String> {
        reader.accept::<Self>(value, value.as_str().map(str::to_owned))
    }

    fn to_json(value: &String) -> Value {
        json!(value)
    }
}

/// A list of `MIN` to `MAX` items. A single text counts as a list of one.
pub struct List<F, const MIN: usize, const MAX: usize>(PhantomData<F>);

impl<F: Field, const MIN: usize, const MAX: usize> Field for List<F, MIN, MAX> {
    type Value = Vec<F::Value>;

    fn expected() -> Message {
        let list =
            if MIN == 0 { Code::ListAtMost.with("most", MAX) } else { Code::List.with("least", MIN).with("most", MAX) };
        list.with("what", F::expected())
    }

    fn schema() -> Value {
        let mut schema = json!({ "type": "array", "maxItems": MAX, "items": F::schema() });
        if MIN > 0 {
            schema["minItems"] = json!(MIN);
        }
        schema
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<Self::Value> {
        let items = match value {
            Value::String(_) => return F::parse(value, reader).map(|item| vec![item]),
            Value::Array(items) if reader.is_stored() || (MIN..=MAX).contains(&items.len()) => items,
            _ => return reader.accept::<Self>(value, None),
        };
        let parsed: Vec<_> = items.iter().enumerate().map(|(index, item)| reader.item::<F>(index, item)).collect();
        let count = parsed.len();
        let valid: Vec<_> = parsed.into_iter().flatten().collect();
        let is_complete = valid.len() == count || (reader.is_stored() && F::DROPPED_IF_INVALID);
        (is_complete && valid.len() >= MIN).then_some(valid)
    }

    fn to_json(value: &Self::Value) -> Value {
        value.iter().map(F::to_json).collect()
    }
}

/// An object of at most `MAX` texts.
pub struct StringMap<const MAX: usize>;

impl<const MAX: usize> Field for StringMap<MAX> {
    type Value = BTreeMap<String, String>;

    fn expected() -> Message {
        Code::StringMap.with("most", MAX)
    }

    fn schema() -> Value {
        json!({ "type": "object", "maxProperties": MAX, "additionalProperties": { "type": "string" } })
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<Self::Value> {
        let text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
        let map = value.as_object().filter(|map| map.len() <= MAX).and_then(|map| map.iter().map(text).collect());
        reader.accept::<Self>(value, map)
    }
}

macro_rules! wrapper {
    ($(#[$doc:meta])* $name:ident: $value:ty, $parsed:path, { $($item:item)+ }) => {
        $(#[$doc])*
        pub struct $name<F>(PhantomData<F>);

        impl<F: Field> Field for $name<F> where $value: Default {
            type Value = $value;
            const SECRET: bool = F::SECRET;
            const NEVER_IGNORED: bool = F::NEVER_IGNORED;

            fn expected() -> Message {
                F::expected()
            }

            fn schema() -> Value {
                F::schema()
            }

            fn parse(value: &Value, reader: &mut Reader) -> Option<Self::Value> {
                F::parse(value, reader).map($parsed)
            }

            fn absent() -> Option<Self::Value> {
                Some(<$value>::default())
            }

            $($item)+
        }
    };
}

wrapper! {
    /// A value that can be absent, which is written as `null`.
    Nullable: Option<F::Value>, Some, {
        const NULLABLE: bool = true;

        fn to_json(value: &Self::Value) -> Value {
            value.as_ref().map_or(Value::Null, F::to_json)
        }
    }
}

wrapper! {
    /// A value that can be absent and is then not written.
    Omissible: Option<F::Value>, Some, {
        const OMISSIBLE: bool = true;

        fn to_json(value: &Self::Value) -> Value {
            value.as_ref().map_or(Value::Null, F::to_json)
        }

        fn is_omitted(value: &Self::Value) -> bool {
            value.is_none()
        }
    }
}

wrapper! {
    /// A list that is empty if it is absent, and is not written if it is empty.
    OrEmpty: F::Value, std::convert::identity, {
        const OMISSIBLE: bool = true;

        fn to_json(value: &Self::Value) -> Value {
            F::to_json(value)
        }

        fn is_omitted(value: &Self::Value) -> bool {
            F::to_json(value).as_array().is_some_and(Vec::is_empty)
        }
    }
}

wrapper! {
    /// An object whose members all have defaults. It is not written if it equals its default.
    OrDefault: F::Value, std::convert::identity, {
        const OMISSIBLE: bool = true;

        fn to_json(value: &Self::Value) -> Value {
            F::to_json(value)
        }

        fn is_omitted(value: &Self::Value) -> bool {
            F::to_json(value) == F::to_json(&F::Value::default())
        }
    }
}

/// A value whose invalid form in stored data is an error.
pub struct NeverIgnored<F>(PhantomData<F>);

impl<F: Field> Field for NeverIgnored<F> {
    type Value = F::Value;
    const SECRET: bool = F::SECRET;
    const NEVER_IGNORED: bool = true;

    fn expected() -> Message {
        F::expected()
    }

    fn schema() -> Value {
        F::schema()
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<Self::Value> {
        F::parse(value, reader)
    }

    fn to_json(value: &Self::Value) -> Value {
        F::to_json(value)
    }
}

/// The word for the absence of a value that has another default.
const NONE: &str = "none";

/// A value, or `"none"`. For values whose absence means a default: TOML has no `null`, and a merge patch removes what is `null`. In a
/// complete JSON document `null` means `"none"` too.
pub struct OrNone<F>(PhantomData<F>);

impl<F: Field> Field for OrNone<F> {
    type Value = Option<F::Value>;
    const TAKES_NULL: bool = true;

    fn expected() -> Message {
        Code::OrNone.with("what", F::expected())
    }

    fn schema() -> Value {
        json!({ "oneOf": [F::schema(), { "type": "string", "enum": [NONE] }, { "type": "null" }] })
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<Self::Value> {
        if value.is_null() || value.as_str() == Some(NONE) {
            return Some(None);
        }
        if !value.is_number() {
            return reader.accept::<Self>(value, None);
        }
        F::parse(value, reader).map(Some)
    }

    fn to_json(value: &Self::Value) -> Value {
        value.as_ref().map_or_else(|| json!(NONE), F::to_json)
    }
}

/// The members of another object, among those of the one that has it.
pub struct Flatten<T>(PhantomData<T>);

impl<T: Object> Member for Flatten<T> {
    type Value = T;

    fn read(object: &mut ObjectReader<'_>, _: &'static str, _: Option<T>) -> Option<T> {
        let mut read = T::read(object);
        if let Some(read) = &mut read {
            read.check(object);
        }
        read
    }

    fn write(value: &T, _: &'static str, map: &mut Map<String, Value>) {
        value.write(map);
    }

    fn describe(_: &'static str, _: &str, _: Option<T>, schema: &mut ObjectSchema) {
        T::describe(schema);
    }
}

/// A member of the struct that is neither read nor written.
pub struct Skipped<T>(PhantomData<T>);

impl<T: Default> Member for Skipped<T> {
    type Value = T;

    fn read(_: &mut ObjectReader<'_>, _: &'static str, _: Option<T>) -> Option<T> {
        Some(T::default())
    }

    fn write(_: &T, _: &'static str, _: &mut Map<String, Value>) {}

    fn describe(_: &'static str, _: &str, _: Option<T>, _: &mut ObjectSchema) {}
}

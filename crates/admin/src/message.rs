//! Texts as codes and parameters, which the dashboard translates.

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeStruct as _, Serializer};
use serde_json::{Map, Value, json};
use utoipa::openapi::{OpenApi, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};
use vestibule_core::Message;
use vestibule_core::settings::FieldErrorCode;

use crate::codes::Code;
use crate::describe::schema;

/// A text as code and parameters.
#[derive(Debug)]
pub(crate) struct MessageView(pub(crate) Message);

impl Serialize for MessageView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut message = serializer.serialize_struct("Message", 2)?;
        message.serialize_field("code", self.0.code())?;
        message.serialize_field("params", &self.0.params())?;
        message.end()
    }
}

impl PartialSchema for MessageView {
    fn schema() -> RefOr<Schema> {
        reference("Message")
    }
}

impl ToSchema for MessageView {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Message")
    }
}

/// The schema of a code.
pub(crate) fn code() -> RefOr<Schema> {
    reference("ErrorCode")
}

/// The schema of the parameters.
pub(crate) fn params() -> RefOr<Schema> {
    reference("MessageParams")
}

/// Adds the referenced schemas.
pub(crate) fn describe(document: &mut OpenApi) {
    let schemas = &mut document.components.get_or_insert_default().schemas;
    for (name, value) in described() {
        schemas.insert(name.to_owned(), schema(value));
    }
}

fn described() -> [(&'static str, Value); 3] {
    let all = || FieldErrorCode::ALL.iter().chain(Code::ALL);
    let codes: Vec<&str> = all().map(|(code, _)| *code).collect();
    let english: Map<String, Value> = all().map(|(code, english)| ((*code).to_owned(), json!(english))).collect();
    let code = json!({
        "type": "string", "enum": codes, "x-english": english,
        "description": "Identifies a text; codes are stable, and new ones may be added. `x-english` contains all texts with \
            placeholders such as `{most}`, which `params` fill.",
    });
    let message = json!({ "$ref": "#/components/schemas/Message" });
    let params = json!({
        "type": "object", "additionalProperties": { "anyOf": [{ "type": "integer" }, { "type": "string" }, message] },
        "description": "Values of placeholders: numbers, texts or other messages.",
    });
    let message = json!({
        "type": "object", "required": ["code", "params"],
        "description": "A text by its code and the values of its placeholders.",
        "properties": {
            "code": { "$ref": "#/components/schemas/ErrorCode" },
            "params": { "$ref": "#/components/schemas/MessageParams" },
        },
    });
    [("ErrorCode", code), ("MessageParams", params), ("Message", message)]
}

fn reference(name: &str) -> RefOr<Schema> {
    RefOr::Ref(utoipa::openapi::Ref::from_schema_name(name))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_text_has_a_unique_documented_code() {
        let document: Value = serde_json::from_str(&crate::openapi::openapi_json()).unwrap();
        let known = &document["components"]["schemas"]["ErrorCode"];
        let mut seen = BTreeSet::new();
        for (code, english) in FieldErrorCode::ALL.iter().chain(Code::ALL) {
            assert!(seen.insert(code), "{code} is there twice");
            assert_eq!(known["x-english"][code], *english);
        }
        assert_eq!(known["enum"].as_array().unwrap().len(), seen.len());
    }
}

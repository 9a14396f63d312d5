//! Differences of documents, and JSON merge patches.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A changed field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct FieldChange {
    /// Name of the field.
    pub(crate) field: String,
    /// The old value.
    #[schema(value_type = Value, nullable)]
    pub(crate) from: Value,
    /// The new value.
    #[schema(value_type = Value, nullable)]
    pub(crate) to: Value,
}

/// The fields in which two documents differ, except `revision`.
pub(crate) fn differences(before: &Value, after: &Value) -> Vec<FieldChange> {
    let none = Map::new();
    let (before, after) = (before.as_object().unwrap_or(&none), after.as_object().unwrap_or(&none));
    let fields = before.keys().chain(after.keys().filter(|field| !before.contains_key(*field)));
    let value = |map: &Map<String, Value>, field: &str| map.get(field).cloned().unwrap_or_default();
    let changes =
        fields.map(|field| FieldChange { field: field.clone(), from: value(before, field), to: value(after, field) });
    changes.filter(|change| change.from != change.to && change.field != "revision").collect()
}

/// Applies a JSON merge patch (RFC 7396): `null` removes a member, objects are merged, other values replace the old one.
pub(crate) fn merge(document: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *document = patch.clone();
        return;
    };
    if !document.is_object() {
        *document = Value::Object(Map::new());
    }
    let Some(map) = document.as_object_mut() else { return };
    for (name, value) in patch {
        if value.is_null() {
            map.remove(name);
        } else {
            merge(map.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn merge_patch_follows_rfc_7396() {
        for (document, patch, result) in [
            (json!({"a":"b"}), json!({"a":"c"}), json!({"a":"c"})),
            (json!({"a":"b"}), json!({"b":"c"}), json!({"a":"b","b":"c"})),
            (json!({"a":"b"}), json!({"a":null}), json!({})),
            (json!({"a":"b","b":"c"}), json!({"a":null}), json!({"b":"c"})),
            (json!({"a":["b"]}), json!({"a":"c"}), json!({"a":"c"})),
            (json!({"a":{"b":"c"}}), json!({"a":{"b":"d","c":null}}), json!({"a":{"b":"d"}})),
            (json!({"a":[{"b":"c"}]}), json!({"a":[1]}), json!({"a":[1]})),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"e":null}), json!({"a":1}), json!({"e":null,"a":1})),
            (json!([1, 2]), json!({"a":"b","c":null}), json!({"a":"b"})),
            (json!({}), json!({"a":{"bb":{"ccc":null}}}), json!({"a":{"bb":{}}})),
        ] {
            let mut merged = document.clone();
            merge(&mut merged, &patch);
            assert_eq!(merged, result, "{document} {patch}");
        }
    }

    #[test]
    fn differences_are_listed_by_field() {
        let (before, after) = (json!({"a":1,"b":2,"revision":1}), json!({"a":1,"b":3,"c":null,"d":4,"revision":2}));
        let changes = differences(&before, &after);
        let told: Vec<_> = changes.iter().map(|change| (change.field.as_str(), &change.from, &change.to)).collect();
        assert_eq!(told, [("b", &json!(2), &json!(3)), ("d", &json!(null), &json!(4))]);
    }
}

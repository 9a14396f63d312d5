//! What differs between two objects: for plans and audit events.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A changed field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FieldChange {
    /// Name of the field.
    pub field: String,
    /// The old value; `null` if there was none.
    pub from: Value,
    /// The new value; `null` if there is none.
    pub to: Value,
}

/// The fields in which two objects differ, except `revision`. Anything but an object has no fields.
pub fn differences(before: &Value, after: &Value) -> Vec<FieldChange> {
    let none = Map::new();
    let (before, after) = (before.as_object().unwrap_or(&none), after.as_object().unwrap_or(&none));
    let fields = before.keys().chain(after.keys().filter(|field| !before.contains_key(*field)));
    let value = |map: &Map<String, Value>, field: &str| map.get(field).cloned().unwrap_or_default();
    let changes =
        fields.map(|field| FieldChange { field: field.clone(), from: value(before, field), to: value(after, field) });
    changes.filter(|change| change.from != change.to && change.field != "revision").collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_are_listed_by_field() {
        let (before, after) = (json!({"a":1,"b":2,"revision":1}), json!({"a":1,"b":3,"c":null,"d":4,"revision":2}));
        let changes = differences(&before, &after);
        let listed: Vec<_> = changes.iter().map(|change| (change.field.as_str(), &change.from, &change.to)).collect();
        assert_eq!(listed, [("b", &json!(2), &json!(3)), ("d", &json!(null), &json!(4))]);
    }
}

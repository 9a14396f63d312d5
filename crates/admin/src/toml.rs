//! Writes a document of tables as TOML: what settings are made of, and nothing else.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// The document `{ name: [table, ..], .. }` as TOML. What is `null` is left out: TOML has no such thing, and the readers
/// of settings take both for the same.
pub(crate) fn to_toml(document: &Value) -> String {
    let mut text = String::new();
    for (name, tables) in document.as_object().into_iter().flatten() {
        for table in tables.as_array().into_iter().flatten().filter_map(Value::as_object) {
            let _ = writeln!(text, "{}[[{name}]]", if text.is_empty() { "" } else { "\n" });
            write_table(&mut text, name, table);
        }
    }
    text
}

/// Members first, then the tables among them, each a table of its own.
fn write_table(text: &mut String, path: &str, table: &Map<String, Value>) {
    for (name, value) in table.iter().filter(|(_, value)| !is_tables(value) && !value.is_null()) {
        let _ = writeln!(text, "{name} = {}", inline(value));
    }
    for (name, tables) in table.iter().filter(|(_, value)| is_tables(value)) {
        for table in tables.as_array().into_iter().flatten().filter_map(Value::as_object) {
            let _ = writeln!(text, "\n[[{path}.{name}]]");
            write_table(text, &format!("{path}.{name}"), table);
        }
    }
}

fn is_tables(value: &Value) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(Value::is_object))
}

fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let members = map.iter().filter(|(_, value)| !value.is_null());
            let members: Vec<String> = members.map(|(name, value)| format!("{name} = {}", inline(value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        // A string of JSON is one of TOML but for this one character, which TOML wants escaped.
        other => other.to_string().replace('\u{7f}', "\\u007f"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_are_written_as_people_write_them() {
        let document = json!({
            "tenants": [{ "id": "acme", "name": "Acme \"1\"", "logo": null }],
            "queues": [{
                "id": "acme-tour", "handover": { "kind": "redirect", "origin": "https://x.example" },
                "hosts": ["a.example", "b.example"], "quota": 5,
                "rules": [{ "action": "queue", "path": ["/a"], "cookie": { "name": "n", "value": "v" } }],
            }, { "id": "b", "rules": [] }],
        });
        let expected = "\
[[queues]]
handover = { kind = \"redirect\", origin = \"https://x.example\" }
hosts = [\"a.example\", \"b.example\"]
id = \"acme-tour\"
quota = 5

[[queues.rules]]
action = \"queue\"
cookie = { name = \"n\", value = \"v\" }
path = [\"/a\"]

[[queues]]
id = \"b\"
rules = []

[[tenants]]
id = \"acme\"
name = \"Acme \\\"1\\\"\"
";
        assert_eq!(to_toml(&document), expected);
    }
}

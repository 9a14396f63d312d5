//! Writes a settings document as TOML. Members keep the order of the document.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// The document `{ name: [table, ..], .. }` as TOML, without members that are `null`.
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

/// Writes plain members first, then nested tables.
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

/// A name as a key: networks need quotation marks.
fn key(name: &str) -> String {
    let is_bare = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if is_bare { name.to_owned() } else { Value::from(name).to_string() }
}

fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let members = map.iter().filter(|(_, value)| !value.is_null());
            let members: Vec<String> =
                members.map(|(name, value)| format!("{} = {}", key(name), inline(value))).collect();
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
    fn settings_are_exported_as_readable_toml() {
        let document = json!({
            "tenants": [{ "id": "acme", "name": "Acme \"1\"", "logo": null }],
            "queues": [{
                "id": "acme-tour", "hosts": ["a.example", "b.example"],
                "rules": [{ "action": "queue", "path": ["/a"], "cookie": { "name": "n", "value": "v" } }],
                "quota": 5, "protection": { "networks": { "203.0.113.0/24": "blocked" } },
                "handover": { "kind": "redirect", "origin": "https://x.example" },
            }, { "id": "b", "rules": [] }],
        });
        let expected = "\
[[tenants]]
id = \"acme\"
name = \"Acme \\\"1\\\"\"

[[queues]]
id = \"acme-tour\"
hosts = [\"a.example\", \"b.example\"]
quota = 5
protection = { networks = { \"203.0.113.0/24\" = \"blocked\" } }
handover = { kind = \"redirect\", origin = \"https://x.example\" }

[[queues.rules]]
action = \"queue\"
path = [\"/a\"]
cookie = { name = \"n\", value = \"v\" }

[[queues]]
id = \"b\"
rules = []
";
        assert_eq!(to_toml(&document), expected);
    }
}

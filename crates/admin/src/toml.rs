//! Writes a settings document as TOML.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// The order of tables and their members, as in the docs. Others follow by name.
const ORDER: [&str; 58] = [
    "tenants",
    "queues",
    "job_queues",
    "id",
    "tenant",
    "name",
    "color",
    "logo",
    "domains",
    "origins",
    "hosts",
    "mode",
    "between_events",
    "quota",
    "admissions_per_minute",
    "admissions_every",
    "max_waiting",
    "access",
    "waiting_ttl",
    "active_ttl",
    "claim_ttl",
    "hold_ttl",
    "max_session",
    "recheck_after",
    "protection",
    "pre_ticket_from",
    "pre_ticket_max_age",
    "per_address",
    "per_network",
    "on_exceed",
    "joins_per_second",
    "counters",
    "lists",
    "networks",
    "handover",
    "kind",
    "url",
    "origin",
    "preflights",
    "theme",
    "queue_status",
    "store_failure",
    "cookie_domain",
    "epoch",
    "events",
    "invitations",
    "lobby_at",
    "starts_at",
    "ends_at",
    "order",
    "suspended",
    "rules",
    "action",
    "path",
    "method",
    "header",
    "cookie",
    "source",
];

/// The members of a table in [`ORDER`].
fn ordered(table: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut members: Vec<_> = table.iter().collect();
    members.sort_by_key(|(name, _)| ORDER.iter().position(|known| known == name).unwrap_or(ORDER.len()));
    members
}

/// The document `{ name: [table, ..], .. }` as TOML, without members that are `null`.
pub(crate) fn to_toml(document: &Value) -> String {
    let mut text = String::new();
    for (name, tables) in document.as_object().map(ordered).into_iter().flatten() {
        for table in tables.as_array().into_iter().flatten().filter_map(Value::as_object) {
            let _ = writeln!(text, "{}[[{name}]]", if text.is_empty() { "" } else { "\n" });
            write_table(&mut text, name, table);
        }
    }
    text
}

/// Writes plain members first, then nested tables.
fn write_table(text: &mut String, path: &str, table: &Map<String, Value>) {
    let members = ordered(table);
    for (name, value) in members.iter().filter(|(_, value)| !is_tables(value) && !value.is_null()) {
        let _ = writeln!(text, "{name} = {}", inline(value));
    }
    for (name, tables) in members.into_iter().filter(|(_, value)| is_tables(value)) {
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
            let members = ordered(map).into_iter().filter(|(_, value)| !value.is_null());
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
                "id": "acme-tour", "handover": { "kind": "redirect", "origin": "https://x.example" },
                "hosts": ["a.example", "b.example"], "quota": 5,
                "protection": { "networks": { "203.0.113.0/24": "blocked" } },
                "rules": [{ "action": "queue", "path": ["/a"], "cookie": { "name": "n", "value": "v" } }],
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

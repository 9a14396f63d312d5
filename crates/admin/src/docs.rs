//! The OpenAPI document and its page, which is generated from it and needs no scripts.

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::Router;
use axum::response::Html;
use axum::routing::get;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use serde_json::Value;

use crate::prefix::PREFIX;

const STYLE: &str = include_str!("docs.css");
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const REVALIDATED: &str = "no-cache";
/// The examples use the variables that this section sets.
const AUTHENTICATION: &str = "<h2>Authentication</h2>\n\
     <p>Create an API token in the dashboard: account menu, API tokens. It has a role and tenants that do not exceed your own.</p>\n\
     <pre><code>BACKOFFICE=https://admin.example.com\nVESTIBULE_ADMIN_TOKEN=...\n\
     curl -H \"Authorization: Bearer $VESTIBULE_ADMIN_TOKEN\" \"$BACKOFFICE/api/v1/queues\"</code></pre>\n";
/// Values in examples are nested at most this deep.
const EXAMPLE_DEPTH: usize = 4;

// Made when they are first read: a function starts in a third of the time without them.
static JSON: LazyLock<String> = LazyLock::new(crate::openapi::openapi_json);
static PAGE: LazyLock<String> = LazyLock::new(|| page(&serde_json::from_str(&JSON).unwrap_or_default()));

/// `/api/v1/openapi.json`, `/api/docs` and its style.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let json = || async { ([(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, REVALIDATED)], JSON.as_str()) };
    let page = || async { ([(CONTENT_SECURITY_POLICY, POLICY), (CACHE_CONTROL, REVALIDATED)], Html(PAGE.as_str())) };
    let style = || async { ([(CONTENT_TYPE, "text/css; charset=utf-8"), (CACHE_CONTROL, REVALIDATED)], STYLE) };
    Router::new()
        .route(&format!("{PREFIX}/openapi.json"), get(json))
        .route("/api/docs", get(page))
        .route("/api/docs.css", get(style))
}

fn page(document: &Value) -> String {
    let mut html = String::from(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Vestibule: the API</title><link rel=\"stylesheet\" href=\"/api/docs.css\"></head><body><main>\n<h1>The API</h1>\n",
    );
    let _ = writeln!(html, "<p>{}</p>", text(&document["info"]["description"]));
    let _ = writeln!(
        html,
        "<p>For programs: <a href=\"{PREFIX}/openapi.json\">openapi.json</a>. Back to the <a href=\"/\">dashboard</a>.</p>"
    );
    html.push_str(AUTHENTICATION);
    for tag in document["tags"].as_array().into_iter().flatten() {
        let operations: Vec<_> = operations(document).filter(|(_, _, it)| it["tags"][0] == tag["name"]).collect();
        if !operations.is_empty() {
            let _ = writeln!(html, "<h2>{}</h2>\n<p>{}</p>", text(&tag["name"]), text(&tag["description"]));
        }
        for (path, method, operation) in operations {
            html.push_str(&described(document, path, method, operation));
        }
    }
    html.push_str("</main></body></html>\n");
    html
}

/// The text of a description: what it has between backticks is code.
fn text(value: &Value) -> String {
    let escaped = escape(value.as_str().unwrap_or_default());
    let mut html = String::new();
    for (number, part) in escaped.split('`').enumerate() {
        html += if number == 0 {
            ""
        } else if number % 2 == 1 {
            "<code>"
        } else {
            "</code>"
        };
        html += part;
    }
    html
}

fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, item)| {
        let methods = item.as_object().into_iter().flatten();
        methods.filter(|(_, it)| it.is_object()).map(move |(method, it)| (path.as_str(), method.as_str(), it))
    })
}

fn described(document: &Value, path: &str, method: &str, operation: &Value) -> String {
    let mut html = String::new();
    let (summary, description) = (text(&operation["summary"]), text(&operation["description"]));
    let method = method.to_uppercase();
    let _ = writeln!(
        html,
        "<details><summary><code>{method} {}</code> {summary}</summary>\n<p>{description}</p>",
        escape(path)
    );
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let mut rows = String::new();
    for parameter in parameters.map(|it| named(document, "parameters", it)) {
        let (name, location) = (text(&parameter["name"]), text(&parameter["in"]));
        let _ = writeln!(
            rows,
            "<tr><td><code>{name}</code></td><td>{location}</td><td>{}</td></tr>",
            text(&parameter["description"])
        );
    }
    if !rows.is_empty() {
        let _ = writeln!(html, "<h3>Parameters</h3><table>{rows}</table>");
    }
    for (_, content) in operation["requestBody"]["content"].as_object().into_iter().flatten() {
        let _ = writeln!(html, "<h3>Body</h3>{}", fields(document, &content["schema"]));
    }
    let _ =
        writeln!(html, "<h3>Example</h3><pre><code>{}</code></pre>", escape(&curl(document, path, &method, operation)));
    html.push_str("<h3>Responses</h3><table>");
    for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
        let answer = named(document, "responses", answer);
        let schema = &answer["content"]["application/json"]["schema"];
        let body = if status.starts_with('2') { fields(document, schema) } else { String::new() };
        let _ = writeln!(html, "<tr><td>{status}</td><td>{}{body}</td></tr>", text(&answer["description"]));
    }
    html.push_str("</table></details>\n");
    html
}

/// A command that calls the operation with its required parameters and the required members of its body.
fn curl(document: &Value, path: &str, method: &str, operation: &Value) -> String {
    let mut command = String::from("curl");
    if method != "GET" {
        let _ = write!(command, " -X {method}");
    }
    command.push_str(" -H \"Authorization: Bearer $VESTIBULE_ADMIN_TOKEN\"");
    let mut query = String::new();
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    for parameter in parameters.map(|it| named(document, "parameters", it)).filter(|it| it["required"] == true) {
        let name = parameter["name"].as_str().unwrap_or_default();
        match parameter["in"].as_str() {
            Some("header") => {
                let _ = write!(command, " \\\n  -H '{name}: *'");
            }
            Some("query") => {
                let separator = if query.is_empty() { '?' } else { '&' };
                let _ = write!(query, "{separator}{name}={}", name.to_uppercase());
            }
            _ => {}
        }
    }
    let bodies = operation["requestBody"]["content"].as_object();
    if let Some((kind, content)) = bodies.into_iter().flatten().next() {
        let _ = write!(command, " \\\n  -H 'Content-Type: {kind}'");
        let body = example(document, &content["schema"], EXAMPLE_DEPTH).to_string();
        let _ = write!(command, " \\\n  -d '{}'", body.replace('\'', "'\\''"));
    }
    // Braces have a meaning to curl and would have to be replaced anyway.
    let path: Vec<_> = path.split('/').map(placeholder).collect();
    let _ = write!(command, " \\\n  \"$BACKOFFICE{}{query}\"", path.join("/"));
    command
}

/// `{queue}` as `QUEUE`.
fn placeholder(segment: &str) -> String {
    let name = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    name.map_or_else(|| segment.to_owned(), str::to_uppercase)
}

/// A value of this schema with its required members.
fn example(document: &Value, schema: &Value, depth: usize) -> Value {
    let schema = named(document, "schemas", schema);
    let given = [&schema["example"], &schema["default"], &schema["const"], &schema["enum"][0]];
    if let Some(value) = given.into_iter().find(|value| !value.is_null()) {
        return value.clone();
    }
    if let Some(first) = ["oneOf", "anyOf"].iter().find_map(|key| schema[*key].get(0)) {
        return example(document, first, depth.saturating_sub(1));
    }
    match schema["type"].as_str().or_else(|| schema["type"][0].as_str()) {
        Some("object") if depth > 0 => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let member = |name: &str| example(document, &schema["properties"][name], depth - 1);
            required.map(|name| (name.to_owned(), member(name))).collect::<serde_json::Map<_, _>>().into()
        }
        Some("object") => Value::Object(serde_json::Map::new()),
        Some("array") => Value::Array(Vec::new()),
        Some("boolean") => Value::Bool(true),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| 1.into()),
        _ => Value::String("...".to_owned()),
    }
}

/// Resolves a reference.
fn named<'a>(document: &'a Value, kind: &str, value: &'a Value) -> &'a Value {
    let name = value["$ref"].as_str().and_then(|name| name.rsplit('/').next());
    name.map_or(value, |name| &document["components"][kind][name])
}

/// The members of a schema, one level deep.
fn fields(document: &Value, schema: &Value) -> String {
    let schema = named(document, "schemas", schema);
    let mut rows = String::new();
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let kind = match &member["type"] {
            Value::String(kind) => kind.clone(),
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
            _ => String::new(),
        };
        let description = text(&member["description"]);
        let _ = writeln!(rows, "<tr><td><code>{}</code></td><td>{kind}</td><td>{description}</td></tr>", escape(name));
    }
    if rows.is_empty() { rows } else { format!("<table>{rows}</table>") }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docs_page_lists_every_operation_without_scripts() {
        let json = crate::openapi::openapi_json();
        let document = serde_json::from_str(&json).unwrap();
        let page = page(&document);
        for (path, method, _) in operations(&document) {
            assert!(page.contains(&format!("<code>{} {path}</code>", method.to_uppercase())), "{method} {path}");
        }
        let example = "curl -X POST -H &quot;Authorization: Bearer $VESTIBULE_ADMIN_TOKEN&quot; \\\n  -H 'Content-Type: application/json' \\\n  \
                       -d '{&quot;count&quot;:1}' \\\n  &quot;$BACKOFFICE/api/v1/queues/QUEUE/release&quot;";
        assert!(page.contains(example), "{page}");
        assert!(page.contains("<a href=\"/\">dashboard</a>"));
        assert!(!page.contains("<script") && !page.contains("style=") && !page.contains("src="));
        assert!(!page.contains("http://") && !page.contains("=\"https://"), "nothing is loaded from elsewhere");
    }
}

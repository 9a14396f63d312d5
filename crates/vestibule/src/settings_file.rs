//! Reads a settings file in TOML and reports its errors by line and field.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use toml_edit::{Document as Toml, Item, TableLike};
use vestibule_core::settings::{Document, FieldError, Origin, parse_settings_document};

/// Maximum size of a settings file, in bytes.
const FILE_MAX: u64 = 8 * 1024 * 1024;

/// Why a settings file is rejected.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsFileError {
    /// The file cannot be read.
    #[error("{}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    /// The file is not TOML.
    #[error("{}:{line}: {reason}", path.display())]
    Syntax { path: PathBuf, line: usize, reason: String },
    /// Fields are invalid.
    #[error("{0}")]
    Fields(InvalidFields),
}

/// The invalid fields of a file, in the order of its lines.
#[derive(Debug)]
pub(crate) struct InvalidFields {
    path: PathBuf,
    fields: Vec<InvalidField>,
}

#[derive(Debug)]
struct InvalidField {
    /// `None` for the file as a whole.
    line: Option<usize>,
    error: FieldError,
    /// The header of the table, if the file has a table where a list of tables is expected.
    header: Option<String>,
}

impl fmt::Display for InvalidFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for InvalidField { line, error, header } in &self.fields {
            write!(f, "{separator}{}:", self.path.display())?;
            if let Some(line) = line {
                write!(f, "{line}:")?;
            }
            write!(f, " {error}")?;
            if let Some(header) = header {
                write!(f, "; write [[{header}]], with double brackets")?;
            }
            if let Some(suggestion) = suggestion(error) {
                write!(f, "; did you mean {suggestion}?")?;
            }
            separator = "\n";
        }
        Ok(())
    }
}

/// Minimum similarity (0 to 1) of an unknown field's name to a known one that is suggested.
const SIMILARITY_MIN: f64 = 0.8;

/// The known field that is most similar to an unknown one.
fn suggestion(error: &FieldError) -> Option<String> {
    let params = error.fault.params();
    let name = error.field.rsplit('.').next()?;
    let similarity = |field: &&str| strsim::jaro_winkler(name, field);
    let fields = params.get("known")?.as_str()?.split(", ");
    let best = fields.max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    (similarity(&best) >= SIMILARITY_MIN).then(|| best.to_owned())
}

/// Reads a settings file. `origin` is used for queues without an origin.
///
/// # Errors
/// The errors, by line and field.
pub(crate) fn read_settings(path: &Path, origin: Option<&Origin>) -> Result<Document, SettingsFileError> {
    let unreadable = |reason: String| SettingsFileError::Unreadable { path: path.to_owned(), reason };
    let size = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?.len();
    if size > FILE_MAX {
        return Err(unreadable(format!("has {size} bytes; the limit is {FILE_MAX}")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    parse_settings(path, &text, origin)
}

fn parse_settings(path: &Path, text: &str, origin: Option<&Origin>) -> Result<Document, SettingsFileError> {
    let toml = Toml::parse(text).map_err(|error| SettingsFileError::Syntax {
        path: path.to_owned(),
        line: error.span().map_or(1, |span| line_of(text, &span)),
        reason: error.message().to_owned(),
    })?;
    let mut value = table_value(toml.as_table());
    if let Some(origin) = origin {
        apply_default_origin(&mut value, origin);
    }
    parse_settings_document(&value).map_err(|errors| {
        let mut fields: Vec<_> = errors.into_iter().map(|error| invalid_field(text, toml.as_item(), error)).collect();
        fields.sort_by_key(|field| field.line.unwrap_or(usize::MAX));
        SettingsFileError::Fields(InvalidFields { path: path.to_owned(), fields })
    })
}

fn line_of(text: &str, span: &Range<usize>) -> usize {
    text.get(..span.start).unwrap_or(text).matches('\n').count() + 1
}

/// Sets the origin of the command line on queues without an origin.
fn apply_default_origin(value: &mut Value, origin: &Origin) {
    let queues = value.get_mut("queues").and_then(Value::as_array_mut);
    for queue in queues.into_iter().flatten().filter_map(Value::as_object_mut) {
        let handover = queue.entry("handover").or_insert_with(|| json!({ "kind": "proxy" }));
        if let Some(handover) = handover.as_object_mut() {
            handover.entry("origin").or_insert_with(|| json!(origin.to_string()));
        }
    }
}

fn table_value(table: &dyn TableLike) -> Value {
    Value::Object(table.iter().map(|(key, item)| (key.to_owned(), item_value(item))).collect::<Map<_, _>>())
}

fn item_value(item: &Item) -> Value {
    if let Some(tables) = item.as_array_of_tables() {
        return Value::Array(tables.iter().map(|table| table_value(table)).collect());
    }
    if let Some(table) = item.as_table_like() {
        return table_value(table);
    }
    item.as_value().map_or(Value::Null, toml_value)
}

fn toml_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => json!(text.value()),
        toml_edit::Value::Integer(number) => json!(number.value()),
        // JSON has no `nan` and `inf`: as a text they are invalid, and not a field that is left out.
        toml_edit::Value::Float(number) if !number.value().is_finite() => json!(number.value().to_string()),
        toml_edit::Value::Float(number) => json!(number.value()),
        toml_edit::Value::Boolean(truth) => json!(truth.value()),
        toml_edit::Value::Datetime(time) => json!(time.value().to_string()),
        toml_edit::Value::Array(items) => Value::Array(items.iter().map(toml_value).collect()),
        toml_edit::Value::InlineTable(table) => table_value(table),
    }
}

fn invalid_field(text: &str, root: &Item, error: FieldError) -> InvalidField {
    let Location { span, node } = locate(root, &error.field);
    let is_table = matches!(node, Some(Node::Item(Item::Table(_))));
    let header = without_indices(&error.field);
    let is_list = LISTS_OF_TABLES.contains(&header.as_str());
    let line = span.map(|span| line_of(text, &span));
    InvalidField { line, error, header: (is_table && is_list).then_some(header) }
}

/// Lists whose elements have a header of their own.
const LISTS_OF_TABLES: [&str; 6] =
    ["tenants", "queues", "queues.rules", "queues.events", "queues.invitations", "job_queues"];

/// `queues[1].rules` as `queues.rules`.
fn without_indices(field: &str) -> String {
    field.split(']').filter_map(|part| part.split('[').next()).collect()
}

/// Where a field is.
struct Location<'a> {
    /// That of the field, or of the table that lacks it.
    span: Option<Range<usize>>,
    /// The field; `None` if it is missing.
    node: Option<Node<'a>>,
}

/// The location of a field such as `queues[1].rules[0].path`. A missing field is reported where its table begins.
fn locate<'a>(root: &'a Item, field: &str) -> Location<'a> {
    let (mut span, mut node, mut rest) = (None, Node::Item(root), field);
    while !rest.is_empty() {
        let Some((next, after)) = next_node(&node, rest) else { return Location { span, node: None } };
        span = next.span().or(span);
        (node, rest) = (next, after.strip_prefix('.').unwrap_or(after));
    }
    Location { span, node: Some(node) }
}

/// The node to which the first step of a path leads, and the rest of the path. Keys may contain dots, as addresses do.
fn next_node<'a, 'b>(node: &Node<'a>, path: &'b str) -> Option<(Node<'a>, &'b str)> {
    if let Some(index) = path.strip_prefix('[') {
        let (index, rest) = index.split_once(']')?;
        return Some((node.index(index.parse().ok()?)?, rest));
    }
    let ends = path.match_indices(['.', '[']).map(|(end, _)| end).chain([path.len()]);
    let ends: Vec<usize> = ends.collect();
    ends.into_iter().rev().find_map(|end| Some((node.key(&path[..end])?, &path[end..])))
}

enum Node<'a> {
    Item(&'a Item),
    Table(&'a toml_edit::Table),
    Value(&'a toml_edit::Value),
}

impl Node<'_> {
    fn key(&self, name: &str) -> Option<Self> {
        match self {
            Self::Item(item) => item.get(name).map(Node::Item),
            Self::Table(table) => table.get(name).map(Node::Item),
            Self::Value(value) => value.as_inline_table()?.get(name).map(Node::Value),
        }
    }

    fn index(&self, index: usize) -> Option<Self> {
        let list = match self {
            Self::Item(item) => match item.as_array_of_tables() {
                Some(tables) => return tables.get(index).map(Node::Table),
                None => item.as_array(),
            },
            Self::Table(_) => None,
            Self::Value(value) => value.as_array(),
        };
        list?.get(index).map(Node::Value)
    }

    fn span(&self) -> Option<Range<usize>> {
        match self {
            Self::Item(item) => item.span(),
            Self::Table(table) => table.span(),
            Self::Value(value) => value.span(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r##"
[[tenants]]
id = "acme"
name = "Acme"
color = "#0a7d5a"

[[queues]]
id = "acme-tour"
tenant = "acme"
name = "Acme world tour"
hosts = ["tickets.example.com", "*.acme.example"]
quota = 500
handover = { kind = "redirect", origin = "https://www.example.com" }

[[queues.rules]]
action = "bypass"
path = "/static/**"
"##;

    fn parse(text: &str) -> Result<Document, String> {
        parse_settings(Path::new("f.toml"), text, None).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_file_has_tenants_and_queues() {
        let document = parse(GOOD).unwrap();
        assert_eq!(document.queues[0].line.quota, 500);
        assert_eq!(document.queues[0].line.waiting_ttl, 60);
        assert_eq!(document.queues[0].rules.len(), 1);
        assert_eq!(document.tenants[0].name, "Acme");
    }

    #[test]
    fn all_invalid_fields_are_reported_by_line() {
        let text = GOOD
            .replace("quota = 500", "quota = -1\nmode = \"opne\"\nqouta = 3")
            .replace("\"/static/**\"", "\"static\"")
            .replace("#0a7d5a", "green");
        let message = parse(&text).unwrap_err();
        let lines: Vec<&str> = message.lines().collect();
        assert_eq!(lines.len(), 5, "{message}");
        assert!(lines[0].starts_with("f.toml:5: tenants[0].color: must be a color"), "{message}");
        assert!(lines[1].starts_with("f.toml:12: queues[0].quota: must be a whole number"), "{message}");
        assert!(lines[2].starts_with("f.toml:13: queues[0].mode: must be one of \"open\""), "{message}");
        assert!(lines[3].starts_with("f.toml:14: queues[0].qouta: is unknown"), "{message}");
        assert!(lines[3].ends_with("; did you mean quota?"), "{message}");
        assert!(lines[4].starts_with("f.toml:19: queues[0].rules[0].path: must be a path glob"), "{message}");
    }

    #[test]
    fn number_of_further_errors_is_the_last_line() {
        let fields: Vec<_> = (0..120).map(|number| format!("field{number} = 1\n")).collect();
        let message = parse(&GOOD.replace("color = \"#0a7d5a\"\n", &fields.concat())).unwrap_err();
        let lines: Vec<&str> = message.lines().collect();
        let last = "f.toml: document: has more than 100 errors; not shown: 20";
        assert_eq!((lines.len(), lines[100]), (101, last), "{message}");
    }

    #[test]
    fn missing_field_is_reported_at_its_table() {
        let message = parse(&GOOD.replace("quota = 500", "")).unwrap_err();
        assert!(message.starts_with("f.toml:7: queues[0].quota: is required"), "{message}");
    }

    #[test]
    fn addresses_are_reported_by_line() {
        let networks = "[queues.protection.networks]\n\"203.0.113.0/24\" = \"shared\"\n\"198.51.100.0/33\" = \"shared\"\n\"10.0.0.0/8\" = \"x\"\n";
        let message = parse(&format!("{GOOD}{networks}")).unwrap_err();
        let lines: Vec<&str> = message.lines().collect();
        assert_eq!(lines.len(), 2, "{message}");
        assert!(lines[0].starts_with("f.toml:20: "), "{message}");
        assert!(lines[1].starts_with("f.toml:21: "), "{message}");
    }

    #[test]
    fn table_in_place_of_a_list_names_the_header() {
        for (header, double) in [("queues", "queues"), ("queues.rules", "queues.rules")] {
            let message = parse(&GOOD.replace(&format!("[[{header}]]"), &format!("[{header}]"))).unwrap_err();
            assert!(message.contains(&format!("; write [[{double}]], with double brackets")), "{message}");
        }
        let message = parse(&GOOD.replace("quota = 500", "quota = -1")).unwrap_err();
        assert!(!message.contains("brackets"), "{message}");
    }

    #[test]
    fn numbers_that_are_not_finite_are_invalid() {
        for value in ["nan", "inf", "-inf"] {
            let message = parse(&GOOD.replace("quota = 500", &format!("quota = 5\nadmissions_per_minute = {value}")));
            assert!(message.as_ref().is_err_and(|it| it.contains("queues[0].admissions_per_minute")), "{message:?}");
        }
    }

    #[test]
    fn invalid_toml_is_reported_by_line() {
        let message = parse("[[queues]]\nid = \n").unwrap_err();
        assert!(message.starts_with("f.toml:2: "), "{message}");
    }

    #[test]
    fn default_origin_applies_to_queues_without_origin() {
        let text = GOOD.replace("handover = { kind = \"redirect\", origin = \"https://www.example.com\" }", "");
        let origin: Origin = "http://127.0.0.1:3000".parse().unwrap();
        let document = parse_settings(Path::new("f.toml"), &text, Some(&origin)).unwrap();
        assert_eq!(document.queues[0].handover.origin, Some(origin));
    }
}

//! Reads a document field by field and reports all that is wrong with it at once.

use std::fmt;

use serde_json::{Map, Value};

/// Most characters of a wrong value that a message repeats.
const SHOWN_MAX: usize = 60;

/// One wrong field of a document: which, and what it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Path of the field from the document's root: `queues[0].rules[1].path`.
    pub field: String,
    /// What is wrong and what the field takes, as the rest of a sentence.
    pub message: String,
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// The fields of one table of a document, taken one by one; what is left over is unknown.
pub struct Fields<'a> {
    map: &'a Map<String, Value>,
    path: String,
    known: Vec<&'static str>,
    pub(super) errors: Vec<FieldError>,
}

impl<'a> Fields<'a> {
    /// The fields of a table that stands at `path` of its document.
    #[must_use]
    pub fn new(map: &'a Map<String, Value>, path: impl Into<String>) -> Self {
        Self { map, path: path.into(), known: Vec::new(), errors: Vec::new() }
    }

    pub(super) fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Records that the field `name` is wrong.
    pub fn refuse(&mut self, name: &str, message: impl Into<String>) {
        self.errors.push(FieldError { field: self.path_of(name), message: message.into() });
    }

    /// The raw value of `name`, which counts as known from here on. `null` is as good as absent.
    pub(super) fn raw(&mut self, name: &'static str) -> Option<&'a Value> {
        self.known.push(name);
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// The value of `name` if it is there and right; `None` if absent. A wrong one is recorded.
    pub fn optional<T>(
        &mut self,
        name: &'static str,
        takes: &str,
        parse: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.raw(name)?;
        let parsed = parse(value);
        if parsed.is_none() {
            self.refuse(name, format!("takes {takes}, not {}", shown(value)));
        }
        parsed
    }

    /// The value of `name`, or the stand-in `default` where it is absent or wrong.
    pub fn or<T>(
        &mut self,
        name: &'static str,
        default: T,
        takes: &str,
        parse: impl FnOnce(&'a Value) -> Option<T>,
    ) -> T {
        self.optional(name, takes, parse).unwrap_or(default)
    }

    /// The value of `name`, which must be there.
    pub fn required<T>(
        &mut self,
        name: &'static str,
        takes: &str,
        parse: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let absent = self.map.get(name).is_none_or(Value::is_null);
        if absent {
            self.known.push(name);
            self.refuse(name, format!("is missing; it takes {takes}"));
            return None;
        }
        self.optional(name, takes, parse)
    }

    /// A whole number between the bounds.
    pub fn number(&mut self, name: &'static str, default: u64, least: u64, most: u64) -> u64 {
        let takes = format!("a whole number from {least} to {most}");
        self.or(name, default, &takes, |value| whole(value, least, most))
    }

    /// A whole number between the bounds, or nothing.
    pub fn optional_number(&mut self, name: &'static str, least: u64, most: u64) -> Option<u64> {
        let takes = format!("a whole number from {least} to {most}, or nothing");
        self.optional(name, &takes, |value| whole(value, least, most))
    }

    /// Ends the reading: names every field that nobody asked for. All errors of the table.
    #[must_use]
    pub fn finish(mut self) -> Vec<FieldError> {
        let unknown: Vec<&String> = self.map.keys().filter(|key| !self.known.contains(&key.as_str())).collect();
        let known = self.known.join(", ");
        for key in unknown {
            let name: String = key.chars().take(SHOWN_MAX).collect();
            self.refuse(&name, format!("is not a field here; the fields are {known}"));
        }
        self.errors
    }
}

fn whole(value: &Value, least: u64, most: u64) -> Option<u64> {
    value.as_u64().filter(|number| (least..=most).contains(number))
}

/// A wrong value as a message shows it: short.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= SHOWN_MAX {
        return text;
    }
    let start: String = text.chars().take(SHOWN_MAX).collect();
    format!("{start}...")
}

/// The strings of a list, or a single string as a list of one.
pub(super) fn strings(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::String(text) => Some(vec![text]),
        Value::Array(items) => items.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

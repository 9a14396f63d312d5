//! Reads a document field by field and reports all that is wrong with it at once.

use std::fmt;

use serde_json::{Map, Value};

use super::wording::FieldWording;
use crate::Phrase;

/// Most characters of a wrong value that a message repeats.
const SHOWN_MAX: usize = 60;

/// One wrong field of a document: which, and what it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Path of the field from the document's root: `queues[0].rules[1].path`.
    pub field: String,
    /// What is wrong and what the field takes, as the rest of a sentence.
    pub fault: Phrase,
}

impl FieldError {
    /// A field, and what is wrong with it.
    pub fn new(field: impl Into<String>, fault: impl Into<Phrase>) -> Self {
        Self { field: field.into(), fault: fault.into() }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.fault)
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
    pub fn refuse(&mut self, name: &str, fault: impl Into<Phrase>) {
        self.errors.push(FieldError::new(self.path_of(name), fault));
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
        takes: impl Into<Phrase>,
        parse: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.raw(name)?;
        let parsed = parse(value);
        if parsed.is_none() {
            let takes = takes.into();
            let fault = if is_empty(value) {
                FieldWording::Empty.with("what", takes)
            } else {
                FieldWording::TakesNot.with("what", takes).with("given", shown(value))
            };
            self.refuse(name, fault);
        }
        parsed
    }

    /// The value of `name`, or the stand-in `default` where it is absent or wrong.
    pub fn or<T>(
        &mut self,
        name: &'static str,
        default: T,
        takes: impl Into<Phrase>,
        parse: impl FnOnce(&'a Value) -> Option<T>,
    ) -> T {
        self.optional(name, takes, parse).unwrap_or(default)
    }

    /// The value of `name`, which must be there.
    pub fn required<T>(
        &mut self,
        name: &'static str,
        takes: impl Into<Phrase>,
        parse: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let absent = self.map.get(name).is_none_or(Value::is_null);
        if absent {
            self.known.push(name);
            self.refuse(name, FieldWording::Missing.with("what", takes.into()));
            return None;
        }
        self.optional(name, takes, parse)
    }

    /// The value of `name`, which must be there if it `is_required`. A wrong one is recorded, and not repeated.
    pub fn secret<T>(
        &mut self,
        name: &'static str,
        is_required: bool,
        takes: impl Into<Phrase>,
        parse: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let Some(value) = self.raw(name) else {
            if is_required {
                self.refuse(name, FieldWording::Missing.with("what", takes.into()));
            }
            return None;
        };
        let parsed = parse(value);
        if parsed.is_none() {
            self.refuse(name, FieldWording::Takes.with("what", takes.into()));
        }
        parsed
    }

    /// A whole number between the bounds.
    pub fn number(&mut self, name: &'static str, default: u64, least: u64, most: u64) -> u64 {
        let takes = FieldWording::WholeNumber.with("least", least).with("most", most);
        self.or(name, default, takes, |value| whole(value, least, most))
    }

    /// A whole number between the bounds, or nothing.
    pub fn optional_number(&mut self, name: &'static str, least: u64, most: u64) -> Option<u64> {
        let takes = FieldWording::WholeNumberOrNothing.with("least", least).with("most", most);
        self.optional(name, takes, |value| whole(value, least, most))
    }

    /// Ends the reading: names every field that nobody asked for. All errors of the table.
    #[must_use]
    pub fn finish(mut self) -> Vec<FieldError> {
        let unknown: Vec<&String> = self.map.keys().filter(|key| !self.known.contains(&key.as_str())).collect();
        let known = self.known.join(", ");
        for key in unknown {
            let name: String = key.chars().take(SHOWN_MAX).collect();
            self.refuse(&name, FieldWording::NoField.with("known", known.as_str()));
        }
        self.errors
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.trim().is_empty()) || value.as_array().is_some_and(Vec::is_empty)
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

//! Reads a document field by field and reports all errors together.

use std::fmt;

use serde_json::{Map, Value};

use super::wording::FieldWording;
use crate::Message;

/// Maximum number of characters of an invalid value repeated in a message.
const SHOWN_MAX: usize = 60;

/// An error in one field of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Path of the field from the document's root: `queues[0].rules[1].path`.
    pub field: String,
    /// What is wrong and which values are accepted, to be appended to the field's name.
    pub fault: Message,
}

impl FieldError {
    /// An error of this field.
    pub fn new(field: impl Into<String>, fault: impl Into<Message>) -> Self {
        Self { field: field.into(), fault: fault.into() }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.fault)
    }
}

/// How a document is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// User input: every invalid or unknown field is an error.
    Strict,
    /// Stored data, possibly of another version: unknown fields are ignored, numbers are clamped to
    /// their bounds, and invalid values count as absent. Only missing required fields are errors.
    Lenient,
}

/// The fields of one table of a document. Fields that are never read are unknown.
pub struct Fields<'a> {
    map: &'a Map<String, Value>,
    path: String,
    reading: Reading,
    known: Vec<&'static str>,
    has_ignored: bool,
    pub(super) errors: Vec<FieldError>,
}

impl<'a> Fields<'a> {
    /// The fields of the table at `path` of its document.
    #[must_use]
    pub fn new(map: &'a Map<String, Value>, path: impl Into<String>) -> Self {
        Self::read(map, path, Reading::Strict)
    }

    pub(super) fn read(map: &'a Map<String, Value>, path: impl Into<String>, reading: Reading) -> Self {
        Self { map, path: path.into(), reading, known: Vec::new(), has_ignored: false, errors: Vec::new() }
    }

    /// Whether lenient reading ignored a part of this table.
    pub(super) fn has_ignored(&self) -> bool {
        self.has_ignored || self.unknown().next().is_some()
    }

    /// The fields that were not read.
    pub(super) fn unknown(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.map.iter().filter(|(key, _)| !self.known.contains(&key.as_str()))
    }

    pub(super) fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Records an error of the field `name`.
    pub fn refuse(&mut self, name: &str, fault: impl Into<Message>) {
        self.errors.push(FieldError::new(self.path_of(name), fault));
    }

    /// The raw value of `name`, which is then a known field. `null` counts as absent.
    pub(super) fn raw(&mut self, name: &'static str) -> Option<&'a Value> {
        self.known.push(name);
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// The value of `name`; `None` if it is absent. An invalid value is recorded as an error.
    pub fn optional<T>(
        &mut self,
        name: &'static str,
        takes: impl Into<Message>,
        parse: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.raw(name)?;
        let parsed = parse(value);
        if parsed.is_none() && self.reading == Reading::Lenient {
            self.has_ignored = true;
        } else if parsed.is_none() {
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

    /// The value of `name`, or `default` if it is absent or invalid.
    pub fn or<T>(
        &mut self,
        name: &'static str,
        default: T,
        takes: impl Into<Message>,
        parse: impl FnOnce(&'a Value) -> Option<T>,
    ) -> T {
        self.optional(name, takes, parse).unwrap_or(default)
    }

    /// The value of the required field `name`.
    pub fn required<T>(
        &mut self,
        name: &'static str,
        takes: impl Into<Message>,
        parse: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let absent = self.map.get(name).is_none_or(Value::is_null);
        if absent {
            self.known.push(name);
            self.refuse(name, FieldWording::Missing.with("what", takes.into()));
            return None;
        }
        let takes = takes.into();
        let parsed = self.optional(name, takes.clone(), parse);
        if parsed.is_none() && self.reading == Reading::Lenient {
            self.refuse(name, FieldWording::Takes.with("what", takes));
        }
        parsed
    }

    /// The value of `name`, which is required if `is_required`. An invalid value is recorded as an
    /// error and not repeated in it.
    pub fn secret<T>(
        &mut self,
        name: &'static str,
        is_required: bool,
        takes: impl Into<Message>,
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

    /// An integer between the bounds.
    pub fn number(&mut self, name: &'static str, default: u64, least: u64, most: u64) -> u64 {
        let takes = FieldWording::WholeNumber.with("least", least).with("most", most);
        let reading = self.reading;
        self.or(name, default, takes, |value| whole(value, least, most, reading))
    }

    /// An optional integer between the bounds.
    pub fn optional_number(&mut self, name: &'static str, least: u64, most: u64) -> Option<u64> {
        let takes = FieldWording::WholeNumberOrNothing.with("least", least).with("most", most);
        let reading = self.reading;
        self.optional(name, takes, |value| whole(value, least, most, reading))
    }

    /// Finishes reading: reports unknown fields and returns all errors of the table.
    #[must_use]
    pub fn finish(mut self) -> Vec<FieldError> {
        if self.reading == Reading::Lenient {
            return self.errors;
        }
        let unknown: Vec<&String> = self.unknown().map(|(key, _)| key).collect();
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

pub(super) fn whole(value: &Value, least: u64, most: u64, reading: Reading) -> Option<u64> {
    let number = value.as_u64()?;
    match reading {
        Reading::Strict => (least..=most).contains(&number).then_some(number),
        Reading::Lenient => Some(number.clamp(least, most)),
    }
}

/// An invalid value in short form, for a message.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= SHOWN_MAX {
        return text;
    }
    let start: String = text.chars().take(SHOWN_MAX).collect();
    format!("{start}...")
}

/// The strings of a list; a single string counts as a list of one.
pub(super) fn strings(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::String(text) => Some(vec![text]),
        Value::Array(items) => items.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

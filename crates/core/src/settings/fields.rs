//! Reads a document field by field and reports all that is wrong with it at once.

use std::fmt;

use serde_json::{Map, Value};

use super::wording::FieldWording;
use crate::Message;

/// Most characters of a wrong value that a message repeats.
const SHOWN_MAX: usize = 60;

/// One wrong field of a document: which, and what it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Path of the field from the document's root: `queues[0].rules[1].path`.
    pub field: String,
    /// What is wrong and what the field takes, as the rest of a sentence.
    pub fault: Message,
}

impl FieldError {
    /// A field, and what is wrong with it.
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
    /// What users send: whatever is wrong or unknown is an error.
    Strict,
    /// What a store holds, which another version may have written: unknown fields are ignored, numbers are brought within
    /// their bounds, and what can't be read counts as absent. Errors are left only where there is nothing to go by.
    Lenient,
}

/// The fields of one table of a document, taken one by one; what is left over is unknown.
pub struct Fields<'a> {
    map: &'a Map<String, Value>,
    path: String,
    reading: Reading,
    known: Vec<&'static str>,
    has_ignored: bool,
    pub(super) errors: Vec<FieldError>,
}

impl<'a> Fields<'a> {
    /// The fields of a table that stands at `path` of its document.
    #[must_use]
    pub fn new(map: &'a Map<String, Value>, path: impl Into<String>) -> Self {
        Self::read(map, path, Reading::Strict)
    }

    pub(super) fn read(map: &'a Map<String, Value>, path: impl Into<String>, reading: Reading) -> Self {
        Self { map, path: path.into(), reading, known: Vec::new(), has_ignored: false, errors: Vec::new() }
    }

    /// Whether lenient reading passed over something of this table.
    pub(super) fn has_ignored(&self) -> bool {
        self.has_ignored || self.unknown().next().is_some()
    }

    /// The fields that nobody asked for.
    pub(super) fn unknown(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.map.iter().filter(|(key, _)| !self.known.contains(&key.as_str()))
    }

    pub(super) fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// RecordStore that the field `name` is wrong.
    pub fn refuse(&mut self, name: &str, fault: impl Into<Message>) {
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

    /// The value of `name`, or the stand-in `default` where it is absent or wrong.
    pub fn or<T>(
        &mut self,
        name: &'static str,
        default: T,
        takes: impl Into<Message>,
        parse: impl FnOnce(&'a Value) -> Option<T>,
    ) -> T {
        self.optional(name, takes, parse).unwrap_or(default)
    }

    /// The value of `name`, which must be there.
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

    /// The value of `name`, which must be there if it `is_required`. A wrong one is recorded, and not repeated.
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

    /// A whole number between the bounds.
    pub fn number(&mut self, name: &'static str, default: u64, least: u64, most: u64) -> u64 {
        let takes = FieldWording::WholeNumber.with("least", least).with("most", most);
        let reading = self.reading;
        self.or(name, default, takes, |value| whole(value, least, most, reading))
    }

    /// A whole number between the bounds, or nothing.
    pub fn optional_number(&mut self, name: &'static str, least: u64, most: u64) -> Option<u64> {
        let takes = FieldWording::WholeNumberOrNothing.with("least", least).with("most", most);
        let reading = self.reading;
        self.optional(name, takes, |value| whole(value, least, most, reading))
    }

    /// Ends the reading: names every field that nobody asked for. All errors of the table.
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

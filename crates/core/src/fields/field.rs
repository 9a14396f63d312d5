//! Kinds of values, and reading objects of them member by member. All errors are reported together.

use std::fmt;

use serde_json::{Map, Value as Json, json};

use super::error_code::FieldErrorCode as Code;
use crate::Message;

/// Maximum number of characters of an invalid value repeated in a message.
const SHOWN_MAX: usize = 60;
/// Maximum number of errors of a document that are reported.
const ERRORS_MAX: usize = 100;
/// The path of an error in the document as a whole.
const ROOT: &str = "document";

/// A kind of value.
pub trait Field {
    /// The parsed value.
    type Value;
    /// Whether errors never repeat a value.
    const SECRET: bool = false;
    /// Whether an invalid item is left out of a stored list. Otherwise the whole list is invalid.
    const DROPPED_IF_INVALID: bool = false;
    /// Whether an invalid stored value is an error. Otherwise what is absent stands for it, if there is such a value.
    const NEVER_IGNORED: bool = false;
    /// Whether a written value can be `null`.
    const NULLABLE: bool = false;
    /// Whether a member can be left out of what is written.
    const OMISSIBLE: bool = false;
    /// Whether `null` is a value. Otherwise it counts as absent.
    const TAKES_NULL: bool = false;

    /// What is accepted, as the rest of "must be ..".
    fn expected() -> Message;
    /// The JSON Schema.
    fn schema() -> Json;
    /// Parses a value. If it is invalid, records an error or returns `None`, or both.
    fn parse(value: &Json, reader: &mut Reader) -> Option<Self::Value>;
    /// The value as JSON. Kinds that occur in requests only have none.
    fn to_json(_value: &Self::Value) -> Json {
        Json::Null
    }
    /// The value of an absent member; `None` if the member is required.
    fn absent() -> Option<Self::Value> {
        None
    }
    /// Whether a member with this value is not written.
    fn is_omitted(_value: &Self::Value) -> bool {
        false
    }
}

/// A member of an object: a [`Field`] under a name, or several of them.
pub trait Member {
    /// The type of the member in the struct.
    type Value;
    /// Reads the member.
    fn read(object: &mut ObjectReader<'_>, name: &'static str, default: Option<Self::Value>) -> Option<Self::Value>;
    /// Writes the member.
    fn write(value: &Self::Value, name: &'static str, map: &mut Map<String, Json>);
    /// Adds the member to a schema.
    fn describe(name: &'static str, description: &str, default: Option<Self::Value>, schema: &mut ObjectSchema);
}

impl<F: Field> Member for F {
    type Value = F::Value;

    fn read(object: &mut ObjectReader<'_>, name: &'static str, default: Option<F::Value>) -> Option<F::Value> {
        object.member::<F>(name, default.or_else(F::absent))
    }

    fn write(value: &F::Value, name: &'static str, map: &mut Map<String, Json>) {
        if !F::is_omitted(value) {
            map.insert(name.to_owned(), F::to_json(value));
        }
    }

    fn describe(name: &'static str, description: &str, default: Option<F::Value>, schema: &mut ObjectSchema) {
        let is_required = default.is_none() && F::absent().is_none();
        let is_required = match schema.usage {
            Usage::Response => !F::OMISSIBLE,
            _ => is_required,
        };
        schema.add(name, F::schema(), description, default.as_ref().map(F::to_json), (is_required, F::NULLABLE));
    }
}

/// What a schema of an object is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usage {
    /// A request: members without a default are required, others can be `null` as well.
    Request,
    /// A response: all members are there.
    Response,
    /// A merge patch: all members are optional; `null` resets those that have a default.
    Patch,
    /// A part of others.
    Part,
}

/// The JSON Schema of an object, member by member.
pub struct ObjectSchema {
    usage: Usage,
    required: Vec<&'static str>,
    properties: Map<String, Json>,
}

impl ObjectSchema {
    fn add(
        &mut self,
        name: &'static str,
        mut schema: Json,
        description: &str,
        default: Option<Json>,
        (is_required, nullable): (bool, bool),
    ) {
        let default = default.filter(|it| it.as_str().map_or(it.is_u64(), |text| !text.is_empty()));
        let description = match default {
            Some(default) if self.usage != Usage::Response => format!("{description} Default: {default}."),
            _ => description.to_owned(),
        };
        schema["description"] = json!(description);
        let with_null = match self.usage {
            Usage::Request | Usage::Patch => !is_required,
            Usage::Response => nullable,
            Usage::Part => false,
        };
        if let (true, Some(kind)) = (with_null, schema["type"].as_str().map(str::to_owned)) {
            schema["type"] = json!([kind, "null"]);
            if let Some(values) = schema.get_mut("enum").and_then(Json::as_array_mut) {
                values.push(Json::Null);
            }
        }
        if is_required && self.usage != Usage::Patch {
            self.required.push(name);
        }
        self.properties.insert(name.to_owned(), schema);
    }
}

/// A struct of fields, made by [`fields!`](crate::fields!).
pub trait Object: Field<Value = Self> + Sized {
    /// The name of its schema.
    const NAME: &'static str;
    /// What it is.
    const DESCRIPTION: &'static str;

    /// Reads all members.
    fn read(object: &mut ObjectReader<'_>) -> Option<Self>;
    /// Checks members against each other after all have been read.
    fn check(&mut self, _object: &mut ObjectReader<'_>) {}
    /// Writes all members.
    fn write(&self, map: &mut Map<String, Json>);
    /// Describes all members.
    fn describe(schema: &mut ObjectSchema);

    /// Parses what a user sent: every invalid, missing or unknown field is an error.
    ///
    /// # Errors
    /// Returns every wrong field by its path.
    fn from_json(value: &Json) -> Result<Self, Vec<FieldError>> {
        Reader::read::<Self>(value, Reading::Strict)
    }

    /// The JSON Schema for a usage.
    fn object_schema(usage: Usage) -> Json {
        let mut schema = ObjectSchema { usage, required: Vec::new(), properties: Map::new() };
        Self::describe(&mut schema);
        let ObjectSchema { required, properties, .. } = schema;
        let mut object = json!({ "type": "object", "description": Self::DESCRIPTION.trim(), "properties": properties });
        if !required.is_empty() {
            object["required"] = json!(required);
        }
        if usage != Usage::Response {
            object["additionalProperties"] = json!(false);
        }
        object
    }
}

/// An error in one field of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Path of the field from the document's root: `queues[0].rules[1].path`.
    pub field: String,
    /// What is wrong, to be appended to the field's name.
    pub fault: Message,
}

impl FieldError {
    /// An error of this field.
    pub fn new(field: impl Into<String>, fault: impl Into<Message>) -> Self {
        Self { field: field.into(), fault: fault.into() }
    }

    /// The same error, of a field in an object: `quota` within `tour` is `tour.quota`.
    #[must_use]
    pub fn within(self, parent: impl fmt::Display) -> Self {
        Self { field: format!("{parent}.{}", self.field), ..self }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.fault)
    }
}

/// How a document is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// User input: every invalid or unknown field is an error.
    Strict,
    /// User input whose values are all text: a query.
    Query,
    /// Stored data, possibly of another version: unknown fields are ignored, numbers are clamped to
    /// their bounds, and invalid values count as absent. Only missing required fields are errors.
    Stored,
}

/// Where reading is, and the errors so far.
pub struct Reader {
    reading: Reading,
    path: String,
    errors: Vec<FieldError>,
    /// Number of errors beside these.
    more_errors: usize,
    /// Whether a part of a stored object was ignored.
    has_ignored: bool,
}

impl Reader {
    /// Reads a whole document.
    ///
    /// # Errors
    /// Returns every wrong field by its path.
    pub fn read<T: Object>(value: &Json, reading: Reading) -> Result<T, Vec<FieldError>> {
        let mut reader = Self { reading, path: String::new(), errors: Vec::new(), more_errors: 0, has_ignored: false };
        let parsed = reader.object::<T>(value);
        if reader.more_errors > 0 {
            let more = Code::MoreErrors.with("count", reader.more_errors).with("most", ERRORS_MAX);
            reader.errors.push(FieldError::new(ROOT, more));
        }
        parsed.filter(|_| reader.errors.is_empty()).ok_or(reader.errors)
    }

    /// Whether stored data is read.
    pub fn is_stored(&self) -> bool {
        self.reading == Reading::Stored
    }

    /// Whether all values are text.
    pub fn is_query(&self) -> bool {
        self.reading == Reading::Query
    }

    /// Number of errors so far.
    fn error_count(&self) -> usize {
        self.errors.len() + self.more_errors
    }

    /// Records an error of the current field, or only counts it if there are many already.
    pub fn error(&mut self, fault: impl Into<Message>) {
        // Stored data is smaller, and what is invalid in it is noticed by its errors.
        if self.errors.len() >= ERRORS_MAX && !self.is_stored() {
            self.more_errors += 1;
            return;
        }
        let path = if self.path.is_empty() { ROOT } else { &self.path };
        self.errors.push(FieldError::new(path, fault));
    }

    /// Returns what was parsed, or records that the value is invalid.
    pub fn accept<F: Field + ?Sized>(&mut self, value: &Json, parsed: Option<F::Value>) -> Option<F::Value> {
        if parsed.is_none() {
            let what = F::expected();
            self.error(match value {
                _ if F::SECRET => Code::Invalid.with("what", what),
                value if is_empty(value) => Code::Empty.with("what", what),
                Json::Object(_) => Code::Invalid.with("what", what),
                value => Code::InvalidValue.with("what", what).with("given", shown(value)),
            });
        }
        parsed
    }

    /// Parses an object with all its members.
    pub fn object<T: Object>(&mut self, value: &Json) -> Option<T> {
        let Some(map) = value.as_object() else { return self.accept::<T>(value, None) };
        let had_ignored = std::mem::take(&mut self.has_ignored);
        let errors_before = self.error_count();
        let mut object = ObjectReader { map, reader: self, known: Vec::new(), errors_before };
        let mut parsed = T::read(&mut object);
        if let Some(parsed) = &mut parsed {
            parsed.check(&mut object);
        }
        object.finish();
        self.has_ignored |= had_ignored;
        parsed
    }

    /// Reads an entry of a map, by its name.
    pub(crate) fn entry<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let shown: String = name.chars().take(SHOWN_MAX).collect();
        self.below(&format!(".{shown}"), read)
    }

    /// Parses an item of a list.
    pub(super) fn item<F: Field>(&mut self, index: usize, value: &Json) -> Option<F::Value> {
        let before = self.errors.len();
        let parsed = self.below(&format!("[{index}]"), |reader| F::parse(value, reader));
        if self.is_stored() && F::DROPPED_IF_INVALID && self.errors.len() > before {
            self.errors.truncate(before);
            self.has_ignored = true;
            return None;
        }
        parsed
    }

    fn below<T>(&mut self, segment: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        self.path.push_str(segment);
        let read = read(self);
        self.path.truncate(length);
        read
    }
}

/// The members of one object. Members that are never read are unknown.
pub struct ObjectReader<'a> {
    map: &'a Map<String, Json>,
    reader: &'a mut Reader,
    known: Vec<&'static str>,
    errors_before: usize,
}

impl<'a> ObjectReader<'a> {
    /// Whether stored data is read.
    pub fn is_stored(&self) -> bool {
        self.reader.is_stored()
    }

    /// Whether a member is given, validly or not.
    pub fn has(&self, name: &str) -> bool {
        self.map.get(name).is_some_and(|value| !value.is_null())
    }

    /// Whether a part of this stored object was ignored.
    pub fn has_ignored(&self) -> bool {
        self.reader.has_ignored || self.unknown().next().is_some()
    }

    /// Whether a member of this object is invalid so far.
    pub fn has_errors(&self) -> bool {
        self.reader.error_count() > self.errors_before
    }

    /// The members that were not read.
    pub fn unknown(&self) -> impl Iterator<Item = (&'a String, &'a Json)> {
        self.map.iter().filter(|(name, _)| !self.known.contains(&name.as_str()))
    }

    /// Records an error of a member; an empty name is the object itself.
    pub fn error(&mut self, name: &str, fault: impl Into<Message>) {
        self.below(name, |reader| reader.error(fault));
    }

    /// Reads a member. `null` counts as absent unless the member takes it, and `fallback` stands for what is absent or invalid.
    pub(super) fn member<F: Field>(&mut self, name: &'static str, fallback: Option<F::Value>) -> Option<F::Value> {
        self.known.push(name);
        let Some(value) = self.map.get(name).filter(|value| F::TAKES_NULL || !value.is_null()) else {
            if fallback.is_none() {
                self.error(name, Code::Required.with("what", F::expected()));
            }
            return fallback;
        };
        self.below(name, |reader| {
            let before = reader.error_count();
            let parsed = F::parse(value, reader);
            if parsed.is_none() && reader.error_count() == before {
                reader.accept::<F>(value, None);
            }
            let is_invalid = reader.error_count() > before;
            if reader.is_stored() && is_invalid && fallback.is_some() && !F::NEVER_IGNORED {
                reader.errors.truncate(before);
                reader.has_ignored = true;
                return fallback;
            }
            parsed.or(fallback)
        })
    }

    fn finish(mut self) {
        if self.is_stored() {
            return;
        }
        let known = self.known.join(", ");
        let mut unknown = self.unknown();
        let first = unknown.by_ref().take(ERRORS_MAX);
        let first: Vec<String> = first.map(|(name, _)| name.chars().take(SHOWN_MAX).collect()).collect();
        let others = unknown.count();
        for name in first {
            self.error(&name, Code::UnknownField.with("known", known.as_str()));
        }
        self.reader.more_errors += others;
    }

    fn below<T>(&mut self, name: &str, read: impl FnOnce(&mut Reader) -> T) -> T {
        let segment = if self.reader.path.is_empty() || name.is_empty() { name.to_owned() } else { format!(".{name}") };
        self.reader.below(&segment, read)
    }
}

fn is_empty(value: &Json) -> bool {
    value.as_str().is_some_and(|text| text.trim().is_empty()) || value.as_array().is_some_and(Vec::is_empty)
}

/// An invalid value in short form, for a message.
fn shown(value: &Json) -> String {
    let text = value.to_string();
    if text.chars().count() <= SHOWN_MAX {
        return text;
    }
    let start: String = text.chars().take(SHOWN_MAX).collect();
    format!("{start}...")
}

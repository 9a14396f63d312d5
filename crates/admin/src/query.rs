//! The query and the path of a request.

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use vestibule_core::Message;
use vestibule_core::settings::{FieldWording, Fields};

use crate::body::{read, wrong};
use crate::codes::Code;
use crate::problem::Problem;

/// The parameters of a query, each at most once.
pub(crate) struct Query(Map<String, Value>);

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let pairs = pairs.map_err(|_| wrong("query", Code::Unreadable))?;
        let mut map = Map::new();
        for (name, value) in pairs.0 {
            if map.insert(name.clone(), Value::String(value)).is_some() {
                return Err(wrong(&name, Code::RepeatedParameter));
            }
        }
        Ok(Self(map))
    }
}

impl Query {
    /// Takes the parameters one by one; whatever is wrong or left over is named.
    pub(crate) fn read<T>(&self, take: impl FnOnce(&mut Fields<'_>) -> T) -> Result<T, Problem> {
        read(&self.0, take)
    }
}

/// A whole number of a query.
pub(crate) fn number(fields: &mut Fields<'_>, name: &'static str, default: u64, least: u64, most: u64) -> u64 {
    let takes = FieldWording::WholeNumber.with("least", least).with("most", most);
    let parse = |value: &Value| value.as_str()?.parse().ok().filter(|number| (least..=most).contains(number));
    fields.or(name, default, takes, parse)
}

/// `true` or `false`, which it is where it is absent.
pub(crate) fn flag(fields: &mut Fields<'_>, name: &'static str) -> bool {
    fields.or(name, false, one_of(&["true", "false"]), |value| value.as_str()?.parse().ok())
}

/// One of the forms that an answer may have, the first where it is absent.
pub(crate) fn format(fields: &mut Fields<'_>, forms: [&'static str; 2]) -> &'static str {
    fields.or("format", forms[0], one_of(&forms), |value| forms.into_iter().find(|form| Some(*form) == value.as_str()))
}

/// What a field takes that takes one of a few words.
pub(crate) fn one_of(words: &[&str]) -> Message {
    FieldWording::OneOf.with("words", words.join(", "))
}

/// A text that parses.
pub(crate) fn parsed<T: std::str::FromStr>(
    fields: &mut Fields<'_>,
    name: &'static str,
    takes: impl Into<Message>,
) -> Option<T> {
    fields.optional(name, takes, |value| value.as_str()?.parse().ok())
}

/// The variable segments of a path.
pub(crate) struct Segments<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Segments<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let found: Result<Path<T>, PathRejection> = Path::from_request_parts(parts, state).await;
        found.map(|Path(segments)| Self(segments)).map_err(|_| Problem::RouteNotFound)
    }
}

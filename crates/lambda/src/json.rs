//! JSON whose members keep their order: it is the only record of the order of query parameters.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A value. There are no numbers, because no part of an event that is read is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number,
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The member of this name, if it exists and is not null; the last one if there are several, as in other parsers.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        let found = self.members()?.iter().rev().find(|(found, _)| found == name);
        found.map(|(_, value)| value).filter(|value| **value != Self::Null)
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn list(&self) -> Option<&[Self]> {
        if let Self::List(list) = self { Some(list) } else { None }
    }

    pub(crate) fn members(&self) -> Option<&[(String, Self)]> {
        if let Self::Object(members) = self { Some(members) } else { None }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Json, E> {
        Ok(Json::Number)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Json, E> {
        Ok(Json::Number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Json, E> {
        Ok(Json::Number)
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Json, E> {
        Ok(Json::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Json::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = object.next_entry()? {
            members.push(member);
        }
        Ok(Json::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_members_keep_their_order() {
        let json: Json = serde_json::from_str(r#"{"b":1,"a":[true,null,-1.5],"b":"x","c":null}"#).unwrap();
        let names: Vec<&str> = json.members().unwrap().iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["b", "a", "b", "c"]);
        assert_eq!(json.get("b").and_then(Json::text), Some("x"));
        assert_eq!(json.get("c"), None);
        assert_eq!(json.get("a").unwrap().list().unwrap(), [Json::Bool(true), Json::Null, Json::Number]);
    }
}

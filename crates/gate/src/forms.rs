//! Forms as JSON.

use serde_json::{Map, Value};
use vestibule_core::jobs::MediaType;

/// The content type of forms that can have files.
const FORM_WITH_PARTS: &str = "multipart/form-data";
/// The content type of forms without files.
const FORM: &str = "application/x-www-form-urlencoded";

/// Whether a content type is that of a form without files.
pub(crate) fn is_form(content_type: &str) -> bool {
    MediaType::of_header(content_type).is_some_and(|media_type| media_type.to_string() == FORM)
}

/// Whether a content type is that of forms with files, which are not read.
pub(crate) fn has_parts(content_type: &str) -> bool {
    MediaType::of_header(content_type).is_some_and(|media_type| media_type.to_string() == FORM_WITH_PARTS)
}

/// The fields of a form, or the parameters of a query, by name. A name that is given several times has a list.
pub(crate) fn form_as_json(form: &[u8]) -> Map<String, Value> {
    let mut fields = Map::new();
    for (name, value) in form_urlencoded::parse(form) {
        add_field(&mut fields, &name, value.into_owned().into());
    }
    fields
}

fn add_field(fields: &mut Map<String, Value>, name: &str, value: Value) {
    match fields.get_mut(name) {
        None => {
            fields.insert(name.to_owned(), value);
        }
        Some(Value::Array(values)) => values.push(value),
        Some(first) => *first = Value::Array(vec![first.take(), value]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_spellings_are_forms() {
        assert!(
            is_form("application/x-www-form-urlencoded; charset=utf-8") && is_form("application/www-form-urlencoded")
        );
        assert!(!is_form("multipart/form-data; boundary=x") && !is_form("application/json") && !is_form(""));
        assert!(has_parts("Multipart/Form-Data; boundary=x") && !has_parts("text/plain"));
    }

    #[test]
    fn repeated_fields_become_a_list() {
        let form = form_as_json(b"a=1&b=%C3%BC+x&a=2&c&a=3");
        assert_eq!(Value::Object(form), json!({ "a": ["1", "2", "3"], "b": "ü x", "c": "" }));
        assert!(form_as_json(b"").is_empty());
    }
}

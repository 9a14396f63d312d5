//! Forms as JSON.

use std::convert::Infallible;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use futures_util::stream::once;
use multer::{Field, Multipart};
use serde_json::{Map, Value, json};
use vestibule_core::jobs::MediaType;

/// The content type of forms that can have files.
const FORM_WITH_PARTS: &str = "multipart/form-data";
/// The content type of forms without files.
const FORM: &str = "application/x-www-form-urlencoded";

/// Whether a content type is that of a form without files.
pub(crate) fn is_form(content_type: &str) -> bool {
    MediaType::of_header(content_type).is_some_and(|media_type| media_type.to_string() == FORM)
}

/// Whether a content type is that of forms with files.
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

/// The fields of a form with parts, by name. A file becomes an object with `filename`, `content_type` and its content in base64 as
/// `data`. `None` if it is no such form.
pub(crate) async fn parts_as_json(content_type: &str, form: Bytes) -> Option<Map<String, Value>> {
    let boundary = multer::parse_boundary(content_type).ok()?;
    let mut parts = Multipart::new(once(async { Ok::<_, Infallible>(form) }), boundary);
    let mut fields = Map::new();
    while let Some(part) = parts.next_field().await.ok()? {
        let name = part.name()?.to_owned();
        add_field(&mut fields, &name, value_of(part).await?);
    }
    Some(fields)
}

async fn value_of(part: Field<'_>) -> Option<Value> {
    let Some(filename) = part.file_name().map(str::to_owned) else {
        return Some(String::from_utf8(part.bytes().await.ok()?.into()).ok()?.into());
    };
    let content_type = part.content_type().map(ToString::to_string);
    let data = BASE64_STANDARD.encode(part.bytes().await.ok()?);
    Some(json!({ "filename": filename, "content_type": content_type, "data": data }))
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

    #[tokio::test]
    async fn files_are_objects() {
        let form = "--x\r\nContent-Disposition: form-data; name=\"to\"\r\n\r\n\u{fc}\r\n\
            --x\r\nContent-Disposition: form-data; name=\"to\"\r\n\r\nb\r\n\
            --x\r\nContent-Disposition: form-data; name=\"cv\"; filename=\"cv.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--x--\r\n";
        let parse = async |content_type: &str, form: &'static str| parts_as_json(content_type, Bytes::from(form)).await;
        let cv = json!({ "filename": "cv.txt", "content_type": "text/plain", "data": "aGVsbG8=" });
        let fields = parse("multipart/form-data; boundary=x", form).await.unwrap();
        assert_eq!(Value::Object(fields), json!({ "to": ["\u{fc}", "b"], "cv": cv }));
        assert!(parse("multipart/form-data; boundary=x", "--x--\r\n").await.unwrap().is_empty());
        for (content_type, form) in [
            ("multipart/form-data", form),
            ("multipart/form-data; boundary=y", form),
            ("multipart/form-data; boundary=x", "a=1"),
            ("multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data\r\n\r\na\r\n--x--\r\n"),
            ("multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\ncut"),
        ] {
            assert!(parse(content_type, form).await.is_none(), "{content_type} {form}");
        }
    }

    #[test]
    fn repeated_fields_become_a_list() {
        let form = form_as_json(b"a=1&b=%C3%BC+x&a=2&c&a=3");
        assert_eq!(Value::Object(form), json!({ "a": ["1", "2", "3"], "b": "ü x", "c": "" }));
        assert!(form_as_json(b"").is_empty());
    }
}

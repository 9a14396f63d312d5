use axum::body::Body;
use axum::response::Response;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::{Map, Value};

use super::MAX_RESPONSE;

/// What says something of a connection that a function doesn't have, or what the load balancer counts itself.
const OWN: [HeaderName; 4] = [CONNECTION, TRANSFER_ENCODING, UPGRADE, CONTENT_LENGTH];

/// The response that a function's answer asks for, or what is wrong with the answer.
pub(super) fn answer_of(answer: &[u8], multi_value: bool) -> Result<Response, String> {
    if answer.len() > MAX_RESPONSE {
        return Err(format!("an answer of {} bytes, of which {MAX_RESPONSE} may be", answer.len()));
    }
    let answer: Value =
        serde_json::from_slice(answer).map_err(|error| format!("an answer that is no JSON: {error}"))?;
    let mut response = Response::new(body_of(&answer)?);
    *response.status_mut() = status_of(&answer)?;
    *response.headers_mut() = headers_of(&answer, multi_value)?;
    Ok(response)
}

fn status_of(answer: &Value) -> Result<StatusCode, String> {
    let status = answer["statusCode"].as_u64().and_then(|status| StatusCode::from_u16(status.try_into().ok()?).ok());
    status.filter(|status| !status.is_informational()).ok_or_else(|| format!("no statusCode: {}", excerpt(answer)))
}

fn body_of(answer: &Value) -> Result<Body, String> {
    let body = match &answer["body"] {
        Value::Null => "",
        Value::String(body) => body,
        _ => return Err(format!("a body that is no string: {}", excerpt(answer))),
    };
    match &answer["isBase64Encoded"] {
        Value::Null | Value::Bool(false) => Ok(body.to_owned().into()),
        Value::Bool(true) => {
            BASE64_STANDARD.decode(body).map(Body::from).map_err(|error| format!("a body that is no base64: {error}"))
        }
        _ => Err(format!("isBase64Encoded is no boolean: {}", excerpt(answer))),
    }
}

/// Only the one field is read that the target group's setting names.
fn headers_of(answer: &Value, multi_value: bool) -> Result<HeaderMap, String> {
    let wrong = |what: &str| format!("{what}: {}", excerpt(answer));
    let field = if multi_value { "multiValueHeaders" } else { "headers" };
    let none = Map::new();
    let named = match &answer[field] {
        Value::Null => &none,
        Value::Object(named) => named,
        _ => return Err(wrong("headers that are no object")),
    };
    let mut headers = HeaderMap::new();
    for (name, values) in named {
        let name: HeaderName = name.parse().map_err(|_| wrong("a header name that is none"))?;
        let values = match values {
            Value::Array(values) if multi_value => values.as_slice(),
            value if !multi_value => std::slice::from_ref(value),
            _ => return Err(wrong("a header whose values are no list")),
        };
        for value in values {
            let value = value.as_str().and_then(|value| HeaderValue::from_bytes(value.as_bytes()).ok());
            let value = value.ok_or_else(|| wrong("a header value that is none"))?;
            if !OWN.contains(&name) {
                headers.append(name.clone(), value);
            }
        }
    }
    Ok(headers)
}

fn excerpt(answer: &Value) -> String {
    answer.to_string().chars().take(300).collect()
}

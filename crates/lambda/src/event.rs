//! Converts events to requests.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, COOKIE, HOST, TRANSFER_ENCODING};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use serde::Deserialize;
use serde_json::Value;

use crate::target::{PathForm, one_or_many, query_of, target};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
/// The default stage, which is not part of a path.
const DEFAULT_STAGE: &str = "$default";
/// Part of the host of every function URL.
const FUNCTION_URL: &str = ".lambda-url.";

/// The event of an invocation. Its members keep their order: it is the only record of the order of query parameters.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct Event(Value);

/// The source of an HTTP event. It decides the form of the response and its maximum size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventSource {
    /// An Application Load Balancer; `multi_value` as the target group's `lambda.multi_value_headers.enabled` says.
    LoadBalancer { multi_value: bool },
    /// An API Gateway HTTP API with payload format 2.0, or a function URL, which uses the same.
    HttpApi,
}

/// An event that is not an HTTP request.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0}: this function answers HTTP requests of a load balancer, a function URL or an HTTP API (payload format 2.0)"
)]
pub struct UnsupportedEvent(pub(crate) &'static str);

/// The same text as `Display`, because the runtime logs errors by `Debug`.
impl std::fmt::Debug for UnsupportedEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// An HTTP event with this invalid part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidEvent(pub(crate) &'static str);

impl Event {
    pub(crate) fn caller(&self) -> Result<EventSource, UnsupportedEvent> {
        let context = member(&self.0, "requestContext");
        let in_context = |name| context.is_some_and(|context| member(context, name).is_some());
        if in_context("elb") {
            return Ok(EventSource::LoadBalancer { multi_value: member(&self.0, "multiValueHeaders").is_some() });
        }
        if in_context("http") {
            return Ok(EventSource::HttpApi);
        }
        let has = |name| member(&self.0, name).is_some();
        Err(UnsupportedEvent(if context.is_some() && has("httpMethod") {
            "an event of payload format 1.0"
        } else if has("detail-type") {
            "an event of EventBridge"
        } else if has("RecordStore") {
            "an event with records"
        } else {
            "an event of an unknown kind"
        }))
    }

    pub(crate) fn request(&self, caller: EventSource) -> Result<Request<Bytes>, InvalidEvent> {
        let (method, target, mut headers) = match caller {
            EventSource::LoadBalancer { multi_value } => self.of_load_balancer(multi_value)?,
            EventSource::HttpApi => self.of_http_api()?,
        };
        let body = self.body()?;
        // The body is complete, however it was transferred.
        headers.remove(TRANSFER_ENCODING);
        if !body.is_empty() || headers.contains_key(CONTENT_LENGTH) {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = Uri::from(target);
        *request.headers_mut() = headers;
        Ok(request)
    }

    fn of_load_balancer(&self, multi_value: bool) -> Result<(Method, PathAndQuery, HeaderMap), InvalidEvent> {
        let event = &self.0;
        let headers = member(event, if multi_value { "multiValueHeaders" } else { "headers" });
        let several = member(event, "multiValueQueryStringParameters");
        let query =
            several.or_else(|| member(event, "queryStringParameters")).map_or_else(|| Some(String::new()), query_of);
        let query = query.ok_or(InvalidEvent("query"))?;
        let target = target(text_of(event, "path")?, PathForm::Written, &query).ok_or(InvalidEvent("path"))?;
        Ok((method(member(event, "httpMethod"))?, target, headers_of(headers)?))
    }

    fn of_http_api(&self) -> Result<(Method, PathAndQuery, HeaderMap), InvalidEvent> {
        let event = &self.0;
        let context = member(event, "requestContext").unwrap_or(&Value::Null);
        let http = member(context, "http").unwrap_or(&Value::Null);
        let host = context["domainName"].as_str();
        let form =
            if host.is_some_and(|host| host.contains(FUNCTION_URL)) { PathForm::Written } else { PathForm::Decoded };
        let path = without_stage(text_of(event, "rawPath")?, context["stage"].as_str());
        let target = target(path, form, text_of(event, "rawQueryString")?).ok_or(InvalidEvent("path"))?;
        let mut headers = headers_of(member(event, "headers"))?;
        if let Some(cookies) = member(event, "cookies") {
            headers.insert(COOKIE, cookie_header(cookies).ok_or(InvalidEvent("cookies"))?);
        }
        if let Some(host) = host.and_then(|host| HeaderValue::try_from(host).ok()) {
            headers.entry(HOST).or_insert(host);
        }
        headers.entry(FORWARDED_PROTO).or_insert(HeaderValue::from_static("https"));
        if let Some(address) = http["sourceIp"].as_str().filter(|it| !it.is_empty()) {
            append_client_address(&mut headers, address)?;
        }
        Ok((method(member(http, "method"))?, target, headers))
    }

    fn body(&self) -> Result<Bytes, InvalidEvent> {
        let Some(body) = member(&self.0, "body") else { return Ok(Bytes::new()) };
        let body = body.as_str().ok_or(InvalidEvent("body"))?;
        match member(&self.0, "isBase64Encoded") {
            None | Some(Value::Bool(false)) => Ok(Bytes::copy_from_slice(body.as_bytes())),
            Some(Value::Bool(true)) => {
                BASE64_STANDARD.decode(body).map(Bytes::from).map_err(|_| InvalidEvent("body, which is no base64,"))
            }
            Some(_) => Err(InvalidEvent("body")),
        }
    }
}

/// The member of this name, if it exists and is not null.
fn member<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|value| !value.is_null())
}

/// A text of the event; empty if it is missing.
fn text_of<'a>(event: &'a Value, name: &'static str) -> Result<&'a str, InvalidEvent> {
    member(event, name).map_or(Ok(""), |value| value.as_str().ok_or(InvalidEvent("target")))
}

fn method(method: Option<&Value>) -> Result<Method, InvalidEvent> {
    method.and_then(Value::as_str).and_then(|method| method.parse().ok()).ok_or(InvalidEvent("method"))
}

fn headers_of(named: Option<&Value>) -> Result<HeaderMap, InvalidEvent> {
    let mut headers = HeaderMap::new();
    let Some(named) = named else { return Ok(headers) };
    for (name, values) in named.as_object().ok_or(InvalidEvent("headers"))? {
        let name: HeaderName = name.parse().map_err(|_| InvalidEvent("headers"))?;
        for value in one_or_many(values) {
            let value = value.as_str().and_then(|value| HeaderValue::from_bytes(value.as_bytes()).ok());
            headers
                .try_append(name.clone(), value.ok_or(InvalidEvent("headers"))?)
                .map_err(|_| InvalidEvent("headers"))?;
        }
    }
    Ok(headers)
}

/// Removes a named stage from the path of an event. Visitors of a custom domain do not see the stage.
fn without_stage<'a>(path: &'a str, stage: Option<&str>) -> &'a str {
    let Some(stage) = stage.filter(|stage| *stage != DEFAULT_STAGE) else { return path };
    let rest = path.strip_prefix('/').and_then(|path| path.strip_prefix(stage));
    rest.filter(|rest| rest.is_empty() || rest.starts_with('/')).unwrap_or(path)
}

fn cookie_header(cookies: &Value) -> Option<HeaderValue> {
    let cookies: Option<Vec<&str>> = cookies.as_array()?.iter().map(Value::as_str).collect();
    HeaderValue::from_bytes(cookies?.join("; ").as_bytes()).ok()
}

/// Appends the address of the client to `X-Forwarded-For`, as a load balancer does by itself.
fn append_client_address(headers: &mut HeaderMap, address: &str) -> Result<(), InvalidEvent> {
    let addresses: Vec<&[u8]> = headers.get_all(FORWARDED_FOR).iter().map(HeaderValue::as_bytes).collect();
    let mut addresses = addresses.join(b", ".as_slice());
    let last = addresses.rsplit(|byte| *byte == b',').next().unwrap_or_default().trim_ascii();
    if last != address.as_bytes() {
        if !addresses.is_empty() {
            addresses.extend_from_slice(b", ");
        }
        addresses.extend_from_slice(address.as_bytes());
    }
    headers.insert(FORWARDED_FOR, HeaderValue::from_bytes(&addresses).map_err(|_| InvalidEvent("address"))?);
    Ok(())
}

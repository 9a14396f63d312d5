//! The OpenAPI document, generated from the operations.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use utoipa::PartialSchema as _;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    Components, Content, Info, InfoBuilder, License, OpenApi, OpenApiBuilder, Ref, RefOr, Required, ResponseBuilder,
    Tag, tag::TagBuilder,
};
use utoipa_axum::router::OpenApiRouter;

use vestibule_core::fields::{Object, Usage};
use vestibule_core::jobs::{JobSchedule, JobTarget, JobWebhook};
use vestibule_core::settings::{
    BeaconValue, Event, Handover, HeaderCondition, Identity, InvitationBatch, NamedValue, NetworkListNames,
    ProofOfWork, Protection, Rule, Settings, Tenant,
};

use crate::access::COOKIE;
use crate::api;
use crate::api::job_queues::{FailedJob, JobDraft};
use crate::api::themes::DraftTemplate;
use crate::confirmation::CONFIRM_HEADER;
use crate::problem::{PROBLEM_JSON, ProblemDetails};
use crate::state::Admin;

/// Description of the response that all operations share.
const PROBLEM: &str = "A problem: 400 or 415 if the body cannot be read, 401 without a valid sign-in or token, 403 without \
    permission, 404 for what does not exist or is not accessible, 413 if the body is too large, 422 if a field or parameter is \
    invalid, 429 if attempts are limited, 503 if the store is unavailable, 504 if the store did not respond to a change, which \
    may or may not have been applied";

/// The operations.
pub(crate) fn operations() -> OpenApiRouter<Admin> {
    OpenApiRouter::with_openapi(base()).nest(crate::prefix::PREFIX, api::routes())
}

fn document() -> OpenApi {
    let mut document = operations().into_openapi();
    complete(&mut document);
    document
}

fn base() -> OpenApi {
    let description = "The API of the backoffice: queues with their settings and controls, sessions, statistics, \
        operators, API tokens and the audit log. Errors are problem details (RFC 9457) with the media type \
        `application/problem+json`: `code` and `params` identify the problem, `detail` describes it in English. A request \
        that changes data with the sign-in cookie needs the header `X-Vestibule-Request: 1`.";
    let info: Info = InfoBuilder::new()
        .title("Vestibule")
        .version("1")
        .description(Some(description))
        .license(Some(License::new("Apache-2.0")))
        .build();
    let mut components = Components::new();
    let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("An API token")).build();
    components.add_security_scheme("token", SecurityScheme::Http(token));
    let key = |key: ApiKey| SecurityScheme::ApiKey(key);
    components.add_security_scheme("cookie", key(ApiKey::Cookie(ApiKeyValue::new(COOKIE))));
    components.add_security_scheme("request", key(ApiKey::Header(ApiKeyValue::new("X-Vestibule-Request"))));
    let token = SecurityRequirement::new("token", [] as [&str; 0]);
    let cookie = SecurityRequirement::new("cookie", [] as [&str; 0]).add("request", [] as [&str; 0]);
    let builder = OpenApiBuilder::new().info(info).components(Some(components)).tags(Some(tags()));
    builder.security(Some([token, cookie])).build()
}

fn tags() -> Vec<Tag> {
    [
        ("account", "Sign-in and the current operator"),
        ("tenants", "Client brands"),
        ("queues", "Queues and their settings"),
        ("actions", "Controls during a sale"),
        ("sessions", "Visitor sessions"),
        ("stats", "Statistics"),
        ("job queues", "Job queues and the jobs in them"),
        ("operators", "Operators"),
        ("tokens", "API tokens"),
        ("audit", "Audit log"),
        ("settings", "Export and import of all settings"),
        ("themes", "Themes of the queue page"),
    ]
    .into_iter()
    .map(|(name, description)| TagBuilder::new().name(name).description(Some(description)).build())
    .collect()
}

/// Completes the document with what the operations share: schemas, parameters of their paths and error responses.
fn complete(document: &mut OpenApi) {
    let components = document.components.get_or_insert_default();
    let mut found = Vec::new();
    <ProblemDetails as utoipa::ToSchema>::schemas(&mut found);
    components.schemas.extend(found);
    components.schemas.insert("ProblemDetails".to_owned(), ProblemDetails::schema());
    for (name, schema) in parts() {
        components.schemas.insert(name.to_owned(), crate::describe::schema(schema));
    }
    let problem_response = ResponseBuilder::new().description(PROBLEM).content(PROBLEM_JSON, problem()).build();
    components.responses.insert("Problem".to_owned(), RefOr::T(problem_response));
    crate::message::describe(document);
    for (path, item) in &mut document.paths.paths {
        let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        for operation in operations.into_iter().flatten() {
            add_path_parameters(path, operation);
            add_confirmation(operation);
            add_problems(operation);
        }
    }
}

/// Adds the parameters of the path that an operation does not describe itself.
fn add_path_parameters(path: &str, operation: &mut Operation) {
    let names = path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    for (index, name) in names.enumerate() {
        let parameters = operation.parameters.get_or_insert_default();
        if !parameters.iter().filter_map(name_of).any(|it| it == name) {
            let description = match name {
                "operator" => "Name of the operator".to_owned(),
                "session" => "ID or support code of the session".to_owned(),
                _ => format!("ID of the {}", name.replace('_', " ")),
            };
            let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Path).required(Required::True);
            let parameter = parameter.description(Some(description)).schema(Some(String::schema()));
            parameters.insert(index, RefOr::T(parameter.build()));
        }
    }
}

/// The name of a parameter that an operation describes itself.
fn name_of(parameter: &RefOr<Parameter>) -> Option<&str> {
    match parameter {
        RefOr::T(parameter) => Some(&parameter.name),
        RefOr::Ref(_) => None,
    }
}

/// Adds the response to a request that needs the header of a confirmation.
fn add_confirmation(operation: &mut Operation) {
    if operation.parameters.iter().flatten().filter_map(name_of).any(|it| it.eq_ignore_ascii_case(CONFIRM_HEADER)) {
        let response = ResponseBuilder::new().description("Confirmation required").build();
        operation.responses.responses.entry("428".to_owned()).or_insert(RefOr::T(response));
    }
}

/// Adds the default response, and the body of the problems that an operation describes itself.
fn add_problems(operation: &mut Operation) {
    let responses = &mut operation.responses.responses;
    for (status, response) in responses.iter_mut().filter(|(status, _)| status.starts_with(['4', '5'])) {
        if let RefOr::T(response) = response {
            debug_assert!(response.content.is_empty(), "{status}");
            response.content.insert(PROBLEM_JSON.to_owned(), RefOr::T(problem()));
        }
    }
    responses.insert("default".to_owned(), RefOr::Ref(Ref::from_response_name("Problem")));
}

/// Objects that are parts of bodies.
fn parts() -> [(&'static str, Value); 19] {
    fn part<T: Object>(usage: Usage) -> (&'static str, Value) {
        (T::NAME, T::object_schema(usage))
    }
    [
        part::<Handover>(Usage::Part),
        part::<Protection>(Usage::Part),
        part::<Identity>(Usage::Part),
        part::<NetworkListNames>(Usage::Part),
        part::<ProofOfWork>(Usage::Part),
        part::<Event>(Usage::Part),
        part::<InvitationBatch>(Usage::Part),
        part::<BeaconValue>(Usage::Part),
        part::<Rule>(Usage::Part),
        part::<HeaderCondition>(Usage::Part),
        part::<NamedValue>(Usage::Part),
        part::<DraftTemplate>(Usage::Part),
        part::<JobTarget>(Usage::Part),
        part::<JobSchedule>(Usage::Part),
        part::<JobWebhook>(Usage::Part),
        part::<JobDraft>(Usage::Part),
        part::<FailedJob>(Usage::Part),
        part::<Tenant>(Usage::Request),
        part::<Settings>(Usage::Request),
    ]
}

fn problem() -> Content {
    Content::new(Some(RefOr::<utoipa::openapi::Schema>::Ref(Ref::from_schema_name("ProblemDetails"))))
}

/// The OpenAPI document as `openapi.json` in the repository.
pub fn openapi_json() -> String {
    text(&document())
}

/// A document as text, its members in order.
fn text(document: &OpenApi) -> String {
    let mut value = serde_json::to_value(document).unwrap_or_else(|_| json!({}));
    share(&mut value, "parameters", |operation| {
        let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten();
        parameters.map(|it| (format!("{}-{}", text_of(it, "in"), text_of(it, "name")), it)).collect()
    });
    share(&mut value, "responses", |operation| {
        let responses = operation.get_mut("responses").and_then(Value::as_object_mut).into_iter().flatten();
        let problems = responses.filter(|(status, it)| status.starts_with(['4', '5']) && it.is_object());
        problems
            .map(|(_, it)| (text_of(it, "description").split([';', ',']).next().unwrap_or_default().to_owned(), it))
            .collect()
    });
    format!("{value:#}\n")
}

/// Moves parts that several operations have in common to the components.
fn share(document: &mut Value, kind: &str, parts: impl for<'a> Fn(&'a mut Value) -> Vec<(String, &'a mut Value)>) {
    let mut paths = document["paths"].take();
    let mut counts: BTreeMap<String, (String, usize)> = BTreeMap::new();
    let operations = |paths: &mut Value, visit: &mut dyn FnMut(String, &mut Value)| {
        for operation in
            paths.as_object_mut().into_iter().flatten().filter_map(|(_, item)| item.as_object_mut()).flatten()
        {
            for (name, part) in parts(operation.1) {
                visit(name, part);
            }
        }
    };
    operations(&mut paths, &mut |name, part| {
        let count = counts.entry(part.to_string()).or_insert((component_name(&name), 0));
        count.1 += 1;
    });
    operations(&mut paths, &mut |_, part| {
        if let Some((name, count)) = counts.get(&part.to_string())
            && *count > 1
        {
            let component = &mut document["components"][kind][name];
            if component.is_null() || component == part {
                *component = std::mem::replace(part, json!({ "$ref": format!("#/components/{kind}/{name}") }));
            }
        }
    });
    document["paths"] = paths;
}

/// The words of a text as the name of a component.
fn component_name(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
}

fn text_of<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_an_id_summary_and_tag() {
        let document = document();
        let mut ids = std::collections::BTreeSet::new();
        for (path, item) in &document.paths.paths {
            let operations = [&item.get, &item.put, &item.post, &item.delete, &item.patch];
            for operation in operations.into_iter().flatten() {
                let id = operation.operation_id.clone().unwrap();
                assert!(ids.insert(id.clone()), "{id} is there twice");
                assert!(operation.summary.as_ref().is_some_and(|text| !text.is_empty()), "{path} {id}");
                assert_eq!(operation.tags.as_ref().map(Vec::len), Some(1), "{path} {id}");
            }
        }
    }
}

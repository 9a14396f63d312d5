//! The OpenAPI document, generated from the operations.

use serde_json::json;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    Components, Content, Info, InfoBuilder, License, OpenApi, OpenApiBuilder, Ref, RefOr, ResponseBuilder, Tag,
    tag::TagBuilder,
};
use utoipa_axum::router::OpenApiRouter;

use crate::access::COOKIE;
use crate::api;
use crate::problem::{PROBLEM_JSON, ProblemDetails};
use crate::state::Admin;

/// Where the operations are.
pub(crate) const PREFIX: &str = "/api/v1";

/// An error response that operations share: its name, status and description.
type SharedError = (&'static str, &'static str, &'static str);

const ALWAYS: [SharedError; 2] = [
    ("ValidationFailed", "422", "A parameter or field is invalid; `errors` lists all of them"),
    ("StoreUnavailable", "503", "The store is unavailable; try again"),
];
const WRITES: [SharedError; 1] =
    [("OutcomeUnknown", "504", "The store did not respond; the change may or may not have been applied")];
const SIGNED_IN: [SharedError; 2] =
    [("NotAuthenticated", "401", "Not authenticated"), ("PermissionDenied", "403", "Permission denied")];
const WITH_PATH: [SharedError; 1] = [("NotFound", "404", "Not found, or no access to it")];
const WITH_BODY: [SharedError; 3] = [
    ("InvalidBody", "400", "The body is not a JSON object"),
    ("BodyTooLarge", "413", "The body is too large"),
    ("WrongContentType", "415", "The body does not have an accepted content type"),
];

/// The operations with their document.
pub(crate) fn operations() -> OpenApiRouter<Admin> {
    let mut router = OpenApiRouter::with_openapi(base()).nest(PREFIX, api::routes());
    complete(router.get_openapi_mut());
    router
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

/// Completes the document with what the operations share: schemas and error responses.
fn complete(document: &mut OpenApi) {
    let components = document.components.get_or_insert_default();
    let mut found = Vec::new();
    <ProblemDetails as utoipa::ToSchema>::schemas(&mut found);
    components.schemas.extend(found);
    components.schemas.insert("ProblemDetails".to_owned(), <ProblemDetails as utoipa::PartialSchema>::schema());
    let shared = ALWAYS.iter().chain(&WRITES).chain(&SIGNED_IN).chain(&WITH_PATH).chain(&WITH_BODY);
    components.responses.extend(shared.map(|(name, _, description)| {
        let response = ResponseBuilder::new().description(*description).content(PROBLEM_JSON, problem());
        ((*name).to_owned(), RefOr::T(response.build()))
    }));
    crate::message::describe(document);
    for (path, item) in &mut document.paths.paths {
        let in_path = path.contains('{');
        let writes = [&mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        for operation in writes.into_iter().flatten() {
            add_errors(operation, in_path, &WRITES);
        }
        if let Some(operation) = &mut item.get {
            add_errors(operation, in_path, &[]);
        }
    }
}

fn add_errors(operation: &mut Operation, in_path: bool, more: &[SharedError]) {
    let signed_in = operation.security.is_none();
    let with_body = operation.request_body.is_some();
    let responses = &mut operation.responses.responses;
    // Errors that an operation describes itself have the same body.
    for (status, response) in responses.iter_mut().filter(|(status, _)| status.starts_with(['4', '5'])) {
        if let RefOr::T(response) = response {
            debug_assert!(response.content.is_empty(), "{status}");
            response.content.insert(PROBLEM_JSON.to_owned(), RefOr::T(problem()));
        }
    }
    let all = ALWAYS.iter().chain(more).chain(SIGNED_IN.iter().filter(|_| signed_in));
    let all = all.chain(WITH_PATH.iter().filter(|_| in_path)).chain(WITH_BODY.iter().filter(|_| with_body));
    for (name, status, _) in all {
        let reference = || RefOr::Ref(Ref::from_response_name(*name));
        responses.entry((*status).to_owned()).or_insert_with(reference);
    }
}

fn problem() -> Content {
    Content::new(Some(RefOr::<utoipa::openapi::Schema>::Ref(Ref::from_schema_name("ProblemDetails"))))
}

/// The OpenAPI document as `openapi.json` in the repository.
#[must_use]
pub fn openapi_json() -> String {
    text(&operations().into_openapi())
}

/// A document as text, its members in order.
pub(crate) fn text(document: &OpenApi) -> String {
    let value = serde_json::to_value(document).unwrap_or_else(|_| json!({}));
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_an_id_summary_and_tag() {
        let document = operations().into_openapi();
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

//! The document of the API: made from the operations, completed with what all of them share.

use serde_json::json;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    Components, Content, Info, InfoBuilder, License, OpenApi, OpenApiBuilder, Ref, RefOr, Response, ResponseBuilder,
    Tag, tag::TagBuilder,
};
use utoipa_axum::router::OpenApiRouter;

use crate::access::COOKIE;
use crate::api;
use crate::problem::ErrorBody;
use crate::state::Admin;

/// Where the operations are.
pub(crate) const PREFIX: &str = "/api/v1";

/// What failures every operation may answer with, beside its own: status, description.
const ALWAYS: [(&str, &str); 2] = [
    ("422", "A parameter or a field is wrong; `errors` names all of them"),
    ("503", "The store does not respond; try again"),
];
const CHANGES: [(&str, &str); 1] =
    [("504", "The store did not respond in time: the change may or may not have been applied")];
const SIGNED_IN: [(&str, &str); 2] =
    [("401", "Nobody, or by what is good no more"), ("403", "Somebody who may not do that")];
const WITH_PATH: [(&str, &str); 1] = [("404", "There is none of this name that the caller may see")];
const WITH_BODY: [(&str, &str); 3] = [
    ("400", "The body is no JSON object"),
    ("413", "The body is too large"),
    ("415", "The body is not declared as JSON"),
];

/// The operations with their document.
pub(crate) fn operations() -> OpenApiRouter<Admin> {
    let mut router = OpenApiRouter::with_openapi(base()).nest(PREFIX, api::routes());
    complete(router.get_openapi_mut());
    router
}

fn base() -> OpenApi {
    let description = "What the dashboard is made of: queues, their settings and their levers, who waits, who may do \
        what, and who did what. Errors are `{\"error\":{\"code\",\"message\",\"params\",\"field\"}}`: \
        what is said to people is English, and told by `code` and `params` as well, to be said in other languages. A \
        change that is made with the sign-in cookie needs the header `X-Vestibule-Request`.";
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
        ("account", "Signing in and out"),
        ("tenants", "The client brands"),
        ("queues", "The waiting rooms and their settings"),
        ("actions", "What operators do while a sale runs"),
        ("sessions", "Who stands where"),
        ("numbers", "How it goes and how it went"),
        ("operators", "Who may sign in"),
        ("tokens", "API tokens"),
        ("audit", "Who changed what"),
        ("settings", "All settings as one document"),
        ("themes", "What visitors see"),
    ]
    .into_iter()
    .map(|(name, description)| TagBuilder::new().name(name).description(Some(description)).build())
    .collect()
}

/// Adds what the operations leave unsaid because all of them have it.
fn complete(document: &mut OpenApi) {
    let schemas = &mut document.components.get_or_insert_default().schemas;
    let mut found = Vec::new();
    <ErrorBody as utoipa::ToSchema>::schemas(&mut found);
    schemas.extend(found);
    schemas.insert("ErrorBody".to_owned(), <ErrorBody as utoipa::PartialSchema>::schema());
    crate::phrase::describe(document);
    for (path, item) in &mut document.paths.paths {
        let in_path = path.contains('{');
        let changes = [&mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        for operation in changes.into_iter().flatten() {
            add_failures(operation, in_path, &CHANGES);
        }
        if let Some(operation) = &mut item.get {
            add_failures(operation, in_path, &[]);
        }
    }
}

fn add_failures(operation: &mut Operation, in_path: bool, more: &[(&str, &str)]) {
    let signed_in = operation.security.is_none();
    let with_body = operation.request_body.is_some();
    let all = ALWAYS.iter().chain(more);
    let all = all.chain(SIGNED_IN.iter().filter(|_| signed_in)).chain(WITH_PATH.iter().filter(|_| in_path));
    for (status, description) in all.chain(WITH_BODY.iter().filter(|_| with_body)) {
        let responses = &mut operation.responses.responses;
        responses.entry((*status).to_owned()).or_insert_with(|| RefOr::T(failure(description)));
    }
}

fn failure(description: &str) -> Response {
    let content = Content::new(Some(RefOr::<utoipa::openapi::Schema>::Ref(Ref::from_schema_name("ErrorBody"))));
    ResponseBuilder::new().description(description).content("application/json", content).build()
}

/// The document as it stands in the repository.
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
    fn every_operation_says_what_it_is_in_a_sentence() {
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

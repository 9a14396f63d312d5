//! Operations without query parameters reject all of them, as the others reject unknown ones: a `validate=true` that is ignored
//! would change what it was to test.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::Method;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::{OpenApi, RefOr};
use vestibule_core::fields::{FieldError, FieldErrorCode};

use crate::body::query_parameters;
use crate::problem::Problem;

/// The operations with query parameters: their methods and paths.
#[derive(Clone)]
pub(crate) struct Parameterized(Arc<Vec<(Method, String)>>);

impl Parameterized {
    /// Those of a document whose parameters are described in their operations.
    pub(crate) fn of(document: &OpenApi) -> Self {
        let mut found = Vec::new();
        for (path, item) in &document.paths.paths {
            let operations = [
                (Method::GET, &item.get),
                (Method::PUT, &item.put),
                (Method::POST, &item.post),
                (Method::DELETE, &item.delete),
                (Method::PATCH, &item.patch),
            ];
            let with_parameters = operations.into_iter().filter(|(_, it)| it.as_ref().is_some_and(has_parameters));
            found.extend(with_parameters.map(|(method, _)| (method, path.clone())));
        }
        Self(Arc::new(found))
    }

    fn include(&self, method: &Method, path: &str) -> bool {
        let method = if *method == Method::HEAD { &Method::GET } else { method };
        self.0.iter().any(|(of, template)| of == method && fits(template, path))
    }
}

/// Whether a path has the form of a path with variables, such as `/queues/{queue}`.
fn fits(template: &str, path: &str) -> bool {
    let is_same = |(of, segment): (&str, &str)| of.starts_with('{') || of == segment;
    template.split('/').count() == path.split('/').count() && template.split('/').zip(path.split('/')).all(is_same)
}

fn has_parameters(operation: &Operation) -> bool {
    let is_of_query = |it: &RefOr<Parameter>| matches!(it, RefOr::T(it) if it.parameter_in == ParameterIn::Query);
    operation.parameters.iter().flatten().any(is_of_query)
}

/// Rejects the parameters of an operation that has none.
pub(crate) async fn reject_unknown_parameters(
    State(parameterized): State<Parameterized>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let uri = request.uri();
    if uri.query().is_some() && !parameterized.include(request.method(), uri.path()) {
        let unknown = query_parameters(uri)?;
        let fault = || FieldErrorCode::UnknownField.with("known", FieldErrorCode::NoEntries);
        Problem::unless_valid(unknown.keys().map(|name| FieldError::new(name, fault())).collect())?;
    }
    Ok(next.run(request).await)
}

//! Descriptions of bodies and queries in the document of the API, made from their fields.

use serde_json::Value;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::{RefOr, Required, Schema};
use vestibule_core::fields::{Object, Usage};

/// A JSON Schema in the document of the API.
pub(crate) fn schema(value: Value) -> RefOr<Schema> {
    #[expect(clippy::expect_used, reason = "made of constants; a test reads it")]
    serde_json::from_value(value).expect("a schema")
}

/// A schema of an object without some of its members.
pub(crate) fn without(mut schema: Value, names: &[&str]) -> Value {
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.retain(|name, _| !names.contains(&name.as_str()));
    }
    schema
}

/// The parameters of a query in the document of the API.
pub(crate) fn query_parameters<T: Object>() -> Vec<Parameter> {
    let mut object = T::object_schema(Usage::Part);
    let required = object["required"].take();
    let Value::Object(properties) = object["properties"].take() else { return Vec::new() };
    let parameter = |(name, mut property): (String, Value)| {
        let description = property.as_object_mut().and_then(|it| it.remove("description"));
        let is_required = required.as_array().is_some_and(|all| all.contains(&Value::from(name.as_str())));
        ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Query)
            .required(if is_required { Required::True } else { Required::False })
            .description(description.as_ref().and_then(Value::as_str).map(str::to_owned))
            .schema(Some(schema(property)))
            .build()
    };
    properties.into_iter().map(parameter).collect()
}

/// Describes types in the document of the API by their fields. The usage says what for.
macro_rules! describe {
    ($($name:ident = $fields:ty, $usage:ident $(without $left_out:expr)?);+ $(;)?) => { $(
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                use vestibule_core::fields::{Object, Usage};
                let schema = <$fields as Object>::object_schema(Usage::$usage);
                $(let schema = crate::describe::without(schema, &$left_out);)?
                crate::describe::schema(schema)
            }
        }

        impl utoipa::ToSchema for $name {}
    )+ };
    (request $($name:ident),+) => { crate::describe::describe! { $($name = $name, Request);+ } };
    (query $($name:ident),+) => { $(
        impl utoipa::IntoParams for $name {
            fn into_params(
                _: impl Fn() -> Option<utoipa::openapi::path::ParameterIn>,
            ) -> Vec<utoipa::openapi::path::Parameter> {
                crate::describe::query_parameters::<Self>()
            }
        }
    )+ };
}
pub(crate) use describe;

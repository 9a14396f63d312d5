//! Descriptions of bodies and queries in the document of the API, made from their fields.

use std::borrow::Cow;

use serde_json::Value;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::SchemaType;
use utoipa::openapi::{ObjectBuilder, RefOr, Required, Schema, Type};
use utoipa::{PartialSchema, ToSchema};
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

/// A schema of an object with only these members.
pub(crate) fn only(mut schema: Value, names: &[&str]) -> Value {
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.retain(|name, _| names.contains(&name.as_str()));
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

/// The schema of a [`FieldChange`](vestibule_core::settings::FieldChange), which can have any values.
pub(crate) struct FieldChangeSchema;

impl PartialSchema for FieldChangeSchema {
    fn schema() -> RefOr<Schema> {
        let member = |kind: SchemaType, text| ObjectBuilder::new().schema_type(kind).description(Some(text));
        let members = [
            ("field", member(Type::String.into(), "Name of the field.")),
            ("from", member(SchemaType::AnyValue, "The old value.")),
            ("to", member(SchemaType::AnyValue, "The new value.")),
        ];
        let change = ObjectBuilder::new().description(Some("A changed field."));
        members.into_iter().fold(change, |change, (name, member)| change.property(name, member).required(name)).into()
    }
}

impl ToSchema for FieldChangeSchema {
    fn name() -> Cow<'static, str> {
        "FieldChange".into()
    }
}

/// Describes types in the document of the API by their fields. The usage says what for.
macro_rules! describe {
    ($($name:ident = $fields:ty, $usage:ident $(without $left_out:expr)? $(, only $kept:expr)?);+ $(;)?) => { $(
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                use vestibule_core::fields::{Object, Usage};
                let schema = <$fields as Object>::object_schema(Usage::$usage);
                $(let schema = crate::describe::without(schema, &$left_out);)?
                $(let schema = crate::describe::only(schema, &$kept);)?
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

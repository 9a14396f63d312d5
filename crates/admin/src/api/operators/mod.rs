//! Operators: who may sign in. All of this is for superusers. To change anything they must have signed in, and given their
//! password a short while ago: a token or a cookie that was stolen must not become an account.

mod create;
mod list;
mod read;
mod remove;
mod remove_totp;
mod update;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::settings::Fields;

use crate::access::{Operator, OperatorName, Role, is_password};
use crate::codes::Code;
use crate::merge_patch::FieldChange;
use crate::problem::Problem;
use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(list::list_operators, create::create_operator))
        .routes(routes!(read::get_operator, update::update_operator, remove::remove_operator))
        .routes(routes!(remove_totp::remove_operator_totp))
}

/// An operator, without the password.
#[derive(Serialize, ToSchema)]
pub(crate) struct OperatorView {
    /// Name of the operator.
    name: String,
    /// The role.
    role: Role,
    /// The accessible tenants; empty for a superuser, who has all.
    tenants: Vec<String>,
    /// Creation time in seconds since 1970.
    created_at: u64,
    /// When the password was set, in seconds since 1970; `null` without a password, for single
    /// sign-on.
    password_at: Option<u64>,
    /// When TOTP was set up, in seconds since 1970; `null` without TOTP.
    totp_at: Option<u64>,
}

impl OperatorView {
    fn of(name: &OperatorName, operator: &Operator) -> Self {
        Self {
            name: name.to_string(),
            role: operator.scope.role,
            tenants: operator.scope.tenants.iter().map(ToString::to_string).collect(),
            created_at: operator.created_at.seconds(),
            password_at: operator.password.as_ref().map(|_| operator.password_at.seconds()),
            totp_at: operator.totp.as_ref().map(|totp| totp.set_up_at.seconds()),
        }
    }

    /// What the audit log is told of the scope.
    fn scope(operator: Option<&Operator>) -> Value {
        operator.map_or(Value::Null, |it| serde_json::json!({ "role": it.scope.role, "tenants": it.scope.tenants }))
    }
}

/// A new password in a body.
fn password(fields: &mut Fields<'_>, required: bool) -> Option<String> {
    let parse = |value: &Value| value.as_str().filter(|text| is_password(text)).map(str::to_owned);
    fields.secret("password", required, Code::NewPassword, parse)
}

async fn find(admin: &Admin, name: &str) -> Result<(OperatorName, Operator, u64), Problem> {
    let unknown = || Problem::NotFound(Code::AnOperator);
    let name: OperatorName = name.parse().map_err(|_| unknown())?;
    let (operator, revision) = Operator::load(&*admin.records, &name).await?.ok_or_else(unknown)?;
    Ok((name, operator, revision))
}

/// Whether there is another superuser. A hint before something is confirmed; the write itself makes sure of it.
async fn not_the_last(admin: &Admin, name: &OperatorName) -> Result<(), Problem> {
    let all = Operator::all(&*admin.records).await?;
    if all.iter().any(|(other, operator, _)| other != name && operator.is_superuser()) {
        return Ok(());
    }
    Err(Problem::LastSuperuser(name.to_string()))
}

/// That a password was set, without it.
fn password_set() -> FieldChange {
    FieldChange { field: "password".to_owned(), from: Value::Null, to: Value::String("set".to_owned()) }
}

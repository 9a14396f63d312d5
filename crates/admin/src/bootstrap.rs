//! Operators that are created outside the API: the first superuser, and those of the command line.

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};
use tracing::{info, warn};
use vestibule_core::settings::differences;
use vestibule_core::{StoreError, TenantId};
use vestibule_records::RecordStore;

use crate::access::{Operator, OperatorName, PasswordHasher, Role, Scope, is_password};
use crate::audit::audit_operator;
use crate::codes::{NAME_FORMAT, PASSWORD_FORMAT};
use crate::problem::Problem;

/// An operator to be made. Prints its name only.
#[derive(Clone)]
pub struct NewOperator {
    name: OperatorName,
    password: String,
    scope: Scope,
}

impl NewOperator {
    /// A superuser.
    ///
    /// # Errors
    /// A name or a password that is none; never repeats either.
    pub fn superuser(name: &str, password: &str) -> Result<Self, NewOperatorError> {
        Self::of(name, password, Scope { role: Role::Superuser, tenants: Vec::new() })
    }

    /// Somebody who changes the queues of these tenants.
    ///
    /// # Errors
    /// A name or a password that is none, or no tenant.
    pub fn operator(name: &str, password: &str, tenants: Vec<TenantId>) -> Result<Self, NewOperatorError> {
        Self::of(name, password, Scope { role: Role::Operator, tenants })
    }

    /// Somebody who looks at the queues of these tenants.
    ///
    /// # Errors
    /// A name or a password that is none, or no tenant.
    pub fn viewer(name: &str, password: &str, tenants: Vec<TenantId>) -> Result<Self, NewOperatorError> {
        Self::of(name, password, Scope { role: Role::Viewer, tenants })
    }

    fn of(name: &str, password: &str, scope: Scope) -> Result<Self, NewOperatorError> {
        let name = name.parse().map_err(|_| NewOperatorError::Name)?;
        if !is_password(password) {
            return Err(NewOperatorError::Password);
        }
        if scope.role != Role::Superuser && scope.tenants.is_empty() {
            return Err(NewOperatorError::Tenants);
        }
        Ok(Self { name, password: password.to_owned(), scope })
    }

    /// Writes the operator over a revision, 0 for a new one.
    async fn store(&self, records: &dyn RecordStore, over: u64) -> Result<(), Problem> {
        let now = records.now().await?;
        let password = PasswordHasher::default().hash(&self.password).await?;
        let operator = Operator {
            scope: self.scope.clone(),
            password: Some(password),
            password_at: now,
            created_at: now,
            totp: None,
        };
        operator.store(records, &self.name, over).await?;
        let created = json!({ "role": self.scope.role, "tenants": self.scope.tenants, "password": "set" });
        let action = if over == 0 { "operator.create" } else { "operator.update" };
        audit_operator(records, action, self.name.as_str(), differences(&Value::Null, &created)).await;
        Ok(())
    }
}

impl fmt::Debug for NewOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NewOperator({})", self.name)
    }
}

/// Reads `name:password` (`VESTIBULE_ADMIN_BOOTSTRAP`) as a superuser.
impl FromStr for NewOperator {
    type Err = NewOperatorError;

    fn from_str(text: &str) -> Result<Self, NewOperatorError> {
        let (name, password) = text.split_once(':').ok_or(NewOperatorError::Form)?;
        Self::superuser(name, password).map_err(|_| NewOperatorError::Form)
    }
}

/// What is wrong with an operator that is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NewOperatorError {
    /// Not of the form `name:password`. Never repeats what was given.
    #[error("must be name:password: a name of {NAME_FORMAT} and a password of {PASSWORD_FORMAT}")]
    Form,
    /// No name.
    #[error("the name must be {NAME_FORMAT}")]
    Name,
    /// No password.
    #[error("the password must be {PASSWORD_FORMAT}")]
    Password,
    /// A role that holds for tenants, without any.
    #[error("name a tenant: this role holds for the tenants that it is given only")]
    Tenants,
}

/// Makes the first superuser, unless there is a superuser already. Whether one was made.
///
/// # Errors
/// The store's.
pub async fn bootstrap(records: &dyn RecordStore, first: &NewOperator) -> Result<bool, StoreError> {
    if has_superuser(records).await? {
        return Ok(false);
    }
    let made = create_operator(records, first).await?;
    if !made {
        // Another process was faster, or the name is an operator's who is no superuser.
        warn!(operator = %first.name, "the first superuser was not made: there is an operator of this name already");
    }
    Ok(made)
}

/// Whether anybody may do everything.
///
/// # Errors
/// The store's.
pub async fn has_superuser(records: &dyn RecordStore) -> Result<bool, StoreError> {
    Ok(Operator::all(records).await?.iter().any(|(_, operator, _)| operator.scope.role == Role::Superuser))
}

/// Makes an operator. `false` if the name is taken.
///
/// # Errors
/// The store's.
pub async fn create_operator(records: &dyn RecordStore, new: &NewOperator) -> Result<bool, StoreError> {
    written(new, new.store(records, 0).await)
}

/// Makes an operator, in place of one of the same name: whose password is lost gets in again, and every sign-in under
/// the old password ends. They have no TOTP afterwards. `false` if somebody else changed that one meanwhile.
///
/// # Errors
/// The store's.
pub async fn replace_operator(records: &dyn RecordStore, new: &NewOperator) -> Result<bool, StoreError> {
    let before = Operator::load(records, &new.name).await?;
    written(new, new.store(records, before.map_or(0, |(_, revision)| revision)).await)
}

fn written(new: &NewOperator, outcome: Result<(), Problem>) -> Result<bool, StoreError> {
    match outcome {
        Ok(()) => {
            info!(operator = %new.name, role = ?new.scope.role, "an operator was made");
            Ok(true)
        }
        Err(Problem::Store(error) | Problem::OutcomeUnknown(error)) => Err(error),
        Err(_) => Ok(false),
    }
}

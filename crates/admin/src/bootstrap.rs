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

/// An operator to create. Prints its name only.
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
    /// The name or the password is invalid; the message never repeats either.
    pub fn superuser(name: &str, password: &str) -> Result<Self, NewOperatorError> {
        Self::of(name, password, Scope { role: Role::Superuser, tenants: Vec::new() })
    }

    /// An operator of the queues of these tenants.
    ///
    /// # Errors
    /// The name or the password is invalid, or there is no tenant.
    pub fn operator(name: &str, password: &str, tenants: Vec<TenantId>) -> Result<Self, NewOperatorError> {
        Self::of(name, password, Scope { role: Role::Operator, tenants })
    }

    /// A viewer of the queues of these tenants.
    ///
    /// # Errors
    /// The name or the password is invalid, or there is no tenant.
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

/// Why an operator cannot be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NewOperatorError {
    /// Not of the form `name:password`. Never repeats what was given.
    #[error("must be name:password: a name of {NAME_FORMAT} and a password of {PASSWORD_FORMAT}")]
    Form,
    /// The name is invalid.
    #[error("the name must be {NAME_FORMAT}")]
    Name,
    /// The password is invalid.
    #[error("the password must be {PASSWORD_FORMAT}")]
    Password,
    /// The role needs a tenant, and there is none.
    #[error("the roles operator and viewer need at least one tenant")]
    Tenants,
}

/// Creates the first superuser, unless there is a superuser already. Returns whether one was created.
///
/// # Errors
/// The store's.
pub async fn bootstrap(records: &dyn RecordStore, first: &NewOperator) -> Result<bool, StoreError> {
    if has_superuser(records).await? {
        return Ok(false);
    }
    let is_created = create_operator(records, first).await?;
    if !is_created {
        // Another process was faster, or the operator of this name is not a superuser.
        warn!(operator = %first.name, "the first superuser was not created: there is an operator of this name already");
    }
    Ok(is_created)
}

/// Whether there is a superuser.
///
/// # Errors
/// The store's.
pub async fn has_superuser(records: &dyn RecordStore) -> Result<bool, StoreError> {
    Ok(Operator::all(records).await?.iter().any(|(_, operator, _)| operator.scope.role == Role::Superuser))
}

/// Creates an operator. `false` if the name is taken.
///
/// # Errors
/// The store's.
pub async fn create_operator(records: &dyn RecordStore, new: &NewOperator) -> Result<bool, StoreError> {
    written(new, new.store(records, 0).await)
}

/// Creates an operator, or replaces the one of this name: for operators who lost their password. All their sign-ins end, and
/// they have no TOTP afterwards. `false` if the operator was changed at the same time.
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
            info!(operator = %new.name, role = ?new.scope.role, "operator created");
            Ok(true)
        }
        Err(Problem::Store(error) | Problem::OutcomeUnknown(error)) => Err(error),
        Err(_) => Ok(false),
    }
}

//! Operators that are created outside the API: the first superuser, and those of the command line.

#![expect(clippy::missing_errors_doc, reason = "functions without that section return the error of the store")]

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value, json};
use tracing::{info, warn};
use vestibule_core::settings::{FieldError, differences};
use vestibule_core::{StoreError, TenantId};
use vestibule_records::RecordStore;
use vestibule_runtime::StorageError;

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

    /// Writes the operator, unless the name is taken.
    async fn store(&self, records: &dyn RecordStore) -> Result<(), Problem> {
        let now = records.now().await?;
        let password = PasswordHasher::default().hash(&self.password).await?;
        let operator = Operator {
            scope: self.scope.clone(),
            password: Some(password),
            password_at: now,
            created_at: now,
            totp: None,
            unknown: Map::new(),
        };
        operator.store(records, &self.name, 0).await?;
        let created = json!({ "role": self.scope.role, "tenants": self.scope.tenants, "password": "set" });
        audit_operator(records, "operator.create", self.name.as_str(), differences(&Value::Null, &created)).await;
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
pub async fn bootstrap(records: &dyn RecordStore, first: &NewOperator) -> Result<bool, StoreError> {
    if has_superuser(records).await? {
        return Ok(false);
    }
    let is_created = create_operator(records, first).await?;
    if !is_created {
        // Another process was faster, or the operator of this name is not a superuser.
        warn!(operator = %first.name, "the first superuser was not created: an operator with this name already exists");
    }
    Ok(is_created)
}

/// Whether there is a superuser.
pub async fn has_superuser(records: &dyn RecordStore) -> Result<bool, StoreError> {
    Operator::has_superuser(records).await
}

/// Creates an operator. `false` if the name is taken.
pub async fn create_operator(records: &dyn RecordStore, new: &NewOperator) -> Result<bool, StoreError> {
    match new.store(records).await {
        Ok(()) => {
            info!(operator = %new.name, role = new.scope.role.as_str(), "operator created");
            Ok(true)
        }
        Err(Problem::Store(error) | Problem::OutcomeUnknown(StorageError::Store(error))) => Err(error),
        Err(_) => Ok(false),
    }
}

/// A new password for an operator who lost theirs, and a new role or new tenants where they are given. Prints its name only.
#[derive(Clone)]
pub struct OperatorReset {
    name: OperatorName,
    password: String,
    role: Option<Role>,
    tenants: Option<Vec<TenantId>>,
}

impl OperatorReset {
    /// A reset of the operator of this name. Without a role they keep theirs; without tenants they keep theirs.
    ///
    /// # Errors
    /// The name or the password is invalid; the message never repeats either.
    pub fn new(
        name: &str,
        password: &str,
        role: Option<Role>,
        tenants: Vec<TenantId>,
    ) -> Result<Self, NewOperatorError> {
        let name = name.parse().map_err(|_| NewOperatorError::Name)?;
        if !is_password(password) {
            return Err(NewOperatorError::Password);
        }
        let tenants = (!tenants.is_empty()).then_some(tenants);
        Ok(Self { name, password: password.to_owned(), role, tenants })
    }

    /// Writes the operator over `before`, and audits what changed.
    async fn store(
        &self,
        records: &dyn RecordStore,
        (before, revision): (&Operator, u64),
        scope: Scope,
    ) -> Result<(), Problem> {
        let now = records.now().await?;
        let password = Some(PasswordHasher::default().hash(&self.password).await?);
        // With the time of creation, which API tokens are compared with.
        let after = Operator { scope, password, password_at: now, totp: None, ..before.clone() };
        after.replace(records, &self.name, (before, revision)).await?;
        let audited =
            |it: &Operator| json!({ "role": it.scope.role, "tenants": it.scope.tenants, "totp": it.totp.is_some() });
        let (from, mut to) = (audited(before), audited(&after));
        to["password"] = json!("set");
        audit_operator(records, "operator.update", self.name.as_str(), differences(&from, &to)).await;
        Ok(())
    }
}

impl fmt::Debug for OperatorReset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OperatorReset({})", self.name)
    }
}

/// Why an operator is not reset.
#[derive(Debug, thiserror::Error)]
pub enum OperatorResetError {
    /// There is no operator of this name.
    #[error("there is no operator of this name")]
    Unknown,
    /// The role and the tenants do not fit.
    #[error("{0}")]
    Scope(FieldError),
    /// Without this operator, nobody could manage operators.
    #[error("this is the last superuser; create another one before you change the role")]
    LastSuperuser,
    /// Someone else changed the operator.
    #[error("the operator was changed by someone else at the same time")]
    Conflict,
    /// The store's.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Problem> for OperatorResetError {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::Store(error) | Problem::OutcomeUnknown(StorageError::Store(error)) => Self::Store(error),
            Problem::LastSuperuser(_) => Self::LastSuperuser,
            _ => Self::Conflict,
        }
    }
}

/// Resets an operator. All their sign-ins end, and they have no TOTP afterwards; their API tokens stay valid. Returns their role.
///
/// # Errors
/// The reset is refused, or the store's error.
pub async fn reset_operator(records: &dyn RecordStore, reset: &OperatorReset) -> Result<Role, OperatorResetError> {
    let Some((before, revision)) = Operator::load(records, &reset.name).await? else {
        return Err(OperatorResetError::Unknown);
    };
    let scope = Scope::updated(Some(&before.scope), reset.role, reset.tenants.clone());
    let scope = scope.map_err(OperatorResetError::Scope)?;
    let role = scope.role;
    reset.store(records, (&before, revision), scope).await?;
    info!(operator = %reset.name, role = role.as_str(), "operator reset");
    Ok(role)
}

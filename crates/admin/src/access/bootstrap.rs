//! The first superuser.

use tracing::{info, warn};
use vestibule_core::StoreError;
use vestibule_core::records::Records;

use crate::access::{NAME_TAKES, Operator, OperatorName, PASSWORD_TAKES, Passwords, Role, Scope, is_password};
use crate::problem::Problem;

/// Why there is no first superuser.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// Not of the form `name:password`. Never repeats what was given.
    #[error("takes name:password, the name of {NAME_TAKES}, the password of {PASSWORD_TAKES}")]
    Form,
    /// The store could not be asked.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes the first superuser from `name:password` (`VESTIBULE_ADMIN_BOOTSTRAP`), unless there is a superuser already.
/// Whether one was made.
///
/// # Errors
/// A text of another form, or the store's.
pub async fn bootstrap(records: &dyn Records, text: &str) -> Result<bool, BootstrapError> {
    let (name, password) = text.split_once(':').ok_or(BootstrapError::Form)?;
    let name: OperatorName = name.parse().map_err(|_| BootstrapError::Form)?;
    if !is_password(password) {
        return Err(BootstrapError::Form);
    }
    if Operator::all(records).await?.iter().any(|(_, operator, _)| operator.scope.role == Role::Superuser) {
        return Ok(false);
    }
    let password = Passwords::default().hash(password).await?;
    let scope = Scope { role: Role::Superuser, tenants: Vec::new() };
    let now = records.now().await?;
    let operator = Operator { scope, password, password_at: now, created_at: now };
    match operator.store(records, &name, 0).await {
        Ok(_) => {
            info!(operator = %name, "the first superuser was made");
            Ok(true)
        }
        Err(Problem::Store(error)) => Err(error.into()),
        // Another process was faster, or the name is an operator's who is no superuser.
        Err(_) => {
            warn!(operator = %name, "the first superuser was not made: there is an operator of this name already");
            Ok(false)
        }
    }
}

//! Roles and their tenants.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vestibule_core::fields::{FieldError, List};
use vestibule_core::{TenantId, word_field};

use crate::codes::Code;

/// Maximum number of tenants of an operator or a token.
const TENANTS_MAX: usize = 100;

/// A role; each includes the permissions of the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum Role {
    /// Views the queues of their tenants.
    Viewer,
    /// Changes the queues of their tenants.
    Operator,
    /// All permissions for all tenants.
    Superuser,
}

word_field!(Role { Viewer = "viewer", Operator = "operator", Superuser = "superuser" });

/// The tenants of an operator or a token in a request.
pub(crate) type TenantIds = List<TenantId, 0, TENANTS_MAX>;

/// The tenants of a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tenants {
    /// All tenants.
    All,
    /// These tenants.
    These(Vec<TenantId>),
}

impl Tenants {
    pub(crate) fn include(&self, tenant: &TenantId) -> bool {
        match self {
            Self::All => true,
            Self::These(these) => these.contains(tenant),
        }
    }
}

/// A role and its tenants, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Scope {
    pub(crate) role: Role,
    /// Empty for a superuser, who has all.
    pub(crate) tenants: Vec<TenantId>,
}

impl Scope {
    pub(crate) fn tenants(&self) -> Tenants {
        if self.role == Role::Superuser { Tenants::All } else { Tenants::These(self.tenants.clone()) }
    }

    /// This scope limited to the scope of its owner.
    pub(crate) fn within(&self, owner: &Self) -> (Role, Tenants) {
        let role = self.role.min(owner.role);
        let tenants = match (self.tenants(), owner.tenants()) {
            (Tenants::All, tenants) | (tenants, Tenants::All) => tenants,
            (Tenants::These(these), most) => {
                Tenants::These(these.into_iter().filter(|tenant| most.include(tenant)).collect())
            }
        };
        (role, tenants)
    }

    /// A scope with a new role and new tenants, where they are given. A superuser has all tenants; others need some.
    pub(crate) fn updated(
        before: Option<&Self>,
        role: Option<Role>,
        tenants: Option<Vec<TenantId>>,
    ) -> Result<Self, FieldError> {
        let role = role.or(before.map(|it| it.role)).unwrap_or(Role::Viewer);
        let mut tenants = tenants.or(before.map(|it| it.tenants.clone())).unwrap_or_default();
        tenants.sort();
        tenants.dedup();
        match (role, tenants.is_empty()) {
            (Role::Superuser, false) if before.is_none_or(|before| before.role == Role::Superuser) => {
                Err(FieldError::new("tenants", Code::SuperuserHasAll))
            }
            (Role::Superuser, _) => Ok(Self { role, tenants: Vec::new() }),
            (Role::Viewer | Role::Operator, true) => Err(FieldError::new("tenants", Code::NeedsTenant)),
            (Role::Viewer | Role::Operator, false) => Ok(Self { role, tenants }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(role: Role, tenants: &[&str]) -> Scope {
        Scope { role, tenants: tenants.iter().map(|id| id.parse().unwrap()).collect() }
    }

    #[test]
    fn token_never_exceeds_its_owner() {
        let owner = scope(Role::Operator, &["acme", "blue"]);
        let (role, tenants) = scope(Role::Superuser, &[]).within(&owner);
        assert_eq!((role, tenants), (Role::Operator, owner.tenants()));
        let (role, tenants) = scope(Role::Viewer, &["acme", "coral"]).within(&owner);
        assert_eq!((role, tenants), (Role::Viewer, scope(Role::Viewer, &["acme"]).tenants()));
        let (role, tenants) = scope(Role::Viewer, &["acme"]).within(&scope(Role::Superuser, &[]));
        assert_eq!((role, tenants), (Role::Viewer, scope(Role::Viewer, &["acme"]).tenants()));
    }
}

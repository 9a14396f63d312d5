//! Roles, and the tenants that they hold for.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use vestibule_core::settings::{FieldWording, Fields};
use vestibule_core::{Message, TenantId};

use crate::codes::Code;
use crate::query::one_of;

/// Most tenants that an operator or a token is given.
const TENANTS_MAX: usize = 100;

/// A role; each includes the permissions of the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// Views the queues of their tenants.
    Viewer,
    /// Changes the queues of their tenants.
    Operator,
    /// All permissions for all tenants.
    Superuser,
}

impl Role {
    /// What a field of it takes.
    fn takes() -> Message {
        one_of(&["\"viewer\"", "\"operator\"", "\"superuser\""])
    }

    pub(crate) fn parse(value: &Value) -> Option<Self> {
        serde_json::from_value(value.clone()).ok()
    }
}

/// The tenants that a role holds for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tenants {
    /// All there are.
    All,
    /// These.
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

/// A role and what it holds for, as it is kept.
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

    /// What is left of this scope in the hands of somebody whose own is `owner`.
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

    /// Reads `role` and `tenants`; what is absent is as `before` has it.
    pub(crate) fn read(fields: &mut Fields<'_>, before: Option<&Self>) -> Self {
        let role = match before {
            Some(before) => fields.or("role", before.role, Role::takes(), Role::parse),
            None => fields.required("role", Role::takes(), Role::parse).unwrap_or(Role::Viewer),
        };
        let takes = Code::TenantIds.with("most", TENANTS_MAX).with("id", FieldWording::Id);
        let kept = before.map(|before| before.tenants.clone()).unwrap_or_default();
        let tenants = fields.or("tenants", kept, takes, tenants);
        match (role, tenants.is_empty()) {
            (Role::Superuser, false) if before.is_none_or(|before| before.role == Role::Superuser) => {
                fields.refuse("tenants", Code::SuperuserHasAll);
            }
            (Role::Viewer | Role::Operator, true) => {
                fields.refuse("tenants", Code::NeedsTenant);
            }
            _ => {}
        }
        Self { role, tenants: if role == Role::Superuser { Vec::new() } else { tenants } }
    }
}

fn tenants(value: &Value) -> Option<Vec<TenantId>> {
    let items = value.as_array().filter(|items| items.len() <= TENANTS_MAX)?;
    let mut tenants: Vec<TenantId> = items.iter().map(|item| item.as_str()?.parse().ok()).collect::<Option<_>>()?;
    tenants.sort();
    tenants.dedup();
    Some(tenants)
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

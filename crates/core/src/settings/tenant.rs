//! Tenants: the brands whose queues these are.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::allowlist::{self, ENTRIES_MAX, OriginPattern};
use super::document::{NAME_MAX, id, name, not_a_table};
use super::fields::{FieldError, Fields};
use super::wording::FieldWording as W;
use crate::TenantId;

/// A client brand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tenant {
    /// The tenant's id.
    pub id: TenantId,
    /// The brand as visitors know it.
    pub name: String,
    /// The brand's color as `#rrggbb`; `None` is the built-in theme's own.
    pub color: Option<String>,
    /// Address of the brand's logo within its theme's folder; `None` shows the name instead.
    pub logo: Option<String>,
    /// Domains that the hosts and cookie domains of its queues are or lie below; `None` leaves them to superusers and the
    /// settings file.
    pub domains: Option<Vec<String>>,
    /// Origins that its queues hand visitors over to; `None` leaves them to superusers and the settings file.
    pub origins: Option<Vec<OriginPattern>>,
}

impl Tenant {
    /// The tenant in a document of one tenant.
    ///
    /// # Errors
    /// Every wrong field, by name, with what it takes.
    pub fn from_value(value: &Value) -> Result<Self, Vec<FieldError>> {
        let map = value.as_object().ok_or_else(|| not_a_table("tenant"))?;
        Self::parse(map, "")
    }

    pub(super) fn parse(map: &Map<String, Value>, path: &str) -> Result<Self, Vec<FieldError>> {
        let mut fields = Fields::new(map, path);
        let id = fields.required("id", W::Id, id::<TenantId>);
        let brand = fields.required("name", W::Name, name);
        let color = fields.optional("color", W::Color, color);
        let logo = fields.optional("logo", W::Logo, logo);
        let domains = fields.optional("domains", W::Domains.with("most", ENTRIES_MAX), allowlist::domains);
        let origins = fields.optional("origins", W::Origins.with("most", ENTRIES_MAX), allowlist::origins);
        let errors = fields.finish();
        match (id, brand) {
            (Some(id), Some(name)) if errors.is_empty() => Ok(Self { id, name, color, logo, domains, origins }),
            _ => Err(errors),
        }
    }
}

fn color(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let digits = text.strip_prefix('#')?;
    (digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_hexdigit())).then(|| text.to_ascii_lowercase())
}

fn logo(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
    let fits = !text.is_empty()
        && text.len() <= NAME_MAX
        && text.chars().all(plain)
        && text.split('/').all(|part| !part.is_empty() && !part.starts_with('.'));
    fits.then(|| text.to_owned())
}

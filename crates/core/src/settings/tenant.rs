//! Tenants: the brands that own queues.

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
    /// The name shown to visitors.
    pub name: String,
    /// The brand color as `#rrggbb`; `None` is that of the built-in theme.
    pub color: Option<String>,
    /// Path of the logo within the theme's folder; `None` shows the name instead.
    pub logo: Option<String>,
    /// Allowed domains for the hosts and cookie domains of its queues, including subdomains; `None`
    /// leaves them to superusers and the settings file.
    pub domains: Option<Vec<String>>,
    /// Allowed origins of its queues; `None` leaves them to superusers and the settings file.
    pub origins: Option<Vec<OriginPattern>>,
}

impl Tenant {
    /// Parses a tenant.
    ///
    /// # Errors
    /// Returns every invalid field by name, with the accepted values.
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

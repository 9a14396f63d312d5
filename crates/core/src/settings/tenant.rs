//! Tenants: the brands that own queues.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::host::DomainName;
use super::name::{NAME_MAX, Name};
use super::origin_pattern::OriginPattern;
use crate::fields::FieldErrorCode as Code;
use crate::fields::{Bounded, FieldError, List, Nullable, Object as _};
use crate::{Message, TenantId};

/// Maximum number of domains, and of origins, per tenant.
const ENTRIES_MAX: usize = 100;
/// Maximum number of job queues of a deployment.
pub const JOB_QUEUES_MAX: usize = 1_000;
/// Maximum number of job queues of a tenant for which no other is set.
const JOB_QUEUES_DEFAULT: u64 = 100;

crate::fields! {
    /// A client brand.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Tenant as "TenantDraft" {
        /// ID of the tenant.
        pub id: TenantId,
        /// Brand name shown to visitors.
        pub name: Name,
        /// Brand color as `#rrggbb`; `null` for that of the theme.
        pub color: Nullable<Color>,
        /// Path of the logo within the theme; `null` shows the name.
        pub logo: Nullable<Logo>,
        /// Allowed domains for hosts and cookies of its queues, including subdomains. `null`: only superusers and the
        /// settings file can set them.
        pub domains: Nullable<List<DomainName, 0, ENTRIES_MAX>>,
        /// Allowed origins of its queues, such as `https://www.example.com` or `https://*.example.com`. Only an origin that
        /// is listed exactly can be in a private network. `null`: only superusers and the settings file can set them.
        pub origins: Nullable<List<OriginPattern, 0, ENTRIES_MAX>>,
        /// Maximum number of its job queues; `null` is 100. Only superusers and the settings file can set it.
        pub max_job_queues: Nullable<Bounded<0, { JOB_QUEUES_MAX as u64 }>>,
    }
}

crate::text_kind! {
    /// A color as `#rrggbb`.
    pub Color: Code::Color, { "pattern": "^#[0-9a-fA-F]{6}$" }, color;
    /// A file of a theme's folder.
    pub Logo: Code::Logo, { "maxLength": NAME_MAX }, logo;
}

impl Tenant {
    /// Parses a tenant.
    ///
    /// # Errors
    /// Returns every invalid field by name.
    pub fn from_value(value: &Value) -> Result<Self, Vec<FieldError>> {
        Self::from_json(value)
    }

    /// Why the tenant cannot have this number of job queues.
    pub fn job_queue_count_refusal(&self, count: usize) -> Option<Message> {
        let most = self.max_job_queues.unwrap_or(JOB_QUEUES_DEFAULT);
        let fault = || Code::TooManyJobQueues.with("tenant", self.id.as_str()).with("most", most);
        (count as u64 > most).then(fault)
    }
}

fn color(text: &str) -> Option<String> {
    let digits = text.strip_prefix('#')?;
    (digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_hexdigit())).then(|| text.to_ascii_lowercase())
}

fn logo(text: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
    let fits = !text.is_empty()
        && text.len() <= NAME_MAX
        && text.chars().all(plain)
        && text.split('/').all(|part| !part.is_empty() && !part.starts_with('.'));
    fits.then(|| text.to_owned())
}

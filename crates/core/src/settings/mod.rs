//! Settings of queues and tenants, their accepted values, and the parsing of documents.

mod allowlist;
mod document;
mod fields;
mod host;
mod origin;
mod path;
mod reach;
mod rule;
mod tenant;
mod wording;

pub use allowlist::OriginPattern;
pub use document::{Document, parse_settings_document};
pub use fields::{FieldError, Fields};
pub use host::{HostPattern, InvalidHost, is_subdomain_of, normalise_host};
pub use origin::{InvalidOrigin, Origin};
pub use path::{PathReadings, path_readings};
pub use reach::Reach;
pub use rule::{
    NamedValue, PathGlobs, RULES_MAX, RequestAttributes, Rule, RuleAction, Ruling, action_of, decide, decisive, rulings,
};
pub use tenant::Tenant;
pub use wording::FieldWording;

use serde_json::{Map, Value, json};

use self::fields::Reading;
use crate::line::LineRules;
use crate::{QueueId, TenantId, ThemeId};

pub use crate::line::Mode;

/// Placeholder in the names of queues and tenants for the host that the visitor requested.
pub const HOST_GAP: &str = "{host}";

/// How an admitted visitor reaches the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandoverKind {
    /// A 302 to the origin with path and query unchanged.
    Redirect,
    /// The gate forwards the request and streams the response.
    Proxy,
    /// The gate responds with 200 and the proxy in front of it forwards the request (forward-auth).
    Check,
}

/// How CORS preflight requests, which carry no ticket, are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preflights {
    /// The gate answers and allows the pages of the queue's hosts and of its origin.
    Answer,
    /// Preflights are forwarded to the origin, reduced to what a preflight needs.
    Forward,
}

/// How and where admitted visitors are handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handover {
    /// The kind of handover.
    pub kind: HandoverKind,
    /// The site itself; `None` only for [`HandoverKind::Check`].
    pub origin: Option<Origin>,
    /// How CORS preflights are handled.
    pub preflights: Preflights,
}

/// What happens while the store is unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFailure {
    /// Visitors with a valid admitted ticket continue; others wait with their last known position.
    Tickets,
    /// All visitors continue.
    Open,
    /// No new visitor continues.
    Closed,
}

/// The settings of one queue. Times are in seconds.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The queue's id.
    pub id: QueueId,
    /// The tenant it belongs to.
    pub tenant: TenantId,
    /// The name shown to visitors: the event, the sale or the shop. [`HOST_GAP`] is replaced by the
    /// requested host.
    pub name: String,
    /// The hosts that it protects.
    pub hosts: Vec<HostPattern>,
    /// Which requests to those hosts it applies to; see [`decide`].
    pub rules: Vec<Rule>,
    /// The settings of the line: mode, quota, rate, times, epoch and revision.
    pub line: LineRules,
    /// Age of an admitted ticket, in seconds, up to which the store is not asked; 0 = always ask.
    pub recheck_after: u64,
    /// How an admitted visitor reaches the site.
    pub handover: Handover,
    /// The theme of its pages; `None` is the built-in theme.
    pub theme: Option<ThemeId>,
    /// HTTP status of the queue page: 200, 202, 429 or 503.
    pub queue_status: u16,
    /// What happens while the store is unavailable.
    pub store_failure: StoreFailure,
    /// Domain of the ticket and pass cookies; `None` limits them to the host.
    pub cookie_domain: Option<String>,
    /// Stored fields unknown to this version, preserved for the version that knows them.
    pub unknown_fields: Map<String, Value>,
}

impl Settings {
    /// The settings as a document that [`Self::from_value`] parses.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let line = &self.line;
        let mut handover = Map::new();
        handover.insert("kind".into(), json!(document::HANDOVERS.name(self.handover.kind)));
        if let Some(origin) = &self.handover.origin {
            handover.insert("origin".into(), json!(origin.to_string()));
        }
        handover.insert("preflights".into(), json!(document::PREFLIGHTS.name(self.handover.preflights)));
        json!({
            "id": self.id, "tenant": self.tenant, "name": self.name, "epoch": line.epoch,
            "hosts": self.hosts.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "rules": self.rules.iter().map(Rule::to_value).collect::<Vec<_>>(),
            "mode": document::MODES.name(line.mode), "quota": line.quota,
            "admissions_per_minute": line.admissions_per_minute, "waiting_ttl": line.waiting_ttl,
            "active_ttl": line.active_ttl, "claim_ttl": line.claim_ttl, "hold_ttl": line.hold_ttl,
            "max_session": line.max_session, "recheck_after": self.recheck_after, "handover": handover,
            "theme": self.theme, "queue_status": self.queue_status,
            "store_failure": document::STORE_FAILURES.name(self.store_failure),
            "cookie_domain": self.cookie_domain, "revision": line.revision,
        })
    }

    /// Parses the settings of one queue.
    ///
    /// # Errors
    /// Returns every invalid field by name, with the accepted values.
    pub fn from_value(value: &Value) -> Result<Self, Vec<FieldError>> {
        document::parse_settings(value, "", Reading::Strict)
    }

    /// The settings as stored: [`Self::to_value`] and the unknown fields.
    #[must_use]
    pub fn to_stored(&self) -> Value {
        let mut value = self.to_value();
        if let Some(map) = value.as_object_mut() {
            for (name, unknown) in &self.unknown_fields {
                map.entry(name).or_insert_with(|| unknown.clone());
            }
        }
        value
    }

    /// Parses stored settings, possibly of another version: unknown fields are kept, numbers are
    /// clamped to their bounds, and invalid values have their defaults. An unknown mode pauses the
    /// queue.
    ///
    /// # Errors
    /// Returns the required fields that are missing or can't be read.
    pub fn from_stored(value: &Value) -> Result<Self, Vec<FieldError>> {
        document::parse_settings(value, "", Reading::Lenient)
    }

    /// Whether both are equal except for revision and epoch.
    #[must_use]
    pub fn eq_ignoring_revision(&self, other: &Self) -> bool {
        let bare = |settings: &Self| {
            let mut value = settings.to_value();
            if let Some(map) = value.as_object_mut() {
                map.remove("revision");
                map.remove("epoch");
            }
            value
        };
        bare(self) == bare(other)
    }
}

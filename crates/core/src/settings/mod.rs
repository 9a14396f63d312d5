//! Settings of queues and tenants: what they are, what each takes, and how a document is read.

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

/// Stands for the host that the visitor asked for, in the names of queues and tenants.
pub const HOST_GAP: &str = "{host}";

/// How an admitted visitor reaches the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandoverKind {
    /// A 302 to the origin with path and query unchanged.
    Redirect,
    /// The gate forwards the request and streams the answer.
    Proxy,
    /// The gate answers 200 and the proxy in front of it forwards (forward-auth).
    Check,
}

/// What happens to CORS preflights, which carry no ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preflights {
    /// The gate answers: pages of the queue's hosts and of its origin may ask.
    Answer,
    /// They pass to the origin, without anything that a preflight does not have.
    Forward,
}

/// Handover: how, and to where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handover {
    /// How.
    pub kind: HandoverKind,
    /// The site itself; `None` only for [`HandoverKind::Check`].
    pub origin: Option<Origin>,
    /// What happens to CORS preflights.
    pub preflights: Preflights,
}

/// What holds while the store can't be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFailure {
    /// Bearers of a valid admitted ticket pass, others wait with their last known position.
    Tickets,
    /// All pass.
    Open,
    /// Nobody new passes.
    Closed,
}

/// All settings of one queue. Times in seconds.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The queue's id.
    pub id: QueueId,
    /// The tenant it belongs to.
    pub tenant: TenantId,
    /// What visitors read: the event, the sale, the shop. [`HOST_GAP`] in it stands for the host that they asked for.
    pub name: String,
    /// Hosts it stands in front of.
    pub hosts: Vec<HostPattern>,
    /// Which requests of those hosts meet it; see [`decide`].
    pub rules: Vec<Rule>,
    /// What the line goes by: mode, quota, rate, times, epoch and revision.
    pub line: LineRules,
    /// Age in seconds up to which an admitted ticket passes without asking the store; 0 = never.
    pub recheck_after: u64,
    /// How an admitted visitor reaches the site.
    pub handover: Handover,
    /// The theme of its pages; `None` is the built-in one.
    pub theme: Option<ThemeId>,
    /// Status of the queue page: 200, 202, 429 or 503.
    pub queue_status: u16,
    /// What holds while the store is away.
    pub store_failure: StoreFailure,
    /// Domain of the ticket and pass cookies; `None` is the very host.
    pub cookie_domain: Option<String>,
    /// Stored fields that this version does not know, kept for the version that does.
    pub unknown_fields: Map<String, Value>,
}

impl Settings {
    /// The settings as the document they are read from.
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

    /// The settings in a document of one queue.
    ///
    /// # Errors
    /// Every wrong field, by name, with what it takes.
    pub fn from_value(value: &Value) -> Result<Self, Vec<FieldError>> {
        document::parse_settings(value, "", Reading::Strict)
    }

    /// The settings as a store holds them: [`Self::to_value`], and what only another version knows.
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

    /// Reads what a store holds, perhaps by another version: unknown fields are kept and otherwise ignored, numbers are
    /// brought within their bounds, and what can't be read has its default. An unknown mode pauses the queue.
    ///
    /// # Errors
    /// The fields without which there is no queue, where they are missing or can't be read.
    pub fn from_stored(value: &Value) -> Result<Self, Vec<FieldError>> {
        document::parse_settings(value, "", Reading::Lenient)
    }

    /// Whether both say the same, revision and epoch aside.
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

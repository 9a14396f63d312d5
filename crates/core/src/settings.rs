//! Settings of queues and tenants, their accepted values, and the parsing of documents.

mod absolute_url;
mod allowlist;
mod beacon;
mod conflicts;
mod document;
mod draws;
mod event;
mod event_beacon;
mod event_changes;
mod field_change;
mod header_condition;
mod host;
mod identity;
mod invitation;
mod job_queue_plan;
mod list_name;
mod name;
mod network_lists;
mod operator_message;
mod origin;
mod origin_pattern;
mod path;
mod path_glob;
mod plan;
mod proof_of_work;
mod protection;
mod reach;
mod rule;
mod rule_coverage;
mod ruling;
mod source;
mod tenant;
mod trusted_headers;
mod value_text;

pub(crate) use absolute_url::{AbsoluteUrl, url_kind};
pub use beacon::{
    BEACON_ROUND_MAX, Beacon, BeaconRefusal, BeaconRound, BeaconValue, DRAND_RELAY, Signature, beacon_randomness,
};
pub use conflicts::{queues_unmatched, routing_conflicts};
pub use document::{Document, parse_settings_document};
pub use draws::SaltPolicy;
pub use event::{BetweenEvents, EVENTS_MAX, Event, EventOrder, Events, KeyId, LOBBY_DEFAULT, LOBBY_MAX, Salt};
pub use event_changes::{
    IDLE_USED_FOR, LobbyChange, LobbyEffect, affected_lobbies, event_problems, hasty_starts, invented_beacon_values,
    keep_open_lobbies, late_lobbies, locked_event_changes, settle_removed_beacons,
};
pub use field_change::{FieldChange, differences};
pub use header_condition::HeaderCondition;
pub use host::{DomainName, HostPattern, InvalidHost, are_same_site, host_and_path, is_subdomain_of, normalize_host};
pub use identity::{HttpsUrl, Identity, IdentityKind, IdentitySource, RETURN_GAP, SignInUrl};
pub use invitation::{Access, BATCHES_MAX, CODES_MAX, HEAD_START_MAX, InvitationBatch};
pub use job_queue_plan::{JobQueueChange, JobQueuePlan, RetiredSecret, StoredJobQueue, job_queues_outside};
pub use list_name::ListName;
pub use name::{HOST_GAP, NAME_MAX, Name, parse_name};
pub use network_lists::{ClassifiedNetworks, NetworkListNames};
pub use operator_message::{MESSAGE_MAX, OperatorMessage};
pub use origin::{InvalidOrigin, Origin};
pub use origin_pattern::OriginPattern;
pub use path::{PathReadings, path_readings};
pub use path_glob::{PathGlob, PathGlobs};
pub use plan::{
    KeptReason, Plan, PlanOptions, QueueChange, QueueError, StoredSettings, TenantChange, Unlisted, UnreadableQueue,
    complete_sale_keys, values_outside,
};
pub use proof_of_work::ProofOfWork;
pub use protection::{LimitMode, OnExceed, Protection};
pub use reach::{Reach, is_own_address};
pub use rule::{
    EachValue, Hold, Method, NamedValue, OnFailure, RULES_MAX, RequestAttributes, Route, Rule, RuleAction,
    rules_without_job_queue, untrusted_headers,
};
pub use rule_coverage::{RuleFlaw, rule_flaws};
pub use ruling::{Ruling, class_of, decide, deciding_rule, decisive, hold_of, route_of, rulings};
pub use source::{Network, Source};
pub use tenant::{Color, JOB_QUEUES_MAX, Logo, Tenant};
pub use trusted_headers::{InvalidTrustedHeaders, TrustedHeaders, name_with_hyphens};
pub use value_text::ValueText;

use serde_json::{Map, Value, json};

use self::host::parse_hostname;
use crate::fields::FieldErrorCode as Code;
use crate::fields::{
    Bounded, Field, Flatten, List, Nullable, Object as _, ObjectReader, Omissible, OrEmpty, Reader, Reading, Skipped,
};
use crate::jobs::JobQueueSettings;
use crate::line::LineRules;
use crate::{PASS_TTL, QueueId, TenantId, ThemeId};

pub use crate::fields::{FieldError, FieldErrorCode};
pub use crate::line::Mode;

/// Maximum number of hosts per queue.
const HOSTS_MAX: usize = 100;
/// Default of `recheck_after` in seconds.
const RECHECK_AFTER: u64 = 2;

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

crate::fields! {
    /// How admitted visitors reach the site.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Handover {
        /// `redirect`, `proxy` or `check`.
        pub kind: HandoverKind,
        /// Scheme, host and port of the site; optional with `check`.
        pub origin: Omissible<Origin>,
        /// Who answers CORS preflights: the gate, for pages of the queue's hosts and origin, or the origin.
        pub preflights: Preflights = Preflights::Answer,
    }
    check = check_origin;
}

fn check_origin(handover: &mut Handover, object: &mut ObjectReader<'_>) {
    if handover.origin.is_none() && handover.kind != HandoverKind::Check && !object.has_errors() {
        object.error("origin", Code::Required.with("what", Code::Origin));
    }
}

crate::word_field!(HandoverKind { Redirect = "redirect", Proxy = "proxy", Check = "check" });
crate::word_field!(Preflights { Answer = "answer", Forward = "forward" });
crate::word_field!(StoreFailure { Tickets = "tickets", Open = "open", Closed = "closed" });

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

crate::fields! {
    /// The settings of a queue. Times are in seconds.
    #[derive(Debug, Clone)]
    pub struct Settings as "QueueDraft" {
        /// ID of the queue.
        pub id: QueueId,
        /// ID of the tenant.
        pub tenant: TenantId,
        /// Name shown to visitors, by default the ID: the event, the sale or the shop. `{host}` stands for the requested host.
        pub name: Name = String::new(),
        /// Hosts of the queue, such as `tickets.example.com`, `*.example.com` or `*`.
        pub hosts: List<HostPattern, 1, HOSTS_MAX>,
        /// Which requests are queued; the first rule whose conditions all match decides.
        pub rules: List<Rule, 0, RULES_MAX> = Vec::new(),
        /// The settings of the line: mode, quota, rate, times, epoch and revision.
        pub line: Flatten<LineRules>,
        /// Seconds for which the gate accepts an admitted ticket without asking the store.
        pub recheck_after: Bounded<0, 60> = RECHECK_AFTER,
        /// How admitted visitors reach the site.
        pub handover: Handover,
        /// ID of the theme; `null` for `default`.
        pub theme: Nullable<ThemeId>,
        /// HTTP status of the queue page.
        pub queue_status: QueueStatus = 200,
        /// Behavior while the store is unavailable.
        pub store_failure: StoreFailure = StoreFailure::Tickets,
        /// Domain of the cookies; `null` for the exact host.
        pub cookie_domain: Nullable<CookieDomain>,
        /// Plain text shown on the queue's pages to visitors who wait: `default`, and language tags such as `de` for other
        /// languages. `null` for none.
        pub message: Omissible<OperatorMessage>,
        /// The batches of invitation codes.
        pub invitations: OrEmpty<List<InvitationBatch, 0, BATCHES_MAX>>,
        /// Stored fields unknown to this version, preserved for the version that knows them.
        pub unknown_fields: Skipped<Map<String, Value>>,
    }
    check = check_settings;
}

crate::text_kind! {
    /// The domain of cookies.
    pub CookieDomain: Code::CookieDomain, { "maxLength": 253 }, |text| {
        parse_hostname(text.strip_prefix('.').unwrap_or(text)).filter(|host| host.contains('.'))
    };
}

crate::choice_kind! {
    /// The HTTP status of a queue page.
    pub QueueStatus -> u16: "integer", [200, 202, 429, 503], |status| (*status).into();
}

fn check_settings(settings: &mut Settings, object: &mut ObjectReader<'_>) {
    settings.line.credential_ttl = match settings.handover.kind {
        // A ticket that is accepted without asking the store gets a pass of the whole lifetime.
        HandoverKind::Redirect => settings.recheck_after + PASS_TTL,
        HandoverKind::Proxy | HandoverKind::Check => settings.recheck_after,
    };
    if settings.name.is_empty() {
        settings.name = settings.id.to_string();
    }
    if rule::has_too_many_globs(&settings.rules) && !object.is_stored() {
        object.error("rules", rule::too_many_globs());
    }
    check_held_orders(settings, object);
    invitation::check_batches(&settings.invitations, object);
    if object.is_stored() {
        settings.unknown_fields = object.unknown().map(|(name, value)| (name.clone(), value.clone())).collect();
    }
    // Otherwise browsers would reject the ticket cookie on some hosts.
    let Some(domain) = &settings.cookie_domain else { return };
    if let Some(outside) = settings.hosts.iter().find(|host| !host.is_within(domain)) {
        if object.is_stored() {
            settings.cookie_domain = None;
        } else {
            let fault = Code::HostNotCovered.with("host", outside.to_string()).with("what", Code::CookieDomain);
            object.error("cookie_domain", fault);
        }
    }
}

/// H1: the gate forwards held orders.
fn check_held_orders(settings: &mut Settings, object: &mut ObjectReader<'_>) {
    let is_hold = |rule: &Rule| rule.action == RuleAction::Hold;
    let Some(index) = settings.rules.iter().position(is_hold) else { return };
    if settings.handover.kind == HandoverKind::Proxy {
        return;
    }
    if object.is_stored() {
        for rule in settings.rules.iter_mut().filter(|rule| is_hold(rule)) {
            rule.action = RuleAction::Queue;
        }
    } else {
        object.error("handover", Code::HoldNeedsProxy.with("rule", index + 1));
    }
}

impl LineRules {
    /// The default rules of an open queue with this quota, as those of a queue whose settings file sets nothing else.
    #[expect(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "stored rules have defaults for all fields but the quota, and numbers are clamped"
    )]
    pub fn with_quota(quota: u64) -> Self {
        let rules: Self = Reader::read(&json!({ "quota": quota }), Reading::Stored).expect("the default rules");
        Self { credential_ttl: RECHECK_AFTER, ..rules }
    }
}

impl Settings {
    /// Whether a rule holds orders in this job queue.
    pub fn holds_orders_in(&self, job_queue: &JobQueueSettings) -> bool {
        let mut named = self.rules.iter().filter_map(Rule::hold).map(|hold| hold.job_queue);
        self.tenant == job_queue.tenant && named.any(|id| *id == job_queue.id)
    }

    /// The settings as a document that [`Self::from_value`] parses.
    pub fn to_value(&self) -> Value {
        Self::to_json(self)
    }

    /// Parses the settings of one queue.
    ///
    /// # Errors
    /// Returns every invalid field by name, with the accepted values.
    pub fn from_value(value: &Value) -> Result<Self, Vec<FieldError>> {
        Self::from_json(value)
    }

    /// The settings as stored: [`Self::to_value`] and the unknown fields.
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
        Reader::read(value, Reading::Stored)
    }

    /// Whether both are equal except for revision and epoch.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_with_a_quota_are_those_of_a_queue() {
        let queue = json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 7, "handover": { "kind": "check" },
        });
        assert_eq!(LineRules::with_quota(7), Settings::from_value(&queue).unwrap().line);
    }
}

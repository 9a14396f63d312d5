//! A whole document of tenants and queues, and the one place where a queue's settings are validated.

use std::collections::HashSet;

use serde_json::Value;

use super::fields::{FieldError, Fields, strings};
use super::host::{HostPattern, plain_host};
use super::origin::Origin;
use super::rule::parse_rules;
use super::wording::FieldWording as W;
use super::{Handover, HandoverKind, Mode, Settings, StoreFailure, Tenant, is_below};
use crate::line::{LineRules, RATE_MAX};
use crate::{Phrase, QueueId, TenantId, ThemeId};

/// Most characters of a name that visitors read.
pub(super) const NAME_MAX: usize = 120;
/// Most queues of a document.
const QUEUES_MAX: usize = 10_000;
/// Most hosts of a queue.
const HOSTS_MAX: usize = 100;
/// Largest quota.
const QUOTA_MAX: u64 = 10_000_000;
/// Largest epoch and revision: whole numbers that a double holds exactly.
const WHOLE_MAX: u64 = 1 << 53;
const DAY: u64 = 86_400;

/// A setting that takes one of a few words.
pub(super) struct Words<T: 'static>(&'static [(&'static str, T)]);

impl<T: Copy + PartialEq> Words<T> {
    pub(super) fn name(&self, wanted: T) -> &'static str {
        self.0.iter().find(|(_, value)| *value == wanted).map_or("", |(name, _)| name)
    }

    fn parse(&self, value: &Value) -> Option<T> {
        let text = value.as_str()?;
        self.0.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
    }

    fn takes(&self) -> Phrase {
        let names: Vec<String> = self.0.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        W::OneOf.with("words", names.join(", "))
    }
}

pub(super) const MODES: Words<Mode> = Words(&[
    ("open", Mode::Open),
    ("bypass", Mode::Bypass),
    ("paused", Mode::Paused),
    ("closed", Mode::Closed),
    ("draining", Mode::Draining),
]);
pub(super) const HANDOVERS: Words<HandoverKind> =
    Words(&[("redirect", HandoverKind::Redirect), ("proxy", HandoverKind::Proxy), ("check", HandoverKind::Check)]);
pub(super) const STORE_FAILURES: Words<StoreFailure> =
    Words(&[("tickets", StoreFailure::Tickets), ("open", StoreFailure::Open), ("closed", StoreFailure::Closed)]);

/// The tenants and queues of a settings file.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// The brands.
    pub tenants: Vec<Tenant>,
    /// Their queues.
    pub queues: Vec<Settings>,
}

/// Reads a document of the shape `{ tenants: [..], queues: [..] }`.
///
/// # Errors
/// Every wrong field of every table, by path, with what it takes.
pub fn parse_document(value: &Value) -> Result<Document, Vec<FieldError>> {
    let root_error = || vec![FieldError::new("document", W::Takes.with("what", W::Document))];
    let map = value.as_object().ok_or_else(root_error)?;
    let mut errors = Vec::new();
    let mut fields = Fields::new(map, "");
    let empty = Vec::new();
    let tables = |value: &'_ Value| value.as_array().filter(|items| items.len() <= QUEUES_MAX).cloned();
    let takes = W::Tables.with("most", QUEUES_MAX);
    let tenants = fields.or("tenants", empty.clone(), takes.clone(), tables);
    let queues = fields.or("queues", empty, takes, tables);
    errors.extend(fields.finish());

    let mut document = Document::default();
    for (index, item) in tenants.iter().enumerate() {
        let path = format!("tenants[{index}]");
        match item.as_object().ok_or_else(|| not_a_table(&path)).and_then(|map| Tenant::parse(map, &path)) {
            Ok(tenant) => document.tenants.push(tenant),
            Err(found) => errors.extend(found),
        }
    }
    for (index, item) in queues.iter().enumerate() {
        match parse_settings(item, &format!("queues[{index}]")) {
            Ok(settings) => document.queues.push(settings),
            Err(found) => errors.extend(found),
        }
    }
    if errors.is_empty() {
        errors.extend(contradictions(&document));
    }
    if errors.is_empty() { Ok(document) } else { Err(errors) }
}

pub(super) fn not_a_table(path: &str) -> Vec<FieldError> {
    vec![FieldError::new(path, W::Takes.with("what", W::Table))]
}

/// What is wrong between tables that are right by themselves.
fn contradictions(document: &Document) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut refuse = |field: String, fault: Phrase| errors.push(FieldError::new(field, fault));
    let mut tenants = HashSet::new();
    for (index, tenant) in document.tenants.iter().enumerate() {
        if !tenants.insert(&tenant.id) {
            refuse(format!("tenants[{index}].id"), W::IdTaken.with("id", tenant.id.as_str()));
        }
    }
    let mut queues = HashSet::new();
    for (index, queue) in document.queues.iter().enumerate() {
        if !queues.insert(&queue.id) {
            refuse(format!("queues[{index}].id"), W::IdTaken.with("id", queue.id.as_str()));
        }
        if !tenants.contains(&queue.tenant) {
            refuse(format!("queues[{index}].tenant"), W::NoSuchTenant.with("tenant", queue.tenant.as_str()));
        }
    }
    errors
}

pub(super) fn parse_settings(value: &Value, path: &str) -> Result<Settings, Vec<FieldError>> {
    let map = value.as_object().ok_or_else(|| not_a_table(path))?;
    let mut fields = Fields::new(map, path);
    let id = fields.required("id", W::Id, id::<QueueId>);
    let tenant = fields.required("tenant", W::Id, self::id::<TenantId>);
    let name = fields.or("name", String::new(), W::Name, name);
    let hosts = fields.required("hosts", W::Hosts.with("most", HOSTS_MAX), hosts).unwrap_or_default();
    let rules = rules(&mut fields);
    let line = line_rules(&mut fields);
    let recheck_after = fields.number("recheck_after", 5, 0, 60);
    let handover = handover(&mut fields);
    let theme = fields.optional("theme", W::Id, self::id::<ThemeId>);
    let queue_status = fields.or("queue_status", 200, W::OneOf.with("words", "200, 202, 429, 503"), queue_status);
    let store_failure =
        fields.or("store_failure", StoreFailure::Tickets, STORE_FAILURES.takes(), |value| STORE_FAILURES.parse(value));
    let cookie_domain = cookie_domain(&mut fields, &hosts);
    let errors = fields.finish();
    match (id, tenant, handover) {
        (Some(id), Some(tenant), Some(handover)) if errors.is_empty() => {
            let name = if name.is_empty() { id.to_string() } else { name };
            Ok(Settings {
                id,
                tenant,
                name,
                hosts,
                rules,
                line,
                recheck_after,
                handover,
                theme,
                queue_status,
                store_failure,
                cookie_domain,
            })
        }
        _ => Err(errors),
    }
}

fn line_rules(fields: &mut Fields<'_>) -> LineRules {
    let rules = LineRules {
        mode: fields.or("mode", Mode::Open, MODES.takes(), |value| MODES.parse(value)),
        quota: fields
            .required("quota", W::WholeNumber.with("least", 0_u64).with("most", QUOTA_MAX), |value| {
                value.as_u64().filter(|quota| *quota <= QUOTA_MAX)
            })
            .unwrap_or_default(),
        admissions_per_minute: fields.optional_number("admissions_per_minute", 1, RATE_MAX),
        waiting_ttl: fields.number("waiting_ttl", 60, 3, 3600),
        active_ttl: fields.number("active_ttl", 600, 1, DAY),
        claim_ttl: fields.number("claim_ttl", 30, 1, 3600),
        hold_ttl: fields.number("hold_ttl", 600, 1, 7 * DAY),
        max_session: fields.optional_number("max_session", 1, 30 * DAY),
        epoch: fields.number("epoch", 1, 1, WHOLE_MAX),
        revision: fields.number("revision", 1, 0, WHOLE_MAX),
    };
    if rules.hold_ttl < rules.waiting_ttl {
        fields.refuse("hold_ttl", W::HoldTtlTooShort);
    }
    if rules.claim_ttl * 3 < rules.waiting_ttl {
        fields.refuse("claim_ttl", W::ClaimTtlTooShort);
    }
    rules
}

fn rules(fields: &mut Fields<'_>) -> Vec<super::Rule> {
    let path = fields.path_of("rules");
    let mut found = Vec::new();
    let rules = fields.raw("rules").map(|value| parse_rules(value, &path, &mut found)).unwrap_or_default();
    fields.errors.extend(found);
    rules
}

fn handover(fields: &mut Fields<'_>) -> Option<Handover> {
    let path = fields.path_of("handover");
    let map = fields.required("handover", W::Handover, Value::as_object)?;
    let mut inner = Fields::new(map, path);
    let kind = inner.required("kind", HANDOVERS.takes(), |value| HANDOVERS.parse(value));
    let origin = inner.optional("origin", W::Origin, |value| value.as_str()?.parse::<Origin>().ok());
    if inner.errors.is_empty() && origin.is_none() && kind != Some(HandoverKind::Check) {
        inner.refuse("origin", W::Missing.with("what", W::Origin));
    }
    let found = inner.finish();
    let good = found.is_empty();
    fields.errors.extend(found);
    kind.filter(|_| good).map(|kind| Handover { kind, origin })
}

/// A cookie domain must cover every host, or browsers would refuse the ticket there.
fn cookie_domain(fields: &mut Fields<'_>, hosts: &[HostPattern]) -> Option<String> {
    let domain = fields.optional("cookie_domain", W::CookieDomain, |value| {
        let text = value.as_str()?;
        plain_host(text.strip_prefix('.').unwrap_or(text)).filter(|host| host.contains('.'))
    })?;
    let covered = |pattern: &HostPattern| match pattern {
        HostPattern::Exact(host) | HostPattern::Below(host) => *host == domain || is_below(host, &domain),
        HostPattern::Any => false,
    };
    if let Some(outside) = hosts.iter().find(|host| !covered(host)) {
        let fault = W::HostNotCovered.with("host", outside.to_string()).with("what", W::CookieDomain);
        fields.refuse("cookie_domain", fault);
    }
    Some(domain)
}

fn hosts(value: &Value) -> Option<Vec<HostPattern>> {
    let texts = strings(value).filter(|texts| !texts.is_empty() && texts.len() <= HOSTS_MAX)?;
    texts.into_iter().map(|text| text.parse().ok()).collect()
}

fn queue_status(value: &Value) -> Option<u16> {
    [200, 202, 429, 503].into_iter().find(|status| value.as_u64() == Some(u64::from(*status)))
}

pub(super) fn id<T: std::str::FromStr>(value: &Value) -> Option<T> {
    value.as_str()?.parse().ok()
}

pub(super) fn name(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    let fits = !text.is_empty() && text.chars().count() <= NAME_MAX && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
}

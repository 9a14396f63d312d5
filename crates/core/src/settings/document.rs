//! A document of tenants and queues, and the validation of a queue's settings.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::fields::{FieldError, Fields, Reading, strings, whole};
use super::host::{HostPattern, parse_hostname};
use super::origin::Origin;
use super::rule::parse_rules;
use super::wording::FieldWording as W;
use super::{Handover, HandoverKind, Mode, Preflights, Settings, StoreFailure, Tenant, is_subdomain_of};
use crate::line::{LineRules, RATE_MAX};
use crate::{Message, PASS_TTL, QueueId, TenantId, ThemeId};

/// Maximum length of a name shown to visitors, in characters.
pub(super) const NAME_MAX: usize = 120;
/// Maximum number of queues in a document.
const QUEUES_MAX: usize = 10_000;
/// Maximum number of hosts per queue.
const HOSTS_MAX: usize = 100;
/// Maximum quota.
const QUOTA_MAX: u64 = 10_000_000;
/// Maximum epoch and revision: integers that a double represents exactly.
const WHOLE_MAX: u64 = 1 << 53;
const DAY: u64 = 86_400;

/// A setting with a fixed set of string values.
pub(super) struct Words<T: 'static>(&'static [(&'static str, T)]);

impl<T: Copy + PartialEq> Words<T> {
    pub(super) fn name(&self, wanted: T) -> &'static str {
        self.0.iter().find(|(_, value)| *value == wanted).map_or("", |(name, _)| name)
    }

    fn parse(&self, value: &Value) -> Option<T> {
        let text = value.as_str()?;
        self.0.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
    }

    fn takes(&self) -> Message {
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
pub(super) const PREFLIGHTS: Words<Preflights> =
    Words(&[("answer", Preflights::Answer), ("forward", Preflights::Forward)]);
pub(super) const STORE_FAILURES: Words<StoreFailure> =
    Words(&[("tickets", StoreFailure::Tickets), ("open", StoreFailure::Open), ("closed", StoreFailure::Closed)]);

/// The tenants and queues of a settings file.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// The tenants.
    pub tenants: Vec<Tenant>,
    /// Their queues.
    pub queues: Vec<Settings>,
}

/// Parses a document of the form `{ tenants: [..], queues: [..] }`.
///
/// # Errors
/// Returns every invalid field by its path, with the accepted values.
pub fn parse_settings_document(value: &Value) -> Result<Document, Vec<FieldError>> {
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
        match parse_settings(item, &format!("queues[{index}]"), Reading::Strict) {
            Ok(settings) => document.queues.push(settings),
            Err(found) => errors.extend(found),
        }
    }
    errors.extend(contradictions(&tenants, &queues));
    if errors.is_empty() {
        errors.extend(refusals(&document));
    }
    if errors.is_empty() { Ok(document) } else { Err(errors) }
}

pub(super) fn not_a_table(path: &str) -> Vec<FieldError> {
    vec![FieldError::new(path, W::Takes.with("what", W::Table))]
}

/// Contradictions between tables, each of which may be valid by itself.
fn contradictions(tenants: &[Value], queues: &[Value]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut known = HashSet::new();
    for (index, id) in texts(tenants, "id") {
        if !known.insert(id) {
            errors.push(FieldError::new(format!("tenants[{index}].id"), W::IdTaken.with("id", id)));
        }
    }
    let mut ids = HashSet::new();
    for (index, id) in texts(queues, "id") {
        if !ids.insert(id) {
            errors.push(FieldError::new(format!("queues[{index}].id"), W::IdTaken.with("id", id)));
        }
    }
    for (index, tenant) in texts(queues, "tenant") {
        if !known.contains(tenant) && tenant.parse::<TenantId>().is_ok() {
            let fault = W::NoSuchTenant.with("tenant", tenant);
            errors.push(FieldError::new(format!("queues[{index}].tenant"), fault));
        }
    }
    errors
}

/// Values of queues that their tenants' allowlists reject, if all tables are valid by themselves.
fn refusals(document: &Document) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let tenants: HashMap<_, _> = document.tenants.iter().map(|tenant| (&tenant.id, tenant)).collect();
    for (index, queue) in document.queues.iter().enumerate() {
        let refused = tenants.get(&queue.tenant).map(|tenant| tenant.refusals(queue, None, true));
        for FieldError { field, fault } in refused.unwrap_or_default() {
            errors.push(FieldError::new(format!("queues[{index}].{field}"), fault));
        }
    }
    errors
}

/// The string values of one field over all tables, with the index of each table.
fn texts<'a>(tables: &'a [Value], field: &'static str) -> impl Iterator<Item = (usize, &'a str)> {
    tables.iter().enumerate().filter_map(move |(index, table)| Some((index, table.get(field)?.as_str()?)))
}

pub(super) fn parse_settings(value: &Value, path: &str, reading: Reading) -> Result<Settings, Vec<FieldError>> {
    let map = value.as_object().ok_or_else(|| not_a_table(path))?;
    let mut fields = Fields::read(map, path, reading);
    let id = fields.required("id", W::Id, id::<QueueId>);
    let tenant = fields.required("tenant", W::Id, self::id::<TenantId>);
    let name = fields.or("name", String::new(), W::Name, name);
    let hosts = fields.required("hosts", W::Hosts.with("most", HOSTS_MAX), |value| hosts(value, reading));
    let hosts = hosts.unwrap_or_default();
    let rules = rules(&mut fields, reading);
    let mut line = line_rules(&mut fields, reading);
    let recheck_after = fields.number("recheck_after", 2, 0, 60);
    let handover = handover(&mut fields, reading);
    let theme = fields.optional("theme", W::Id, self::id::<ThemeId>);
    let queue_status = fields.or("queue_status", 200, W::OneOf.with("words", "200, 202, 429, 503"), queue_status);
    let store_failure =
        fields.or("store_failure", StoreFailure::Tickets, STORE_FAILURES.takes(), |value| STORE_FAILURES.parse(value));
    let cookie_domain = cookie_domain(&mut fields, &hosts, reading);
    let unknown_fields = match reading {
        Reading::Strict => Map::new(),
        Reading::Lenient => fields.unknown().map(|(name, value)| (name.clone(), value.clone())).collect(),
    };
    let errors = fields.finish();
    match (id, tenant, handover) {
        (Some(id), Some(tenant), Some(handover)) if errors.is_empty() => {
            line.credential_ttl = match handover.kind {
                HandoverKind::Redirect => PASS_TTL,
                HandoverKind::Proxy | HandoverKind::Check => recheck_after,
            };
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
                unknown_fields,
            })
        }
        _ => Err(errors),
    }
}

fn line_rules(fields: &mut Fields<'_>, reading: Reading) -> LineRules {
    // An unknown mode of a newer version is read as paused: this version must not admit visitors.
    let unknown_mode = (reading == Reading::Lenient).then_some(Mode::Paused);
    let mut rules = LineRules {
        mode: fields.or("mode", Mode::Open, MODES.takes(), |value| MODES.parse(value).or(unknown_mode)),
        quota: fields
            .required("quota", W::WholeNumber.with("least", 0_u64).with("most", QUOTA_MAX), |value| {
                whole(value, 0, QUOTA_MAX, reading)
            })
            .unwrap_or_default(),
        admissions_per_minute: fields.optional_number("admissions_per_minute", 1, RATE_MAX),
        waiting_ttl: fields.number("waiting_ttl", 60, 3, 3600),
        active_ttl: fields.number("active_ttl", 600, 1, DAY),
        claim_ttl: fields.number("claim_ttl", 30, 1, 3600),
        hold_ttl: fields.number("hold_ttl", 600, 1, 7 * DAY),
        max_session: fields.optional_number("max_session", 1, 30 * DAY),
        credential_ttl: 0,
        epoch: fields.number("epoch", 1, 1, WHOLE_MAX),
        revision: fields.number("revision", 1, 0, WHOLE_MAX),
    };
    if reading == Reading::Lenient {
        rules.hold_ttl = rules.hold_ttl.max(rules.waiting_ttl);
        rules.claim_ttl = rules.claim_ttl.max(rules.waiting_ttl.div_ceil(3));
    }
    if rules.hold_ttl < rules.waiting_ttl {
        fields.refuse("hold_ttl", W::HoldTtlTooShort);
    }
    if rules.claim_ttl * 3 < rules.waiting_ttl {
        fields.refuse("claim_ttl", W::ClaimTtlTooShort);
    }
    rules
}

fn rules(fields: &mut Fields<'_>, reading: Reading) -> Vec<super::Rule> {
    let path = fields.path_of("rules");
    let mut found = Vec::new();
    let rules = fields.raw("rules").map(|value| parse_rules(value, &path, reading, &mut found)).unwrap_or_default();
    fields.errors.extend(found);
    rules
}

fn handover(fields: &mut Fields<'_>, reading: Reading) -> Option<Handover> {
    let path = fields.path_of("handover");
    let map = fields.required("handover", W::Handover, Value::as_object)?;
    let mut inner = Fields::read(map, path, reading);
    let kind = inner.required("kind", HANDOVERS.takes(), |value| HANDOVERS.parse(value));
    let origin = inner.optional("origin", W::Origin, |value| value.as_str()?.parse::<Origin>().ok());
    let preflights = inner.or("preflights", Preflights::Answer, PREFLIGHTS.takes(), |value| PREFLIGHTS.parse(value));
    if inner.errors.is_empty() && origin.is_none() && kind != Some(HandoverKind::Check) {
        inner.refuse("origin", W::Missing.with("what", W::Origin));
    }
    let found = inner.finish();
    let good = found.is_empty();
    fields.errors.extend(found);
    kind.filter(|_| good).map(|kind| Handover { kind, origin, preflights })
}

/// A cookie domain must cover every host; otherwise browsers reject the ticket cookie there.
fn cookie_domain(fields: &mut Fields<'_>, hosts: &[HostPattern], reading: Reading) -> Option<String> {
    let domain = fields.optional("cookie_domain", W::CookieDomain, |value| {
        let text = value.as_str()?;
        parse_hostname(text.strip_prefix('.').unwrap_or(text)).filter(|host| host.contains('.'))
    })?;
    let covered = |pattern: &HostPattern| match pattern {
        HostPattern::Exact(host) | HostPattern::Wildcard(host) => *host == domain || is_subdomain_of(host, &domain),
        HostPattern::Any => false,
    };
    if let Some(outside) = hosts.iter().find(|host| !covered(host)) {
        if reading == Reading::Lenient {
            return None;
        }
        let fault = W::HostNotCovered.with("host", outside.to_string()).with("what", W::CookieDomain);
        fields.refuse("cookie_domain", fault);
    }
    Some(domain)
}

fn hosts(value: &Value, reading: Reading) -> Option<Vec<HostPattern>> {
    let texts = strings(value)?;
    if reading == Reading::Lenient {
        let hosts: Vec<_> = texts.into_iter().filter_map(|text| text.parse().ok()).collect();
        return Some(hosts).filter(|hosts| !hosts.is_empty());
    }
    let texts = Some(texts).filter(|texts| !texts.is_empty() && texts.len() <= HOSTS_MAX)?;
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

//! Rules: conditions on requests, and what happens to those that match.

use std::net::IpAddr;

use super::header_condition::HeaderCondition;
use super::path_glob::PathGlobs;
use super::source::Source;
use super::trusted_headers::TrustedHeaders;
use super::value_text::{ALTERNATIVES_MAX, ValueText};
use crate::fields::FieldErrorCode as Code;
use crate::fields::{FieldError, List, ObjectReader, Omissible, OrEmpty};
use crate::jobs::{JobQueueId, JobQueueSettings};
use crate::{Message, NetworkClass, TenantId};

/// Maximum number of rules per queue.
pub const RULES_MAX: usize = 100;
/// Maximum number of path globs per queue, over all of its rules.
const GLOBS_MAX: usize = 200;

/// The action for requests that match a rule. Of the rules with `queue` and `bypass` the first match decides, and so it does of the
/// others, each as if there were no rules of the other kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleAction {
    /// The request goes through the queue.
    Queue,
    /// The request bypasses the queue and is not counted.
    Bypass,
    /// As `queue`; and the request of an active session is an order, which becomes a job (H1, H2).
    Hold,
    /// The client joins no queue, as one of a `blocked` network.
    Block,
    /// The client counts as one of a `suspicious` network.
    Challenge,
    /// The client counts as one of a `trusted` network.
    Trust,
}

crate::word_field!(RuleAction {
    Queue = "queue",
    Bypass = "bypass",
    Hold = "hold",
    Block = "block",
    Challenge = "challenge",
    Trust = "trust",
} else Queue);

/// What happens to an order that certainly could not be stored (H10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// It is forwarded at once, without pace and without deduplication.
    #[default]
    Forward,
    /// It is refused.
    Refuse,
}

crate::word_field!(OnFailure { Forward = "forward", Refuse = "refuse" });

/// How the orders of a rule are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold<'a> {
    /// The job queue of the orders.
    pub job_queue: &'a JobQueueId,
    /// What happens to an order that certainly could not be stored.
    pub on_failure: OnFailure,
}

/// Where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Through the queue.
    Queue,
    /// Past the queue.
    Bypass,
    /// Nowhere: its path may mean a part of the site for which other rules or another queue decide.
    Reject,
}

impl RuleAction {
    /// Where matching requests go; `None` for an action that classifies clients.
    pub const fn route(self) -> Option<Route> {
        match self {
            Self::Queue | Self::Hold => Some(Route::Queue),
            Self::Bypass => Some(Route::Bypass),
            Self::Block | Self::Challenge | Self::Trust => None,
        }
    }

    /// The class of matching clients, as if a list contained their network.
    pub const fn class(self) -> Option<NetworkClass> {
        match self {
            Self::Queue | Self::Bypass | Self::Hold => None,
            Self::Block => Some(NetworkClass::Blocked),
            Self::Challenge => Some(NetworkClass::Suspicious),
            Self::Trust => Some(NetworkClass::Trusted),
        }
    }
}

crate::fields! {
    /// A cookie that a request must have with exactly this value.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct NamedValue {
        /// Name of the cookie (case-sensitive).
        pub name: ValueText,
        /// The required value.
        pub value: ValueText,
    }
}

crate::text_kind! {
    /// A method.
    pub Method: Code::Method, { "pattern": "^[A-Z-]{1,32}$" }, |text| {
        let fits = !text.is_empty() && text.len() <= 32 && text.bytes().all(|b| b.is_ascii_uppercase() || b == b'-');
        fits.then(|| text.to_owned())
    };
}

crate::fields! {
    /// A rule. All of its conditions must match; a condition with several alternatives matches if one
    /// of them does.
    #[derive(Debug, Clone)]
    pub struct Rule {
        /// What happens to matching requests: `queue`, `bypass` or `hold`; or to clients, whatever they request: `block`, `challenge`
        /// or `trust`.
        pub action: RuleAction,
        /// Path globs: `*` within a segment, `**` across segments.
        pub path: OrEmpty<PathGlobs>,
        /// Methods.
        pub method: OrEmpty<List<Method, 1, ALTERNATIVES_MAX>>,
        /// A header, with its value or a condition on it.
        pub header: Omissible<HeaderCondition>,
        /// A cookie with its value.
        pub cookie: Omissible<NamedValue>,
        /// Networks or addresses of the visitor, or `@name` for a list of networks.
        pub source: OrEmpty<List<Source, 1, ALTERNATIVES_MAX>>,
        /// The FIFO job queue of the orders, with the target `origin`; required with `hold`.
        pub job_queue: Omissible<JobQueueId>,
        /// With `hold`, what happens to an order that could not be stored: `forward` (the default) or `refuse`.
        pub on_failure: Omissible<OnFailure>,
    }
    check = check_rule;
}

/// A rule needs a condition. If a part of a stored rule can't be read, more requests go through the
/// queue rather than fewer, and no client is classified: any other rule with an unknown condition is dropped.
fn check_rule(rule: &mut Rule, object: &mut ObjectReader<'_>) {
    if object.is_stored() {
        if rule.action == RuleAction::Hold && (object.has_ignored() || rule.hold().is_none()) {
            rule.action = RuleAction::Queue;
        }
        if rule.action != RuleAction::Queue && object.has_ignored() {
            object.error("action", Code::RuleWithoutCondition);
        }
    } else if !rule.has_condition() && !object.has_errors() {
        object.error("action", Code::RuleWithoutCondition);
    }
    if rule.action.class().is_some() && !object.has_errors() {
        check_client_conditions(rule, object);
    }
    if !object.is_stored() && !object.has_errors() {
        check_hold(rule, object);
    }
}

/// Methods of requests that change nothing, and so are no orders.
const METHODS_WITHOUT_ORDERS: [&str; 3] = ["GET", "HEAD", "OPTIONS"];

/// H1: orders have a method of their own, and go to a FIFO job queue.
fn check_hold(rule: &Rule, object: &mut ObjectReader<'_>) {
    if rule.action != RuleAction::Hold {
        for (name, is_given) in [("job_queue", rule.job_queue.is_some()), ("on_failure", rule.on_failure.is_some())] {
            if is_given {
                object.error(name, Code::OnlyWithHold);
            }
        }
        return;
    }
    match &rule.job_queue {
        None => object.error("job_queue", Code::Required.with("what", Code::JobQueueId)),
        Some(id) if !id.is_fifo() => object.error("job_queue", Code::HoldNeedsFifo),
        Some(_) => {}
    }
    let is_order = |method: &String| !METHODS_WITHOUT_ORDERS.contains(&method.as_str());
    if rule.method.is_empty() || !rule.method.iter().all(is_order) {
        object.error("method", Code::HoldMethods);
    }
}

/// Clients are classified by what a trusted proxy says of them.
fn check_client_conditions(rule: &Rule, object: &mut ObjectReader<'_>) {
    if rule.header.is_none() {
        object.error("header", Code::ClassNeedsHeader);
    }
    let conditions = [
        ("path", rule.path.sources().is_empty()),
        ("method", rule.method.is_empty()),
        ("cookie", rule.cookie.is_none()),
    ];
    for (name, _) in conditions.into_iter().filter(|(_, is_absent)| !is_absent) {
        object.error(name, Code::NoClientCondition);
    }
}

/// Calls a function with each value of the header or cookie that has this name.
pub type EachValue<'a> = dyn Fn(&str, &mut dyn FnMut(&[u8])) + 'a;

/// The attributes of a request that rules can match.
pub struct RequestAttributes<'a> {
    /// The path without the query; all of its [readings](super::path_readings) are matched.
    pub path: &'a str,
    /// The method as it was sent.
    pub method: &'a str,
    /// Passes on each value of a header; names are case-insensitive.
    pub header: &'a EachValue<'a>,
    /// Passes on each value of a cookie.
    pub cookie: &'a EachValue<'a>,
    /// The visitor's address as determined behind trusted proxies; `None` if unknown.
    pub source: Option<IpAddr>,
    /// The headers that only trusted proxies can send.
    pub trusted_headers: &'a TrustedHeaders,
    /// Whether a list of networks contains an address; `None` if there is no such list.
    pub in_list: &'a dyn Fn(&str, IpAddr) -> Option<bool>,
}

impl Rule {
    /// Whether all conditions match a request with this reading of its path.
    ///
    /// A header that anyone can send, a list or an address that is not known, a method in another case, which some origins take for the
    /// same, or several values, of which the origin may use any: more requests go through the queue rather than fewer.
    pub fn matches(&self, facts: &RequestAttributes<'_>, path: &str) -> bool {
        let if_unknown = self.action.route() == Some(Route::Queue);
        let is_method =
            |method: &String| method == facts.method || if_unknown && method.eq_ignore_ascii_case(facts.method);
        let has = |values: &EachValue<'_>, name: &str, matches: &dyn Fn(Option<&[u8]>) -> bool| {
            let (mut is_absent, mut any, mut all) = (true, false, true);
            values(name, &mut |value| {
                let fits = matches(Some(value));
                (is_absent, any, all) = (false, any || fits, all && fits);
            });
            if is_absent { matches(None) } else { all || any && if_unknown }
        };
        let has_header = |wanted: &HeaderCondition| match self.untrusted_header(facts.trusted_headers) {
            Some(_) => if_unknown,
            None => has(facts.header, &wanted.name, &|value| wanted.matches(value)),
        };
        let has_cookie =
            |wanted: &NamedValue| has(facts.cookie, &wanted.name, &|value| value == Some(wanted.value.as_bytes()));
        let is_in = |source: &Source, address| match source {
            Source::Network(network) => network.contains(&address),
            Source::List(name) => (facts.in_list)(name, address).unwrap_or(if_unknown),
        };
        let inside = |address: IpAddr| self.source.iter().any(|source| is_in(source, address));
        (self.path.sources().is_empty() || self.path.matches(path))
            && (self.method.is_empty() || self.method.iter().any(is_method))
            && self.header.as_ref().is_none_or(has_header)
            && self.cookie.as_ref().is_none_or(has_cookie)
            && (self.source.is_empty() || facts.source.map_or(if_unknown, inside))
    }

    /// The header of the rule if only a trusted proxy may send it, and anyone can.
    pub fn untrusted_header(&self, trusted: &TrustedHeaders) -> Option<&str> {
        let header = self.header.as_ref()?;
        let needs_trust = self.action.class().is_some() || header.needs_trust();
        (needs_trust && !trusted.contains(&header.name)).then_some(&header.name)
    }

    /// How matching orders are held; `None` with another action.
    pub fn hold(&self) -> Option<Hold<'_>> {
        let job_queue = self.job_queue.as_ref().filter(|_| self.action == RuleAction::Hold)?;
        Some(Hold { job_queue, on_failure: self.on_failure.unwrap_or_default() })
    }

    /// The lists of networks that the rule names.
    pub fn lists(&self) -> impl Iterator<Item = &str> {
        self.source.iter().filter_map(|source| if let Source::List(name) = source { Some(name.as_str()) } else { None })
    }

    /// Whether both have the same conditions, whatever their actions.
    pub(super) fn has_same_conditions(&self, other: &Self) -> bool {
        self.path.sources() == other.path.sources()
            && (&self.method, &self.source) == (&other.method, &other.source)
            && (&self.header, &self.cookie) == (&other.header, &other.cookie)
    }

    fn has_condition(&self) -> bool {
        !(self.path.sources().is_empty() && self.method.is_empty() && self.source.is_empty())
            || self.header.is_some()
            || self.cookie.is_some()
    }
}

/// The rules whose headers only a trusted proxy may send, and anyone can, as errors of `rules[..].header`.
#[must_use]
pub fn untrusted_headers(rules: &[Rule], trusted: &TrustedHeaders) -> Vec<FieldError> {
    let found = rules.iter().enumerate().filter_map(|(index, rule)| Some((index, rule.untrusted_header(trusted)?)));
    let fault = |name: &str| Code::UntrustedHeader.with("name", name).with("known", trusted.to_string());
    found.map(|(index, name)| FieldError::new(format!("rules[{index}].header"), fault(name))).collect()
}

/// The rules of a tenant's queue that hold orders in a job queue which is not among these, or is not for orders of the tenant, as errors
/// of `rules[..].job_queue`. Job queues in `unreadable` may be for its orders.
#[must_use]
pub fn rules_without_job_queue(
    rules: &[Rule],
    tenant: &TenantId,
    job_queues: &[JobQueueSettings],
    unreadable: &[JobQueueId],
) -> Vec<FieldError> {
    let holds = rules.iter().enumerate().filter_map(|(index, rule)| Some((index, rule.hold()?.job_queue)));
    let exists = |id: &JobQueueId| {
        unreadable.contains(id) || job_queues.iter().any(|it| it.id == *id && it.holds_orders_of(tenant))
    };
    let fault = |id: &JobQueueId| Code::NoOrdersJobQueue.with("job_queue", id.as_str());
    holds
        .filter(|(_, id)| !exists(id))
        .map(|(index, id)| FieldError::new(format!("rules[{index}].job_queue"), fault(id)))
        .collect()
}

/// Whether the rules of a queue have more path globs than allowed.
pub(super) fn has_too_many_globs(rules: &[Rule]) -> bool {
    rules.iter().map(|rule| rule.path.sources().len()).sum::<usize>() > GLOBS_MAX
}

/// The error for [`has_too_many_globs`].
pub(super) fn too_many_globs() -> Message {
    Code::TooManyPaths.with("most", GLOBS_MAX)
}

//! Rules: which requests to a host a queue applies to.

use std::fmt;
use std::net::IpAddr;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use ipnet::IpNet;
use serde_json::Value;

use super::header_condition::HeaderCondition;
use super::list_name::parse_list_name;
use super::path::path_readings;
use super::trusted_headers::TrustedHeaders;
use super::value_text::{TEXT_MAX, ValueText};
use crate::fields::FieldErrorCode as Code;
use crate::fields::{Field, FieldError, List, ObjectReader, Omissible, OrEmpty, Reader};
use crate::jobs::{JobQueueId, JobQueueSettings};
use crate::{Message, NetworkClass, TenantId};

/// Maximum number of rules per queue.
pub const RULES_MAX: usize = 100;
/// Maximum number of path globs per queue, over all of its rules.
const GLOBS_MAX: usize = 200;
/// Maximum number of wildcards per path glob: each `*`, `?`, `[` and `{`. With more, a matcher can have too many states.
const WILDCARDS_MAX: usize = 8;
/// Maximum number of alternatives per condition.
const ALTERNATIVES_MAX: usize = 100;

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
    /// A path glob.
    pub PathGlob: Code::PathGlob.with("most", WILDCARDS_MAX), { "maxLength": TEXT_MAX }, |text| {
        let wildcards = text.bytes().filter(|byte| b"*?[{".contains(byte)).count();
        let has_size = text.len() <= TEXT_MAX && wildcards <= WILDCARDS_MAX;
        let fits = text.starts_with('/') && has_size && glob(text).is_some();
        fits.then(|| text.to_owned())
    };
    /// A method.
    pub Method: Code::Method, { "pattern": "^[A-Z-]{1,32}$" }, |text| {
        let fits = !text.is_empty() && text.len() <= 32 && text.bytes().all(|b| b.is_ascii_uppercase() || b == b'-');
        fits.then(|| text.to_owned())
    };
}

crate::text_field! { IpAddr: Code::Address, {}; }

fn parse_network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

crate::text_kind! {
    /// A network, or a single address.
    pub Network -> IpNet: Code::Network, {}, parse_network;
}

/// Where a client may be: a network, or a list of networks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A network.
    Network(IpNet),
    /// The list of this name: `@name`.
    List(String),
}

/// Begins the name of a list.
const LIST_MARK: char = '@';

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(network) => network.fmt(f),
            Self::List(name) => write!(f, "{LIST_MARK}{name}"),
        }
    }
}

impl Field for Source {
    type Value = Self;

    fn expected() -> Message {
        Code::Source.into()
    }

    fn schema() -> Value {
        serde_json::json!({ "type": "string" })
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<Self> {
        let text = value.as_str();
        let parsed = match text.and_then(|text| text.strip_prefix(LIST_MARK)) {
            Some(name) => parse_list_name(name).map(Self::List),
            None => text.and_then(parse_network).map(Self::Network),
        };
        reader.accept::<Self>(value, parsed)
    }

    fn to_json(value: &Self) -> Value {
        value.to_string().into()
    }
}

/// Path globs in source and compiled form: `*` within a segment, `**` across segments.
#[derive(Debug, Clone, Default)]
pub struct PathGlobs {
    sources: Vec<String>,
    set: GlobSet,
}

fn glob(source: &str) -> Option<Glob> {
    GlobBuilder::new(source).case_insensitive(true).literal_separator(true).build().ok()
}

/// The globs of a path condition.
type GlobList = List<PathGlob, 1, ALTERNATIVES_MAX>;

impl Field for PathGlobs {
    type Value = Self;

    fn expected() -> Message {
        GlobList::expected()
    }

    fn schema() -> Value {
        GlobList::schema()
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<Self> {
        let sources = GlobList::parse(value, reader)?;
        let mut set = GlobSetBuilder::new();
        for source in &sources {
            set.add(glob(source)?);
        }
        Some(Self { set: set.build().ok()?, sources })
    }

    fn to_json(value: &Self) -> Value {
        GlobList::to_json(&value.sources)
    }
}

impl PathGlobs {
    /// The globs as they were written.
    pub fn sources(&self) -> &[String] {
        &self.sources
    }

    /// `/shop/**` matches `/shop` too, so a missing trailing slash does not bypass a rule.
    pub(super) fn matches(&self, path: &str) -> bool {
        self.set.is_match(path) || self.set.is_match(format!("{path}/"))
    }
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
    let conditions =
        [("path", rule.path.sources.is_empty()), ("method", rule.method.is_empty()), ("cookie", rule.cookie.is_none())];
    for (name, _) in conditions.into_iter().filter(|(_, is_absent)| !is_absent) {
        object.error(name, Code::NoClientCondition);
    }
}

/// Calls a function with each value of the header or cookie that has this name.
pub type EachValue<'a> = dyn Fn(&str, &mut dyn FnMut(&[u8])) + 'a;

/// The attributes of a request that rules can match.
pub struct RequestAttributes<'a> {
    /// The path without the query; all of its [readings](path_readings) are matched.
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
        (self.path.sources.is_empty() || self.path.matches(path))
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
        self.path.sources == other.path.sources
            && (&self.method, &self.source) == (&other.method, &other.source)
            && (&self.header, &self.cookie) == (&other.header, &other.cookie)
    }

    fn has_condition(&self) -> bool {
        !(self.path.sources.is_empty() && self.method.is_empty() && self.source.is_empty())
            || self.header.is_some()
            || self.cookie.is_some()
    }
}

/// The decision of a host's queues about one reading of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// The reading of the path.
    pub path: String,
    /// Whether the request goes through a queue or bypasses it.
    pub route: Route,
    /// The index of the queue whose rules decided; `None` if no queue applies.
    pub queue: Option<usize>,
}

/// The decisions of the queues of a host, in order, for each reading of a request; at least one. The last one rejects a path that
/// different queues take in different readings: the origin may use any of them, and a visitor of one queue is not a visitor of the
/// other.
pub fn rulings(queues: &[&[Rule]], facts: &RequestAttributes<'_>) -> Vec<Ruling> {
    let readings = path_readings(facts.path);
    let rule_on = |path: String| {
        let decides = |rules: &[Rule]| route_of(rules, facts, &path);
        let found = queues.iter().enumerate().find_map(|(index, rules)| Some((index, decides(rules)?)));
        let (queue, route) = found.map_or((None, Route::Bypass), |(index, route)| (Some(index), route));
        Ruling { path, route, queue }
    };
    let mut rulings: Vec<Ruling> = readings.paths.into_iter().map(rule_on).collect();
    if !readings.is_complete {
        let (route, queue) = ruling_without_path(queues);
        rulings.push(Ruling { path: facts.path.to_owned(), route, queue });
    }
    let mut taking = rulings.iter().filter(|ruling| ruling.route == Route::Queue).map(|ruling| ruling.queue);
    let first = taking.next();
    if taking.any(|queue| Some(queue) != first) {
        rulings.push(Ruling { path: facts.path.to_owned(), route: Route::Reject, queue: None });
    }
    rulings
}

/// The decision for a path of which not all readings are known: a queue without rules takes the request if it is the first of its
/// host, and the only queue of a host does, unless one of its rules may hold it.
fn ruling_without_path(queues: &[&[Rule]]) -> (Route, Option<usize>) {
    let holds = |rules: &[Rule]| rules.iter().any(|rule| rule.action == RuleAction::Hold);
    match queues {
        [[], ..] => (Route::Queue, Some(0)),
        [rules] if !holds(rules) => (Route::Queue, Some(0)),
        _ => (Route::Reject, None),
    }
}

/// The ruling that applies: a request bypasses the queues only if it does so in every reading of
/// its path, since an origin may use any of them. It is rejected if they lead to different queues, or if not all of them are known and
/// they matter.
///
/// # Panics
/// If `rulings` is empty.
pub fn decisive(rulings: &[Ruling]) -> &Ruling {
    let first = |route: Route| rulings.iter().find(|ruling| ruling.route == route);
    first(Route::Reject).or_else(|| first(Route::Queue)).unwrap_or(&rulings[0])
}

/// The decision for a request: the [`decisive`] one of its [`rulings`].
pub fn decide(queues: &[&[Rule]], facts: &RequestAttributes<'_>) -> Ruling {
    if queues.first().is_some_and(|rules| rules.is_empty()) {
        return Ruling { path: facts.path.to_owned(), route: Route::Queue, queue: Some(0) };
    }
    decisive(&rulings(queues, facts)).clone()
}

/// The decision of one queue's rules for a reading of the path: the first matching rule that says where requests go. If none
/// matches, a queue without queue rules takes the request; a queue with queue rules does not (`None`), and the next queue of the
/// host decides.
pub fn route_of(rules: &[Rule], facts: &RequestAttributes<'_>, path: &str) -> Option<Route> {
    match deciding_rule(rules, facts, path) {
        Some(index) => rules[index].action.route(),
        None => takes_unmatched(rules).then_some(Route::Queue),
    }
}

/// Index of the first matching rule that says where requests go; `None` if none does.
pub fn deciding_rule(rules: &[Rule], facts: &RequestAttributes<'_>, path: &str) -> Option<usize> {
    rules.iter().position(|rule| rule.action.route().is_some() && rule.matches(facts, path))
}

/// How the rules of a queue hold a request that goes through it: as the rule says that decides about a reading of its path.
pub fn hold_of<'a>(rules: &'a [Rule], facts: &RequestAttributes<'_>) -> Option<Hold<'a>> {
    if rules.iter().all(|rule| rule.action != RuleAction::Hold) {
        return None;
    }
    let routes = || rules.iter().filter(|rule| rule.action.route().is_some());
    path_readings(facts.path).paths.iter().find_map(|path| routes().find(|rule| rule.matches(facts, path))?.hold())
}

/// Whether a queue with these rules takes the requests that none of them match.
pub(super) fn takes_unmatched(rules: &[Rule]) -> bool {
    rules.iter().all(|rule| rule.action != RuleAction::Queue)
}

/// The class that the rules of a queue give the client of a request: that of the first matching rule that classifies clients.
pub fn class_of(rules: &[Rule], facts: &RequestAttributes<'_>) -> Option<NetworkClass> {
    let classifying = rules.iter().filter_map(|rule| Some((rule, rule.action.class()?)));
    classifying.into_iter().find(|(rule, _)| rule.matches(facts, facts.path)).map(|(_, class)| class)
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
    rules.iter().map(|rule| rule.path.sources.len()).sum::<usize>() > GLOBS_MAX
}

/// The error for [`has_too_many_globs`].
pub(super) fn too_many_globs() -> Message {
    Code::TooManyPaths.with("most", GLOBS_MAX)
}

//! Rules: which requests to a host a queue applies to.

use std::net::IpAddr;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use ipnet::IpNet;
use serde_json::Value;

use super::path::path_readings;
use crate::Message;
use crate::fields::FieldWording as W;
use crate::fields::{Field, List, ObjectReader, Omissible, OrEmpty, Reader};

/// Maximum number of rules per queue.
pub const RULES_MAX: usize = 100;
/// Maximum number of path globs per queue, over all of its rules.
const GLOBS_MAX: usize = 200;
/// Maximum number of alternatives per condition.
const ALTERNATIVES_MAX: usize = 100;
/// Maximum length of a path glob, header or cookie text.
const TEXT_MAX: usize = 512;

/// The action for requests that match a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleAction {
    /// The request goes through the queue.
    Queue,
    /// The request bypasses the queue and is not counted.
    Bypass,
}

crate::word_field!(RuleAction { Queue = "queue", Bypass = "bypass" } else Queue);

crate::fields! {
    /// A header or cookie that a request must have with exactly this value.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct NamedValue {
        /// Name of the header (case-insensitive) or cookie (case-sensitive).
        pub name: ValueText,
        /// The required value.
        pub value: ValueText,
    }
}

crate::text_kind! {
    /// A name or value of a header or cookie.
    pub ValueText: W::ValueText.with("most", TEXT_MAX), { "minLength": 1, "maxLength": TEXT_MAX }, |text| {
        (!text.is_empty() && text.len() <= TEXT_MAX).then(|| text.to_owned())
    };
    /// A path glob.
    pub PathGlob: W::PathGlob, { "maxLength": TEXT_MAX }, |text| {
        let fits = text.starts_with('/') && text.len() <= TEXT_MAX && glob(text).is_some();
        fits.then(|| text.to_owned())
    };
    /// A method.
    pub Method: W::Method, { "pattern": "^[A-Z-]{1,32}$" }, |text| {
        let fits = !text.is_empty() && text.len() <= 32 && text.bytes().all(|b| b.is_ascii_uppercase() || b == b'-');
        fits.then(|| text.to_owned())
    };
}

crate::text_field! { IpAddr: W::Address, {}; }

/// A network, or a single address.
pub struct Network;

impl Field for Network {
    type Value = IpNet;

    fn expected() -> Message {
        W::Network.into()
    }

    fn schema() -> Value {
        serde_json::json!({ "type": "string" })
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<IpNet> {
        let network = |text: &str| text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
        reader.accept::<Self>(value, value.as_str().and_then(network))
    }

    fn to_json(value: &IpNet) -> Value {
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
    /// `/shop/**` matches `/shop` too, so a missing trailing slash does not bypass a rule.
    fn matches(&self, path: &str) -> bool {
        self.set.is_match(path) || self.set.is_match(format!("{path}/"))
    }
}

crate::fields! {
    /// A rule. All of its conditions must match; a condition with several alternatives matches if one
    /// of them does.
    #[derive(Debug, Clone)]
    pub struct Rule {
        /// What happens to matching requests: `queue` or `bypass`.
        pub action: RuleAction,
        /// Path globs: `*` within a segment, `**` across segments.
        pub path: OrEmpty<PathGlobs>,
        /// Methods.
        pub method: OrEmpty<List<Method, 1, ALTERNATIVES_MAX>>,
        /// A header with its value.
        pub header: Omissible<NamedValue>,
        /// A cookie with its value.
        pub cookie: Omissible<NamedValue>,
        /// Networks or addresses of the visitor.
        pub source: OrEmpty<List<Network, 1, ALTERNATIVES_MAX>>,
    }
    check = check_conditions;
}

/// A rule needs a condition. If a part of a stored rule can't be read, more requests go through the
/// queue rather than fewer: a bypass rule with an unknown condition is dropped.
fn check_conditions(rule: &mut Rule, object: &mut ObjectReader<'_>) {
    if object.is_stored() {
        if rule.action == RuleAction::Bypass && object.has_ignored() {
            object.error("action", W::RuleWithoutCondition);
        }
    } else if !rule.has_condition() && !object.has_errors() {
        object.error("action", W::RuleWithoutCondition);
    }
}

/// The attributes of a request that rules can match.
pub struct RequestAttributes<'a> {
    /// The path without the query; all of its [readings](path_readings) are matched.
    pub path: &'a str,
    /// The method, in upper case.
    pub method: &'a str,
    /// Returns the value of a header; names are case-insensitive.
    pub header: &'a dyn Fn(&str) -> Option<&'a str>,
    /// Returns the value of a cookie.
    pub cookie: &'a dyn Fn(&str) -> Option<String>,
    /// The visitor's address as determined behind trusted proxies; `None` if unknown.
    pub source: Option<IpAddr>,
}

impl Rule {
    /// Whether all conditions match a request with this reading of its path.
    #[must_use]
    pub fn matches(&self, facts: &RequestAttributes<'_>, path: &str) -> bool {
        let has_header = |wanted: &NamedValue| (facts.header)(&wanted.name) == Some(&wanted.value);
        let has_cookie = |wanted: &NamedValue| (facts.cookie)(&wanted.name).as_ref() == Some(&wanted.value);
        let inside = |address: IpAddr| self.source.iter().any(|net| net.contains(&address));
        (self.path.sources.is_empty() || self.path.matches(path))
            && (self.method.is_empty() || self.method.iter().any(|method| method == facts.method))
            && self.header.as_ref().is_none_or(has_header)
            && self.cookie.as_ref().is_none_or(has_cookie)
            && (self.source.is_empty() || facts.source.is_some_and(inside))
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
    pub action: RuleAction,
    /// The index of the queue whose rules decided; `None` if no queue applies.
    pub queue: Option<usize>,
}

/// The decisions of the queues of a host, in order, for each reading of a request; at least one.
#[must_use]
pub fn rulings(queues: &[&[Rule]], facts: &RequestAttributes<'_>) -> Vec<Ruling> {
    let readings = path_readings(facts.path);
    let rule_on = |path: String| {
        let decides = |rules: &[Rule]| action_of(rules, facts, &path);
        let found = queues.iter().enumerate().find_map(|(index, rules)| Some((index, decides(rules)?)));
        let (queue, action) = found.map_or((None, RuleAction::Bypass), |(index, action)| (Some(index), action));
        Ruling { path, action, queue }
    };
    let mut rulings: Vec<Ruling> = readings.paths.into_iter().map(rule_on).collect();
    if !readings.is_complete {
        let queue = (!queues.is_empty()).then_some(0);
        rulings.push(Ruling { path: facts.path.to_owned(), action: RuleAction::Queue, queue });
    }
    rulings
}

/// The ruling that applies: a request bypasses the queues only if it does so in every reading of
/// its path, since an origin may use any of them.
///
/// # Panics
/// If `rulings` is empty.
#[must_use]
pub fn decisive(rulings: &[Ruling]) -> &Ruling {
    rulings.iter().find(|ruling| ruling.action == RuleAction::Queue).unwrap_or(&rulings[0])
}

/// The decision for a request: the [`decisive`] one of its [`rulings`].
#[must_use]
pub fn decide(queues: &[&[Rule]], facts: &RequestAttributes<'_>) -> Ruling {
    if queues.first().is_some_and(|rules| rules.is_empty()) {
        return Ruling { path: facts.path.to_owned(), action: RuleAction::Queue, queue: Some(0) };
    }
    decisive(&rulings(queues, facts)).clone()
}

/// The decision of one queue's rules for a reading of the path: the action of the first matching
/// rule. If none matches, a queue with only bypass rules (or none) takes the request; a queue with
/// queue rules does not (`None`), and the next queue of the host decides.
#[must_use]
pub fn action_of(rules: &[Rule], facts: &RequestAttributes<'_>, path: &str) -> Option<RuleAction> {
    match rules.iter().find(|rule| rule.matches(facts, path)) {
        Some(rule) => Some(rule.action),
        None if rules.iter().all(|rule| rule.action == RuleAction::Bypass) => Some(RuleAction::Queue),
        None => None,
    }
}

/// Whether the rules of a queue have more path globs than allowed.
pub(super) fn has_too_many_globs(rules: &[Rule]) -> bool {
    rules.iter().map(|rule| rule.path.sources.len()).sum::<usize>() > GLOBS_MAX
}

/// The error for [`has_too_many_globs`].
pub(super) fn too_many_globs() -> Message {
    W::TooManyPaths.with("most", GLOBS_MAX)
}

//! Rules: which requests to a host a queue applies to.

use std::net::IpAddr;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ipnet::IpNet;
use serde_json::{Map, Value, json};

use super::fields::{FieldError, Fields, Reading, shown, strings};
use super::path::path_readings;
use super::wording::FieldWording as W;

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

/// A header or cookie that a request must have with exactly this value. Its mere presence would
/// prove nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedValue {
    /// Name of the header (case-insensitive) or cookie (case-sensitive).
    pub name: String,
    /// The required value.
    pub value: String,
}

/// Path globs in source and compiled form: `*` within a segment, `**` across segments.
#[derive(Debug, Clone, Default)]
pub struct PathGlobs {
    sources: Vec<String>,
    set: GlobSet,
}

impl PathGlobs {
    fn parse(value: &Value) -> Option<Self> {
        let sources =
            list(value, |source| (source.starts_with('/') && source.len() <= TEXT_MAX).then(|| source.to_owned()))?;
        let mut set = GlobSetBuilder::new();
        for source in &sources {
            set.add(GlobBuilder::new(source).case_insensitive(true).literal_separator(true).build().ok()?);
        }
        Some(Self { set: set.build().ok()?, sources })
    }

    /// `/shop/**` matches `/shop` too, so a missing trailing slash does not bypass a rule.
    fn matches(&self, path: &str) -> bool {
        self.set.is_match(path) || self.set.is_match(format!("{path}/"))
    }
}

/// A rule. All of its conditions must match; a condition with several alternatives matches if one
/// of them does.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The action for matching requests.
    pub action: RuleAction,
    /// The path, in any of its [readings](path_readings).
    pub path: PathGlobs,
    /// The method, in upper case.
    pub method: Vec<String>,
    /// A header with its value.
    pub header: Option<NamedValue>,
    /// A cookie with its value.
    pub cookie: Option<NamedValue>,
    /// Networks that contain the visitor's address.
    pub source: Vec<IpNet>,
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

pub(super) fn parse_rules(value: &Value, path: &str, reading: Reading, errors: &mut Vec<FieldError>) -> Vec<Rule> {
    if reading == Reading::Lenient {
        return value.as_array().into_iter().flatten().filter_map(|item| stored_rule(item.as_object()?)).collect();
    }
    let Some(items) = value.as_array().filter(|items| items.len() <= RULES_MAX) else {
        let takes = W::Rules.with("most", RULES_MAX);
        errors.push(FieldError::new(path, W::TakesNot.with("what", takes).with("given", shown(value))));
        return Vec::new();
    };
    let mut rules = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let place = format!("{path}[{index}]");
        match item.as_object() {
            Some(map) => rules.extend(parse_rule(map, &place, errors)),
            None => errors.push(FieldError::new(place, W::Takes.with("what", W::RuleTable))),
        }
    }
    if rules.iter().map(|rule| rule.path.sources.len()).sum::<usize>() > GLOBS_MAX {
        errors.push(FieldError::new(path, W::TooManyPaths.with("most", GLOBS_MAX)));
    }
    rules
}

fn parse_rule(map: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) -> Option<Rule> {
    let mut fields = Fields::new(map, path);
    let rule = rule_of(&mut fields);
    if fields.errors.is_empty() && !rule.has_condition() {
        fields.refuse("action", W::RuleWithoutCondition);
    }
    let found = fields.finish();
    let good = found.is_empty();
    errors.extend(found);
    good.then_some(rule)
}

/// Reads a stored rule. If a part can't be read, more requests go through the queue rather than
/// fewer: a bypass rule with an unknown condition is dropped.
fn stored_rule(map: &Map<String, Value>) -> Option<Rule> {
    let mut fields = Fields::read(map, "", Reading::Lenient);
    let rule = rule_of(&mut fields);
    let is_doubtful = fields.has_ignored() || !fields.errors.is_empty();
    (rule.action == RuleAction::Queue || !is_doubtful).then_some(rule)
}

fn rule_of(fields: &mut Fields<'_>) -> Rule {
    let action =
        fields.required("action", W::OneOf.with("words", "\"queue\", \"bypass\""), |value| match value.as_str()? {
            "queue" => Some(RuleAction::Queue),
            "bypass" => Some(RuleAction::Bypass),
            _ => None,
        });
    Rule {
        action: action.unwrap_or(RuleAction::Queue),
        path: fields.or("path", PathGlobs::default(), W::Paths, PathGlobs::parse),
        method: fields.or("method", vec![], W::Methods, |value| list(value, method)),
        header: fields.optional("header", W::NamedValue, named_value),
        cookie: fields.optional("cookie", W::NamedValue, named_value),
        source: fields.or("source", vec![], W::Networks, |value| list(value, network)),
    }
}

fn list<T>(value: &Value, parse: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let texts = strings(value).filter(|texts| !texts.is_empty() && texts.len() <= ALTERNATIVES_MAX)?;
    texts.into_iter().map(parse).collect()
}

fn method(text: &str) -> Option<String> {
    let fits = !text.is_empty() && text.len() <= 32 && text.bytes().all(|b| b.is_ascii_uppercase() || b == b'-');
    fits.then(|| text.to_owned())
}

fn network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

fn named_value(value: &Value) -> Option<NamedValue> {
    let map = value.as_object().filter(|map| map.len() == 2)?;
    let text = |name| map.get(name)?.as_str().filter(|text| !text.is_empty() && text.len() <= TEXT_MAX);
    Some(NamedValue { name: text("name")?.to_owned(), value: text("value")?.to_owned() })
}

impl Rule {
    /// The rule as a document.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        let action = if self.action == RuleAction::Queue { "queue" } else { "bypass" };
        map.insert("action".into(), json!(action));
        let mut put_list = |name: &str, items: Vec<String>| {
            if !items.is_empty() {
                map.insert(name.into(), json!(items));
            }
        };
        put_list("path", self.path.sources.clone());
        put_list("method", self.method.clone());
        put_list("source", self.source.iter().map(ToString::to_string).collect());
        for (name, wanted) in [("header", &self.header), ("cookie", &self.cookie)] {
            if let Some(wanted) = wanted {
                map.insert(name.into(), json!({ "name": wanted.name, "value": wanted.value }));
            }
        }
        Value::Object(map)
    }
}

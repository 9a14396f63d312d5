//! Which queue and which rule decide about a request.

use super::path::path_readings;
use super::rule::{Hold, RequestAttributes, Route, Rule, RuleAction};
use crate::NetworkClass;

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

//! Routing conflicts: queues that are valid by themselves, but whose hosts and rules cannot both apply.

use super::ruling::takes_unmatched;
use super::{FieldError, HostPattern, Route, Rule, Settings, is_subdomain_of};
use crate::fields::FieldErrorCode as Code;
use crate::{Message, Param};

/// Maximum number of reported conflicts.
const CONFLICTS_MAX: usize = 20;

/// The conflicts of `candidate` with other queues, by field of the candidate. Queues of several tenants may share a host
/// only if `across_tenants`. A queue for which `can_name` is false is not named.
pub fn routing_conflicts<'a>(
    candidate: &Settings,
    all: impl IntoIterator<Item = &'a Settings>,
    across_tenants: bool,
    can_name: impl Fn(&Settings) -> bool,
) -> Vec<FieldError> {
    let mut found = Vec::new();
    for other in all.into_iter().filter(|other| other.id != candidate.id) {
        let name: Param = if can_name(other) { format!("\"{}\"", other.id).into() } else { Code::ForeignQueue.into() };
        let is_foreign = other.tenant != candidate.tenant && !across_tenants;
        for (index, host) in candidate.hosts.iter().enumerate() {
            let fault = if is_foreign && overlaps(host, &other.hosts) {
                Some(Code::HostTaken.with("host", host.to_string()).with("queue", name.clone()))
            } else if other.hosts.contains(host) {
                shadowing(candidate, other, host, &name)
            } else {
                None
            };
            found.extend(fault.map(|fault| FieldError::new(format!("hosts[{index}]"), fault)));
        }
        found.extend(repeated_rules(candidate, other, &name));
    }
    found.truncate(CONFLICTS_MAX);
    found
}

/// Whether a queue takes the requests that none of its rules match.
pub fn queues_unmatched(queue: &Settings) -> bool {
    takes_unmatched(&queue.rules)
}

/// Whether requests to a host can also be for one of the others.
fn overlaps(host: &HostPattern, others: &[HostPattern]) -> bool {
    others.iter().any(|other| match (host, other) {
        (HostPattern::Exact(name), HostPattern::Exact(other)) => name == other,
        (HostPattern::Exact(name), HostPattern::Wildcard(domain))
        | (HostPattern::Wildcard(domain), HostPattern::Exact(name)) => is_subdomain_of(name, domain),
        (HostPattern::Wildcard(one), HostPattern::Wildcard(other)) => {
            one == other || is_subdomain_of(one, other) || is_subdomain_of(other, one)
        }
        // A host that is named takes precedence over `*`.
        (HostPattern::Any, _) | (_, HostPattern::Any) => host == other,
    })
}

/// Of two queues of the same host, the one with the lower ID is evaluated first. If it queues all requests, the other one
/// never applies.
fn shadowing(candidate: &Settings, other: &Settings, host: &HostPattern, name: &Param) -> Option<Message> {
    let fault = |code: Code| code.with("host", host.to_string()).with("queue", name.clone());
    if other.id < candidate.id && queues_unmatched(other) {
        return Some(fault(Code::NeverApplies));
    }
    (candidate.id < other.id && queues_unmatched(candidate)).then(|| fault(Code::HidesOther))
}

/// Rules with the same conditions in both queues: the one of the later queue never matches.
fn repeated_rules(candidate: &Settings, other: &Settings, name: &Param) -> Vec<FieldError> {
    let Some(host) = candidate.hosts.iter().find(|host| other.hosts.contains(host)) else { return Vec::new() };
    let is_later = other.id < candidate.id;
    let mut found = Vec::new();
    for (mine, rule) in candidate.rules.iter().enumerate() {
        let same = |(_, other): &(usize, &Rule)| other.action.route().is_some() && other.has_same_conditions(rule);
        for (theirs, their_rule) in other.rules.iter().enumerate().filter(same) {
            let later = if is_later { rule } else { their_rule };
            if later.action.route() == Some(Route::Queue) {
                let fault = Code::RuleRepeated.with("rule", theirs + 1).with("queue", name.clone());
                found.push(FieldError::new(format!("rules[{mine}]"), fault.with("host", host.to_string())));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn queue(id: &str, tenant: &str, hosts: &[&str], rules: &Value) -> Settings {
        Settings::from_value(&json!({
            "id": id, "tenant": tenant, "hosts": hosts, "quota": 1, "rules": rules, "handover": { "kind": "check" },
        }))
        .unwrap()
    }

    fn conflicts(candidate: &Settings, other: &Settings, across_tenants: bool) -> Vec<String> {
        let can_name = |other: &Settings| other.tenant == candidate.tenant;
        routing_conflicts(candidate, [other], across_tenants, can_name).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn shadowed_queue_is_rejected_in_either_order() {
        let (none, shop) = (json!([]), json!([{ "action": "queue", "path": "/shop/**" }]));
        let late = queue("b", "acme", &["x.example"], &shop);
        let first = queue("a", "acme", &["x.example"], &none);
        let hidden = "hosts[0]: never applies on \"x.example\": \"a\" matches all requests first";
        assert_eq!(conflicts(&late, &first, false), [hidden]);
        let hides = "hosts[0]: matches all requests on \"x.example\" before \"b\", which then never applies";
        assert_eq!(conflicts(&first, &late, false), [hides]);
        let early = queue("a", "acme", &["x.example"], &json!([{ "action": "queue", "path": "/cart/**" }]));
        assert!(conflicts(&early, &late, false).is_empty(), "both have queue rules");
    }

    #[test]
    fn repeated_rule_of_another_queue_is_rejected() {
        let rule = |path: &str| json!([{ "action": "queue", "path": path }]);
        let (one, two) = (queue("a", "acme", &["x.example"], &rule("/shop/**")), rule("/shop/**"));
        let repeated =
            "rules[0]: has the same conditions as rule 1 of \"a\" on \"x.example\"; only the first match applies";
        assert_eq!(conflicts(&queue("b", "acme", &["x.example"], &two), &one, false), [repeated]);
        assert!(conflicts(&queue("b", "acme", &["y.example"], &two), &one, false).is_empty(), "other host");
        let with_exception = |path: &str| {
            let exception = json!({ "action": "bypass", "path": "/static/**" });
            json!([exception, { "action": "queue", "path": path }])
        };
        let (one, two) = (with_exception("/shop/**"), with_exception("/cart/**"));
        let (one, two) = (queue("a", "acme", &["x.example"], &one), queue("b", "acme", &["x.example"], &two));
        assert!(
            conflicts(&two, &one, false).is_empty() && conflicts(&one, &two, false).is_empty(),
            "bypass rules do not conflict"
        );
    }

    #[test]
    fn host_of_another_tenant_is_rejected() {
        let none = json!([]);
        for (mine, theirs, taken) in [
            ("x.example", "x.example", true),
            ("shop.acme.example", "*.acme.example", true),
            ("*.acme.example", "shop.acme.example", true),
            ("*.a.acme.example", "*.acme.example", true),
            ("*", "*", true),
            ("x.example", "*", false),
            ("y.example", "x.example", false),
            ("acme.example", "*.acme.example", false),
        ] {
            let (candidate, other) = (queue("b", "blue", &[mine], &none), queue("c", "acme", &[theirs], &none));
            let found = conflicts(&candidate, &other, false);
            assert_eq!(!found.is_empty(), taken, "{mine} {theirs}: {found:?}");
            assert!(found.iter().all(|message| !message.contains("\"c\"")), "the other queue is not named: {found:?}");
        }
        let (candidate, other) =
            (queue("b", "blue", &["shop.acme.example"], &none), queue("c", "acme", &["*.acme.example"], &none));
        assert!(conflicts(&candidate, &other, true).is_empty(), "allowed across tenants");
    }
}

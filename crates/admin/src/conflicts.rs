//! What is wrong between queues that are right by themselves: hosts and rules that can't both hold.

use std::sync::Arc;

use serde_json::Value;
use vestibule_core::settings::{FieldError, HostPattern, Rule, RuleAction, Settings, is_subdomain_of};
use vestibule_core::{Message, Param};
use vestibule_runtime::Queue;

use crate::codes::Code;

/// Most contradictions that are told.
const CONFLICTS_MAX: usize = 20;

/// What contradicts `candidate` among the queues that there are. `knows` says whether whoever asks may see a queue; one
/// that they may not see is not named. Somebody whose word holds for all tenants may put queues of several before one host.
pub(crate) fn routing_conflicts(
    candidate: &Settings,
    all: &[Arc<Queue>],
    holds_for_all: bool,
    knows: impl Fn(&Settings) -> bool,
) -> Vec<FieldError> {
    let mut found = Vec::new();
    for other in all.iter().map(|queue| &queue.settings).filter(|other| other.id != candidate.id) {
        let name: Param = if knows(other) { format!("\"{}\"", other.id).into() } else { Code::ForeignQueue.into() };
        let foreign = other.tenant != candidate.tenant && !holds_for_all;
        for (index, host) in candidate.hosts.iter().enumerate() {
            let field = format!("hosts[{index}]");
            let reason = if foreign && reaches_into(host, &other.hosts) {
                Some(Code::HostTaken.with("host", host.to_string()).with("queue", name.clone()))
            } else if other.hosts.contains(host) {
                hidden(candidate, other, host, &name)
            } else {
                None
            };
            found.extend(reason.map(|fault| FieldError { field, fault }));
        }
        found.extend(repeated_rules(candidate, other, &name));
    }
    found.truncate(CONFLICTS_MAX);
    found
}

/// Whether a host is one of another tenant's, lies below one, or has one below it.
fn reaches_into(host: &HostPattern, others: &[HostPattern]) -> bool {
    others.iter().any(|other| match (host, other) {
        (HostPattern::Exact(name), HostPattern::Exact(other)) => name == other,
        (HostPattern::Exact(name), HostPattern::Wildcard(domain))
        | (HostPattern::Wildcard(domain), HostPattern::Exact(name)) => is_subdomain_of(name, domain),
        (HostPattern::Wildcard(one), HostPattern::Wildcard(other)) => {
            one == other || is_subdomain_of(one, other) || is_subdomain_of(other, one)
        }
        // Every host at all is everybody's: what is named is found before it.
        (HostPattern::Any, _) | (_, HostPattern::Any) => host == other,
    })
}

/// Of two queues in front of the very same host, the one with the lower id is asked first. If it takes everything, the
/// other one never meets anybody.
fn hidden(candidate: &Settings, other: &Settings, host: &HostPattern, name: &Param) -> Option<Message> {
    let told = |wording: Code| wording.with("host", host.to_string()).with("queue", name.clone());
    if other.id < candidate.id && queues_unmatched(other) {
        return Some(told(Code::NeverApplies));
    }
    if candidate.id < other.id && queues_unmatched(candidate) {
        return Some(told(Code::HidesOther));
    }
    None
}

fn queues_unmatched(queue: &Settings) -> bool {
    queue.rules.iter().all(|rule| rule.action == RuleAction::Bypass)
}

/// What the later queue takes by a rule that the earlier one has to the letter never gets there.
fn repeated_rules(candidate: &Settings, other: &Settings, name: &Param) -> Vec<FieldError> {
    let Some(host) = candidate.hosts.iter().find(|host| other.hosts.contains(host)) else { return Vec::new() };
    let is_later = other.id < candidate.id;
    let mut found = Vec::new();
    for (mine, rule) in candidate.rules.iter().enumerate() {
        for (theirs, their_rule) in other.rules.iter().enumerate().filter(|(_, it)| condition(it) == condition(rule)) {
            let later = if is_later { rule } else { their_rule };
            if later.action == RuleAction::Queue {
                let fault = Code::RuleRepeated.with("rule", theirs).with("queue", name.clone());
                found.push(FieldError::new(format!("rules[{mine}]"), fault.with("host", host.to_string())));
            }
        }
    }
    found
}

fn condition(rule: &Rule) -> Value {
    let mut value = rule.to_value();
    if let Some(map) = value.as_object_mut() {
        map.remove("action");
    }
    value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn queue(id: &str, tenant: &str, hosts: &[&str], rules: &Value) -> Settings {
        Settings::from_value(&json!({
            "id": id, "tenant": tenant, "hosts": hosts, "quota": 1, "rules": rules, "handover": { "kind": "check" },
        }))
        .unwrap()
    }

    fn told(candidate: &Settings, other: Settings, holds_for_all: bool) -> Vec<String> {
        let other = Arc::new(Queue { settings: other, tenant: None, cookie_name: String::new() });
        let knows = |other: &Settings| other.tenant == candidate.tenant;
        routing_conflicts(candidate, &[other], holds_for_all, knows).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn shadowed_queue_is_rejected_in_either_order() {
        let (none, shop) = (json!([]), json!([{ "action": "queue", "path": "/shop/**" }]));
        let late = queue("b", "acme", &["x.example"], &shop);
        let first = queue("a", "acme", &["x.example"], &none);
        let hidden = "hosts[0]: never applies on \"x.example\": \"a\" matches all requests first";
        assert_eq!(told(&late, first.clone(), false), [hidden]);
        let hides = "hosts[0]: matches all requests on \"x.example\" before \"b\", which then never applies";
        assert_eq!(told(&first, late.clone(), false), [hides]);
        let early = queue("a", "acme", &["x.example"], &json!([{ "action": "queue", "path": "/cart/**" }]));
        assert!(told(&early, late, false).is_empty(), "both say what they take");
    }

    #[test]
    fn repeated_rule_of_another_queue_is_rejected() {
        let rule = |path: &str| json!([{ "action": "queue", "path": path }]);
        let (one, two) = (queue("a", "acme", &["x.example"], &rule("/shop/**")), rule("/shop/**"));
        assert_eq!(told(&queue("b", "acme", &["x.example"], &two), one.clone(), false).len(), 1);
        assert!(told(&queue("b", "acme", &["y.example"], &two), one, false).is_empty(), "they never meet");
        let with_exception = |path: &str| {
            let exception = json!({ "action": "bypass", "path": "/static/**" });
            json!([exception, { "action": "queue", "path": path }])
        };
        let (one, two) = (with_exception("/shop/**"), with_exception("/cart/**"));
        let (one, two) = (queue("a", "acme", &["x.example"], &one), queue("b", "acme", &["x.example"], &two));
        assert!(told(&two, one.clone(), false).is_empty() && told(&one, two, false).is_empty(), "an exception is none");
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
            let found = told(&candidate, other, false);
            assert_eq!(!found.is_empty(), taken, "{mine} {theirs}: {found:?}");
            assert!(found.iter().all(|message| !message.contains("\"c\"")), "it is not theirs to see: {found:?}");
        }
        let (candidate, other) =
            (queue("b", "blue", &["shop.acme.example"], &none), queue("c", "acme", &["*.acme.example"], &none));
        assert!(told(&candidate, other, true).is_empty(), "whoever has all tenants may");
    }
}

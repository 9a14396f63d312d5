//! Warnings of `vestibule check` about values that are valid and probably without the wanted effect: rules that never match,
//! methods and IDs that do not exist, an origin that is the gate itself, and hosts within a wildcard of another tenant.

use vestibule_core::jobs::{JobQueueSettings, WebhookQueue};
use vestibule_core::settings::{HandoverKind, HostPattern, Rule, RuleFlaw, Settings, is_subdomain_of, rule_flaws};

/// The methods of HTTP that sites use.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/// Minimum similarity (0 to 1) of a method to one of these that makes it a probable mistake.
const SIMILARITY_MIN: f64 = 0.9;

/// Warnings about the rules of a queue.
pub(crate) fn rule_warnings(queue: &Settings) -> Vec<String> {
    let mut found: Vec<String> = rule_flaws(&queue.rules).into_iter().map(|flaw| flaw_warning(queue, flaw)).collect();
    for (index, rule) in queue.rules.iter().enumerate() {
        if rule.path.sources().iter().any(|path| path.contains('?')) {
            found.push(format!(
                "rules[{index}].path: \"?\" stands for any character; paths are matched without the query string"
            ));
        }
        for method in &rule.method {
            if let Some(known) = similar_method(method) {
                found.push(format!("rules[{index}].method: \"{method}\" is unusual; did you mean {known}?"));
            }
        }
    }
    found
}

fn flaw_warning(queue: &Settings, flaw: RuleFlaw) -> String {
    match flaw {
        RuleFlaw::Shadowed { rule, by } => {
            let hold = queue.rules.get(rule).and_then(Rule::hold);
            let effect = if hold.is_some() { ", so its orders are not held" } else { "" };
            format!("rules[{rule}] never matches{effect}: rules[{by}] comes first and matches all of its requests")
        }
        RuleFlaw::AllBypass(rule) => {
            format!("rules[{rule}] lets all requests bypass the queue, and no rule before it queues any: nobody waits")
        }
    }
}

fn similar_method(method: &str) -> Option<&'static str> {
    let similarity = |known: &&str| strsim::jaro_winkler(method, known);
    let known = METHODS.into_iter().max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    (known != method && similarity(&known) >= SIMILARITY_MIN).then_some(known)
}

/// An origin that leads back to the gate.
pub(crate) fn own_host_warning(queue: &Settings) -> Option<String> {
    let origin = queue.handover.origin.as_ref().filter(|_| queue.handover.kind != HandoverKind::Check)?;
    let is_own = queue.hosts.iter().any(|host| matches!(host, HostPattern::Exact(name) if name == origin.host()));
    // At another port there may be the site.
    (is_own && matches!(origin.port(), 80 | 443)).then(|| {
        format!(
            "handover.origin is {origin}, a host of this queue: make sure that the site answers there, and not the gate itself"
        )
    })
}

/// Hosts that are within a wildcard of another tenant.
pub(crate) fn foreign_wildcard_warnings(queue: &Settings, all: &[Settings]) -> Vec<String> {
    let mut found = Vec::new();
    for other in all.iter().filter(|other| other.tenant != queue.tenant) {
        for (host, wildcard) in queue.hosts.iter().flat_map(|host| other.hosts.iter().map(move |other| (host, other))) {
            if let (HostPattern::Exact(name) | HostPattern::Wildcard(name), HostPattern::Wildcard(domain)) =
                (host, wildcard)
                && is_subdomain_of(name, domain)
            {
                found.push(format!(
                    "{host} is within {wildcard} of \"{}\", a queue of tenant {}, which does not apply to it",
                    other.id, other.tenant
                ));
            }
        }
    }
    found
}

/// Queues that the webhook of a job queue names and the file does not have.
pub(crate) fn webhook_warnings(job_queue: &JobQueueSettings, queues: &[Settings]) -> Vec<String> {
    let named = job_queue.webhook.iter().flat_map(|webhook| webhook.queues.iter());
    let unknown = named.filter_map(|queue| match queue {
        WebhookQueue::One(id) => queues.iter().all(|it| it.id != *id || it.tenant != job_queue.tenant).then_some(id),
        WebhookQueue::All => None,
    });
    unknown.map(|id| format!("webhook.queues: the file has no queue \"{id}\" of tenant {}", job_queue.tenant)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn queue(rules: &Value) -> Settings {
        let handover = json!({ "kind": "proxy", "origin": "https://www.example.com" });
        let settings = json!({
            "id": "tour", "tenant": "acme", "hosts": ["tickets.example.com"], "quota": 1, "handover": handover, "rules": rules,
        });
        Settings::from_value(&settings).unwrap()
    }

    #[test]
    fn rules_without_effect_are_named() {
        let hold = json!({ "action": "hold", "path": "/checkout", "method": ["POST"], "job_queue": "orders.fifo" });
        let shadowed = queue(&json!([{ "action": "queue", "path": "/**" }, hold]));
        let warning =
            "rules[1] never matches, so its orders are not held: rules[0] comes first and matches all of its requests";
        assert_eq!(rule_warnings(&shadowed), [warning]);
        let all = queue(&json!([{ "action": "bypass", "path": "/**" }]));
        assert!(rule_warnings(&all)[0].ends_with("nobody waits"), "{:?}", rule_warnings(&all));
        assert_eq!(rule_warnings(&queue(&json!([hold, { "action": "bypass", "path": "/static/**" }]))), [""; 0]);
    }

    #[test]
    fn queries_and_misspelled_methods_are_named() {
        let rules = json!([{ "action": "queue", "path": "/x?y=1", "method": ["GETT", "POST", "PROPFIND", "LOCK"] }]);
        let found = rule_warnings(&queue(&rules));
        assert!(found[0].contains("without the query string"), "{found:?}");
        assert_eq!(found[1..], ["rules[0].method: \"GETT\" is unusual; did you mean GET?"]);
    }

    #[test]
    fn origin_on_a_host_of_the_queue_is_named() {
        let mut queue = queue(&json!([]));
        assert_eq!(own_host_warning(&queue), None);
        queue.handover.origin = Some("https://tickets.example.com".parse().unwrap());
        assert!(own_host_warning(&queue).is_some_and(|warning| warning.contains("a host of this queue")));
        queue.handover.origin = Some("http://tickets.example.com:8080".parse().unwrap());
        assert_eq!(own_host_warning(&queue), None);
    }

    #[test]
    fn host_within_a_wildcard_of_another_tenant_is_named() {
        let on = |id: &str, tenant: &str, host: &str| {
            let mut queue = queue(&json!([]));
            queue.id = id.parse().unwrap();
            queue.tenant = tenant.parse().unwrap();
            queue.hosts = vec![host.parse().unwrap()];
            queue
        };
        let warned = |host: &str, tenant: &str, wildcard: &str| {
            let all = [on("tour", "acme", host), on("zebra", tenant, wildcard)];
            foreign_wildcard_warnings(&all[0], &all)
        };
        for host in ["tickets.example.com", "*.shop.example.com"] {
            let text = "is within *.example.com of \"zebra\", a queue of tenant blue, which does not apply to it";
            assert_eq!(warned(host, "blue", "*.example.com"), [format!("{host} {text}")]);
        }
        assert_eq!(warned("tickets.example.com", "acme", "*.example.com"), [""; 0], "of the same tenant");
        for wildcard in ["*", "*.tickets.example.com", "tickets.example.com"] {
            assert_eq!(warned("tickets.example.com", "blue", wildcard), [""; 0], "{wildcard}");
        }
    }

    #[test]
    fn webhook_of_an_unknown_queue_is_named() {
        let job_queue = |queues: &[&str]| {
            JobQueueSettings::from_stored(&json!({
                "id": "events", "tenant": "acme", "target": { "kind": "http", "url": "https://a.example/" },
                "webhook": { "event_types": ["queue.reset"], "queues": queues },
            }))
            .unwrap()
        };
        let queues = [queue(&json!([]))];
        assert_eq!(webhook_warnings(&job_queue(&["tour"]), &queues), [""; 0]);
        assert_eq!(webhook_warnings(&job_queue(&["*"]), &queues), [""; 0]);
        let warning = "webhook.queues: the file has no queue \"tuor\" of tenant acme";
        assert_eq!(webhook_warnings(&job_queue(&["tuor"]), &queues), [warning]);
    }
}

//! Rules that have no effect, because earlier ones match all of their requests.

use super::path_glob::PathGlobs;
use super::rule::{Route, Rule, RuleAction};

/// A glob that matches every path.
const ALL_PATHS: &str = "/**";

/// What is probably a mistake in a list of rules, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleFlaw {
    /// The rule never matches: an earlier one matches all of its requests.
    Shadowed {
        /// The rule.
        rule: usize,
        /// The earlier rule.
        by: usize,
    },
    /// The rule lets all requests bypass the queue.
    AllBypass(usize),
}

/// What is probably a mistake in these rules. Rules that are found to match the same requests are compared by what was written, so
/// some that have no effect are not found.
#[must_use]
pub fn rule_flaws(rules: &[Rule]) -> Vec<RuleFlaw> {
    let mut flaws = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        let earlier = &rules[..index];
        // The two kinds of rules are matched separately.
        let is_same_kind = |other: &Rule| other.action.route().is_some() == rule.action.route().is_some();
        if let Some(by) = earlier.iter().position(|other| is_same_kind(other) && covers(other, rule)) {
            flaws.push(RuleFlaw::Shadowed { rule: index, by });
        } else if rule.action == RuleAction::Bypass
            && matches_all(rule)
            && earlier.iter().all(|other| other.action.route() != Some(Route::Queue))
        {
            flaws.push(RuleFlaw::AllBypass(index));
        }
    }
    flaws
}

/// Whether a rule has no condition but a path that matches all requests.
fn matches_all(rule: &Rule) -> bool {
    let has_others =
        !rule.method.is_empty() || !rule.source.is_empty() || rule.header.is_some() || rule.cookie.is_some();
    !has_others && covers_paths(&rule.path, &PathGlobs::default())
}

/// Whether every request that matches `other` certainly matches `rule`.
fn covers(rule: &Rule, other: &Rule) -> bool {
    covers_paths(&rule.path, &other.path)
        && covers_alternatives(&rule.method, &other.method)
        && covers_alternatives(&rule.source, &other.source)
        && (rule.header.is_none() || rule.header == other.header)
        && (rule.cookie.is_none() || rule.cookie == other.cookie)
}

fn covers_paths(globs: &PathGlobs, others: &PathGlobs) -> bool {
    let sources = globs.sources();
    let is_covered = |other: &String| {
        let is_literal = !other.contains(['*', '?', '[', '{', '\\']);
        sources.contains(other) || is_literal && globs.matches(other)
    };
    sources.is_empty()
        || sources.iter().any(|source| source == ALL_PATHS)
        || !others.sources().is_empty() && others.sources().iter().all(is_covered)
}

/// An empty list is no condition.
fn covers_alternatives<T: PartialEq>(alternatives: &[T], others: &[T]) -> bool {
    alternatives.is_empty() || !others.is_empty() && others.iter().all(|other| alternatives.contains(other))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::settings::Settings;

    fn flaws(rules: &Value) -> Vec<RuleFlaw> {
        let settings = Settings::from_value(&json!({
            "id": "tour", "tenant": "acme", "hosts": ["a.example"], "quota": 1,
            "handover": { "kind": "proxy", "origin": "https://www.example.com" },
            "rules": rules,
        }));
        rule_flaws(&settings.unwrap().rules)
    }

    #[test]
    fn shadowed_rules_are_found() {
        let queue = json!({ "action": "queue", "path": "/**" });
        let hold =
            json!({ "action": "hold", "path": "/shop/checkout", "method": ["POST"], "job_queue": "orders.fifo" });
        let shadowed = vec![RuleFlaw::Shadowed { rule: 1, by: 0 }];
        for (earlier, later) in [
            (queue.clone(), hold.clone()),
            (json!({ "action": "queue", "path": "/shop/**" }), hold.clone()),
            (json!({ "action": "queue", "path": ["/shop/*", "/x"] }), hold.clone()),
            (queue.clone(), json!({ "action": "bypass", "path": "/static/**" })),
            (
                json!({ "action": "queue", "path": "/x/**" }),
                json!({ "action": "bypass", "path": "/x/**", "method": "GET" }),
            ),
        ] {
            assert_eq!(flaws(&json!([earlier, later])), shadowed, "{earlier} {later}");
            let trusted = json!({ "action": "trust", "header": { "name": "x-vip", "value": "1" } });
            assert_eq!(flaws(&json!([later, trusted, earlier])), [], "{later} {earlier}");
        }
        for earlier in [
            json!({ "action": "queue", "path": "/**", "method": ["GET"] }),
            json!({ "action": "queue", "path": "/**", "cookie": { "name": "a", "value": "b" } }),
            json!({ "action": "queue", "path": "/**", "source": ["@office"] }),
            json!({ "action": "queue", "path": "/shop/*/checkout" }),
        ] {
            assert_eq!(flaws(&json!([earlier, hold])), [], "{earlier}");
        }
    }

    #[test]
    fn rule_that_lets_everything_bypass_is_found() {
        let bypass = json!({ "action": "bypass", "path": "/**" });
        assert_eq!(flaws(&json!([bypass])), [RuleFlaw::AllBypass(0)]);
        assert_eq!(flaws(&json!([{ "action": "queue", "path": "/shop/**" }, bypass])), []);
        assert_eq!(flaws(&json!([{ "action": "bypass", "path": "/**", "method": ["GET"] }])), []);
    }
}

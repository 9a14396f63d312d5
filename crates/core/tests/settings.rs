//! Settings documents and rules: errors are reported by field, valid documents round-trip, and
//! nothing panics.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use proptest::prelude::*;
use serde_json::{Value, json};
use vestibule_core::NetworkClass;
use vestibule_core::fields::joined;
use vestibule_core::settings::{
    Mode, OnFailure, RequestAttributes, Route, Rule, RuleAction, Settings, Tenant, TrustedHeaders, class_of, decide,
    decisive, hold_of, parse_settings_document, rulings, untrusted_headers,
};

fn queue() -> Value {
    json!({
        "id": "acme-tour", "tenant": "acme", "name": "Acme world tour", "hosts": ["tickets.example.com"], "quota": 500,
        "handover": { "kind": "redirect", "origin": "https://www.example.com" },
    })
}

fn with(field: &str, value: Value) -> Value {
    let mut queue = queue();
    queue[field] = value;
    queue
}

fn complaint(field: &str, value: Value) -> String {
    let errors = Settings::from_value(&with(field, value)).expect_err(field);
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn field_errors_describe_accepted_values() {
    for (field, value, says) in [
        ("id", json!("Acme"), "id: must be 1 to 63 characters a-z, 0-9 and -"),
        ("tenant", json!(""), "tenant: is empty; it must be 1 to 63"),
        ("name", json!("\u{7}"), "name: must be 1 to 120 characters"),
        ("hosts", json!([]), "hosts: is empty; it must be a list of 1 to 100 items, each a host name"),
        ("hosts", json!(["https://x"]), "hosts[0]: must be a host name such as"),
        (
            "mode",
            json!("shut"),
            "mode: must be one of \"open\", \"bypass\", \"paused\", \"closed\", \"draining\", \"scheduled\"; got \"shut\"",
        ),
        ("quota", json!(1.5), "quota: must be a whole number from 0 to 10000000; got 1.5"),
        ("admissions_per_minute", json!(0), "admissions_per_minute: must be a whole number from 1"),
        ("admissions_every", json!(3601), "admissions_every: must be a whole number from 1 to 3600"),
        ("admissions_every", json!(15), "admissions_every: requires admissions_per_minute"),
        ("waiting_ttl", json!(2), "waiting_ttl: must be a whole number from 3 to 3600"),
        ("active_ttl", json!("600"), "active_ttl: must be a whole number"),
        ("claim_ttl", json!(19), "claim_ttl: must be at least a third of waiting_ttl"),
        ("hold_ttl", json!(59), "hold_ttl: must not be below waiting_ttl"),
        ("max_session", json!(-1), "max_session: must be a whole number"),
        ("recheck_after", json!(61), "recheck_after: must be a whole number from 0 to 60"),
        ("handover", json!({ "kind": "proxy" }), "handover.origin: is required: a scheme, host and port"),
        (
            "handover",
            json!({ "kind": "proxy", "origin": "https://x/y" }),
            "handover.origin: must be a scheme, host and port",
        ),
        ("handover", json!({ "kind": "tunnel" }), "handover.kind: must be one of \"redirect\""),
        (
            "handover",
            json!({ "kind": "check", "preflights": "pass" }),
            "handover.preflights: must be one of \"answer\", \"forward\"",
        ),
        ("theme", json!("../x"), "theme: must be 1 to 63"),
        ("queue_status", json!(500), "queue_status: must be one of 200, 202, 429, 503"),
        ("store_failure", json!("panic"), "store_failure: must be one of \"tickets\""),
        ("cookie_domain", json!("other.com"), "cookie_domain: does not cover the host \"tickets.example.com\""),
        ("cookie_domain", json!("com"), "cookie_domain: must be a domain"),
        ("rules", json!([{ "action": "queue" }]), "rules[0].action: needs at least one condition"),
        ("rules", json!([{ "action": "deny", "path": "/" }]), "rules[0].action: must be one of \"queue\", \"bypass\""),
        ("rules", json!([{ "action": "queue", "path": "x" }]), "rules[0].path: must be a path glob that starts with /"),
        (
            "rules",
            json!([{ "action": "queue", "path": format!("/*a{}", "?".repeat(8)) }]),
            "rules[0].path: must be a path glob that starts with /, such as \"/shop/**\", with at most 8 wildcards and 512 bytes",
        ),
        (
            "rules",
            json!([{ "action": "queue", "path": format!("/{}", "a".repeat(512)) }]),
            "rules[0].path: must be a path glob that starts with /, such as \"/shop/**\", with at most 8 wildcards and 512 bytes",
        ),
        (
            "rules",
            json!([{ "action": "queue", "header": { "name": "X-A", "value": "" } }]),
            "rules[0].header.value: is empty; it must be a text",
        ),
        ("rules", json!([{ "action": "queue", "source": "10.0.0.0/99" }]), "rules[0].source: must be a network"),
        (
            "rules",
            json!(vec![json!({ "action": "queue", "path": vec!["/a"; 67] }); 3]),
            "rules: must have at most 200 path globs",
        ),
        ("rules", json!([{ "action": "queue", "path": "/", "pth": 1 }]), "rules[0].pth: is unknown"),
        ("qouta", json!(1), "qouta: is unknown; known fields are id, tenant"),
    ] {
        let complaint = complaint(field, value);
        assert!(complaint.contains(says), "{field}: {complaint}");
    }
}

#[test]
fn all_errors_are_reported_together() {
    let wrong = json!({ "id": "A", "quota": "x", "mode": 1, "rules": 3, "handover": {}, "extra": true });
    let errors = Settings::from_value(&wrong).unwrap_err();
    let named: Vec<&str> = errors.iter().map(|error| error.field.as_str()).collect();
    for field in ["id", "tenant", "hosts", "quota", "mode", "rules", "handover.kind", "extra"] {
        assert!(named.contains(&field), "{field} in {named:?}");
    }
}

#[test]
fn document_tables_must_be_consistent() {
    let document = json!({ "tenants": [{ "id": "acme", "name": "A" }, { "id": "acme", "name": "B" }],
        "queues": [queue(), queue(), with("tenant", json!("other"))] });
    let errors = parse_settings_document(&document).unwrap_err();
    let named: Vec<&str> = errors.iter().map(|error| error.field.as_str()).collect();
    assert_eq!(named, ["tenants[1].id", "queues[1].id", "queues[2].id", "queues[2].tenant"]);
}

#[test]
fn settings_round_trip() {
    let mut full = queue();
    full["rules"] = json!([
        { "action": "bypass", "path": ["/static/**"], "method": ["GET", "HEAD"] },
        { "action": "queue", "header": { "name": "X-Kind", "value": "app" }, "source": ["10.0.0.0/8"] },
        { "action": "bypass", "cookie": { "name": "staff", "value": "s3cret" } },
    ]);
    for (field, value) in [
        ("admissions_per_minute", json!(60)),
        ("max_session", json!(3600)),
        ("theme", json!("acme-summer")),
        ("cookie_domain", json!("example.com")),
        ("epoch", json!(7)),
        ("revision", json!(3)),
    ] {
        full[field] = value;
    }
    let settings = Settings::from_value(&full).unwrap();
    let written = settings.to_value();
    assert_eq!(Settings::from_value(&written).unwrap().to_value(), written);
    assert_eq!(written["rules"], full["rules"]);
}

/// A page view whose headers are these, of which those with `cf-` are trusted.
fn with_facts<T>(path: &str, headers: &[(&str, &str)], use_facts: impl FnOnce(&RequestAttributes<'_>) -> T) -> T {
    with_request("GET", path, headers, use_facts)
}

fn with_request<T>(
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    use_facts: impl FnOnce(&RequestAttributes<'_>) -> T,
) -> T {
    let header = |name: &str, visit: &mut dyn FnMut(&[u8])| {
        headers.iter().filter(|(known, _)| *known == name).for_each(|(_, value)| visit(value.as_bytes()));
    };
    use_facts(&RequestAttributes {
        path,
        method,
        header: &header,
        cookie: &|_, _| (),
        source: "203.0.113.9".parse().ok(),
        trusted_headers: &"cf-*".parse().unwrap(),
        in_list: &|name, _| (name == "offices").then_some(true).or_else(|| (name == "hosting").then_some(false)),
    })
}

fn action(rules: &Value, path: &str) -> Option<Route> {
    route(rules, path, &[])
}

fn route(rules: &Value, path: &str, headers: &[(&str, &str)]) -> Option<Route> {
    let settings = Settings::from_value(&with("rules", rules.clone())).unwrap();
    let ruling = with_facts(path, headers, |facts| decide(&[&settings.rules], facts));
    ruling.queue.map(|_| ruling.route)
}

fn class(rules: &Value, headers: &[(&str, &str)]) -> Option<NetworkClass> {
    let settings = Settings::from_value(&with("rules", rules.clone())).unwrap();
    with_facts("/", headers, |facts| class_of(&settings.rules, facts))
}

#[test]
fn rules_classify_clients_beside_routes() {
    let score = |action: &str, name: &str, test: &str, number: u64| json!({ "action": action, "header": { "name": name, test: number } });
    let rules = json!([
        score("trust", "cf-score", "above", 90),
        score("challenge", "cf-score", "below", 30),
        { "action": "bypass", "path": "/static/**" },
        score("block", "cf-score", "below", 50),
    ]);
    let of_score = |score: &str| class(&rules, &[("cf-score", score)]);
    assert_eq!(of_score("95"), Some(NetworkClass::Trusted));
    assert_eq!(of_score("29"), Some(NetworkClass::Suspicious), "the first match decides");
    assert_eq!(of_score("49"), Some(NetworkClass::Blocked));
    assert_eq!([of_score("60"), class(&rules, &[])], [None, None]);
    for headers in [&[("cf-score", "1")], &[("cf-score", "99")]] {
        assert_eq!(route(&rules, "/static/a.css", headers), Some(Route::Bypass), "whatever the class");
        assert_eq!(route(&rules, "/", headers), Some(Route::Queue), "there is no queue rule");
    }
    let with_queue = json!([score("block", "cf-score", "below", 50), { "action": "queue", "path": "/shop" }]);
    assert_eq!(route(&with_queue, "/about", &[("cf-score", "1")]), None, "a classifying rule takes no request");
}

#[test]
fn header_that_anyone_can_send_decides_nothing() {
    let test = |action: &str, name: &str| json!([{ "action": action, "header": { "name": name, "above": 5 } }]);
    let sent = [("x-score", "9"), ("cf-score", "9")];
    assert_eq!(class(&test("trust", "cf-score"), &sent), Some(NetworkClass::Trusted));
    assert_eq!(class(&test("trust", "x-score"), &sent), None);
    assert_eq!(route(&test("bypass", "cf-score"), "/", &sent), Some(Route::Bypass));
    assert_eq!(route(&test("bypass", "x-score"), "/", &sent), Some(Route::Queue));
    assert_eq!(route(&test("queue", "cf-score"), "/", &[]), None);
    assert_eq!(route(&test("queue", "x-score"), "/", &[]), Some(Route::Queue), "more requests go through the queue");
    let equal = json!([{ "action": "block", "header": { "name": "x-bot", "value": "1" } }]);
    assert_eq!(class(&equal, &[("x-bot", "1")]), None);

    let settings = Settings::from_value(&with("rules", equal)).unwrap();
    let errors = |trusted: &str| {
        let errors = untrusted_headers(&settings.rules, &trusted.parse::<TrustedHeaders>().unwrap());
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        errors("cf-*"),
        [
            "rules[0].header: \"x-bot\" is not in VESTIBULE_TRUSTED_HEADERS, so anyone could send it; add it there if a trusted \
             proxy always sets it. Trusted: cf-*"
        ]
    );
    assert!(errors("X-Bot").is_empty());
}

#[test]
fn source_can_be_a_list_of_networks() {
    let rule = |action: &str, source: &str| json!([{ "action": action, "source": ["192.0.2.0/24", source] }]);
    assert_eq!(route(&rule("bypass", "@offices"), "/", &[]), Some(Route::Bypass));
    assert_eq!(route(&rule("bypass", "@hosting"), "/", &[]), Some(Route::Queue));
    assert_eq!(route(&rule("queue", "@hosting"), "/", &[]), None);
    for action in ["bypass", "queue"] {
        let unknown = route(&rule(action, "@unknown"), "/", &[]);
        assert_eq!(unknown, Some(Route::Queue), "{action}: more requests go through the queue");
    }
    let settings = Settings::from_value(&with("rules", rule("bypass", "@offices"))).unwrap();
    assert_eq!(settings.rules[0].lists().collect::<Vec<_>>(), ["offices"]);
    assert_eq!(settings.to_value()["rules"][0]["source"], json!(["192.0.2.0/24", "@offices"]));
    for wrong in ["@", "@Offices", "@a b", "offices"] {
        let errors = Settings::from_value(&with("rules", rule("bypass", wrong))).unwrap_err();
        assert!(errors[0].to_string().contains("a list of networks such as \"@offices\""), "{errors:?}");
    }
}

#[test]
fn request_without_an_address_goes_through_the_queue() {
    let decided = |action: &str| {
        let rules = json!([{ "action": action, "source": "192.0.2.0/24" }, { "action": "bypass", "path": "/**" }]);
        let settings = Settings::from_value(&with("rules", rules)).unwrap();
        with_facts("/", &[], |facts| {
            let facts = RequestAttributes { source: None, ..*facts };
            (settings.rules[0].matches(&facts, "/"), decide(&[&settings.rules], &facts).route)
        })
    };
    assert_eq!(decided("queue"), (true, Route::Queue));
    assert_eq!(decided("bypass"), (false, Route::Bypass), "by the second rule");
}

#[test]
fn rule_that_classifies_needs_a_header_and_no_path() {
    let errors = |rule: Value| joined(&Settings::from_value(&with("rules", json!([rule]))).unwrap_err());
    assert_eq!(
        errors(json!({ "action": "block", "source": "203.0.113.0/24" })),
        "rules[0].header: is required: \"block\", \"challenge\" and \"trust\" classify clients by a header of \
         VESTIBULE_TRUSTED_HEADERS"
    );
    let header = json!({ "name": "cf-score", "below": 5 });
    assert_eq!(
        errors(json!({ "action": "trust", "header": header, "path": "/shop/**" })),
        "rules[0].path: cannot be combined with \"block\", \"challenge\" and \"trust\", which apply to a client whatever it \
         requests; use header and source"
    );
}

#[test]
fn stored_classifying_rule_of_another_version_is_dropped() {
    let header = json!({ "name": "cf-score", "below": 5 });
    let stored = with(
        "rules",
        json!([
            { "action": "trust", "header": { "name": "cf-score", "matches": "9*" } },
            { "action": "block", "header": header, "country": "FI" },
            { "action": "bypass", "header": { "name": "cf-score", "below": 5, "matches": "9*" } },
            { "action": "challenge", "header": header },
            { "action": "throttle", "header": header },
        ]),
    );
    let rules = Settings::from_stored(&stored).unwrap().rules;
    let actions: Vec<_> = rules.iter().map(|rule| rule.action).collect();
    assert_eq!(actions, [RuleAction::Challenge, RuleAction::Queue], "an unknown action is queue");
}

#[test]
fn first_matching_rule_decides() {
    let exceptions = json!([{ "action": "bypass", "path": "/static/**" }]);
    assert_eq!(action(&exceptions, "/static/a.css"), Some(Route::Bypass));
    assert_eq!(action(&exceptions, "/"), Some(Route::Queue), "the rest meets the queue");
    let taken = json!([{ "action": "bypass", "path": "/shop/help" }, { "action": "queue", "path": "/shop/**" }]);
    assert_eq!(action(&taken, "/shop/help"), Some(Route::Bypass));
    assert_eq!(action(&taken, "/shop/cart"), Some(Route::Queue));
    assert_eq!(action(&taken, "/shop"), Some(Route::Queue));
    assert_eq!(action(&taken, "/about"), None, "the next queue of the host is asked");
    assert_eq!(action(&json!([]), "/x"), Some(Route::Queue));
}

#[test]
fn queue_rules_match_methods_regardless_of_case() {
    let route = |rules: Value, method: &str| {
        let settings = Settings::from_value(&with("rules", rules)).unwrap();
        with_request(method, "/", &[], |facts| decide(&[&settings.rules], facts).route)
    };
    for (method, queued, bypassed) in [("POST", true, true), ("post", true, false), ("GET", false, false)] {
        let [queue, bypass] = ["queue", "bypass"].map(|action| json!([{ "action": action, "method": "POST" }]));
        assert_eq!(route(queue, method) == Route::Queue, queued, "queue {method}");
        assert_eq!(route(bypass, method) == Route::Bypass, bypassed, "bypass {method}");
    }
}

#[test]
fn orders_are_held_by_the_rule_that_decides() {
    let hold = json!({ "action": "hold", "job_queue": "orders.fifo", "method": ["POST"], "path": ["/checkout"] });
    let rules =
        json!([{ "action": "bypass", "path": "/checkout/help" }, hold, { "action": "queue", "path": "/shop/**" }]);
    let mut queue = with("rules", rules);
    queue["handover"]["kind"] = json!("proxy");
    let settings = Settings::from_value(&queue).unwrap();
    assert_eq!(Settings::from_value(&settings.to_value()).unwrap().to_value(), settings.to_value());
    let decided = |method: &'static str, path: &'static str| {
        with_request(method, path, &[], |facts| {
            let ruling = decide(&[&settings.rules], facts);
            (hold_of(&settings.rules, facts).map(|hold| hold.on_failure), ruling.route)
        })
    };
    for (method, path, expected) in [
        ("POST", "/checkout", (Some(OnFailure::Forward), Route::Queue)),
        ("POST", "/%63heckout", (Some(OnFailure::Forward), Route::Queue)),
        ("POST", "/shop/../checkout", (Some(OnFailure::Forward), Route::Queue)),
        ("post", "/checkout", (Some(OnFailure::Forward), Route::Queue)),
        ("GET", "/checkout", (None, Route::Bypass)),
        ("POST", "/checkout/help", (None, Route::Bypass)),
        ("POST", "/shop/cart", (None, Route::Queue)),
    ] {
        assert_eq!(decided(method, path), expected, "{method} {path}");
    }

    let complaint = |change: &dyn Fn(&mut Value)| {
        let mut queue = queue.clone();
        change(&mut queue);
        let errors = Settings::from_value(&queue).expect_err("no error");
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let in_rule = |name: &'static str, value: Value| complaint(&|queue| queue["rules"][1][name] = value.clone());
    assert!(in_rule("job_queue", json!(null)).starts_with("rules[1].job_queue: is required: 1 to 40 characters"));
    assert!(in_rule("job_queue", json!("orders")).starts_with("rules[1].job_queue: must be a FIFO job queue"));
    assert!(in_rule("method", json!(["GET", "POST"])).starts_with("rules[1].method: must list the methods of orders"));
    assert!(in_rule("method", json!(null)).starts_with("rules[1].method: must list the methods of orders"));
    assert!(in_rule("action", json!("queue")).starts_with("rules[1].job_queue: requires the action \"hold\""));
    let kind = complaint(&|queue| queue["handover"]["kind"] = json!("redirect"));
    assert_eq!(kind, "handover: must be of the kind \"proxy\": rule 2 holds orders, which the gate forwards");

    let mut stored = queue.clone();
    stored["rules"][1]["job_queue"] = json!(null);
    let actions: Vec<_> = Settings::from_stored(&stored).unwrap().rules.iter().map(|rule| rule.action).collect();
    assert_eq!(actions[1], RuleAction::Queue, "more requests go through the queue");
}

/// A path of more than 4 KiB, or with too many readings, may be one that another queue takes or that holds an order.
#[test]
fn ambiguous_paths_are_rejected_where_they_matter() {
    let rules = |value: Value| {
        let mut queue = with("rules", value);
        queue["handover"]["kind"] = json!("proxy");
        Settings::from_value(&queue).unwrap().rules
    };
    let tour = rules(json!([{ "action": "queue", "path": "/tour/**" }]));
    let shop = rules(json!([{ "action": "queue", "path": "/checkout/**" }]));
    let held = rules(json!([{ "action": "hold", "path": "/checkout", "method": "POST", "job_queue": "orders.fifo" }]));
    let long = format!("{}/checkout/pay", "/.".repeat(2_100));
    for path in [long, format!("/%{}2e/checkout", "25".repeat(100))] {
        let route = |queues: &[&[Rule]]| with_facts(&path, &[], |facts| decide(queues, facts).route);
        assert_eq!(route(&[&tour, &shop]), Route::Reject, "{path}");
        assert_eq!(route(&[&held]), Route::Reject, "{path}");
        assert_eq!(route(&[&tour]), Route::Queue, "{path}: it does not depend on the path");
        assert_eq!(route(&[&[], &shop]), Route::Queue, "{path}: neither does a queue without rules");
        let shown = with_facts(&path, &[], |facts| decisive(&rulings(&[&[], &shop], facts)).route);
        assert_eq!(shown, Route::Queue, "{path}: in the URL test");
    }
}

/// The origin may take the path for a page of either queue.
#[test]
fn paths_of_different_queues_are_rejected() {
    let rules =
        |path: &str| Settings::from_value(&with("rules", json!([{ "action": "queue", "path": path }]))).unwrap().rules;
    let (tour, shop) = (rules("/tour/**"), rules("/shop/**"));
    let route = |path: &str, queues: &[&[Rule]]| with_facts(path, &[], |facts| decide(queues, facts).route);
    for path in ["/tour/..%2fshop/x", "/shop/%2e%2e/tour/x", "/tour/..;/shop"] {
        assert_eq!(route(path, &[&tour, &shop]), Route::Reject, "{path}");
        assert_eq!(route(path, &[&tour]), Route::Queue, "{path}: of one queue, the others pass");
    }
    for path in ["/tour/..%2ftour/x", "/tour//x", "/shop/a%2fb", "/static/..%2ftour"] {
        assert_eq!(route(path, &[&tour, &shop]), Route::Queue, "{path}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,80}".prop_map(Value::from),
        Just(json!("/static/**")),
        Just(json!("queue")),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let name = prop_oneof![Just("id"), Just("path"), Just("action"), Just("kind"), Just("origin"), Just("x")];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(name.prop_map(str::to_owned), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_document_panics_and_errors_name_fields(
        field in prop_oneof![
            Just("id"), Just("hosts"), Just("rules"), Just("mode"), Just("quota"), Just("handover"), Just("theme"),
            Just("cookie_domain"), Just("waiting_ttl"), Just("unknown"),
        ],
        value in any_json(),
    ) {
        if let Err(errors) = Settings::from_value(&with(field, value.clone())) {
            prop_assert!(errors.iter().all(|error| !error.field.is_empty() && !error.fault.to_string().is_empty()));
        }
        let _ = parse_settings_document(&json!({ "queues": [value.clone()], "tenants": value }));
    }

    #[test]
    fn no_path_spelling_bypasses_its_rule(
        doubled in 1_usize..4, dots in any::<bool>(), encoded in any::<bool>(), upper in any::<bool>(),
        parameter in "(;[a-z]{0,5})?", slash in any::<bool>(), query in "[a-z/]{0,8}",
    ) {
        let slashes = "/".repeat(doubled);
        let step = if dots { "/./x/.." } else { "" };
        let name = match (encoded, upper) {
            (true, _) => "%63heck%4Fut",
            (false, true) => "CheckOut",
            (false, false) => "checkout",
        };
        let path = format!("{slashes}{}{step}/{name}{parameter}{}", "shop", if slash { "/" } else { "" });
        let rules = json!([{ "action": "queue", "path": "/shop/checkout" }]);
        prop_assert_eq!(action(&rules, &path), Some(Route::Queue), "{} ?{}", path, query);
    }
}

#[test]
fn stored_settings_of_another_version_are_read() {
    let mut stored = with(
        "rules",
        json!([
            { "action": "bypass", "path": "/static/**" },
            { "action": "bypass", "path": "/api/**", "country": "FI" },
            { "action": "queue", "path": "/checkout/**", "country": "FI" },
            { "action": "bypass", "path": "not a glob" },
        ]),
    );
    for (field, value) in [
        ("opens_at", json!("2027-01-01T10:00:00Z")),
        ("mode", json!("raffle")),
        ("quota", json!(u64::MAX)),
        ("waiting_ttl", json!(1_000_000)),
        ("hold_ttl", json!(1)),
        ("queue_status", json!(299)),
        ("name", json!("")),
    ] {
        stored[field] = value;
    }
    assert!(Settings::from_value(&stored).is_err(), "strict reading reports errors");
    let settings = Settings::from_stored(&stored).unwrap();
    let line = &settings.line;
    assert_eq!((line.mode, line.quota, line.waiting_ttl, line.hold_ttl), (Mode::Paused, 10_000_000, 3600, 3600));
    assert_eq!((settings.queue_status, settings.name.as_str()), (200, settings.id.as_str()));
    let actions: Vec<RuleAction> = settings.rules.iter().map(|rule| rule.action).collect();
    assert_eq!(actions, [RuleAction::Bypass, RuleAction::Queue], "a bypass rule that cannot be read is dropped");
    assert_eq!(settings.to_stored()["opens_at"], stored["opens_at"], "unknown fields are kept");
    assert_eq!(settings.to_value().get("opens_at"), None);
    let (again, whole) = (settings.to_stored(), Settings::from_stored(&settings.to_stored()).unwrap());
    assert_eq!(whole.to_stored(), again);
}

#[test]
fn stored_settings_without_required_fields_are_rejected() {
    for field in ["id", "tenant", "hosts", "handover"] {
        let errors = Settings::from_stored(&with(field, json!({}))).expect_err(field);
        assert!(errors[0].field.starts_with(field), "{errors:?}");
    }
}

#[test]
fn reported_errors_are_limited() {
    let unknown: serde_json::Map<_, _> = (0..10_000).map(|number| (format!("field{number}"), json!(0))).collect();
    let errors = Tenant::from_value(&unknown.into()).unwrap_err();
    assert_eq!(errors.len(), 101);
    // The ID and the name are missing, too.
    assert_eq!(errors[100].to_string(), "document: has more than 100 errors; not shown: 9902");
}

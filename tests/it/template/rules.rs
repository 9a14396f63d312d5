//! The listener's rules: what meets the gate, and what goes by it.

use serde_json::{Value, json};

use super::stack::{Stack, text_of};
use crate::gate_fixture::{GateFixture, StoreSetup, random_id, set_cookie};

const PLATFORM: &str = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/platform/0123456789abcdef";

/// What a load balancer sees of a request.
#[derive(Clone, Copy)]
struct Request<'a> {
    host: &'a str,
    path: &'a str,
    cookie: &'a str,
    from: &'a str,
}

impl<'a> Request<'a> {
    fn of(path: &'a str) -> Self {
        Self { host: "tour.tickets.example.com", path, cookie: "", from: "203.0.113.9" }
    }

    fn with(self, cookie: &'a str) -> Self {
        Self { cookie, ..self }
    }
}

/// `*` and `?`, as a load balancer compares.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.first(), text.first()) {
        (None, None) => true,
        (Some(b'*'), _) => matches(&pattern[1..], text) || (!text.is_empty() && matches(pattern, &text[1..])),
        (Some(b'?'), Some(_)) => matches(&pattern[1..], &text[1..]),
        (Some(one), Some(other)) if one == other => matches(&pattern[1..], &text[1..]),
        _ => false,
    }
}

fn holds(condition: &Value, request: Request<'_>) -> bool {
    let any = |values: &Value, of: &str| {
        let values = values.as_array().unwrap();
        assert!((1..=5).contains(&values.len()), "a rule takes five values");
        values.iter().any(|value| matches(value.as_str().unwrap().as_bytes(), of.as_bytes()))
    };
    match condition["Field"].as_str().unwrap() {
        "path-pattern" => any(&condition["PathPatternConfig"]["Values"], request.path),
        "host-header" => any(&condition["HostHeaderConfig"]["Values"], request.host),
        "http-header" => {
            assert_eq!(condition["HttpHeaderConfig"]["HttpHeaderName"], "Cookie");
            any(&condition["HttpHeaderConfig"]["Values"], request.cookie)
        }
        "source-ip" => condition["SourceIpConfig"]["Values"].as_array().unwrap().iter().any(|network| {
            let network = network.as_str().unwrap().split('.').next().unwrap();
            network == "0" || request.from.split('.').next() == Some(network)
        }),
        other => panic!("{other}"),
    }
}

/// Where the listener for visitors sends a request.
fn target(stack: &Stack, request: Request<'_>) -> String {
    let encrypted = stack.has("HttpsListener");
    let listener = if encrypted { "HttpsListener" } else { "HttpListener" };
    let rules = stack.resources("AWS::ElasticLoadBalancingV2::ListenerRule");
    let mut rules: Vec<Value> = rules.iter().map(|rule| stack.properties(rule)).collect();
    assert!(rules.iter().all(|rule| rule["ListenerArn"] == listener.to_lowercase().as_str()));
    rules.sort_by_key(|rule| rule["Priority"].as_u64());
    let all = |rule: &&Value| rule["Conditions"].as_array().unwrap().iter().all(|condition| holds(condition, request));
    let rule = rules
        .iter()
        .find(all)
        .map_or_else(|| stack.properties(listener)["DefaultActions"].clone(), |rule| rule["Actions"].clone());
    if rule[0]["Type"] == "fixed-response" {
        return rule[0]["FixedResponseConfig"]["StatusCode"].as_str().unwrap().to_owned();
    }
    match rule[0]["TargetGroupArn"].as_str().unwrap() {
        PLATFORM => "platform".to_owned(),
        group => group.trim_end_matches("targetgroup").to_owned(),
    }
}

/// Where the listener sends a request for this path.
pub(super) fn target_of_path(stack: &Stack, path: &str) -> String {
    target(stack, Request::of(path))
}

#[test]
fn all_paths_are_routed_to_the_gate() {
    let stack = Stack::deploy(&[]);
    for path in ["/", "/buy/1", "/_vestibule/status", "/_vestibule/metrics", "/metrics"] {
        assert_eq!(target(&stack, Request::of(path).with("vestibule-pass_acme=x")), "gate", "{path}");
    }
    let scraper = Request { from: "10.1.2.3", ..Request::of("/_vestibule/metrics") };
    assert_eq!(target(&stack, scraper), "metrics");
    assert_eq!(target(&Stack::deploy(&[("MetricsNetworks", "192.168.0.0/16")]), scraper), "gate");
}

#[test]
fn backoffice_is_limited_to_host_and_networks() {
    let stack = Stack::deploy_all(&[("AdminCidr", "10.0.0.0/8,192.168.0.0/16")]);
    let backoffice = Request { host: "admin.example.com", from: "10.1.2.3", ..Request::of("/") };
    for path in ["/", "/api/v1/queues", "/metrics", "/_vestibule/status"] {
        assert_eq!(target(&stack, Request { path, ..backoffice }), "admin", "{path}");
    }
    assert_eq!(target(&stack, Request { from: "192.168.1.1", ..backoffice }), "admin");
    for mode in [&[("GateTakes", "everything")][..], &[("GateTakes", "unpassed"), ("PlatformTargetGroupArn", PLATFORM)]]
    {
        let stack = Stack::deploy_all(mode);
        let elsewhere = Request { from: "203.0.113.9", ..backoffice };
        for path in ["/", "/api/v1/queues", "/_vestibule/status"] {
            assert_eq!(target(&stack, Request { path, ..elsewhere }), "404", "{path}");
        }
    }
    let scraper = Request { path: "/_vestibule/metrics", ..backoffice };
    assert_eq!(target(&Stack::deploy_all(&[("AdminCidr", "192.168.0.0/16")]), scraper), "metrics");
    assert_eq!(target(&stack, Request { host: "tour.tickets.example.com", ..backoffice }), "gate");
    assert_eq!(target(&Stack::deploy(&[]), backoffice), "gate");
}

#[test]
fn queued_paths_without_a_pass_go_to_the_gate() {
    let mode = [("GateTakes", "unpassed"), ("PlatformTargetGroupArn", PLATFORM)];
    let all = Stack::deploy(&mode);
    let some = Stack::deploy(&[mode[0], mode[1], ("QueuedPaths", "/buy/*,/tickets")]);
    let passed = "theme=dark; vestibule-pass_acme=eyJ.x.y; vestibule_acme=z";
    let waiting = "theme=dark; vestibule_acme=eyJ.x.y";
    for (stack, path, cookie, expected) in [
        (&all, "/", "", "gate"),
        (&all, "/", waiting, "gate"),
        (&all, "/", passed, "platform"),
        (&some, "/buy/1", waiting, "gate"),
        (&some, "/tickets", "", "gate"),
        (&some, "/buy/1", passed, "platform"),
        (&some, "/about", "", "platform"),
        (&some, "/metrics", "", "platform"),
        (&some, "/_vestibule/status", passed, "gate"),
        (&some, "/_vestibule/theme/acme/logo.svg", "", "gate"),
    ] {
        assert_eq!(target(stack, Request::of(path).with(cookie)), expected, "{path} with {cookie}");
    }
    let inside = |path| Request { from: "10.1.2.3", ..Request::of(path) };
    assert_eq!(target(&some, inside("/metrics")), "platform", "the site's own path");
    assert_eq!(target(&some, inside("/_vestibule/metrics")), "metrics");
}

#[test]
fn certificate_redirects_http_to_https() {
    let certificate = "arn:aws:acm:eu-west-1:123456789012:certificate/1";
    let stack = Stack::deploy(&[("CertificateArn", certificate)]);
    assert_eq!(stack.properties("HttpListener")["DefaultActions"][0]["RedirectConfig"]["Protocol"], "HTTPS");
    assert_eq!(target(&stack, Request::of("/")), "gate");
    let plain = Stack::deploy(&[]);
    assert!(!plain.has("HttpsListener"));
    assert_eq!(target(&plain, Request::of("/")), "gate");
}

#[test]
fn a_hosted_zone_gets_records_and_a_certificate() {
    let none = Stack::deploy_all(&[]);
    assert!(!none.has("Certificate") && !none.has("QueueRecord") && !none.has("AdminRecord"));
    let zone = [("HostedZoneId", "Z0123456789ABC"), ("QueueHost", "*.tickets.example.com")];
    let stack = Stack::deploy(&zone);
    assert!(stack.has("HttpsListener") && !stack.has("AdminRecord"));
    assert_eq!(stack.properties("HttpsListener")["Certificates"][0]["CertificateArn"], "certificate");
    assert_eq!(stack.properties("QueueRecord")["Name"], "*.tickets.example.com");
    let with_admin = Stack::deploy(&[zone[0], zone[1], ("AdminHost", "admin.example.com")]);
    assert_eq!(with_admin.properties("AdminRecord")["Name"], "admin.example.com");
    assert_eq!(with_admin.properties("Certificate")["SubjectAlternativeNames"], json!(["admin.example.com"]));
    let own = Stack::deploy_all(&zone);
    assert!(!own.has("Certificate"), "CertificateArn is in use");
}

#[test]
fn certificates_of_brands_can_be_added_to_the_listener() {
    assert_eq!(Stack::deploy_all(&[]).output("ListenerArn"), "httpslistener");
    let command = "add-listener-certificates --listener-arn \"$(output ListenerArn)\"";
    assert!(text_of("docs/aws/reference.md").contains(command));
}

#[tokio::test]
async fn pass_cookie_matches_the_listener_rule() {
    let host = format!("{}.example.com", random_id());
    let origin = format!("http://{host}");
    let changes = json!({ "quota": 1, "hosts": [host], "handover": { "kind": "redirect", "origin": origin } });
    let mut fixture = GateFixture::open(StoreSetup::memory(), changes).await;
    fixture.host.clone_from(&host);
    let answer = fixture.visitor().navigate("/buy/1?seat=5").await;
    assert_eq!(answer.header("location"), Some(format!("{origin}/buy/1?seat=5").as_str()), "the very same address");
    let pass =
        set_cookie(&answer, &format!("vestibule-pass_{}", fixture.queue)).expect("a pass").split(';').next().unwrap();
    let stack = Stack::deploy(&[("GateTakes", "unpassed"), ("PlatformTargetGroupArn", PLATFORM)]);
    assert_eq!(target(&stack, Request::of("/buy/1").with(pass)), "platform");
    let ticket = set_cookie(&answer, &fixture.cookie_name()).expect("a ticket").split(';').next().unwrap();
    assert_eq!(target(&stack, Request::of("/buy/1").with(ticket)), "gate", "a ticket is no pass");
    fixture.change(&json!({ "mode": "bypass" })).await;
    let answer = fixture.visitor().navigate("/buy/1").await;
    let reason = set_cookie(&answer, &format!("vestibule-pass_{}", fixture.queue)).expect("a reason").split(';').next();
    let again = Request::of("/buy/1").with(reason.unwrap());
    assert_eq!(target(&stack, again), "platform", "a request without an admission comes once");
}

//! What keeps others out: who reads secrets, who reaches what, and how many requests one address may make.

use serde_json::{Value, json};

use super::environment::FUNCTIONS;
use super::load::{LAST_SECONDS, polls_of_the_last_minutes};
use super::resources::{attribute, number};
use super::stack::{Stack, template, text_of};

#[test]
fn variables_are_encrypted_with_a_key_of_the_stack() {
    let stack = Stack::deploy_all(&[]);
    for function in FUNCTIONS {
        assert_eq!(stack.properties(function)["KmsKeyArn"], "variableskey.arn", "{function}");
    }
    assert_eq!(stack.properties("VariablesKey")["EnableKeyRotation"], true);
}

#[test]
fn bootstrap_password_can_be_removed() {
    let stack = Stack::deploy_all(&[("AdminBootstrap", "off")]);
    assert!(!stack.has("AdminPassword") && stack.has("Admin"));
    assert_eq!(stack.environment("Admin")["VESTIBULE_ADMIN_BOOTSTRAP"], "");
    assert!(Stack::deploy_all(&[]).has("AdminPassword"));
}

#[test]
fn a_web_acl_limits_the_requests_of_one_address() {
    assert!(!Stack::deploy(&[]).has("WebAcl"));
    let stack = Stack::deploy(&[("RequestLimit", "60000")]);
    assert_eq!(stack.properties("WebAclOfTheLoadBalancer")["ResourceArn"], "loadbalancer");
    let rule = stack.properties("WebAcl")["Rules"][0].clone();
    assert_eq!(number(&rule["Statement"]["RateBasedStatement"]["Limit"]), 60_000);
    assert!(rule["Action"]["Block"].is_object());
}

/// An office or a mobile network has many visitors behind one address.
#[test]
fn the_request_limit_takes_a_thousand_visitors_of_one_address() {
    assert_eq!(LAST_SECONDS, 300, "the window of the rule");
    let polls = (polls_of_the_last_minutes() / 10.0).round() * 10.0;
    let limit = (polls * 1000.0) as u64;
    let description = template()["Parameters"]["RequestLimit"]["Description"].as_str().unwrap().to_owned();
    assert!(description.contains(&format!("about {polls}")), "{polls} polls: {description}");
    let grouped = format!("{},000", limit / 1000);
    assert!(text_of("docs/aws/reference.md").contains(&format!("about {polls} in the last five")), "{polls} polls");
    assert!(text_of("docs/aws/reference.md").contains(&format!("1,000 visitors: {grouped}")), "{grouped}");
    assert!(text_of("samconfig.toml").contains(&format!("\"RequestLimit={limit}\"")), "{limit}");
}

/// Where a security group allows connections to: ports, and the network or prefix list.
fn egress(stack: &Stack, group: &str) -> Vec<(u64, u64, String)> {
    let rules = stack.properties(group)["SecurityGroupEgress"].clone();
    let to =
        |rule: &Value| rule["CidrIp"].as_str().or_else(|| rule["DestinationPrefixListId"].as_str()).unwrap().to_owned();
    let rules = rules.as_array().unwrap().iter();
    rules.map(|rule| (number(&rule["FromPort"]), number(&rule["ToPort"]), to(rule))).collect()
}

#[test]
fn gate_egress_is_limited_to_s3_and_origins() {
    assert_eq!(egress(&Stack::deploy(&[]), "GateSecurityGroup"), [(443, 443, "0.0.0.0/0".to_owned())]);
    let stack = Stack::deploy(&[("S3PrefixList", "pl-6da54004"), ("OriginNetwork", "10.20.0.0/16")]);
    assert_eq!(
        egress(&stack, "GateSecurityGroup"),
        [(443, 443, "pl-6da54004".to_owned()), (80, 65535, "10.20.0.0/16".to_owned())]
    );
}

#[test]
fn the_load_balancer_can_be_restricted_to_a_cdn() {
    let prefix_list = ("VisitorPrefixList", "pl-4fa04526");
    for (stack, port) in [(Stack::deploy(&[prefix_list]), 80), (Stack::deploy_all(&[prefix_list]), 443)] {
        let rules = stack.properties("LoadBalancerSecurityGroup")["SecurityGroupIngress"].clone();
        // CloudFront's list counts as 55 of the 60 rules that a group has by default.
        let [rule] = &rules.as_array().unwrap()[..] else { panic!("{rules}") };
        assert_eq!((number(&rule["FromPort"]), number(&rule["ToPort"])), (port, port));
        assert_eq!(rule["SourcePrefixListId"], "pl-4fa04526");
        assert_eq!(rule["CidrIp"], Value::Null, "nobody else");
    }
    let open = Stack::deploy(&[]);
    let everybody = |port| (port, "0.0.0.0/0".to_owned());
    assert_eq!(ingress(&open, "LoadBalancerSecurityGroup"), [everybody(80), everybody(443)]);
}

/// `CloudFormation` refuses a template whose rules call other functions; the linters do not know.
#[test]
fn rules_of_parameters_call_only_functions_of_rules() {
    const ALLOWED: [&str; 8] =
        ["Ref", "Fn::Equals", "Fn::Not", "Fn::Or", "Fn::And", "Fn::EachMemberIn", "Fn::RefAll", "Fn::ValueOfAll"];
    fn check(value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(check),
            Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                let is_function = name.starts_with("Fn::") || matches!(name.as_str(), "Ref" | "Condition");
                assert!(!is_function || ALLOWED.contains(&name.as_str()), "{name}");
                check(value);
            }),
            _ => {}
        }
    }
    let rules = template()["Rules"].clone();
    assert!(!rules.as_object().unwrap().is_empty());
    check(&rules);
}

#[test]
fn parameters_that_cannot_work_together_are_refused() {
    let refused = |parameters: &[(&str, &str)]| Stack::deploy(parameters).refusals();
    let no_rules: [String; 0] = [];
    assert_eq!(refused(&[]), no_rules);
    let replicas = |replicas, wanted| refused(&[("Replicas", replicas), ("JobsMinReplicas", wanted)]);
    for (has, wanted) in [("0", "1"), ("0", "2"), ("1", "2")] {
        assert!(replicas(has, wanted).iter().all(|text| text.contains("at most Replicas")), "{has}, {wanted}");
        assert!(!replicas(has, wanted).is_empty(), "{has}, {wanted}");
    }
    for (has, wanted) in [("0", "0"), ("1", "1"), ("2", "1"), ("2", "2")] {
        assert_eq!(replicas(has, wanted), no_rules, "{has}, {wanted}");
    }
    assert_eq!(number(&template()["Parameters"]["JobsMinReplicas"]["MaxValue"]), 2);
    let limit = ("RequestLimit", "60000");
    assert_eq!(refused(&[limit]), no_rules);
    assert!(refused(&[limit, ("VisitorPrefixList", "pl-4fa04526")])[0].contains("a CDN"));
    assert!(refused(&[limit, ("TrustedProxies", "2")])[0].contains("a CDN"));
}

/// Neither linter knows these limits of EC2.
#[test]
fn security_group_descriptions_have_valid_characters() {
    let is_taken = |text: &str| {
        text.len() < 256 && text.chars().all(|c| c.is_ascii_alphanumeric() || " ._-:/()#,@[]+=&;{}!$*".contains(c))
    };
    let stack = Stack::deploy_all(&[]);
    for group in stack.resources("AWS::EC2::SecurityGroup") {
        let properties = stack.properties(&group);
        assert!(is_taken(properties["GroupDescription"].as_str().unwrap()), "{group}");
        for rules in ["SecurityGroupIngress", "SecurityGroupEgress"] {
            for rule in properties[rules].as_array().into_iter().flatten() {
                assert!(rule["Description"].as_str().is_none_or(is_taken), "{group}: {rule}");
            }
        }
    }
}

/// The ingress rules of a security group: the port, and the network.
fn ingress(stack: &Stack, group: &str) -> Vec<(u64, String)> {
    let rules = stack.properties(group)["SecurityGroupIngress"].clone();
    let rules = rules.as_array().unwrap().iter();
    rules.map(|rule| (number(&rule["FromPort"]), rule["CidrIp"].as_str().unwrap().to_owned())).collect()
}

#[test]
fn operators_and_prometheus_reach_the_load_balancer_past_a_cdn() {
    let operators = "192.0.2.0/24,198.51.100.7/32";
    let scrapers = "10.1.0.0/16,10.2.0.0/16,10.3.0.0/16,192.0.2.0/24";
    let networks = [("VisitorPrefixList", "pl-4fa04526"), ("AdminCidr", operators), ("MetricsNetworks", scrapers)];
    let stack = Stack::deploy_all(&networks);
    let groups = stack.properties("LoadBalancer")["SecurityGroups"].clone();
    let [metrics, admin] = ["MetricsAccessSecurityGroup", "AdminAccessSecurityGroup"];
    assert_eq!(groups, json!(["loadbalancersecuritygroup", metrics.to_lowercase(), admin.to_lowercase()]));
    for (group, networks) in [(metrics, scrapers), (admin, operators)] {
        let expected: Vec<_> = networks.split(',').map(|network| (443, network.to_owned())).collect();
        assert_eq!(ingress(&stack, group), expected);
    }
    let plain = Stack::deploy(&[]);
    assert_eq!(ingress(&plain, metrics), [(80, "10.0.0.0/8".to_owned())]);
    let groups = plain.properties("LoadBalancer")["SecurityGroups"].clone();
    assert_eq!(groups, json!(["loadbalancersecuritygroup", metrics.to_lowercase()]));
}

#[test]
fn addresses_of_operators_do_not_depend_on_a_cdn_for_visitors() {
    let proxies = |parameters: &[(&str, &str)]| {
        let stack = Stack::deploy_all(parameters);
        ["Gate", "Admin"].map(|function| stack.environment(function)["VESTIBULE_TRUSTED_PROXIES"].clone())
    };
    assert_eq!(proxies(&[("TrustedProxies", "2")]), ["2", "1"]);
    assert_eq!(proxies(&[("AdminTrustedProxies", "3")]), ["1", "3"]);
}

#[test]
fn metrics_are_private_by_default() {
    let networks = template()["Parameters"]["MetricsNetworks"]["Default"].clone();
    assert_ne!(networks, "0.0.0.0/0");
}

#[test]
fn access_logs_use_the_given_bucket() {
    let stack = Stack::deploy(&[("AccessLogBucket", "logs-of-ours")]);
    assert_eq!(attribute(&stack, "access_logs.s3.bucket"), "logs-of-ours");
    assert_eq!(attribute(&stack, "access_logs.s3.enabled"), "true");
}

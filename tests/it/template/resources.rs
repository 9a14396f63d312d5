//! What the resources are set to: times that fit each other, failover, encryption, and an alarm for what goes wrong.

use std::collections::BTreeSet;

use serde_json::Value;

use super::environment::FUNCTIONS;
use super::stack::Stack;

fn number(value: &Value) -> u64 {
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap_or_else(|| panic!("{value} is no number"))
}

/// What a function is told, as a number.
fn told(stack: &Stack, function: &str, variable: &str) -> u64 {
    stack.environment(function)[variable].parse().unwrap()
}

/// An attribute of the load balancer.
fn attribute(stack: &Stack, key: &str) -> String {
    let attributes = stack.properties("LoadBalancer")["LoadBalancerAttributes"].clone();
    let found = attributes.as_array().unwrap().iter().find(|attribute| attribute["Key"] == key).cloned();
    found.unwrap()["Value"].as_str().unwrap().to_owned()
}

/// The time that a function may take, in milliseconds.
fn timeout_of(stack: &Stack, function: &str) -> u64 {
    number(&stack.properties(function)["Timeout"]) * 1000
}

#[test]
fn a_function_has_time_to_tell_that_its_store_or_an_origin_is_slow() {
    let stack = Stack::deploy_all(&[]);
    for function in FUNCTIONS {
        let store = told(&stack, function, "VESTIBULE_STORE_TIMEOUT_MS");
        assert!(timeout_of(&stack, function) >= 4 * store, "{function}: some requests ask more than once");
    }
    let seconds = |variable| told(&stack, "Gate", variable) * 1000;
    let origin = seconds("VESTIBULE_CONNECT_TIMEOUT") + seconds("VESTIBULE_READ_TIMEOUT");
    assert!(timeout_of(&stack, "Gate") > origin + told(&stack, "Gate", "VESTIBULE_STORE_TIMEOUT_MS"));
    let budget = told(&stack, "Purge", "VESTIBULE_PURGE_BUDGET_MS");
    assert!(timeout_of(&stack, "Purge") > budget + 4 * told(&stack, "Purge", "VESTIBULE_STORE_TIMEOUT_MS"));
}

#[test]
fn the_load_balancer_waits_for_longer_than_any_function_takes() {
    let stack = Stack::deploy_all(&[]);
    let idle = attribute(&stack, "idle_timeout.timeout_seconds").parse::<u64>().unwrap() * 1000;
    for function in ["Admin", "Gate", "Metrics"] {
        assert!(timeout_of(&stack, function) < idle, "{function}");
    }
    let group = stack.properties("GateTargetGroup");
    let (interval, timeout) = (&group["HealthCheckIntervalSeconds"], &group["HealthCheckTimeoutSeconds"]);
    assert!(number(timeout) < number(interval), "checks follow each other");
    assert!(number(timeout) * 1000 > timeout_of(&stack, "Gate"), "a slow gate says itself what is wrong");
}

#[test]
fn a_round_of_the_purge_ends_before_the_next_one_but_one_begins() {
    let stack = Stack::deploy(&[]);
    assert!(timeout_of(&stack, "Purge") <= 60_000);
    let invoked = stack.properties("Purge")["EventInvokeConfig"].clone();
    assert_eq!((number(&invoked["MaximumRetryAttempts"]), number(&invoked["MaximumEventAgeInSeconds"])), (0, 60));
    let alarm = stack.properties("PurgeNotRunningAlarm");
    for schedule in ["rate(1 minute)", "rate(2 minutes)", "rate(5 minutes)"] {
        let stack = Stack::deploy(&[("PurgeSchedule", schedule)]);
        let given = stack.properties("Purge")["Events"]["Regularly"]["Properties"]["Schedule"].clone();
        assert_eq!(given, schedule);
        let minutes: u64 = schedule[5..6].parse().unwrap();
        assert!(number(&alarm["Period"]) >= 3 * 60 * minutes, "one call that came late is no alarm");
    }
}

#[test]
fn valkey_fails_over_wherever_it_has_somewhere_to_fail_over_to() {
    for (parameters, fails_over, zones) in [
        (&[("Replicas", "0")][..], false, false),
        (&[("Replicas", "1")], true, true),
        (&[("Replicas", "2")], true, true),
        (&[("ClusterMode", "on"), ("Replicas", "0")], true, false),
        (&[("ClusterMode", "on"), ("Replicas", "1")], true, true),
    ] {
        let redis = Stack::deploy(parameters).properties("Redis");
        assert_eq!(redis["AutomaticFailoverEnabled"], fails_over, "{parameters:?}");
        assert_eq!(redis["MultiAZEnabled"], zones, "{parameters:?}");
        let clustered = parameters.contains(&("ClusterMode", "on"));
        assert_eq!(number(&redis["NumNodeGroups"]), if clustered { 2 } else { 1 }, "{parameters:?}");
    }
    let parameters = Stack::deploy(&[]).properties("RedisParameters");
    assert_eq!(parameters["Properties"]["maxmemory-policy"], "noeviction", "nobody's place is dropped");
}

#[test]
fn whatever_travels_is_encrypted() {
    let stack = Stack::deploy_all(&[]);
    let redis = stack.properties("Redis");
    assert_eq!(
        (&redis["TransitEncryptionEnabled"], &redis["TransitEncryptionMode"]),
        (&true.into(), &"required".into())
    );
    for function in FUNCTIONS {
        assert!(stack.environment(function)["VESTIBULE_REDIS_URL"].starts_with("rediss"), "{function}");
    }
    let denied = stack.properties("ThemeBucketPolicy")["PolicyDocument"]["Statement"][0].clone();
    assert_eq!((&denied["Effect"], &denied["Action"]), (&"Deny".into(), &"s3:*".into()));
    assert_eq!(denied["Condition"]["Bool"]["aws:SecureTransport"], "false");
    assert_eq!(stack.properties("HttpListener")["DefaultActions"][0]["Type"], "redirect");
    assert!(stack.properties("HttpsListener")["SslPolicy"].as_str().unwrap().contains("TLS13-1-2"));
    assert_eq!(stack.environment("Admin")["VESTIBULE_ADMIN_URL"], "https://admin.example.com");
}

#[test]
fn whatever_lies_is_encrypted_and_nobody_else_s() {
    let stack = Stack::deploy(&[]);
    assert_eq!(stack.properties("Redis")["AtRestEncryptionEnabled"], true);
    let bucket = stack.properties("ThemeBucket");
    let rule = &bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"][0];
    assert!(rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"].is_string());
    assert_eq!(bucket["VersioningConfiguration"]["Status"], "Enabled");
    let block = bucket["PublicAccessBlockConfiguration"].as_object().unwrap();
    assert!(block.len() == 4 && block.values().all(|blocked| blocked == true), "{block:?}");
}

#[test]
fn valkey_is_reached_by_functions_and_operators_alone() {
    let stack = Stack::deploy_all(&[]);
    let ingress = stack.properties("RedisIngress");
    assert_eq!((&ingress["FromPort"], &ingress["ToPort"]), (&6379.into(), &6379.into()));
    assert_eq!(ingress["SourceSecurityGroupId"], "redisclientssecuritygroup");
    assert_eq!(ingress["CidrIp"], Value::Null);
    for function in FUNCTIONS {
        let network = stack.properties(function)["VpcConfig"].clone();
        let groups = network["SecurityGroupIds"].as_array().unwrap();
        assert!(groups.contains(&"redisclientssecuritygroup".into()), "{function}");
        assert_eq!(network["SubnetIds"].as_array().unwrap().len(), 2, "{function}");
    }
    assert_eq!(stack.properties("Redis")["SecurityGroupIds"], Value::from(vec!["redissecuritygroup"]));
}

#[test]
fn every_function_has_a_log_that_ends() {
    let stack = Stack::deploy_all(&[("LogRetentionDays", "14")]);
    for function in FUNCTIONS {
        let log = stack.properties(&format!("{function}Log"));
        assert_eq!(number(&log["RetentionInDays"]), 14, "{function}");
        let name = stack.properties(function)["FunctionName"].as_str().unwrap().to_owned();
        assert_eq!(log["LogGroupName"], format!("/aws/lambda/{name}").as_str());
    }
}

/// A metric of an alarm, and of what it is: `Errors of gate`.
fn watched(stack: &Stack, alarm: &str) -> BTreeSet<String> {
    let alarm = stack.properties(alarm);
    let several = alarm["Metrics"].as_array().into_iter().flatten();
    let metrics = several.map(|metric| metric["MetricStat"]["Metric"].clone()).chain([alarm.clone()]);
    let of = |metric: Value| {
        let name = metric["MetricName"].as_str()?;
        let dimensions = metric["Dimensions"].as_array()?.iter();
        Some(dimensions.map(|of| format!("{name} of {}", of["Value"].as_str().unwrap())).collect::<Vec<_>>())
    };
    metrics.filter_map(of).flatten().collect()
}

#[test]
fn an_alarm_is_raised_for_whatever_goes_wrong() {
    let stack = Stack::deploy_all(&[("Replicas", "2")]);
    let alarms = stack.resources("AWS::CloudWatch::Alarm");
    let watched: BTreeSet<String> = alarms.iter().flat_map(|alarm| watched(&stack, alarm)).collect();
    let of_functions = FUNCTIONS
        .iter()
        .flat_map(|function| ["Errors", "Throttles"].map(|metric| format!("{metric} of {}", function.to_lowercase())));
    let of_nodes =
        (1..=3).flat_map(|node| ["Evictions", "EngineCPUUtilization"].map(|m| format!("{m} of redis-00{node}")));
    let others = [
        "Duration of gate",
        "Duration of purge",
        "Invocations of purge",
        "DatabaseMemoryUsageCountedForEvictPercentage of redis-001",
        "HTTPCode_ELB_5XX_Count of loadbalancer.loadbalancerfullname",
        "UnHealthyHostCount of gatetargetgroup.targetgroupfullname",
    ];
    for needed in of_functions.chain(of_nodes).chain(others.map(str::to_owned)) {
        assert!(watched.contains(&needed), "nobody is told of {needed}: {watched:?}");
    }
}

#[test]
fn an_alarm_tells_somebody_and_goes_off_before_it_is_too_late() {
    let stack = Stack::deploy_all(&[("AlarmEmail", "anna@example.com")]);
    for alarm in stack.resources("AWS::CloudWatch::Alarm") {
        let properties = stack.properties(&alarm);
        assert_eq!(properties["AlarmActions"], Value::from(vec!["alarms"]), "{alarm}");
        assert_eq!(properties["OKActions"], Value::from(vec!["alarms"]), "{alarm}");
        assert!(properties["AlarmDescription"].as_str().is_some_and(|text| text.ends_with('.')), "{alarm}");
        assert!(number(&properties["DatapointsToAlarm"]) <= number(&properties["EvaluationPeriods"]), "{alarm}");
    }
    assert_eq!(stack.properties("AlarmsByEmail")["Endpoint"], "anna@example.com");
    for (alarm, function) in [("GateDurationAlarm", "Gate"), ("PurgeDurationAlarm", "Purge")] {
        assert!(number(&stack.properties(alarm)["Threshold"]) < timeout_of(&stack, function), "{alarm}");
    }
    assert!(number(&stack.properties("RedisMemoryAlarm")["Threshold"]) <= 80, "there is time to act");
    let absent = |alarm: &str| stack.properties(alarm)["TreatMissingData"].clone();
    assert_eq!(absent("PurgeNotRunningAlarm"), "breaching", "a purge that is never called says nothing");
    assert_eq!(absent("ErrorsAlarm"), "notBreaching");
}

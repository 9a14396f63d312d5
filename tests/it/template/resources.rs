//! What the resources are set to: times that fit each other, failover, encryption, and an alarm for what goes wrong.

use std::collections::BTreeSet;

use serde_json::Value;

use super::environment::FUNCTIONS;
use super::stack::{Stack, template, text_of};

pub(super) fn number(value: &Value) -> u64 {
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap_or_else(|| panic!("{value} is no number"))
}

/// A variable of a function, as a number.
fn variable_of(stack: &Stack, function: &str, variable: &str) -> u64 {
    stack.environment(function)[variable].parse().unwrap()
}

/// An attribute of the load balancer.
pub(super) fn attribute(stack: &Stack, key: &str) -> String {
    let attributes = stack.properties("LoadBalancer")["LoadBalancerAttributes"].clone();
    let found = attributes.as_array().unwrap().iter().find(|attribute| attribute["Key"] == key).cloned();
    found.unwrap()["Value"].as_str().unwrap().to_owned()
}

/// The time that a function may take, in milliseconds.
fn timeout_of(stack: &Stack, function: &str) -> u64 {
    number(&stack.properties(function)["Timeout"]) * 1000
}

#[test]
fn function_timeouts_exceed_store_and_origin_timeouts() {
    let stack = Stack::deploy_all(&[]);
    for function in FUNCTIONS {
        let store = variable_of(&stack, function, "VESTIBULE_STORE_TIMEOUT_MS");
        assert!(timeout_of(&stack, function) >= 4 * store, "{function}: some requests ask more than once");
    }
    let seconds = |variable| variable_of(&stack, "Gate", variable) * 1000;
    let origin = seconds("VESTIBULE_CONNECT_TIMEOUT") + seconds("VESTIBULE_READ_TIMEOUT");
    assert!(timeout_of(&stack, "Gate") > origin + variable_of(&stack, "Gate", "VESTIBULE_STORE_TIMEOUT_MS"));
    let budget = variable_of(&stack, "Purge", "VESTIBULE_PURGE_BUDGET_MS");
    assert!(timeout_of(&stack, "Purge") > budget + 4 * variable_of(&stack, "Purge", "VESTIBULE_STORE_TIMEOUT_MS"));
}

#[test]
fn load_balancer_timeout_exceeds_function_timeouts() {
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
fn purge_timeout_is_below_two_intervals() {
    let stack = Stack::deploy(&[]);
    assert!(timeout_of(&stack, "Purge") <= 60_000);
    let invoked = stack.properties("Purge")["EventInvokeConfig"].clone();
    assert_eq!((number(&invoked["MaximumRetryAttempts"]), number(&invoked["MaximumEventAgeInSeconds"])), (0, 60));
    let schedule = stack.properties("Purge")["Events"]["Regularly"]["Properties"]["Schedule"].clone();
    assert_eq!(schedule, "rate(1 minute)", "history and reports of events have samples of every minute");
    let period = number(&stack.properties("PurgeNotRunningAlarm")["Period"]);
    assert!(period >= 3 * 60, "one call that came late is no alarm");
}

/// Limits of load balancers that the linters do not know, and of `CloudFormation`, which waits for the health of targets after updates.
#[test]
fn targets_have_health_checks_that_load_balancers_take() {
    let stack = Stack::deploy_all(&[("StreamTasks", "1"), ("StreamImage", "example.com/vestibule:1")]);
    let groups = stack.resources("AWS::ElasticLoadBalancingV2::TargetGroup");
    assert!(groups.len() >= 4, "{groups:?}");
    for group in groups {
        let properties = stack.properties(&group);
        assert!(properties["TargetType"] == "ip" || properties["HealthCheckEnabled"] == true, "{group}");
        let codes = properties["Matcher"]["HttpCode"].as_str().unwrap();
        assert!(codes.split(['-', ',']).all(|code| (200..=499).contains(&code.parse().unwrap())), "{group}: {codes}");
    }
}

#[test]
fn each_release_changes_the_gate_so_that_a_version_is_published() {
    let description = |release: &str| Stack::deploy(&[("Release", release)]).properties("Gate")["Description"].clone();
    assert_ne!(description("1700000000"), description("1700000001"));
}

#[test]
fn valkey_with_replicas_fails_over() {
    for (parameters, fails_over) in [
        (&[("Replicas", "0")][..], false),
        (&[("Replicas", "1")], true),
        (&[("Replicas", "2")], true),
        (&[("ClusterMode", "on"), ("Replicas", "1")], true),
    ] {
        let redis = Stack::deploy(parameters).properties("Redis");
        assert_eq!(redis["AutomaticFailoverEnabled"], fails_over, "{parameters:?}");
        assert_eq!(redis["MultiAZEnabled"], fails_over, "{parameters:?}");
        let clustered = parameters.contains(&("ClusterMode", "on"));
        assert_eq!(number(&redis["NumNodeGroups"]), if clustered { 2 } else { 1 }, "{parameters:?}");
    }
    let parameters = Stack::deploy(&[]).properties("RedisParameters");
    assert_eq!(parameters["Properties"]["maxmemory-policy"], "noeviction", "no session is dropped");
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
    for function in ["Admin", "Gate"] {
        assert_eq!(stack.environment(function)["VESTIBULE_ADMIN_URL"], "https://admin.example.com", "{function}");
    }
}

#[test]
fn stored_data_is_encrypted_and_private() {
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
fn every_failure_has_an_alarm() {
    let stack =
        Stack::deploy_all(&[("Replicas", "2"), ("StreamTasks", "1"), ("StreamImage", "example.com/vestibule:1")]);
    let alarms = stack.resources("AWS::CloudWatch::Alarm");
    let watched: BTreeSet<String> = alarms.iter().flat_map(|alarm| watched(&stack, alarm)).collect();
    let of_functions = FUNCTIONS
        .iter()
        .flat_map(|function| ["Errors", "Throttles"].map(|metric| format!("{metric} of {}", function.to_lowercase())));
    let of_nodes = (1..=3).flat_map(|node| {
        ["Evictions", "EngineCPUUtilization", "CurrConnections"].map(|m| format!("{m} of redis-00{node}"))
    });
    let others = [
        "ConcurrentExecutions of gate",
        "Duration of gate",
        "Invocations of gate",
        "RejectedConnectionCount of loadbalancer.loadbalancerfullname",
        "Duration of purge",
        "Invocations of purge",
        "DatabaseMemoryUsageCountedForEvictPercentage of redis-001",
        "HTTPCode_ELB_5XX_Count of loadbalancer.loadbalancerfullname",
        "UnHealthyHostCount of gatetargetgroup.targetgroupfullname",
        "HTTPCode_Target_5XX_Count of gatetargetgroup.targetgroupfullname",
        "HealthyHostCount of streamtargetgroup.targetgroupfullname",
    ];
    for needed in of_functions.chain(of_nodes).chain(others.map(str::to_owned)) {
        assert!(watched.contains(&needed), "{needed} has no alarm: {watched:?}");
    }
}

#[test]
fn alarms_notify_early_enough() {
    let stack = Stack::deploy_all(&[("AlarmEmail", "anna@example.com")]);
    for alarm in stack.resources("AWS::CloudWatch::Alarm") {
        let properties = stack.properties(&alarm);
        assert_eq!(properties["AlarmActions"], Value::from(vec!["alarms"]), "{alarm}");
        assert_eq!(properties["OKActions"], Value::from(vec!["alarms"]), "{alarm}");
        assert!(properties["AlarmDescription"].as_str().is_some_and(|text| text.ends_with('.')), "{alarm}");
        assert!(number(&properties["DatapointsToAlarm"]) <= number(&properties["EvaluationPeriods"]), "{alarm}");
    }
    assert_eq!(stack.properties("AlarmsByEmail")["Endpoint"], "anna@example.com");
    let budget = variable_of(&stack, "Purge", "VESTIBULE_PURGE_BUDGET_MS");
    let unfinished = budget - budget / u64::from(vestibule_purge::HISTORY_SHARE);
    let threshold = number(&stack.properties("PurgeDurationAlarm")["Threshold"]);
    assert!(
        (unfinished * 9 / 10..unfinished).contains(&threshold),
        "a round that does not finish takes {unfinished} ms"
    );
    assert!(number(&stack.properties("RedisMemoryAlarm")["Threshold"]) <= 80, "there is time to act");
    let absent = |alarm: &str| stack.properties(alarm)["TreatMissingData"].clone();
    assert_eq!(absent("PurgeNotRunningAlarm"), "breaching", "a purge that is never called says nothing");
    assert_eq!(absent("ErrorsAlarm"), "notBreaching");
    let streams = Stack::deploy(&[("StreamTasks", "1"), ("StreamImage", "example.com/vestibule:1")]);
    assert_eq!(streams.properties("StreamsDownAlarm")["TreatMissingData"], "breaching", "no container is no data");
    assert_eq!(number(&streams.properties("StreamsDownAlarm")["Threshold"]), 1);
    assert!(!stack.has("StreamsDownAlarm"));
}

/// What a metric of an alarm is computed from.
fn expression(stack: &Stack, alarm: &str, id: &str) -> String {
    let metrics = stack.properties(alarm)["Metrics"].clone();
    let found = metrics.as_array().unwrap().iter().find(|metric| metric["Id"] == id).cloned();
    found.unwrap_or_else(|| panic!("{alarm} has no {id}"))["Expression"].as_str().unwrap().to_owned()
}

#[test]
fn the_concurrency_alarm_counts_requests_as_lambda_does() {
    for (parameters, limit) in [(&[][..], 1000), (&[("AccountConcurrency", "5000"), ("GateConcurrency", "3000")], 3000)]
    {
        let stack = Stack::deploy(parameters);
        assert_eq!(number(&stack.properties("ConcurrencyAlarm")["Threshold"]), 80, "percent");
        let by_rate = expression(&stack, "ConcurrencyAlarm", "byRate");
        assert_eq!(by_rate, format!("100 * FILL(invocations, 0) / 60 / 10 / {limit}"), "10 requests a second per unit");
        let under_way = expression(&stack, "ConcurrencyAlarm", "underWay");
        assert_eq!(under_way, format!("100 * FILL(concurrent, 0) / {limit}"));
    }
    let stack = Stack::deploy(&[("AccountConcurrency", "5000"), ("GateConcurrency", "3000")]);
    assert_eq!(expression(&stack, "ConcurrencyAlarm", "worst"), "MAX([underWay, byRate, shared])");
}

#[test]
fn reserved_concurrency_alone_raises_no_alarm() {
    let stack = Stack::deploy(&[("GateConcurrency", "900"), ("AdminConcurrency", "10")]);
    let shared = expression(&stack, "ConcurrencyAlarm", "shared");
    assert_eq!(shared, "100 * FILL(unreserved, 0) / (1000 - 900 - 0 - 0 - 10)");
    let metrics = stack.properties("ConcurrencyAlarm")["Metrics"].clone();
    let unreserved = metrics.as_array().unwrap().iter().find(|metric| metric["Id"] == "unreserved").unwrap();
    assert_eq!(unreserved["MetricStat"]["Metric"]["MetricName"], "UnreservedConcurrentExecutions", "what is in use");
}

/// Otherwise nobody could lower the quota of a queue while the gate uses up the concurrency of the account.
#[test]
fn functions_keep_the_concurrency_that_they_reserve() {
    let names = [
        ("Gate", "GateConcurrency"),
        ("Purge", "PurgeConcurrency"),
        ("Metrics", "MetricsConcurrency"),
        ("Admin", "AdminConcurrency"),
    ];
    for (function, parameter) in names {
        let reserved = |parameters: &[(&str, &str)]| {
            Stack::deploy_all(parameters).properties(function)["ReservedConcurrentExecutions"].clone()
        };
        assert_eq!(number(&reserved(&[(parameter, "7")])), 7, "{parameter}");
        assert_eq!(reserved(&[]), Value::Null, "{parameter}: a quota of 10 leaves nothing to reserve");
    }
}

/// With the threshold of `VestibuleGateFailing` of Prometheus: a hundredth of the requests.
#[test]
fn the_alarm_of_a_failing_gate_compares_with_its_requests() {
    let stack = Stack::deploy(&[]);
    assert_eq!(expression(&stack, "GateFailingAlarm", "share"), "100 * FILL(failed, 0) / requests");
    let alarm = stack.properties("GateFailingAlarm");
    let description = alarm["AlarmDescription"].as_str().unwrap().to_owned();
    assert!(
        description.contains("queue_status 503"),
        "the load balancer cannot tell whose status it is: {description}"
    );
    assert_eq!((&alarm["ComparisonOperator"], number(&alarm["Threshold"])), (&"GreaterThanThreshold".into(), 1));
    let rules = text_of("deploy/prometheus/alerts/vestibule.rules.yml");
    let rule = rules.split("- alert: ").find(|rule| rule.starts_with("VestibuleGateFailing")).unwrap();
    assert!(rule.contains("> 0.01"), "{rule}");
}

#[test]
fn the_duration_alarm_compares_with_the_usual_duration() {
    let stack = Stack::deploy(&[]);
    let alarm = stack.properties("GateDurationAlarm");
    assert_eq!(alarm["ThresholdMetricId"], "usual");
    assert!(expression(&stack, "GateDurationAlarm", "usual").starts_with("ANOMALY_DETECTION_BAND(duration"));
}

#[test]
fn provisioned_concurrency_follows_its_schedule() {
    let sale = [
        ("ProvisionedConcurrency", "500"),
        ("ProvisionedFrom", "at(2027-03-01T08:45:00)"),
        ("ProvisionedUntil", "at(2027-03-01T11:00:00)"),
        ("Release", "1700000000"),
    ];
    let (usual, stack) = (Stack::deploy(&[]), Stack::deploy(&sale));
    assert!(!usual.has("GateCapacity"));
    let capacity = stack.properties("GateCapacity");
    assert_eq!(capacity["ResourceId"], "function:gate:live");
    let scheduled = |index: usize| {
        let action = &capacity["ScheduledActions"][index];
        (action["Schedule"].as_str().unwrap().to_owned(), number(&action["ScalableTargetAction"]["MinCapacity"]))
    };
    assert_eq!(scheduled(0), (sale[1].1.to_owned(), 500));
    assert_eq!(scheduled(1), (sale[2].1.to_owned(), 0));
    let called = |stack: &Stack| {
        let target = stack.properties("GateTargetGroup")["Targets"][0]["Id"].as_str().unwrap().to_owned();
        (target, stack.properties("LoadBalancerCallsGate")["FunctionName"].as_str().unwrap().to_owned())
    };
    assert_eq!(called(&usual), ("gate.arn".to_owned(), "gate".to_owned()));
    assert_eq!(called(&stack), ("gate.alias".to_owned(), "gate.alias".to_owned()), "a version has the capacity");
    let gate = stack.properties("Gate");
    assert_eq!((&gate["AutoPublishAlias"], &gate["AutoPublishCodeSha256"]), (&"live".into(), &sale[3].1.into()));
}

#[test]
fn snapshots_are_kept_and_restored() {
    let stack = Stack::deploy(&[]);
    let redis = stack.properties("Redis");
    assert!(number(&redis["SnapshotRetentionLimit"]) >= 7, "a snapshot a day is kept for a week");
    assert_eq!(redis["SnapshotName"], Value::Null);
    for policy in ["DeletionPolicy", "UpdateReplacePolicy"] {
        assert_eq!(template()["Resources"]["Redis"][policy], "Snapshot", "{policy}");
    }
    let restored = Stack::deploy(&[("RestoreSnapshot", "automatic.vestibule-2027"), ("SnapshotDays", "1")]);
    assert_eq!(restored.properties("Redis")["SnapshotName"], "automatic.vestibule-2027");
    assert_eq!(number(&restored.properties("Redis")["SnapshotRetentionLimit"]), 1);
}

#[test]
fn the_parameters_of_valkey_fit_its_version() {
    for version in template()["Parameters"]["EngineVersion"]["AllowedValues"].as_array().unwrap() {
        let version = version.as_str().unwrap();
        let stack = Stack::deploy(&[("EngineVersion", version)]);
        let major = version.split('.').next().unwrap();
        assert_eq!(stack.properties("Redis")["EngineVersion"], version);
        assert_eq!(stack.properties("RedisParameters")["CacheParameterGroupFamily"], format!("valkey{major}").as_str());
    }
}

/// What AWS replaces is created before the old one is deleted, so a fixed name would be taken.
#[test]
fn resources_that_are_replaced_have_generated_names() {
    let stack = Stack::deploy_all(&[]);
    assert_eq!(stack.properties("LoadBalancer")["Name"], Value::Null);
    assert_eq!(stack.properties("Alarms")["TopicName"], Value::Null);
    for alarm in stack.resources("AWS::CloudWatch::Alarm") {
        assert_eq!(stack.properties(&alarm)["AlarmName"], Value::Null, "{alarm}");
    }
}

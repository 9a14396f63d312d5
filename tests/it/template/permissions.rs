//! A role allows the calls that its function makes, on what it makes them on, and nothing else.

use std::collections::BTreeSet;

use serde_json::Value;

use super::environment::FUNCTIONS;
use super::reach::uses_of_s3;
use super::stack::Stack;

/// What Lambda itself does in a role's name: it writes the log, joins the network and reads the variables.
const LAMBDA_S_OWN: [&str; 9] = [
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
    "kms:Decrypt",
];

/// The action that it takes to use a bucket like that; `None` if nothing is asked of S3.
fn action(used: &str) -> Option<&'static str> {
    match used {
        "list" | "folders" => Some("s3:ListBucket"),
        "read" => Some("s3:GetObject"),
        "create" => Some("s3:PutObject"),
        // The folder is listed as well, which `list` needs too.
        "remove" | "remove_all" => Some("s3:DeleteObject"),
        "location" | "is_near" => None,
        other => panic!("say here which action {other} needs, and give it to the role"),
    }
}

/// The actions on SQS that a function needs: gate and backoffice enqueue, and the worker runs jobs, too.
fn uses_of_sqs(function: &str) -> &'static [&'static str] {
    match function {
        "Admin" | "Gate" => &["sqs:GetQueueUrl", "sqs:SendMessage"],
        "Worker" => &[
            "sqs:GetQueueUrl",
            "sqs:SendMessage",
            "sqs:ReceiveMessage",
            "sqs:DeleteMessage",
            "sqs:ChangeMessageVisibility",
            "sqs:GetQueueAttributes",
        ],
        _ => &[],
    }
}

/// All statements of a function's role.
fn statements(stack: &Stack, function: &str) -> Vec<Value> {
    let role = stack.properties(&format!("{function}Role"));
    let own = role["Policies"].as_array().unwrap().iter().map(|policy| policy["PolicyDocument"].clone());
    assert_eq!(role["ManagedPolicyArns"], Value::from(vec!["runinthenetwork"]), "{function} has AWS' own policies");
    let shared = stack.properties("RunInTheNetwork")["PolicyDocument"].clone();
    own.chain([shared]).flat_map(|document| document["Statement"].as_array().unwrap().clone()).collect()
}

fn texts(value: &Value) -> BTreeSet<String> {
    let one = value.as_str().map(str::to_owned);
    one.into_iter()
        .chain(value.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()))
        .collect()
}

fn allowed(statements: &[Value]) -> BTreeSet<String> {
    statements.iter().filter(|statement| statement["Effect"] == "Allow").flat_map(|s| texts(&s["Action"])).collect()
}

#[test]
fn roles_allow_exactly_the_calls_of_their_function() {
    for function in FUNCTIONS {
        let mut expected: BTreeSet<String> = LAMBDA_S_OWN.map(str::to_owned).into();
        expected.extend(uses_of_s3(function).iter().filter_map(|used| action(used)).map(str::to_owned));
        expected.extend(uses_of_sqs(function).iter().map(|action| (*action).to_owned()));
        assert_eq!(allowed(&statements(&Stack::deploy_all(&[]), function)), expected, "{function}");
    }
    assert!(uses_of_s3("Gate").contains("list") && uses_of_s3("Gate").contains("read"), "the gate reads themes");
}

#[test]
fn traced_functions_can_send_traces() {
    let traced = Stack::deploy(&[("Tracing", "Active")]);
    let actions = allowed(&statements(&traced, "Purge"));
    assert!(actions.contains("xray:PutTraceSegments") && actions.contains("xray:PutTelemetryRecords"));
    assert_eq!(traced.properties("Purge")["Tracing"], "Active");
}

#[test]
fn a_function_writes_its_own_log_and_reads_its_own_themes() {
    let stack = Stack::deploy_all(&[("ThemePrefix", "brands/live")]);
    for function in FUNCTIONS {
        let log = format!("{}log", function.to_lowercase());
        assert_eq!(stack.properties(function)["LoggingConfig"]["LogGroup"], log.as_str());
        for statement in statements(&stack, function) {
            let actions = texts(&statement["Action"]);
            let resources = texts(&statement["Resource"]);
            if actions.iter().all(|action| action.starts_with("sqs:")) {
                assert_eq!(resources, BTreeSet::from(["fifojobsqueue.arn".to_owned(), "jobsqueue.arn".to_owned()]));
                continue;
            }
            let expected = match actions.first().unwrap().as_str() {
                "logs:CreateLogStream" => format!("{log}.arn"),
                "s3:ListBucket" => "themebucket.arn".to_owned(),
                "s3:PutObject" => "themebucket.arn/brands/live/.versions/*".to_owned(),
                "s3:GetObject" | "s3:DeleteObject" => "themebucket.arn/brands/live/*".to_owned(),
                "kms:Decrypt" => "variableskey.arn".to_owned(),
                _ => "*".to_owned(),
            };
            assert_eq!(resources, BTreeSet::from([expected]), "{actions:?}");
            // Of an object that is not there S3 only says so to who may list the bucket, by whatever prefix.
            if actions.contains("s3:ListBucket") && function != "Admin" {
                assert_eq!(statement["Condition"]["StringLike"]["s3:prefix"], "brands/live/*");
            }
        }
    }
    assert_eq!(stack.environment("Gate")["VESTIBULE_THEMES"], "s3://themebucket/brands/live");
}

#[test]
fn gate_reads_network_lists_below_their_prefix() {
    let stack = Stack::deploy(&[("NetworkListPrefix", "lists/live")]);
    assert_eq!(stack.environment("Gate")["VESTIBULE_NETWORKS"], "s3://themebucket/lists/live");
    let statements = statements(&stack, "Gate");
    let named =
        |sid: &str| statements.iter().find(|statement| statement["Sid"] == sid).unwrap_or_else(|| panic!("{sid}"));
    assert_eq!(named("ReadNetworkLists")["Resource"], "themebucket.arn/lists/live/*");
    assert_eq!(named("ListNetworkLists")["Condition"]["StringLike"]["s3:prefix"], "lists/live/*");
    let layer = "arn:aws:lambda:eu-west-1:123456789012:layer:networks:1";
    let stack = Stack::deploy(&[("NetworkLists", layer)]);
    assert_eq!(stack.environment("Gate")["VESTIBULE_NETWORKS"], "/opt/networks");
}

#[test]
fn code_cannot_change_network_interfaces() {
    let stack = Stack::deploy_all(&[]);
    let denied = statements(&stack, "Gate").into_iter().find(|statement| statement["Effect"] == "Deny").unwrap();
    assert_eq!(denied["Action"], "ec2:*");
    let functions = denied["Condition"]["ArnLike"]["lambda:SourceFunctionArn"].as_str().unwrap();
    let prefix = functions.strip_suffix('*').unwrap();
    for function in FUNCTIONS {
        let name = stack.properties(function)["FunctionName"].as_str().unwrap().to_owned();
        let arn = format!("arn:aws:lambda:eu-west-1:123456789012:function:{name}");
        assert!(arn.starts_with(prefix), "{arn}");
    }
}

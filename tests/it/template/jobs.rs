//! What a deployment with job queues has: two SQS queues, the function that runs the jobs, and the way to SQS.

use serde_json::{Value, json};
use vestibule_jobs_sqs::SqsPrefix;

use super::resources::number;
use super::stack::{Stack, template};

fn stack(more: &[(&str, &str)]) -> Stack {
    Stack::deploy(&[&[("Jobs", "on")], more].concat())
}

/// The names of the resources that jobs need.
fn parts(stack: &Stack) -> Vec<String> {
    let template = template();
    let names = template["Resources"].as_object().unwrap().keys();
    let is_part = |name: &&String| ["Jobs", "Sqs", "Worker"].iter().any(|part| name.contains(part));
    names.filter(|name| is_part(name) && stack.has(name)).cloned().collect()
}

#[test]
fn without_jobs_there_is_nothing_of_them() {
    let none = Stack::deploy(&[("AdminHost", "admin.example.com")]);
    assert_eq!(parts(&none), [""; 0]);
    for function in ["Admin", "Gate", "Metrics"] {
        assert_eq!(none.environment(function)["VESTIBULE_JOBS_URL"], "", "{function} has no job queues");
    }
    assert!(!parts(&stack(&[])).contains(&"AdminReachesSqs".to_owned()));
}

#[test]
fn functions_and_containers_find_the_sqs_queues() {
    let stack = Stack::deploy_all(&[("StreamTasks", "1"), ("StreamImage", "vestibule:1")]);
    let address = &stack.environment("Gate")["VESTIBULE_JOBS_URL"];
    let prefix: SqsPrefix = address.parse().unwrap();
    assert_eq!(stack.properties("JobsQueue")["QueueName"], prefix.queue_name(false));
    assert_eq!(stack.properties("FifoJobsQueue")["QueueName"], prefix.queue_name(true));
    for function in ["Admin", "Metrics", "Worker"] {
        assert_eq!(&stack.environment(function)["VESTIBULE_JOBS_URL"], address, "{function}");
    }
    let container = stack.properties("StreamTask")["ContainerDefinitions"][0]["Environment"].clone();
    let given = container.as_array().unwrap().iter().find(|variable| variable["Name"] == "VESTIBULE_JOBS_URL");
    assert_eq!(given.unwrap()["Value"], address.as_str());
    assert_eq!(stack.environment("Worker")["VESTIBULE_PASS_KEYS"], stack.environment("Gate")["VESTIBULE_PASS_KEYS"]);
}

#[test]
fn messages_are_hidden_for_as_long_as_the_worker_may_take() {
    let stack = stack(&[("WorkerConcurrency", "50")]);
    let worker = stack.properties("Worker");
    let timeout = number(&worker["Timeout"]);
    assert!(timeout >= vestibule_worker::FUNCTION_TIMEOUT_MAX + 15, "the longest call, and what is around it");
    for (queue, redriven) in [("JobsQueue", "RedrivenJobsQueue"), ("FifoJobsQueue", "RedrivenFifoJobsQueue")] {
        let properties = stack.properties(queue);
        assert_eq!(number(&properties["VisibilityTimeout"]), timeout, "Lambda refuses a shorter one: {queue}");
        assert_eq!(properties["RedrivePolicy"]["deadLetterTargetArn"], format!("{}.arn", redriven.to_lowercase()));
        assert_eq!(number(&properties["RedrivePolicy"]["maxReceiveCount"]), 1000);
        for queue in [queue, redriven] {
            let properties = stack.properties(queue);
            assert_eq!(properties["SqsManagedSseEnabled"], true, "{queue}");
            assert_eq!(number(&properties["MaximumMessageSize"]), 1 << 20, "{queue}");
            assert_eq!(number(&properties["MessageRetentionPeriod"]), 14 * 86_400, "{queue}");
            let is_fifo = properties["FifoQueue"] == true;
            let name = properties["QueueName"].as_str().unwrap();
            assert_eq!(is_fifo, name.rsplit_once('.').is_some_and(|(_, kind)| kind == "fifo"), "{queue}");
        }
    }
    let fifo = stack.properties("FifoJobsQueue");
    let limits = (&fifo["DeduplicationScope"], &fifo["FifoThroughputLimit"]);
    assert_eq!(limits, (&json!("messageGroup"), &json!("perMessageGroupId")));
    for (source, queue) in [("Jobs", "jobsqueue.arn"), ("FifoJobs", "fifojobsqueue.arn")] {
        let source = worker["Events"][source]["Properties"].clone();
        assert_eq!(source["Queue"], queue);
        assert_eq!(source["FunctionResponseTypes"], json!(["ReportBatchItemFailures"]), "only these come again");
        assert_eq!(number(&source["BatchSize"]), 10);
        assert_eq!(number(&source["ScalingConfig"]["MaximumConcurrency"]), 50);
    }
    assert_eq!(worker["Events"]["Regularly"]["Properties"]["Schedule"], "rate(1 minute)");
    assert_eq!(number(&worker["EventInvokeConfig"]["MaximumRetryAttempts"]), 0);
}

#[test]
fn functions_that_enqueue_reach_sqs_in_the_network() {
    let list = [("S3PrefixList", "pl-0123456789abcdef0")];
    let stack = Stack::deploy_all(&list);
    let endpoint = stack.properties("SqsEndpoint");
    assert_eq!(
        (&endpoint["ServiceName"], &endpoint["PrivateDnsEnabled"]),
        (&json!("com.amazonaws.eu-west-1.sqs"), &json!(true))
    );
    assert_eq!(endpoint["SecurityGroupIds"], json!(["sqsendpointsecuritygroup"]));
    for (ingress, from) in [
        ("GateReachesSqs", "gatesecuritygroup"),
        ("AdminReachesSqs", "adminsecuritygroup"),
        ("WorkerReachesSqs", "workersecuritygroup"),
    ] {
        let properties = stack.properties(ingress);
        assert_eq!((&properties["SourceSecurityGroupId"], &properties["FromPort"]), (&json!(from), &json!(443)));
        assert_eq!(properties["CidrIp"], Value::Null);
    }
    let egress = stack.properties("GateSecurityGroup")["SecurityGroupEgress"].clone();
    let leads = |rule: &Value| rule["DestinationSecurityGroupId"] == "sqsendpointsecuritygroup";
    assert!(egress.as_array().unwrap().iter().any(leads), "beside S3: {egress}");
}

#[test]
fn worker_runs_in_subnets_of_its_own() {
    let subnets = |stack: &Stack| stack.properties("Worker")["VpcConfig"]["SubnetIds"].clone();
    assert_eq!(subnets(&stack(&[])), json!(["subnet-1", "subnet-2"]));
    let own = [("WorkerSubnets", "subnet-8,subnet-9"), ("PublicUrl", "https://tickets.example.com")];
    assert_eq!(subnets(&stack(&own)), json!(["subnet-8", "subnet-9"]));
    assert_eq!(stack(&own).environment("Worker")["VESTIBULE_PUBLIC_URL"], "https://tickets.example.com");
}

#[test]
fn late_and_redriven_jobs_have_alarms() {
    let stack = stack(&[]);
    for (alarm, metric, queues) in [
        ("JobsDelayedAlarm", "ApproximateAgeOfOldestMessage", ["jobsqueue.queuename", "fifojobsqueue.queuename"]),
        (
            "JobsRedrivenAlarm",
            "ApproximateNumberOfMessagesVisible",
            ["redrivenjobsqueue.queuename", "redrivenfifojobsqueue.queuename"],
        ),
    ] {
        let metrics = stack.properties(alarm)["Metrics"].clone();
        let stats = metrics.as_array().unwrap().iter().filter(|it| it["MetricStat"].is_object());
        let watched: Vec<_> = stats.map(|it| it["MetricStat"]["Metric"].clone()).collect();
        assert!(watched.iter().all(|it| it["MetricName"] == metric), "{watched:?}");
        let named: Vec<_> =
            watched.iter().map(|it| it["Dimensions"][0]["Value"].as_str().unwrap().to_owned()).collect();
        assert_eq!(named, queues);
    }
}

//! What a rehearsal and a plan refuse, and what they say then.

use vestibule_tests::Origin;

use super::program::{RunningGate, run};

async fn refused(arguments: &[&str], description: &[&str]) {
    let (status, said, _) = run(arguments).await;
    assert_eq!(status, 2, "{arguments:?}: {said}");
    for words in description {
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}

#[tokio::test]
async fn remote_targets_need_permission() {
    refused(&["rehearse", "http://192.0.2.7/"], &["192.0.2.7 is not this machine", "--allow-remote"]).await;
}

#[tokio::test]
async fn targets_other_than_gates_get_only_probes() {
    let origin = Origin::start();
    refused(&["rehearse", "http://127.0.0.1:9/"], &["cannot connect to http://127.0.0.1:9/", "is the gate running"])
        .await;
    let shop = format!("{}/status/404", origin.url());
    refused(&["rehearse", &shop, "--duration", "1", "--visitors", "1"], &["is not a Vestibule gate"]).await;
    let probes = ["/_vestibule/health", "/_vestibule/status"];
    let requests = origin.requests();
    let asked: Vec<&str> = requests.iter().map(|request| request.uri.path()).collect();
    assert!(asked.iter().all(|path| probes.contains(path)), "{asked:?}");
}

#[tokio::test]
async fn unknown_queue_is_reported() {
    let served = RunningGate::with(5).await;
    let workload = ["--visitors", "20", "--quota", "5"];
    for (wrong, description) in [(["--queue", "tour"], "--queue"), (["--queue", "other"], "has no such queue")] {
        refused(&[&["rehearse", served.url().as_str()], &wrong[..], &workload].concat(), &[description, "404"]).await;
    }
}

#[tokio::test]
async fn metrics_are_read_before_the_run() {
    let served = RunningGate::with(5).await;
    let metrics = format!("http://{}/metrics", served.admin);
    let run = ["rehearse", &served.url(), "--visitors", "20", "--metrics"];
    refused(
        &[&run[..], &[&metrics, "--metrics-token", "another-token-of-32-characters-.."]].concat(),
        &["--metrics: 401"],
    )
    .await;
    refused(&[&run[..], &["http://127.0.0.1:9/metrics"]].concat(), &["--metrics: Connection refused"]).await;
}

#[tokio::test]
async fn invalid_input_states_what_is_valid() {
    let gate = "http://127.0.0.1:9/";
    refused(&["rehearse", "127.0.0.1:8080"], &["is not a valid URL", "http://127.0.0.1:8080/"]).await;
    refused(&["rehearse", gate, "--arrivals", "wave:3"], &["--arrivals must be burst:SECONDS"]).await;
    refused(&["rehearse", gate, "--arrivals", "csv:none.csv"], &["--arrivals: cannot read none.csv"]).await;
    refused(&["rehearse", gate, "--shopping", "long"], &["must be fixed:SECONDS"]).await;
    refused(&["rehearse", gate, "--close", "5"], &["must be a share from 0 to 1"]).await;
    refused(&["rehearse", gate, "--bots", "0.7", "--flood", "0.7"], &["--bots and --flood", "1 at most"]).await;
    refused(
        &["rehearse", gate, "--fail-if", "speed>1"],
        &["unknown figure \"speed\"; valid figures are over_admission"],
    )
    .await;
    refused(&["rehearse", gate, "--redis", "10.0.0.5"], &["--redis: the address of Redis takes redis://"]).await;
    refused(&["rehearse", gate, "--redis", "redis-cluster://a:1"], &["--redis: each node of a Redis Cluster"]).await;
    refused(&["rehearse", gate, "--metrics", "here"], &["is not a valid metrics URL"]).await;
    refused(&["rehearse", gate, "--faults", "none.txt"], &["--faults: cannot read none.txt"]).await;
    refused(&["plan"], &["--quota"]).await;
    refused(&["plan", "--quota", "5", "--admissions-every", "60"], &["requires admissions_per_minute"]).await;
    refused(&["plan", "--quota", "5", "--shopping", "uniform:9..3"], &["uniform:FROM..TO"]).await;
}

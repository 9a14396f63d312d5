//! What a rehearsal and a plan refuse, and what they say then.

use vestibule_tests::Origin;

use super::line::{Served, run};

async fn refused(arguments: &[&str], says: &[&str]) {
    let (status, said, _) = run(arguments).await;
    assert_eq!(status, 2, "{arguments:?}: {said}");
    for words in says {
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}

#[tokio::test]
async fn a_site_that_is_not_on_this_machine_is_left_alone() {
    refused(&["rehearse", "http://192.0.2.7/"], &["192.0.2.7 is not this machine", "--i-own-this-site"]).await;
}

#[tokio::test]
async fn what_is_no_gate_is_not_asked_for_more() {
    let origin = Origin::start();
    refused(&["rehearse", "http://127.0.0.1:9/"], &["nothing answers at http://127.0.0.1:9/", "is the gate running"])
        .await;
    let shop = format!("{}/status/404", origin.url());
    let (status, said, _) = run(&["rehearse", &shop, "--for", "1", "--visitors", "1"]).await;
    // An origin that answers everything is found out by its health, which is no gate's, or by its pages.
    assert!(status != 0 || !said.contains("places_lost"), "{said}");
    let probes = ["/_vestibule/health", "/_vestibule/status"];
    assert!(origin.requests().iter().all(|request| probes.contains(&request.uri.path())) || status == 0);
}

#[tokio::test]
async fn a_queue_that_the_gate_does_not_have_is_asked_for_once() {
    let served = Served::with(5).await;
    let crowd = ["--visitors", "20", "--quota", "5"];
    for (wrong, says) in [(["--queue", "tour"], "--queue"), (["--queue", "other"], "has no such queue")] {
        refused(&[&["rehearse", served.url().as_str()], &wrong[..], &crowd].concat(), &[says, "404"]).await;
    }
}

#[tokio::test]
async fn wrong_input_is_told_with_what_it_takes() {
    let gate = "http://127.0.0.1:9/";
    refused(&["rehearse", "127.0.0.1:8080"], &["is no address of a site", "http://127.0.0.1:8080/"]).await;
    refused(&["rehearse", gate, "--arrivals", "wave:3"], &["--arrivals takes burst:SECONDS"]).await;
    refused(&["rehearse", gate, "--arrivals", "csv:none.csv"], &["--arrivals: none.csv can't be read"]).await;
    refused(&["rehearse", gate, "--shopping", "long"], &["takes fixed:SECONDS"]).await;
    refused(&["rehearse", gate, "--close", "5"], &["takes a share from 0 to 1"]).await;
    refused(&["rehearse", gate, "--bots", "0.7", "--flood", "0.7"], &["--bots and --flood", "1 at most"]).await;
    refused(&["rehearse", gate, "--fail-if", "speed>1"], &["\"speed\" is no figure of a report; there are overshoot"])
        .await;
    refused(&["rehearse", gate, "--redis", "10.0.0.5"], &["redis://HOST:PORT"]).await;
    refused(&["rehearse", gate, "--metrics", "here"], &["is no address of metrics"]).await;
    refused(&["rehearse", gate, "--faults", "none.txt"], &["--faults: none.txt can't be read"]).await;
    refused(&["plan"], &["--quota"]).await;
    refused(&["plan", "--quota", "5", "--shopping", "uniform:9..3"], &["uniform:FROM..TO"]).await;
}

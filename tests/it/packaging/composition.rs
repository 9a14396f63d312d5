//! Every command of docker-compose.yml, outside of containers.

use std::time::Duration;

use vestibule_tests::{ComposeStack, Program, Visitor, free_port, wait_until, yaml};

use super::read;

/// A theme reaches the page after the bucket was asked again, and Prometheus asks every fifteen seconds.
const TIMEOUT: Duration = Duration::from_mins(1);

fn visitor(composition: &ComposeStack) -> Visitor {
    let address = composition.address("vestibule", 8080);
    Visitor::new(&address, &address)
}

async fn page(composition: &ComposeStack) -> String {
    visitor(composition).navigate("/").await.text().to_owned()
}

#[tokio::test]
async fn compose_starts_a_queue_with_visitors() {
    let mut composition = ComposeStack::read();
    composition.up("vestibule").await;
    assert!(page(&composition).await.contains("You are admitted"), "with nobody before it, the shop is open");

    composition.up("visitors").await;
    wait_until("a newcomer waits, on the page from the bucket", TIMEOUT, async || {
        let page = page(&composition).await;
        page.contains("The sale") && page.contains("comes from the bucket")
    })
    .await;
    wait_until("a newcomer has others before them", TIMEOUT, async || {
        let mut newcomer = visitor(&composition);
        // The first visit gets a pre-ticket, with which the next one joins.
        newcomer.status("shop").await;
        let visitor_status = newcomer.status("shop").await.json();
        visitor_status["state"] == "waiting" && visitor_status["position"].as_u64() > Some(1)
    })
    .await;
    assert!(composition.path("redis", "/data/appendonlydir").is_dir(), "what Redis holds is on disk");
}

#[tokio::test]
async fn the_bucket_is_kept_like_the_folder() {
    let mut composition = ComposeStack::read();
    composition.up("themes").await;
    let address = composition.address("s3", 5000);
    // This S3 takes any signature, but wants one.
    let mut bucket = Visitor::new(&address, &address).with_header("authorization", "AWS any:any");
    let folder = composition.path("themes", "/deploy/themes/default");

    std::fs::write(folder.join("queue.html"), "changed").unwrap();
    std::fs::create_dir(folder.join("fonts")).unwrap();
    std::fs::write(folder.join("fonts/brand.css"), "new").unwrap();
    wait_until("what is changed and new is there", TIMEOUT, async || {
        let changed = bucket.fetch("/themes/default/queue.html").await;
        changed.text() == "changed" && bucket.fetch("/themes/default/fonts/brand.css").await.text() == "new"
    })
    .await;

    std::fs::remove_file(folder.join("fonts/brand.css")).unwrap();
    wait_until("what is deleted is gone", TIMEOUT, async || {
        bucket.fetch("/themes/default/fonts/brand.css").await.status.as_u16() == 404
    })
    .await;
}

#[tokio::test]
async fn prometheus_scrapes_the_program_with_its_token() {
    let mut composition = ComposeStack::read();
    composition.up("vestibule").await;
    composition.up("prometheus").await;
    let address = composition.address("prometheus", 9090);
    let mut prometheus = Visitor::new(&address, &address);
    // On a busy machine, a scrape may fail before one succeeds.
    wait_until("a scrape", TIMEOUT, async || {
        let targets = prometheus.fetch("/api/v1/targets").await.json();
        let target = &targets["data"]["activeTargets"][0];
        if target["lastError"].as_str().is_some_and(|error| !error.is_empty()) {
            println!("{target}\n{}", composition.log("vestibule"));
        }
        target["health"] == "up"
    })
    .await;
    wait_until("the store is up", TIMEOUT, async || {
        let answer = prometheus.fetch("/api/v1/query?query=vestibule_up").await.json();
        answer["data"]["result"][0]["value"][1] == "1"
    })
    .await;

    let admin = composition.address("vestibule", 8081);
    let refused = Visitor::new(&admin, &admin).fetch("/metrics").await;
    assert_eq!(refused.status.as_u16(), 401, "who has no token learns nothing");
}

#[tokio::test]
async fn the_cluster_profile_is_a_cluster_that_a_gate_serves_from() {
    let mut composition = ComposeStack::read();
    for time in ["first", "second"] {
        let made = composition.run("cluster").await;
        assert!(made.success(), "the {time} time: {}", composition.log("cluster"));
    }
    let store = format!("redis-cluster://{}", composition.address("cluster-1", 7001));
    let listen = format!("127.0.0.1:{}", free_port());
    let arguments =
        ["serve", "--listen", &listen, "--store", &store, "--origin", "http://127.0.0.1:9", "--state", "state"];
    let mut program = Program::vestibule(&arguments).start();
    program.until_healthy(&listen).await;
}

#[test]
fn every_port_is_published_on_loopback_alone() {
    let document = yaml("docker-compose.yml");
    let services = document["services"].as_object().unwrap();
    let published: Vec<&str> = services
        .values()
        .flat_map(|service| service["ports"].as_array().into_iter().flatten())
        .map(|port| port.as_str().expect("a port with the address it is published on"))
        .collect();
    assert!(published.len() > 5, "{published:?}");
    for port in published {
        assert!(port.starts_with("127.0.0.1:"), "{port}");
    }
    for (name, service) in services {
        assert_ne!(service["network_mode"], "host", "{name}");
    }
}

#[test]
fn prometheus_uses_the_metrics_token() {
    let document = yaml("docker-compose.yml");
    let given = document["services"]["vestibule"]["environment"]["VESTIBULE_METRICS_TOKEN"].as_str().unwrap();
    assert_eq!(given, read("deploy/compose/metrics-token").trim());
}

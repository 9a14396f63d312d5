//! Webhook events over processes that share one Redis, delivered to a handler.

use std::time::Duration;

use serde_json::{Value, json};
use vestibule_records::{EphemeralKey, EphemeralKind, RecordStore as _};
use vestibule_store_redis::{RedisOptions, RedisStore};
use vestibule_tests::{AdminClient, Origin, Program, Redis, Visitor, free_port, wait_until};

const LIMIT: Duration = Duration::from_mins(1);
const PASSWORD: &str = "correct horse battery";

/// A program with a backoffice.
struct Serving {
    gate: String,
    client: AdminClient,
    _program: Program,
}

impl Serving {
    async fn start(redis: &Redis, settings: &str) -> Self {
        let (gate, admin) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
        let url = redis.url();
        let arguments = ["serve", "--listen", &gate, "--admin-listen", &admin, "--state", "state"];
        let arguments = [&arguments[..], &["--store", &url, "--settings", "vestibule.toml"]].concat();
        let bootstrap = format!("root:{PASSWORD}");
        let program = Program::vestibule(&arguments).env("VESTIBULE_ADMIN_BOOTSTRAP", &bootstrap);
        let mut program = program.file("vestibule.toml", settings).start();
        program.until_healthy(&gate).await;
        Self { gate, client: AdminClient::at(&admin), _program: program }
    }
}

/// The events that the handler got, by type.
fn events(handler: &Origin, event_type: &str) -> Vec<Value> {
    let calls = handler.requests();
    let bodies = calls.iter().map(|call| serde_json::from_slice::<Value>(&call.body).unwrap());
    bodies.filter(|body| body["type"] == event_type).map(|body| body["data"].clone()).collect()
}

/// W1, W2.
#[tokio::test]
async fn each_event_reaches_the_handler_once_over_two_processes() {
    let (redis, handler, site) = (Redis::start().await, Origin::start(), Origin::start());
    let settings = format!(
        "[[tenants]]\nid = \"acme\"\nname = \"Acme\"\n\n\
         [[queues]]\nid = \"tour\"\ntenant = \"acme\"\nhosts = [\"*\"]\nquota = 1\n\
         handover = {{ kind = \"proxy\", origin = \"{}\" }}\n\n\
         [[job_queues]]\nid = \"hooks.fifo\"\ntenant = \"acme\"\n\
         target = {{ kind = \"http\", url = \"{}/hooks\" }}\n\
         webhook = {{ event_types = [\"queue.updated\", \"queue.state_changed\", \"queue.admitted\"] }}\n",
        site.url(),
        handler.url()
    );
    let (mut one, other) = (Serving::start(&redis, &settings).await, Serving::start(&redis, &settings).await);
    wait_until("the first superuser can sign in", LIMIT, async || {
        let root = json!({ "name": "root", "password": PASSWORD });
        one.client.clone().post("/sign-in", root).await.status == 200
    })
    .await;
    one.client.sign_in("root", PASSWORD).await;
    let store = RedisStore::connect(&redis.url(), RedisOptions::default()).unwrap();
    let watched = EphemeralKey::new(EphemeralKind::WatchedQueue, "tour");
    wait_until("the first comparison begins to watch", LIMIT, async || {
        store.get_ephemeral(&watched).await.unwrap().is_some()
    })
    .await;
    for gate in [&one.gate, &other.gate] {
        let mut visitor = Visitor::new(gate, gate);
        // The first visit of somebody who will wait gets a pre-ticket.
        for _ in 0..2 {
            visitor.navigate("/").await;
        }
    }
    wait_until("the event about the admission arrives", LIMIT, async || !events(&handler, "queue.admitted").is_empty())
        .await;
    assert_eq!(one.client.patch("/queues/tour", json!({ "quota": 2 })).await.status, 200);
    let admitted = || events(&handler, "queue.admitted").iter().filter_map(|it| it["admitted"].as_u64()).sum::<u64>();
    wait_until("the event about the second admission arrives", LIMIT, async || admitted() >= 2).await;
    wait_until("the event about the change arrives", LIMIT, async || !events(&handler, "queue.updated").is_empty())
        .await;

    // As long as any process would need to tell something again.
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(admitted(), 2);
    let updated = events(&handler, "queue.updated");
    assert_eq!((updated.len(), &updated[0]["changes"][0]["to"]), (1, &json!(2)), "{updated:?}");
    let waiting: Vec<_> = events(&handler, "queue.state_changed").iter().map(|it| it["waiting"].clone()).collect();
    assert_eq!(waiting, [1, 0], "the line forms and ends");
}

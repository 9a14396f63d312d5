//! The same in a cluster, where the connection to one node may be dead and those to the others not.

use std::pin::pin;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use vestibule_core::settings::Settings;
use vestibule_core::store::{OperationsStore as _, SettingsStore as _, VisitStore as _};
use vestibule_core::{PutMode, QueueId, StoreError};
use vestibule_store_redis::{RedisOptions, RedisStore};

use super::frozen_process::{PATIENCE, until};
use super::server::{Server, free_port};
use super::tcp_proxy::TcpProxy;
use super::tools::{joining, settings};

const NODES: usize = 3;
const SLOTS: usize = 16_384;

/// Three nodes that tell others to come by their wires.
struct Cluster {
    nodes: Vec<Server>,
    buses: Vec<u16>,
    wires: Vec<TcpProxy>,
}

impl Cluster {
    async fn start() -> Self {
        let mut cluster = Self { nodes: Vec::new(), buses: Vec::new(), wires: Vec::new() };
        for _ in 0..NODES {
            cluster.add_node().await;
        }
        for (number, node) in cluster.nodes.iter().enumerate() {
            let (first, last) = (number * SLOTS / NODES, (number + 1) * SLOTS / NODES - 1);
            assert_eq!(node.command(&format!("CLUSTER SET-CONFIG-EPOCH {}", number + 1)), "OK");
            assert_eq!(node.command(&format!("CLUSTER ADDSLOTSRANGE {first} {last}")), "OK");
            let meet = format!("CLUSTER MEET 127.0.0.1 {} {}", node.port(), cluster.buses[number]);
            assert_eq!(cluster.nodes[0].command(&meet), "OK");
        }
        for node in &cluster.nodes {
            until("the cluster agrees", || {
                let info = node.command("CLUSTER INFO");
                info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
            })
            .await;
        }
        cluster
    }

    async fn add_node(&mut self) {
        let (port, bus) = (free_port(), free_port());
        let wire = TcpProxy::to(port).await;
        let (announced, bus_port) = (wire.port().to_string(), bus.to_string());
        let options = ["--cluster-enabled", "yes", "--cluster-port", &bus_port, "--cluster-announce-port", &announced];
        self.nodes.push(Server::start_with(port, &options).await);
        self.buses.push(bus);
        self.wires.push(wire);
    }

    fn store(&self, timeout: Duration) -> RedisStore {
        let url = format!("redis-cluster://127.0.0.1:{}", self.wires[0].port());
        RedisStore::connect(&url, RedisOptions { timeout, ..RedisOptions::default() }).unwrap()
    }

    /// A queue on each node, in the order of the nodes.
    fn queues(&self) -> Vec<QueueId> {
        let node_of = |name: &str| {
            let slot: usize = self.nodes[0].command(&format!("CLUSTER KEYSLOT {name}")).parse().unwrap();
            (0..NODES).find(|number| slot < (number + 1) * SLOTS / NODES).unwrap()
        };
        let names: Vec<String> = (0..50).map(|number| format!("queue-{number}")).collect();
        let on = |node| names.iter().find(|name| node_of(name) == node).unwrap().parse().unwrap();
        (0..NODES).map(on).collect()
    }
}

fn settings_of(queue: &QueueId) -> Settings {
    settings(&json!({ "id": Value::from(queue.as_str()), "quota": 0 }))
}

async fn write_all(store: &RedisStore, queues: &[QueueId]) {
    for queue in queues {
        store.put_settings(&settings_of(queue), PutMode::Always).await.unwrap();
    }
}

#[tokio::test]
async fn silent_node_connection_is_replaced_without_an_error() {
    let cluster = Cluster::start().await;
    let (store, queues) = (cluster.store(PATIENCE), cluster.queues());
    write_all(&store, &queues).await;
    for (round, cut) in [TcpProxy::silence, TcpProxy::reset, TcpProxy::close].into_iter().enumerate() {
        for (node, queue) in queues.iter().enumerate() {
            cut(&cluster.wires[node]);
            store.visit(queue, joining(round as u32)).await.unwrap();
            assert_eq!(store.release(queue, 1).await.unwrap(), 1);
        }
    }
    for wire in &cluster.wires {
        wire.silence();
    }
    for queue in &queues {
        store.visit(queue, joining(9)).await.unwrap();
        assert_eq!(store.stats(queue).await.unwrap().waiting, 1);
    }
}

#[tokio::test]
async fn unresponsive_node_affects_only_its_own_queues() {
    let cluster = Cluster::start().await;
    let (store, queues) = (cluster.store(PATIENCE), cluster.queues());
    write_all(&store, &queues).await;
    cluster.wires[2].silence_all();
    // Twice, so that the store has tried to connect again meanwhile.
    for _ in 0..2 {
        let mut dead = pin!(store.visit(&queues[2], joining(1)));
        let failed = loop {
            let alive = async {
                for queue in &queues[..2] {
                    store.visit(queue, joining(1)).await.unwrap();
                }
                sleep(PATIENCE / 100).await;
            };
            tokio::select! {
                failed = &mut dead => break failed,
                () = alive => {}
            }
        };
        assert!(matches!(failed, Err(StoreError::Unavailable(_))), "{failed:?}");
    }
    cluster.wires[2].pass();
    let back = Instant::now();
    while store.visit(&queues[2], joining(1)).await.is_err() {
        assert!(back.elapsed() < Duration::from_mins(1), "the node is back and the store is not");
    }
}

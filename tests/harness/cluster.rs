use std::time::Duration;

use futures_util::future::join_all;

use crate::ports::free_cluster_port;
use crate::{Redis, Value, wait_until};

const PRIMARIES: usize = 3;
const SLOTS: usize = 16_384;

/// How long the nodes may take to agree.
const TIMEOUT: Duration = Duration::from_secs(30);

const OPTIONS: [&str; 8] = [
    "--cluster-enabled",
    "yes",
    "--cluster-node-timeout",
    "2000",
    "--cluster-replica-validity-factor",
    "0",
    "--cluster-config-file",
    "nodes.conf",
];

/// A Redis Cluster of three primaries.
pub struct Cluster {
    nodes: Vec<Redis>,
}

impl Cluster {
    /// Starts three primaries without replicas and waits until all slots are served: about three seconds.
    pub async fn start() -> Self {
        Self::form(PRIMARIES).await
    }

    /// Starts three primaries with a replica each, so that one of them can fail and be replaced.
    pub async fn with_replicas() -> Self {
        let cluster = Self::form(2 * PRIMARIES).await;
        let (primaries, replicas) = cluster.nodes.split_at(PRIMARIES);
        for (primary, replica) in primaries.iter().zip(replicas) {
            let id = primary.command(&["CLUSTER", "MYID"]).await;
            expect_ok(replica, &["CLUSTER", "REPLICATE", id.text()]).await;
        }
        for replica in replicas {
            wait_until("the replica is in step", TIMEOUT, async || {
                replica.info("replication", "master_link_status").await.as_deref() == Some("up")
            })
            .await;
        }
        cluster
    }

    async fn form(count: usize) -> Self {
        let nodes = join_all((0..count).map(|_| Redis::launch(free_cluster_port(), &OPTIONS))).await;
        for (index, node) in nodes.iter().enumerate() {
            expect_ok(node, &["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()]).await;
            if index < PRIMARIES {
                let first = (index * SLOTS / PRIMARIES).to_string();
                let last = ((index + 1) * SLOTS / PRIMARIES - 1).to_string();
                expect_ok(node, &["CLUSTER", "ADDSLOTSRANGE", &first, &last]).await;
            }
            if index > 0 {
                expect_ok(&nodes[0], &["CLUSTER", "MEET", "127.0.0.1", &node.port().to_string()]).await;
            }
        }
        let cluster = Self { nodes };
        cluster.until_agreed().await;
        cluster
    }

    /// Waits until every node knows all nodes and finds every slot served.
    async fn until_agreed(&self) {
        let known = format!("cluster_known_nodes:{}", self.nodes.len());
        for node in &self.nodes {
            wait_until("the cluster agrees", TIMEOUT, async || {
                let info = node.command(&["CLUSTER", "INFO"]).await;
                let has = |line: &str| info.text().lines().any(|it| it == line);
                has("cluster_state:ok") && has(&known)
            })
            .await;
        }
    }

    /// The address in the form that the program takes, all nodes in it.
    pub fn url(&self) -> String {
        let others = self.nodes[1..].iter().map(|node| format!("node=127.0.0.1:{}", node.port()));
        format!("redis-cluster://127.0.0.1:{}?{}", self.nodes[0].port(), others.collect::<Vec<_>>().join("&"))
    }

    /// All nodes: the first three began as primaries.
    pub fn nodes(&self) -> &[Redis] {
        &self.nodes
    }

    /// The node that now serves a key, if a living one does.
    pub async fn primary_of(&self, key: &str) -> Option<&Redis> {
        for node in &self.nodes {
            let (Ok(slot), Ok(nodes)) =
                (node.try_command(&["CLUSTER", "KEYSLOT", key]).await, node.try_command(&["CLUSTER", "NODES"]).await)
            else {
                continue;
            };
            let port = nodes.text().lines().find_map(|line| serving_port(line, slot.integer()));
            return self.nodes.iter().find(|node| Some(node.port()) == port);
        }
        None
    }

    /// The replica of this primary, if a living node is one.
    pub async fn replica_of(&self, primary: &Redis) -> Option<&Redis> {
        let port = primary.port().to_string();
        for node in &self.nodes {
            let followed = async |field| node.info("replication", field).await;
            if node.try_command(&["PING"]).await.is_ok() && followed("master_port").await.as_deref() == Some(&port) {
                return Some(node);
            }
        }
        None
    }

    /// Runs a command on the node that serves `key`.
    pub async fn command(&self, key: &str, words: &[&str]) -> Value {
        self.primary_of(key).await.expect("a node serves the key").command(words).await
    }

    /// Empties the whole cluster.
    pub async fn flush(&self) {
        for node in &self.nodes {
            // A replica refuses, and gets it from its primary.
            node.command(&["FLUSHALL"]).await;
        }
    }
}

/// The port in a line of `CLUSTER NODES`, if it is a healthy primary's and `slot` is among its slots.
fn serving_port(line: &str, slot: i64) -> Option<u16> {
    let fields: Vec<&str> = line.split(' ').collect();
    let (address, flags) = (fields.get(1)?, fields.get(2)?);
    let healthy = flags.split(',').any(|flag| flag == "master") && !flags.contains("fail");
    let serves = fields.iter().skip(8).any(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        first.parse().is_ok_and(|first: i64| first <= slot) && last.parse().is_ok_and(|last: i64| slot <= last)
    });
    let port = address.split('@').next()?.rsplit(':').next()?;
    (healthy && serves).then(|| port.parse().ok()).flatten()
}

async fn expect_ok(node: &Redis, words: &[&str]) {
    assert_eq!(node.command(words).await, Value::Text("OK".to_owned()), "{words:?}");
}

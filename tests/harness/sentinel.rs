use std::time::Duration;

use crate::{Redis, free_port, wait_until};

/// The name under which the sentinels watch the primary.
const SERVICE: &str = "main";

/// How long a failover may take.
const TIMEOUT: Duration = Duration::from_secs(40);

/// A primary, its replica, and sentinels that promote the replica if the primary fails.
pub struct Sentinel {
    primary: Redis,
    replica: Redis,
    sentinels: Vec<Redis>,
}

impl Sentinel {
    /// Starts them with one sentinel.
    pub async fn start() -> Self {
        Self::start_with(1).await
    }

    /// Starts them with `count` sentinels, most of which must agree that a primary is gone.
    pub async fn start_with(count: usize) -> Self {
        let primary = Redis::start().await;
        let replica = Redis::start_with(&["--replicaof", "127.0.0.1", &primary.port().to_string()]).await;
        wait_until("the replica is in step", TIMEOUT, async || {
            replica.info("replication", "master_link_status").await.as_deref() == Some("up")
        })
        .await;
        let mut sentinels = Vec::with_capacity(count);
        for _ in 0..count {
            sentinels.push(start_sentinel(primary.port(), count / 2 + 1).await);
        }
        let sentinel = Self { primary, replica, sentinels };
        sentinel.until_watching().await;
        sentinel
    }

    /// Waits until every sentinel knows the replica and the other sentinels.
    async fn until_watching(&self) {
        let known = format!("slaves=1,sentinels={}", self.sentinels.len());
        for sentinel in &self.sentinels {
            wait_until("the sentinel knows the others", TIMEOUT, async || {
                sentinel.info("sentinel", "master0").await.is_some_and(|state| state.ends_with(&known))
            })
            .await;
        }
    }

    /// The address in the form that the program takes, all sentinels in it.
    pub fn url(&self) -> String {
        let others = self.sentinels[1..].iter().map(|sentinel| format!("&node=127.0.0.1:{}", sentinel.port()));
        let first = self.sentinels[0].port();
        format!("redis-sentinel://127.0.0.1:{first}?sentinelServiceName={SERVICE}{}", others.collect::<String>())
    }

    /// The server that began as the primary.
    pub fn primary(&self) -> &Redis {
        &self.primary
    }

    /// The server that began as the replica.
    pub fn replica(&self) -> &Redis {
        &self.replica
    }

    /// Kills the primary, and returns at once; [`Self::until_promoted`] waits for the rest.
    pub fn fail_primary(&self) {
        self.primary.kill();
    }

    /// Waits until the replica is the primary and the sentinels say so: some seconds after [`Self::fail_primary`].
    pub async fn until_promoted(&self) {
        let port = self.replica.port().to_string();
        wait_until("the replica is promoted", TIMEOUT, async || {
            for sentinel in &self.sentinels {
                let address = sentinel.command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE]).await;
                if address.array()[1].text() != port {
                    return false;
                }
            }
            self.replica.info("replication", "role").await.as_deref() == Some("master")
        })
        .await;
    }
}

async fn start_sentinel(primary: u16, quorum: usize) -> Redis {
    let folder = tempfile::Builder::new().prefix("vestibule-sentinel-").tempdir().unwrap();
    let file = folder.path().join("sentinel.conf");
    let settings = format!(
        "bind 127.0.0.1\n\
         sentinel monitor {SERVICE} 127.0.0.1 {primary} {quorum}\n\
         sentinel down-after-milliseconds {SERVICE} 1000\n\
         sentinel failover-timeout {SERVICE} 5000\n"
    );
    std::fs::write(&file, settings).unwrap();
    let arguments = vec![file.display().to_string(), "--sentinel".to_owned()];
    Redis::run(free_port(), arguments, folder).await
}

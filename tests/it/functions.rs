//! The functions as they are deployed: the programs under the emulator, and under a Runtime API of the harness's own.

mod balancer;
mod concurrency;
mod differences;
mod equivalence;
mod events;
mod freeze;
mod panics;

use std::sync::Arc;

use serde_json::Value;
use vestibule_core::settings::parse_settings_document;
use vestibule_core::{PutMode, QueueId, Store};
use vestibule_tests::{Balancer, BalancerOptions, GateOptions, Instance, Origin, Redis, Visitor};

use crate::gate_fixture::{TIMEOUT, document_of, over, random_id};

pub(crate) use differences::Difference;

/// A queue whose gate is a function of several instances, over a Redis that goes by the machine's clock.
struct Site {
    redis: Redis,
    store: Arc<dyn Store>,
    origin: Origin,
    balancer: Balancer,
    queue: QueueId,
    host: String,
}

impl Site {
    /// Opens a queue with these settings over the ordinary ones; `way` is the port by which functions reach Redis.
    async fn open(instances: usize, changes: &Value, redis: Redis, way: u16) -> Self {
        let function = deployment(way).instances(instances).await;
        let balancer = Balancer::before(function, BalancerOptions::default()).await;
        let (store, origin, id) = (over(&redis, TIMEOUT), Origin::start(), random_id());
        let host = format!("{id}.example.com");
        let site = Self { redis, store, origin, balancer, queue: id.parse().unwrap(), host };
        site.settle(changes).await;
        site
    }

    /// Writes the settings, as an operator does.
    async fn settle(&self, changes: &Value) {
        let document = document_of(self.queue.as_str(), &self.host, &self.origin.url(), changes);
        let document = parse_settings_document(&document).unwrap();
        for tenant in &document.tenants {
            self.store.put_tenant(tenant).await.unwrap();
        }
        for settings in &document.queues {
            self.store.put_settings(settings, PutMode::Always).await.unwrap();
        }
    }

    fn visitor(&self) -> Visitor {
        Visitor::new(self.balancer.address(), &self.host)
    }

    fn instances(&self) -> &[Instance] {
        self.balancer.function().each()
    }
}

/// The gate as it is deployed, with the store's ordinary timeout.
fn deployment(redis: u16) -> vestibule_tests::Deployment {
    let timeout = vestibule_runtime::STORE_TIMEOUT.as_millis().to_string();
    let gate = GateOptions::default().deployment(&format!("redis://127.0.0.1:{redis}"));
    gate.env("VESTIBULE_STORE_TIMEOUT_MS", &timeout)
}

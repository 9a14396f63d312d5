//! The queue of the demo, with short timeouts so that the line moves, and its gate.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::json;
use vestibule_core::fields::joined;
use vestibule_core::settings::{Document, parse_settings_document};
use vestibule_core::{PassSigner, QueueId, SaleKeys, Store, TicketSigner};
use vestibule_gate::{ClientRules, Gate, GateParts, Permits, Proxy, ProxyLimits, Streams};
use vestibule_runtime::{Directory, JobQueues, STORE_TIMEOUT};
use vestibule_themes::Themes;

use super::shop::FREE_PATHS;
use crate::keys::random_key;

/// ID of the queue.
pub(super) const QUEUE: &str = "demo";
/// ID of the job queue that holds the orders.
const ORDERS: &str = "orders.fifo";
/// Seconds until the slot of a visitor who closed the shop is free.
pub(super) const ACTIVE_TTL: u64 = 30;

/// The parsed ID of the queue.
pub(super) fn queue_id() -> anyhow::Result<QueueId> {
    QUEUE.parse().map_err(|error| anyhow::anyhow!("{QUEUE}: {error}"))
}

/// The settings: one tenant, one queue, and the job queue that holds its orders. The shop processes few orders at a time.
pub(super) fn document(quota: u64, shop: SocketAddr) -> anyhow::Result<Document> {
    let document = json!({
        "tenants": [{ "id": QUEUE, "name": "Tidewater Hall", "color": "#c2410c" }],
        "queues": [{
            "id": QUEUE, "tenant": QUEUE, "name": "Nine Lighthouses", "hosts": ["*"], "quota": quota,
            "waiting_ttl": 30, "active_ttl": ACTIVE_TTL, "claim_ttl": 15, "hold_ttl": 600,
            "rules": [
                { "action": "bypass", "path": FREE_PATHS },
                { "action": "hold", "job_queue": ORDERS, "method": ["POST"], "path": ["/checkout"] },
            ],
            "handover": { "kind": "proxy", "origin": format!("http://{shop}") },
        }],
        "job_queues": [{ "id": ORDERS, "tenant": QUEUE, "target": { "kind": "origin" }, "concurrency": 5, "min_backoff": 1 }],
    });
    parse_settings_document(&document).map_err(|errors| anyhow::anyhow!("{}", joined(&errors)))
}

/// What the gate of the demo is made of.
pub(super) struct Parts {
    pub(super) store: Arc<dyn Store>,
    pub(super) directory: Arc<Directory>,
    pub(super) jobs: Arc<JobQueues>,
    pub(super) themes: Themes,
    pub(super) passes: PassSigner,
    pub(super) sale_keys: SaleKeys,
}

/// The gate, with a random ticket key.
pub(super) fn gate(parts: Parts) -> anyhow::Result<Gate> {
    let Parts { store, directory, jobs, themes, passes, sale_keys } = parts;
    Ok(Gate::new(GateParts {
        store,
        directory,
        themes,
        tickets: TicketSigner::new(&random_key("ticket")?)?,
        passes,
        sale_keys,
        store_timeout: STORE_TIMEOUT,
        trusted_proxies: 0,
        clients: ClientRules::default(),
        proxy: Proxy::new(ProxyLimits::default())?,
        admin_url: None,
        job_queues: Some(jobs),
        streams: Streams::off(),
        tunnels: Permits::none(),
        stream_url: None,
    }))
}

//! The queue of the demo, with short timeouts so that the line moves, and its gate.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::json;
use vestibule_core::settings::{Document, parse_settings_document};
use vestibule_core::{PassSigner, QueueId, SaleKeys, Store, TicketSigner};
use vestibule_gate::{ClientRules, Gate, GateParts, Proxy, ProxyLimits, Streams};
use vestibule_runtime::{Directory, STORE_TIMEOUT};
use vestibule_themes::Themes;

use super::shop::FREE_PATHS;
use crate::keys::random_key;

/// ID of the queue.
pub(super) const QUEUE: &str = "demo";
/// Seconds until the slot of a visitor who closed the shop is free.
pub(super) const ACTIVE_TTL: u64 = 30;

/// The parsed ID of the queue.
pub(super) fn queue_id() -> anyhow::Result<QueueId> {
    QUEUE.parse().map_err(|error| anyhow::anyhow!("{QUEUE}: {error}"))
}

/// The settings: one tenant and one queue.
pub(super) fn document(quota: u64, shop: SocketAddr) -> anyhow::Result<Document> {
    let document = json!({
        "tenants": [{ "id": QUEUE, "name": "Tidewater Hall", "color": "#c2410c" }],
        "queues": [{
            "id": QUEUE, "tenant": QUEUE, "name": "Nine Lighthouses", "hosts": ["*"], "quota": quota,
            "waiting_ttl": 30, "active_ttl": ACTIVE_TTL, "claim_ttl": 15, "hold_ttl": 600,
            "rules": [{ "action": "bypass", "path": FREE_PATHS }],
            "handover": { "kind": "proxy", "origin": format!("http://{shop}") },
        }],
    });
    parse_settings_document(&document).map_err(|errors| {
        let named: Vec<String> = errors.iter().map(ToString::to_string).collect();
        anyhow::anyhow!("{}", named.join("; "))
    })
}

/// The gate, with random keys.
pub(super) fn gate(
    store: Arc<dyn Store>,
    directory: Arc<Directory>,
    themes: Themes,
    sale_keys: SaleKeys,
) -> anyhow::Result<Gate> {
    Ok(Gate::new(GateParts {
        store,
        directory,
        themes,
        tickets: TicketSigner::new(&random_key("ticket")?)?,
        passes: PassSigner::new(&random_key("pass")?)?,
        sale_keys,
        store_timeout: STORE_TIMEOUT,
        trusted_proxies: 0,
        clients: ClientRules::default(),
        proxy: Proxy::new(ProxyLimits::default())?,
        admin_url: None,
        job_queues: None,
        streams: Streams::off(),
        stream_url: None,
    }))
}

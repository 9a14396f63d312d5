//! What the server's process runs: a bare hello, or the gate with a line before it.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use futures_util::{StreamExt as _, stream};
use serde_json::json;
use tokio::net::TcpListener;
use vestibule_core::line::Visit;
use vestibule_core::settings::Settings;
use vestibule_core::{
    Clock as _, KeyList, Micros, PassSigner, PutMode, SaleKeys, SessionId, Store, SystemClock, TicketSigner, Timestamp,
};
use vestibule_gate::{ClientRules, Gate, GateParts, Permits, Proxy, ProxyLimits, Streams};
use vestibule_runtime::{ConnectionCounts, CountLimits, Directory, STORE_TIMEOUT};
use vestibule_store_memory::MemoryStore;
use vestibule_store_redis::{RedisOptions, RedisStore};
use vestibule_tests::account_keys;

/// Visitors who join at once while the line forms.
const JOINING: usize = 256;

fn settings(quota: u64, recheck_after: u64) -> Settings {
    let document = json!({
        "id": format!("q{quota}-{recheck_after}"), "tenant": "bench", "hosts": [format!("q{quota}-{recheck_after}.test")],
        "quota": quota, "recheck_after": recheck_after, "claim_ttl": 600, "waiting_ttl": 1200, "hold_ttl": 1200,
        "handover": { "kind": "check" }, "protection": { "pre_ticket_from": "none" },
    });
    Settings::from_value(&document).unwrap()
}

/// A queue without free slots whose newcomers need a pre-ticket.
fn scarce() -> Settings {
    let document = json!({
        "id": "scarce", "tenant": "bench", "hosts": ["scarce.test"], "quota": 0, "handover": { "kind": "check" },
        "protection": { "pre_ticket_from": 0 },
    });
    Settings::from_value(&document).unwrap()
}

/// A queue without free slots that requires accounts.
fn accounts() -> Settings {
    let document = json!({
        "id": "accounts", "tenant": "bench", "hosts": ["accounts.test"], "quota": 0, "handover": { "kind": "check" },
        "protection": { "pre_ticket_from": "none", "identity": {
            "keys": account_keys(), "issuer": "https://www.example.com", "audience": "bench", "from": ["cookie:shop_id"],
            "key_id": "bench", "required": true, "sign_in": "https://www.example.com/sign-in",
        } },
    });
    Settings::from_value(&document).unwrap()
}

/// A queue in the lobby of an event.
fn lobby() -> Settings {
    let now = SystemClock::new().now().seconds();
    let at = |seconds: u64| Timestamp::of(Micros(seconds * 1_000_000)).to_string();
    let document = json!({
        "id": "lobby", "tenant": "bench", "hosts": ["lobby.test"], "quota": 0, "mode": "scheduled",
        "handover": { "kind": "check" },
        "events": [{
            "id": "sale", "lobby_at": at(now - 600), "starts_at": at(now + 36_000), "ends_at": at(now + 72_000),
            "salt": "a", "key": "bench",
        }],
    });
    Settings::from_value(&document).unwrap()
}

fn keys() -> KeyList {
    KeyList::of_bytes("bench", [7; 32])
}

/// The server's side: a hello of this many bytes, or the gate.
pub(crate) async fn serve(kind: &str, waiting: usize, port: u16) {
    let router = if let Some(bytes) = kind.strip_prefix("hello:") {
        let body = "x".repeat(bytes.parse().unwrap());
        Router::new().fallback(get(move || std::future::ready(body.clone())))
    } else {
        gate(kind, waiting).await
    };
    let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    axum::serve(listener, router).await.unwrap();
}

async fn gate(address: &str, waiting: usize) -> Router {
    let store: Arc<dyn Store> = match address {
        "memory" => Arc::new(MemoryStore::new(SystemClock::new())),
        url => {
            // "apart" stands in front of the address where every visit is to have a script for itself.
            let together = RedisOptions::default();
            let apart = RedisOptions { batch_max: 1, ..RedisOptions::default() };
            let (url, options) = url.strip_prefix("apart:").map_or((url, together), |url| (url, apart));
            Arc::new(RedisStore::connect(url, options).unwrap())
        }
    };
    let queues = vec![settings(0, 0), settings(1_000_000, 0), settings(1_000_000, 60), lobby(), scarce(), accounts()];
    for queue in &queues {
        while store.put_settings(queue, PutMode::Always).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let join = |_| store.visit(&queues[0].id, Visit::joining(SessionId::random()));
    let mut joined = stream::iter(0..waiting).map(join).buffer_unordered(JOINING);
    while let Some(answer) = joined.next().await {
        answer.unwrap();
    }
    drop(joined);
    vestibule_gate::router(Gate::new(GateParts {
        directory: Arc::new(Directory::new(store.clone(), Vec::new(), queues)),
        store,
        themes: vestibule_themes::Themes::built_in(),
        tickets: TicketSigner::new(&keys()).unwrap(),
        passes: PassSigner::new(&keys()).unwrap(),
        sale_keys: SaleKeys::new(&keys()).unwrap(),
        store_timeout: STORE_TIMEOUT,
        trusted_proxies: 0,
        clients: ClientRules::default(),
        proxy: Proxy::new(ProxyLimits::default()).unwrap(),
        admin_url: None,
        job_queues: None,
        streams: Streams::new(
            Arc::new(ConnectionCounts::new(CountLimits { streams: usize::MAX, ..CountLimits::default() })),
            usize::MAX,
        ),
        tunnels: Permits::none(),
        stream_url: None,
    }))
}

//! The gate: what meets every request and decides whether it goes through or waits.
//!
//! Its one idea: one request, one atomic step of the store. The gate reads the ticket, asks the store once, signs the
//! answer into a new ticket and hands the visitor over or shows them where they stand. It keeps nothing of a visitor.
//!
//! Own endpoints live under `/_vestibule/`; every other path is judged. The same [`router`] runs in the stand-alone
//! program and in a Lambda:
//!
//! ```no_run
//! # async fn example(gate: vestibule_gate::Gate) -> std::io::Result<()> {
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//! axum::serve(listener, vestibule_gate::router(gate)).await
//! # }
//! ```
//!
//! The parts, in the order in which a request meets them: `request` reads it, `visit` asks the store, `visitor status`
//! puts the answer in words for the visitor, `handover` and `page` answer; `own` has one file an own endpoint.

mod answer;
mod carry;
mod compress;
mod config;
mod cors;
mod handover;
mod judge;
mod own;
mod page;
mod pass;
mod proxy;
mod reason;
mod request;
mod state;
mod throttle;
mod tunnel;
mod visit;
mod visitor_status;
mod witness;

pub use config::{GateConfig, GateConfigError};
pub use proxy::ProxyLimits;
pub use request::PeerAddress;
pub use state::{Gate, GateParts};

use axum::Router;
use axum::middleware::map_response;
use axum::routing::{any, get, post};

/// The gate's router: own endpoints, and the judge for every other path. Every response carries a
/// [`Decision`](vestibule_http::Decision) among its extensions.
pub fn router(gate: Gate) -> Router {
    Router::new()
        .route("/_vestibule/status", get(own::status::status).options(own::preflight))
        .route("/_vestibule/keepalive", post(own::keepalive::keepalive).options(own::preflight))
        .route("/_vestibule/away", post(own::away::away).options(own::preflight))
        .route("/_vestibule/leave", post(own::leave::leave).options(own::preflight))
        .route("/_vestibule/check", any(own::check::check))
        .route("/_vestibule/queue.js", get(own::scripts::queue_js))
        .route("/_vestibule/keepalive.js", get(own::scripts::keepalive_js))
        .route("/_vestibule/theme/{queue}/{*path}", get(own::theme::asset))
        .route("/_vestibule/jwks.json", get(own::jwks::jwks))
        .route("/_vestibule/health", get(own::health::health))
        .route("/_vestibule", any(own::not_found))
        .route("/_vestibule/", any(own::not_found))
        .route("/_vestibule/{*rest}", any(own::not_found))
        .fallback(judge::judge)
        .layer(map_response(answer::decided_or_own))
        .with_state(gate)
}

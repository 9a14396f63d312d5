#![doc = include_str!("../README.md")]

mod admin_url;
mod answer;
mod cache_headers;
mod challenge;
mod client;
mod client_rules;
mod compression;
mod config;
mod cookies;
mod cors;
mod counts;
mod decide;
mod end_reason;
mod endpoints;
mod error;
mod followers;
mod forms;
mod handover;
mod held;
mod identity;
mod invitation;
mod invitation_code;
mod last_answers;
mod line_document;
mod lobby;
mod network_lists;
mod origin_loop;
mod own_headers;
mod page;
mod page_cache;
mod pass;
mod permits;
mod pre_tickets;
mod referring_page;
mod request;
mod respond;
mod response_buffer;
mod state;
mod store_visit;
mod streams;
mod tunnel;
mod two_step;
mod unsent_ticket;
mod visit;
mod visit_intent;
mod visit_result;
mod visitor_status;
mod witness;

pub use admin_url::{AdminUrl, InvalidAdminUrl};
pub use client_rules::ClientRules;
pub use config::GateConfig;
pub use network_lists::{NetworkLists, NetworkListsError, Networks};
pub use permits::Permits;
pub use state::{Gate, GateParts};
pub use streams::Streams;
pub use vestibule_proxy::{Proxy, ProxyLimits};

use axum::Router;
use axum::middleware::map_response;
use axum::routing::{any, get, post};

/// Path of the stream endpoint.
pub const STREAM_PATH: &str = "/_vestibule/stream";

/// The router of the gate: endpoints, and admission control for all other paths. Every response has a
/// [`Decision`](vestibule_runtime::Decision) as an extension.
pub fn router(gate: Gate) -> Router {
    Router::new()
        .route("/_vestibule/status", get(endpoints::status::status).options(endpoints::preflight))
        .route(STREAM_PATH, get(endpoints::stream::stream).options(endpoints::preflight))
        .route("/_vestibule/keepalive", post(endpoints::keepalive::keepalive).options(endpoints::preflight))
        .route("/_vestibule/away", post(endpoints::away::away).options(endpoints::preflight))
        .route("/_vestibule/leave", post(endpoints::leave::leave).options(endpoints::preflight))
        .route("/_vestibule/challenge", get(endpoints::challenge::challenge).options(endpoints::preflight))
        .route("/_vestibule/join", post(endpoints::join::join).options(endpoints::preflight))
        .route("/_vestibule/line", get(endpoints::line::line).options(endpoints::line::preflight))
        .route("/_vestibule/operator", get(endpoints::operator::operator))
        .route("/_vestibule/language", get(endpoints::language::language))
        .route("/_vestibule/check", any(endpoints::check::check))
        .route("/_vestibule/queue.js", get(endpoints::scripts::queue_js))
        .route("/_vestibule/keepalive.js", get(endpoints::scripts::keepalive_js))
        .route("/_vestibule/theme/{queue}/{*path}", get(endpoints::theme::asset))
        .route("/_vestibule/jobs/{job_queue}", post(endpoints::jobs::enqueue).options(endpoints::jobs::preflight))
        .route(
            "/_vestibule/jobs/{job_queue}/{id}",
            get(endpoints::job_status::job_status)
                .post(endpoints::jobs::enqueue_in_group)
                .options(endpoints::jobs::preflight),
        )
        .route(
            "/_vestibule/jobs/{job_queue}/{id}/{deduplication_id}",
            post(endpoints::jobs::enqueue_once).options(endpoints::jobs::preflight),
        )
        .route("/_vestibule/jobs/{job_queue}/{id}/progress", post(endpoints::job_progress::add_progress))
        .route("/_vestibule/jobs/{job_queue}/{id}/events", get(endpoints::job_events::job_events))
        .route("/_vestibule/jwks.json", get(endpoints::jwks::jwks))
        .route("/_vestibule/health", get(endpoints::health::health))
        .route("/_vestibule", any(endpoints::not_found))
        .route("/_vestibule/", any(endpoints::not_found))
        .route("/_vestibule/{*rest}", any(endpoints::not_found))
        .fallback(decide::handle)
        .method_not_allowed_fallback(async || error::GateError::MethodNotAllowed)
        .layer(map_response(respond::ensure_decision))
        .with_state(gate)
}

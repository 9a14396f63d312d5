#![doc = include_str!("../README.md")]

mod access;
mod api;
mod audit;
mod audit_changes;
mod audit_reader;
mod audit_repeats;
mod body;
mod bootstrap;
mod codes;
mod config;
mod confirmation;
mod csv;
mod dashboard;
mod describe;
mod docs;
mod former_tenants;
mod idempotency;
mod job_refusal;
mod merge_patch;
mod message;
mod oidc;
mod open_requests;
mod openapi;
mod prefix;
mod problem;
mod queue_settings;
mod request_id;
mod response_headers;
mod secret;
mod state;
mod stats;
mod stats_stream;
mod theme_work;
mod themes;
mod toml;
mod unknown_parameters;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;

pub use access::{RequireTotp, Role};
pub use api::settings::{ImportPlan, PlannedChange, PlannedLobby, planned_lobbies};
pub use audit::{Via, audit_job_queues, audit_queue, audit_tenant};
pub use bootstrap::{
    NewOperator, NewOperatorError, OperatorReset, OperatorResetError, bootstrap, create_operator, has_superuser,
    reset_operator,
};
pub use config::{AUDIT_DAYS, AUDIT_DAYS_MAX, AdminConfig};
pub use dashboard::has_dashboard;
pub use oidc::{ProviderConfig, ProviderTexts};
pub use openapi::openapi_json;
pub use state::AdminParts;

use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate, SizeAbove};

use prefix::PREFIX;
use problem::Problem;
use state::Admin;
use unknown_parameters::{Parameterized, reject_unknown_parameters};

/// Minimum size of a compressed response in bytes.
const COMPRESSED_MIN: u64 = 1024;

/// Everything that the backoffice answers: `/api/v1/..`, `/api/docs`, and the dashboard everywhere else.
pub fn router(parts: AdminParts) -> Router {
    let admin = Admin::new(parts);
    let (operations, document) = openapi::operations().split_for_parts();
    operations
        .route_layer(from_fn_with_state(Parameterized::of(&document), reject_unknown_parameters))
        .merge(docs::routes())
        .route(&format!("{}{}", PREFIX, themes::PREVIEW_FILES), get(themes::preview_file))
        .route(&format!("{}{}", PREFIX, themes::PREVIEW_FRAME), get(themes::preview_frame))
        .fallback(dashboard::serve)
        .method_not_allowed_fallback(async || Problem::MethodNotAllowed)
        .layer(CompressionLayer::new().compress_when(worth_compressing()))
        .layer(from_fn_with_state(admin.clone(), response_headers::set_security_headers))
        .with_state(admin)
}

/// Which responses are compressed: a load balancer in front of a function accepts 1 MB, and the settings of a thousand
/// queues are more.
fn worth_compressing() -> impl Predicate {
    let archive = NotForContentType::const_new("application/zip");
    DefaultPredicate::new().and(SizeAbove::new(COMPRESSED_MIN)).and(archive)
}

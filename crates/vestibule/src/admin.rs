//! The admin listener of `vestibule serve`: the backoffice and the metrics.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::any;
use tracing::{info, warn};
use vestibule_admin::{AdminParts, NewOperator, RequireTotp};
use vestibule_metrics::{CallMetrics, Metrics, MetricsToken, RequestMetrics};
use vestibule_records::RecordStore;
use vestibule_runtime::{ConnectionCounts, is_memory};

use crate::serve_options::ServeOptions;
use crate::server::{ConnectionLimits, Server, suggest_other_address};
use crate::state_file::SnapshotRequests;

/// How long a client may stall within a body; bodies are small, except for themes.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum pause between attempts to create the first superuser while the store is unavailable.
const BOOTSTRAP_PAUSE_MAX: Duration = Duration::from_secs(10);

/// Beginnings of the paths below which requests change what a snapshot of the memory store contains.
const SAVED: [&str; 3] = ["/api/v1/queues", "/api/v1/settings", "/api/v1/tenants"];

/// A bound admin listener.
pub(crate) struct Admin {
    server: Server,
    router: Router,
    first: FirstSuperuser,
    has_metrics: bool,
}

/// What `/metrics` shows of this process.
pub(crate) struct MetricsParts {
    pub(crate) requests: RequestMetrics,
    pub(crate) connections: Arc<ConnectionCounts>,
    pub(crate) calls: CallMetrics,
}

/// Starts listening on `--admin-listen`; `None` if it is not set.
pub(crate) fn bind(
    options: &ServeOptions,
    limits: ConnectionLimits,
    parts: AdminParts,
    MetricsParts { requests, connections, calls }: MetricsParts,
    snapshots: Option<SnapshotRequests>,
) -> anyhow::Result<Option<Admin>> {
    let Some(listen) = &options.admin_listen else {
        warn_of_ignored(options);
        return Ok(None);
    };
    options.provider.warn_of_ignored();
    let token = metrics_token(options)?;
    let bootstrap = options.admin_bootstrap.as_deref().filter(|text| !text.is_empty());
    let bootstrap = bootstrap.map(|text| text.parse().map_err(|error| anyhow::anyhow!("--admin-bootstrap {error}")));
    let first = FirstSuperuser { records: Arc::clone(&parts.records), operator: bootstrap.transpose()? };
    if is_memory(&options.stores.store) {
        warn!("the memory store loses operators and their changes when this process ends; use a Redis URL for --store");
    }
    let mut metrics = Metrics::new(Arc::clone(&parts.store), Arc::clone(&parts.records))
        .with_requests(requests)
        .with_connections(connections)
        .with_sale_keys(&parts.sale_keys);
    if let Some(jobs) = &parts.jobs {
        metrics = metrics.with_job_queues(Arc::clone(jobs), calls);
    }
    let has_metrics = token.is_some();
    let backoffice = match snapshots {
        Some(snapshots) => vestibule_admin::router(parts).layer(from_fn_with_state(snapshots, save_changes)),
        None => vestibule_admin::router(parts),
    };
    // The backoffice and the metrics each have their own router, paths and authorization.
    let router = match token {
        Some(token) => backoffice.merge(vestibule_metrics::router(metrics, token)),
        // Otherwise the dashboard would respond, which has a page for every path.
        None => backoffice.route("/metrics", any(async || StatusCode::NOT_FOUND)),
    };
    let server = Server::bind(listen)
        .map_err(suggest_other_address("--admin-listen"))?
        .with_limits(limits)
        .with_body_timeout(BODY_TIMEOUT);
    Ok(Some(Admin { server, router, first, has_metrics }))
}

/// Writes a snapshot before a change of what it contains is confirmed: an operator must not lose it to a crash.
async fn save_changes(State(snapshots): State<SnapshotRequests>, request: Request, next: Next) -> Response {
    let is_change = !request.method().is_safe() && SAVED.iter().any(|path| request.uri().path().starts_with(path));
    let response = next.run(request).await;
    if is_change && response.status().is_success() {
        snapshots.written().await;
    }
    response
}

/// Names the options of the backoffice that have no effect without it.
fn warn_of_ignored(options: &ServeOptions) {
    let given = [
        ("--metrics-token", options.metrics_token.is_some()),
        ("--admin-bootstrap", options.admin_bootstrap.is_some()),
        ("--require-totp", options.require_totp != RequireTotp::Nobody),
        ("--admin-trusted-proxies", options.admin_trusted_proxies > 0),
        ("--oidc-issuer", options.provider.oidc_issuer.is_some()),
    ];
    let ignored: Vec<&str> = given.into_iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| flag).collect();
    if !ignored.is_empty() {
        warn!(options = ignored.join(", "), "these options have no effect without --admin-listen");
    }
}

/// Metrics show business figures, so they need a token even on a local address.
fn metrics_token(options: &ServeOptions) -> anyhow::Result<Option<MetricsToken>> {
    let given = options.metrics_token.as_deref().filter(|text| !text.is_empty());
    given.map(|text| text.parse().map_err(|error| anyhow::anyhow!("--metrics-token {error}"))).transpose()
}

impl Admin {
    /// The address of the listener.
    pub(crate) fn address(&self) -> String {
        self.server.address()
    }

    /// Serves forever, also while the gate shuts down.
    pub(crate) async fn serve(self) {
        let address = self.server.address();
        if !vestibule_admin::has_dashboard() {
            warn!(
                "this program was built without the dashboard, and serves the API only: run make dashboard and build it again"
            );
        }
        if self.has_metrics {
            info!(address, "serving the backoffice, and metrics at /metrics");
        } else {
            info!(address, "serving the backoffice; --metrics-token turns metrics on, at /metrics");
        }
        tokio::spawn(self.first.create());
        self.server.serve(self.router, std::future::pending(), Duration::ZERO).await;
    }
}

/// The first superuser.
struct FirstSuperuser {
    records: Arc<dyn RecordStore>,
    operator: Option<NewOperator>,
}

impl FirstSuperuser {
    /// Creates the configured superuser, with retries. Without one, warns if nobody can sign in.
    async fn create(self) {
        let mut pause = Duration::from_millis(100);
        loop {
            match self.try_once().await {
                Ok(()) => return,
                Err(error) => warn!(%error, "cannot read operators from the store; retrying"),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(BOOTSTRAP_PAUSE_MAX);
        }
    }

    async fn try_once(&self) -> Result<(), vestibule_core::StoreError> {
        match &self.operator {
            Some(first) => drop(vestibule_admin::bootstrap(&*self.records, first).await?),
            None if !vestibule_admin::has_superuser(&*self.records).await? => warn!(
                "the backoffice has no superuser: set VESTIBULE_ADMIN_BOOTSTRAP=name:password, or with a Redis run vestibule admin \
                 create-user"
            ),
            None => {}
        }
        Ok(())
    }
}

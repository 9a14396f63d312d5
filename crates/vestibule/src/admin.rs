//! The admin address of `vestibule serve`: the backoffice and the metrics, for those who run the site, not for visitors.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::any;
use tracing::{info, warn};
use vestibule_admin::{AdminParts, NewOperator};
use vestibule_core::records::RecordStore;
use vestibule_metrics::{Metrics, MetricsToken, RequestMetrics};

use crate::cli::ServeOptions;
use crate::serve::elsewhere;
use crate::server::{ConnectionLimits, Server};

/// How long a client may pause within a body: what is sent here is small, but for themes.
const BODY_PATIENCE: Duration = Duration::from_secs(10);
/// Longest pause between two tries to make the first superuser while the store is away.
const BOOTSTRAP_PAUSE_MAX: Duration = Duration::from_secs(10);

/// A server that listens already.
pub(crate) struct Admin {
    server: Server,
    router: Router,
    first: FirstSuperuser,
    has_metrics: bool,
}

/// Begins to listen on `--admin-listen`; `None` if it is not given.
pub(crate) fn bind(
    options: &ServeOptions,
    limits: ConnectionLimits,
    parts: AdminParts,
    requests: RequestMetrics,
) -> anyhow::Result<Option<Admin>> {
    let Some(listen) = &options.admin_listen else { return Ok(None) };
    let token = metrics_token(options)?;
    let named = options.admin_bootstrap.as_deref().filter(|text| !text.is_empty());
    let named = named.map(|text| text.parse().map_err(|error| anyhow::anyhow!("--admin-bootstrap {error}")));
    let first = FirstSuperuser { records: Arc::clone(&parts.records), named: named.transpose()? };
    if options.store == "memory" {
        warn!("in memory, operators and what they change last until this program ends: --store takes a Redis");
    }
    let metrics = Metrics::new(Arc::clone(&parts.store)).with_requests(requests);
    let has_metrics = token.is_some();
    // Every role that is asked here has its own router, its own paths and its own say on who may ask.
    let router = match token {
        Some(token) => backoffice(parts).merge(vestibule_metrics::router(metrics, token)),
        // Else the dashboard would answer, which has a page for every path.
        None => backoffice(parts).route("/metrics", any(async || StatusCode::NOT_FOUND)),
    };
    let server =
        Server::bind(listen).map_err(elsewhere("--admin-listen"))?.with_limits(limits).with_patience(BODY_PATIENCE);
    Ok(Some(Admin { server, router, first, has_metrics }))
}

/// The backoffice, told who a connection comes from.
pub(crate) fn backoffice(parts: AdminParts) -> Router {
    vestibule_admin::router(parts).layer(from_fn(async |mut request: Request, next: Next| -> Response {
        if let Some(vestibule_gate::PeerAddress(peer)) = request.extensions().get().copied() {
            request.extensions_mut().insert(vestibule_admin::PeerAddress(peer));
        }
        next.run(request).await
    }))
}

/// Metrics tell what a business sells and how much, so there are none without a token: what can be reached from this
/// machine may be reached by others through it.
fn metrics_token(options: &ServeOptions) -> anyhow::Result<Option<MetricsToken>> {
    let given = options.metrics_token.as_deref().filter(|text| !text.is_empty());
    given.map(|text| text.parse().map_err(|error| anyhow::anyhow!("--metrics-token {error}"))).transpose()
}

impl Admin {
    /// The address that it listens on.
    pub(crate) fn address(&self) -> String {
        self.server.address()
    }

    /// Serves for ever: while the gate drains there is still something to watch.
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
        tokio::spawn(self.first.make());
        self.server.serve(self.router, std::future::pending(), Duration::ZERO).await;
    }
}

/// Who signs in first.
struct FirstSuperuser {
    records: Arc<dyn RecordStore>,
    named: Option<NewOperator>,
}

impl FirstSuperuser {
    /// Makes the one that was named, as soon as the store takes it; says what to do where nobody can sign in.
    async fn make(self) {
        let mut pause = Duration::from_millis(100);
        loop {
            match self.try_once().await {
                Ok(()) => return,
                Err(error) => warn!(%error, "the store can't be asked for operators yet; trying again"),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(BOOTSTRAP_PAUSE_MAX);
        }
    }

    async fn try_once(&self) -> Result<(), vestibule_core::StoreError> {
        match &self.named {
            Some(first) => drop(vestibule_admin::bootstrap(&*self.records, first).await?),
            None if !vestibule_admin::has_superuser(&*self.records).await? => warn!(
                "nobody can sign in to the backoffice yet: start with VESTIBULE_ADMIN_BOOTSTRAP=name:password, or make \
                 one with vestibule admin create-user"
            ),
            None => {}
        }
        Ok(())
    }
}

//! The admin address of `vestibule serve`: the backoffice and the metrics, for those who run the site, not for visitors.

use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use tracing::{info, warn};
use vestibule_admin::{AdminParts, NewOperator};
use vestibule_core::records::Records;
use vestibule_metrics::{Metrics, MetricsToken, RequestMetrics};

use crate::cli::{Listen, ServeOptions};
use crate::server::Server;

/// Longest pause between two tries to make the first superuser while the store is away.
const BOOTSTRAP_PAUSE_MAX: Duration = Duration::from_secs(10);

/// A server that listens already.
pub(crate) struct Admin {
    server: Server,
    router: Router,
    first: FirstSuperuser,
}

/// Begins to listen on `--admin-listen`; `None` if it is not given.
pub(crate) async fn bind(
    options: &ServeOptions,
    parts: AdminParts,
    requests: RequestMetrics,
) -> anyhow::Result<Option<Admin>> {
    let Some(listen) = &options.admin_listen else { return Ok(None) };
    let token = metrics_token(options, listen)?;
    let named = options.admin_bootstrap.as_deref().filter(|text| !text.is_empty());
    let named = named.map(|text| text.parse().map_err(|error| anyhow::anyhow!("--admin-bootstrap {error}")));
    let first = FirstSuperuser { records: Arc::clone(&parts.records), named: named.transpose()? };
    if options.store == "memory" {
        warn!("in memory, operators and what they change last until this program ends: --store takes a Redis");
    }
    // Every role that is asked here has its own router, its own paths and its own say on who may ask.
    let metrics = Metrics::new(Arc::clone(&parts.store)).with_requests(requests);
    let router = backoffice(parts).merge(vestibule_metrics::router(metrics, token));
    Ok(Some(Admin { server: Server::bind(listen).await?, router, first }))
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

/// Metrics tell what a business sells and how much: whoever can reach more than this machine needs the token.
fn metrics_token(options: &ServeOptions, listen: &Listen) -> anyhow::Result<Option<MetricsToken>> {
    let given = options.metrics_token.as_deref().filter(|text| !text.is_empty());
    let parsed = given.map(|text| text.parse().map_err(|error| anyhow::anyhow!("--metrics-token {error}")));
    let token = parsed.transpose()?;
    let reached_from_outside = matches!(listen, Listen::Tcp(address) if !address.ip().is_loopback());
    if token.is_none() && reached_from_outside {
        bail!(
            "--admin-listen {listen} can be reached from outside, so --metrics-token must be given: openssl rand -hex 32"
        );
    }
    Ok(token)
}

impl Admin {
    /// Serves for ever: while the gate drains there is still something to watch.
    pub(crate) async fn serve(self) {
        info!(address = self.server.address(), "serving the backoffice, and metrics at /metrics");
        tokio::spawn(self.first.make());
        self.server.serve(self.router, std::future::pending(), Duration::ZERO).await;
    }
}

/// Who signs in first.
struct FirstSuperuser {
    records: Arc<dyn Records>,
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

//! The admin address of `vestibule serve`: for those who watch over it, not for visitors.

use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use axum::Router;
use tracing::info;
use vestibule_core::Store;
use vestibule_metrics::{Metrics, MetricsToken, RequestMetrics};

use crate::cli::{Listen, ServeOptions};
use crate::server::Server;

/// A server that listens already.
pub(crate) struct Admin {
    server: Server,
    router: Router,
}

/// Begins to listen on `--admin-listen`; `None` if it is not given.
pub(crate) async fn bind(
    options: &ServeOptions,
    store: Arc<dyn Store>,
    requests: RequestMetrics,
) -> anyhow::Result<Option<Admin>> {
    let Some(listen) = &options.admin_listen else { return Ok(None) };
    let token = token(options, listen)?;
    // Every role that is asked here has its own router, its own paths and its own say on who may ask.
    let router = Router::new().merge(vestibule_metrics::router(Metrics::new(store).with_requests(requests), token));
    Ok(Some(Admin { server: Server::bind(listen).await?, router }))
}

/// Metrics tell what a business sells and how much: whoever can reach more than this machine needs the token.
fn token(options: &ServeOptions, listen: &Listen) -> anyhow::Result<Option<MetricsToken>> {
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
        info!(address = self.server.address(), "answering scrapes at /metrics");
        self.server.serve(self.router, std::future::pending(), Duration::ZERO).await;
    }
}

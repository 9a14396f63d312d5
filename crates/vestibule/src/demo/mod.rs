//! `vestibule demo`: a sample shop, the gate before it and a crowd that wants in, in one process.

mod crowd;
mod habits;
mod queue;
mod report;
mod shop;
#[cfg(test)]
mod tests;
mod visitor;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tempfile::TempDir;
use tokio::task::JoinSet;
use vestibule_admin::{AdminParts, NewOperator, bootstrap};
use vestibule_core::records::RecordStore;
use vestibule_core::settings::Document;
use vestibule_core::{MemoryRecords, MemoryStore, Store, SystemClock};
use vestibule_runtime::{Directory, LogFormat, ThemesConfig, init_telemetry, open_publisher, open_themes};

use self::habits::Habits;
use crate::admin::backoffice;
use crate::cli::{DemoOptions, Listen};
use crate::serve::{elsewhere, keep_purging, stop_signal};
use crate::server::Server;

/// How long requests under way may take to end once the demo is told to stop.
const DRAIN: Duration = Duration::from_secs(1);
/// Name of the superuser.
const SUPERUSER: &str = "admin";

/// Runs until told to stop.
pub(crate) async fn demo(options: DemoOptions) -> anyhow::Result<ExitCode> {
    init_telemetry(&options.log, LogFormat::Text).map_err(|reason| anyhow::anyhow!("VESTIBULE_LOG {reason}"))?;
    let stop = stop_signal()?;
    let gate = Server::bind(&Listen::Tcp(options.listen)).map_err(elsewhere("--listen"))?;
    let address = reachable(gate.tcp_address().context("a socket file is no address for the demo")?);
    let habits = Habits::default();
    let mut demo = Demo::open(options.quota, |shop| queue::document(options.quota, shop)).await?;
    let keys = demo.serve_backoffice(bind_or_any(options.admin_listen)?).await?;
    report::introduce(&options, &habits, address, &keys);

    demo.tasks.spawn(report::keep_reporting(demo.store.clone()));
    demo.tasks.spawn(crowd::gather(address, options.crowd, options.quota, options.seed, habits));
    gate.serve(demo.router.clone(), stop, DRAIN).await;
    demo.tasks.shutdown().await;
    report::end();
    Ok(ExitCode::SUCCESS)
}

/// How to get into the backoffice.
struct Keys {
    address: SocketAddr,
    name: &'static str,
    password: String,
}

/// The shop and the gate's router before it. What runs beside them ends with it.
struct Demo {
    store: Arc<dyn Store>,
    router: axum::Router,
    backoffice: Option<AdminParts>,
    tasks: JoinSet<()>,
    /// What the backoffice publishes; gone with the demo.
    _themes: TempDir,
}

impl Demo {
    /// Opens the shop on a free port, and a queue before it with these settings (made from the shop's address).
    async fn open(quota: u64, document: impl FnOnce(SocketAddr) -> anyhow::Result<Document>) -> anyhow::Result<Self> {
        let shop = Server::bind(&Listen::Tcp((Ipv4Addr::LOCALHOST, 0).into()))?;
        let document = document(shop.tcp_address().context("the shop has no address")?)?;
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(SystemClock::new()));
        let records: Arc<dyn RecordStore> = Arc::new(MemoryRecords::new(SystemClock::new()));
        let Document { tenants, queues, .. } = document;
        let directory = Arc::new(Directory::new(store.clone(), tenants.clone(), queues.clone()));
        directory.apply(&tenants, &queues, &[]).await?;
        let themes = tempfile::Builder::new().prefix("vestibule-demo-").tempdir()?;
        let at = ThemesConfig { address: Some(themes.path().display().to_string()), recheck: None };
        let gate = queue::gate(store.clone(), directory.clone(), open_themes("themes", &at)?)?;
        let router = vestibule_gate::router(gate);
        let mut tasks = JoinSet::new();
        tasks.spawn(shop.serve(shop::shop(quota), std::future::pending(), DRAIN));
        tasks.spawn(keep_purging(store.clone(), records.clone()));
        let backoffice = AdminParts {
            store: store.clone(),
            records,
            directory,
            trusted_proxies: 0,
            provider: None,
            themes: open_publisher("themes", &at)?,
            audit_days: vestibule_admin::AUDIT_DAYS,
            require_totp: vestibule_admin::RequireTotp::Nobody,
            streams: true,
        };
        Ok(Self { store, router, backoffice: Some(backoffice), tasks, _themes: themes })
    }

    /// Serves the backoffice at this address, for one superuser. Returns how to sign in.
    async fn serve_backoffice(&mut self, server: Server) -> anyhow::Result<Keys> {
        let parts = self.backoffice.take().context("the backoffice is served already")?;
        let address = reachable(server.tcp_address().context("a socket file is no address for the demo")?);
        let password = random_password()?;
        bootstrap(&*parts.records, &NewOperator::superuser(SUPERUSER, &password)?).await?;
        self.tasks.spawn(server.serve(backoffice(parts), std::future::pending(), DRAIN));
        Ok(Keys { address, name: SUPERUSER, password })
    }
}

/// 16 letters, others at every start.
fn random_password() -> anyhow::Result<String> {
    let number = getrandom::u64().map_err(|error| anyhow::anyhow!("no random bytes to be had: {error}"))?;
    Ok(format!("{number:016x}"))
}

/// Listens at this address, or at any free port of the same host if it is taken: nobody knows the address by heart.
fn bind_or_any(address: SocketAddr) -> anyhow::Result<Server> {
    match Server::bind(&Listen::Tcp(address)) {
        Ok(server) => Ok(server),
        Err(_) => Server::bind(&Listen::Tcp(SocketAddr::new(address.ip(), 0))),
    }
}

/// Where this machine reaches what listens at `address`: a listener on every address is no address to call.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

//! `vestibule demo`: a sample shop, a gate and simulated visitors in one process.

mod behavior;
mod options;
mod queue;
mod report;
mod shop;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tempfile::TempDir;
use tokio::task::JoinSet;
use tracing::warn;
use vestibule_admin::{AdminParts, NewOperator, bootstrap};
use vestibule_core::settings::{Document, Plan, PlanOptions, StoredSettings, TrustedHeaders};
use vestibule_core::{PassSigner, SaleKeys, Store, SystemClock};
use vestibule_records::RecordStore;
use vestibule_runtime::{Directory, JobQueues, LogFormat, init_telemetry};
use vestibule_store_memory::{MemoryJobs, MemoryRecords, MemoryStore};
use vestibule_themes::ThemesConfig;
use vestibule_worker::Worker;
use vestibule_workload::{LoadTest, Observer, Target};

use self::report::Credentials;
use crate::arguments::Listen;
use crate::keys::random_key;
use crate::purge_loop::purge_loop;
use crate::server::{Server, suggest_other_address};
use crate::signals::stop_or_hangup_signal;

pub(crate) use self::options::DemoOptions;

/// Grace period for requests in progress.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);
/// Connections of the simulated visitors.
const CONNECTIONS: usize = 128;
/// Duration of a run of the simulated visitors.
const RUN_DURATION: Duration = Duration::from_hours(1);
/// Pause after a failed run.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Name of the superuser.
const SUPERUSER: &str = "admin";

/// Runs until SIGTERM, SIGINT or SIGHUP.
pub(crate) async fn demo(options: DemoOptions) -> anyhow::Result<ExitCode> {
    init_telemetry(&options.log, LogFormat::Text).map_err(|reason| anyhow::anyhow!("VESTIBULE_LOG {reason}"))?;
    let stop = stop_or_hangup_signal()?;
    let gate = Server::bind(&Listen::Tcp(options.listen)).map_err(suggest_other_address("--listen"))?;
    let address = reachable(gate.tcp_address().context("a socket file is no address for the demo")?);
    let mut demo = Demo::open(options.quota, |shop| queue::document(options.quota, shop)).await?;
    let credentials = demo.serve_backoffice(bind_or_any(options.admin_listen)?).await?;
    report::print_introduction(&options, address, &credentials);

    demo.tasks.spawn(report::report_loop(demo.store.clone()));
    demo.tasks.spawn(run_workload(address, options.visitors, options.seed));
    gate.serve(demo.router.clone(), stop, SHUTDOWN_GRACE).await;
    demo.tasks.shutdown().await;
    report::end();
    Ok(ExitCode::SUCCESS)
}

/// Runs the simulated visitors, in runs of limited length, since a run keeps statistics of every second.
async fn run_workload(gate: SocketAddr, visitors: u32, seed: u64) {
    if visitors == 0 {
        return;
    }
    loop {
        let target = match Target::new(&format!("http://{gate}/"), None, Some(queue::QUEUE), true) {
            Ok(target) => target,
            Err(error) => return warn!(%error, "cannot run the simulated visitors"),
        };
        let test = LoadTest {
            workload: behavior::workload(visitors, seed),
            target,
            connections: CONNECTIONS,
            max_duration: RUN_DURATION,
            max_requests: u64::MAX,
            faults: Vec::new(),
            observer: Observer::default(),
        };
        if let Err(error) = test.run(std::future::pending(), |_| {}).await {
            warn!(%error, "cannot run the simulated visitors");
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }
}

/// The shop, the gate and the worker that sends the orders. Their background tasks end with it.
struct Demo {
    store: Arc<dyn Store>,
    router: axum::Router,
    backoffice: Option<AdminParts>,
    tasks: JoinSet<()>,
    /// Theme storage, deleted with the demo.
    _themes: TempDir,
}

impl Demo {
    /// Starts the shop on a free port and the gate with the settings that `document` makes from its address.
    async fn open(quota: u64, document: impl FnOnce(SocketAddr) -> anyhow::Result<Document>) -> anyhow::Result<Self> {
        let shop = Server::bind(&Listen::Tcp((Ipv4Addr::LOCALHOST, 0).into()))?;
        let document = document(shop.tcp_address().context("the shop has no address")?)?;
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(SystemClock::new()));
        let records: Arc<dyn RecordStore> = Arc::new(MemoryRecords::new(SystemClock::new()));
        let jobs = Arc::new(MemoryJobs::new(SystemClock::new()));
        let jobs = Arc::new(JobQueues::new(records.clone(), store.clone(), jobs));
        let directory = Arc::new(Directory::new(store.clone(), document.tenants.clone(), document.queues.clone()));
        directory.apply(&document.tenants, &document.queues).await?;
        let plan = Plan::of(&StoredSettings::default(), document, &PlanOptions::default());
        jobs.execute(&plan.job_queues).await?;
        let themes = tempfile::Builder::new().prefix("vestibule-demo-").tempdir()?;
        let at = ThemesConfig { address: Some(themes.path().display().to_string()), recheck: None };
        let sale_keys = SaleKeys::new(&random_key("sale")?)?;
        let pass_key = random_key("pass")?;
        let gate = queue::gate(queue::Parts {
            store: store.clone(),
            directory: directory.clone(),
            jobs: jobs.clone(),
            themes: at.open("themes")?,
            passes: PassSigner::new(&pass_key)?,
            sale_keys: sale_keys.clone(),
        })?;
        let router = vestibule_gate::router(gate);
        let worker = Worker::new(jobs.clone(), vestibule_worker::CONCURRENCY, PassSigner::new(&pass_key)?, None)
            .with_queues(store.clone(), directory.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            worker.run(std::future::pending()).await;
        });
        tasks.spawn(shop.serve(shop::shop(quota), std::future::pending(), SHUTDOWN_GRACE));
        tasks.spawn(purge_loop(store.clone(), records.clone()));
        let backoffice = AdminParts {
            store: store.clone(),
            records,
            directory,
            trusted_proxies: 0,
            provider: None,
            themes: at.open_versions("themes")?,
            audit_days: vestibule_admin::AUDIT_DAYS,
            require_totp: vestibule_admin::RequireTotp::Nobody,
            streams: true,
            sale_keys,
            trusted_headers: TrustedHeaders::default(),
            jobs: Some(jobs),
        };
        Ok(Self { store, router, backoffice: Some(backoffice), tasks, _themes: themes })
    }

    /// Serves the backoffice with one superuser.
    async fn serve_backoffice(&mut self, server: Server) -> anyhow::Result<Credentials> {
        let parts = self.backoffice.take().context("the backoffice is served already")?;
        let address = reachable(server.tcp_address().context("a socket file is no address for the demo")?);
        let password = random_password()?;
        bootstrap(&*parts.records, &NewOperator::superuser(SUPERUSER, &password)?).await?;
        self.tasks.spawn(server.serve(vestibule_admin::router(parts), std::future::pending(), SHUTDOWN_GRACE));
        Ok(Credentials { address, name: SUPERUSER, password })
    }
}

/// A random password of 16 characters.
fn random_password() -> anyhow::Result<String> {
    let number = getrandom::u64().map_err(|error| anyhow::anyhow!("no random bytes: {error}"))?;
    Ok(format!("{number:016x}"))
}

/// Listens on this address, or on a free port if it is in use.
fn bind_or_any(address: SocketAddr) -> anyhow::Result<Server> {
    match Server::bind(&Listen::Tcp(address)) {
        Ok(server) => Ok(server),
        Err(_) => Server::bind(&Listen::Tcp(SocketAddr::new(address.ip(), 0))),
    }
}

/// The address to connect to a listener: a loopback address for listeners on all addresses.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

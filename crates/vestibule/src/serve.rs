//! `vestibule serve`: the gate, the purge and, on a separate address, the backoffice in one process.

use std::io::IsTerminal as _;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tracing::{info, warn};
use vestibule_admin::AdminParts;
use vestibule_core::fields::joined;
use vestibule_core::jobs::JobQueueId;
use vestibule_core::settings::{Document, HOST_GAP, parse_settings_document};
use vestibule_core::{PassSigner, QueueId, SaleKeys, Store, SystemClock, TicketSigner};
use vestibule_gate::{ClientRules, Gate, GateParts, NetworkLists, Permits, Proxy, ProxyLimits, STREAM_PATH, Streams};
use vestibule_metrics::{CallMetrics, RequestMetrics};
use vestibule_runtime::{
    ClientAddressSource, ConnectionCounts, CountLimits, Directory, JobQueues, Stores, init_telemetry, is_memory,
    log_requests, open_store_and_records,
};
use vestibule_store_memory::{MemoryRecords, MemoryStore};
use vestibule_themes::ThemesConfig;
use vestibule_worker::Stopped;

use crate::admin;
use crate::beacon::BeaconRecorder;
use crate::keys::{load_keys, pass_signer, state_folder};
use crate::last_applied_settings::LastAppliedSettings;
use crate::limits::Limits;
use crate::purge_loop::purge_loop;
use crate::relay::Relay;
use crate::serve_options::ServeOptions;
use crate::server::{Server, raise_descriptor_limit, suggest_other_address};
use crate::settings_file::read_settings;
use crate::settings_writer::{SettingsWriter, UnlistedQueues, WriteError, watch_settings};
use crate::signals::{second_stop_signal, stop_signal};
use crate::state_file::{KnownQueues, SnapshotRequests, StateFile};
use crate::summary::Summary;

/// ID of the queue that `--origin` creates, and of its tenant.
const DEFAULT_QUEUE: &str = "default";
/// Quota of the queue that `--origin` creates.
const DEFAULT_QUOTA: u64 = 100;

/// Runs until SIGTERM or SIGINT. A second one does not wait for requests and calls in progress.
pub(crate) async fn serve(options: ServeOptions) -> anyhow::Result<ExitCode> {
    // Registered first: a SIGHUP during startup must not end the program.
    let hangup = signal(SignalKind::hangup())?;
    init_telemetry(&options.log.levels, options.log.format).map_err(|reason| anyhow::anyhow!("--log {reason}"))?;
    let document = initial_settings(&options)?;
    let timeout = options.stores.timeout();
    let memory = (is_memory(&options.stores.store)).then(|| Arc::new(MemoryStore::new(SystemClock::new())));
    let (store, records): Stores = match &memory {
        Some(memory) => (memory.clone(), Arc::new(MemoryRecords::new(SystemClock::new()))),
        None => open_store_and_records("--store", &options.stores.store, timeout)?,
    };
    let last_applied = LastAppliedSettings::new(records.clone());
    let recovery = recovery_data(&options, memory, &last_applied).await?;
    let jobs = options.stores.job_queues(&records, &store)?;
    let directory = Arc::new(Directory::new(store.clone(), document.tenants.clone(), document.queues.clone()));
    let requests = RequestMetrics::new();
    let sale_keys = sale_keys(&options)?;
    let limits = limits(&options);
    let counts = Arc::new(ConnectionCounts::new(limits.counts));
    let streams = Streams::new(counts.clone(), limits.streams_per_network);
    let tunnels = Permits::new(counts.tunnels.clone(), limits.tunnels_per_network);
    let clients = client_rules(&options).await?;
    let parts = Shared { store: store.clone(), directory: directory.clone(), jobs: jobs.clone() };
    let gate = gate(&options, clients, parts, (streams.clone(), tunnels), sale_keys.clone())?;
    let router = log_requests(requests.around(vestibule_gate::router(gate.clone())));
    let server = Server::bind(&options.listen).map_err(suggest_other_address("--listen"))?;
    let server = server.with_limits(limits.gate).with_counts(counts.clone());
    let parts = AdminParts {
        store: store.clone(),
        records: records.clone(),
        directory: directory.clone(),
        trusted_proxies: options.admin_trusted_proxies,
        provider: options.provider.config()?,
        themes: themes_config(&options).open_versions("--themes")?,
        audit_days: options.audit_days,
        require_totp: options.require_totp,
        streams: true,
        sale_keys: sale_keys.clone(),
        trusted_headers: options.trusted_headers.clone(),
        jobs: Some(jobs.clone()),
    };
    let calls = CallMetrics::new();
    let (snapshot_requests, requested_snapshots) = SnapshotRequests::new();
    let snapshot_requests = recovery.state.is_some().then_some(snapshot_requests);
    let metrics = admin::MetricsParts { requests, connections: counts, calls: calls.clone() };
    let admin = admin::bind(&options, limits.admin, parts, metrics, snapshot_requests)?;

    let relay = options.beacon_url.as_deref().map(Relay::new).transpose().context("--beacon-url")?;
    let beacon = relay.map(|relay| BeaconRecorder {
        relay,
        store: store.clone(),
        records: records.clone(),
        directory: directory.clone(),
    });

    // Before the first request: a gate must not treat a queue that is about to be written as lost.
    let writer = SettingsWriter {
        store: store.clone(),
        directory: directory.clone(),
        jobs: jobs.clone(),
        last_applied,
        known: recovery.known,
        sale_keys,
        previous: Mutex::default(),
    };
    warn_of_queue_for_all_hosts(&options, &*store).await;
    let is_written = write_settings(&writer, &document, UnlistedQueues::at_start(&options)).await?;
    print_summary(&options, &server.address(), admin.as_ref(), &document, &directory);
    let mut background = JoinSet::new();
    background.spawn(watch_settings(options.clone(), writer, document, hangup, is_written));
    beacon.map(|recorder| background.spawn(recorder.run()));
    background.spawn(purge_loop(store.clone(), records));
    background.spawn(async move { gate.serve_all_the_time().await });
    admin.map(|admin| background.spawn(admin.serve()));
    let snapshots = recovery.state.map(|state| Background::start(|stop| state.write_until(requested_snapshots, stop)));
    let shared = Shared { store, directory, jobs: jobs.clone() };
    let worker = if runs_jobs(&options) { Some(start_worker(&options, shared, calls)?) } else { None };
    let (stop_worker, worker) = worker.map(|Background { stop, ended }| (stop, ended)).unzip();
    info!(address = server.address(), store = store_kind(&options.stores.store), "serving");
    let (stop, second) = (stop_signal()?, second_stop_signal()?);
    let stop = async {
        stop.await;
        streams.drain();
        // Its calls and the requests in flight end at the same time.
        drop(stop_worker);
    };
    let drained = async {
        server.serve(router, stop, Duration::from_secs(options.shutdown_grace)).await;
        if let Some(worker) = worker {
            let _ = worker.await;
        }
    };
    tokio::select! {
        () = drained => {}
        () = second => warn!("stopped at the second signal: requests and calls in progress were aborted"),
    }
    log_lost_jobs(&options, &jobs).await;
    background.abort_all();
    if let Some(snapshots) = snapshots {
        snapshots.end().await;
    }
    info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// Writes the settings at startup. Returns whether they are in the store; otherwise they are written later.
async fn write_settings(
    writer: &SettingsWriter,
    document: &Document,
    unlisted: UnlistedQueues,
) -> anyhow::Result<bool> {
    match writer.write(document, unlisted).await {
        Ok(()) => Ok(true),
        Err(error @ WriteError::Rejected(_)) => bail!("{error}"),
        Err(error) => {
            warn!(%error, "cannot write the settings to the store yet");
            Ok(false)
        }
    }
}

/// `--origin` alone adds a queue for all hosts, also to a store whose gates reject unknown hosts.
async fn warn_of_queue_for_all_hosts(options: &ServeOptions, store: &dyn Store) {
    if options.settings.is_some() || options.origin.is_none() {
        return;
    }
    let Ok(queues) = store.queues().await else { return };
    if !queues.is_empty() && queues.iter().all(|(id, _)| id.as_str() != DEFAULT_QUEUE) {
        warn!(
            queue = DEFAULT_QUEUE,
            others = queues.len(),
            "--origin adds a queue for all hosts (*) that the other queues in the store do not name; to serve only these, leave it out"
        );
    }
}

/// The limits of connections and streams, which are logged.
fn limits(options: &ServeOptions) -> Limits {
    let limits = Limits::new(options, raise_descriptor_limit());
    let (connections, per_address) = (limits.gate.total, limits.gate.per_network);
    let CountLimits { streams, tunnels, .. } = limits.counts;
    info!(connections, per_address, streams, tunnels, "limits");
    limits
}

/// Tells people at a terminal where to look.
fn print_summary(
    options: &ServeOptions,
    visitors: &str,
    admin: Option<&admin::Admin>,
    document: &Document,
    directory: &Directory,
) {
    if std::io::stdout().is_terminal() {
        let dashboard = admin.map(admin::Admin::address);
        let store = store_kind(&options.stores.store);
        let named = |id: &QueueId| document.queues.iter().any(|queue| queue.id == *id);
        // What is in force: the backoffice may have changed or removed queues of the file.
        let queues: Vec<_> = document.queues.iter().filter_map(|queue| directory.queue(&queue.id)).collect();
        let ids = directory.queues().into_iter().map(|queue| queue.settings.id.clone());
        let others: Vec<_> = ids.filter(|id| !named(id)).map(|id| id.to_string()).collect();
        let summary = Summary { visitors, dashboard: dashboard.as_deref(), store, queues: &queues, others: &others };
        print!("{}", summary.to_text());
    }
}

/// Data in the state folder. If both keys are configured and `--state` is not, there is no state folder.
struct RecoveryData {
    state: Option<StateFile>,
    known: Option<KnownQueues>,
}

/// Loads the recovery data. Only the memory store has a snapshot.
async fn recovery_data(
    options: &ServeOptions,
    memory: Option<Arc<MemoryStore>>,
    last_applied: &LastAppliedSettings,
) -> anyhow::Result<RecoveryData> {
    if !has_state_folder(options) {
        return Ok(RecoveryData { state: None, known: None });
    }
    let folder = state_folder(options.state.clone())?;
    let state = memory.map(|memory| StateFile::lock(&folder, memory, last_applied.clone())).transpose()?;
    if let Some(state) = &state {
        state.load().await?;
    }
    Ok(RecoveryData { state, known: Some(KnownQueues::new(&folder)) })
}

/// The scheme of the store URL, without credentials.
fn store_kind(address: &str) -> &str {
    address.split("://").next().unwrap_or("memory")
}

fn themes_config(options: &ServeOptions) -> ThemesConfig {
    let recheck = options.themes_recheck.map(Duration::from_secs);
    ThemesConfig { address: options.themes.clone(), recheck }
}

/// Logs how many jobs in memory are not finished, and end with this process.
async fn log_lost_jobs(options: &ServeOptions, jobs: &JobQueues) {
    if !is_memory(options.stores.jobs_address()) {
        return;
    }
    for job_queue in jobs.all().await.unwrap_or_default() {
        let stats = jobs.job_store().stats(&job_queue.settings).await.unwrap_or_default();
        let unfinished = stats.waiting + stats.running;
        if unfinished > 0 {
            warn!(job_queue = %job_queue.settings.id, jobs = unfinished, "jobs in memory are lost with this process");
        }
    }
}

/// Whether this process runs jobs.
fn runs_jobs(options: &ServeOptions) -> bool {
    let are_in_sqs = options.stores.are_jobs_in_sqs();
    if are_in_sqs {
        info!("this process runs no jobs: SQS carries them to the function worker");
    }
    if options.no_worker && is_memory(options.stores.jobs_address()) {
        warn!("--no-worker with jobs in memory: only API consumers run them; use Redis for --jobs, or omit the flag");
    }
    !are_in_sqs && !options.no_worker
}

/// A task that stops when `stop` is dropped.
struct Background<T> {
    stop: oneshot::Sender<()>,
    ended: JoinHandle<T>,
}

impl<T: Send + 'static> Background<T> {
    /// Starts a task; the future that it gets resolves when it should stop.
    fn start<F: Future<Output = T> + Send + 'static>(task: impl FnOnce(Stop) -> F) -> Self {
        let (stop, stopped) = oneshot::channel();
        let stopped: Stop = Box::pin(async move { drop(stopped.await) });
        Self { stop, ended: tokio::spawn(task(stopped)) }
    }

    /// Stops the task, and waits for it.
    async fn end(self) {
        drop(self.stop);
        let _ = self.ended.await;
    }
}

/// Resolves when a task should stop.
type Stop = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Starts the worker.
fn start_worker(options: &ServeOptions, shared: Shared, calls: CallMetrics) -> anyhow::Result<Background<Stopped>> {
    let Shared { store, directory, jobs } = shared;
    let observer = Arc::new(move |job_queue: &JobQueueId, took: Duration| calls.observe(job_queue, took));
    let worker = options.worker.worker(jobs, passes(options)?).with_observer(observer).with_queues(store, directory);
    Ok(Background::start(|stop| async move { worker.run(stop).await }))
}

/// The sale keys: those given, or generated ones in the state folder if there is one.
fn sale_keys(options: &ServeOptions) -> anyhow::Result<SaleKeys> {
    let given = options.sale_keys.as_deref();
    if given.is_none() && !has_state_folder(options) {
        return Ok(SaleKeys::default());
    }
    let (keys, _) = load_keys("--sale-keys", given, options.state.as_ref(), "sale.keys")?;
    SaleKeys::new(&keys).context("--sale-keys")
}

/// Without a configured folder, there is none if nothing needs it.
const fn has_state_folder(options: &ServeOptions) -> bool {
    options.state.is_some() || options.ticket_keys.is_none() || options.pass_keys.is_none()
}

/// What gate, backoffice and worker share.
struct Shared {
    store: Arc<dyn Store>,
    directory: Arc<Directory>,
    jobs: Arc<JobQueues>,
}

fn passes(options: &ServeOptions) -> anyhow::Result<PassSigner> {
    Ok(pass_signer(options.pass_keys.as_deref(), options.state.as_ref())?.0)
}

fn gate(
    options: &ServeOptions,
    clients: ClientRules,
    shared: Shared,
    (streams, tunnels): (Streams, Permits),
    sale_keys: SaleKeys,
) -> anyhow::Result<Gate> {
    let (given, state) = (options.ticket_keys.as_deref(), options.state.as_ref());
    let (tickets, generated) = load_keys("--ticket-keys", given, state, "ticket.keys")?;
    let Shared { store, directory, jobs } = shared;
    if generated && !is_memory(&options.stores.store) {
        warn!("tickets are signed with generated keys: all gates that share a store need the same --ticket-keys");
    }
    Ok(Gate::new(GateParts {
        store,
        directory,
        themes: themes_config(options).open("--themes")?,
        tickets: TicketSigner::new(&tickets).context("--ticket-keys")?,
        passes: passes(options)?,
        sale_keys,
        store_timeout: options.stores.timeout(),
        trusted_proxies: options.trusted_proxies,
        clients,
        proxy: Proxy::new(ProxyLimits {
            connect_timeout: Duration::from_secs(options.connect_timeout),
            read_timeout: Duration::from_secs(options.read_timeout),
            ..ProxyLimits::default()
        })?,
        admin_url: options.provider.admin_url.as_deref().map(str::parse).transpose().context("--admin-url")?,
        stream_url: (streams.counts().streams.limit() > 0).then(|| STREAM_PATH.to_owned()),
        job_queues: Some(jobs),
        streams,
        tunnels,
    }))
}

/// How requests are attributed to clients. Invalid lists of networks are fatal at startup.
async fn client_rules(options: &ServeOptions) -> anyhow::Result<ClientRules> {
    if options.client_address != ClientAddressSource::default() && options.trusted_proxies == 0 {
        bail!(
            "--client-address needs --trusted-proxies: without trusted proxies the address is that of the connection"
        );
    }
    if !options.trusted_headers.is_empty() && options.trusted_proxies == 0 {
        bail!("--trusted-headers needs --trusted-proxies: without trusted proxies these headers are always dropped");
    }
    let networks = options.networks.as_deref().map(NetworkLists::at).transpose().context("--networks")?;
    let networks = networks.unwrap_or_default();
    networks.load_at_start().await.context("--networks")?;
    let trusted_headers = options.trusted_headers.clone();
    Ok(ClientRules { trusted_headers, source: options.client_address.clone(), networks })
}

/// The settings file, or the queue that `--origin` creates. An invalid file is fatal at startup.
fn initial_settings(options: &ServeOptions) -> anyhow::Result<Document> {
    if options.settings.is_some() && options.quota.is_some() {
        bail!("--quota cannot be combined with --settings: set the quota of each queue in the settings file");
    }
    if options.settings.is_some() && options.name.is_some() {
        bail!("--name cannot be combined with --settings: set the name of each queue in the settings file");
    }
    let in_memory = is_memory(&options.stores.store);
    if let Some(path) = &options.settings {
        let document = read_settings(path, options.origin.as_ref())?;
        if in_memory && options.admin_listen.is_none() && document.queues.is_empty() {
            bail!("{} has no queues, and without --admin-listen nobody can create one", path.display());
        }
        return Ok(document);
    }
    if let Some(origin) = &options.origin {
        let name = options.name.as_deref().unwrap_or(HOST_GAP);
        let queue = json!({
            "id": DEFAULT_QUEUE, "tenant": DEFAULT_QUEUE, "name": name, "hosts": ["*"],
            "quota": options.quota.unwrap_or(DEFAULT_QUOTA),
            "handover": { "kind": "proxy", "origin": origin.to_string() },
        });
        let tenant = json!({ "id": DEFAULT_QUEUE, "name": name });
        let document = json!({ "tenants": [tenant], "queues": [queue] });
        return parse_settings_document(&document)
            .map_err(|errors| anyhow::anyhow!("--origin, --quota, --name: {}", joined(&errors)));
    }
    if in_memory {
        bail!("no queues: pass --settings FILE or --origin URL");
    }
    Ok(Document::default())
}

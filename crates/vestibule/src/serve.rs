//! `vestibule serve`: the gate, the purge and, on a separate address, the backoffice in one process.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Mutex, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::{debug, error, info, warn};
use vestibule_admin::AdminParts;
use vestibule_core::fields::joined;
use vestibule_core::jobs::JobQueueId;
use vestibule_core::settings::{
    Document, HOST_GAP, Plan, PlanOptions, StoredSettings, Unlisted, parse_settings_document,
};
use vestibule_core::{PassSigner, QueueId, SaleKeys, Store, StoreError, SystemClock, TicketSigner};
use vestibule_gate::{ClientRules, Gate, GateParts, NetworkLists, Proxy, ProxyLimits, STREAM_PATH, Streams};
use vestibule_metrics::{CallMetrics, RequestMetrics};
use vestibule_records::RecordStore;
use vestibule_records::history::record_samples;
use vestibule_runtime::{
    ClientAddressSource, Directory, JobQueues, Stores, init_telemetry, log_requests, open_store_and_records,
    stored_settings,
};
use vestibule_store_memory::{MemoryRecords, MemoryStore};
use vestibule_themes::ThemesConfig;
use vestibule_worker::Stopped;

use crate::admin;
use crate::beacon::BeaconRecorder;
use crate::keys::{load_keys, pass_signer, state_folder};
use crate::last_applied_settings::{LastAppliedSettings, log_locked, log_plan};
use crate::limits::Limits;
use crate::relay::Relay;
use crate::serve_options::ServeOptions;
use crate::server::{Server, raise_descriptor_limit, suggest_other_address};
use crate::settings_file::read_settings;
use crate::signals::stop_signal;
use crate::state_file::{KnownQueues, StateFile};
use crate::summary::Summary;

/// Interval between purge rounds.
const PURGE_INTERVAL: Duration = Duration::from_secs(5);
/// Time limit of a purge round.
const PURGE_BUDGET: Duration = Duration::from_secs(4);
/// Interval at which idle rounds are recorded, so that monitoring sees that the purge runs.
const IDLE_RECORD_INTERVAL: Duration = Duration::from_secs(30);
/// ID of the queue that `--origin` creates, and of its tenant.
const DEFAULT_QUEUE: &str = "default";
/// Quota of the queue that `--origin` creates.
const DEFAULT_QUOTA: u64 = 100;

/// Runs until SIGTERM or SIGINT.
pub(crate) async fn serve(options: ServeOptions) -> anyhow::Result<ExitCode> {
    // Registered first: a SIGHUP during startup must not end the program.
    let hangup = signal(SignalKind::hangup())?;
    init_telemetry(&options.log.levels, options.log.format).map_err(|reason| anyhow::anyhow!("--log {reason}"))?;
    let document = initial_settings(&options)?;
    let timeout = options.stores.timeout();
    let memory = (options.stores.store == "memory").then(|| Arc::new(MemoryStore::new(SystemClock::new())));
    let (store, records): Stores = match &memory {
        Some(memory) => (memory.clone(), Arc::new(MemoryRecords::new(SystemClock::new()))),
        None => open_store_and_records("--store", &options.stores.store, timeout)?,
    };
    let recovery = recovery_data(&options, memory)?;
    let jobs = options.stores.job_queues(&records, &store)?;
    let directory = Arc::new(Directory::new(store.clone(), document.tenants.clone(), document.queues.clone()));
    let requests = RequestMetrics::new();
    let sale_keys = sale_keys(&options)?;
    let limits = limits(&options);
    let streams = Streams::new(limits.streams);
    let clients = client_rules(&options).await?;
    let parts = Shared { store: store.clone(), directory: directory.clone(), jobs: jobs.clone() };
    let gate = gate(&options, clients, parts, streams.clone(), sale_keys.clone())?;
    let router = vestibule_gate::router(gate.clone());
    let router = log_requests(requests.around(router));
    let server = Server::bind(&options.listen).map_err(suggest_other_address("--listen"))?.with_limits(limits.gate);
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
    let admin = admin::bind(&options, limits.admin, parts, requests, streams.counts(), calls.clone())?;

    let relay = options.beacon_url.as_deref().map(Relay::new).transpose().context("--beacon-url")?;
    let beacon = relay.map(|relay| BeaconRecorder {
        relay,
        store: store.clone(),
        records: records.clone(),
        directory: directory.clone(),
    });

    // Before the first request: a gate must not treat a queue that is about to be written as lost.
    let last_applied = LastAppliedSettings::new(records.clone());
    let writer = SettingsWriter {
        store: store.clone(),
        directory: directory.clone(),
        jobs: jobs.clone(),
        last_applied,
        known: recovery.known,
        sale_keys,
        previous: Mutex::default(),
    };
    if let Err(error) = writer.write(&document, &[]).await {
        if let WriteError::Rejected(_) = error {
            return Err(error.into());
        }
        warn!(%error, "cannot write the settings to the store yet");
    }
    print_summary(&options, &server.address(), admin.as_ref(), &document);
    let settings = tokio::spawn(watch_settings(options.clone(), writer, document, hangup));
    let beacon = beacon.map(|recorder| tokio::spawn(recorder.run()));
    let purge = tokio::spawn(purge_loop(store.clone(), records));
    let watch = tokio::spawn(async move { gate.serve_all_the_time().await });
    let writing = recovery.state.clone().map(|state| tokio::spawn(state.write_loop()));
    let admin = admin.map(|admin| tokio::spawn(admin.serve()));
    let shared = Shared { store, directory, jobs: jobs.clone() };
    let worker = if runs_jobs(&options) { Some(RunningWorker::start(&options, shared, calls)?) } else { None };
    let (stop_worker, worker) = worker.map(|RunningWorker { stop, ended }| (stop, ended)).unzip();
    info!(address = server.address(), store = store_kind(&options.stores.store), "serving");
    let stop = stop_signal()?;
    let stop = async {
        stop.await;
        streams.drain();
        // Its calls and the requests in flight end at the same time.
        drop(stop_worker);
    };
    server.serve(router, stop, Duration::from_secs(options.shutdown_grace)).await;
    if let Some(worker) = worker {
        let _ = worker.await;
    }
    log_lost_jobs(&options, &jobs).await;
    settings.abort();
    purge.abort();
    beacon.inspect(tokio::task::JoinHandle::abort);
    watch.abort();
    admin.inspect(tokio::task::JoinHandle::abort);
    if let (Some(state), Some(writing)) = (recovery.state, writing) {
        writing.abort();
        state.write().await;
    }
    info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// The limits of connections and streams, which are logged.
fn limits(options: &ServeOptions) -> Limits {
    let limits = Limits::new(options, raise_descriptor_limit());
    let (connections, per_address) = (limits.gate.total, limits.gate.per_network);
    info!(connections, per_address, streams = limits.streams.total, "limits");
    limits
}

/// Tells people at a terminal where to look.
fn print_summary(options: &ServeOptions, visitors: &str, admin: Option<&admin::Admin>, document: &Document) {
    if std::io::stdout().is_terminal() {
        let dashboard = admin.map(admin::Admin::address);
        let store = store_kind(&options.stores.store);
        let summary = Summary { visitors, dashboard: dashboard.as_deref(), store, queues: &document.queues };
        print!("{}", summary.to_text());
    }
}

/// Data in the state folder. If both keys are configured and `--state` is not, there is no state folder.
struct RecoveryData {
    state: Option<StateFile>,
    known: Option<KnownQueues>,
}

/// Loads the recovery data. Only the memory store has a snapshot.
fn recovery_data(options: &ServeOptions, memory: Option<Arc<MemoryStore>>) -> anyhow::Result<RecoveryData> {
    if !has_state_folder(options) {
        return Ok(RecoveryData { state: None, known: None });
    }
    let folder = state_folder(options.state.clone())?;
    let state = memory.map(|memory| StateFile::new(&folder, memory));
    if let Some(state) = &state {
        state.load()?;
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
    if options.stores.jobs_address() != "memory" {
        return;
    }
    for job_queue in jobs.all().await.unwrap_or_default() {
        let stats = jobs.backend().stats(&job_queue.settings).await.unwrap_or_default();
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
    !are_in_sqs && !options.no_worker
}

/// A worker that stops when `stop` is dropped.
struct RunningWorker {
    stop: oneshot::Sender<()>,
    ended: JoinHandle<Stopped>,
}

impl RunningWorker {
    fn start(options: &ServeOptions, shared: Shared, calls: CallMetrics) -> anyhow::Result<Self> {
        let Shared { store, directory, jobs } = shared;
        let (stop, stopped) = oneshot::channel::<()>();
        let observer = Arc::new(move |job_queue: &JobQueueId, took: Duration| calls.observe(job_queue, took));
        let worker =
            options.worker.worker(jobs, passes(options)?).with_observer(observer).with_queues(store, directory);
        let ended = tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            worker.run(stopped).await
        });
        Ok(Self { stop, ended })
    }
}

/// The sale keys: those given, or generated ones in the state folder if there is one.
fn sale_keys(options: &ServeOptions) -> anyhow::Result<SaleKeys> {
    let given = options.sale_keys.as_deref();
    if given.is_none() && !has_state_folder(options) {
        return Ok(SaleKeys::default());
    }
    let folder = if given.is_some() { PathBuf::new() } else { state_folder(options.state.clone())? };
    let (keys, _) = load_keys("--sale-keys", given, &folder, "sale.keys")?;
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
    streams: Streams,
    sale_keys: SaleKeys,
) -> anyhow::Result<Gate> {
    let given = options.ticket_keys.as_deref();
    let folder = if given.is_some() { PathBuf::new() } else { state_folder(options.state.clone())? };
    let (tickets, generated) = load_keys("--ticket-keys", given, &folder, "ticket.keys")?;
    let Shared { store, directory, jobs } = shared;
    if generated && options.stores.store != "memory" {
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
        stream_url: (streams.counts().limit() > 0).then(|| STREAM_PATH.to_owned()),
        job_queues: Some(jobs),
        streams,
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
    if let Some(path) = &options.settings {
        return Ok(read_settings(path, options.origin.as_ref())?);
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
    if options.stores.store == "memory" {
        bail!("no queues: pass --settings FILE or --origin URL");
    }
    Ok(Document::default())
}

/// Writes the settings to the store, with retries, and again on SIGHUP.
async fn watch_settings(options: ServeOptions, writer: SettingsWriter, mut document: Document, mut hangup: Signal) {
    // Queues that are no longer in the file. Those with sessions stay until a later reload.
    let mut removed = Vec::new();
    loop {
        removed = writer.write_with_retries(&document, &removed).await;
        hangup.recv().await;
        let Some(path) = &options.settings else { continue };
        match read_settings(path, options.origin.as_ref()) {
            // Editors leave an empty file for a moment while they save.
            Ok(next) if next.queues.is_empty() && !document.queues.is_empty() => {
                error!("the settings file has no queues; the current settings stay in effect: {}", path.display());
            }
            Ok(next) => {
                let has = |id: &QueueId| next.queues.iter().any(|queue| queue.id == *id);
                removed.extend(document.queues.iter().map(|queue| queue.id.clone()));
                removed.retain(|id| !has(id));
                document = next;
                info!(queues = document.queues.len(), "settings reloaded");
            }
            Err(invalid) => error!("the settings file is invalid; the current settings stay in effect:\n{invalid}"),
        }
    }
}

/// Why the settings file is not in the store yet.
#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("nothing was written: {0}")]
    Rejected(String),
    #[error("queue {0} was changed by someone else at the same time")]
    Conflict(QueueId),
    #[error("job queue {0} was changed by someone else at the same time")]
    JobQueueConflict(JobQueueId),
}

/// Writes the settings file to the store.
struct SettingsWriter {
    store: Arc<dyn Store>,
    directory: Arc<Directory>,
    jobs: Arc<JobQueues>,
    last_applied: LastAppliedSettings,
    known: Option<KnownQueues>,
    sale_keys: SaleKeys,
    /// What the store had before a write that failed, for the audit log.
    previous: Mutex<Option<StoredSettings>>,
}

impl SettingsWriter {
    /// Returns those of the `removed` queues that stay because they have sessions.
    async fn write(&self, file: &Document, removed: &[QueueId]) -> Result<Vec<QueueId>, WriteError> {
        if let Some(known) = &self.known {
            known.restore(&*self.store, &file.queues).await?;
        }
        let unlisted = Unlisted::RemoveOnly(removed);
        let mut stored = stored_settings(&*self.store, file, unlisted).await?;
        stored.job_queues = self.jobs.stored().await?;
        let last = self.last_applied.read().await?;
        let now = self.last_applied.now().await?;
        let options = PlanOptions {
            unlisted,
            now: Some(now),
            last_applied: Some(&last),
            sale_keys: Some(&self.sale_keys),
            ..PlanOptions::default()
        };
        let mut plan = Plan::of(&stored, file.clone(), &options);
        if !plan.invalid.is_empty() {
            return Err(WriteError::Rejected(joined(&plan.invalid)));
        }
        let locked = plan.keep_locked(&stored, now);
        plan.settle_removed_beacons(&stored, now);
        log_plan(&plan);
        log_locked(&plan, &locked);
        // After a failed write, the audit events compare with what was there before the first attempt.
        let mut previous = self.previous.lock().await;
        let before = previous.take().unwrap_or(stored);
        let left = match self.execute(&plan).await {
            Ok(left) => left,
            Err(error) => {
                *previous = Some(before);
                return Err(error);
            }
        };
        if let Some(known) = &self.known {
            known.save(&file.queues);
        }
        self.last_applied.audit(&*self.store, &before, &plan, &left).await;
        self.last_applied.save(file, &plan).await?;
        for id in removed.iter().filter(|id| !left.contains(id)) {
            self.last_applied.forget(id).await?;
        }
        self.write_job_queues(&plan).await?;
        Ok(left)
    }

    async fn write_job_queues(&self, plan: &Plan) -> Result<(), WriteError> {
        let written = self.jobs.execute(&plan.job_queues).await?;
        for settings in &written.written {
            info!(job_queue = %settings.id, "settings written");
        }
        for id in &written.not_empty {
            warn!(job_queue = %id, "the settings no longer name this job queue; it stays, as it has jobs or dead letters");
        }
        self.last_applied.audit_job_queues(plan, &written).await;
        self.last_applied.forget_job_queues(&written.removed).await?;
        match written.skipped.into_iter().next() {
            Some(job_queue) => Err(WriteError::JobQueueConflict(job_queue)),
            None => Ok(()),
        }
    }

    async fn execute(&self, plan: &Plan) -> Result<Vec<QueueId>, WriteError> {
        if let Some(queue) = self.directory.execute(plan).await?.into_iter().next() {
            return Err(WriteError::Conflict(queue));
        }
        Ok(self.directory.remove_unused(&*self.store, &plan.removed).await?)
    }

    async fn write_with_retries(&self, file: &Document, removed: &[QueueId]) -> Vec<QueueId> {
        let mut pause = Duration::from_millis(100);
        loop {
            match self.write(file, removed).await {
                Ok(left) => return left,
                Err(error @ WriteError::Rejected(_)) => {
                    error!(%error, "the settings file is not applied");
                    return removed.to_vec();
                }
                Err(error) => warn!(%error, "cannot write the settings to the store; retrying"),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }
}

/// Purges every few seconds and records history samples every minute, forever.
pub(crate) async fn purge_loop(store: Arc<dyn Store>, records: Arc<dyn RecordStore>) {
    let mut ticks = tokio::time::interval(PURGE_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut recorded: Option<Instant> = None;
    loop {
        ticks.tick().await;
        let round = vestibule_purge::run(store.as_ref(), PURGE_BUDGET).await;
        match tokio::time::timeout(PURGE_BUDGET, record_samples(&*store, &*records)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => debug!(%error, "cannot record history samples"),
            Err(_) => debug!("history samples were not recorded for every queue: timeout"),
        }
        if round.was_idle() && recorded.is_some_and(|at| at.elapsed() < IDLE_RECORD_INTERVAL) {
            continue;
        }
        recorded = Some(Instant::now());
        let record = round.record;
        debug!(?record, "purged");
        if let Err(error) = store.set_last_purge(&record).await {
            debug!(%error, "cannot record the purge");
        }
    }
}

//! `vestibule serve`: the gate, the purge and, on an address of its own, the backoffice in one process.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::{debug, error, info, warn};
use vestibule_admin::AdminParts;
use vestibule_core::history::record_samples;
use vestibule_core::records::RecordStore;
use vestibule_core::settings::{Document, HOST_GAP, parse_settings_document};
use vestibule_core::{MemoryRecords, MemoryStore, PassSigner, QueueId, Store, StoreError, SystemClock, TicketSigner};
use vestibule_gate::{Gate, GateParts, ProxyLimits};
use vestibule_metrics::RequestMetrics;
use vestibule_runtime::{
    Directory, Stores, ThemesConfig, init_telemetry, log_requests, open_publisher, open_store_and_records, open_themes,
};

use crate::admin;
use crate::cli::ServeOptions;
use crate::file_record::{Before, FileRecord};
use crate::keys::{load_keys, state_folder};
use crate::limits::Limits;
use crate::server::{Server, raise_descriptor_limit};
use crate::settings_file::read_settings;
use crate::state_file::{KnownQueues, StateFile};
use crate::summary::Summary;

/// Time between two rounds of the purge.
const PURGE_EVERY: Duration = Duration::from_secs(5);
/// How long one round of the purge may take.
const PURGE_BUDGET: Duration = Duration::from_secs(4);
/// How often a round that found nothing to do is recorded, so that it is seen that the purge runs.
const IDLE_RECORD_EVERY: Duration = Duration::from_secs(30);
/// The one queue that `--origin` makes, and its tenant.
const ONE_QUEUE: &str = "default";
/// Quota of the one queue that `--origin` makes.
const DEFAULT_QUOTA: u64 = 100;

/// Runs until told to stop.
pub(crate) async fn serve(options: ServeOptions) -> anyhow::Result<ExitCode> {
    // First of all: a hangup during the start is noted, and must not end the program.
    let hangup = signal(SignalKind::hangup())?;
    init_telemetry(&options.log.levels, options.log.format).map_err(|reason| anyhow::anyhow!("--log {reason}"))?;
    let document = first_settings(&options)?;
    let timeout = Duration::from_millis(options.store_timeout_ms);
    let memory = (options.store == "memory").then(|| Arc::new(MemoryStore::new(SystemClock::new())));
    let (store, records): Stores = match &memory {
        Some(memory) => (memory.clone(), Arc::new(MemoryRecords::new(SystemClock::new()))),
        None => open_store_and_records("--store", &options.store, timeout)?,
    };
    let kept = kept(&options, memory)?;
    let directory = Arc::new(Directory::new(store.clone(), document.tenants.clone(), document.queues.clone()));
    let requests = RequestMetrics::new();
    let gate = gate(&options, store.clone(), directory.clone())?;
    let router = vestibule_gate::router(gate.clone());
    let router = log_requests(requests.around(router));
    let limits = Limits::new(&options, raise_descriptor_limit());
    info!(connections = limits.gate.total, per_address = limits.gate.per_network, "limits");
    let server = Server::bind(&options.listen).map_err(elsewhere("--listen"))?.with_limits(limits.gate);
    let parts = AdminParts {
        store: store.clone(),
        records: records.clone(),
        directory: directory.clone(),
        trusted_proxies: options.admin_trusted_proxies,
        provider: options.provider.config()?,
        themes: open_publisher("--themes", &themes_config(&options))?,
        audit_days: options.audit_days,
        require_totp: options.require_totp,
        streams: true,
    };
    let admin = admin::bind(&options, limits.admin, parts, requests)?;

    // Before the first request, so that no gate takes a queue that is about to be written for one that was lost.
    let record = FileRecord::new(store.clone(), records.clone());
    let written = Written::new(store.clone(), directory, record, kept.known);
    if let Err(error) = written.write(&document, &[]).await {
        warn!(%error, "the settings could not be written to the store yet");
    }
    if std::io::stdout().is_terminal() {
        let dashboard = admin.as_ref().map(admin::Admin::address);
        let store = store_kind(&options.store);
        let visitors = server.address();
        let summary = Summary { visitors: &visitors, dashboard: dashboard.as_deref(), store, queues: &document.queues };
        print!("{}", summary.to_text());
    }
    let settings = tokio::spawn(keep_settings(options.clone(), written, document, hangup));
    let purge = tokio::spawn(keep_purging(store, records));
    let watch = tokio::spawn(async move { gate.serve_all_the_time().await });
    let writing = kept.state.clone().map(|state| tokio::spawn(state.keep_writing()));
    let admin = admin.map(|admin| tokio::spawn(admin.serve()));
    info!(address = server.address(), store = store_kind(&options.store), "serving");
    server.serve(router, stop_signal()?, Duration::from_secs(options.drain)).await;
    settings.abort();
    purge.abort();
    watch.abort();
    admin.inspect(tokio::task::JoinHandle::abort);
    if let (Some(state), Some(writing)) = (kept.state, writing) {
        writing.abort();
        state.write().await;
    }
    info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// What outlasts the program. Without keys of its own or a folder that was given there is no state folder.
struct Kept {
    state: Option<StateFile>,
    known: Option<KnownQueues>,
}

/// Takes up what was kept. It is the memory store alone that needs its state kept.
fn kept(options: &ServeOptions, memory: Option<Arc<MemoryStore>>) -> anyhow::Result<Kept> {
    if options.state.is_none() && options.ticket_keys.is_some() && options.pass_keys.is_some() {
        return Ok(Kept { state: None, known: None });
    }
    let folder = state_folder(options.state.clone())?;
    let state = memory.map(|memory| StateFile::new(&folder, memory));
    if let Some(state) = &state {
        state.take_up()?;
    }
    Ok(Kept { state, known: Some(KnownQueues::new(&folder)) })
}

/// Says what to do about an address that can't be had.
pub(crate) fn elsewhere(flag: &str) -> impl Fn(anyhow::Error) -> anyhow::Error {
    move |error| anyhow::anyhow!("{error:#}\nGive another address: {flag} 127.0.0.1:0 takes any port that is free")
}

/// The kind of store, without whatever its address holds.
fn store_kind(address: &str) -> &str {
    address.split("://").next().unwrap_or("memory")
}

fn themes_config(options: &ServeOptions) -> ThemesConfig {
    let recheck = options.themes_recheck.map(Duration::from_secs);
    ThemesConfig { address: options.themes.clone(), recheck }
}

fn gate(options: &ServeOptions, store: Arc<dyn Store>, directory: Arc<Directory>) -> anyhow::Result<Gate> {
    let (given_tickets, given_passes) = (options.ticket_keys.as_deref(), options.pass_keys.as_deref());
    let folder = if given_tickets.is_some() && given_passes.is_some() {
        std::path::PathBuf::new()
    } else {
        state_folder(options.state.clone())?
    };
    let (tickets, own) = load_keys("--ticket-keys", given_tickets, &folder, "ticket.keys")?;
    let (passes, _) = load_keys("--pass-keys", given_passes, &folder, "pass.keys")?;
    if own && options.store != "memory" {
        warn!("this host's own keys sign the tickets: other gates over the same store need the same --ticket-keys");
    }
    Ok(Gate::new(GateParts {
        store,
        directory,
        themes: open_themes("--themes", &themes_config(options))?,
        tickets: TicketSigner::new(&tickets).context("--ticket-keys")?,
        passes: PassSigner::new(&passes).context("--pass-keys")?,
        store_timeout: Duration::from_millis(options.store_timeout_ms),
        trusted_proxies: options.trusted_proxies,
        proxy: ProxyLimits {
            connect_timeout: Duration::from_secs(options.connect_timeout),
            read_timeout: Duration::from_secs(options.read_timeout),
            ..ProxyLimits::default()
        },
    }))
}

/// What the settings file says at the start, or the one queue that `--origin` makes. A wrong file is fatal here.
fn first_settings(options: &ServeOptions) -> anyhow::Result<Document> {
    if options.settings.is_some() && options.quota.is_some() {
        bail!("--quota goes with --origin and no settings file; in a settings file every queue has its own quota");
    }
    if options.settings.is_some() && options.name.is_some() {
        bail!("--name goes with --origin and no settings file; in a settings file every queue has its own name");
    }
    if let Some(path) = &options.settings {
        return Ok(read_settings(path, options.origin.as_ref())?);
    }
    if let Some(origin) = &options.origin {
        let name = options.name.as_deref().unwrap_or(HOST_GAP);
        let queue = json!({
            "id": ONE_QUEUE, "tenant": ONE_QUEUE, "name": name, "hosts": ["*"],
            "quota": options.quota.unwrap_or(DEFAULT_QUOTA),
            "handover": { "kind": "proxy", "origin": origin.to_string() },
        });
        let tenant = json!({ "id": ONE_QUEUE, "name": name });
        let document = json!({ "tenants": [tenant], "queues": [queue] });
        return parse_settings_document(&document).map_err(|errors| {
            let named: Vec<String> = errors.iter().map(ToString::to_string).collect();
            anyhow::anyhow!("--origin, --quota, --name: {}", named.join("; "))
        });
    }
    if options.store == "memory" {
        bail!("nothing to serve: name the queues with --settings FILE, or one site with --origin URL");
    }
    Ok(Document::default())
}

/// Writes the settings to the store, again until it takes them, and anew on SIGHUP.
async fn keep_settings(options: ServeOptions, written: Written, mut document: Document, mut hangup: Signal) {
    // Queues that the file no longer names. Those with sessions stay, and go with a later reload.
    let mut unnamed = Vec::new();
    loop {
        unnamed = written.write_at_last(&document, &unnamed).await;
        hangup.recv().await;
        let Some(path) = &options.settings else { continue };
        match read_settings(path, options.origin.as_ref()) {
            // An editor that is in the middle of a write leaves such a file for a moment.
            Ok(next) if next.queues.is_empty() && !document.queues.is_empty() => {
                error!("the settings file names no queues, so the old settings stay in force: {}", path.display());
            }
            Ok(next) => {
                let names = |id: &QueueId| next.queues.iter().any(|queue| queue.id == *id);
                unnamed.extend(document.queues.iter().map(|queue| queue.id.clone()));
                unnamed.retain(|id| !names(id));
                document = next;
                info!(queues = document.queues.len(), "settings read again");
            }
            Err(wrong) => error!("the settings are wrong, so the old ones stay in force:\n{wrong}"),
        }
    }
}

/// Where a settings file goes.
struct Written {
    store: Arc<dyn Store>,
    directory: Arc<Directory>,
    record: FileRecord,
    known: Option<KnownQueues>,
    /// What the store had before a write that has not ended.
    before: Mutex<Option<Before>>,
}

impl Written {
    fn new(store: Arc<dyn Store>, directory: Arc<Directory>, record: FileRecord, known: Option<KnownQueues>) -> Self {
        Self { store, directory, record, known, before: Mutex::default() }
    }

    /// Returns those of the `unnamed` queues that stay, because they have sessions.
    async fn write(&self, file: &Document, unnamed: &[QueueId]) -> Result<Vec<QueueId>, StoreError> {
        if let Some(known) = &self.known {
            known.restore(&*self.store, &file.queues).await?;
        }
        let document = self.record.in_force(file).await?;
        // A write that broke off is audited with what was there before the first try.
        let mut kept = self.before.lock().await;
        let before = match kept.take() {
            Some(before) => before,
            None => self.record.before(&document, unnamed).await?,
        };
        let left = match self.directory.apply(&document.tenants, &document.queues, unnamed).await {
            Ok(left) => left,
            Err(error) => {
                *kept = Some(before);
                return Err(error);
            }
        };
        if let Some(known) = &self.known {
            known.note(&file.queues);
        }
        self.record.audit(before, &document, &left).await;
        self.record.keep(file).await?;
        for removed in unnamed.iter().filter(|id| !left.contains(id)) {
            self.record.forget(removed).await?;
        }
        Ok(left)
    }

    async fn write_at_last(&self, file: &Document, unnamed: &[QueueId]) -> Vec<QueueId> {
        let mut pause = Duration::from_millis(100);
        loop {
            match self.write(file, unnamed).await {
                Ok(left) => return left,
                Err(error) => warn!(%error, "the settings could not be written to the store; trying again"),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }
}

/// Purges every few seconds and notes every minute's numbers, for ever.
pub(crate) async fn keep_purging(store: Arc<dyn Store>, records: Arc<dyn RecordStore>) {
    let mut ticks = tokio::time::interval(PURGE_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut recorded: Option<Instant> = None;
    loop {
        ticks.tick().await;
        let round = vestibule_purge::run(store.as_ref(), PURGE_BUDGET).await;
        match tokio::time::timeout(PURGE_BUDGET, record_samples(&*store, &*records)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => debug!(%error, "this minute's numbers could not be noted"),
            Err(_) => debug!("this minute's numbers were not noted for every queue: the time was over"),
        }
        if round.was_idle() && recorded.is_some_and(|at| at.elapsed() < IDLE_RECORD_EVERY) {
            continue;
        }
        recorded = Some(Instant::now());
        let record = round.record();
        debug!(?record, "purged");
        if let Err(error) = store.set_last_purge(&record).await {
            debug!(%error, "the purge is done, but could not be recorded");
        }
    }
}

/// Resolves on SIGTERM or SIGINT.
pub(crate) fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

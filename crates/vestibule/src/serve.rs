//! `vestibule serve`: the gate, the purge and, on an address of its own, the backoffice in one process.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;
use tracing::{debug, error, info, warn};
use vestibule_admin::AdminParts;
use vestibule_core::history::notice_minute;
use vestibule_core::records::Records;
use vestibule_core::settings::{Document, parse_document};
use vestibule_core::{PassSigner, QueueId, Store, StoreError, TicketSigner};
use vestibule_gate::{Gate, GateParts, ProxyLimits};
use vestibule_http::{
    Directory, ThemesConfig, init_telemetry, log_requests, open_publisher, open_store_and_records, open_themes,
};
use vestibule_metrics::RequestMetrics;

use crate::admin;
use crate::cli::ServeOptions;
use crate::file_record::FileRecord;
use crate::keys::{load_keys, state_folder};
use crate::server::Server;
use crate::settings_file::read_settings;
use crate::unfinished::Unfinished;

/// Time between two rounds of the purge.
const PURGE_EVERY: Duration = Duration::from_secs(5);
/// How long one round of the purge may take.
const PURGE_BUDGET: Duration = Duration::from_secs(4);
/// How often a round that found nothing to do is recorded, so that it is seen that the purge runs.
const IDLE_RECORD_EVERY: Duration = Duration::from_secs(30);
/// Quota of the one queue that `--origin` makes.
const DEFAULT_QUOTA: u64 = 100;

/// Runs until told to stop.
pub(crate) async fn serve(options: ServeOptions) -> anyhow::Result<ExitCode> {
    init_telemetry(&options.log.levels, options.log.format).map_err(|reason| anyhow::anyhow!("--log {reason}"))?;
    let document = first_settings(&options)?;
    let timeout = Duration::from_millis(options.store_timeout_ms);
    let (store, records) = open_store_and_records("--store", &options.store, timeout)?;
    let directory = Arc::new(Directory::new(store.clone(), document.tenants.clone(), document.queues.clone()));
    let requests = RequestMetrics::new();
    let router = vestibule_gate::router(gate(&options, store.clone(), directory.clone())?);
    let router = log_requests(requests.around(router));
    let server = Server::bind(&options.listen).await?;
    let parts = AdminParts {
        store: store.clone(),
        records: records.clone(),
        directory: directory.clone(),
        trusted_proxies: options.trusted_proxies,
        provider: options.provider.config()?,
        themes: open_publisher("--themes", &themes_config(&options))?,
        streams: true,
    };
    let admin = admin::bind(&options, parts, requests).await?;

    let unfinished = unfinished(&options, &store);
    if let Some(unfinished) = &unfinished {
        unfinished.take_up(&document.queues).await;
    }
    // Before the first request, so that no gate takes a queue that is about to be written for one that was lost.
    let written = Written { directory, record: FileRecord::new(store.clone(), records.clone()) };
    if let Err(error) = written.write(&document, &[]).await {
        warn!(%error, "the settings could not be written to the store yet");
    }
    let settings = tokio::spawn(keep_settings(options.clone(), written, document));
    let purge = tokio::spawn(keep_purging(store, records));
    let writing = unfinished.clone().map(|unfinished| tokio::spawn(unfinished.keep_writing()));
    let admin = admin.map(|admin| tokio::spawn(admin.serve()));
    info!(address = server.address(), store = store_kind(&options.store), "serving");
    server.serve(router, stop_signal()?, Duration::from_secs(options.drain)).await;
    settings.abort();
    purge.abort();
    admin.inspect(tokio::task::JoinHandle::abort);
    if let (Some(unfinished), Some(writing)) = (unfinished, writing) {
        writing.abort();
        unfinished.write().await;
    }
    info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// What a restart must know of the memory store. Redis knows by itself, and without keys of its own or a folder that was
/// given there is no state folder.
fn unfinished(options: &ServeOptions, store: &Arc<dyn Store>) -> Option<Unfinished> {
    let no_folder = options.state.is_none() && options.ticket_keys.is_some() && options.pass_keys.is_some();
    if options.store != "memory" || no_folder {
        return None;
    }
    Some(Unfinished::new(&state_folder(options.state.clone()).ok()?, store.clone()))
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
    if let Some(path) = &options.settings {
        return Ok(read_settings(path, options.origin.as_ref())?);
    }
    if let Some(origin) = &options.origin {
        let queue = json!({
            "id": "default", "tenant": "default", "name": origin.host(), "hosts": ["*"],
            "quota": options.quota.unwrap_or(DEFAULT_QUOTA),
            "handover": { "kind": "proxy", "origin": origin.to_string() },
        });
        let tenant = json!({ "id": "default", "name": origin.host() });
        let document = json!({ "tenants": [tenant], "queues": [queue] });
        return parse_document(&document).map_err(|errors| {
            let named: Vec<String> = errors.iter().map(ToString::to_string).collect();
            anyhow::anyhow!("--origin, --quota: {}", named.join("; "))
        });
    }
    if options.store == "memory" {
        bail!("nothing to serve: name the queues with --settings FILE, or one site with --origin URL");
    }
    Ok(Document::default())
}

/// Writes the settings to the store, again until it takes them, and anew on SIGHUP.
async fn keep_settings(options: ServeOptions, written: Written, mut document: Document) {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else { return };
    let mut gone = Vec::new();
    loop {
        written.write_at_last(&document, &gone).await;
        gone.clear();
        hangup.recv().await;
        let Some(path) = &options.settings else { continue };
        match read_settings(path, options.origin.as_ref()) {
            Ok(next) => {
                gone = removed(&document, &next);
                document = next;
                info!(queues = document.queues.len(), "settings read again");
            }
            Err(wrong) => error!("the settings are wrong, so the old ones stay in force:\n{wrong}"),
        }
    }
}

fn removed(before: &Document, after: &Document) -> Vec<QueueId> {
    let named = |id: &QueueId| after.queues.iter().any(|queue| queue.id == *id);
    before.queues.iter().map(|queue| queue.id.clone()).filter(|id| !named(id)).collect()
}

/// Where a settings file goes.
struct Written {
    directory: Arc<Directory>,
    record: FileRecord,
}

impl Written {
    async fn write(&self, file: &Document, gone: &[QueueId]) -> Result<(), StoreError> {
        let document = self.record.in_force(file).await?;
        self.directory.apply(&document.tenants, &document.queues, gone).await?;
        self.record.keep(file).await
    }

    async fn write_at_last(&self, file: &Document, gone: &[QueueId]) {
        let mut pause = Duration::from_millis(100);
        while let Err(error) = self.write(file, gone).await {
            warn!(%error, "the settings could not be written to the store; trying again");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }
}

/// Purges every few seconds and notes every minute's numbers, for ever.
pub(crate) async fn keep_purging(store: Arc<dyn Store>, records: Arc<dyn Records>) {
    let mut ticks = tokio::time::interval(PURGE_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut recorded: Option<Instant> = None;
    loop {
        ticks.tick().await;
        let round = vestibule_purge::run(store.as_ref(), PURGE_BUDGET).await;
        if let Err(error) = notice_minute(&*store, &*records).await {
            debug!(%error, "this minute's numbers could not be noted");
        }
        if round.was_idle() && recorded.is_some_and(|at| at.elapsed() < IDLE_RECORD_EVERY) {
            continue;
        }
        recorded = Some(Instant::now());
        let record = round.record();
        debug!(?record, "purged");
        if let Err(error) = store.record_purge(&record).await {
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

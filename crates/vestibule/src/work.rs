//! `vestibule work`: a worker alone, beside `serve` processes that share its store.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::bail;
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};
use vestibule_runtime::{Directory, init_telemetry, is_memory, open_store_and_records};

use crate::arguments::LogOptions;
use crate::keys::pass_signer;
use crate::signals::{second_stop_signal, stop_signal};
use crate::store_options::{StoreOptions, WorkerOptions};

#[derive(Args)]
// A worker shares the store, so it takes no memory.
#[command(mut_arg("store", |store| store.hide_default_value(true).help(
    "URL of the Redis of the other processes: redis://.., rediss://.., redis-cluster://.. or redis-sentinel://.."
)))]
#[command(mut_arg("jobs", |jobs| jobs.help("URL of the Redis of the jobs, as for --store [default: the store]")))]
pub(crate) struct WorkOptions {
    #[command(flatten)]
    stores: StoreOptions,

    #[command(flatten)]
    worker: WorkerOptions,

    /// Pass signing keys of the gates, as kid:base64 of an Ed25519 seed: held orders carry a pass
    #[arg(long, env = "VESTIBULE_PASS_KEYS", hide_env_values = true, value_name = "KEYS")]
    pass_keys: Option<String>,

    /// Folder for generated keys
    /// [default: ~/.local/state/vestibule]
    #[arg(long, env = "VESTIBULE_STATE", value_name = "DIR")]
    state: Option<PathBuf>,

    #[command(flatten)]
    log: LogOptions,
}

/// Runs jobs until SIGTERM or SIGINT. A second one ends it at once.
pub(crate) async fn work(options: WorkOptions) -> anyhow::Result<ExitCode> {
    let WorkOptions { stores, worker, pass_keys, state, log } = options;
    init_telemetry(&log.levels, log.format).map_err(|reason| anyhow::anyhow!("--log {reason}"))?;
    if is_memory(&stores.store) || is_memory(stores.jobs_address()) {
        bail!(
            "work needs the Redis of the other processes: pass its URL with --store, and with --jobs if jobs have their own"
        );
    }
    if stores.are_jobs_in_sqs() {
        bail!("work cannot run jobs that SQS carries: deploy the function worker, or keep the jobs in a Redis");
    }
    // There is nothing to reload, and calls in progress must not end.
    let _hangup = signal(SignalKind::hangup())?;
    let (stop, second) = (stop_signal()?, second_stop_signal()?);
    let (passes, generated) = pass_signer(pass_keys.as_deref(), state.as_ref())?;
    if generated {
        warn!("held orders have passes of generated keys: pass the --pass-keys of the gates, or sites refuse them");
    }
    let (store, records) = open_store_and_records("--store", &stores.store, stores.timeout())?;
    let job_queues = stores.job_queues(&records, &store)?;
    info!(concurrency = worker.worker_concurrency, "running jobs");
    let directory = Arc::new(Directory::new(store.clone(), Vec::new(), Vec::new()));
    let worker = worker.worker(job_queues, passes).with_queues(store, directory);
    tokio::select! {
        _ = worker.run(stop) => {}
        () = second => warn!("stopped at the second signal: running calls were aborted"),
    }
    Ok(ExitCode::SUCCESS)
}

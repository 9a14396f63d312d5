//! `vestibule apply FILE --to URL`: shows what a settings file would change, then writes it to a store that gates share
//! or to the API of a backoffice.

mod backoffice;
mod plan;

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use vestibule_admin::{Via, audit_queue, audit_tenant};
use vestibule_core::store::{PutMode, PutOutcome, SettingsStore, StoreError};
use vestibule_records::RecordStore;
use vestibule_runtime::open_store_and_records;

use self::plan::{Plan, QueueChange};
use crate::cli::ApplyOptions;
use crate::settings_file::read_settings;

/// Timeout of a store operation. No visitor waits for this command, so it may be long.
const STORE_TIMEOUT: Duration = Duration::from_secs(10);

/// Applies a file. Exit status 1 if a change was not written.
pub(crate) async fn apply(options: ApplyOptions) -> anyhow::Result<ExitCode> {
    let document = read_settings(&options.file, options.origin.as_ref())?;
    if options.to == "memory" {
        bail!("--to must be a Redis URL, such as rediss://:password@host:6379, or the URL of a backoffice");
    }
    if backoffice::is_backoffice(&options.to) {
        return backoffice::apply(&options, &document).await;
    }
    let (store, records) = open_store_and_records("--to", &options.to, STORE_TIMEOUT)?;
    let plan = Plan::of(&*store, &document, options.remove).await.context("cannot read the store")?;
    print!("{plan}");
    if plan.is_empty() {
        println!("No changes.");
        return Ok(ExitCode::SUCCESS);
    }
    if options.dry_run {
        println!("Dry run: nothing was written.");
        return Ok(ExitCode::SUCCESS);
    }
    if !options.yes && !confirm()? {
        println!("Nothing was written.");
        return Ok(ExitCode::FAILURE);
    }
    execute(&*store, &*records, &plan).await
}

/// Prompts for a confirmation on the terminal.
fn confirm() -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("stdin is not a terminal; review with --dry-run, then pass --yes");
    }
    print!("Apply these changes? [y/N] ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Writes and audits a plan. Queues that were changed since the plan was made are reported and left unchanged.
async fn execute(store: &dyn SettingsStore, records: &dyn RecordStore, plan: &Plan) -> anyhow::Result<ExitCode> {
    let mut rejected = 0_usize;
    let via = Via::CommandLine;
    let tenants = store.tenants().await.context("cannot read the tenants")?;
    for (tenant, _) in &plan.tenants {
        store.put_tenant(tenant).await.with_context(|| format!("cannot write tenant {}", tenant.id))?;
        audit_tenant(records, via, tenants.iter().find(|before| before.id == tenant.id), Some(tenant)).await;
    }
    for change in &plan.queues {
        let id = &change.settings.id;
        let before = store.settings(id).await.with_context(|| format!("cannot read queue {id}"))?;
        match write(store, change).await {
            Ok(PutOutcome::Stored(revision)) => {
                let mut after = change.settings.clone();
                after.line.revision = revision;
                audit_queue(records, via, before.as_ref(), Some(&after)).await;
                println!("queue {id}: written, revision {revision}");
            }
            Ok(PutOutcome::Conflict(_) | PutOutcome::Removed) | Err(StoreError::UnknownQueue(_)) => {
                rejected += 1;
                println!("queue {id}: not written: changed by someone else; run apply again");
            }
            Err(error) => return Err(error).with_context(|| format!("cannot write queue {id}")),
        }
    }
    for id in plan.removals() {
        let before = store.settings(id).await.with_context(|| format!("cannot read queue {id}"))?;
        store.remove_queue(id).await.with_context(|| format!("cannot remove queue {id}"))?;
        audit_queue(records, via, before.as_ref(), None).await;
        println!("queue {id}: removed");
    }
    Ok(if rejected == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn write(store: &dyn SettingsStore, change: &QueueChange) -> Result<PutOutcome, StoreError> {
    let mode = change.replaces.map_or(PutMode::Always, PutMode::IfRevision);
    store.put_settings(&change.settings, mode).await
}

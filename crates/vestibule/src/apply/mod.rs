//! `vestibule apply FILE --to URL`: writes a settings file into a store that gates share, or hands it to the backoffice of
//! one, after showing what changes.

mod backoffice;
mod plan;

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use vestibule_admin::{Via, audit_queue, audit_tenant};
use vestibule_core::records::RecordStore;
use vestibule_core::{PutMode, PutOutcome, Store, StoreError};
use vestibule_runtime::open_store_and_records;

use self::plan::{Plan, QueueChange};
use crate::cli::ApplyOptions;
use crate::settings_file::read_settings;

/// How long the store may take for one operation: nobody waits in a line for this.
const PATIENCE: Duration = Duration::from_secs(10);

/// Applies a file. Exit status 1 if something was not written.
pub(crate) async fn apply(options: ApplyOptions) -> anyhow::Result<ExitCode> {
    let document = read_settings(&options.file, options.origin.as_ref())?;
    if options.to == "memory" {
        bail!("--to takes a Redis that the gates share, such as rediss://:password@host:6379, or a backoffice");
    }
    if backoffice::is_backoffice(&options.to) {
        return backoffice::apply(&options, &document).await;
    }
    let (store, records) = open_store_and_records("--to", &options.to, PATIENCE)?;
    let plan = Plan::of(&*store, &document, options.remove).await.context("the store could not be read")?;
    print!("{plan}");
    if plan.is_empty() {
        println!("nothing to change");
        return Ok(ExitCode::SUCCESS);
    }
    if options.dry_run {
        println!("nothing was written, as --dry-run says");
        return Ok(ExitCode::SUCCESS);
    }
    if !options.yes && !confirmed()? {
        println!("nothing was written");
        return Ok(ExitCode::FAILURE);
    }
    carry_out(&*store, &*records, &plan).await
}

/// Asks whoever sits at the terminal.
fn confirmed() -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("nobody is there to be asked: read the plan with --dry-run, then give --yes");
    }
    print!("write this? [y/N] ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Writes and audits what was planned; a queue that somebody else changed meanwhile is left as it is and named.
async fn carry_out(store: &dyn Store, records: &dyn RecordStore, plan: &Plan) -> anyhow::Result<ExitCode> {
    let mut refused = 0_usize;
    let via = Via::CommandLine;
    let tenants = store.tenants().await.context("the tenants could not be read")?;
    for (tenant, _) in &plan.tenants {
        store.put_tenant(tenant).await.with_context(|| format!("tenant {} could not be written", tenant.id))?;
        audit_tenant(records, via, tenants.iter().find(|before| before.id == tenant.id), Some(tenant)).await;
    }
    for change in &plan.queues {
        let id = &change.settings.id;
        let before = store.settings(id).await.with_context(|| format!("queue {id} could not be read"))?;
        match write(store, change).await {
            Ok(PutOutcome::Stored(revision)) => {
                let mut after = change.settings.clone();
                after.line.revision = revision;
                audit_queue(records, via, before.as_ref(), Some(&after)).await;
                println!("queue {id}: written, revision {revision}");
            }
            Ok(PutOutcome::Conflict(_) | PutOutcome::Removed) | Err(StoreError::UnknownQueue(_)) => {
                refused += 1;
                println!("queue {id}: changed by somebody else meanwhile, so not written; apply again to see how");
            }
            Err(error) => return Err(error).with_context(|| format!("queue {id} could not be written")),
        }
    }
    for id in plan.removals() {
        let before = store.settings(id).await.with_context(|| format!("queue {id} could not be read"))?;
        store.remove_queue(id).await.with_context(|| format!("queue {id} could not be removed"))?;
        audit_queue(records, via, before.as_ref(), None).await;
        println!("queue {id}: removed");
    }
    Ok(if refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn write(store: &dyn Store, change: &QueueChange) -> Result<PutOutcome, StoreError> {
    let mode = change.replaces.map_or(PutMode::Always, PutMode::IfRevision);
    store.put_settings(&change.settings, mode).await
}

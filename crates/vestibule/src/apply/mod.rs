//! `vestibule apply FILE --to URL`: shows what a settings file would change, then writes it to a store that gates share
//! or to the API of a backoffice.

pub(crate) mod backoffice;

use std::fmt::Write as _;
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use vestibule_admin::{ImportPlan, PlannedChange, PlannedLobby, Via, audit_queue, audit_tenant, planned_lobbies};
use vestibule_core::settings::{
    FieldChange, KeptReason, Plan, PlanOptions, QueueChange, StoredSettings, TenantChange, Unlisted,
};
use vestibule_core::store::{PutMode, PutOutcome, SettingsStore, StoreError};
use vestibule_records::RecordStore;
use vestibule_runtime::{open_store_and_records, parse_sale_keys, stored_settings};

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
    let unlisted = if options.remove { Unlisted::Remove } else { Unlisted::Keep };
    let stored = stored_settings(&*store, &document, unlisted).await.context("cannot read the store")?;
    let keys =
        options.sale_keys.as_ref().map(|text| parse_sale_keys("--sale-keys", text)).transpose()?.unwrap_or_default();
    let now = records.now().await.context("cannot read the store")?;
    let plan_options = PlanOptions { unlisted, sale_keys: Some(&keys), now: Some(now), ..PlanOptions::default() };
    let mut plan = Plan::of(&stored, document, &plan_options);
    let locked = plan.locked_events(&stored, now);
    let rejected: Vec<_> = plan.invalid_draws.iter().chain(&locked).map(ToString::to_string).collect();
    if !rejected.is_empty() {
        bail!("nothing was written: {}", rejected.join("; "));
    }
    let lobbies = planned_lobbies(&*store, &stored, &plan, now).await.context("cannot read the store")?;
    let lobbies = lobbies.into_iter().map(|(lobby, _)| lobby).collect();
    print!("{}", text_of(&ImportPlan { lobbies, ..ImportPlan::from(&plan) }));
    for id in plan.kept_because(KeptReason::Unreadable) {
        println!("    queue {id} is not in the file and stays; its settings in the store cannot be read");
    }
    for conflict in plan.conflicts().iter().chain(&plan.outside()) {
        println!("    warning: {conflict}");
    }
    if let Some(code) = decide(&options, plan.is_empty())? {
        return Ok(code);
    }
    plan.settle_removed_beacons(&stored, records.now().await.context("cannot read the store")?);
    execute(&*store, &*records, &stored, &plan).await
}

/// The exit status if nothing is to be written: there are no changes, or they are not confirmed.
fn decide(options: &ApplyOptions, is_empty: bool) -> anyhow::Result<Option<ExitCode>> {
    let (result, code) = if is_empty {
        ("No changes.", ExitCode::SUCCESS)
    } else if options.dry_run {
        ("Dry run: nothing was written.", ExitCode::SUCCESS)
    } else if !options.yes && !confirm()? {
        ("Nothing was written.", ExitCode::FAILURE)
    } else {
        return Ok(None);
    };
    println!("{result}");
    Ok(Some(code))
}

/// A plan as lines for a terminal.
fn text_of(plan: &ImportPlan) -> String {
    let mut text = String::new();
    for (kind, changes) in [("tenant", &plan.tenants), ("queue", &plan.queues)] {
        for PlannedChange { id, created, changes } in changes {
            let sign = if *created { '+' } else { '~' };
            let _ = writeln!(text, "  {sign} {kind} {id}");
            for FieldChange { field, from, to } in changes.iter().filter(|_| !created) {
                let _ = writeln!(text, "      {field}: {from} -> {to}");
            }
        }
    }
    for id in &plan.removed {
        let _ = writeln!(text, "  - queue {id}, with all its visitors");
    }
    for PlannedLobby { queue, consequence, .. } in &plan.lobbies {
        let _ = writeln!(text, "  ! queue {queue}: {consequence}");
    }
    for id in &plan.kept {
        let _ = writeln!(text, "    queue {id} is not in the file and stays; --remove removes such queues");
    }
    text
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
async fn execute(
    store: &dyn SettingsStore,
    records: &dyn RecordStore,
    stored: &StoredSettings,
    plan: &Plan,
) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    let via = Via::CommandLine;
    for TenantChange { tenant, .. } in &plan.tenants {
        store.put_tenant(tenant).await.with_context(|| format!("cannot write tenant {}", tenant.id))?;
        audit_tenant(records, via, stored.tenant(&tenant.id), Some(tenant)).await;
    }
    for QueueChange { settings, replaces, .. } in &plan.queues {
        let id = &settings.id;
        match store.put_settings(settings, PutMode::over(*replaces)).await {
            Ok(PutOutcome::Stored(revision)) => {
                let mut after = settings.clone();
                after.line.revision = revision;
                audit_queue(records, via, stored.queue(id), Some(&after)).await;
                println!("queue {id}: written, revision {revision}");
            }
            Ok(PutOutcome::Conflict(_) | PutOutcome::Removed) | Err(StoreError::UnknownQueue(_)) => {
                code = ExitCode::FAILURE;
                println!("queue {id}: not written: changed by someone else; run apply again");
            }
            Err(error) => return Err(error).with_context(|| format!("cannot write queue {id}")),
        }
    }
    for id in &plan.removed {
        store.remove_queue(id).await.with_context(|| format!("cannot remove queue {id}"))?;
        audit_queue(records, via, stored.queue(id), None).await;
        println!("queue {id}: removed");
    }
    Ok(code)
}

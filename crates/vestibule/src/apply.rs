//! `vestibule apply FILE --to URL`: shows what a settings file would change, then writes it to a store that gates share
//! or to the API of a backoffice.

mod backoffice;
mod options;
mod review;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use vestibule_admin::{ImportPlan, Via, audit_job_queues, audit_queue, audit_tenant, planned_lobbies};
use vestibule_core::settings::{KeptReason, Plan, PlanOptions, StoredSettings, TenantChange, Unlisted};
use vestibule_core::store::SettingsStore;
use vestibule_records::RecordStore;
use vestibule_runtime::{
    JobQueues, JobQueuesWritten, is_memory, open_jobs, open_store_and_records, parse_sale_keys, stored_settings,
    write_queue,
};

use self::review::{decide, refuse_removal_of_all, text_of};
use crate::settings_file::read_settings;
use crate::store_options::shown;

pub(crate) use self::options::ApplyOptions;

/// Timeout of a store operation. No visitor waits for this command, so it may be long.
const STORE_TIMEOUT: Duration = Duration::from_secs(10);

/// Applies a file. Exit status 1 if a change was not written.
pub(crate) async fn apply(options: ApplyOptions) -> anyhow::Result<ExitCode> {
    let document = read_settings(&options.file, options.origin.as_ref())?;
    if is_memory(&options.to) {
        bail!("--to must be a Redis URL, such as rediss://:password@host:6379, or the URL of a backoffice");
    }
    if backoffice::is_backoffice(&options.to) {
        return backoffice::apply(&options, &document).await;
    }
    let (store, records) = open_store_and_records("--to", &options.to, STORE_TIMEOUT)?;
    let unread = || format!("cannot read the store at {}", shown(&options.to));
    let unlisted = if options.remove { Unlisted::Remove } else { Unlisted::Keep };
    let (flag, jobs) = options.jobs.as_ref().map_or(("--to", &options.to), |jobs| ("--jobs", jobs));
    let backend = open_jobs(flag, jobs, &options.to, STORE_TIMEOUT, 0)?;
    let job_queues = JobQueues::new(records.clone(), store.clone(), backend);
    let mut stored = stored_settings(&*store, &document, unlisted).await.with_context(unread)?;
    job_queues.read_into(&mut stored).await.with_context(unread)?;
    let keys =
        options.sale_keys.as_ref().map(|text| parse_sale_keys("--sale-keys", text)).transpose()?.unwrap_or_default();
    let now = records.now().await.with_context(unread)?;
    let has_queues = !document.queues.is_empty();
    let plan_options = PlanOptions { unlisted, sale_keys: Some(&keys), now: Some(now), ..PlanOptions::default() };
    let mut plan = Plan::of(&stored, document, &plan_options);
    let rejected: Vec<_> = plan.rejections(&stored, now).iter().map(ToString::to_string).collect();
    if !rejected.is_empty() {
        bail!("nothing was written: {}", rejected.join("; "));
    }
    let lobbies = planned_lobbies(&*store, &stored, &plan, now).await.with_context(unread)?;
    let lobbies = lobbies.into_iter().map(|(lobby, _)| lobby).collect();
    let shown_plan = ImportPlan { lobbies, ..ImportPlan::from(&plan) };
    refuse_removal_of_all(&options, has_queues, &shown_plan)?;
    print!("{}", text_of(&shown_plan));
    for id in plan.kept_because(KeptReason::Unreadable) {
        println!("    queue {id} is not in the file and stays; its settings in the store cannot be read");
    }
    for warning in plan.warnings() {
        println!("    warning: {warning}");
    }
    if let Some(code) = decide(&options, plan.is_empty())? {
        return Ok(code);
    }
    plan.settle_removed_beacons(&stored, records.now().await.with_context(unread)?);
    // Queues and job queues of the document may need what the tenants allow.
    let is_written = write_tenants(&*store, &*records, &stored, &plan).await? && {
        let are_queues_written = write_queues(&*store, &*records, &stored, &plan).await?;
        write_job_queues(&job_queues, &*records, &plan).await? && are_queues_written
    };
    Ok(if is_written { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Writes and audits the job queues of a plan. Returns whether all were written.
async fn write_job_queues(job_queues: &JobQueues, records: &dyn RecordStore, plan: &Plan) -> anyhow::Result<bool> {
    let outcome = job_queues.execute(&plan.job_queues).await.context("cannot write the job queues")?;
    audit_job_queues(records, Via::CommandLine, &plan.job_queues, &outcome).await;
    let JobQueuesWritten { written, removed, skipped, not_empty } = outcome;
    for settings in &written {
        println!("job queue {}: written", settings.id);
    }
    for id in &removed {
        println!("job queue {id}: removed");
    }
    for id in &not_empty {
        println!("job queue {id}: not removed: it has jobs or dead letters");
    }
    for id in &skipped {
        println!("job queue {id}: not written: changed by someone else; run apply again");
    }
    Ok(skipped.is_empty() && not_empty.is_empty())
}

/// Writes and audits the tenants of a plan. Returns `false` at the first one that was changed since the plan was made.
async fn write_tenants(
    store: &dyn SettingsStore,
    records: &dyn RecordStore,
    stored: &StoredSettings,
    plan: &Plan,
) -> anyhow::Result<bool> {
    for TenantChange { tenant, .. } in &plan.tenants {
        let id = &tenant.id;
        let written = store.replace_tenant(stored.tenant(id), tenant).await;
        if !written.with_context(|| format!("cannot write tenant {id}"))? {
            println!("tenant {id}: not written: changed by someone else; run apply again");
            return Ok(false);
        }
        audit_tenant(records, Via::CommandLine, stored.tenant(id), Some(tenant)).await;
    }
    Ok(true)
}

/// Writes and audits the queues of a plan. Queues that were changed since the plan was made are reported and left unchanged. Returns
/// whether there were none.
async fn write_queues(
    store: &dyn SettingsStore,
    records: &dyn RecordStore,
    stored: &StoredSettings,
    plan: &Plan,
) -> anyhow::Result<bool> {
    let mut are_written = true;
    let via = Via::CommandLine;
    for change in &plan.queues {
        let id = &change.settings.id;
        if let Some(revision) = write_queue(store, change).await.with_context(|| format!("cannot write queue {id}"))? {
            let mut after = change.settings.clone();
            after.line.revision = revision;
            audit_queue(records, via, stored.queue(id), Some(&after)).await;
            println!("queue {id}: written, revision {revision}");
        } else {
            are_written = false;
            println!("queue {id}: not written: changed by someone else; run apply again");
        }
    }
    for id in &plan.removed {
        store.remove_queue(id).await.with_context(|| format!("cannot remove queue {id}"))?;
        audit_queue(records, via, stored.queue(id), None).await;
        println!("queue {id}: removed");
    }
    Ok(are_written)
}

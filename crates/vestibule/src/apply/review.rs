//! Shows a plan, and asks whether it is to be executed.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use vestibule_admin::{ImportPlan, PlannedChange, PlannedLobby};
use vestibule_core::settings::FieldChange;

use super::options::ApplyOptions;
use crate::prompt::prompt;

/// The exit status if nothing is to be written: there are no changes, or they are not confirmed.
pub(super) fn decide(options: &ApplyOptions, is_empty: bool) -> anyhow::Result<Option<ExitCode>> {
    let (result, code) = if is_empty {
        ("No changes.", ExitCode::SUCCESS)
    } else if options.dry_run {
        ("Dry run: nothing was written.", ExitCode::SUCCESS)
    } else if !options.yes && !prompt("Apply these changes?", "review with --dry-run, then pass --yes")? {
        ("Nothing was written.", ExitCode::FAILURE)
    } else {
        return Ok(None);
    };
    println!("{result}");
    Ok(Some(code))
}

/// Refuses to remove queues for a file without any: editors leave an empty file for a moment while they save.
pub(super) fn refuse_removal_of_all(options: &ApplyOptions, has_queues: bool, plan: &ImportPlan) -> anyhow::Result<()> {
    if !has_queues && !plan.removed.is_empty() {
        bail!(
            "{} has no queues: --remove would remove all that are stored, with their visitors",
            options.file.display()
        );
    }
    Ok(())
}

/// A plan as lines for a terminal.
pub(super) fn text_of(plan: &ImportPlan) -> String {
    let mut text = String::new();
    for (kind, changes) in [("tenant", &plan.tenants), ("queue", &plan.queues), ("job queue", &plan.job_queues)] {
        for PlannedChange { id, created, replaces_unreadable, changes } in changes {
            let sign = if *created { '+' } else { '~' };
            let _ = writeln!(text, "  {sign} {kind} {id}");
            if *replaces_unreadable {
                let _ = writeln!(text, "      replaces settings that cannot be read");
            }
            for FieldChange { field, from, to } in changes.iter().filter(|_| !created && !replaces_unreadable) {
                let _ = writeln!(text, "      {field}: {from} -> {to}");
            }
        }
    }
    for id in &plan.removed {
        let _ = writeln!(text, "  - queue {id}, with all its visitors");
    }
    for id in &plan.removed_job_queues {
        let _ = writeln!(text, "  - job queue {id}, if it has no jobs");
    }
    for PlannedLobby { queue, consequence, .. } in &plan.lobbies {
        let _ = writeln!(text, "  ! queue {queue}: {consequence}");
    }
    for id in &plan.kept {
        let _ = writeln!(text, "    queue {id} is not in the file and stays; --remove removes such queues");
    }
    text
}

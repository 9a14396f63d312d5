//! `vestibule schedules`: shows and runs the schedules of job queues.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use http::Method;
use vestibule_core::{Micros, ScheduleId, Timestamp};

use crate::api_client::{ApiRequest, print_job};
use crate::jobs::JobQueueOptions;

#[derive(Subcommand)]
pub(crate) enum SchedulesCommand {
    /// List the schedules of a job queue with their next runs
    List(JobQueueOptions),
    /// Enqueue a job of a schedule now, and print its ID
    Run(RunOptions),
}

#[derive(Args)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    of: JobQueueOptions,

    /// ID of the schedule
    #[arg(value_name = "SCHEDULE")]
    schedule: ScheduleId,
}

/// Runs a command about schedules.
pub(crate) async fn schedules(command: SchedulesCommand) -> anyhow::Result<ExitCode> {
    match command {
        SchedulesCommand::List(options) => list(&options).await?,
        SchedulesCommand::Run(RunOptions { of: JobQueueOptions { job_queue, api }, schedule }) => {
            let path = format!("/job-queues/{job_queue}/schedules/{schedule}/run");
            print_job(&api.client()?.send(ApiRequest::new(Method::POST, &path)).await?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the schedules as a table.
async fn list(JobQueueOptions { job_queue, api }: &JobQueueOptions) -> anyhow::Result<()> {
    let path = format!("/job-queues/{job_queue}/schedules");
    let list = api.client()?.send(ApiRequest::new(Method::GET, &path)).await?;
    println!("{:<30} {:<24} {:<24} NEXT RUN", "SCHEDULE", "TIMES", "TIME ZONE");
    for schedule in list["schedules"].as_array().into_iter().flatten() {
        let [id, cron, zone] = ["id", "cron", "time_zone"].map(|name| schedule[name].as_str().unwrap_or_default());
        let next = schedule["next_run_at"].as_u64().map(|seconds| Timestamp::of(Micros(0).add_seconds(seconds)));
        let next = next.map_or_else(|| "never".to_owned(), |next| next.to_string());
        println!("{id:<30} {cron:<24} {zone:<24} {next}");
    }
    Ok(())
}

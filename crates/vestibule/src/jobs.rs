//! `vestibule jobs`: shows and operates job queues.

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, Subcommand};
use http::Method;
use serde_json::{Value, json};
use vestibule_core::jobs::{JobId, JobQueueId};

use crate::api_client::{ApiClient, ApiOptions, ApiRequest};
use crate::prompt::prompt;

#[derive(Subcommand)]
pub(crate) enum JobsCommand {
    /// List the job queues with their jobs
    List(ApiOptions),
    /// Show a job as JSON: its state, its attempts and its payload
    Show(ShowOptions),
    /// Run dead letters of a job queue again
    Retry(RetryOptions),
    /// Delete the waiting jobs of a job queue, after a confirmation
    Drain(DrainOptions),
    /// Start no more jobs of a job queue; jobs are still accepted
    Pause(JobQueueOptions),
    /// Start jobs of a job queue again
    Resume(JobQueueOptions),
}

#[derive(Args)]
pub(crate) struct JobQueueOptions {
    /// ID of the job queue
    #[arg(value_name = "JOB_QUEUE")]
    pub(crate) job_queue: JobQueueId,

    #[command(flatten)]
    pub(crate) api: ApiOptions,
}

#[derive(Args)]
pub(crate) struct ShowOptions {
    #[command(flatten)]
    of: JobQueueOptions,

    /// ID of the job
    #[arg(value_name = "JOB")]
    job: JobId,
}

#[derive(Args)]
pub(crate) struct RetryOptions {
    /// ID of the job queue
    #[arg(value_name = "JOB_QUEUE")]
    job_queue: JobQueueId,

    /// IDs of the jobs
    #[arg(value_name = "JOB", required_unless_present = "all", conflicts_with = "all")]
    jobs: Vec<JobId>,

    /// Retry all dead letters
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    api: ApiOptions,
}

#[derive(Args)]
pub(crate) struct DrainOptions {
    /// ID of the job queue
    #[arg(value_name = "JOB_QUEUE")]
    job_queue: JobQueueId,

    /// Skip the confirmation prompt
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    api: ApiOptions,
}

/// Runs a command about job queues.
pub(crate) async fn jobs(command: JobsCommand) -> anyhow::Result<ExitCode> {
    match command {
        JobsCommand::List(api) => list(&api.client()?).await?,
        JobsCommand::Show(ShowOptions { of: JobQueueOptions { job_queue, api }, job }) => {
            let path = format!("/job-queues/{job_queue}/jobs/{job}");
            let job = api.client()?.send(ApiRequest::new(Method::GET, &path)).await?;
            println!("{}", serde_json::to_string_pretty(&job)?);
        }
        JobsCommand::Retry(options) => retry(&options).await?,
        JobsCommand::Drain(options) => return drain(&options).await,
        JobsCommand::Pause(options) => set_paused(&options, "pause", "paused").await?,
        JobsCommand::Resume(options) => set_paused(&options, "resume", "resumed").await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the job queues as a table.
async fn list(client: &ApiClient) -> anyhow::Result<()> {
    let list = client.send(ApiRequest::new(Method::GET, "/job-queues")).await?;
    let job_queues = list["job_queues"].as_array().map_or(&[][..], Vec::as_slice);
    println!("{:<45} {:>8} {:>8} {:>8} {:>10}  STATE", "JOB QUEUE", "WAITING", "RUNNING", "DEAD", "OLDEST");
    for job_queue in job_queues {
        let (settings, stats) = (&job_queue["settings"], &job_queue["stats"]);
        let count = |name: &str| stats[name].as_u64().map_or_else(|| "-".to_owned(), |count| count.to_string());
        let oldest = stats["oldest_age"].as_u64().map_or_else(|| "-".to_owned(), |age| format!("{age} s"));
        let activity = if settings["paused"] == true { "paused" } else { "running" };
        let id = settings["id"].as_str().unwrap_or_default();
        let [waiting, running, dead] = ["waiting", "running", "dead"].map(count);
        println!("{id:<45} {waiting:>8} {running:>8} {dead:>8} {oldest:>10}  {activity}");
    }
    Ok(())
}

async fn retry(options: &RetryOptions) -> anyhow::Result<()> {
    let RetryOptions { job_queue, jobs, all, api } = options;
    let client = api.client()?;
    // A job that is named twice is one dead letter.
    let jobs: BTreeSet<_> = jobs.iter().collect();
    let body = if *all { json!({ "all": true }) } else { json!({ "job_ids": jobs }) };
    let path = format!("/job-queues/{job_queue}/dead-letters/replay");
    let mut replayed = 0;
    loop {
        let done = client.send(ApiRequest::new(Method::POST, &path).json(&body)).await?;
        replayed += done["replayed"].as_u64().unwrap_or_default();
        if done["complete"] != false {
            break;
        }
    }
    println!("{replayed} jobs of {job_queue} run again");
    if replayed < jobs.len() as u64 {
        bail!("{} of the jobs are no dead letters of {job_queue}", jobs.len() as u64 - replayed);
    }
    Ok(())
}

/// Exit status 1 if the operator declines, or jobs are left.
async fn drain(options: &DrainOptions) -> anyhow::Result<ExitCode> {
    let DrainOptions { job_queue, yes, api } = options;
    let path = format!("/job-queues/{job_queue}/drain");
    let confirm = |consequence: &str| {
        if *yes {
            return Ok(true);
        }
        prompt(&format!("{consequence} Continue?"), &format!("pass --yes to confirm: {consequence}"))
    };
    let Some(done) = api.client()?.send_confirmed(Method::POST, &path, confirm).await? else {
        println!("Nothing was deleted.");
        return Ok(ExitCode::FAILURE);
    };
    println!("{} waiting jobs of {job_queue} deleted", done["canceled"]);
    if done["complete"] == false {
        println!("there are more; run drain again");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

async fn set_paused(options: &JobQueueOptions, action: &str, done: &str) -> anyhow::Result<()> {
    let JobQueueOptions { job_queue, api } = options;
    let path = format!("/job-queues/{job_queue}/{action}");
    let _: Value = api.client()?.send(ApiRequest::new(Method::POST, &path)).await?;
    println!("{job_queue} is {done}");
    Ok(())
}

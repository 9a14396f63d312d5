//! `vestibule jobs`: shows and operates job queues.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use http::Method;
use serde_json::Value;
use vestibule_core::jobs::{JobId, JobQueueId};

use crate::api_client::{ApiClient, ApiOptions, ApiRequest};

#[derive(Subcommand)]
pub(crate) enum JobsCommand {
    /// List the job queues with their jobs
    List(ListOptions),
    /// Show a job as JSON: its state, its attempts and its payload
    Show(ShowOptions),
    /// Start no more jobs of a job queue; jobs are still accepted
    Pause(JobQueueOptions),
    /// Start jobs of a job queue again
    Resume(JobQueueOptions),
}

#[derive(Args)]
pub(crate) struct ListOptions {
    #[command(flatten)]
    api: ApiOptions,
}

#[derive(Args)]
pub(crate) struct JobQueueOptions {
    /// ID of the job queue
    #[arg(value_name = "JOB_QUEUE")]
    job_queue: JobQueueId,

    #[command(flatten)]
    api: ApiOptions,
}

#[derive(Args)]
pub(crate) struct ShowOptions {
    /// ID of the job queue
    #[arg(value_name = "JOB_QUEUE")]
    job_queue: JobQueueId,

    /// ID of the job
    #[arg(value_name = "JOB")]
    job: JobId,

    #[command(flatten)]
    api: ApiOptions,
}

/// Runs a command about job queues.
pub(crate) async fn jobs(command: JobsCommand) -> anyhow::Result<ExitCode> {
    match command {
        JobsCommand::List(options) => list(&ApiClient::new(&options.api)?).await?,
        JobsCommand::Show(ShowOptions { job_queue, job, api }) => {
            let path = format!("/job-queues/{job_queue}/jobs/{job}");
            let job = ApiClient::new(&api)?.send(ApiRequest::new(Method::GET, &path)).await?;
            println!("{}", serde_json::to_string_pretty(&job)?);
        }
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
        let state = if settings["paused"] == true { "paused" } else { "running" };
        let id = settings["id"].as_str().unwrap_or_default();
        let [waiting, running, dead] = ["waiting", "running", "dead"].map(count);
        println!("{id:<45} {waiting:>8} {running:>8} {dead:>8} {oldest:>10}  {state}");
    }
    Ok(())
}

async fn set_paused(options: &JobQueueOptions, action: &str, done: &str) -> anyhow::Result<()> {
    let JobQueueOptions { job_queue, api } = options;
    let path = format!("/job-queues/{job_queue}/{action}");
    let _: Value = ApiClient::new(api)?.send(ApiRequest::new(Method::POST, &path)).await?;
    println!("{job_queue} is {done}");
    Ok(())
}

//! `vestibule jobs`: shows and operates job queues.

use std::collections::HashSet;
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
    /// Show a job as JSON: its state, its attempts, its progress, its payload and its result
    Show(ShowOptions),
    /// Run dead letters of a job queue again
    #[command(override_usage = "vestibule jobs retry [OPTIONS] --api-url <URL> <JOB_QUEUE> <JOB>...\n       \
                                vestibule jobs retry [OPTIONS] --api-url <URL> <JOB_QUEUE> --all")]
    Retry(DeadLetterOptions),
    /// Delete dead letters of a job queue; all of them after a confirmation
    #[command(override_usage = "vestibule jobs delete [OPTIONS] --api-url <URL> <JOB_QUEUE> <JOB>...\n       \
                                vestibule jobs delete [OPTIONS] --api-url <URL> <JOB_QUEUE> --all")]
    Delete(DeleteOptions),
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

    /// ID of the job, or the code that a visitor quotes
    #[arg(value_name = "JOB", value_parser = JobId::from_code)]
    job: JobId,
}

#[derive(Args)]
pub(crate) struct DeadLetterOptions {
    /// ID of the job queue
    #[arg(value_name = "JOB_QUEUE")]
    job_queue: JobQueueId,

    #[command(flatten)]
    selected: Selected,

    #[command(flatten)]
    api: ApiOptions,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Selected {
    /// IDs of the jobs
    #[arg(value_name = "JOB", value_parser = JobId::from_code)]
    jobs: Vec<JobId>,

    /// All dead letters
    #[arg(long)]
    all: bool,
}

impl DeadLetterOptions {
    /// The jobs, in the order of the arguments. One that is named twice is one dead letter.
    fn jobs(&self) -> Vec<&JobId> {
        let mut named = HashSet::new();
        self.selected.jobs.iter().filter(|job| named.insert(*job)).collect()
    }

    /// The body of a request about them.
    fn selection(&self) -> Value {
        if self.selected.all { json!({ "all": true }) } else { json!({ "job_ids": self.jobs() }) }
    }

    /// Fails if some of the jobs were no dead letters.
    fn check_found(&self, found: u64) -> anyhow::Result<()> {
        let missing = (self.jobs().len() as u64).saturating_sub(found);
        if missing > 0 {
            bail!("{missing} of the jobs are no dead letters of {}", self.job_queue);
        }
        Ok(())
    }
}

#[derive(Args)]
pub(crate) struct DeleteOptions {
    #[command(flatten)]
    of: DeadLetterOptions,

    /// Skip the confirmation prompt
    #[arg(long)]
    yes: bool,
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
        JobsCommand::Delete(options) => return delete(&options).await,
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

async fn retry(options: &DeadLetterOptions) -> anyhow::Result<()> {
    let job_queue = &options.job_queue;
    let (client, body) = (options.api.client()?, options.selection());
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
    options.check_found(replayed)
}

/// Asks whether a consequence is wanted, unless `--yes` has said so.
fn ask(yes: bool, consequence: &str) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    prompt(&format!("{consequence} Continue?"), &format!("pass --yes to confirm: {consequence}"))
}

/// Exit status 1 if the operator declines, or dead letters are left.
async fn delete(options: &DeleteOptions) -> anyhow::Result<ExitCode> {
    let DeleteOptions { of, yes } = options;
    let job_queue = &of.job_queue;
    let path = format!("/job-queues/{job_queue}/dead-letters/delete");
    let request = ApiRequest::new(Method::POST, &path).json(&of.selection());
    let Some(done) = of.api.client()?.send_confirmed(request, |consequence| ask(*yes, consequence)).await? else {
        println!("Nothing was deleted.");
        return Ok(ExitCode::FAILURE);
    };
    let deleted = done["deleted"].as_u64().unwrap_or_default();
    println!("{deleted} dead letters of {job_queue} deleted");
    if done["complete"] == false {
        println!("there are more; run delete again");
        return Ok(ExitCode::FAILURE);
    }
    of.check_found(deleted)?;
    Ok(ExitCode::SUCCESS)
}

/// Exit status 1 if the operator declines, or jobs are left.
async fn drain(options: &DrainOptions) -> anyhow::Result<ExitCode> {
    let DrainOptions { job_queue, yes, api } = options;
    let path = format!("/job-queues/{job_queue}/drain");
    let request = ApiRequest::new(Method::POST, &path);
    let Some(done) = api.client()?.send_confirmed(request, |consequence| ask(*yes, consequence)).await? else {
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

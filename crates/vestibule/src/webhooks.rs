//! `vestibule webhooks`: tests the webhooks of job queues.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use http::Method;
use vestibule_core::jobs::JobQueueId;

use crate::api_client::{ApiOptions, ApiRequest, print_job};

#[derive(Subcommand)]
pub(crate) enum WebhooksCommand {
    /// Enqueue an event that tests the webhook of a job queue, and print the ID of its job
    Test(TestOptions),
}

#[derive(Args)]
pub(crate) struct TestOptions {
    /// ID of the job queue
    #[arg(value_name = "JOB_QUEUE")]
    job_queue: JobQueueId,

    #[command(flatten)]
    api: ApiOptions,
}

/// Runs a command about webhooks.
pub(crate) async fn webhooks(command: WebhooksCommand) -> anyhow::Result<ExitCode> {
    let WebhooksCommand::Test(TestOptions { job_queue, api }) = command;
    let path = format!("/job-queues/{job_queue}/webhook/test");
    print_job(&api.client()?.send(ApiRequest::new(Method::POST, &path)).await?)?;
    Ok(ExitCode::SUCCESS)
}

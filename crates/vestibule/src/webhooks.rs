//! `vestibule webhooks`: tests the webhooks of job queues.

use std::process::ExitCode;

use clap::Subcommand;
use http::Method;

use crate::api_client::{ApiRequest, print_job};
use crate::jobs::JobQueueOptions;

#[derive(Subcommand)]
pub(crate) enum WebhooksCommand {
    /// Enqueue an event that tests the webhook of a job queue, and print the ID of its job
    Test(JobQueueOptions),
}

/// Runs a command about webhooks.
pub(crate) async fn webhooks(command: WebhooksCommand) -> anyhow::Result<ExitCode> {
    let WebhooksCommand::Test(JobQueueOptions { job_queue, api }) = command;
    let path = format!("/job-queues/{job_queue}/webhook/test");
    print_job(&api.client()?.send(ApiRequest::new(Method::POST, &path)).await?)?;
    Ok(ExitCode::SUCCESS)
}

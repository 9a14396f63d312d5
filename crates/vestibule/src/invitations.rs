//! `vestibule invitations QUEUE BATCH --to URL`: prints the codes of a batch, which the backoffice derives from its sale keys.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use http::Method;
use vestibule_core::settings::CODES_MAX;
use vestibule_core::{BatchId, QueueId};

use crate::api_client::{ADMIN_TOKEN, ApiClient, ApiRequest, Endpoint, json_of};

#[derive(Args)]
pub(crate) struct InvitationsOptions {
    /// ID of the queue
    #[arg(value_name = "QUEUE")]
    pub(crate) queue: QueueId,

    /// ID of the batch
    #[arg(value_name = "BATCH")]
    pub(crate) batch: BatchId,

    /// The backoffice at https://..; requires an API token of an operator of the queue in `VESTIBULE_ADMIN_TOKEN`
    #[arg(long, value_name = "URL")]
    pub(crate) to: String,

    /// Number of the first code
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=CODES_MAX), value_name = "NUMBER")]
    pub(crate) from: u64,

    /// How many codes; by default all
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=CODES_MAX), value_name = "COUNT")]
    pub(crate) count: Option<u64>,
}

/// Codes of a request. A backoffice in functions behind a load balancer sends at most 1 MB.
const CODES_PER_REQUEST: u64 = 5_000;

/// Prints `number,code,link`.
pub(crate) async fn invitations(options: InvitationsOptions) -> anyhow::Result<ExitCode> {
    let owner = "an operator of the queue";
    let client = ApiClient::new(&Endpoint { url: &options.to, flag: "--to", token: ADMIN_TOKEN, owner })?;
    let batch = format!("/queues/{}/invitations/{}/codes", options.queue, options.batch);
    let mut left = options.count.unwrap_or(CODES_MAX);
    let mut from = options.from;
    let mut out = std::io::stdout().lock();
    let mut with_header = true;
    while left > 0 && from <= CODES_MAX {
        let count = left.min(CODES_PER_REQUEST);
        let page = codes(&client, &format!("{batch}?from={from}&count={count}")).await?;
        let mut lines = page.lines();
        let header = lines.next().filter(|_| with_header);
        with_header = false;
        let rows: Vec<&str> = lines.collect();
        for line in header.iter().chain(&rows) {
            writeln!(out, "{line}")?;
        }
        if (rows.len() as u64) < count {
            break;
        }
        (from, left) = (from + count, left - count);
    }
    Ok(ExitCode::SUCCESS)
}

/// A page of codes as CSV.
async fn codes(client: &ApiClient, path: &str) -> anyhow::Result<String> {
    let (status, body) = client.answer(ApiRequest::new(Method::GET, path)).await?;
    if status != 200 {
        return Err(client.refusal(status, &json_of(&body)));
    }
    String::from_utf8(body.to_vec()).context("the backoffice sent no text")
}

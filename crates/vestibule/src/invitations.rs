//! `vestibule invitations QUEUE BATCH --to URL`: prints the codes of a batch, which the backoffice derives from its sale keys.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use clap::Args;
use http::{Request, Uri, header};
use vestibule_core::settings::CODES_MAX;
use vestibule_core::{BatchId, QueueId};
use vestibule_http_client::{HttpClient, Options};

use crate::apply::backoffice::{TOKEN_VARIABLE, is_private, refusal};

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

/// Timeout of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Codes of a request. A backoffice in functions behind a load balancer sends at most 1 MB.
const CODES_PER_REQUEST: u64 = 5_000;
/// Maximum size of a response body.
const RESPONSE_MAX: usize = 4 << 20;

/// Prints `number,code,link`.
pub(crate) async fn invitations(options: InvitationsOptions) -> anyhow::Result<ExitCode> {
    let to = options.to.trim_end_matches('/');
    let is_valid = to.parse::<Uri>().is_ok_and(|uri| is_private(&uri)) && !to.contains(['?', '#', '@']);
    if !is_valid {
        bail!(
            "--to must be an https:// URL, such as https://admin.example.com; http:// is allowed on this machine only, since the token is sent there"
        );
    }
    let Some(token) = vestibule_runtime::variable(TOKEN_VARIABLE) else {
        bail!("{TOKEN_VARIABLE} is not set; create an API token of an operator in the dashboard");
    };
    let client =
        HttpClient::new(Options { timeout: REQUEST_TIMEOUT, response_max: RESPONSE_MAX, ..Options::default() })?;
    let address = format!("{to}/api/v1/queues/{}/invitations/{}/codes", options.queue, options.batch);
    let mut left = options.count.unwrap_or(CODES_MAX);
    let mut from = options.from;
    let mut out = std::io::stdout().lock();
    let mut with_header = true;
    while left > 0 && from <= CODES_MAX {
        let count = left.min(CODES_PER_REQUEST);
        let page = codes(&client, &format!("{address}?from={from}&count={count}"), token.trim()).await?;
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
async fn codes(client: &HttpClient, address: &str, token: &str) -> anyhow::Result<String> {
    let request = Request::get(address).header(header::AUTHORIZATION, format!("Bearer {token}")).body(Bytes::new());
    let request = request.with_context(|| format!("{TOKEN_VARIABLE} is not a valid token"))?;
    let response = client.send(request).await.context("cannot reach the backoffice")?;
    let status = response.status().as_u16();
    if status != 200 {
        bail!("{}", refusal(status, &serde_json::from_slice(response.body()).unwrap_or_default()));
    }
    String::from_utf8(response.body().to_vec()).context("the backoffice sent no text")
}

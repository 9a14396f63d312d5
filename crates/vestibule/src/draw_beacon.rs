//! `vestibule draw-beacon`: records the value of the beacon of a draw in a backoffice.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use clap::Args;
use http::{Method, Request, Uri, header};
use serde_json::{Value, json};
use vestibule_core::settings::{Beacon, BeaconRound, DRAND_RELAY};
use vestibule_core::{EventId, QueueId, Timestamp};
use vestibule_http_client::{HttpClient, Options};

use crate::apply::backoffice::{TOKEN_VARIABLE, is_private, refusal};
use crate::relay::Relay;

#[derive(Args)]
pub(crate) struct DrawBeaconOptions {
    /// ID of the queue
    #[arg(value_name = "QUEUE")]
    pub(crate) queue: QueueId,

    /// ID of the event
    #[arg(value_name = "EVENT")]
    pub(crate) event: EventId,

    /// The backoffice at https://..; requires an API token of an operator of the queue in `VESTIBULE_ADMIN_TOKEN`
    #[arg(long, value_name = "URL")]
    pub(crate) to: String,

    /// Relay of drand from which the round is read
    #[arg(long, default_value = DRAND_RELAY, value_name = "URL")]
    pub(crate) relay: String,

    /// Round of the beacon, instead of reading it from a relay
    #[arg(long, requires = "signature", value_name = "N")]
    pub(crate) round: Option<u64>,

    /// Signature of the round in hexadecimal digits
    #[arg(long, requires = "round", value_name = "HEX")]
    pub(crate) signature: Option<String>,
}

/// Timeout of a request to the backoffice.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Records the value of the beacon of an event. Exit status 0 as well if it was recorded before.
pub(crate) async fn draw_beacon(options: DrawBeaconOptions) -> anyhow::Result<ExitCode> {
    let backoffice = Backoffice::new(&options)?;
    let (round, signature) = if let (Some(round), Some(signature)) = (options.round, &options.signature) {
        (round, signature.clone())
    } else {
        let Some(named) = backoffice.named_round().await? else { return Ok(recorded_before(&options)) };
        (named.round, Relay::new(&options.relay).context("--relay")?.signature(named).await?)
    };
    let body = json!({ "round": round, "signature": signature });
    let (status, answer) = backoffice.send(Method::POST, "/beacon", Bytes::from(body.to_string())).await?;
    if status == 409 && answer["code"] == "beacon_recorded" {
        return Ok(recorded_before(&options));
    }
    if status != 200 {
        bail!("{}", refusal(status, &answer));
    }
    let beacon = &answer["draw"]["beacon"];
    println!("round {round} recorded at {}", text(&beacon["received_at"]));
    println!("randomness {}", text(&beacon["randomness"]));
    println!("admissions begin at {}", text(&answer["draw"]["ends_at"]));
    Ok(ExitCode::SUCCESS)
}

fn recorded_before(options: &DrawBeaconOptions) -> ExitCode {
    println!("the value of the beacon of the event \"{}\" was recorded before", options.event);
    ExitCode::SUCCESS
}

/// An event in a backoffice.
struct Backoffice {
    event: String,
    token: String,
    client: HttpClient,
}

impl Backoffice {
    fn new(options: &DrawBeaconOptions) -> anyhow::Result<Self> {
        let DrawBeaconOptions { queue, event, to, .. } = options;
        let address = format!("{}/api/v1/queues/{queue}/events/{event}", to.trim_end_matches('/'));
        if !address.parse::<Uri>().is_ok_and(|uri| is_private(&uri)) || to.contains(['?', '#', '@']) {
            bail!(
                "--to must be an https:// URL, such as https://admin.example.com; http:// is allowed on this machine only, since the token is sent there"
            );
        }
        let Some(token) = vestibule_runtime::variable(TOKEN_VARIABLE) else {
            bail!("{TOKEN_VARIABLE} is not set; create an API token of an operator of the queue in the dashboard");
        };
        let options = Options { timeout: REQUEST_TIMEOUT, ..Options::default() };
        Ok(Self { event: address, token: token.trim().to_owned(), client: HttpClient::new(options)? })
    }

    /// The round that the event names; `None` if its value was recorded before.
    async fn named_round(&self) -> anyhow::Result<Option<BeaconRound>> {
        let (status, event) = self.send(Method::GET, "", Bytes::new()).await?;
        if status != 200 {
            bail!("{}", refusal(status, &event));
        }
        let shown = &event["draw"]["beacon"];
        let round = shown["round"].as_u64();
        let published_at = shown["published_at"].as_str().and_then(|text| text.parse::<Timestamp>().ok());
        let (Some(round), Some(published_at)) = (round, published_at) else { bail!("the event has no beacon") };
        match shown["status"].as_str() {
            Some("recorded") => Ok(None),
            Some("announced") => bail!("round {round} is published at {published_at}; try again then"),
            _ => Ok(Some(BeaconRound { beacon: Beacon::DrandQuicknet, round, published_at })),
        }
    }

    async fn send(&self, method: Method, below: &str, body: Bytes) -> anyhow::Result<(u16, Value)> {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{below}", self.event))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .body(body)
            .with_context(|| format!("{TOKEN_VARIABLE} is not a valid token"))?;
        let response = self.client.send(request).await.context("cannot reach the backoffice")?;
        Ok((response.status().as_u16(), serde_json::from_slice(response.body()).unwrap_or_default()))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

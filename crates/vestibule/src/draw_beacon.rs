//! `vestibule draw-beacon`: records the value of the beacon of a draw in a backoffice.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use http::Method;
use serde_json::{Value, json};
use vestibule_core::settings::{Beacon, BeaconRound, DRAND_RELAY};
use vestibule_core::{EventId, QueueId, Timestamp};

use crate::api_client::{ADMIN_TOKEN, ApiClient, ApiRequest, Endpoint, json_of};
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

/// Records the value of the beacon of an event. Exit status 0 as well if it was recorded before.
pub(crate) async fn draw_beacon(options: DrawBeaconOptions) -> anyhow::Result<ExitCode> {
    let owner = "an operator of the queue";
    let client = ApiClient::new(&Endpoint { url: &options.to, flag: "--to", token: ADMIN_TOKEN, owner })?;
    let event = format!("/queues/{}/events/{}", options.queue, options.event);
    let (round, signature) = if let (Some(round), Some(signature)) = (options.round, &options.signature) {
        (round, signature.clone())
    } else {
        let Some(named) = named_round(&client, &event).await? else { return Ok(recorded_before(&options)) };
        (named.round, Relay::new(&options.relay).context("--relay")?.signature(named).await?)
    };
    let body = json!({ "round": round, "signature": signature });
    let path = format!("{event}/beacon");
    let (status, answer) = client.answer(ApiRequest::new(Method::POST, &path).json(&body)).await?;
    let answer = json_of(&answer);
    if status == 409 && answer["code"] == "beacon_recorded" {
        return Ok(recorded_before(&options));
    }
    if status != 200 {
        return Err(client.refusal(status, &answer));
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

/// The round that the event at this path names; `None` if its value was recorded before.
async fn named_round(client: &ApiClient, event: &str) -> anyhow::Result<Option<BeaconRound>> {
    let event = client.send(ApiRequest::new(Method::GET, event)).await?;
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

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

//! Relays of a beacon: where its rounds are published.

use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::Request;
use serde::Deserialize;
use vestibule_core::settings::BeaconRound;
use vestibule_http_client::{HttpClient, Options};

/// Timeout of a request to a relay.
const RELAY_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of the answer of a relay in bytes.
const ANSWER_MAX: usize = 64 << 10;

/// A relay.
pub(crate) struct Relay {
    address: String,
    client: HttpClient,
}

/// The part of a relay's answer that is used.
#[derive(Deserialize)]
struct Answer {
    round: u64,
    signature: String,
}

impl Relay {
    /// The relay at this address: `https://..`, or `http://..`.
    ///
    /// # Errors
    /// Returns an error for another address, or if no certificate authority can be trusted.
    pub(crate) fn new(address: &str) -> anyhow::Result<Self> {
        let is_url = address.starts_with("https://") || address.starts_with("http://");
        if !is_url || address.contains(['?', '#', '@']) || address.parse::<http::Uri>().is_err() {
            bail!("the address of a relay must be a URL such as https://api.drand.sh, not \"{address}\"");
        }
        let options = Options { timeout: RELAY_TIMEOUT, response_max: ANSWER_MAX, ..Options::default() };
        Ok(Self { address: address.to_owned(), client: HttpClient::new(options)? })
    }

    /// The signature of a round.
    ///
    /// # Errors
    /// The relay does not answer, does not have the round yet, or answers with another one.
    pub(crate) async fn signature(&self, named: BeaconRound) -> anyhow::Result<String> {
        let address = named.beacon.address(&self.address, named.round);
        let request = Request::get(&address).body(Bytes::new())?;
        let response = self.client.send(request).await.with_context(|| format!("cannot read {address}"))?;
        if !response.status().is_success() {
            bail!("cannot read {address}: status {}", response.status().as_u16());
        }
        let answer: Answer =
            serde_json::from_slice(response.body()).with_context(|| format!("{address} is not a round of drand"))?;
        if answer.round != named.round {
            bail!("{address} answered with round {}", answer.round);
        }
        Ok(answer.signature)
    }
}

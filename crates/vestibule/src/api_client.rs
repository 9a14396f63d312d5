//! A client of the API of a backoffice, for all commands that need one.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use bytes::Bytes;
use clap::Args;
use http::{HeaderName, Method, Request, Uri, header};
use serde_json::Value;
use vestibule_core::content_type::JSON;
use vestibule_http_client::{HttpClient, Options};

/// Variable that has the token of a superuser or an operator, for `--to`.
pub(crate) const ADMIN_TOKEN: &str = "VESTIBULE_ADMIN_TOKEN";
/// Timeout of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of a response body: a plan, a thousand job queues, or a page of dead letters.
const RESPONSE_MAX: usize = 32 << 20;

#[derive(Args)]
pub(crate) struct ApiOptions {
    /// The backoffice at https://..; requires an API token of an operator in `VESTIBULE_API_TOKEN`
    #[arg(long, env = "VESTIBULE_API_URL", value_name = "URL")]
    pub(crate) api_url: String,
}

impl ApiOptions {
    /// The client for these options.
    pub(crate) fn client(&self) -> anyhow::Result<ApiClient> {
        ApiClient::new(&Endpoint {
            url: &self.api_url,
            flag: "--api-url",
            token: "VESTIBULE_API_TOKEN",
            owner: "an operator",
        })
    }
}

/// Where a backoffice is, and whose token it needs.
pub(crate) struct Endpoint<'a> {
    pub(crate) url: &'a str,
    /// The flag with the URL.
    pub(crate) flag: &'static str,
    /// The variable that has the token. It is not a flag, since every user of the machine can read a command line.
    pub(crate) token: &'static str,
    /// The owner of the token.
    pub(crate) owner: &'static str,
}

/// A request.
#[derive(Clone)]
pub(crate) struct ApiRequest<'a> {
    pub(crate) method: Method,
    /// Path and query behind `/api/v1`.
    pub(crate) path: &'a str,
    pub(crate) headers: Vec<(HeaderName, String)>,
    pub(crate) body: Bytes,
}

impl<'a> ApiRequest<'a> {
    pub(crate) const fn new(method: Method, path: &'a str) -> Self {
        Self { method, path, headers: Vec::new(), body: Bytes::new() }
    }

    /// With a JSON body.
    pub(crate) fn json(mut self, body: &Value) -> Self {
        self.headers.push((header::CONTENT_TYPE, JSON.to_owned()));
        Self { body: Bytes::from(body.to_string()), ..self }
    }

    /// With the token of a confirmation.
    pub(crate) fn confirmed(mut self, token: &str) -> Self {
        self.headers.push((HeaderName::from_static("x-vestibule-confirm"), token.to_owned()));
        self
    }
}

/// The API of a backoffice.
pub(crate) struct ApiClient {
    base: String,
    flag: &'static str,
    token: String,
    client: HttpClient,
}

impl ApiClient {
    pub(crate) fn new(endpoint: &Endpoint<'_>) -> anyhow::Result<Self> {
        let &Endpoint { url, flag, token: variable, owner } = endpoint;
        let url = url.trim_end_matches('/');
        if !url.parse::<Uri>().is_ok_and(|uri| uri.scheme().is_some() && is_private(&uri))
            || url.contains(['?', '#', '@'])
        {
            bail!(
                "{flag} must be an https:// URL, such as https://admin.example.com; http:// is allowed on this machine only, since the token is sent there"
            );
        }
        let Some(token) = vestibule_runtime::variable(variable) else {
            bail!("{variable} is not set; in the dashboard, create an API token of {owner}");
        };
        let options = Options { timeout: REQUEST_TIMEOUT, response_max: RESPONSE_MAX, ..Options::default() };
        let client = HttpClient::new(options)?;
        Ok(Self { base: format!("{url}/api/v1"), flag, token: token.trim().to_owned(), client })
    }

    /// Sends a request. The response is JSON, or nothing.
    ///
    /// # Errors
    /// Explains why the backoffice can't be reached or refuses the request.
    pub(crate) async fn send(&self, request: ApiRequest<'_>) -> anyhow::Result<Value> {
        match self.answer(request).await? {
            (200..=299, body) => Ok(json_of(&body)),
            (status, body) => Err(self.refusal(status, &json_of(&body))),
        }
    }

    /// Sends a request that the backoffice wants to be confirmed, and confirms it if `confirm` accepts the consequence.
    /// `None` if it does not.
    pub(crate) async fn send_confirmed(
        &self,
        request: ApiRequest<'_>,
        confirm: impl FnOnce(&str) -> anyhow::Result<bool>,
    ) -> anyhow::Result<Option<Value>> {
        let (status, body) = self.answer(request.clone()).await?;
        let body = json_of(&body);
        let Some(token) = body["confirmation"]["token"].as_str().filter(|_| status == 428) else {
            return if status < 300 { Ok(Some(body)) } else { Err(self.refusal(status, &body)) };
        };
        if !confirm(body["confirmation"]["consequence"].as_str().unwrap_or_default())? {
            return Ok(None);
        }
        self.send(request.confirmed(token)).await.map(Some)
    }

    /// Sends a request, and returns the status and the body of any response.
    ///
    /// # Errors
    /// Explains why the backoffice does not respond.
    pub(crate) async fn answer(&self, request: ApiRequest<'_>) -> anyhow::Result<(u16, Bytes)> {
        let ApiRequest { method, path, headers, body } = request;
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.body(body).context("the request has an invalid header, or the token is invalid")?;
        let response = self.client.send(request).await.map_err(|error| {
            let is_without_connection = error.is_without_connection();
            let what = if is_without_connection {
                "cannot reach the backoffice"
            } else {
                "no response of the backoffice; the request may or may not have been carried out"
            };
            anyhow::Error::new(error).context(what)
        })?;
        Ok((response.status().as_u16(), response.into_body()))
    }

    /// Why a request failed, with all invalid fields.
    pub(crate) fn refusal(&self, status: u16, body: &Value) -> anyhow::Error {
        match body["detail"].as_str() {
            Some(detail) => anyhow!("the backoffice responded with status {status}: {detail}{}", field_lines(body)),
            None => anyhow!("no backoffice at the URL of {}: status {status}", self.flag),
        }
    }
}

/// Whether the connection is encrypted or stays on this machine.
fn is_private(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let here = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    uri.scheme_str() == Some("https") || here
}

/// A body as JSON; `null` if it is not JSON.
pub(crate) fn json_of(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_default()
}

/// The invalid fields of a problem, each on a new line.
pub(crate) fn field_lines(problem: &Value) -> String {
    let mut lines = String::new();
    for error in problem["errors"].as_array().into_iter().flatten() {
        let [field, fault] = ["field", "detail"].map(|name| error[name].as_str().unwrap_or_default());
        let _ = write!(lines, "\n  {field}: {fault}");
    }
    lines
}

/// Prints the ID of the job in a response that says that it is enqueued.
///
/// # Errors
/// Fails if the response has no job ID.
pub(crate) fn print_job(enqueued: &Value) -> anyhow::Result<()> {
    let Some(id) = enqueued["job_id"].as_str() else {
        bail!("the backoffice sent no job ID; it may be of another version")
    };
    println!("{id}");
    Ok(())
}

//! Writes a settings file through the API of a backoffice, for operators without access to Redis. The audit log then
//! names the owner of the token.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::{Request, Uri, header};
use serde_json::{Value, json};
use vestibule_admin::{ImportPlan, PlannedChange};
use vestibule_core::jobs::JobQueueSettings;
use vestibule_core::settings::{Document, Settings};
use vestibule_http_client::{HttpClient, Options};

use super::options::ApplyOptions;
use super::review::{decide, text_of};

/// Variable that has the token. It is not a flag, since every user of the machine can read a command line.
pub(crate) const TOKEN_VARIABLE: &str = "VESTIBULE_ADMIN_TOKEN";
/// Timeout of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of a response body.
const RESPONSE_MAX: usize = 32 << 20;

const CONCURRENT_CHANGE: &str = "nothing was written: the settings were changed by someone else; run apply again";

/// Whether `--to` names a backoffice.
pub(super) fn is_backoffice(to: &str) -> bool {
    to.starts_with("https://") || to.starts_with("http://")
}

/// Applies a document. Exit status 1 if a change was not written.
pub(super) async fn apply(options: &ApplyOptions, document: &Document) -> anyhow::Result<ExitCode> {
    let backoffice = Backoffice::new(options)?;
    let document = json!({
        "tenants": document.tenants,
        "queues": document.queues.iter().map(Settings::to_value).collect::<Vec<_>>(),
        "job_queues": document.job_queues.iter().map(JobQueueSettings::to_value).collect::<Vec<_>>(),
    });
    let plan = backoffice.plan(&document).await?;
    print!("{}", text_of(&plan));
    if let Some(code) = decide(options, plan.is_empty())? {
        return Ok(code);
    }
    // The confirmation is valid for the changes that the backoffice would make now; they must be those that were shown.
    let answer = backoffice.import(&document, Step::RequestConfirmation).await?;
    let Some(token) = answer["confirmation"]["token"].as_str() else { bail!(CONCURRENT_CHANGE) };
    if !backoffice.plan(&document).await?.has_same_changes(&plan) {
        bail!(CONCURRENT_CHANGE);
    }
    let done = backoffice.import(&document, Step::Confirmed(token)).await?;
    let not_written = |name| items(&done, name).iter().map(text).collect::<Vec<_>>();
    let queues = report("queue", &plan.queues, &plan.removed, &not_written("skipped"));
    let skipped = not_written("skipped_job_queues");
    let job_queues = report("job queue", &plan.job_queues, &plan.removed_job_queues, &skipped);
    Ok(if queues && job_queues { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints what was written and what was not. Returns whether everything was.
fn report(kind: &str, changed: &[PlannedChange], removed: &[String], skipped: &[&str]) -> bool {
    let written = changed.iter().map(|change| (&change.id, "written"));
    let done = written.chain(removed.iter().map(|id| (id, "removed")));
    for (id, done) in done.filter(|(id, _)| !skipped.contains(&id.as_str())) {
        println!("{kind} {id}: {done}");
    }
    for id in skipped {
        let why = if removed.iter().any(|removed| removed == id) { "it has jobs, or it was" } else { "it was" };
        println!("{kind} {id}: not written: {why} changed by someone else; run apply again");
    }
    skipped.is_empty()
}

/// The steps of an import.
#[derive(Clone, Copy)]
enum Step<'a> {
    /// Computes the changes.
    Plan,
    /// Requests the confirmation token for them.
    RequestConfirmation,
    /// Applies them with this token.
    Confirmed(&'a str),
}

struct Backoffice {
    uri: Uri,
    plan_uri: Uri,
    token: String,
    client: HttpClient,
}

impl Backoffice {
    fn new(options: &ApplyOptions) -> anyhow::Result<Self> {
        let to = options.to.trim_end_matches('/');
        let endpoint = |validate: bool| {
            let uri: Uri = format!("{to}/api/v1/settings?remove={}&validate={validate}", options.remove).parse()?;
            if !is_private(&uri) || to.contains(['?', '#', '@']) {
                bail!(
                    "--to must be an https:// URL, such as https://admin.example.com; http:// is allowed on this machine only, since the token is sent there"
                );
            }
            Ok(uri)
        };
        let Some(token) = vestibule_runtime::variable(TOKEN_VARIABLE) else {
            bail!(
                "{TOKEN_VARIABLE} is not set; create an API token of a superuser in the dashboard (the settings scope is enough)"
            );
        };
        let token = token.trim().to_owned();
        let options = Options { timeout: REQUEST_TIMEOUT, response_max: RESPONSE_MAX, ..Options::default() };
        Ok(Self { uri: endpoint(false)?, plan_uri: endpoint(true)?, token, client: HttpClient::new(options)? })
    }

    /// What importing the document would change.
    async fn plan(&self, document: &Value) -> anyhow::Result<ImportPlan> {
        let mut answer = self.import(document, Step::Plan).await?;
        let plan = answer.get_mut("plan").map(Value::take).unwrap_or_default();
        serde_json::from_value(plan).context("the backoffice sent an invalid plan; it may be of another version")
    }

    /// Sends the document. An unexpected response is an error that explains it.
    async fn import(&self, document: &Value, step: Step<'_>) -> anyhow::Result<Value> {
        let uri = if matches!(step, Step::Plan) { &self.plan_uri } else { &self.uri };
        let mut request = Request::post(uri)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token));
        if let Step::Confirmed(token) = step {
            request = request.header("x-vestibule-confirm", token);
        }
        let request = request.body(Bytes::from(document.to_string()));
        let request = request.with_context(|| format!("{TOKEN_VARIABLE} is not a valid token"))?;
        let response = self.client.send(request).await.context("cannot reach the backoffice")?;
        let status = response.status().as_u16();
        let body: Value = serde_json::from_slice(response.body()).unwrap_or_default();
        let expected = if matches!(step, Step::RequestConfirmation) { 428 } else { 200 };
        if status == expected || (status == 200 && matches!(step, Step::RequestConfirmation)) {
            return Ok(body);
        }
        if status == 428 {
            bail!(CONCURRENT_CHANGE);
        }
        bail!("{}", refusal(status, &body))
    }
}

/// The error of the backoffice, with all invalid fields.
pub(crate) fn refusal(status: u16, body: &Value) -> String {
    let errors = items(body, "errors");
    if !errors.is_empty() {
        let lines = errors.iter().map(|it| format!("  {}: {}", text(&it["field"]), text(&it["detail"])));
        return format!("the backoffice rejected the file:\n{}", lines.collect::<Vec<_>>().join("\n"));
    }
    match body["detail"].as_str() {
        Some(message) => format!("the backoffice responded with status {status}: {message}"),
        None => format!("no backoffice at the URL of --to: status {status}"),
    }
}

/// Whether the connection is encrypted or stays on this machine.
pub(crate) fn is_private(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let here = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    uri.scheme_str() == Some("https") || here
}

/// A list member of an object.
fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

//! Writes a settings file through the API of a backoffice: whoever has no way to the Redis, and whose changes are to
//! stand in the audit log.

use std::fmt;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::{Request, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rustls::crypto::ring;
use serde_json::{Value, json};
use tokio::time::timeout;
use vestibule_core::settings::{Document, Settings};

use super::confirmed;
use crate::cli::ApplyOptions;

/// Where the token comes from: never the command line, which everybody on the machine can read.
const TOKEN: &str = "VESTIBULE_ADMIN_TOKEN";
/// How long the backoffice may take for one answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Most bytes of an answer.
const ANSWER_MAX: usize = 32 << 20;

const MEANWHILE: &str = "somebody else changed something meanwhile, so nothing was written; apply again to see what";

/// Whether `--to` names a backoffice.
pub(super) fn is_backoffice(to: &str) -> bool {
    to.starts_with("https://") || to.starts_with("http://")
}

/// Applies a document. Exit status 1 if something was not written.
pub(super) async fn apply(options: &ApplyOptions, document: &Document) -> anyhow::Result<ExitCode> {
    let backoffice = Backoffice::at(options)?;
    let document = json!({
        "tenants": document.tenants,
        "queues": document.queues.iter().map(Settings::to_value).collect::<Vec<_>>(),
    });
    let planned = backoffice.import(&document, Step::Plan).await?;
    let plan = &planned["plan"];
    print!("{}", Plan { plan, removes: options.remove });
    if ["tenants", "queues", "removed"].iter().all(|kind| items(plan, kind).is_empty()) {
        println!("nothing to change");
        return Ok(ExitCode::SUCCESS);
    }
    if options.dry_run {
        println!("nothing was written, as --dry-run says");
        return Ok(ExitCode::SUCCESS);
    }
    if !options.yes && !confirmed()? {
        println!("nothing was written");
        return Ok(ExitCode::FAILURE);
    }
    // The token holds for what the backoffice would do now, which is to be what was shown.
    let asked = backoffice.import(&document, Step::Ask).await?;
    let Some(token) = asked["confirmation"]["token"].as_str() else { bail!(MEANWHILE) };
    if backoffice.import(&document, Step::Plan).await?["plan"] != *plan {
        bail!(MEANWHILE);
    }
    Ok(told(&backoffice.import(&document, Step::Do(token)).await?))
}

/// Says what was written and what was not.
fn told(done: &Value) -> ExitCode {
    let left = items(&done["left"], "");
    for id in ["queues", "removed"].iter().flat_map(|kind| items(&done["plan"], kind)).map(id_of) {
        if !left.iter().any(|left| id_of(left) == id) {
            println!("queue {id}: done");
        }
    }
    for id in left {
        println!("queue {}: changed by somebody else meanwhile, so not written; apply again to see how", id_of(id));
    }
    if left.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How far the backoffice is to go.
#[derive(Clone, Copy)]
enum Step<'a> {
    /// Say what would be done.
    Plan,
    /// Say by which token it is confirmed.
    Ask,
    /// Do it.
    Do(&'a str),
}

struct Backoffice {
    uri: Uri,
    uri_of_plan: Uri,
    token: String,
}

impl Backoffice {
    fn at(options: &ApplyOptions) -> anyhow::Result<Self> {
        let to = options.to.trim_end_matches('/');
        let address = |validate: bool| {
            let uri: Uri = format!("{to}/api/v1/settings?remove={}&validate={validate}", options.remove).parse()?;
            if !is_private(&uri) || to.contains(['?', '#', '@']) {
                bail!("--to takes https://admin.example.com; http:// only on this machine, as the token is sent there");
            }
            Ok(uri)
        };
        let Some(token) = vestibule_runtime::variable(TOKEN) else {
            bail!(
                "{TOKEN} is not set; it takes an API token of a superuser, which the dashboard makes; one for settings only is enough"
            );
        };
        let token = token.trim().to_owned();
        Ok(Self { uri: address(false)?, uri_of_plan: address(true)?, token })
    }

    /// Hands the document in. An answer that is none of those that are waited for is an error in words.
    async fn import(&self, document: &Value, step: Step<'_>) -> anyhow::Result<Value> {
        let uri = if matches!(step, Step::Plan) { &self.uri_of_plan } else { &self.uri };
        let mut request = Request::post(uri)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token));
        if let Step::Do(token) = step {
            request = request.header("x-vestibule-confirm", token);
        }
        let request = request.body(Full::new(Bytes::from(document.to_string())));
        let request = request.with_context(|| format!("{TOKEN} is no token"))?;
        let answered = timeout(PATIENCE, ask(request)).await.context("the backoffice gave no answer in time")?;
        let (status, body) = answered.context("the backoffice can't be reached")?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let expected = if matches!(step, Step::Ask) { 428 } else { 200 };
        if status == expected || (status == 200 && matches!(step, Step::Ask)) {
            return Ok(body);
        }
        if status == 428 {
            bail!(MEANWHILE);
        }
        bail!("{}", refusal(status, &body))
    }
}

/// What the backoffice says is wrong, every field of it.
fn refusal(status: u16, body: &Value) -> String {
    let errors = items(body, "errors");
    if !errors.is_empty() {
        let lines = errors.iter().map(|it| format!("  {}: {}", text(&it["field"]), text(&it["message"])));
        return format!("the backoffice refused the file:\n{}", lines.collect::<Vec<_>>().join("\n"));
    }
    match body["error"]["message"].as_str() {
        Some(message) => format!("the backoffice refused with status {status}: {message}"),
        None => format!("--to leads to no backoffice: status {status}"),
    }
}

async fn ask(request: Request<Full<Bytes>>) -> anyhow::Result<(u16, Bytes)> {
    let tls = HttpsConnectorBuilder::new().with_provider_and_webpki_roots(ring::default_provider())?;
    let client = Client::builder(TokioExecutor::new()).build(tls.https_or_http().enable_http1().build());
    let answer = client.request(request).await?;
    let status = answer.status().as_u16();
    let body = Limited::new(answer.into_body(), ANSWER_MAX).collect().await;
    Ok((status, body.map_err(|error| anyhow::anyhow!(error))?.to_bytes()))
}

/// Whether nobody on the way can read what is sent there.
fn is_private(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let here = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    uri.scheme_str() == Some("https") || here
}

/// The plan as the way by Redis shows its own.
struct Plan<'a> {
    plan: &'a Value,
    removes: bool,
}

impl fmt::Display for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, name) in [("tenants", "tenant"), ("queues", "queue")] {
            for entry in items(self.plan, kind) {
                let created = entry["created"] == true;
                writeln!(f, "  {} {name} {}", if created { '+' } else { '~' }, id_of(entry))?;
                for change in items(entry, "changes").iter().filter(|_| !created) {
                    writeln!(f, "      {}: {} -> {}", text(&change["field"]), change["from"], change["to"])?;
                }
            }
        }
        for id in items(self.plan, "removed") {
            writeln!(f, "  - queue {}, with everybody who waits there", id_of(id))?;
        }
        for id in items(self.plan, "kept").iter().filter(|_| !self.removes) {
            writeln!(f, "    queue {} is not named in the file and stays; --remove takes such queues away", id_of(id))?;
        }
        Ok(())
    }
}

/// A member that is a list, or with no name the value itself.
fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    let list = if name.is_empty() { value } else { &value[name] };
    list.as_array().map_or(&[], Vec::as_slice)
}

/// An entry of a plan is an id, or has one.
fn id_of(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| text(&value["id"]))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

//! Writes a settings file through the API of a backoffice, for operators without access to Redis. The audit log then
//! names the owner of the token.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use http::Method;
use serde_json::{Value, json};
use vestibule_admin::{ImportPlan, PlannedChange};
use vestibule_core::jobs::JobQueueSettings;
use vestibule_core::settings::{Document, Settings};

use super::options::ApplyOptions;
use super::review::{decide, refuse_removal_of_all, text_of};
use crate::api_client::{ADMIN_TOKEN, ApiClient, ApiRequest, Endpoint, field_lines, json_of};

const CONCURRENT_CHANGE: &str = "nothing was written: the settings were changed by someone else; run apply again";

/// Whether `--to` names a backoffice.
pub(super) fn is_backoffice(to: &str) -> bool {
    to.starts_with("https://") || to.starts_with("http://")
}

/// Applies a document. Exit status 1 if a change was not written.
pub(super) async fn apply(options: &ApplyOptions, document: &Document) -> anyhow::Result<ExitCode> {
    let client = ApiClient::new(&Endpoint {
        url: &options.to,
        flag: "--to",
        token: ADMIN_TOKEN,
        owner: "a superuser (the settings scope is enough)",
    })?;
    let has_queues = !document.queues.is_empty();
    let document = json!({
        "tenants": document.tenants,
        "queues": document.queues.iter().map(Settings::to_value).collect::<Vec<_>>(),
        "job_queues": document.job_queues.iter().map(JobQueueSettings::to_value).collect::<Vec<_>>(),
    });
    let import = Import { client, document, remove: options.remove };
    let plan = import.plan().await?;
    refuse_removal_of_all(options, has_queues, &plan)?;
    print!("{}", text_of(&plan));
    if let Some(code) = decide(options, plan.is_empty())? {
        return Ok(code);
    }
    // The confirmation is valid for the changes that the backoffice would make now; they must be those that were shown.
    let answer = import.send(Step::RequestConfirmation).await?;
    let Some(token) = answer["confirmation"]["token"].as_str() else { bail!(CONCURRENT_CHANGE) };
    if !import.plan().await?.has_same_changes(&plan) {
        bail!(CONCURRENT_CHANGE);
    }
    let done = import.send(Step::Confirmed(token)).await?;
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

/// A document to import.
struct Import {
    client: ApiClient,
    document: Value,
    /// Whether queues and job queues that it does not name are removed.
    remove: bool,
}

impl Import {
    /// What importing the document would change.
    async fn plan(&self) -> anyhow::Result<ImportPlan> {
        let mut answer = self.send(Step::Plan).await?;
        let plan = answer.get_mut("plan").map(Value::take).unwrap_or_default();
        serde_json::from_value(plan).context("the backoffice sent an invalid plan; it may be of another version")
    }

    /// Sends the document. An unexpected response is an error that explains it.
    async fn send(&self, step: Step<'_>) -> anyhow::Result<Value> {
        let path = format!("/settings?remove={}&validate={}", self.remove, matches!(step, Step::Plan));
        let mut request = ApiRequest::new(Method::POST, &path).json(&self.document);
        if let Step::Confirmed(token) = step {
            request = request.confirmed(token);
        }
        let (status, body) = self.client.answer(request).await?;
        let body = json_of(&body);
        if status == 200 || status == 428 && matches!(step, Step::RequestConfirmation) {
            return Ok(body);
        }
        if status == 428 {
            bail!(CONCURRENT_CHANGE);
        }
        match field_lines(&body) {
            lines if lines.is_empty() => Err(self.client.refusal(status, &body)),
            lines => bail!("the backoffice rejected the file:{lines}"),
        }
    }
}

/// A list member of an object.
fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

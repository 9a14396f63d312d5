use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde_json::json;
use vestibule_core::StoreError;

use crate::access::Principal;
use crate::api::audit::{Filter, json};
use crate::audit::AuditEvent;
use crate::audit_reader::AuditReader;
use crate::problem::Problem;
use crate::query::{Query, format};
use crate::state::Admin;

const COLUMNS: &str = "id,at,operator,token,request,action,tenant,queue,subject,revision,changes,outcome,via\r\n";
/// Bytes that are sent at once.
const CHUNK: usize = 65_536;

/// Export the audit log
///
/// Returns all events that a search finds, one per line, as JSON or CSV.
#[utoipa::path(get, path = "/audit/export", tag = "audit",
    params(
        ("tenant" = Option<String>, Query, description = "Only events of this tenant"),
        ("queue" = Option<String>, Query, description = "Only events of this queue"),
        ("operator" = Option<String>, Query, description = "Only events of this operator"),
        ("action" = Option<String>, Query, description = "Only actions with this prefix, such as `queue.`"),
        ("search" = Option<String>, Query, description = "Only events that contain this text"),
        ("from" = Option<u64>, Query, description = "Earliest time in seconds since 1970"),
        ("to" = Option<u64>, Query, description = "Latest time in seconds since 1970"),
        ("before" = Option<String>, Query, description = "Only events before this one", pattern = "^[0-9]{1,16}-[0-9]{1,10}(~|@[a-z0-9-]{1,63})?$"),
        ("format" = Option<String>, Query, description = "`ndjson` or `csv`", pattern = "^(ndjson|csv)$"),
    ),
    responses((status = 200, description = "The events, newest first",
        content((String = "application/x-ndjson"), (String = "text/csv")))))]
pub(crate) async fn export_audit(
    State(admin): State<Admin>,
    principal: Principal,
    query: Query,
) -> Result<Response, Problem> {
    let (filter, format) = query.read(|fields| (Filter::read(fields), format(fields, ["ndjson", "csv"])))?;
    let reader = AuditReader::new(&admin, &principal, filter.tenant.as_ref(), filter.before.as_ref()).await?;
    let csv = format == "csv";
    let kind = if csv { "text/csv; charset=utf-8" } else { "application/x-ndjson" };
    let head =
        [(CONTENT_TYPE, kind.to_owned()), (CONTENT_DISPOSITION, format!("attachment; filename=\"audit.{format}\""))];
    let export = Export { reader: Some(reader), principal, filter, csv, begun: false };
    let lines = stream::unfold(export, |export| async move { export.lines().await });
    Ok((head, Body::from_stream(lines)).into_response())
}

/// What is still to be exported.
struct Export {
    /// `None` at the end.
    reader: Option<AuditReader>,
    principal: Principal,
    filter: Filter,
    csv: bool,
    begun: bool,
}

impl Export {
    /// Some lines, and what comes after them.
    async fn lines(mut self) -> Option<(Result<String, StoreError>, Self)> {
        let mut reader = self.reader.take()?;
        let mut text = if self.csv && !self.begun { COLUMNS.to_owned() } else { String::new() };
        self.begun = true;
        while text.len() < CHUNK {
            match reader.next().await {
                Ok(Some((_, entry))) if entry.at >= self.filter.from => {
                    if self.filter.takes(&self.principal, &entry) {
                        text.push_str(&if self.csv { row(&entry) } else { json(&entry) + "\n" });
                    }
                }
                Ok(_) => return Some((Ok(text), self)),
                // A half that ends in an error can't be taken for the whole.
                Err(error) => return Some((Err(error), self)),
            }
        }
        self.reader = Some(reader);
        Some((Ok(text), self))
    }
}

fn row(entry: &AuditEvent) -> String {
    let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let text = |value: Option<&dyn ToString>| value.map(ToString::to_string).unwrap_or_default();
    let fields = [
        entry.id.clone(),
        entry.at.to_string(),
        entry.operator.clone().unwrap_or_default(),
        entry.token.clone().unwrap_or_default(),
        entry.request.clone(),
        entry.action.clone(),
        text(entry.tenant.as_ref().map(|it| it as &dyn ToString)),
        text(entry.queue.as_ref().map(|it| it as &dyn ToString)),
        entry.subject.clone().unwrap_or_default(),
        text(entry.revision.as_ref().map(|it| it as &dyn ToString)),
        json!(entry.changes).to_string(),
        word(&json!(entry.outcome)),
        word(&json!(entry.via)),
    ];
    fields.map(|field| quoted(&field)).join(",") + "\r\n"
}

/// A field of CSV (RFC 4180). What a spreadsheet would take for a formula gets a mark in front.
fn quoted(field: &str) -> String {
    let mark = if field.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    format!("\"{mark}{}\"", field.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_fields_are_quoted_and_not_formulas() {
        assert_eq!(quoted("a \"b\", c"), "\"a \"\"b\"\", c\"");
        assert_eq!(quoted("=1+1"), "\"'=1+1\"");
    }
}

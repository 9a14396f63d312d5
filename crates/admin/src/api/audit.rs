//! Search and export of the audit log.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::fields::{Bounded, Flatten, ObjectReader, Omissible, Text};
use vestibule_core::{QueueId, StoreError, TenantId, fields, text_field, word_field};

use crate::access::Principal;
use crate::audit::AuditEvent;
use crate::audit_reader::{AuditId, AuditReader};
use crate::body::Query;
use crate::codes::Code;
use crate::describe::describe;
use crate::problem::Problem;
use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new().routes(routes!(search_audit)).routes(routes!(export_audit))
}

/// Longest text that is searched for.
const SEARCH_MAX: usize = 200;

/// A text to search for, in lower case.
type SearchText = Omissible<Text<SEARCH_MAX>>;

text_field! { AuditId: Code::EntryId, { "pattern": "^[0-9]{1,16}-[0-9]{1,10}(~|@[a-z0-9-]{1,63})?$" }; }

fields! {
    /// The wanted events.
    pub(crate) struct Filter {
        /// Only events of this tenant.
        tenant: Omissible<TenantId>,
        /// Only events of this queue.
        queue: Omissible<QueueId>,
        /// Only events of this operator.
        operator: SearchText,
        /// Only actions with this prefix, such as `queue.`.
        action: SearchText,
        /// Only events that contain this text.
        search: SearchText,
        /// Earliest time in seconds since 1970.
        from: Bounded<0, { 1 << 40 }> = 0,
        /// Latest time in seconds since 1970.
        to: Bounded<0, { 1 << 40 }> = 1 << 40,
        /// Only events before this one, such as `next` of the previous page.
        before: Omissible<AuditId>,
    }
    check = lower_case;
}

fn lower_case(filter: &mut Filter, _: &mut ObjectReader<'_>) {
    for text in [&mut filter.operator, &mut filter.action, &mut filter.search].into_iter().flatten() {
        *text = text.to_lowercase();
    }
}

fields! {
    /// A search of the audit log.
    pub(crate) struct AuditQuery {
        filter: Flatten<Filter>,
        /// Maximum number of results.
        limit: Bounded<1, PAGE_MAX> = 50,
    }
}

/// The format of an export.
#[derive(Clone, Copy, PartialEq)]
enum AuditFormat {
    Ndjson,
    Csv,
}

word_field!(AuditFormat { Ndjson = "ndjson", Csv = "csv" });

fields! {
    /// An export of the audit log.
    pub(crate) struct AuditExportQuery {
        filter: Flatten<Filter>,
        /// Format of the response. With `before`, CSV has no line with the names of the columns.
        format: AuditFormat = AuditFormat::Ndjson,
        /// Maximum number of events of the response, which then has at most about 512 KiB. `X-Vestibule-Next` is `before` of
        /// the next part. 0 returns all events, which a function cannot send if they exceed 1 MB.
        limit: Bounded<0, PART_MAX> = 0,
    }
}

describe!(query AuditQuery, AuditExportQuery);

impl Filter {
    /// Whether an event matches.
    fn takes(&self, event: &AuditEvent) -> bool {
        (self.from..=self.to).contains(&event.at)
            && is_none_or(self.tenant.as_ref(), event.tenant.as_ref())
            && is_none_or(self.queue.as_ref(), event.queue.as_ref())
            && is_none_or(self.operator.as_ref(), event.operator.as_ref())
            && self.action.as_ref().is_none_or(|action| event.action.starts_with(action))
            && self.search.as_ref().is_none_or(|text| json(event).to_lowercase().contains(text))
    }
}

fn is_none_or<T: PartialEq>(wanted: Option<&T>, found: Option<&T>) -> bool {
    wanted.is_none() || wanted == found
}

fn json(event: &AuditEvent) -> String {
    serde_json::json!(event).to_string()
}

/// Maximum number of events of a page.
const PAGE_MAX: u64 = 200;
/// Maximum number of events that one search scans.
const LOOKED_MAX: usize = 5000;

/// A page of the audit log.
#[derive(Serialize, ToSchema)]
pub(crate) struct AuditPage {
    /// The events, newest first.
    events: Vec<AuditEvent>,
    /// Start of the next page as `before`; `null` at the end. A page can have few events although more follow:
    /// a search scans a part of the log at a time.
    next: Option<String>,
}

/// Search the audit log
///
/// Returns events, newest first: your own actions and all changes to your tenants. An API token sees what was done with it and
/// all changes to its tenants. Superusers see all events.
#[utoipa::path(get, path = "/audit", tag = "audit",
    params(AuditQuery),
    responses((status = 200, description = "The events", body = AuditPage)))]
pub(crate) async fn search_audit(
    State(admin): State<Admin>,
    principal: Principal,
    Query(AuditQuery { filter, limit }): Query<AuditQuery>,
) -> Result<Json<AuditPage>, Problem> {
    let mut page = AuditPage { events: Vec::new(), next: None };
    let mut reader = AuditReader::new(&admin, &principal, filter.tenant.as_ref(), filter.before.as_ref()).await?;
    for looked in 1.. {
        let Some((id, event)) = reader.next().await?.filter(|(_, event)| event.at >= filter.from) else { break };
        if filter.takes(&event) && reader.can_view(&id, &event) {
            if page.events.len() == limit as usize {
                page.next = page.events.last().map(|event| event.id.clone());
                break;
            }
            page.events.push(event);
        }
        if looked == LOOKED_MAX {
            page.next = Some(id.to_string());
            break;
        }
    }
    Ok(Json(page))
}

const COLUMNS: &str = "id,at,operator,token,request,action,tenant,queue,subject,revision,changes,outcome,via\r\n";
/// Size of a chunk of an export in bytes.
const CHUNK: usize = 65_536;
/// Size from which a part of an export ends. Behind a load balancer, a function sends at most 1 MB.
const PART: usize = 524_288;
/// Maximum number of events of a part of an export.
const PART_MAX: u64 = 1000;
const NEXT: &str = "x-vestibule-next";

/// Export the audit log
///
/// Returns all events that a search finds, one per line, as JSON or CSV. With `limit`, it returns them in parts.
#[utoipa::path(get, path = "/audit/export", tag = "audit",
    params(AuditExportQuery),
    responses((status = 200, description = "The events, newest first",
        headers(("X-Vestibule-Next" = String, description =
            "With `limit`, `before` of the next part. Absent at the end. A part can have few events although more follow.")),
        content((String = "application/x-ndjson"), (String = "text/csv")))))]
pub(crate) async fn export_audit(
    State(admin): State<Admin>,
    principal: Principal,
    Query(AuditExportQuery { filter, format, limit }): Query<AuditExportQuery>,
) -> Result<Response, Problem> {
    let reader = AuditReader::new(&admin, &principal, filter.tenant.as_ref(), filter.before.as_ref()).await?;
    let csv = format == AuditFormat::Csv;
    let kind = if csv { "text/csv; charset=utf-8" } else { "application/x-ndjson" };
    let head = [
        (CONTENT_TYPE, kind.to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"audit.{}\"", format.as_str())),
    ];
    let needs_columns = csv && filter.before.is_none();
    let mut export = Export { reader, filter, csv, needs_columns };
    if limit > 0 {
        let (text, next) = export.lines(PART, limit as usize).await?;
        return Ok((head, next.map(|id| [(NEXT, id.to_string())]), text).into_response());
    }
    let lines = stream::unfold(Some(export), |export| async move {
        let mut export = export?;
        Some(match export.lines(CHUNK, usize::MAX).await {
            Ok((text, next)) => (Ok(text), next.map(|_| export)),
            // An aborted response cannot be mistaken for a complete one.
            Err(error) => (Err(error), None),
        })
    });
    // Compression polls a body again after its end.
    Ok((head, Body::from_stream(lines.fuse())).into_response())
}

/// The rest of an export.
struct Export {
    reader: AuditReader,
    filter: Filter,
    csv: bool,
    needs_columns: bool,
}

impl Export {
    /// The next lines, until they have this size or number, and the last event that they are about. `None` at the end.
    async fn lines(&mut self, size: usize, number: usize) -> Result<(String, Option<AuditId>), StoreError> {
        let mut text = if std::mem::take(&mut self.needs_columns) { COLUMNS.to_owned() } else { String::new() };
        let (mut looked, mut found) = (0, 0);
        while let Some((id, event)) = self.reader.next().await?.filter(|(_, event)| event.at >= self.filter.from) {
            if self.filter.takes(&event) && self.reader.can_view(&id, &event) {
                text.push_str(&if self.csv { row(&event) } else { json(&event) + "\n" });
                found += 1;
            }
            looked += 1;
            if text.len() >= size || found == number || looked == LOOKED_MAX {
                return Ok((text, Some(id)));
            }
        }
        Ok((text, None))
    }
}

fn text<T: ToString>(value: Option<&T>) -> String {
    value.map(ToString::to_string).unwrap_or_default()
}

fn row(event: &AuditEvent) -> String {
    let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let fields = [
        event.id.clone(),
        event.at.to_string(),
        event.operator.clone().unwrap_or_default(),
        event.token.clone().unwrap_or_default(),
        event.request.clone(),
        event.action.clone(),
        text(event.tenant.as_ref()),
        text(event.queue.as_ref()),
        event.subject.clone().unwrap_or_default(),
        text(event.revision.as_ref()),
        json!(event.changes).to_string(),
        word(&json!(event.outcome)),
        word(&json!(event.via)),
    ];
    fields.map(|field| quoted(&field)).join(",") + "\r\n"
}

/// A field of CSV (RFC 4180). A text that a spreadsheet would read as a formula gets an apostrophe in front.
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

//! A document of tenants, queues and job queues.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::tenant::JOB_QUEUES_MAX;
use super::{Settings, Tenant};
use crate::fields::FieldErrorCode as Code;
use crate::fields::{FieldError, List, Object as _};
use crate::jobs::JobQueueSettings;

/// Maximum number of tenants, and of queues, in a document.
const TABLES_MAX: usize = 10_000;

crate::fields! {
    /// Tenants, queues and job queues, as in a settings file.
    #[derive(Debug, Clone, Default)]
    pub struct Document as "SettingsDraft" {
        /// The tenants.
        pub tenants: List<Tenant, 0, TABLES_MAX> = Vec::new(),
        /// The queues; their tenants must be in `tenants`.
        pub queues: List<Settings, 0, TABLES_MAX> = Vec::new(),
        /// The job queues; their tenants must be in `tenants`.
        pub job_queues: List<JobQueueSettings, 0, JOB_QUEUES_MAX> = Vec::new(),
    }
}

/// Parses a document of the form `{ tenants: [..], queues: [..], job_queues: [..] }`.
///
/// # Errors
/// Returns every invalid field by its path.
pub fn parse_settings_document(value: &Value) -> Result<Document, Vec<FieldError>> {
    let parsed = Document::from_json(value);
    let conflicts = conflicts_between_tables(value);
    match parsed {
        Ok(document) if conflicts.is_empty() => {
            let refusals = refusals(&document);
            if refusals.is_empty() { Ok(document) } else { Err(refusals) }
        }
        parsed => Err(parsed.err().into_iter().flatten().chain(conflicts).collect()),
    }
}

/// Conflicts between tables, each of which may be valid by itself. They are found in tables with
/// other errors, too.
fn conflicts_between_tables(document: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut unique = |list: &str| {
        let mut ids = HashSet::new();
        for (index, id) in texts(document, list, "id") {
            if !ids.insert(id.to_owned()) {
                errors.push(FieldError::new(format!("{list}[{index}].id"), Code::IdTaken.with("id", id)));
            }
        }
        ids
    };
    let tenants = unique("tenants");
    for list in ["queues", "job_queues"] {
        unique(list);
    }
    for list in ["queues", "job_queues"] {
        for (index, tenant) in texts(document, list, "tenant") {
            if !tenants.contains(tenant) && tenant.parse::<crate::TenantId>().is_ok() {
                let fault = Code::NoSuchTenant.with("tenant", tenant);
                errors.push(FieldError::new(format!("{list}[{index}].tenant"), fault));
            }
        }
    }
    errors
}

/// The text values of one field over all tables of a list, with the index of each table.
fn texts<'a>(document: &'a Value, list: &str, field: &'static str) -> impl Iterator<Item = (usize, &'a str)> {
    let tables = document.get(list).and_then(Value::as_array).into_iter().flatten().enumerate();
    tables.filter_map(move |(index, table)| Some((index, table.get(field)?.as_str()?)))
}

/// Values of queues and job queues that their tenants' allowlists reject, if all tables are valid by themselves.
fn refusals(document: &Document) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let tenants: HashMap<_, _> = document.tenants.iter().map(|tenant| (&tenant.id, tenant)).collect();
    for (index, queue) in document.queues.iter().enumerate() {
        let refused = tenants.get(&queue.tenant).map(|tenant| tenant.refusals(queue, None, true));
        let refused = refused.unwrap_or_default().into_iter();
        errors.extend(refused.map(|error| error.within(format_args!("queues[{index}]"))));
    }
    for (index, job_queue) in document.job_queues.iter().enumerate() {
        let refused = tenants.get(&job_queue.tenant).and_then(|tenant| tenant.job_queue_refusal(job_queue, true));
        errors.extend(refused.map(|error| error.within(format_args!("job_queues[{index}]"))));
    }
    errors
}

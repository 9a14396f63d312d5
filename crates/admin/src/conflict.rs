//! Two operators who save at once: the second is shown what the first changed.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use vestibule_core::settings::Settings;

use crate::audit::{AuditEntry, entries};
use crate::problem::Problem;
use crate::state::Admin;

/// What changed meanwhile.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Conflict {
    /// The revision that is there now.
    pub(crate) revision: u64,
    /// The fields that somebody else changed, and those that would be overwritten.
    fields: Vec<ConflictingField>,
}

/// A field that changed meanwhile, or that both want to change.
#[derive(Debug, Serialize, ToSchema)]
struct ConflictingField {
    /// Name of the field.
    field: String,
    /// What it was before somebody changed it; `null` if that is not known.
    #[schema(value_type = Value, nullable)]
    before: Value,
    /// What it is now.
    #[schema(value_type = Value, nullable)]
    theirs: Value,
    /// What it would become; absent where it was not to be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Value, required = false, nullable)]
    yours: Option<Value>,
    /// Who changed it, if the audit log knows.
    operator: Option<String>,
    /// When, in seconds since 1970, if the audit log knows.
    at: Option<u64>,
}

impl Conflict {
    /// Compares what is there with a patch that was made for the revision `known`.
    pub(crate) async fn of(admin: &Admin, current: &Settings, known: u64, patch: &Value) -> Result<Self, Problem> {
        let (log, _) = entries(&*admin.records, None).await?;
        let since = log.iter().filter(|entry| {
            entry.queue.as_ref() == Some(&current.id) && entry.revision.is_some_and(|revision| revision > known)
        });
        let theirs = current.to_value();
        let mut fields: Vec<ConflictingField> = Vec::new();
        // The newest entries come first: the last who changed a field is named, and what it was before the first change.
        for (entry, change) in since.flat_map(|entry| entry.changes.iter().map(move |change| (entry, change))) {
            let Some(now) = theirs.get(&change.field) else { continue };
            match fields.iter_mut().find(|field| field.field == change.field) {
                Some(field) => field.before = change.from.clone(),
                None => fields.push(changed(entry, &change.field, &change.from, now, patch)),
            }
        }
        for (name, yours) in patch.as_object().into_iter().flatten() {
            let now = theirs.get(name).cloned().unwrap_or_default();
            if now != *yours && fields.iter().all(|field| field.field != *name) {
                let (field, yours) = (name.clone(), Some(yours.clone()));
                fields.push(ConflictingField {
                    field,
                    before: now.clone(),
                    theirs: now,
                    yours,
                    operator: None,
                    at: None,
                });
            }
        }
        Ok(Self { revision: current.line.revision, fields })
    }
}

fn changed(entry: &AuditEntry, field: &str, before: &Value, now: &Value, patch: &Value) -> ConflictingField {
    ConflictingField {
        field: field.to_owned(),
        before: before.clone(),
        theirs: now.clone(),
        yours: patch.get(field).cloned(),
        operator: entry.operator.clone(),
        at: Some(entry.at),
    }
}

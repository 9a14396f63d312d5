//! The audit log: who changed what, when, from what to what, with which request. No secret ever gets here: entries are
//! made of settings, names and numbers only.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tracing::{error, info};
use utoipa::ToSchema;
use vestibule_core::records::{ENTRIES_MAX, EntryId, Records, Stream};
use vestibule_core::settings::Settings;
use vestibule_core::{QueueId, StoreError, TenantId};

use crate::access::Caller;
use crate::change::FieldChange;
use crate::state::Admin;
use crate::themes::OwnedTheme;

/// Most bytes of a value in an entry; what is longer is cut, so that a hundred rules don't fill the log.
const VALUE_MAX: usize = 2000;

/// An entry of the audit log.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct AuditEntry {
    /// Its id, which grows along the log.
    #[serde(default)]
    pub(crate) id: String,
    /// When, in seconds since 1970 by the store's clock.
    #[serde(default)]
    pub(crate) at: u64,
    /// Name of the operator; `null` for a sign-in that failed under a name that nobody has.
    pub(crate) operator: Option<String>,
    /// Public half of the API token that was used.
    pub(crate) token: Option<String>,
    /// Id of the request.
    pub(crate) request: String,
    /// What was done: `queue.change`.
    pub(crate) action: String,
    /// The tenant that it is about.
    #[schema(value_type = Option<String>)]
    pub(crate) tenant: Option<TenantId>,
    /// The queue that it is about.
    #[schema(value_type = Option<String>)]
    pub(crate) queue: Option<QueueId>,
    /// What else it is about: a session, an operator's name, a token's public half, a theme.
    pub(crate) subject: Option<String>,
    /// Revision of the queue's settings afterwards.
    pub(crate) revision: Option<u64>,
    /// Fields with their values before and after.
    pub(crate) changes: Vec<FieldChange>,
}

/// An entry in the making.
pub(crate) struct Deed(AuditEntry);

impl Deed {
    /// Somebody did this.
    pub(crate) fn of(caller: &Caller, action: &str) -> Self {
        Self(AuditEntry {
            operator: Some(caller.operator.to_string()),
            token: caller.token.clone(),
            ..blank(action, &caller.request.0)
        })
    }

    /// Something happened before it was known who asked.
    pub(crate) fn unknown(action: &str, request: &str, operator: Option<String>) -> Self {
        Self(AuditEntry { operator, ..blank(action, request) })
    }

    pub(crate) fn tenant(mut self, tenant: &TenantId) -> Self {
        self.0.tenant = Some(tenant.clone());
        self
    }

    pub(crate) fn queue(mut self, settings: &Settings) -> Self {
        self.0.queue = Some(settings.id.clone());
        self.0.revision = Some(settings.line.revision);
        self.tenant(&settings.tenant)
    }

    pub(crate) fn theme(mut self, theme: &OwnedTheme) -> Self {
        self.0.tenant = theme.tenant_id().cloned();
        self.subject(&theme.id)
    }

    pub(crate) fn subject(mut self, subject: &impl ToString) -> Self {
        self.0.subject = Some(subject.to_string());
        self
    }

    pub(crate) fn changes(mut self, changes: Vec<FieldChange>) -> Self {
        self.0.changes = changes.into_iter().map(cut).collect();
        self
    }

    /// One number or word that goes with it: how many were released.
    pub(crate) fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.0.changes.push(FieldChange { field: field.to_owned(), from: Value::Null, to: value.into() });
        self
    }

    /// Writes the entry. What was done stays done if the log can't be written; then the process' own log has it.
    pub(crate) async fn log(self, admin: &Admin) {
        let Self(entry) = self;
        let AuditEntry { operator, action, request, queue, subject, .. } = &entry;
        let (operator, queue) = (operator.as_deref(), queue.as_ref().map(tracing::field::display));
        info!(operator, action, request, queue, subject, "changed in the backoffice");
        let text = json!(&entry).to_string();
        if let Err(error) = admin.records.append(&Stream::Audit, &text).await {
            error!(%error, entry = text, "the audit log could not be written");
        }
    }
}

fn blank(action: &str, request: &str) -> AuditEntry {
    AuditEntry {
        id: String::new(),
        at: 0,
        operator: None,
        token: None,
        request: request.to_owned(),
        action: action.to_owned(),
        tenant: None,
        queue: None,
        subject: None,
        revision: None,
        changes: Vec::new(),
    }
}

fn cut(change: FieldChange) -> FieldChange {
    let short = |value: Value| {
        let text = value.to_string();
        if text.len() <= VALUE_MAX {
            return value;
        }
        let end = (0..=VALUE_MAX).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        Value::String(format!("{}..", &text[..end]))
    };
    FieldChange { field: change.field, from: short(change.from), to: short(change.to) }
}

/// Up to [`ENTRIES_MAX`] entries before `before`, the newest first; where the next page begins, if there is more.
pub(crate) async fn entries(
    records: &dyn Records,
    before: Option<EntryId>,
) -> Result<(Vec<AuditEntry>, Option<EntryId>), StoreError> {
    let found = records.entries(&Stream::Audit, before, ENTRIES_MAX).await?;
    let more = found.last().map(|entry| entry.id).filter(|_| found.len() == ENTRIES_MAX);
    let parse = |entry: vestibule_core::records::Entry| {
        let mut parsed: AuditEntry = serde_json::from_str(&entry.text).ok()?;
        (parsed.id, parsed.at) = (entry.id.to_string(), entry.id.at_ms / 1000);
        Some(parsed)
    };
    Ok((found.into_iter().filter_map(parse).collect(), more))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_is_cut() {
        let change = |to: Value| cut(FieldChange { field: "rules".to_owned(), from: Value::Null, to }).to;
        assert_eq!(change(json!([1, 2])), json!([1, 2]));
        let long = change(json!("\u{e4}".repeat(3000)));
        assert!(long.as_str().unwrap().len() <= VALUE_MAX + 2 && long.as_str().unwrap().ends_with(".."));
    }
}

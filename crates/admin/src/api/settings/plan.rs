//! The plan of an import, and what an import is rejected for.

use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use vestibule_core::settings::{
    Document, FieldChange, JobQueueChange, KeptReason, Plan, PlanOptions, QueueChange, SaltPolicy, Settings,
    StoredSettings, Tenant, TenantChange, Unlisted, untrusted_headers,
};
use vestibule_core::{Message, Micros, Store, StoreError};
use vestibule_runtime::{Queue, stored_settings};

use crate::api::job_queues::refuse_pull;
use crate::api::queues::events::{consequence, joined};
use crate::body::wrong;
use crate::codes::Code;
use crate::describe::FieldChangeSchema;
use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::{takeover_refusal, theme_refusal};

/// The plan of an import.
#[derive(Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Plan)]
pub struct ImportPlan {
    /// New and changed tenants.
    pub tenants: Vec<PlannedChange>,
    /// New and changed queues.
    pub queues: Vec<PlannedChange>,
    /// Queues that are removed because the document does not contain them.
    pub removed: Vec<String>,
    /// Queues that the document does not contain and that stay.
    pub kept: Vec<String>,
    /// What happens to visitors of a lobby.
    #[serde(default)]
    pub lobbies: Vec<PlannedLobby>,
    /// New and changed job queues.
    #[serde(default)]
    pub job_queues: Vec<PlannedChange>,
    /// Job queues that are removed because the document does not contain them, unless they have jobs or dead letters.
    #[serde(default)]
    pub removed_job_queues: Vec<String>,
}

/// A lobby that a plan affects: its event is removed or suspended, or loses its beacon.
#[derive(Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlannedLobby {
    /// The ID of the queue.
    pub queue: String,
    /// The ID of the event.
    pub event: String,
    /// What happens, in English.
    pub consequence: String,
}

/// A planned change.
#[derive(Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlannedChange {
    /// The ID.
    pub id: String,
    /// Whether it is created.
    pub created: bool,
    /// Whether the stored settings cannot be read. They are replaced.
    #[serde(default)]
    pub replaces_unreadable: bool,
    /// Changed fields with old and new values.
    #[schema(value_type = Vec<FieldChangeSchema>)]
    pub changes: Vec<FieldChange>,
}

impl From<&Plan> for ImportPlan {
    fn from(plan: &Plan) -> Self {
        let change =
            |id: &dyn ToString, is_new: bool, replaces_unreadable: bool, changes: &[FieldChange]| PlannedChange {
                id: id.to_string(),
                created: is_new && !replaces_unreadable,
                replaces_unreadable,
                changes: changes.to_vec(),
            };
        let queue =
            |it: &QueueChange| change(&it.settings.id, it.replaces.is_none(), it.replaces_unreadable, &it.changes);
        let job_queue = |it: &JobQueueChange| {
            let id = &it.settings.id;
            change(id, it.replaces == 0, plan.job_queues.unreadable.contains(id), &it.changes)
        };
        Self {
            tenants: plan.tenants.iter().map(|it| change(&it.tenant.id, it.created, false, &it.changes)).collect(),
            queues: plan.queues.iter().map(queue).collect(),
            removed: plan.removed.iter().map(ToString::to_string).collect(),
            kept: plan.kept_because(KeptReason::NotListed).map(ToString::to_string).collect(),
            lobbies: Vec::new(),
            job_queues: plan.job_queues.changed.iter().map(job_queue).collect(),
            removed_job_queues: plan.job_queues.removed.iter().map(|it| it.settings.id.to_string()).collect(),
        }
    }
}

impl ImportPlan {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.tenants.is_empty()
            && self.queues.is_empty()
            && self.removed.is_empty()
            && self.job_queues.is_empty()
            && self.removed_job_queues.is_empty()
    }

    /// Whether both make the same changes. The epochs of new queues and the salts of draws do not count.
    pub fn has_same_changes(&self, other: &Self) -> bool {
        self.subject() == other.subject()
    }

    /// The subject of the confirmation: the plan without the epochs of new queues, which depend on the time, the salts of draws,
    /// which are random if they are new, and the numbers of visitors.
    pub(super) fn subject(&self) -> String {
        let mut plan = json!(self);
        let lobbies = self.lobbies.iter().map(|lobby| json!([lobby.queue, lobby.event]));
        plan["lobbies"] = lobbies.collect();
        for queue in plan["queues"].as_array_mut().into_iter().flatten() {
            let is_new = queue["created"] == true;
            if let Some(changes) = queue["changes"].as_array_mut() {
                changes.retain(|change| !is_new || change["field"] != "epoch");
                let events = changes.iter_mut().filter(|change| change["field"] == "events");
                for event in events.filter_map(|change| change["to"].as_array_mut()).flatten() {
                    event["salt"].take();
                }
            }
        }
        plan.to_string()
    }

    /// The plan in a sentence, and what it does to lobbies.
    pub(super) fn effect(&self, consequences: Vec<Message>) -> Message {
        joined([self.summary()].into_iter().chain(consequences)).unwrap_or_else(|| self.summary())
    }

    fn summary(&self) -> Message {
        let created = |all: &[PlannedChange]| all.iter().filter(|it| it.created).count();
        let (tenants, queues) = (created(&self.tenants), created(&self.queues));
        let created = Code::WillImport.with("new_tenants", tenants).with("new_queues", queues);
        let changed = created.with("tenants", self.tenants.len() - tenants).with("queues", self.queues.len() - queues);
        let changed = changed.with("removed", self.removed.len());
        if self.job_queues.is_empty() && self.removed_job_queues.is_empty() {
            return changed;
        }
        let job_queues = Code::WillImportJobQueues.with("job_queues", self.job_queues.len());
        let job_queues = job_queues.with("removed", self.removed_job_queues.len());
        Code::Both.with("first", changed).with("then", job_queues)
    }
}

/// An import that was not confirmed yet.
pub(super) struct PlannedImport {
    /// The settings before.
    pub(super) stored: StoredSettings,
    /// The plan to be executed.
    pub(super) plan: Plan,
    /// The plan as it is shown.
    pub(super) shown: ImportPlan,
    /// What it does to lobbies.
    pub(super) consequences: Vec<Message>,
}

/// Compares a document with the stored settings.
pub(super) async fn plan_import(admin: &Admin, document: Document, remove: bool) -> Result<PlannedImport, Problem> {
    admin.directory.refresh_readable().await?;
    // Without an epoch in the document, a new queue starts with the current time, in case there was a queue with this ID.
    let now = admin.now().await?;
    let first_epoch = now.seconds();
    let unlisted = if remove { Unlisted::Remove } else { Unlisted::Keep };
    let mut stored = stored_settings(&*admin.store, &document, Unlisted::RemoveOnly(&[])).await?;
    let is_read = |queue: &Queue| stored.queues.iter().any(|read| read.id == queue.settings.id);
    let cached = admin.directory.queues().into_iter().filter(|queue| !is_read(queue));
    let cached: Vec<_> = cached.map(|queue| queue.settings.clone()).collect();
    stored.queues.extend(cached);
    match &admin.jobs {
        Some(job_queues) => {
            document.job_queues.iter().try_for_each(|settings| refuse_pull(job_queues, settings))?;
            job_queues.read_into(&mut stored).await?;
        }
        None if document.job_queues.is_empty() => {}
        None => return Err(wrong("job_queues", Code::NoJobQueues)),
    }
    let plan = Plan::of(
        &stored,
        document,
        &PlanOptions {
            unlisted,
            first_epoch,
            now: Some(now),
            last_applied: None,
            removed_job_queues: &[],
            sale_keys: Some(&admin.sale_keys),
            salts: SaltPolicy::Random,
            counts_existing_job_queues: true,
        },
    );
    if !plan.invalid.is_empty() {
        return Err(Problem::ValidationFailed(plan.invalid));
    }
    reject_untrusted_headers(admin, &plan)?;
    reject_missing_job_queues(admin, &plan)?;
    reject_foreign_themes(&stored, &plan)?;
    reject_takeovers(admin, &plan).await?;
    let locked = plan.locked_events(&stored, now);
    if !locked.is_empty() {
        return Err(Problem::EventLocked(locked));
    }
    let outside = plan.outside();
    if !outside.is_empty() {
        return Err(Problem::QueuesOutside(outside));
    }
    let conflicts = plan.conflicts();
    if !conflicts.is_empty() {
        return Err(Problem::RoutingConflict(conflicts));
    }
    let mut shown = ImportPlan::from(&plan);
    let planned = planned_lobbies(&*admin.store, &stored, &plan, now).await?;
    let (lobbies, consequences) = planned.into_iter().unzip();
    shown.lobbies = lobbies;
    Ok(PlannedImport { stored, plan, shown, consequences })
}

/// Rejects rules that the import changes and that believe headers which anyone can send.
fn reject_untrusted_headers(admin: &Admin, plan: &Plan) -> Result<(), Problem> {
    let errors = with_changed_rules(plan)
        .flat_map(|queue| {
            let errors = untrusted_headers(&queue.settings.rules, &admin.trusted_headers).into_iter();
            errors.map(|error| error.within(&queue.settings.id))
        })
        .collect();
    Problem::unless_valid(errors)
}

/// Rejects rules that the import changes and that hold orders in a job queue that the tenant does not have.
fn reject_missing_job_queues(admin: &Admin, plan: &Plan) -> Result<(), Problem> {
    let changed = with_changed_rules(plan).filter(|_| admin.jobs.is_some());
    Problem::unless_valid(changed.flat_map(|queue| plan.without_job_queue(queue)).collect())
}

/// The queues whose rules the import changes.
fn with_changed_rules(plan: &Plan) -> impl Iterator<Item = &QueueChange> {
    plan.queues.iter().filter(|queue| queue.changes.iter().any(|change| change.field == "rules"))
}

/// The lobbies that a plan affects at `now` and that have visitors, each with what happens to it.
///
/// # Errors
/// The store's.
pub async fn planned_lobbies(
    store: &dyn Store,
    stored: &StoredSettings,
    plan: &Plan,
    now: Micros,
) -> Result<Vec<(PlannedLobby, Message)>, StoreError> {
    let mut planned = Vec::new();
    for (before, change) in plan.affected_lobbies(stored, now) {
        let stats = store.stats(&before.id).await?;
        if let Some(message) = consequence(before, &stats, &change) {
            let (queue, event) = (before.id.to_string(), change.event.id.to_string());
            planned.push((PlannedLobby { queue, event, consequence: message.to_string() }, message));
        }
    }
    Ok(planned)
}

/// Rejects queues with themes of other tenants.
fn reject_foreign_themes(stored: &StoredSettings, plan: &Plan) -> Result<(), Problem> {
    let mut tenants: Vec<Tenant> = stored.tenants.clone();
    tenants.retain(|stored| plan.tenants_after.iter().all(|tenant| tenant.id != stored.id));
    tenants.extend(plan.tenants_after.iter().cloned());
    let refusal = |queue: &Settings| Some(theme_refusal(queue, &tenants, true)?.within(&queue.id));
    Problem::unless_valid(plan.queues.iter().filter_map(|change| refusal(&change.settings)).collect())
}

/// Rejects new tenants that would take over themes of others.
async fn reject_takeovers(admin: &Admin, plan: &Plan) -> Result<(), Problem> {
    let mut errors = Vec::new();
    for TenantChange { tenant, .. } in plan.tenants.iter().filter(|change| change.created) {
        let error = takeover_refusal(admin, tenant).await?;
        errors.extend(error.map(|error| error.within(&tenant.id)));
    }
    Problem::unless_valid(errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(created: bool, fields: &[&str]) -> ImportPlan {
        let change = |field: &&str| FieldChange { field: (*field).to_owned(), from: json!(null), to: json!(1) };
        let changes = fields.iter().map(change).collect();
        let queue = PlannedChange { id: "tour".to_owned(), created, replaces_unreadable: false, changes };
        ImportPlan {
            tenants: Vec::new(),
            queues: vec![queue],
            removed: Vec::new(),
            kept: Vec::new(),
            lobbies: Vec::new(),
            job_queues: Vec::new(),
            removed_job_queues: Vec::new(),
        }
    }

    #[test]
    fn epoch_of_a_new_queue_is_not_compared() {
        assert!(plan(true, &["quota", "epoch"]).has_same_changes(&plan(true, &["quota"])));
        assert!(!plan(false, &["quota", "epoch"]).has_same_changes(&plan(false, &["quota"])));
        assert!(!plan(true, &["quota"]).has_same_changes(&plan(true, &["mode"])));
    }
}

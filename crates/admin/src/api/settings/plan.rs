//! The changes of an import, planned before anything is written.

use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use vestibule_core::settings::{Document, FieldError, Settings, Tenant, routing_conflicts};
use vestibule_core::{Message, QueueId};

use crate::api::tenants::outside;
use crate::codes::Code;
use crate::merge_patch::{FieldChange, differences};
use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::theme_refusal;

/// The plan of an import.
#[derive(Serialize, ToSchema)]
pub(crate) struct Plan {
    /// New and changed tenants.
    tenants: Vec<PlannedChange>,
    /// New and changed queues.
    queues: Vec<PlannedChange>,
    /// Queues that are removed because the document does not contain them.
    removed: Vec<String>,
    /// Queues that the document does not contain and that stay.
    kept: Vec<String>,
    #[serde(skip)]
    pub(super) work: Work,
}

/// A planned change.
#[derive(Serialize, ToSchema)]
pub(crate) struct PlannedChange {
    /// The ID.
    id: String,
    /// Whether it is created.
    created: bool,
    /// Changed fields with old and new values.
    changes: Vec<FieldChange>,
}

/// The work of a plan.
#[derive(Default)]
pub(super) struct Work {
    pub(super) tenants: Vec<(Tenant, Vec<FieldChange>)>,
    pub(super) queues: Vec<QueueWork>,
    pub(super) removed: Vec<Settings>,
}

pub(super) struct QueueWork {
    pub(super) settings: Settings,
    /// The revision that it replaces; `None` where the queue is new.
    pub(super) replaces: Option<u64>,
    pub(super) changes: Vec<FieldChange>,
}

impl Plan {
    /// Compares a document with the stored settings.
    pub(super) async fn of(admin: &Admin, document: Document, removes: bool) -> Result<Self, Problem> {
        admin.directory.refresh().await?;
        let now = admin.now().await?;
        let there = admin.directory.queues();
        let mut work = Work { tenants: changed_tenants(admin, document.tenants).await?, ..Work::default() };
        let mut named: Vec<QueueId> = Vec::new();
        let mut after: Vec<Settings> = Vec::new();
        for mut settings in document.queues {
            let stored = there.iter().map(|queue| &queue.settings).find(|it| it.id == settings.id);
            // Without an epoch in the document, a new queue starts with the current time; an import never undoes a reset.
            let least = stored.map_or(now.seconds(), |stored| stored.line.epoch);
            settings.line.epoch = settings.line.epoch.max(least);
            let replaces = stored.map(|stored| stored.line.revision);
            settings.line.revision = replaces.unwrap_or(1);
            let changes = differences(&stored.map_or(Value::Null, Settings::to_value), &settings.to_value());
            named.push(settings.id.clone());
            after.push(settings.clone());
            if !changes.is_empty() {
                work.queues.push(QueueWork { settings, replaces, changes });
            }
        }
        let mut kept: Vec<&Settings> =
            there.iter().map(|it| &it.settings).filter(|it| !named.contains(&it.id)).collect();
        kept.sort_by(|one, other| one.id.cmp(&other.id));
        if removes {
            work.removed = kept.drain(..).cloned().collect();
        }
        after.extend(kept.iter().copied().cloned());
        allowed(admin, &work, &after).await?;
        consistent(&work, &after)?;
        Ok(Self::told(work, &kept))
    }

    fn told(work: Work, kept: &[&Settings]) -> Self {
        let tenants = work.tenants.iter().map(|(tenant, changes)| PlannedChange {
            id: tenant.id.to_string(),
            created: changes.iter().any(|change| change.field == "id"),
            changes: changes.clone(),
        });
        let queues = work.queues.iter().map(|it| PlannedChange {
            id: it.settings.id.to_string(),
            created: it.replaces.is_none(),
            changes: it.changes.clone(),
        });
        Self {
            tenants: tenants.collect(),
            queues: queues.collect(),
            removed: work.removed.iter().map(|settings| settings.id.to_string()).collect(),
            kept: kept.iter().map(|settings| settings.id.to_string()).collect(),
            work,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tenants.is_empty() && self.queues.is_empty() && self.removed.is_empty()
    }

    /// The subject of the confirmation: the plan without the epochs of new queues, which depend on the time.
    pub(super) fn subject(&self) -> String {
        let mut plan = json!(self);
        for queue in plan["queues"].as_array_mut().into_iter().flatten().filter(|it| it["created"] == true) {
            if let Some(changes) = queue["changes"].as_array_mut() {
                changes.retain(|change| change["field"] != "epoch");
            }
        }
        plan.to_string()
    }

    /// The plan in a sentence.
    pub(super) fn effect(&self) -> Message {
        let created = |all: &[PlannedChange]| all.iter().filter(|it| it.created).count();
        let (tenants, queues) = (created(&self.tenants), created(&self.queues));
        let created = Code::WillImport.with("new_tenants", tenants).with("new_queues", queues);
        let changed = created.with("tenants", self.tenants.len() - tenants).with("queues", self.queues.len() - queues);
        changed.with("removed", self.removed.len())
    }
}

async fn changed_tenants(admin: &Admin, tenants: Vec<Tenant>) -> Result<Vec<(Tenant, Vec<FieldChange>)>, Problem> {
    let there = admin.store.tenants().await?;
    let compared = tenants.into_iter().map(|tenant| {
        let stored = there.iter().find(|stored| stored.id == tenant.id);
        let changes = differences(&stored.map_or(Value::Null, |stored| json!(stored)), &json!(tenant));
        (tenant, changes)
    });
    Ok(compared.filter(|(_, changes)| !changes.is_empty()).collect())
}

/// Rejects themes of other tenants, and lists of a tenant that do not allow one of its queues.
async fn allowed(admin: &Admin, work: &Work, after: &[Settings]) -> Result<(), Problem> {
    let mut tenants = admin.store.tenants().await?;
    tenants.retain(|stored| work.tenants.iter().all(|(tenant, _)| tenant.id != stored.id));
    tenants.extend(work.tenants.iter().map(|(tenant, _)| tenant.clone()));
    let queues = work.queues.iter().map(|it| &it.settings);
    let themes = queues.filter_map(|queue| Some((queue, theme_refusal(queue, &tenants, true)?)));
    let named =
        |(queue, FieldError { field, fault }): (&Settings, _)| FieldError::new(format!("{}.{field}", queue.id), fault);
    let themes: Vec<_> = themes.map(named).collect();
    if !themes.is_empty() {
        return Err(Problem::ValidationFailed(themes));
    }
    let found: Vec<_> = work.tenants.iter().flat_map(|(tenant, _)| outside(tenant, after.iter())).collect();
    if found.is_empty() { Ok(()) } else { Err(Problem::QueuesOutside(found)) }
}

/// Rejects a document after which queues would conflict.
fn consistent(work: &Work, after: &[Settings]) -> Result<(), Problem> {
    let mut errors = Vec::new();
    for QueueWork { settings, .. } in &work.queues {
        let found = routing_conflicts(settings, after, true, |_| true);
        errors.extend(
            found
                .into_iter()
                .map(|FieldError { field, fault }| FieldError { field: format!("{}.{field}", settings.id), fault }),
        );
    }
    if errors.is_empty() { Ok(()) } else { Err(Problem::RoutingConflict(errors)) }
}

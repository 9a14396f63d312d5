//! What applying a document would change: one comparison for the import of the backoffice, `vestibule apply`, and the
//! settings file of `vestibule serve`.
//!
//! A plan is a pure function of the stored settings and the wanted ones. Callers read before, and write and audit afterwards.

mod errors;

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::draws::complete_draws;
use super::field_change::{FieldChange, differences};
use super::invitation::complete_invitations;
use super::job_queue_plan::{JobQueuePlan, StoredJobQueue, too_many_job_queues};
use super::{
    Document, LobbyChange, SaltPolicy, Settings, Tenant, affected_lobbies, keep_open_lobbies, settle_removed_beacons,
};
use crate::fields::{FieldError, FieldErrorCode as Code};
use crate::jobs::{JobQueueId, JobQueueSettings};
use crate::line::{EPOCH_DEFAULT, LineRules};
use crate::time::Micros;
use crate::{QueueId, SaleKeys, TenantId};

pub use self::errors::{QueueError, values_outside};

/// The stored settings that a document is compared with.
#[derive(Debug, Clone, Default)]
pub struct StoredSettings {
    /// All tenants.
    pub tenants: Vec<Tenant>,
    /// The queues: all, or those that the plan is about.
    pub queues: Vec<Settings>,
    /// Queues that were removed, not lost.
    pub removed: Vec<QueueId>,
    /// Queues that exist and cannot be read. Those that the document does not contain always stay.
    pub unreadable: Vec<UnreadableQueue>,
    /// All job queues that can be read.
    pub job_queues: Vec<StoredJobQueue>,
    /// Job queues that cannot be read and may be replaced, with the revision of their settings.
    pub unreadable_job_queues: Vec<(JobQueueId, u64)>,
}

/// A queue whose stored settings cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableQueue {
    /// The queue.
    pub id: QueueId,
    /// The revision of its settings, as the index of the store says; 0 if it is not known.
    pub revision: u64,
    /// Why they cannot be read.
    pub reason: String,
}

impl StoredSettings {
    /// A tenant.
    pub fn tenant(&self, id: &TenantId) -> Option<&Tenant> {
        self.tenants.iter().find(|tenant| tenant.id == *id)
    }

    /// A queue.
    pub fn queue(&self, id: &QueueId) -> Option<&Settings> {
        self.queues.iter().find(|queue| queue.id == *id)
    }
}

/// What happens to queues that the document does not contain.
#[derive(Debug, Clone, Copy, Default)]
pub enum Unlisted<'a> {
    /// They stay.
    #[default]
    Keep,
    /// They are removed.
    Remove,
    /// These are removed, the others stay.
    RemoveOnly(&'a [QueueId]),
}

/// How a document is applied.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanOptions<'a> {
    /// What happens to queues that the document does not contain.
    pub unlisted: Unlisted<'a>,
    /// The lowest epoch of a new queue.
    pub first_epoch: u64,
    /// The sale keys of this process, which complete the draws of events (see [`complete_sale_keys`]). `None`: they are complete.
    pub sale_keys: Option<&'a SaleKeys>,
    /// Where the salts of new draws come from.
    pub salts: SaltPolicy,
    /// The time by the clock of the store: lobbies that are open then stay open if their events are postponed. `None`: the
    /// document is taken as it is.
    pub now: Option<Micros>,
    /// What the same source contained when it was last applied. Entries that have not changed in the source since then keep
    /// the changes that were made elsewhere. `None`: the document replaces them.
    pub last_applied: Option<&'a Document>,
    /// Job queues that are removed if the document does not contain them, whatever happens to such queues.
    pub removed_job_queues: &'a [JobQueueId],
    /// Whether the limits of tenants count the job queues that exist, too, and refuse only new ones. A settings file is trusted: its own
    /// tenants and job queues alone decide whether it can be applied, so that nothing else keeps a process from starting.
    pub counts_existing_job_queues: bool,
}

/// Why a queue keeps its stored state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptReason {
    /// The document does not contain it, and such queues stay.
    NotListed,
    /// It cannot be read.
    Unreadable,
    /// It was changed elsewhere, and has not changed in the source.
    ChangedElsewhere,
    /// It was removed elsewhere, and has not changed in the source.
    RemovedElsewhere,
    /// The document changes fields of its events that are locked now.
    EventLocked,
}

/// A tenant that is created or changed.
#[derive(Debug, Clone)]
pub struct TenantChange {
    /// What is written.
    pub tenant: Tenant,
    /// Whether the tenant is new.
    pub created: bool,
    /// The changed fields; all fields of a new tenant.
    pub changes: Vec<FieldChange>,
}

/// A queue that is created or changed.
#[derive(Debug, Clone)]
pub struct QueueChange {
    /// What is written.
    pub settings: Settings,
    /// The revision that is replaced; `None` if the queue is new.
    pub replaces: Option<u64>,
    /// Whether the stored settings cannot be read. They are replaced even if nothing is known to change.
    pub replaces_unreadable: bool,
    /// The changed fields; all fields of a new queue.
    pub changes: Vec<FieldChange>,
    /// Whether the stored settings differ both from the document and from what its source contained when it was last applied.
    pub overrides: bool,
}

/// What applying a document changes.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// New and changed tenants, in the order of the document.
    pub tenants: Vec<TenantChange>,
    /// New and changed queues, in the order of the document.
    pub queues: Vec<QueueChange>,
    /// Queues that are removed, by ID. Not all of them need to be stored.
    pub removed: Vec<QueueId>,
    /// Queues that keep their stored state although the document differs, by ID.
    pub kept: Vec<(QueueId, KeptReason)>,
    /// The tenants of the document as they are afterwards.
    pub tenants_after: Vec<Tenant>,
    /// The queues of the document as they are afterwards.
    pub queues_after: Vec<Settings>,
    /// What cannot be applied, as `queue.field`: draws that cannot take place, since this process does not know their sale keys,
    /// values of beacons that the server did not record, and changes of job queues that would lose jobs.
    pub invalid: Vec<FieldError>,
    /// What changes in job queues.
    pub job_queues: JobQueuePlan,
    /// Epochs of the document that are set to empty a line, and are not higher than the stored one.
    outdated_epochs: Vec<QueueError>,
    /// Stored queues that are neither in the document nor removed.
    others: Vec<Settings>,
}

impl Plan {
    /// Compares a document with the stored settings.
    pub fn of(stored: &StoredSettings, document: Document, options: &PlanOptions<'_>) -> Self {
        let mut plan = Self::default();
        if !options.counts_existing_job_queues {
            plan.invalid.extend(too_many_job_queues(&document));
        }
        let listed: HashSet<QueueId> = document.queues.iter().map(|queue| queue.id.clone()).collect();
        for tenant in document.tenants {
            plan.add_tenant(stored, tenant, options);
        }
        let stored_by_id: HashMap<_, _> = stored.queues.iter().map(|queue| (&queue.id, queue)).collect();
        for queue in document.queues {
            let before = stored_by_id.get(&queue.id).copied();
            plan.add_queue(stored, before, queue, options);
        }
        plan.add_unlisted(stored, &listed, options.unlisted);
        let last = options.last_applied.map(|last| &*last.job_queues);
        let is_removed =
            |id: &JobQueueId| matches!(options.unlisted, Unlisted::Remove) || options.removed_job_queues.contains(id);
        let (readable, unreadable) = (&stored.job_queues, &stored.unreadable_job_queues);
        let mut job_queues = JobQueuePlan::of(readable, unreadable, document.job_queues, last, is_removed);
        job_queues.keep_in_use(|it| plan.all_queues_after().any(|queue| queue.holds_orders_in(it)));
        plan.invalid.append(&mut job_queues.invalid);
        if options.counts_existing_job_queues {
            plan.invalid.extend(plan.tenants_after.iter().filter_map(|tenant| job_queues.too_many_of(tenant)));
        }
        plan.job_queues = job_queues;
        plan.kept.sort_by(|one, other| one.0.cmp(&other.0));
        plan
    }

    fn add_tenant(&mut self, stored: &StoredSettings, tenant: Tenant, options: &PlanOptions<'_>) {
        let before = stored.tenant(&tenant.id);
        let last = options.last_applied.and_then(|last| last.tenants.iter().find(|it| it.id == tenant.id));
        let tenant = match before {
            Some(before) if last == Some(&tenant) => before.clone(),
            _ => tenant,
        };
        let changes = differences(&before.map_or(Value::Null, |before| json!(before)), &json!(tenant));
        self.tenants_after.push(tenant.clone());
        if !changes.is_empty() {
            self.tenants.push(TenantChange { tenant, created: before.is_none(), changes });
        }
    }

    fn add_queue(
        &mut self,
        stored: &StoredSettings,
        before: Option<&Settings>,
        mut settings: Settings,
        options: &PlanOptions<'_>,
    ) {
        let last = options.last_applied.and_then(|last| last.queues.iter().find(|it| it.id == settings.id));
        let mut last = last.cloned();
        self.complete(before, &mut settings, last.as_mut(), options);
        let last = last.as_ref();
        if last.is_some_and(|last| is_unchanged(last, &settings)) && self.keeps_stored(stored, before, &settings) {
            return;
        }
        let overrides = before.is_some_and(|before| {
            !before.eq_ignoring_revision(&settings) && !last.is_some_and(|last| last.eq_ignoring_revision(before))
        });
        let unreadable = stored.unreadable.iter().find(|it| it.id == settings.id);
        let replaces = before.map(|before| before.line.revision);
        if let Some(before) = before {
            let was_raised = settings.line.epoch > last.map_or(EPOCH_DEFAULT, |last| last.line.epoch);
            if was_raised && settings.line.epoch < before.line.epoch {
                let fault = Code::EpochOutdated.with("epoch", before.line.epoch.to_string());
                self.outdated_epochs.push((settings.id.clone(), FieldError::new("epoch", fault)));
            }
        }
        set_epoch_and_revision(&mut settings.line, before, unreadable, options.first_epoch);
        if let Some(before) = before {
            settings.unknown_fields.clone_from(&before.unknown_fields);
        }
        let changes = differences(&before.map_or(Value::Null, Settings::to_value), &settings.to_value());
        self.queues_after.push(settings.clone());
        let replaces_unreadable = unreadable.is_some();
        if replaces_unreadable || !changes.is_empty() {
            self.queues.push(QueueChange { settings, replaces, replaces_unreadable, changes, overrides });
        }
    }

    /// Completes what a queue of the document leaves to the server, and what its source contained when it was last applied.
    fn complete(
        &mut self,
        before: Option<&Settings>,
        settings: &mut Settings,
        mut last: Option<&mut Settings>,
        options: &PlanOptions<'_>,
    ) {
        if let Some(keys) = options.sale_keys {
            let errors = complete_sale_keys(before, settings, keys, options.salts);
            self.invalid.extend(errors.into_iter().map(|error| error.within(&settings.id)));
            if let Some(last) = &mut last {
                complete_sale_keys(Some(settings), last, keys, options.salts);
            }
        }
        if let (Some(before), Some(now)) = (before, options.now) {
            for settings in last.into_iter().chain([settings]) {
                keep_open_lobbies(&before.line, &mut settings.line, now);
            }
        }
    }

    /// Whether a queue that has not changed in its source stays as it is stored, or removed.
    fn keeps_stored(&mut self, stored: &StoredSettings, before: Option<&Settings>, settings: &Settings) -> bool {
        if let Some(before) = before {
            if !before.eq_ignoring_revision(settings) {
                self.kept.push((settings.id.clone(), KeptReason::ChangedElsewhere));
            }
            self.queues_after.push(before.clone());
            return true;
        }
        let was_removed = stored.removed.contains(&settings.id);
        if was_removed {
            self.kept.push((settings.id.clone(), KeptReason::RemovedElsewhere));
        }
        was_removed
    }

    fn add_unlisted(&mut self, stored: &StoredSettings, listed: &HashSet<QueueId>, unlisted: Unlisted<'_>) {
        if let Unlisted::RemoveOnly(ids) = unlisted {
            self.removed.extend(ids.iter().filter(|id| !listed.contains(*id)).cloned());
        }
        for queue in stored.queues.iter().filter(|queue| !listed.contains(&queue.id)) {
            if matches!(unlisted, Unlisted::Remove) {
                self.removed.push(queue.id.clone());
            } else if !self.removed.contains(&queue.id) {
                self.kept.push((queue.id.clone(), KeptReason::NotListed));
                self.others.push(queue.clone());
            }
        }
        self.removed.sort();
        let unreadable = stored.unreadable.iter().map(|it| &it.id);
        let unreadable = unreadable.filter(|id| !listed.contains(*id) && !self.removed.contains(id));
        self.kept.extend(unreadable.map(|id| (id.clone(), KeptReason::Unreadable)));
    }

    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.tenants.is_empty() && self.queues.is_empty() && self.removed.is_empty() && self.job_queues.is_empty()
    }

    /// The queues that are kept for this reason.
    pub fn kept_because(&self, reason: KeptReason) -> impl Iterator<Item = &QueueId> {
        self.kept.iter().filter(move |(_, kept)| *kept == reason).map(|(id, _)| id)
    }

    /// The queues as they are afterwards: those of the document, and the stored ones that stay.
    fn all_queues_after(&self) -> impl Iterator<Item = &Settings> {
        self.queues_after.iter().chain(&self.others)
    }

    /// Records the removal of beacons at `now` (see [`settle_removed_beacons`]). To be called right before the plan is written.
    pub fn settle_removed_beacons(&mut self, stored: &StoredSettings, now: Micros) {
        let changed = self.queues.iter_mut().map(|change| &mut change.settings);
        for settings in changed.chain(&mut self.queues_after) {
            if let Some(before) = stored.queue(&settings.id) {
                settle_removed_beacons(&before.line, &mut settings.line, now);
            }
        }
    }

    /// The lobbies that the plan affects at `now`, with the settings of their queues before it.
    pub fn affected_lobbies<'a>(
        &self,
        stored: &'a StoredSettings,
        now: Micros,
    ) -> Vec<(&'a Settings, LobbyChange<'a>)> {
        let changed = self.queues.iter().map(|change| (&change.settings.id, Some(&change.settings.line)));
        let removed = self.removed.iter().map(|id| (id, None));
        let of = |(id, after): (&QueueId, Option<&LineRules>)| {
            let before = stored.queue(id)?;
            let affected = affected_lobbies(&before.line, after, now).into_iter();
            Some(affected.map(move |change| (before, change)).collect::<Vec<_>>())
        };
        changed.chain(removed).filter_map(of).flatten().collect()
    }

    /// Keeps job queues in which rules of these queues hold orders; all, if the rules of some cannot be read. Returns why they stay.
    /// To be called with all stored queues once the queues of the plan are written: which of them stay is known only then.
    pub fn keep_job_queues_in_use(&mut self, stored: &StoredSettings) -> Vec<FieldError> {
        let known = self.job_queues.in_use.len();
        let holds_orders = |it: &JobQueueSettings| stored.queues.iter().any(|queue| queue.holds_orders_in(it));
        self.job_queues.keep_in_use(|it| !stored.unreadable.is_empty() || holds_orders(it));
        self.job_queues.in_use[known..].to_vec()
    }
}

/// Whether a source has the same settings for a queue as when it was last applied.
fn is_unchanged(last: &Settings, settings: &Settings) -> bool {
    last.eq_ignoring_revision(settings) && last.line.epoch == settings.line.epoch
}

/// Completes the draws of events and the keys of invitations from the settings before. Returns an error for each sale key that is not
/// among `keys`, and for each event that states something else about its beacon.
pub fn complete_sale_keys(
    before: Option<&Settings>,
    settings: &mut Settings,
    keys: &SaleKeys,
    salts: SaltPolicy,
) -> Vec<FieldError> {
    let mut errors = complete_draws(before.map(|before| &before.line), &mut settings.line, keys, salts);
    let held = before.map_or(&[][..], |before| &before.invitations);
    errors.extend(complete_invitations(held, &mut settings.invitations, keys));
    errors
}

/// A reset since the document was written began a later epoch, which a change of the document must not undo. The epoch of settings
/// that cannot be read is that of the tickets.
fn set_epoch_and_revision(
    line: &mut LineRules,
    before: Option<&Settings>,
    unreadable: Option<&UnreadableQueue>,
    first_epoch: u64,
) {
    let least_epoch = match (before, unreadable) {
        (Some(before), _) => before.line.epoch,
        (None, Some(_)) => 0,
        (None, None) => first_epoch,
    };
    line.epoch = line.epoch.max(least_epoch);
    let replaces = before.map(|before| before.line.revision);
    line.revision = match unreadable {
        Some(unreadable) => unreadable.revision.max(replaces.unwrap_or_default()) + 1,
        None => replaces.unwrap_or(1),
    };
}

#[cfg(test)]
mod tests;

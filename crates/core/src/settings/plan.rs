//! What applying a document would change: one comparison for the import of the backoffice, `vestibule apply`, and the
//! settings file of `vestibule serve`.
//!
//! A plan is a pure function of the stored settings and the wanted ones. Callers read before, and write and audit afterwards.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::field_change::{FieldChange, differences};
use super::job_queue_plan::{JobQueuePlan, StoredJobQueue};
use super::{
    Document, LobbyChange, SaltPolicy, Settings, Tenant, affected_lobbies, complete_draws, complete_invitations,
    keep_open_lobbies, locked_event_changes, routing_conflicts, rules_without_job_queue, settle_removed_beacons,
};
use crate::fields::FieldError;
use crate::jobs::JobQueueId;
use crate::line::LineRules;
use crate::time::Micros;
use crate::{QueueId, SaleKeys, TenantId};

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
    /// The sale keys of this process, which complete the draws of events (see [`complete_draws`]). `None`: they are complete.
    pub sale_keys: Option<&'a SaleKeys>,
    /// Where the salts of new draws come from.
    pub salts: SaltPolicy,
    /// The time by the clock of the store: lobbies that are open then stay open if their events are postponed. `None`: the
    /// document is taken as it is.
    pub now: Option<Micros>,
    /// What the same source contained when it was last applied. Entries that have not changed in the source since then keep
    /// the changes that were made elsewhere. `None`: the document replaces them.
    pub last_applied: Option<&'a Document>,
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
    /// Stored queues that are neither in the document nor removed.
    others: Vec<Settings>,
}

impl Plan {
    /// Compares a document with the stored settings.
    pub fn of(stored: &StoredSettings, document: Document, options: &PlanOptions<'_>) -> Self {
        let mut plan = Self::default();
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
        let removes_unlisted = matches!(options.unlisted, Unlisted::Remove);
        let (readable, unreadable) = (&stored.job_queues, &stored.unreadable_job_queues);
        let mut job_queues = JobQueuePlan::of(readable, unreadable, document.job_queues, last, removes_unlisted);
        job_queues.keep_in_use(|it| plan.all_queues_after().any(|queue| queue.holds_orders_in(it)));
        plan.invalid.append(&mut job_queues.invalid);
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
        if let Some(keys) = options.sale_keys {
            let salts = options.salts;
            let errors = complete_draws(before.map(|before| &before.line), &mut settings.line, keys, salts);
            self.invalid.extend(of_queue(&settings.id, errors));
            let held = before.map_or(&[][..], |before| &before.invitations);
            let errors = complete_invitations(held, &mut settings.invitations, keys);
            self.invalid.extend(of_queue(&settings.id, errors));
            if let Some(last) = &mut last {
                complete_invitations(&settings.invitations, &mut last.invitations, keys);
                complete_draws(Some(&settings.line), &mut last.line, keys, salts);
            }
        }
        if let (Some(before), Some(now)) = (before, options.now) {
            for settings in last.iter_mut().chain([&mut settings]) {
                keep_open_lobbies(&before.line, &mut settings.line, now);
            }
        }
        let last = last.as_ref();
        if last.is_some_and(|last| is_unchanged(last, &settings)) {
            if let Some(before) = before {
                if !before.eq_ignoring_revision(&settings) {
                    self.kept.push((settings.id, KeptReason::ChangedElsewhere));
                }
                self.queues_after.push(before.clone());
                return;
            }
            if stored.removed.contains(&settings.id) {
                self.kept.push((settings.id, KeptReason::RemovedElsewhere));
                return;
            }
        }
        let overrides = before.is_some_and(|before| {
            !before.eq_ignoring_revision(&settings) && !last.is_some_and(|last| last.eq_ignoring_revision(before))
        });
        let unreadable = stored.unreadable.iter().find(|it| it.id == settings.id);
        // A reset since the document was written began a later epoch, which a change of the document must not undo. The epoch of
        // settings that cannot be read is that of the tickets.
        let least_epoch = match (before, unreadable) {
            (Some(before), _) => before.line.epoch,
            (None, Some(_)) => 0,
            (None, None) => options.first_epoch,
        };
        settings.line.epoch = settings.line.epoch.max(least_epoch);
        let replaces = before.map(|before| before.line.revision);
        settings.line.revision = match unreadable {
            Some(unreadable) => unreadable.revision.max(replaces.unwrap_or_default()) + 1,
            None => replaces.unwrap_or(1),
        };
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
    pub fn all_queues_after(&self) -> impl Iterator<Item = &Settings> {
        self.queues_after.iter().chain(&self.others)
    }

    /// Routing conflicts of the new and changed queues with the queues as they are afterwards, as `queue.field`.
    #[must_use]
    pub fn conflicts(&self) -> Vec<FieldError> {
        let of = |change: &QueueChange| {
            let found = routing_conflicts(&change.settings, self.all_queues_after(), true, |_| true);
            of_queue(&change.settings.id, found)
        };
        self.queues.iter().flat_map(of).collect()
    }

    /// Changes of events that the rules no longer allow at `now`, as `queue.field`.
    #[must_use]
    pub fn locked_events(&self, stored: &StoredSettings, now: Micros) -> Vec<FieldError> {
        let of = |change: &QueueChange| {
            let before = stored.queue(&change.settings.id)?;
            Some(of_queue(&before.id, locked_event_changes(&before.line, &change.settings.line, now)))
        };
        self.queues.iter().filter_map(of).flatten().collect()
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

    /// Leaves queues out of the plan whose events have locked changes at `now`: they keep their stored settings. Returns these
    /// changes.
    pub fn keep_locked(&mut self, stored: &StoredSettings, now: Micros) -> Vec<FieldError> {
        let locked = self.locked_events(stored, now);
        let is_locked = |id: &QueueId| {
            let prefix = format!("{id}.");
            locked.iter().any(|error| error.field.starts_with(&prefix))
        };
        for change in self.queues.extract_if(.., |change| is_locked(&change.settings.id)) {
            self.kept.push((change.settings.id, KeptReason::EventLocked));
        }
        for queue in &mut self.queues_after {
            if let Some(before) = stored.queue(&queue.id).filter(|before| is_locked(&before.id)) {
                queue.clone_from(before);
            }
        }
        locked
    }

    /// What operators should know before the plan is executed, as `queue.field`: routing conflicts, values of queues that their
    /// tenants do not allow, orders that cannot be held, and job queues that stay.
    #[must_use]
    pub fn warnings(&self) -> Vec<FieldError> {
        let without_job_queue = self.queues.iter().flat_map(|change| self.without_job_queue(change)).collect();
        [self.conflicts(), self.outside(), without_job_queue, self.job_queues.in_use.clone()].concat()
    }

    /// Rules of a new or changed queue whose orders cannot be held afterwards, as `queue.field`.
    #[must_use]
    pub fn without_job_queue(&self, change: &QueueChange) -> Vec<FieldError> {
        let Settings { id, tenant, rules, .. } = &change.settings;
        let JobQueuePlan { after, kept_unreadable, .. } = &self.job_queues;
        of_queue(id, rules_without_job_queue(rules, tenant, after, kept_unreadable))
    }

    /// The warnings about one queue, by field.
    #[must_use]
    pub fn warnings_about(&self, queue: &QueueId) -> Vec<FieldError> {
        let prefix = format!("{queue}.");
        let of_queue = |warning: FieldError| {
            let field = warning.field.strip_prefix(&prefix)?.to_owned();
            Some(FieldError::new(field, warning.fault))
        };
        self.warnings().into_iter().filter_map(of_queue).collect()
    }

    /// Why the plan cannot be executed at `now`, as `queue.field`: draws that cannot take place, and changes of events that are
    /// locked.
    #[must_use]
    pub fn rejections(&self, stored: &StoredSettings, now: Micros) -> Vec<FieldError> {
        [self.invalid.clone(), self.locked_events(stored, now)].concat()
    }

    /// Values of queues and job queues that the new and changed tenants do not allow, as `queue.field`.
    #[must_use]
    pub fn outside(&self) -> Vec<FieldError> {
        let of = |tenant| {
            let queues = values_outside(tenant, self.all_queues_after());
            queues.into_iter().chain(self.job_queues.outside(tenant))
        };
        self.tenants.iter().flat_map(|change| of(&change.tenant)).collect()
    }
}

/// Whether a source has the same settings for a queue as when it was last applied.
fn is_unchanged(last: &Settings, settings: &Settings) -> bool {
    last.eq_ignoring_revision(settings) && last.line.epoch == settings.line.epoch
}

/// Values of a tenant's queues that its lists do not allow, as `queue.field`.
pub fn values_outside<'a>(tenant: &Tenant, queues: impl IntoIterator<Item = &'a Settings>) -> Vec<FieldError> {
    let own = queues.into_iter().filter(|queue| queue.tenant == tenant.id);
    own.flat_map(|queue| of_queue(&queue.id, tenant.refusals(queue, None, true))).collect()
}

/// Puts the ID of a queue in front of the fields.
fn of_queue(id: &QueueId, errors: Vec<FieldError>) -> Vec<FieldError> {
    let prefixed = |FieldError { field, fault }: FieldError| FieldError::new(format!("{id}.{field}"), fault);
    errors.into_iter().map(prefixed).collect()
}

#[cfg(test)]
mod tests {
    use super::super::parse_settings_document;
    use super::*;

    fn document(queues: &[(&str, u64)]) -> Document {
        let queue = |(id, quota): &(&str, u64)| {
            json!({
                "id": id, "tenant": "acme", "hosts": [format!("{id}.example.com")], "quota": quota,
                "handover": { "kind": "check" },
            })
        };
        let queues: Vec<_> = queues.iter().map(queue).collect();
        parse_settings_document(&json!({ "tenants": [{ "id": "acme", "name": "Acme" }], "queues": queues })).unwrap()
    }

    fn stored(queues: &[(&str, u64)]) -> StoredSettings {
        let Document { tenants, queues, .. } = document(queues);
        StoredSettings { tenants, queues, ..StoredSettings::default() }
    }

    fn ids<'a>(queues: impl IntoIterator<Item = &'a QueueId>) -> Vec<String> {
        queues.into_iter().map(ToString::to_string).collect()
    }

    fn written(plan: &Plan) -> Vec<(String, Option<u64>)> {
        plan.queues.iter().map(|it| (it.settings.id.to_string(), it.replaces)).collect()
    }

    fn id(text: &str) -> QueueId {
        text.parse().unwrap()
    }

    #[test]
    fn queues_with_locked_events_keep_their_stored_settings() {
        let document = |lobby_at: &str, quota: u64| {
            let queue = |id: &str, lobby_at: &str| {
                let sale = json!({
                    "id": "sale", "lobby_at": lobby_at, "starts_at": "2027-03-04T10:00:00Z", "ends_at": "2027-03-04T14:00:00Z",
                });
                json!({
                    "id": id, "tenant": "acme", "hosts": [format!("{id}.example.com")], "quota": quota,
                    "handover": { "kind": "check" }, "mode": "scheduled", "events": [sale],
                })
            };
            let queues = [queue("tour", lobby_at), queue("tour-2", "2027-03-04T09:30:00Z")];
            parse_settings_document(&json!({ "tenants": [{ "id": "acme", "name": "Acme" }], "queues": queues }))
                .unwrap()
        };
        let Document { tenants, queues, .. } = document("2027-03-04T09:30:00Z", 1);
        let stored = StoredSettings { tenants, queues, ..StoredSettings::default() };
        let lobby = "2027-03-04T09:35:00Z".parse::<crate::Timestamp>().unwrap().micros();
        let mut plan = Plan::of(&stored, document("2027-03-04T09:40:00Z", 2), &PlanOptions::default());
        let locked: Vec<_> = plan.keep_locked(&stored, lobby).into_iter().map(|error| error.field).collect();
        assert_eq!(locked, ["tour.events[0].lobby_at"]);
        assert_eq!(
            (written(&plan), plan.kept.clone()),
            (vec![("tour-2".to_owned(), Some(1))], vec![(id("tour"), KeptReason::EventLocked)],)
        );
        let after: Vec<_> = plan.queues_after.iter().map(|queue| queue.line.quota).collect();
        assert_eq!(after, [1, 2], "nothing of the queue is changed");
        assert!(plan.keep_locked(&stored, lobby).is_empty());
    }

    #[test]
    fn postponed_event_keeps_its_lobby_over_reloads() {
        let document = |starts_at: &str| {
            let sale =
                json!({ "id": "sale", "starts_at": starts_at, "ends_at": "2027-03-04T14:00:00Z", "order": "arrival" });
            let queue = json!({
                "id": "tour", "tenant": "acme", "hosts": ["tour.example.com"], "quota": 1, "handover": { "kind": "check" },
                "mode": "scheduled", "events": [sale],
            });
            parse_settings_document(&json!({ "tenants": [{ "id": "acme", "name": "Acme" }], "queues": [queue] }))
                .unwrap()
        };
        let (first, postponed) = (document("2027-03-04T10:00:00Z"), document("2027-03-04T11:00:00Z"));
        let lobby = "2027-03-04T09:30:00Z".parse::<crate::Timestamp>().unwrap();
        let stored = |queues: &[Settings]| StoredSettings {
            tenants: first.tenants.clone(),
            queues: queues.to_vec(),
            ..StoredSettings::default()
        };
        let plan = |stored: &StoredSettings, file: &Document, last: &Document| {
            let options = PlanOptions { now: Some(lobby.micros()), last_applied: Some(last), ..PlanOptions::default() };
            Plan::of(stored, file.clone(), &options)
        };
        let before = stored(&first.queues);
        let applied = plan(&before, &postponed, &first);
        assert!(applied.locked_events(&before, lobby.micros()).is_empty());
        assert_eq!(applied.queues_after[0].line.events[0].lobby_at(), lobby);
        let after = stored(&applied.queues_after);
        assert!(plan(&after, &postponed, &postponed).is_empty(), "the same file again");
        assert!(plan(&after, &first, &first).is_empty(), "the event was postponed elsewhere");
    }

    #[test]
    fn only_new_and_changed_entries_are_written() {
        let mut stored = stored(&[("same", 1), ("tour", 1)]);
        stored.queues[1].line.revision = 7;
        let plan = Plan::of(&stored, document(&[("same", 1), ("tour", 2), ("gig", 3)]), &PlanOptions::default());
        assert_eq!(written(&plan), [("tour".to_owned(), Some(7)), ("gig".to_owned(), None)]);
        let change = FieldChange { field: "quota".to_owned(), from: json!(1), to: json!(2) };
        assert_eq!(plan.queues[0].changes, [change]);
        assert!(plan.tenants.is_empty() && plan.kept.is_empty() && plan.removed.is_empty());
        assert_eq!(plan.queues_after.len(), 3);

        let plan = Plan::of(&StoredSettings::default(), document(&[]), &PlanOptions::default());
        assert!(plan.tenants[0].created && !plan.is_empty());
    }

    #[test]
    fn job_queue_with_orders_of_a_rule_stays() {
        let rule = json!({ "action": "hold", "job_queue": "orders.fifo", "method": ["POST"] });
        let document = |rules: &Value, job_queues: &Value| {
            let handover = json!({ "kind": "proxy", "origin": "https://shop.example" });
            let queue = json!({ "id": "tour", "tenant": "acme", "hosts": ["a.example"], "rules": rules, "quota": 1, "handover": handover });
            let tenants = json!([{ "id": "acme", "name": "Acme" }]);
            parse_settings_document(&json!({ "tenants": tenants, "queues": [queue], "job_queues": job_queues }))
                .unwrap()
        };
        let orders = json!([{ "id": "orders.fifo", "tenant": "acme", "target": { "kind": "origin" } }]);
        let whole = document(&json!([rule]), &orders);
        let settings = whole.job_queues[0].clone();
        let job_queues = vec![StoredJobQueue { settings, revision: 1, retired_secret: None, restored_from: None }];
        let stored = StoredSettings { tenants: whole.tenants, queues: whole.queues, job_queues, ..Default::default() };
        let options = PlanOptions { unlisted: Unlisted::Remove, ..PlanOptions::default() };
        let plan = |stored: &StoredSettings, document| Plan::of(stored, document, &options);
        let kept = plan(&stored, document(&json!([rule]), &json!([])));
        assert!(kept.job_queues.is_empty());
        let warnings: Vec<_> = kept.warnings().into_iter().map(|it| it.field).collect();
        assert_eq!(warnings, ["orders.fifo"]);
        let removed = plan(&stored, document(&json!([]), &json!([])));
        assert_eq!((removed.job_queues.removed.len(), removed.warnings().len()), (1, 0));
        let missing = plan(&StoredSettings::default(), document(&json!([rule]), &json!([]))).warnings();
        assert_eq!(missing.iter().map(|it| it.field.as_str()).collect::<Vec<_>>(), ["tour.rules[0].job_queue"]);
        assert!(plan(&StoredSettings::default(), document(&json!([rule]), &orders)).warnings().is_empty());
        let unreadable_job_queues = vec![("orders.fifo".parse().unwrap(), 1)];
        let unreadable = StoredSettings { unreadable_job_queues, ..StoredSettings::default() };
        assert!(plan(&unreadable, document(&json!([rule]), &json!([]))).warnings().is_empty(), "it stays");
    }

    #[test]
    fn unlisted_queues_stay_or_are_removed() {
        let mut stored = stored(&[("gig", 1), ("old", 1), ("tour", 1)]);
        stored.unreadable.push(unreadable("broken", 1));
        let with = |unlisted| {
            let plan = Plan::of(&stored, document(&[("tour", 1)]), &PlanOptions { unlisted, ..PlanOptions::default() });
            (ids(&plan.removed), ids(plan.kept_because(KeptReason::NotListed)), plan.all_queues_after().count())
        };
        let list = |all: &[&str]| all.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        assert_eq!(with(Unlisted::Keep), (list(&[]), list(&["gig", "old"]), 3));
        assert_eq!(with(Unlisted::Remove), (list(&["gig", "old"]), list(&[]), 1));
        // A queue that is not stored may still be cached.
        let only = [id("tour"), id("old"), id("lost")];
        assert_eq!(with(Unlisted::RemoveOnly(&only)), (list(&["lost", "old"]), list(&["gig"]), 2));
        let plan =
            Plan::of(&stored, document(&[]), &PlanOptions { unlisted: Unlisted::Remove, ..PlanOptions::default() });
        assert_eq!(ids(plan.kept_because(KeptReason::Unreadable)), ["broken"]);
    }

    fn unreadable(queue: &str, revision: u64) -> UnreadableQueue {
        UnreadableQueue { id: id(queue), revision, reason: "the rules".to_owned() }
    }

    #[test]
    fn unreadable_settings_of_the_document_are_replaced() {
        let mut stored = stored(&[("cached", 1)]);
        stored.queues[0].line.epoch = 9;
        stored.unreadable = vec![unreadable("cached", 1), unreadable("tour", 7)];
        let options = PlanOptions { first_epoch: 100, ..PlanOptions::default() };
        let plan = Plan::of(&stored, document(&[("cached", 1), ("tour", 2)]), &options);
        let written = plan.queues.iter().map(|it| {
            assert!(it.replaces_unreadable);
            (it.settings.id.as_str(), it.settings.line.revision, it.settings.line.epoch)
        });
        assert_eq!(written.collect::<Vec<_>>(), [("cached", 2, 9), ("tour", 8, 1)]);
    }

    #[test]
    fn epoch_of_a_stored_queue_never_decreases() {
        let mut stored = stored(&[("tour", 1)]);
        stored.queues[0].line.epoch = 9;
        let options = PlanOptions { first_epoch: 100, ..PlanOptions::default() };
        let plan = Plan::of(&stored, document(&[("tour", 2), ("gig", 1)]), &options);
        let epochs: Vec<_> = plan.queues.iter().map(|change| change.settings.line.epoch).collect();
        assert_eq!(epochs, [9, 100], "of the reset, and of a new queue");
        let mut wanted = document(&[("tour", 1)]);
        wanted.queues[0].line.epoch = 10;
        let plan = Plan::of(&stored, wanted, &options);
        assert_eq!(plan.queues[0].changes.iter().map(|it| it.field.as_str()).collect::<Vec<_>>(), ["epoch"]);
    }

    #[test]
    fn unknown_stored_fields_are_kept() {
        let mut stored = stored(&[("tour", 1)]);
        stored.queues[0].unknown_fields.insert("newer".to_owned(), json!(1));
        let plan = Plan::of(&stored, document(&[("tour", 2)]), &PlanOptions::default());
        assert_eq!(plan.queues[0].settings.unknown_fields["newer"], 1);
    }

    #[test]
    fn changes_elsewhere_stay_until_the_source_changes() {
        let last = document(&[("tour", 1), ("gone", 1), ("lost", 1)]);
        let options = PlanOptions { last_applied: Some(&last), ..PlanOptions::default() };
        let mut stored = stored(&[("tour", 5)]);
        stored.removed.push(id("gone"));

        let plan = Plan::of(&stored, last.clone(), &options);
        assert_eq!(written(&plan), [("lost".to_owned(), None)], "a lost queue is created, a removed one is not");
        let reasons = [(id("gone"), KeptReason::RemovedElsewhere), (id("tour"), KeptReason::ChangedElsewhere)];
        assert_eq!(plan.kept, reasons);
        assert_eq!(plan.queues_after[0].line.quota, 5);

        let plan = Plan::of(&stored, document(&[("tour", 2), ("gone", 2)]), &options);
        assert_eq!(written(&plan), [("tour".to_owned(), Some(1)), ("gone".to_owned(), None)]);
        assert!(plan.queues[0].overrides, "the change elsewhere is replaced");
        let stored = self::stored(&[("tour", 1)]);
        assert!(!Plan::of(&stored, document(&[("tour", 2)]), &options).queues[0].overrides);
    }

    #[test]
    fn tenants_keep_changes_made_elsewhere() {
        let last = document(&[]);
        let mut stored = stored(&[]);
        stored.tenants[0].name = "Acme Inc.".to_owned();
        let options = PlanOptions { last_applied: Some(&last), ..PlanOptions::default() };
        let plan = Plan::of(&stored, last.clone(), &options);
        assert!(plan.is_empty() && plan.tenants_after[0].name == "Acme Inc.");
        assert_eq!(Plan::of(&stored, last, &PlanOptions::default()).tenants[0].tenant.name, "Acme");
    }

    #[test]
    fn conflicts_with_queues_that_stay_are_found() {
        let mut stored = stored(&[("a", 1)]);
        stored.queues[0].hosts = document(&[("tour", 1)]).queues[0].hosts.clone();
        let plan = Plan::of(&stored, document(&[("tour", 1)]), &PlanOptions::default());
        assert_eq!(plan.conflicts().iter().map(|it| it.field.as_str()).collect::<Vec<_>>(), ["tour.hosts[0]"]);
        let options = PlanOptions { unlisted: Unlisted::Remove, ..PlanOptions::default() };
        assert!(Plan::of(&stored, document(&[("tour", 1)]), &options).conflicts().is_empty());
    }

    #[test]
    fn lists_of_a_tenant_must_allow_queues_that_stay() {
        let mut wanted = document(&[]);
        wanted.tenants[0] =
            Tenant::from_value(&json!({ "id": "acme", "name": "Acme", "domains": ["example.org"] })).unwrap();
        let plan = Plan::of(&stored(&[("tour", 1)]), wanted, &PlanOptions::default());
        assert_eq!(plan.outside().iter().map(|it| it.field.as_str()).collect::<Vec<_>>(), ["tour.hosts[0]"]);
    }
}

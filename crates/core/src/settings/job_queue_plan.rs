//! What applying a document would change in job queues.

use super::field_change::{FieldChange, differences};
use super::{Document, Tenant};
use crate::fields::Field as _;
use crate::fields::{Bounded, FieldError, FieldErrorCode, Reader, Reading};
use crate::jobs::{JobQueueId, JobQueueSettings, SigningSecret};
use serde_json::Value;

/// Name of the retired secret in a stored document. No setting has this name.
const RETIRED_SECRET: &str = "retired_secret";
/// Name of the revision from which settings were restored, in a stored document. No setting has this name.
const RESTORED_FROM: &str = "restored_from";
/// The latest time of a field in seconds since 1970: the start of the year 10000.
const UNTIL_MAX: u64 = 253_402_300_800;

crate::fields! {
    /// The signing secret before a rotation. It signs calls, too, so that handlers can take their time to change it.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct RetiredSecret {
        /// The secret.
        pub secret: SigningSecret,
        /// Until when it signs, in seconds since 1970.
        pub until: Bounded<0, UNTIL_MAX>,
    }
}

impl RetiredSecret {
    /// The secret if it signs at this time, in seconds since 1970.
    pub fn at(&self, now: u64) -> Option<&SigningSecret> {
        (now < self.until).then_some(&self.secret)
    }
}

/// A stored job queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredJobQueue {
    /// Its settings.
    pub settings: JobQueueSettings,
    /// Revision of the settings, from 1.
    pub revision: u64,
    /// The signing secret before the last rotation.
    pub retired_secret: Option<RetiredSecret>,
    /// The revision that a process knew when it wrote the settings back after a loss. One that knows a later revision replaces them.
    pub restored_from: Option<u64>,
}

impl StoredJobQueue {
    /// Parses a stored document. Unknown fields are ignored.
    ///
    /// # Errors
    /// Returns the invalid fields without which a job queue is nothing.
    pub fn from_document(document: &Value, revision: u64) -> Result<Self, Vec<FieldError>> {
        let settings = JobQueueSettings::from_stored(document)?;
        let retired = document.get(RETIRED_SECRET);
        let retired_secret = retired.and_then(|value| Reader::read(value, Reading::Stored).ok());
        let restored_from = document.get(RESTORED_FROM).and_then(Value::as_u64);
        Ok(Self { settings, revision, retired_secret, restored_from })
    }

    /// The document that a process writes back after a loss, which knew this job queue.
    pub fn to_restored_document(&self) -> Value {
        let mut document = document_of(&self.settings, self.retired_secret.as_ref());
        document[RESTORED_FROM] = self.known_revision().into();
        document
    }

    /// The revision of these settings before the store lost them, if it did.
    pub fn known_revision(&self) -> u64 {
        self.restored_from.unwrap_or(self.revision)
    }
}

/// A job queue that is created or changed.
#[derive(Debug, Clone)]
pub struct JobQueueChange {
    /// What is written. A new job queue may have no signing secret yet.
    pub settings: JobQueueSettings,
    /// The signing secret before the last rotation.
    pub retired_secret: Option<RetiredSecret>,
    /// The revision that is replaced; 0 if the job queue is new.
    pub replaces: u64,
    /// The changed fields; all fields of a new job queue. Secrets are shown as fingerprints.
    pub changes: Vec<FieldChange>,
}

impl JobQueueChange {
    /// The document that is stored.
    pub fn to_document(&self) -> Value {
        document_of(&self.settings, self.retired_secret.as_ref())
    }
}

fn document_of(settings: &JobQueueSettings, retired_secret: Option<&RetiredSecret>) -> Value {
    let mut document = settings.to_value();
    if let Some(retired) = retired_secret {
        document[RETIRED_SECRET] = RetiredSecret::to_json(retired);
    }
    document
}

/// What applying a document changes in job queues.
#[derive(Debug, Clone, Default)]
pub struct JobQueuePlan {
    /// New and changed job queues, in the order of the document.
    pub changed: Vec<JobQueueChange>,
    /// Those of them that replace settings which cannot be read.
    pub unreadable: Vec<JobQueueId>,
    /// Job queues that are removed, unless they have jobs.
    pub removed: Vec<StoredJobQueue>,
    /// Job queues that the document does not contain and that stay.
    pub kept: Vec<JobQueueSettings>,
    /// Job queues that cannot be read, that the document does not contain and that stay.
    pub kept_unreadable: Vec<JobQueueId>,
    /// Why some of `kept` are not removed, as `job queue`: rules hold orders in them.
    pub in_use: Vec<FieldError>,
    /// The job queues as they are afterwards.
    pub after: Vec<JobQueueSettings>,
    /// Changes that would lose stored jobs or send them elsewhere, as `job queue.field`.
    pub invalid: Vec<FieldError>,
}

impl JobQueuePlan {
    /// Compares the job queues of a document with the stored ones; `unreadable` are those that may be replaced although they cannot be
    /// read, with their revision. `last` is what the same source contained when it was last applied: entries that have not changed in
    /// it keep the changes that were made elsewhere. `is_removed` says which job queues are removed if the document does not contain
    /// them.
    pub(super) fn of(
        stored: &[StoredJobQueue],
        unreadable: &[(JobQueueId, u64)],
        wanted: Vec<JobQueueSettings>,
        last: Option<&[JobQueueSettings]>,
        is_removed: impl Fn(&JobQueueId) -> bool,
    ) -> Self {
        let last_of = |id: &JobQueueId| last.and_then(|last| last.iter().find(|it| it.id == *id));
        let mut plan = Self::default();
        for one in stored.iter().filter(|one| wanted.iter().all(|it| it.id != one.settings.id)) {
            if is_removed(&one.settings.id) {
                plan.removed.push(one.clone());
            } else {
                plan.kept.push(one.settings.clone());
            }
        }
        let is_wanted = |id: &JobQueueId| wanted.iter().any(|it| it.id == *id);
        plan.kept_unreadable = unreadable.iter().map(|(id, _)| id).filter(|id| !is_wanted(id)).cloned().collect();
        plan.after = plan.kept.iter().chain(&wanted).cloned().collect();
        for mut settings in wanted {
            let before = stored.iter().find(|it| it.settings.id == settings.id);
            if before.is_some() && last_of(&settings.id) == Some(&settings) {
                continue;
            }
            if let Some(before) = before {
                let errors = settings.continue_from(&before.settings);
                plan.invalid.extend(errors.into_iter().map(|error| error.within(&settings.id)));
            }
            let shown = before.map_or(Value::Null, |before| before.settings.to_shown_value());
            let changes = differences(&shown, &settings.to_shown_value());
            if !changes.is_empty() {
                let unreadable = unreadable.iter().find(|(id, _)| *id == settings.id);
                plan.unreadable.extend(unreadable.map(|(id, _)| id.clone()));
                let replaces = before.map(|it| it.revision).or(unreadable.map(|(_, revision)| *revision));
                plan.changed.push(JobQueueChange {
                    settings,
                    retired_secret: before.and_then(|it| it.retired_secret.clone()),
                    replaces: replaces.unwrap_or_default(),
                    changes,
                });
            }
        }
        plan
    }

    /// Keeps job queues in which rules hold orders: without them, the orders would be sent without their pace.
    pub(super) fn keep_in_use(&mut self, is_in_use: impl Fn(&JobQueueSettings) -> bool) {
        for StoredJobQueue { settings, .. } in self.removed.extract_if(.., |it| is_in_use(&it.settings)) {
            self.in_use.push(FieldError::new(settings.id.to_string(), FieldErrorCode::JobQueueStays));
            self.after.push(settings.clone());
            self.kept.push(settings);
        }
    }

    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty()
    }

    /// Why a tenant cannot have the new job queues besides those that exist.
    pub(super) fn too_many_of(&self, tenant: &Tenant) -> Option<FieldError> {
        let created = self.changed.iter().find(|it| it.replaces == 0 && it.settings.tenant == tenant.id)?;
        count_refusal(tenant, &self.after, &created.settings)
    }

    /// Handlers that a tenant's list does not allow, of job queues that are written and of those that stay, as
    /// `job queue.field`.
    pub(super) fn outside(&self, tenant: &Tenant) -> Vec<FieldError> {
        let written = self.changed.iter().map(|change| &change.settings);
        job_queues_outside(tenant, written.chain(&self.kept))
    }
}

/// Why the tenants of a document cannot have its job queues.
pub(super) fn too_many_job_queues(document: &Document) -> impl Iterator<Item = FieldError> {
    document.tenants.iter().filter_map(|tenant| {
        let last = document.job_queues.iter().rfind(|it| it.tenant == tenant.id)?;
        count_refusal(tenant, &document.job_queues, last)
    })
}

/// Why a tenant cannot have its share of these job queues, as an error of `named`.
fn count_refusal(tenant: &Tenant, all: &[JobQueueSettings], named: &JobQueueSettings) -> Option<FieldError> {
    let count = all.iter().filter(|it| it.tenant == tenant.id).count();
    Some(FieldError::new("tenant", tenant.job_queue_count_refusal(count)?).within(&named.id))
}

/// Handlers of a tenant's job queues that its list does not allow, as `job queue.field`.
pub fn job_queues_outside<'a>(
    tenant: &Tenant,
    job_queues: impl IntoIterator<Item = &'a JobQueueSettings>,
) -> Vec<FieldError> {
    let own = job_queues.into_iter().filter(|job_queue| job_queue.tenant == tenant.id);
    own.filter_map(|job_queue| Some(tenant.job_queue_refusal(job_queue, true)?.within(&job_queue.id))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fields::Object as _;
    use crate::jobs::SigningSecret;

    fn job_queue(id: &str, concurrency: u64) -> JobQueueSettings {
        let target = json!({ "kind": "http", "url": "https://crm.acme.example/jobs" });
        let value = json!({ "id": id, "tenant": "acme", "target": target, "concurrency": concurrency });
        JobQueueSettings::from_json(&value).unwrap()
    }

    fn stored(settings: JobQueueSettings) -> StoredJobQueue {
        StoredJobQueue { settings, revision: 3, retired_secret: None, restored_from: None }
    }

    fn plan(stored: &[StoredJobQueue], wanted: &[JobQueueSettings], last: Option<&[JobQueueSettings]>) -> JobQueuePlan {
        JobQueuePlan::of(stored, &[], wanted.to_vec(), last, |id| id.as_str() == "gone")
    }

    fn summary(plan: &JobQueuePlan) -> (Vec<(&str, u64)>, Vec<&str>, Vec<&str>) {
        (
            plan.changed.iter().map(|it| (it.settings.id.as_str(), it.replaces)).collect(),
            plan.removed.iter().map(|it| it.settings.id.as_str()).collect(),
            plan.kept.iter().map(|it| it.id.as_str()).collect(),
        )
    }

    #[test]
    fn only_new_and_changed_job_queues_are_written() {
        let before = [stored(job_queue("same", 1)), stored(job_queue("mails", 1)), stored(job_queue("other", 1))];
        let plan = plan(&before, &[job_queue("same", 1), job_queue("mails", 2), job_queue("new", 1)], None);
        assert_eq!(summary(&plan), (vec![("mails", 3), ("new", 0)], vec![], vec!["other"]));
        let changes: Vec<_> = plan.changed[0].changes.iter().map(|it| (it.field.as_str(), &it.to)).collect();
        assert_eq!(changes, [("concurrency", &json!(2))]);
    }

    #[test]
    fn unreadable_job_queues_of_the_document_are_replaced() {
        let unreadable = ["mails", "other"].map(|id| (id.parse().unwrap(), 7));
        let plan = JobQueuePlan::of(&[], &unreadable, vec![job_queue("mails", 1), job_queue("new", 1)], None, |_| true);
        assert_eq!(summary(&plan), (vec![("mails", 7), ("new", 0)], vec![], vec![]));
        assert_eq!(plan.unreadable, ["mails".parse().unwrap()]);
    }

    #[test]
    fn secret_is_kept_if_the_document_has_none_and_never_shown() {
        let mut before = job_queue("mails", 1);
        before.target.secret = Some(SigningSecret::generated([7; 32]));
        let before = [stored(before)];
        assert!(plan(&before, &[job_queue("mails", 1)], None).is_empty());
        let mut wanted = job_queue("mails", 1);
        wanted.target.secret = Some(SigningSecret::generated([8; 32]));
        let plan = plan(&before, &[wanted.clone()], None);
        assert_eq!(plan.changed[0].settings, wanted);
        let shown = json!(plan.changed[0].changes).to_string();
        assert!(shown.contains("sha256:") && !shown.contains("whsec_"), "{shown}");
        let pull = json!({ "id": "mails", "tenant": "acme", "target": { "kind": "pull" } });
        let pull = JobQueueSettings::from_json(&pull).unwrap();
        let plan = self::plan(&before, std::slice::from_ref(&pull), None);
        assert_eq!(plan.changed[0].settings, pull, "consumers need no secret");
    }

    #[test]
    fn retired_secret_stays_when_settings_change() {
        let retired = RetiredSecret { secret: SigningSecret::generated([9; 32]), until: 1_795_340_000 };
        let mut before = stored(job_queue("mails", 1));
        before.retired_secret = Some(retired.clone());
        let plan = plan(&[before], &[job_queue("mails", 2)], None);
        let document = plan.changed[0].to_document();
        let read = StoredJobQueue::from_document(&document, 4).unwrap();
        assert_eq!((read.settings.concurrency, read.retired_secret), (2, Some(retired)));
        assert!(!json!(plan.changed[0].changes).to_string().contains("whsec_"));
        let without = StoredJobQueue::from_document(&job_queue("mails", 1).to_value(), 1).unwrap();
        assert_eq!(without.retired_secret, None);
    }

    #[test]
    fn entries_that_left_the_source_are_removed() {
        let before = [stored(job_queue("mails", 5)), stored(job_queue("gone", 1)), stored(job_queue("other", 1))];
        let last = [job_queue("mails", 1), job_queue("gone", 1)];
        let unchanged = plan(&before, &[job_queue("mails", 1)], Some(&last));
        assert_eq!(summary(&unchanged), (vec![], vec!["gone"], vec!["other"]), "changes elsewhere stay");
        let changed = plan(&before, &[job_queue("mails", 2)], Some(&last));
        assert_eq!(changed.changed[0].settings.concurrency, 2);
        let removing = JobQueuePlan::of(&before, &[], Vec::new(), None, |_| true);
        assert_eq!(removing.removed.len(), 3);
        assert_eq!(plan(&[], &[job_queue("mails", 1)], Some(&last)).changed.len(), 1, "a lost one is written again");
    }

    #[test]
    fn new_job_queues_of_a_tenant_are_limited() {
        let tenant = |most: Option<u64>| {
            Tenant::from_value(&json!({ "id": "acme", "name": "Acme", "max_job_queues": most })).unwrap()
        };
        let before = [stored(job_queue("mails", 1)), stored(job_queue("other", 1))];
        let created = plan(&before, &[job_queue("mails", 1), job_queue("new", 1)], None);
        assert_eq!(created.too_many_of(&tenant(Some(3))), None);
        let fault = created.too_many_of(&tenant(Some(2))).unwrap().to_string();
        assert!(fault.starts_with("new.tenant: the tenant \"acme\" can have at most 2 job queues"), "{fault}");
        let changed = plan(&before, &[job_queue("mails", 2)], None);
        assert_eq!(changed.too_many_of(&tenant(Some(1))), None, "those that exist stay");
        let many: Vec<_> = (0..101).map(|number| job_queue(&format!("q{number}"), 1)).collect();
        assert_eq!(plan(&[], &many[1..], None).too_many_of(&tenant(None)), None);
        assert!(plan(&[], &many, None).too_many_of(&tenant(None)).is_some());
    }

    #[test]
    fn handlers_must_be_among_the_origins_of_the_tenant() {
        let tenant =
            |origin: &str| Tenant::from_value(&json!({ "id": "acme", "name": "Acme", "origins": [origin] })).unwrap();
        let all = [job_queue("mails", 1)];
        assert!(job_queues_outside(&tenant("https://*.acme.example"), &all).is_empty());
        let outside = job_queues_outside(&tenant("https://shop.acme.example"), &all);
        assert_eq!(outside.iter().map(|it| it.field.as_str()).collect::<Vec<_>>(), ["mails.target.url"]);
    }
}

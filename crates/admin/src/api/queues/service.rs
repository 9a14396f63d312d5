//! Finds, checks and writes queues for all operations on them.

use http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value};
use tracing::debug;
use vestibule_core::settings::{
    FieldChange, FieldErrorCode, SaltPolicy, Settings, complete_sale_keys, differences, invented_beacon_values,
    keep_open_lobbies, locked_event_changes, routing_conflicts, rules_without_job_queue, settle_removed_beacons,
    untrusted_headers,
};
use vestibule_core::{PutMode, PutOutcome, QueueId, TenantId};
use vestibule_records::{EphemeralKey, EphemeralKind, event_report};

use crate::access::{Principal, Role};
use crate::audit::AuditEventBuilder;
use crate::body::wrong;
use crate::codes::Code;
use crate::merge_patch::merge;
use crate::problem::{Problem, RevisionConflict};
use crate::state::Admin;
use crate::themes::theme_refusal;

/// Attempts to apply a change without a revision over concurrent changes.
const ATTEMPTS: usize = 5;
/// Seconds for which an ID is reserved while its queue is created.
const CREATION: u64 = 10;

/// The settings of a queue that the principal can view.
pub(crate) async fn find_visible(admin: &Admin, principal: &Principal, id: &str) -> Result<Settings, Problem> {
    let unknown = || Problem::NotFound(Code::AQueue);
    let id: QueueId = id.parse().map_err(|_| unknown())?;
    admin.store.settings(&id).await?.filter(|settings| principal.can_view(&settings.tenant)).ok_or_else(unknown)
}

/// The settings of a queue that the principal can edit.
pub(crate) async fn find_editable(admin: &Admin, principal: &Principal, id: &str) -> Result<Settings, Problem> {
    let settings = find_visible(admin, principal, id).await?;
    principal.at_least(Role::Operator)?;
    Ok(settings)
}

/// The precondition of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMatch {
    /// Any revision.
    Any,
    /// This revision.
    Revision(u64),
}

impl IfMatch {
    /// The revision that must be current; `None` for any.
    pub(crate) const fn revision(self) -> Option<u64> {
        match self {
            Self::Any => None,
            Self::Revision(revision) => Some(revision),
        }
    }

    /// Parses `If-Match`, which is required.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let value = headers
            .get(header::IF_MATCH)
            .ok_or(Problem::Plain(StatusCode::PRECONDITION_REQUIRED, Code::RevisionRequired))?;
        let text = value.to_str().unwrap_or_default().trim();
        let number = text.strip_prefix("W/").unwrap_or(text).trim_matches('"').parse();
        match number {
            Ok(revision) => Ok(Self::Revision(revision)),
            Err(_) if text == "*" => Ok(Self::Any),
            Err(_) => Err(wrong("If-Match", FieldErrorCode::Invalid.with("what", Code::Revision))),
        }
    }
}

/// Rejects a queue that conflicts with another one.
pub(crate) async fn consistent(admin: &Admin, principal: &Principal, candidate: &Settings) -> Result<(), Problem> {
    admin.directory.refresh_readable().await?;
    let all = admin.directory.queues();
    let knows = |other: &Settings| principal.can_view(&other.tenant);
    let found = routing_conflicts(candidate, all.iter().map(|queue| &queue.settings), principal.is_superuser(), knows);
    if found.is_empty() { Ok(()) } else { Err(Problem::RoutingConflict(found)) }
}

/// Rejects hosts, origin, cookie domain and theme that the tenant or the principal may not use. Values unchanged from
/// `before` are accepted.
async fn allowed(
    admin: &Admin,
    principal: &Principal,
    settings: &Settings,
    before: Option<&Settings>,
) -> Result<(), Problem> {
    let tenants = admin.store.tenants().await?;
    let found = tenants.iter().find(|tenant| tenant.id == settings.tenant);
    let tenant = found.ok_or_else(|| no_tenant(&settings.tenant))?;
    let mut refused = tenant.refusals(settings, before, principal.is_superuser());
    if before.is_none_or(|before| before.theme != settings.theme) {
        refused.extend(theme_refusal(settings, &tenants, principal.is_superuser()));
    }
    Problem::unless_valid(refused)
}

/// Parses and checks the settings of a new queue. A clone may keep the values of `original`.
pub(crate) async fn draft(
    admin: &Admin,
    principal: &Principal,
    mut body: Map<String, Value>,
    original: Option<&Settings>,
) -> Result<Settings, Problem> {
    body.remove("revision");
    // A new epoch, in case there was a queue with this ID before. A chosen one would bring its tickets back.
    body.insert("epoch".to_owned(), admin.now().await?.seconds().into());
    let mut settings = Settings::from_value(&Value::Object(body)).map_err(Problem::ValidationFailed)?;
    refuse_invented(None, &settings)?;
    refuse_untrusted(admin, &settings)?;
    refuse_missing_job_queues(admin, &settings, None).await?;
    // A copy is drawn by a secret of its own.
    complete(admin, None, &mut settings)?;
    can_create_for(principal, &settings.tenant)?;
    // A clone for another tenant is checked completely.
    let original = original.filter(|original| original.tenant == settings.tenant);
    allowed(admin, principal, &settings, original).await?;
    if admin.store.settings(&settings.id).await?.is_some() {
        return Err(Problem::AlreadyExists(Code::ThisId));
    }
    consistent(admin, principal, &settings).await?;
    Ok(settings)
}

/// Refuses values of beacons that the server did not record. Only an import can bring them.
fn refuse_invented(before: Option<&Settings>, settings: &Settings) -> Result<(), Problem> {
    Problem::unless_valid(invented_beacon_values(before.map(|before| &before.line), &settings.line))
}

/// Refuses rules that believe headers which anyone can send.
fn refuse_untrusted(admin: &Admin, settings: &Settings) -> Result<(), Problem> {
    Problem::unless_valid(untrusted_headers(&settings.rules, &admin.trusted_headers))
}

/// Refuses rules that hold orders in a job queue that the tenant does not have, unless a rule did so before.
async fn refuse_missing_job_queues(
    admin: &Admin,
    settings: &Settings,
    before: Option<&Settings>,
) -> Result<(), Problem> {
    let holds_orders = settings.rules.iter().any(|rule| rule.hold().is_some());
    let Some(job_queues) = admin.jobs.as_ref().filter(|_| holds_orders) else { return Ok(()) };
    let stored: Vec<_> = job_queues.stored().await?.into_iter().map(|it| it.settings).collect();
    let missing = |queue: &Settings| rules_without_job_queue(&queue.rules, &queue.tenant, &stored, &[]);
    let (before, mut errors) = (before.map(missing).unwrap_or_default(), missing(settings));
    errors.retain(|error| before.iter().all(|known| known.fault != error.fault));
    Problem::unless_valid(errors)
}

/// Completes the draws of events and the keys of invitations.
fn complete(admin: &Admin, before: Option<&Settings>, settings: &mut Settings) -> Result<(), Problem> {
    Problem::unless_valid(complete_sale_keys(before, settings, &admin.sale_keys, SaltPolicy::Random))
}

/// Checks that the principal can create queues and job queues of this tenant.
pub(crate) fn can_create_for(principal: &Principal, tenant: &TenantId) -> Result<(), Problem> {
    if !principal.can_view(tenant) {
        return Err(no_tenant(tenant));
    }
    principal.at_least(Role::Operator)
}

/// The problem that a tenant is unknown or not accessible.
pub(crate) fn no_tenant(tenant: &TenantId) -> Problem {
    wrong("tenant", Code::TenantNotAccessible.with("tenant", tenant.as_str()))
}

/// Writes a new queue.
pub(crate) async fn create(admin: &Admin, event: AuditEventBuilder, settings: Settings) -> Result<Settings, Problem> {
    let key = EphemeralKey::new(EphemeralKind::Creation, settings.id.as_str());
    if !admin.records.set_ephemeral_if_absent(&key, "", CREATION).await? {
        return Err(Problem::ConcurrentChange);
    }
    if admin.store.settings(&settings.id).await?.is_some() {
        return Err(Problem::AlreadyExists(Code::ThisId));
    }
    let event = event.queue(&settings).changes(differences(&Value::Null, &settings.to_value()));
    let written = admin.store.put_settings(&settings, PutMode::Always).await;
    let created = match written {
        Ok(PutOutcome::Stored(revision)) => {
            let settings = with_revision(settings, revision);
            event.queue(&settings).log(admin).await;
            admin.changed(&settings.id).await;
            record_turning_points(admin, None, &settings).await;
            Ok(settings)
        }
        Ok(PutOutcome::Conflict(_) | PutOutcome::Removed) => Err(Problem::ConcurrentChange),
        Err(error) => Err(event.failed(admin, Problem::of_write(error)).await),
    };
    if let Err(error) = admin.records.take_ephemeral(&key).await {
        debug!(%error, "an id stays reserved until its key expires");
    }
    created
}

fn with_revision(mut settings: Settings, revision: u64) -> Settings {
    settings.line.revision = revision;
    settings
}

/// The result of a patch.
pub(crate) struct Patched {
    pub(crate) settings: Settings,
    pub(crate) changes: Vec<FieldChange>,
}

/// Applies a merge patch to settings.
pub(crate) async fn patched(
    admin: &Admin,
    principal: &Principal,
    current: &Settings,
    patch: &Value,
) -> Result<Patched, Problem> {
    let before = current.to_value();
    let mut after = before.clone();
    merge(&mut after, patch);
    for (field, fault) in
        [("id", Code::ImmutableClone), ("tenant", Code::ImmutableClone), ("epoch", Code::ImmutableReset)]
    {
        if after.get(field) != before.get(field) {
            return Err(wrong(field, fault));
        }
    }
    if let Some(map) = after.as_object_mut() {
        map.insert("revision".to_owned(), current.line.revision.into());
    }
    let mut settings = Settings::from_value(&after).map_err(Problem::ValidationFailed)?;
    settings.unknown_fields.clone_from(&current.unknown_fields);
    refuse_invented(Some(current), &settings)?;
    complete(admin, Some(current), &mut settings)?;
    if settings.line.events != current.line.events {
        let now = admin.now().await?;
        keep_open_lobbies(&current.line, &mut settings.line, now);
        let locked = locked_event_changes(&current.line, &settings.line, now);
        if !locked.is_empty() {
            return Err(Problem::EventLocked(locked));
        }
        settle_removed_beacons(&current.line, &mut settings.line, now);
    }
    let changes = differences(&before, &settings.to_value());
    let delegated = ["hosts", "handover", "cookie_domain", "theme", "protection"];
    if changes.iter().any(|change| delegated.contains(&change.field.as_str())) {
        allowed(admin, principal, &settings, Some(current)).await?;
    }
    if changes.iter().any(|change| change.field == "rules") {
        refuse_untrusted(admin, &settings)?;
        refuse_missing_job_queues(admin, &settings, Some(current)).await?;
    }
    // Only these decide which requests are queued.
    if changes.iter().any(|change| ["hosts", "rules"].contains(&change.field.as_str())) {
        consistent(admin, principal, &settings).await?;
    }
    Ok(Patched { settings, changes })
}

/// Applies a merge patch to a queue over the revision of `If-Match`.
pub(crate) async fn change(
    admin: &Admin,
    principal: &Principal,
    current: Settings,
    if_match: IfMatch,
    patch: &Value,
    action: &str,
) -> Result<Settings, Problem> {
    let mut current = current;
    for _ in 0..ATTEMPTS {
        if let IfMatch::Revision(known) = if_match
            && known != current.line.revision
        {
            return Err(Problem::RevisionConflict(Box::new(RevisionConflict::with(&current))));
        }
        let Patched { settings, changes } = patched(admin, principal, &current, patch).await?;
        if changes.is_empty() {
            return Ok(current);
        }
        let event = AuditEventBuilder::of(principal, action).queue(&settings).changes(changes);
        match admin.store.put_settings(&settings, PutMode::IfRevision(current.line.revision)).await {
            Ok(PutOutcome::Stored(revision)) => {
                let settings = with_revision(settings, revision);
                event.queue(&settings).log(admin).await;
                admin.changed(&settings.id).await;
                record_turning_points(admin, Some(&current), &settings).await;
                return Ok(settings);
            }
            Ok(PutOutcome::Conflict(_) | PutOutcome::Removed) => {
                current = find_visible(admin, principal, current.id.as_str()).await?;
            }
            Err(error) => return Err(event.failed(admin, Problem::of_write(error)).await),
        }
    }
    Err(Problem::ConcurrentChange)
}

/// Stores the first counts of an event whose lobby opens with a change, or soon after it, without waiting for the process
/// that records history. That one catches up if this fails.
pub(crate) async fn record_turning_points(admin: &Admin, before: Option<&Settings>, settings: &Settings) {
    if settings.line.events.is_empty() {
        return;
    }
    let recorded = async {
        let stats = admin.store.stats(&settings.id).await?;
        let before = before.map(|before| &before.line);
        event_report::record_turning_points(&*admin.records, settings, before, &stats).await
    };
    if let Err(error) = recorded.await {
        debug!(%error, queue = %settings.id, "the counts of an event could not be stored yet");
    }
}

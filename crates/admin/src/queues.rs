//! How queues are found, checked and written: what every operation on them shares.

use http::{HeaderMap, HeaderValue, header};
use serde_json::{Map, Value};
use vestibule_core::records::{Note, NoteKind};
use vestibule_core::settings::{FieldWording, Settings};
use vestibule_core::{PutMode, PutOutcome, QueueId, TenantId};

use crate::access::{Caller, Role};
use crate::audit::Deed;
use crate::body::wrong;
use crate::change::{FieldChange, differences, merge};
use crate::conflict::Conflict;
use crate::contradictions::contradictions;
use crate::problem::Problem;
use crate::state::Admin;
use crate::wording::Wording;

/// How often a change without a revision is laid over what somebody else wrote in between.
const ATTEMPTS: usize = 5;
/// Seconds for which nobody else creates a queue of the same id.
const CREATION: u64 = 10;

/// The settings of a queue that the caller may see.
pub(crate) async fn seen(admin: &Admin, caller: &Caller, id: &str) -> Result<Settings, Problem> {
    let unknown = || Problem::Unknown(Wording::AQueue);
    let id: QueueId = id.parse().map_err(|_| unknown())?;
    admin.store.settings(&id).await?.filter(|settings| caller.sees(&settings.tenant)).ok_or_else(unknown)
}

/// The settings of a queue that the caller may change.
pub(crate) async fn operated(admin: &Admin, caller: &Caller, id: &str) -> Result<Settings, Problem> {
    let settings = seen(admin, caller, id).await?;
    caller.at_least(Role::Operator)?;
    Ok(settings)
}

/// Which revision a change is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meant {
    /// Whatever is there.
    Any,
    /// This one.
    Revision(u64),
}

impl Meant {
    /// Reads `If-Match`, without which nothing is changed.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let value = headers.get(header::IF_MATCH).ok_or(Problem::RevisionRequired)?;
        let text = value.to_str().unwrap_or_default().trim();
        let number = text.strip_prefix("W/").unwrap_or(text).trim_matches('"').parse();
        match number {
            Ok(revision) => Ok(Self::Revision(revision)),
            Err(_) if text == "*" => Ok(Self::Any),
            Err(_) => Err(wrong("If-Match", FieldWording::Takes.with("what", Wording::Revision))),
        }
    }
}

/// The `ETag` of settings: their revision.
pub(crate) fn etag(revision: u64) -> HeaderValue {
    HeaderValue::from_str(&format!("\"{revision}\"")).unwrap_or_else(|_| HeaderValue::from_static("\"0\""))
}

/// Refuses a queue that contradicts another.
pub(crate) async fn consistent(admin: &Admin, caller: &Caller, candidate: &Settings) -> Result<(), Problem> {
    admin.directory.refresh().await?;
    let all = admin.directory.queues();
    let knows = |other: &Settings| caller.sees(&other.tenant);
    let found = contradictions(candidate, &all, caller.is_superuser(), knows);
    if found.is_empty() { Ok(()) } else { Err(Problem::Contradiction(found)) }
}

/// Reads the settings of a new queue, whose tenant there must be.
pub(crate) async fn draft(admin: &Admin, caller: &Caller, mut body: Map<String, Value>) -> Result<Settings, Problem> {
    body.remove("revision");
    if body.get("epoch").is_none_or(Value::is_null) {
        // An epoch that no ticket has seen, should there have been a queue of this name before.
        body.insert("epoch".to_owned(), admin.now().await?.seconds().into());
    }
    let settings = Settings::from_value(&Value::Object(body)).map_err(Problem::WrongFields)?;
    caller.operates(&settings.tenant).map_err(|problem| match problem {
        Problem::Unknown(_) => no_tenant(&settings.tenant),
        other => other,
    })?;
    if admin.store.tenants().await?.iter().all(|tenant| tenant.id != settings.tenant) {
        return Err(no_tenant(&settings.tenant));
    }
    if admin.store.settings(&settings.id).await?.is_some() {
        return Err(Problem::Taken(Wording::AQueue));
    }
    consistent(admin, caller, &settings).await?;
    Ok(settings)
}

fn no_tenant(tenant: &TenantId) -> Problem {
    wrong("tenant", Wording::TenantNotYours.with("tenant", tenant.as_str()))
}

/// Writes a new queue.
pub(crate) async fn create(admin: &Admin, deed: Deed, settings: Settings) -> Result<Settings, Problem> {
    let note = Note::new(NoteKind::Creation, settings.id.as_str());
    if !admin.records.claim(&note, "", CREATION).await? {
        return Err(Problem::Busy);
    }
    if admin.store.settings(&settings.id).await?.is_some() {
        return Err(Problem::Taken(Wording::AQueue));
    }
    let outcome = admin.store.put_settings(&settings, PutMode::Always).await;
    admin.records.take_note(&note).await?;
    let PutOutcome::Stored(revision) = outcome? else { return Err(Problem::Busy) };
    let settings = with_revision(settings, revision);
    admin.changed(&settings.id).await?;
    deed.queue(&settings).changes(differences(&Value::Null, &settings.to_value())).log(admin).await;
    Ok(settings)
}

fn with_revision(mut settings: Settings, revision: u64) -> Settings {
    settings.line.revision = revision;
    settings
}

/// What a patch would make of a queue.
pub(crate) struct Patched {
    pub(crate) settings: Settings,
    pub(crate) changes: Vec<FieldChange>,
}

/// Lays a patch over settings.
pub(crate) async fn patched(
    admin: &Admin,
    caller: &Caller,
    current: &Settings,
    patch: &Value,
) -> Result<Patched, Problem> {
    let before = current.to_value();
    let mut after = before.clone();
    merge(&mut after, patch);
    for (field, fault) in
        [("id", Wording::FixedByClone), ("tenant", Wording::FixedByClone), ("epoch", Wording::FixedByReset)]
    {
        if after.get(field) != before.get(field) {
            return Err(wrong(field, fault));
        }
    }
    if let Some(map) = after.as_object_mut() {
        map.insert("revision".to_owned(), current.line.revision.into());
    }
    let settings = Settings::from_value(&after).map_err(Problem::WrongFields)?;
    let changes = differences(&before, &settings.to_value());
    // Only these decide who meets a queue.
    if changes.iter().any(|change| ["hosts", "rules"].contains(&change.field.as_str())) {
        consistent(admin, caller, &settings).await?;
    }
    Ok(Patched { settings, changes })
}

/// Changes a queue by a patch, over the revision that is meant.
pub(crate) async fn change(
    admin: &Admin,
    caller: &Caller,
    current: Settings,
    meant: Meant,
    patch: &Value,
    action: &str,
) -> Result<Settings, Problem> {
    let mut current = current;
    for _ in 0..ATTEMPTS {
        if let Meant::Revision(known) = meant
            && known != current.line.revision
        {
            return Err(Problem::ChangedMeanwhile(Box::new(Conflict::of(admin, &current, known, patch).await?)));
        }
        let Patched { settings, changes } = patched(admin, caller, &current, patch).await?;
        if changes.is_empty() {
            return Ok(current);
        }
        match admin.store.put_settings(&settings, PutMode::IfRevision(current.line.revision)).await? {
            PutOutcome::Stored(revision) => {
                let settings = with_revision(settings, revision);
                admin.changed(&settings.id).await?;
                Deed::of(caller, action).queue(&settings).changes(changes).log(admin).await;
                return Ok(settings);
            }
            PutOutcome::Conflict(_) => current = seen(admin, caller, current.id.as_str()).await?,
        }
    }
    Err(Problem::Busy)
}

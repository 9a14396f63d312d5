//! What applying a settings file would change, computed before anything is written.

use std::fmt;

use serde_json::Value;
use vestibule_core::QueueId;
use vestibule_core::settings::{Document, Settings, Tenant};
use vestibule_core::store::{SettingsStore, StoreError};

/// A queue that is to be written.
#[derive(Debug)]
pub(super) struct QueueChange {
    /// What is to be written.
    pub(super) settings: Settings,
    /// The revision that it replaces; `None` where the queue is new.
    pub(super) replaces: Option<u64>,
    /// Fields with their values before and after; empty where the queue is new.
    pub(super) fields: Vec<FieldChange>,
}

/// A field with its values before and after.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FieldChange {
    name: String,
    before: Value,
    after: Value,
}

/// All that is to be done.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) tenants: Vec<(Tenant, Vec<FieldChange>)>,
    pub(super) queues: Vec<QueueChange>,
    /// Queues of the store that the file doesn't name.
    unnamed: Vec<QueueId>,
    /// Whether those are removed.
    removes: bool,
}

impl Plan {
    /// Compares a document with what the store holds.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn of(store: &dyn SettingsStore, document: &Document, removes: bool) -> Result<Self, StoreError> {
        let mut plan = Self { removes, ..Self::default() };
        let known = store.tenants().await?;
        for tenant in &document.tenants {
            let stored = known.iter().find(|stored| stored.id == tenant.id);
            if stored != Some(tenant) {
                let fields = stored.map(|stored| differences(&value_of(stored), &value_of(tenant)));
                plan.tenants.push((tenant.clone(), fields.unwrap_or_default()));
            }
        }
        for settings in &document.queues {
            plan.queues.extend(change_of(store, settings).await?);
        }
        let named = |id: &QueueId| document.queues.iter().any(|settings| settings.id == *id);
        let listed = store.queues().await?.into_iter();
        plan.unnamed = listed.filter(|(id, revision)| *revision > 0 && !named(id)).map(|(id, _)| id).collect();
        Ok(plan)
    }

    /// Whether nothing is to be done.
    pub(super) fn is_empty(&self) -> bool {
        self.tenants.is_empty() && self.queues.is_empty() && self.removals().is_empty()
    }

    /// Queues that are to be removed.
    pub(super) fn removals(&self) -> &[QueueId] {
        if self.removes { &self.unnamed } else { &[] }
    }
}

async fn change_of(store: &dyn SettingsStore, settings: &Settings) -> Result<Option<QueueChange>, StoreError> {
    let mut settings = settings.clone();
    let Some(stored) = store.settings(&settings.id).await? else {
        return Ok(Some(QueueChange { settings, replaces: None, fields: Vec::new() }));
    };
    // A reset since the file was written has begun a later epoch, which a change of the file must not undo.
    settings.line.epoch = settings.line.epoch.max(stored.line.epoch);
    let replaces = stored.line.revision;
    settings.line.revision = replaces;
    let fields = differences(&stored.to_value(), &settings.to_value());
    Ok((!fields.is_empty()).then_some(QueueChange { settings, replaces: Some(replaces), fields }))
}

fn value_of(tenant: &Tenant) -> Value {
    serde_json::json!(tenant)
}

fn differences(before: &Value, after: &Value) -> Vec<FieldChange> {
    let fields = after.as_object().into_iter().flatten();
    let changed = fields.filter(|(name, value)| before.get(name) != Some(value));
    let change = |(name, value): (&String, &Value)| FieldChange {
        name: name.clone(),
        before: before.get(name).cloned().unwrap_or_default(),
        after: value.clone(),
    };
    changed.map(change).collect()
}

impl fmt::Display for FieldChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "      {}: {} -> {}", self.name, self.before, self.after)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (tenant, fields) in &self.tenants {
            write_entry(f, "tenant", &tenant.id, fields)?;
        }
        for change in &self.queues {
            write_entry(f, "queue", &change.settings.id, &change.fields)?;
        }
        for id in &self.unnamed {
            if self.removes {
                writeln!(f, "  - queue {id}, with all its visitors")?;
            } else {
                writeln!(f, "    queue {id} is not in the file and stays; --remove removes such queues")?;
            }
        }
        Ok(())
    }
}

fn write_entry(f: &mut fmt::Formatter<'_>, kind: &str, id: &dyn fmt::Display, fields: &[FieldChange]) -> fmt::Result {
    let sign = if fields.is_empty() { '+' } else { '~' };
    writeln!(f, "  {sign} {kind} {id}")?;
    fields.iter().try_for_each(|field| writeln!(f, "{field}"))
}

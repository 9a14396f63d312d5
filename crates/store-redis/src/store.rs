//! The operations of the store: their functions, keys and arguments.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use fred::types::{Key, Value};
use tokio::time::Instant;
use vestibule_core::fields::joined;
use vestibule_core::line::{
    AttackModeChange, LineRules, LineView, LocatedSession, PageStart, ProtectionReport, PurgeReport, Removed,
    SessionList, SessionPage, Stats, Visit, VisitAnswer,
};
use vestibule_core::settings::{Protection, Settings, Tenant};
use vestibule_core::store::{OperationsStore, PutMode, PutOutcome, SettingsStore, StoreError, VisitStore};
use vestibule_core::{Clock, LastPurge, QueueId, SessionId, TenantId, Ticket};

use crate::address::{self, AddressError};
use crate::batcher::Batcher;
use crate::client::Client;
use crate::codes;
use crate::command::{Command, Retry, member, nothing, text};
use crate::keys::Keys;
use crate::library::{Function, functions};
use crate::reply::{PURGE_FIELDS, Reply};

/// TTL of the marker of a removed queue, in seconds: a process that was idle for longer no longer
/// has its settings.
const REMOVED_TTL: u64 = 30 * 24 * 60 * 60;

/// Options of a Redis store.
#[derive(Clone)]
pub struct RedisOptions {
    /// Timeout of every operation. 250 ms by default.
    pub timeout: Duration,
    /// The clock for tests; `None` uses the server's clock.
    pub clock: Option<Arc<dyn Clock>>,
    /// Maximum number of concurrent visits to one queue that share a call; 1 to 256, 64 by default.
    /// Larger batches save little and delay the others.
    pub batch_max: usize,
    /// The number of replicas that must have a job, or the mark of a held order that is about to be sent, before it counts as
    /// stored. It concerns jobs only; 0 by default.
    pub min_replicas: u8,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self { timeout: Duration::from_millis(250), clock: None, batch_max: 64, min_replicas: 0 }
    }
}

/// A store that keeps the lines in Redis.
pub struct RedisStore {
    pub(crate) client: Arc<Client>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    batcher: Batcher,
}

impl RedisStore {
    /// A store at this address. It connects in the background; operations fail until the server is
    /// reachable. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// Returns an error for an invalid address, unreadable TLS certificates, or a client that can't
    /// be created.
    pub fn connect(url: &str, options: RedisOptions) -> Result<Self, AddressError> {
        let config = address::parse(url)?;
        let client = Client::open(config, options.timeout);
        let client = Arc::new(client.map_err(|error| AddressError::Client(error.details().to_owned()))?);
        let batcher = Batcher::new(client.clone(), options.clock.clone(), options.batch_max);
        Ok(Self { client, clock: options.clock, batcher })
    }

    /// These sections of the server's `INFO`; in a cluster, of any node.
    ///
    /// # Errors
    /// Fails within [`RedisOptions::timeout`] if the server does not answer.
    pub async fn server_info(&self, sections: &[&'static str]) -> Result<String, StoreError> {
        let info = self.client.execute(Command::info(sections), Instant::now()).await?;
        info.convert().map_err(|error| StoreError::Corrupt(format!("INFO: {error}")))
    }

    pub(crate) fn now(&self) -> Value {
        self.clock.as_ref().map_or_else(nothing, |clock| text(clock.now().0))
    }

    async fn run(
        &self,
        queue: &QueueId,
        function: &Function,
        arguments: impl IntoIterator<Item = Value>,
        retry: Retry,
    ) -> Result<Reply, StoreError> {
        let arguments = std::iter::once(self.now()).chain(arguments);
        let value = self.call(function, Keys::of(queue).all(), arguments, retry).await?;
        Reply::to(queue, value)
    }

    /// Calls a function.
    pub(crate) async fn call(
        &self,
        function: &Function,
        keys: impl IntoIterator<Item = Key>,
        arguments: impl IntoIterator<Item = Value>,
        retry: Retry,
    ) -> Result<Value, StoreError> {
        Ok(self.client.execute(Command::call(function, keys, arguments, retry), Instant::now()).await?)
    }

    /// Executes an idempotent command whose first argument is its key.
    pub(crate) async fn command(&self, name: &'static str, arguments: Vec<Value>) -> Result<Value, StoreError> {
        Ok(self.client.execute(Command::new(name, arguments, Retry::Safe), Instant::now()).await?)
    }

    /// Deletes settings that cannot be read, as if they were lost. The other keys of the queue stay.
    async fn discard_unreadable(&self, queue: &QueueId) -> Result<(), StoreError> {
        match self.settings(queue).await {
            Ok(_) => Ok(()),
            // The server rejected the command, for whatever reason, and not the settings.
            Err(StoreError::Corrupt(reason)) if reason.starts_with("ERR ") => Err(StoreError::Unavailable(reason)),
            Err(StoreError::Corrupt(_)) => {
                self.command("UNLINK", vec![text(Keys::of(queue).settings())]).await.map(drop)
            }
            Err(error) => Err(error),
        }
    }

    /// Lists the queue in the index after the queue itself is written.
    async fn list(&self, queue: &QueueId, revision: u64, how: i64) -> Result<(), StoreError> {
        let arguments = [text(queue.as_str()), text(revision), Value::Integer(how)];
        let keys = [Key::from_static_str(Keys::QUEUES)];
        self.call(&functions().list_queue, keys, arguments, Retry::Safe).await.map(drop)
    }

    async fn hash(&self, key: &'static str) -> Result<BTreeMap<String, Bytes>, StoreError> {
        let all = self.command("HGETALL", vec![key.into()]).await?;
        all.convert().map_err(|error| StoreError::Corrupt(format!("{key}: {error}")))
    }
}

fn json_of(tenant: &Tenant) -> Result<String, StoreError> {
    serde_json::to_string(tenant).map_err(|error| StoreError::Corrupt(error.to_string()))
}

#[async_trait]
impl VisitStore for RedisStore {
    async fn visit(&self, queue: &QueueId, visit: Visit) -> Result<VisitAnswer, StoreError> {
        self.batcher.submit(queue, visit).await
    }

    async fn away(&self, queue: &QueueId, ticket: Ticket) -> Result<Removed, StoreError> {
        let arguments = [member(ticket.session()), text(ticket.epoch())];
        self.run(queue, &functions().away, arguments, Retry::Safe).await?.removal()
    }

    async fn leave(&self, queue: &QueueId, ticket: Ticket) -> Result<Removed, StoreError> {
        let flags = [ticket.admitted_at().is_some(), ticket.is_unconfirmed(), ticket.may_follow_an_end()];
        let [was_active, unconfirmed, may_follow] = flags.map(|flag| text(u8::from(flag)));
        let (session, epoch, issued_at) = (member(ticket.session()), text(ticket.epoch()), text(ticket.issued_at().0));
        let arguments = [session, epoch, was_active, unconfirmed, issued_at, may_follow];
        self.run(queue, &functions().leave, arguments, Retry::Safe).await?.removal()
    }
}

#[async_trait]
impl SettingsStore for RedisStore {
    async fn put_settings(&self, settings: &Settings, mode: PutMode) -> Result<PutOutcome, StoreError> {
        let (mode, revision) = match mode {
            PutMode::Always => (codes::ALWAYS, nothing()),
            PutMode::IfRevision(revision) => (codes::IF_REVISION, text(revision)),
            PutMode::Restore => (codes::RESTORE, nothing()),
            PutMode::Unreadable => {
                self.discard_unreadable(&settings.id).await?;
                (codes::REPLACE_UNREADABLE, nothing())
            }
        };
        let [rules, schedule] = [codes::pack_rules(&settings.line)?, codes::pack_schedule(&settings.line)?];
        let [rules, schedule] = [rules, schedule].map(|packed| Value::Bytes(packed.into()));
        let arguments = [Value::Integer(mode), revision, text(settings.to_stored()), rules, schedule];
        let mut reply = self.run(&settings.id, &functions().put_settings, arguments, Retry::Never).await?;
        let (outcome, revision) = (reply.code()?, reply.whole()?);
        match outcome {
            codes::STORED | codes::CREATED => {
                self.list(&settings.id, revision, outcome).await?;
                Ok(PutOutcome::Stored(revision))
            }
            codes::CONFLICT => {
                // The index may have lost an existing queue.
                self.list(&settings.id, revision, codes::STORED).await?;
                Ok(PutOutcome::Conflict(revision))
            }
            codes::REMOVED => {
                self.list(&settings.id, 0, codes::REMOVED).await?;
                Ok(PutOutcome::Removed)
            }
            other => Err(StoreError::Corrupt(format!("settings were written with the outcome {other}"))),
        }
    }

    async fn settings(&self, queue: &QueueId) -> Result<Option<Settings>, StoreError> {
        let fields = vec![text(Keys::of(queue).settings()), text("document"), text("rules"), text("schedule")];
        let found = self.command("HMGET", fields).await?;
        let corrupt = |error: String| StoreError::Corrupt(format!("settings of {queue}: {error}"));
        let found: (Option<String>, Option<Bytes>, Option<Bytes>) =
            found.convert().map_err(|error| corrupt(error.to_string()))?;
        let (Some(document), Some(rules), schedule) = found else { return Ok(None) };
        let document = serde_json::from_str(&document).map_err(|error| corrupt(error.to_string()))?;
        let settings = Settings::from_stored(&document).map_err(|errors| corrupt(joined(&errors)))?;
        let rules = codes::unpack_rules(&rules)?;
        if let Some(schedule) = schedule {
            codes::check_schedule(&schedule)?;
        }
        // Stored rules have no events, lists, networks and identity.
        let LineRules { between_events, events, protection, .. } = settings.line;
        let Protection { lists, networks, identity, .. } = protection;
        let protection = Protection { lists, networks, identity, ..rules.protection };
        Ok(Some(Settings { line: LineRules { between_events, events, protection, ..rules }, ..settings }))
    }

    async fn queues(&self) -> Result<Vec<(QueueId, u64)>, StoreError> {
        let mut queues = Vec::new();
        for (id, revision) in self.hash(Keys::QUEUES).await? {
            let revision = std::str::from_utf8(&revision).ok().and_then(|text| text.parse().ok());
            if let (Ok(id), Some(revision)) = (id.parse(), revision) {
                queues.push((id, revision));
            } else {
                tracing::warn!(id, "the queue index contains an invalid entry");
            }
        }
        queues.sort();
        Ok(queues)
    }

    async fn remove_queue(&self, queue: &QueueId) -> Result<(), StoreError> {
        let mut reply = self.run(queue, &functions().remove_queue, [text(REMOVED_TTL)], Retry::Safe).await?;
        let was_there = reply.whole()? == 1;
        self.list(queue, 0, if was_there { codes::CREATED } else { codes::REMOVED }).await
    }

    async fn forget_removed_queue(&self, queue: &QueueId) -> Result<(), StoreError> {
        let marker = self.command("EXISTS", vec![text(Keys::of(queue).settings())]).await?;
        if marker.as_u64() == Some(0) {
            let keys = [Key::from_static_str(Keys::QUEUES)];
            self.call(&functions().forget_queue, keys, [text(queue.as_str())], Retry::Safe).await?;
        }
        Ok(())
    }

    async fn put_tenant(&self, tenant: &Tenant) -> Result<(), StoreError> {
        let arguments = vec![Keys::TENANTS.into(), text(tenant.id.as_str()), text(json_of(tenant)?)];
        self.command("HSET", arguments).await.map(drop)
    }

    async fn replace_tenant(&self, before: Option<&Tenant>, tenant: &Tenant) -> Result<bool, StoreError> {
        let corrupt = |error: &dyn std::fmt::Display| StoreError::Corrupt(format!("tenant {}: {error}", tenant.id));
        let found = self.command("HGET", vec![Keys::TENANTS.into(), text(tenant.id.as_str())]).await?;
        // The text and not the tenant is compared, as other versions may write it differently. What can't be read is not there.
        let held: Option<Bytes> = found.convert().map_err(|error| corrupt(&error))?;
        let read = held.as_ref().and_then(|json| serde_json::from_slice::<Tenant>(json).ok());
        if read.as_ref() == Some(tenant) {
            return Ok(true);
        }
        if read.as_ref() != before {
            return Ok(false);
        }
        let arguments = [text(tenant.id.as_str()), held.map_or_else(nothing, Value::Bytes), text(json_of(tenant)?)];
        let keys = [Key::from_static_str(Keys::TENANTS)];
        let reply = self.call(&functions().replace_tenant, keys, arguments, Retry::Safe).await?;
        Ok(reply.as_i64() == Some(codes::STORED))
    }

    async fn remove_tenant(&self, tenant: &TenantId) -> Result<(), StoreError> {
        let arguments = vec![Keys::TENANTS.into(), text(tenant.as_str())];
        self.command("HDEL", arguments).await.map(drop)
    }

    async fn tenants(&self) -> Result<Vec<Tenant>, StoreError> {
        let mut tenants: BTreeMap<TenantId, Tenant> = BTreeMap::new();
        for (id, json) in self.hash(Keys::TENANTS).await? {
            match serde_json::from_slice::<Tenant>(&json) {
                Ok(tenant) => drop(tenants.insert(tenant.id.clone(), tenant)),
                Err(error) => tracing::warn!(id, %error, "a tenant cannot be read"),
            }
        }
        Ok(tenants.into_values().collect())
    }
}

#[async_trait]
impl OperationsStore for RedisStore {
    async fn end(&self, queue: &QueueId, session: SessionId) -> Result<Removed, StoreError> {
        self.run(queue, &functions().end, [member(session)], Retry::Safe).await?.removal()
    }

    async fn release(&self, queue: &QueueId, count: u64) -> Result<u64, StoreError> {
        self.run(queue, &functions().release, [text(count)], Retry::Never).await?.whole()
    }

    async fn admit(&self, queue: &QueueId, session: SessionId) -> Result<bool, StoreError> {
        Ok(self.run(queue, &functions().admit, [member(session)], Retry::Never).await?.whole()? == 1)
    }

    async fn purge(&self, queue: &QueueId, limit: usize) -> Result<PurgeReport, StoreError> {
        let report = self.run(queue, &functions().purge, [text(limit)], Retry::Safe).await?.purge()?;
        if let Some(revision) = report.closed {
            self.list(queue, revision, codes::STORED).await?;
        }
        Ok(report)
    }

    async fn set_attack_mode(&self, queue: &QueueId, seconds: u64) -> Result<AttackModeChange, StoreError> {
        self.run(queue, &functions().attack_mode, [text(seconds)], Retry::Never).await?.attack_mode()
    }

    async fn stats(&self, queue: &QueueId) -> Result<Stats, StoreError> {
        self.run(queue, &functions().stats, [], Retry::Safe).await?.stats()
    }

    async fn protection(&self, queue: &QueueId) -> Result<ProtectionReport, StoreError> {
        self.run(queue, &functions().protection, [], Retry::Safe).await?.protection()
    }

    async fn line(&self, queue: &QueueId) -> Result<LineView, StoreError> {
        self.run(queue, &functions().line, [], Retry::Safe).await?.line()
    }

    async fn find(&self, queue: &QueueId, session: SessionId) -> Result<Option<LocatedSession>, StoreError> {
        self.run(queue, &functions().find, [member(session)], Retry::Safe).await?.found()
    }

    async fn page(
        &self,
        queue: &QueueId,
        list: SessionList,
        start: PageStart,
        limit: usize,
    ) -> Result<SessionPage, StoreError> {
        let list = match list {
            SessionList::Waiting => codes::WAITING,
            SessionList::Active => codes::ADMITTED,
            SessionList::Ended => codes::ENDED_BEFORE,
        };
        let arguments = [text(list), text(start.at.0), text(start.skip), text(limit)];
        self.run(queue, &functions().page, arguments, Retry::Safe).await?.page()
    }

    async fn reset(&self, queue: &QueueId) -> Result<u64, StoreError> {
        let mut reply = self.run(queue, &functions().reset, [], Retry::Never).await?;
        let (epoch, revision) = (reply.whole()?, reply.whole()?);
        self.list(queue, revision, codes::STORED).await?;
        Ok(epoch)
    }

    async fn set_last_purge(&self, record: &LastPurge) -> Result<(), StoreError> {
        let counts = [record.took_ms, record.queues, record.failed, record.expired, record.tombstones, record.admitted];
        let counts = counts.into_iter().chain([record.unfinished.into()]).map(text);
        let arguments = std::iter::once(self.now()).chain(counts);
        let keys = [Key::from_static_str(Keys::PURGE)];
        self.call(&functions().set_last_purge, keys, arguments, Retry::Safe).await.map(drop)
    }

    async fn last_purge(&self) -> Result<Option<LastPurge>, StoreError> {
        let fields = std::iter::once(Keys::PURGE).chain(PURGE_FIELDS).map(Value::from).collect();
        Reply::last_purge_record(self.command("HMGET", fields).await?)
    }

    async fn ping(&self) -> Result<(), StoreError> {
        // A cluster that is down still replies to PING, and a server that refuses writes to a read.
        let keys = [Key::from_static_str(Keys::QUEUES)];
        self.call(&functions().check_writable, keys, [], Retry::Safe).await.map(drop)
    }
}

//! Connections to Redis: the current one, and its replacement when it is silent.
//!
//! A silent connection is not closed: its server may be slow, or only one node of a cluster may be. Another is opened
//! next to it and replaces it once it is established. The same is done for a connection that leads to a replica: after a
//! failover the address may name another server. Pending operations on the silent one can still receive their
//! replies, and responsive nodes continue to serve.

use std::sync::Arc;
use std::time::Duration;

use fred::clients::Client;
use fred::error::Error;
use fred::interfaces::{ClientLike, EventInterface};
use fred::types::config::{Config, Options, ReconnectPolicy};
use fred::types::{Builder, CustomCommand, Value};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use vestibule_freeze::FreezeAwareInstant;

use crate::command::{Command, CommandError, Retry};

/// Timeout for establishing a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Minimum age of a connection before another is opened: a younger one may still be connecting, and a slow server must
/// not receive one connection after another.
const REPLACEMENT_PAUSE: Duration = CONNECT_TIMEOUT;
/// Maximum number of times a command is written, including redirections.
const ATTEMPTS_MAX: u32 = 4;
/// Initial delay before a reconnection, in milliseconds; it doubles with every attempt.
const RECONNECT_DELAY_MIN_MS: u32 = 1;
/// Maximum delay between two attempts, in milliseconds.
const RECONNECT_DELAY_MAX_MS: u32 = 500;
/// Maximum random jitter of these delays, in milliseconds, so that clients do not reconnect at the same instant.
const RECONNECT_JITTER_MS: u32 = 10;
/// Interval at which a pending connection is checked.
const CONNECTED_CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// The connections of a store.
pub(crate) struct Connections {
    config: Config,
    fault: Fault,
    current: Arc<watch::Sender<Arc<Connection>>>,
    newest: Mutex<Newest>,
    _eviction_check: AbortOnDrop<()>,
}

/// The connection that was opened last.
struct Newest {
    opened: FreezeAwareInstant,
    /// Makes the connection the current one; `None` for the first connection.
    task: Option<AbortOnDrop<()>>,
}

impl Connections {
    /// Opens the first connection in the background.
    pub(crate) fn open(config: Config) -> Result<Self, Error> {
        let fault = Fault::default();
        let first = Arc::new(Connection::open(&config, &fault, true)?);
        let eviction_check = AbortOnDrop(tokio::spawn(warn_of_eviction(first.clone())));
        let newest = Mutex::new(Newest { opened: FreezeAwareInstant::now(), task: None });
        Ok(Self {
            config,
            fault,
            current: Arc::new(watch::Sender::new(first)),
            newest,
            _eviction_check: eviction_check,
        })
    }

    /// The current connection.
    pub(crate) fn current(&self) -> Arc<Connection> {
        self.current.borrow().clone()
    }

    /// Whether another connection has replaced this one.
    pub(crate) fn has_replaced(&self, connection: &Arc<Connection>) -> bool {
        !Arc::ptr_eq(&self.current.borrow(), connection)
    }

    /// Opens another connection because this one is of no use: it receives nothing, or leads to a replica. Not if that happened
    /// recently. Returns whether another has replaced it or is going to.
    pub(crate) fn replace(&self, useless: &Arc<Connection>, why: &'static str) -> bool {
        let mut newest = self.newest.lock();
        if self.has_replaced(useless) {
            return true;
        }
        // After a freeze, a connection that was being opened before it is as useless.
        if newest.opened.elapsed() < REPLACEMENT_PAUSE {
            return newest.task.as_ref().is_some_and(|task| !task.0.is_finished());
        }
        let connection = match Connection::open(&self.config, &self.fault, false) {
            Ok(connection) => Arc::new(connection),
            Err(error) => {
                tracing::warn!(%error, "failed to open another connection to Redis");
                return false;
            }
        };
        if useless.client.is_connected() {
            tracing::debug!(why, "opening another connection to Redis");
        }
        let current = self.current.clone();
        let task = tokio::spawn(async move {
            connection.established().await;
            current.send_replace(connection);
        });
        *newest = Newest { opened: FreezeAwareInstant::now(), task: Some(AbortOnDrop(task)) };
        true
    }

    /// Waits for the connection that replaces this one; `None` if the store was dropped.
    pub(crate) async fn replacement_of(&self, useless: &Arc<Connection>) -> Option<Arc<Connection>> {
        let mut current = self.current.subscribe();
        current.wait_for(|connection| !Arc::ptr_eq(connection, useless)).await.ok().map(|found| found.clone())
    }
}

/// One multiplexed connection (in a cluster, one per node) that reconnects automatically. Dropping it closes it.
pub(crate) struct Connection {
    client: Client,
    fault: Fault,
    _tasks: [AbortOnDrop<()>; 2],
}

impl Connection {
    fn open(config: &Config, fault: &Fault, is_first: bool) -> Result<Self, Error> {
        let mut policy = ReconnectPolicy::new_exponential(0, RECONNECT_DELAY_MIN_MS, RECONNECT_DELAY_MAX_MS, 2);
        policy.set_jitter(RECONNECT_JITTER_MS);
        let client = Builder::from_config(config.clone())
            .with_connection_config(|connection| {
                connection.connection_timeout = CONNECT_TIMEOUT;
                connection.internal_command_timeout = CONNECT_TIMEOUT;
                connection.reconnect_on_auth_error = true;
                // The client would reconnect without pause for as long as the server refuses commands.
                connection.reconnect_errors = Vec::new();
                connection.max_command_attempts = ATTEMPTS_MAX;
                connection.tcp.nodelay = Some(true);
            })
            .set_policy(policy)
            .build()?;
        let tasks = [
            AbortOnDrop(tokio::spawn(log_changes(client.clone(), fault.clone(), is_first))),
            AbortOnDrop(tokio::spawn(stay_connected(client.clone()))),
        ];
        Ok(Self { client, fault: fault.clone(), _tasks: tasks })
    }

    /// Whether the connection is established, as far as is known.
    pub(crate) fn is_established(&self) -> bool {
        self.client.is_connected()
    }

    async fn established(&self) {
        while !self.is_established() {
            let _ = timeout(CONNECTED_CHECK_INTERVAL, self.client.wait_for_connect()).await;
        }
    }

    /// Sends a command once the connection is established. If replicas must confirm it, `WAIT` follows at once, over the same
    /// connection: on another one it would know nothing of the command. Further commands of the connection wait for it.
    pub(crate) async fn send(&self, command: Command, deadline: Instant) -> Result<Value, CommandError> {
        timeout_at(deadline, self.established())
            .await
            .map_err(|_| CommandError::NotSent(self.fault.not_connected()))?;
        let once = command.retry == Retry::Never || command.replicas > 0;
        let rest = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let options = Options {
            timeout: Some(rest),
            fail_fast: once,
            max_attempts: once.then_some(1),
            // On another node, `WAIT` would know nothing of the command.
            max_redirections: (command.replicas > 0).then_some(0),
            ..Options::default()
        };
        let (hash, replicas) = (command.cluster_hash(), command.replicas);
        // Unless it must be sent once, the client repeats a command after its connection broke, or led to a replica.
        let breaks = (!once).then(|| (self.client.error_rx(), self.client.reconnect_rx()));
        let is_repeated = || breaks.as_ref().is_some_and(|(errors, again)| !(errors.is_empty() && again.is_empty()));
        let client = self.client.with_options(&options);
        let sent = client.custom(CustomCommand::new_static(command.name, hash.clone(), false), command.arguments);
        if replicas == 0 {
            return sent.await.map_err(|error| match CommandError::from(error) {
                refused @ CommandError::Refused(_) if is_repeated() => refused.after_another_send(),
                error => error,
            });
        }
        // The rest of the time is for the reply: without replicas the server replies, and works.
        let limit = vec![i64::from(replicas), (rest * 3 / 4).as_millis() as i64];
        let confirmed = client.custom::<i64, _>(CustomCommand::new_static("WAIT", hash, false), limit);
        let (reply, confirmed) = tokio::join!(biased; sent, confirmed);
        match (reply?, confirmed?) {
            (reply, confirmed) if confirmed >= i64::from(replicas) => Ok(reply),
            (_, confirmed) => {
                Err(CommandError::Unconfirmed(format!("{confirmed} of {replicas} replicas have confirmed it in time")))
            }
        }
    }
}

/// A task that ends with its owner.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The client stops if its first connection attempt fails; later breaks it repairs itself.
async fn stay_connected(client: Client) {
    let mut delay_ms = RECONNECT_DELAY_MIN_MS;
    loop {
        let mut task = AbortOnDrop(client.connect());
        let ended = (&mut task.0).await;
        tracing::debug!(?ended, "not connected to Redis");
        sleep(Duration::from_millis(delay_ms.into())).await;
        delay_ms = (2 * delay_ms).min(RECONNECT_DELAY_MAX_MS);
    }
}

/// Why there is no connection; empty while there is one. All connections of a store share it.
#[derive(Clone, Default)]
struct Fault(Arc<Mutex<Option<String>>>);

impl Fault {
    /// Replaces it, and returns whether there was one.
    fn set(&self, cause: Option<String>) -> bool {
        let mut current = self.0.lock();
        std::mem::replace(&mut *current, cause).is_some()
    }

    fn not_connected(&self) -> String {
        let cause = self.0.lock();
        cause.as_ref().map_or_else(|| "not connected".to_owned(), |cause| format!("not connected: {cause}"))
    }
}

/// Logs once that the connection broke, and once that it is restored; that it is established only for the first one.
async fn log_changes(client: Client, fault: Fault, is_first: bool) {
    let (mut errors, mut connections) = (client.error_rx(), client.reconnect_rx());
    loop {
        tokio::select! {
            error = errors.recv() => if let Ok((error, server)) = error {
                let server = server.map(|server| server.to_string());
                if fault.set(Some(error.details().to_owned())) {
                    tracing::debug!(%error, server, "Redis is still unavailable");
                } else {
                    tracing::warn!(%error, server, "the connection to Redis is broken");
                }
            },
            server = connections.recv() => if let Ok(server) = server && (fault.set(None) || is_first) {
                tracing::info!(%server, "connected to Redis");
            },
        }
    }
}

/// Warns once if the server may evict keys, which are positions and settings.
async fn warn_of_eviction(connection: Arc<Connection>) {
    connection.established().await;
    let deadline = Instant::now() + CONNECT_TIMEOUT;
    let Ok(Value::String(info)) = connection.send(Command::info(&["memory"]), deadline).await else { return };
    if let Some(policy) = evicting_policy(&info) {
        tracing::warn!(
            policy,
            "Redis may evict keys, which loses positions and settings; set maxmemory-policy noeviction"
        );
    }
}

/// The policy by which the server evicts keys, if it does.
fn evicting_policy(info: &str) -> Option<&str> {
    let policy = info.lines().find_map(|line| line.strip_prefix("maxmemory_policy:"))?;
    (policy != "noeviction").then_some(policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eviction_is_recognized() {
        let info =
            |policy: &str| format!("# Memory\r\nused_memory:1\r\nmaxmemory_policy:{policy}\r\nmem_allocator:x\r\n");
        assert_eq!(evicting_policy(&info("allkeys-lru")), Some("allkeys-lru"));
        assert_eq!(evicting_policy(&info("noeviction")), None);
        assert_eq!(evicting_policy(""), None);
    }
}

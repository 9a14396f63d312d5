//! One multiplexed connection that is taken up again for ever, and operations that never outlast their time.

use std::sync::Arc;
use std::time::Duration;

use fred::bytes_utils::Str;
use fred::clients::Client;
use fred::error::{Error, ErrorKind};
use fred::interfaces::ClientLike;
use fred::types::config::{Config, Options, ReconnectPolicy};
use fred::types::{Builder, ClusterHash, CustomCommand, Key, Value};
use fred::util::redis_keyslot;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use vestibule_core::StoreError;

use crate::health::{Attempt, Health, Shown};
use crate::reconnect;
use crate::scripts::Script;

/// Time for a connection to be set up.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Hash slots of a cluster.
const SLOTS: usize = 16_384;
/// Times that a command is written before it is given up, the first and those after a redirection included.
const ATTEMPTS: u32 = 4;
/// A connection on which nothing is answered for this many timeouts is given up, but not before a second has gone.
const SILENT_TIMEOUTS: u32 = 4;
const SILENT_LEAST: Duration = Duration::from_secs(1);
/// How often an operation looks whether the connection is there.
const LOOK: Duration = Duration::from_millis(10);

/// Whether a command whose answer was lost with the connection may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Doing it twice leaves the same behind as doing it once.
    Harmless,
    /// Doing it twice would be seen.
    Never,
}

/// A command as it is sent.
struct Request {
    name: &'static str,
    key: Value,
    arguments: Vec<Value>,
    repeat: Repeat,
}

/// A connection to Redis.
pub(crate) struct Connection {
    client: Client,
    timeout: Duration,
    health: Health,
    /// Told when the connection is to be given up.
    silent: Arc<Notify>,
    tasks: [JoinHandle<()>; 3],
}

impl Connection {
    /// Connects in the background, now and whenever the connection breaks.
    pub(crate) fn open(config: Config, timeout: Duration) -> Result<Self, Error> {
        let health = Health::new(if config.server.is_clustered() { SLOTS } else { 1 });
        let client = Builder::from_config(config)
            .with_connection_config(|connection| {
                connection.connection_timeout = CONNECT_TIMEOUT;
                connection.internal_command_timeout = CONNECT_TIMEOUT;
                connection.reconnect_on_auth_error = true;
                connection.max_command_attempts = ATTEMPTS;
                connection.tcp.nodelay = Some(true);
            })
            .set_policy(ReconnectPolicy::new_exponential(0, reconnect::FIRST_MS, reconnect::LONGEST_MS, 2))
            .build()?;
        let silent = Arc::new(Notify::new());
        let tasks = [
            tokio::spawn(reconnect::tell_changes(client.clone())),
            tokio::spawn(reconnect::stay_connected(client.clone())),
            tokio::spawn(reconnect::give_up_when_silent(client.clone(), silent.clone())),
        ];
        Ok(Self { client, timeout, health, silent, tasks })
    }

    /// Runs a script by its hash; one that the server does not know is sent whole, which makes it known.
    pub(crate) async fn run(
        &self,
        script: &Script,
        keys: impl IntoIterator<Item = Key>,
        arguments: impl IntoIterator<Item = Value>,
        repeat: Repeat,
    ) -> Result<Value, StoreError> {
        let keys: Vec<Value> = keys.into_iter().map(Value::from).collect();
        let key = keys.first().cloned().unwrap_or(Value::Null);
        let count = Value::String(keys.len().to_string().into());
        let rest: Vec<Value> = std::iter::once(count).chain(keys).chain(arguments).collect();
        let request = |name, script: &Str| {
            let arguments = std::iter::once(Value::String(script.clone())).chain(rest.iter().cloned()).collect();
            Request { name, key: key.clone(), arguments, repeat }
        };
        let attempt = self.attempt(&key)?;
        let mut result = self.send(&attempt, request("EVALSHA", &script.hash)).await;
        if matches!(result, Err(Failure::UnknownScript)) {
            result = self.send(&attempt, request("EVAL", &script.source)).await;
        }
        self.concluded(&attempt, result)
    }

    /// Sends a command whose first argument is its key.
    pub(crate) async fn ask(
        &self,
        name: &'static str,
        arguments: Vec<Value>,
        repeat: Repeat,
    ) -> Result<Value, StoreError> {
        let key = arguments.first().cloned().unwrap_or(Value::Null);
        let attempt = self.attempt(&key)?;
        let result = self.send(&attempt, Request { name, key, arguments, repeat }).await;
        self.concluded(&attempt, result)
    }

    fn attempt(&self, key: &Value) -> Result<Attempt<'_>, StoreError> {
        let slot = key.as_bytes().filter(|_| self.health.parts() == SLOTS).map_or(0, redis_keyslot);
        let refused = || StoreError::Unavailable("nothing has been answered of late".to_owned());
        self.health.attempt(usize::from(slot)).ok_or_else(refused)
    }

    fn concluded(&self, attempt: &Attempt<'_>, result: Result<Value, Failure>) -> Result<Value, StoreError> {
        match &result {
            Ok(_) | Err(Failure::UnknownScript | Failure::Refused(_)) => self.health.answered(attempt),
            Err(Failure::Away(_)) => {}
            Err(Failure::Silent(_)) => match self.health.silent(attempt) {
                Shown::Nothing => {}
                Shown::FailingNow => tracing::debug!("Redis answers nothing"),
                Shown::FailingFor(time) => {
                    if time >= (self.timeout * SILENT_TIMEOUTS).max(SILENT_LEAST) {
                        self.silent.notify_waiters();
                    }
                }
            },
        }
        result.map_err(StoreError::from)
    }

    async fn send(&self, attempt: &Attempt<'_>, request: Request) -> Result<Value, Failure> {
        let deadline = attempt.started + self.timeout;
        while !self.client.is_connected() {
            if Instant::now() >= deadline {
                return Err(Failure::Silent("not connected"));
            }
            let _ = timeout_at(deadline.min(Instant::now() + LOOK), self.client.wait_for_connect()).await;
        }
        let slot = request.key.as_bytes().map_or(ClusterHash::Random, |key| ClusterHash::Custom(redis_keyslot(key)));
        let options = Options {
            timeout: Some(deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))),
            fail_fast: request.repeat == Repeat::Never,
            ..Options::default()
        };
        let command = CustomCommand::new_static(request.name, slot, false);
        let answer = self.client.with_options(&options).custom::<Value, Value>(command, request.arguments).await;
        answer.map_err(Failure::from)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Why a command gave no answer.
enum Failure {
    /// The server does not know the script.
    UnknownScript,
    /// The server refuses the command itself: its keys hold something else, or the script is at fault.
    Refused(String),
    /// It may work later.
    Away(String),
    /// Nothing came back in time, for this reason.
    Silent(&'static str),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let details = error.details();
        if details.starts_with("NOSCRIPT") {
            Self::UnknownScript
        } else if details.starts_with("ERR ") || details.starts_with("WRONGTYPE") {
            Self::Refused(details.to_owned())
        } else if *error.kind() == ErrorKind::Timeout {
            Self::Silent("no answer in time")
        } else {
            Self::Away(details.to_owned())
        }
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::UnknownScript => Self::Unavailable("the script was forgotten twice".to_owned()),
            Failure::Refused(details) => Self::Corrupt(details),
            Failure::Away(details) => Self::Unavailable(details),
            Failure::Silent(reason) => Self::Unavailable(reason.to_owned()),
        }
    }
}

//! Sends commands within a deadline, also over a connection that has gone silent.
//!
//! The process may be frozen for hours and find its connection dead without notice. If nothing is received for a part of
//! an operation's time, another connection is opened next to the silent one and the command is sent again over it. A
//! command that must not be sent twice is sent only after a harmless one was answered.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use fred::error::Error;
use fred::types::Value;
use fred::types::config::Config;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use vestibule_core::StoreError;

use crate::circuit_breaker::{CircuitBreaker, Permit};
use crate::command::{Command, CommandError, Retry};
use crate::connection::{Connection, Connections};

/// Hash slots of a cluster.
const CLUSTER_SLOTS: usize = 16_384;
/// An operation waits this fraction of its time without any reply before another connection is opened. The rest is for
/// connecting and for the reply.
const SILENCE_DIVISOR: u32 = 3;
/// Minimum of that time: less can pass on a busy machine although a reply has arrived.
const SILENCE_MIN: Duration = Duration::from_millis(5);
/// How long an operation listens on after that time: a process that was frozen sees its timer expire before it reads a
/// reply that has arrived meanwhile.
const LISTEN_ON: Duration = Duration::from_millis(5);
/// While the server refuses commands, that is logged this often.
const REFUSAL_LOG_PAUSE: Duration = Duration::from_mins(1);

/// A client of one Redis server, cluster or Sentinel service.
pub(crate) struct Client {
    connections: Connections,
    timeout: Duration,
    breaker: CircuitBreaker,
    /// When a refusal was logged last.
    refusal_logged: Mutex<Option<Instant>>,
}

impl Client {
    /// Connects in the background, now and whenever the connection breaks.
    pub(crate) fn open(config: Config, timeout: Duration) -> Result<Self, Error> {
        let breaker = CircuitBreaker::new(if config.server.is_clustered() { CLUSTER_SLOTS } else { 1 });
        Ok(Self { connections: Connections::open(config)?, timeout, breaker, refusal_logged: Mutex::default() })
    }

    /// The timeout of every operation.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Whether operations on this hash slot currently get no reply.
    pub(crate) fn is_failing(&self, slot: u16) -> bool {
        self.breaker.is_open(Some(slot))
    }

    /// Executes a command for an operation that started then. If the server does not know a function, the library is
    /// loaded and the command sent again.
    pub(crate) async fn execute(&self, command: Command, started: Instant) -> Result<Value, CommandError> {
        if command.retry == Retry::Never {
            let probed = Box::pin(self.execute(command.probe(), started)).await;
            probed.map_err(|error| CommandError::NotSent(StoreError::from(error).to_string()))?;
        }
        let deadline = started + self.timeout;
        let connection = self.connections.current();
        if self.breaker.is_paused(command.slot()) {
            return Err(CommandError::NotSent("the cluster does not serve the hash slot".to_owned()));
        }
        let permit = self.breaker.try_acquire(command.slot(), started).ok_or_else(|| {
            let reason = "Redis has not replied recently".to_owned();
            // A server that is connected but silent may still execute what others have sent for the same purpose.
            if connection.is_established() { CommandError::Unavailable(reason) } else { CommandError::NotSent(reason) }
        })?;
        let mut reply = pin!(connection.send(command.clone(), deadline));
        let mut result = tokio::select! {
            biased;
            result = reply.as_mut() => result,
            second = self.connection_after_silence(&permit, &connection, deadline), if command.retry == Retry::Safe && command.replicas == 0 => {
                first_reply(reply, Box::pin(second.send(command.clone(), deadline))).await
            }
        };
        if matches!(result, Err(CommandError::UnknownFunction)) {
            result = Box::pin(self.load_and_send(command.clone(), deadline)).await;
        }
        if matches!(&result, Err(error) if error.is_of_replica())
            && self.connections.replace(&connection, "Redis is a replica")
            && let Some(of_other) = Box::pin(self.send_over_replacement(&connection, command, deadline)).await
        {
            result = of_other;
        }
        self.note(&result, &permit);
        result
    }

    /// Sends a command that a replica has not executed over the connection that replaces the one to it, if it comes in time.
    async fn send_over_replacement(
        &self,
        replica: &Arc<Connection>,
        command: Command,
        deadline: Instant,
    ) -> Option<Result<Value, CommandError>> {
        let other = timeout_at(deadline, self.connections.replacement_of(replica)).await.ok()??;
        let result = other.send(command.clone(), deadline).await;
        if matches!(result, Err(CommandError::UnknownFunction)) {
            return Some(self.load_and_send(command, deadline).await);
        }
        Some(result)
    }

    /// Notes for other operations what became of one.
    fn note(&self, result: &Result<Value, CommandError>, permit: &Permit<'_>) {
        if let Err(CommandError::Refused(reason)) = result {
            let mut logged = self.refusal_logged.lock();
            if logged.is_none_or(|logged| logged.elapsed() >= REFUSAL_LOG_PAUSE) {
                *logged = Some(Instant::now());
                tracing::warn!(reason, "Redis refuses commands");
            }
        }
        match result {
            Err(CommandError::Timeout(_) | CommandError::NotSent(_)) if permit.record_timeout() => {
                tracing::debug!("Redis does not reply");
            }
            Err(error) if error.is_of_cluster() => permit.record_refusal(),
            result if is_reply(result) => permit.record_reply(),
            _ => {}
        }
    }

    /// Loads the library on the node of a command and sends the command again.
    async fn load_and_send(&self, command: Command, deadline: Instant) -> Result<Value, CommandError> {
        let connection = self.connections.current();
        match connection.send(command.load_library(), deadline).await {
            Ok(_) | Err(CommandError::LibraryExists) => connection.send(command, deadline).await,
            Err(error) => Err(error),
        }
    }

    /// Waits until nothing was received for too long and another connection has replaced the silent one.
    async fn connection_after_silence(
        &self,
        permit: &Permit<'_>,
        silent: &Arc<Connection>,
        deadline: Instant,
    ) -> Arc<Connection> {
        let silence_max = (self.timeout / SILENCE_DIVISOR).max(SILENCE_MIN);
        loop {
            let until = permit.silent_since() + silence_max;
            if until >= deadline || self.connections.has_replaced(silent) {
                break;
            }
            sleep_until(until).await;
            sleep(LISTEN_ON).await;
            if permit.silent_since() + silence_max <= until {
                self.connections.replace(silent, "Redis is not responding");
                break;
            }
        }
        match self.connections.replacement_of(silent).await {
            Some(connection) => connection,
            None => std::future::pending().await,
        }
    }
}

/// The first reply over two connections. A failure of the silent one does not count while the other may reply.
async fn first_reply(
    silent: Pin<&mut impl Future<Output = Result<Value, CommandError>>>,
    mut other: Pin<Box<impl Future<Output = Result<Value, CommandError>>>>,
) -> Result<Value, CommandError> {
    tokio::select! {
        biased;
        result = silent => {
            if is_reply(&result) {
                return result;
            }
            match (result, other.await) {
                (result, Err(CommandError::NotSent(_))) => result,
                // What was sent over the silent one may still be executed.
                (Err(first), second) if !first.is_certain() => second.map_err(CommandError::after_another_send),
                (_, second) => second,
            }
        },
        result = other.as_mut() => result.map_err(CommandError::after_another_send),
    }
}

/// Whether the result came from the server.
fn is_reply(result: &Result<Value, CommandError>) -> bool {
    result.as_ref().map_or_else(CommandError::is_reply, |_| true)
}

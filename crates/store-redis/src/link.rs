//! One multiplexed connection to Redis (in a cluster, one per node) that reconnects automatically.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fred::clients::Client;
use fred::error::Error;
use fred::interfaces::{ClientLike, EventInterface};
use fred::types::config::{Config, Options, ReconnectPolicy};
use fred::types::{Builder, CustomCommand, Value};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::request::{Failure, Repeat, Request};

/// Timeout for establishing a connection.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of times a command is written, including redirections.
const ATTEMPTS: u32 = 4;
/// Initial delay before a reconnection, in milliseconds; it doubles with every attempt.
const FIRST_MS: u32 = 1;
/// Maximum delay between two attempts, in milliseconds.
const LONGEST_MS: u32 = 500;
/// Maximum random jitter of these delays, in milliseconds, so that clients do not reconnect at the
/// same instant.
const JITTER_MS: u32 = 10;
/// Interval at which a pending connection is checked.
const LOOK: Duration = Duration::from_millis(10);

/// Whether the connection is known to be broken. All links of a store share it, so that a break is
/// logged once.
#[derive(Clone, Default)]
pub(crate) struct Breaks(Arc<AtomicBool>);

impl Breaks {
    /// Records a change. Returns whether the connection was broken before.
    fn change(&self, broken: bool) -> bool {
        self.0.swap(broken, Ordering::Relaxed)
    }
}

/// A connection and its background tasks. Dropping it closes the connection.
pub(crate) struct Link {
    client: Client,
    tasks: [JoinHandle<()>; 2],
}

impl Link {
    /// Starts to connect in the background.
    pub(crate) fn open(config: &Config, breaks: &Breaks) -> Result<Self, Error> {
        let mut policy = ReconnectPolicy::new_exponential(0, FIRST_MS, LONGEST_MS, 2);
        policy.set_jitter(JITTER_MS);
        let client = Builder::from_config(config.clone())
            .with_connection_config(|connection| {
                connection.connection_timeout = CONNECT_TIMEOUT;
                connection.internal_command_timeout = CONNECT_TIMEOUT;
                connection.reconnect_on_auth_error = true;
                connection.max_command_attempts = ATTEMPTS;
                connection.tcp.nodelay = Some(true);
            })
            .set_policy(policy)
            .build()?;
        let tasks =
            [tokio::spawn(tell_changes(client.clone(), breaks.clone())), tokio::spawn(stay_connected(client.clone()))];
        Ok(Self { client, tasks })
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.client.is_connected()
    }

    /// Waits until the connection is established.
    pub(crate) async fn connected(&self) {
        while !self.client.is_connected() {
            let _ = timeout(LOOK, self.client.wait_for_connect()).await;
        }
    }

    /// Sends a command once the connection is established.
    pub(crate) async fn send(&self, request: Request, deadline: Instant) -> Result<Value, Failure> {
        timeout_at(deadline, self.connected()).await.map_err(|_| Failure::Silent("not connected"))?;
        let never = request.repeat == Repeat::Never;
        let options = Options {
            timeout: Some(deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))),
            fail_fast: never,
            max_attempts: never.then_some(1),
            ..Options::default()
        };
        let command = CustomCommand::new_static(request.name, request.slot(), false);
        let answer = self.client.with_options(&options).custom::<Value, Value>(command, request.arguments).await;
        answer.map_err(Failure::from)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// A task that is aborted when this handle is dropped.
pub(crate) struct Ending<T>(pub(crate) JoinHandle<T>);

impl<T> Drop for Ending<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The client stops if its first connection attempt fails; later breaks it repairs itself.
async fn stay_connected(client: Client) {
    let mut pause_ms = FIRST_MS;
    loop {
        let mut task = Ending(client.connect());
        let ended = (&mut task.0).await;
        tracing::debug!(?ended, "not connected to Redis");
        sleep(Duration::from_millis(pause_ms.into())).await;
        pause_ms = (2 * pause_ms).min(LONGEST_MS);
    }
}

/// Logs once that the connection broke, and once that it is restored.
async fn tell_changes(client: Client, breaks: Breaks) {
    let (mut errors, mut connections) = (client.error_rx(), client.reconnect_rx());
    loop {
        tokio::select! {
            error = errors.recv() => if let Ok((error, server)) = error {
                let server = server.map(|server| server.to_string());
                if breaks.change(true) {
                    tracing::debug!(%error, server, "Redis is still unavailable");
                } else {
                    tracing::warn!(%error, server, "the connection to Redis is broken");
                }
            },
            server = connections.recv() => if let Ok(server) = server {
                tracing::info!(%server, "connected to Redis");
                breaks.change(false);
            },
        }
    }
}

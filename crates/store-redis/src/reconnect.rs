//! The tasks in the background that keep a connection up.

use std::sync::Arc;
use std::time::Duration;

use fred::clients::Client;
use fred::interfaces::{ClientLike, EventInterface};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// Time before the second attempt to connect, in milliseconds; it doubles from there.
pub(crate) const FIRST_MS: u32 = 20;
/// Longest time between two attempts to connect, in milliseconds.
pub(crate) const LONGEST_MS: u32 = 500;
/// Least time between two connections that are given up.
const GIVE_UP_PAUSE: Duration = Duration::from_secs(2);
/// Longest wait for a connection that was given up to be replaced.
const GIVE_UP_WAIT: Duration = Duration::from_secs(10);

/// Ends the client's own task together with the one that waits for it.
struct Ending<T>(JoinHandle<T>);

impl<T> Drop for Ending<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The client reconnects by itself; should its task end all the same, it is started again.
pub(crate) async fn stay_connected(client: Client) {
    loop {
        let mut task = Ending(client.connect());
        let ended = (&mut task.0).await;
        tracing::error!(?ended, "the connection to Redis ended and is started again");
        sleep(Duration::from_millis(LONGEST_MS.into())).await;
    }
}

/// Gives up a connection that is up and on which nothing is answered: to a host that is gone, a server that hangs, or a
/// node that was replaced while it hung. The client by itself would wait for as long as others keep writing to it.
pub(crate) async fn give_up_when_silent(client: Client, silent: Arc<Notify>) {
    loop {
        silent.notified().await;
        if client.is_connected() {
            tracing::warn!("the connection to Redis is silent and is given up");
            let _ = timeout(GIVE_UP_WAIT, client.force_reconnection()).await;
        }
        sleep(GIVE_UP_PAUSE).await;
    }
}

/// Says once that the connection broke, and once that it is back.
pub(crate) async fn tell_changes(client: Client) {
    let (mut errors, mut connections) = (client.error_rx(), client.reconnect_rx());
    let mut broken = false;
    loop {
        tokio::select! {
            error = errors.recv() => if let Ok((error, server)) = error {
                let server = server.map(|server| server.to_string());
                if broken {
                    tracing::debug!(%error, server, "Redis is still away");
                } else {
                    tracing::warn!(%error, server, "the connection to Redis is broken");
                }
                broken = true;
            },
            server = connections.recv() => if let Ok(server) = server {
                tracing::info!(%server, "connected to Redis");
                broken = false;
            },
        }
    }
}

//! The numbers of all queues, asked for once for all who follow them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tracing::warn;

use crate::problem::Problem;
use crate::state::Admin;
use crate::stats::{QueueStats, all_stats};

/// Time between two looks.
const EVERY: Duration = Duration::from_secs(2);
/// Most who follow at once.
const FOLLOWERS_MAX: usize = 200;

/// Looks while somebody follows.
pub(crate) struct Live {
    /// `None` while the store gives no answer.
    sender: watch::Sender<Option<Vec<QueueStats>>>,
    looking: AtomicBool,
    free: Arc<Semaphore>,
}

impl Default for Live {
    fn default() -> Self {
        let free = Arc::new(Semaphore::new(FOLLOWERS_MAX));
        Self { sender: watch::Sender::default(), looking: AtomicBool::new(false), free }
    }
}

/// Somebody who follows.
pub(crate) struct Follower {
    pub(crate) numbers: watch::Receiver<Option<Vec<QueueStats>>>,
    _seat: OwnedSemaphorePermit,
}

impl Live {
    /// Begins to follow; what is known already counts as changed.
    pub(crate) fn subscribe(&self, admin: &Admin) -> Result<Follower, Problem> {
        let seat = Arc::clone(&self.free).try_acquire_owned().map_err(|_| Problem::TooManyStreams)?;
        let mut numbers = self.sender.subscribe();
        if !self.looking.swap(true, Ordering::SeqCst) {
            tokio::spawn(look(admin.clone()));
        } else if numbers.borrow().is_some() {
            numbers.mark_changed();
        }
        Ok(Follower { numbers, _seat: seat })
    }
}

async fn look(admin: Admin) {
    let live = &admin.live;
    loop {
        match all_stats(&admin, |_| true).await {
            Ok(numbers) => drop(live.sender.send(Some(numbers))),
            Err(error) => {
                warn!(%error, "the numbers of the queues could not be read; trying again");
                drop(live.sender.send(None));
            }
        }
        tokio::time::sleep(EVERY).await;
        if live.sender.receiver_count() == 0 {
            live.looking.store(false, Ordering::SeqCst);
            // Somebody who came in between found it looking, and must not wait in vain.
            if live.sender.receiver_count() == 0 || live.looking.swap(true, Ordering::SeqCst) {
                return;
            }
        }
    }
}

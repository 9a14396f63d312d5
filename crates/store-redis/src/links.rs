//! The link in use, and the one that takes its place when nothing comes back over it.
//!
//! A silent link is not cut: it may belong to a server that is slow, or to a cluster of which one node is. Another is
//! opened beside it and takes its place as soon as it is connected. So what waits for an answer of the silent one still
//! gets it, what must not be sent twice is not, and the nodes that answer go on answering.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fred::error::Error;
use fred::types::config::Config;
use tokio::sync::watch;

use crate::link::{Breaks, CONNECT_TIMEOUT, Ending, Link};
use crate::moment::Moment;

/// Least age of a link before another is opened: a younger one may still be on its way, and a server that is slow must
/// not be asked for connection after connection.
const RENEWAL_PAUSE: Duration = CONNECT_TIMEOUT;

/// The links of a store.
pub(crate) struct Links {
    config: Config,
    breaks: Breaks,
    current: Arc<watch::Sender<Arc<Link>>>,
    newest: Mutex<Newest>,
}

/// The link that was opened last.
struct Newest {
    opened: Moment,
    /// Puts it in its place; none for the very first one, which has no other before it.
    _task: Option<Ending<()>>,
}

impl Links {
    /// Opens the first link.
    pub(crate) fn open(config: Config) -> Result<Self, Error> {
        let breaks = Breaks::default();
        let first = Link::open(&config, &breaks)?;
        let newest = Mutex::new(Newest { opened: Moment::now(), _task: None });
        Ok(Self { config, breaks, current: Arc::new(watch::Sender::new(Arc::new(first))), newest })
    }

    /// The link in use.
    pub(crate) fn current(&self) -> Arc<Link> {
        self.current.borrow().clone()
    }

    /// Whether another link has taken the place of this one.
    pub(crate) fn has_replaced(&self, link: &Arc<Link>) -> bool {
        !Arc::ptr_eq(&self.current.borrow(), link)
    }

    /// Nothing comes back over `silent`: opens another link, unless that has happened just now.
    pub(crate) fn renew(&self, silent: &Arc<Link>) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.opened.elapsed() < RENEWAL_PAUSE || self.has_replaced(silent) {
            return;
        }
        let link = match Link::open(&self.config, &self.breaks) {
            Ok(link) => Arc::new(link),
            Err(error) => return tracing::warn!(%error, "no other connection to Redis could be opened"),
        };
        if silent.is_connected() {
            tracing::info!("nothing comes back from Redis, another connection is opened");
        }
        let current = self.current.clone();
        let task = tokio::spawn(async move {
            link.connected().await;
            current.send_replace(link);
        });
        *newest = Newest { opened: Moment::now(), _task: Some(Ending(task)) };
    }

    /// The link that has taken the place of `silent`, once there is one; none if the store has gone.
    pub(crate) async fn after(&self, silent: &Arc<Link>) -> Option<Arc<Link>> {
        let mut current = self.current.subscribe();
        current.wait_for(|link| !Arc::ptr_eq(link, silent)).await.ok().map(|link| link.clone())
    }
}

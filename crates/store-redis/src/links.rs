//! The current link, and its replacement when it is silent.
//!
//! A silent link is not closed: its server may be slow, or only one node of a cluster may be.
//! Another link is opened next to it and replaces it once it is connected. Pending operations on
//! the silent link can still receive their replies, a non-idempotent command is not repeated, and
//! responsive nodes continue to serve.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fred::error::Error;
use fred::types::config::Config;
use tokio::sync::watch;

use crate::link::{Breaks, CONNECT_TIMEOUT, Ending, Link};
use crate::moment::Moment;

/// Minimum age of a link before another is opened: a younger one may still be connecting, and a
/// slow server must not receive one connection after another.
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
    /// Makes the link the current one; `None` for the first link.
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

    /// The current link.
    pub(crate) fn current(&self) -> Arc<Link> {
        self.current.borrow().clone()
    }

    /// Whether another link has replaced this one.
    pub(crate) fn has_replaced(&self, link: &Arc<Link>) -> bool {
        !Arc::ptr_eq(&self.current.borrow(), link)
    }

    /// Opens another link because `silent` receives nothing, unless that happened recently.
    pub(crate) fn renew(&self, silent: &Arc<Link>) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.opened.elapsed() < RENEWAL_PAUSE || self.has_replaced(silent) {
            return;
        }
        let link = match Link::open(&self.config, &self.breaks) {
            Ok(link) => Arc::new(link),
            Err(error) => return tracing::warn!(%error, "failed to open another connection to Redis"),
        };
        if silent.is_connected() {
            tracing::info!("Redis is not responding, opening another connection");
        }
        let current = self.current.clone();
        let task = tokio::spawn(async move {
            link.connected().await;
            current.send_replace(link);
        });
        *newest = Newest { opened: Moment::now(), _task: Some(Ending(task)) };
    }

    /// Waits for the link that replaces `silent`; `None` if the store was dropped.
    pub(crate) async fn after(&self, silent: &Arc<Link>) -> Option<Arc<Link>> {
        let mut current = self.current.subscribe();
        current.wait_for(|link| !Arc::ptr_eq(link, silent)).await.ok().map(|link| link.clone())
    }
}

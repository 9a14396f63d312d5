//! What the jobs of a job queue go to.

use std::sync::Arc;

use vestibule_core::PassSigner;
use vestibule_core::jobs::{LeasedJob, Outcome};
use vestibule_runtime::CachedJobQueue;

use crate::call::{Handler, HandlerError};
use crate::origin::OriginTarget;

/// What calls need beside the job queue. Clones share it.
#[derive(Clone)]
pub(crate) struct CallParts {
    /// Signs the passes of held orders.
    pub(crate) passes: Arc<PassSigner>,
    /// Where handlers reach the gate, to report progress.
    pub(crate) public_url: Option<Arc<str>>,
    /// Whether the calls come from a Lambda function, in which nothing may be called at its own addresses: its runtime answers there.
    pub(crate) is_function: bool,
}

/// The target of a job queue. Clones share its connections.
#[derive(Clone)]
pub(crate) enum Target {
    /// A handler.
    Handler(Arc<Handler>),
    /// The sites of held orders.
    Origin(Arc<OriginTarget>),
}

impl Target {
    pub(crate) fn new(job_queue: &CachedJobQueue, parts: &CallParts) -> Result<Self, HandlerError> {
        if job_queue.settings.holds_orders() {
            return Ok(Self::Origin(Arc::new(OriginTarget::new(job_queue, parts.passes.clone(), parts.is_function))));
        }
        Ok(Self::Handler(Arc::new(Handler::new(job_queue, parts.public_url.clone(), parts.is_function)?)))
    }

    /// Whether this is still the target of the job queue.
    pub(crate) fn is_of(&self, job_queue: &CachedJobQueue) -> bool {
        match self {
            Self::Handler(handler) => handler.is_of(job_queue),
            Self::Origin(origin) => origin.is_of(job_queue),
        }
    }

    /// Calls the target with a job, and says what its response means. `confirm` is asked before a held order is sent (H7).
    pub(crate) async fn call(&self, job: LeasedJob, confirm: impl Future<Output = bool>) -> Outcome {
        match self {
            Self::Handler(handler) => handler.call(job).await,
            Self::Origin(origin) => origin.send(job, confirm).await,
        }
    }
}

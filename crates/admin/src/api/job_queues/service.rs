//! Finds job queues for a principal.

use std::sync::Arc;

use vestibule_core::jobs::JobQueueId;
use vestibule_runtime::{CachedJobQueue, JobQueues};

use crate::access::{Principal, Role};
use crate::job_refusal::JobRefusal;
use crate::problem::Problem;
use crate::state::Admin;

/// The job queues of this deployment, and one that the principal may see.
pub(super) async fn find_visible<'a>(
    admin: &'a Admin,
    principal: &Principal,
    id: &str,
) -> Result<(&'a Arc<JobQueues>, Arc<CachedJobQueue>), Problem> {
    let unknown = || Problem::Job(JobRefusal::UnknownJobQueue);
    let job_queues = admin.jobs.as_ref().ok_or_else(unknown)?;
    let id: JobQueueId = id.parse().map_err(|_| unknown())?;
    let found = job_queues.get(&id).await?.filter(|found| principal.can_view(&found.settings.tenant));
    Ok((job_queues, found.ok_or_else(unknown)?))
}

/// The same for one that the principal may operate.
pub(super) async fn find_editable<'a>(
    admin: &'a Admin,
    principal: &Principal,
    id: &str,
) -> Result<(&'a Arc<JobQueues>, Arc<CachedJobQueue>), Problem> {
    let found = find_visible(admin, principal, id).await?;
    principal.at_least(Role::Operator)?;
    Ok(found)
}

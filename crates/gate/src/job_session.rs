//! The session that a job of a visitor names, and within which it is compared with others (H4, J7).

use vestibule_core::jobs::JobQueueSettings;
use vestibule_core::{FormerSession, Micros, SessionId};

/// The session of a new job: for as long as an equal one from before the visitor signed in would make it a duplicate, the session that
/// the visitor had then.
pub(crate) fn job_session(
    session: SessionId,
    former: Option<FormerSession>,
    now: Micros,
    job_queue: &JobQueueSettings,
) -> SessionId {
    let recent = former.filter(|former| now < former.handed_over_at.add_seconds(job_queue.duplicate_seconds()));
    recent.map_or(session, |former| former.session)
}

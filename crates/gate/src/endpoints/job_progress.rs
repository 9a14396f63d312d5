//! `POST /_vestibule/jobs/{job_queue}/{job}/progress`: a handler reports progress, at the signed address of its call.

use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use http::StatusCode;
use serde::Deserialize;
use tracing::warn;
use vestibule_core::jobs::{JobId, Lease, PROGRESS_MAX, ProgressAdded, ProgressError, ProgressMessage, SigningSecret};
use vestibule_core::{Clock as _, SystemClock};
use vestibule_runtime::{CachedJobQueue, is_progress_signature};

use super::QueryParams;
use super::jobs::find_job_queue;
use crate::error::GateError;
use crate::state::Gate;

#[derive(Deserialize)]
pub(crate) struct ProgressQuery {
    receive_count: u64,
    signature: String,
}

pub(crate) async fn add_progress(
    State(gate): State<Gate>,
    Path((job_queue, job)): Path<(String, String)>,
    QueryParams(query): QueryParams<ProgressQuery>,
    body: Body,
) -> Result<StatusCode, GateError> {
    let (job_queues, job_queue) = find_job_queue(&gate, &job_queue).await?;
    let settings = &job_queue.settings;
    let job: JobId = job.parse().map_err(|_| GateError::UnknownJob)?;
    let lease = Lease { job, receive_count: query.receive_count };
    let now = SystemClock::new().now().seconds();
    if !secrets(&job_queue, now).any(|secret| is_progress_signature(secret, &settings.id, lease, &query.signature)) {
        return Err(GateError::InvalidSignature);
    }
    let message = message(body).await?;
    match job_queues.job_store().add_progress(settings, lease, message).await {
        Ok(ProgressAdded::Added) => Ok(StatusCode::NO_CONTENT),
        Ok(ProgressAdded::NotLeased) => Err(GateError::LeaseEnded),
        Ok(ProgressAdded::Full) => Err(GateError::JobQueueFull),
        Err(error) => {
            warn!(job_queue = %settings.id, %job, %error, "progress may or may not be stored");
            Err(GateError::StoreUnavailable)
        }
    }
}

/// The secrets that may have signed the address of a call. One that began before a rotation has the secret before it.
fn secrets(job_queue: &CachedJobQueue, now: u64) -> impl Iterator<Item = &SigningSecret> {
    let retired = job_queue.retired_secret.as_ref().and_then(|retired| retired.at(now));
    job_queue.settings.target.secret.as_ref().into_iter().chain(retired)
}

async fn message(body: Body) -> Result<ProgressMessage, GateError> {
    let too_large = || GateError::BodyTooLarge { limit_bytes: PROGRESS_MAX };
    let bytes = to_bytes(body, PROGRESS_MAX).await.map_err(|_| too_large())?;
    let text = std::str::from_utf8(&bytes).map_err(|error| GateError::InvalidProgress(error.to_string()))?;
    text.parse().map_err(|error| match error {
        ProgressError::TooLong => too_large(),
        ProgressError::InvalidJson(cause) => GateError::InvalidProgress(cause),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vestibule_core::fields::Object as _;
    use vestibule_core::jobs::JobQueueSettings;
    use vestibule_core::settings::{RetiredSecret, StoredJobQueue};

    use super::*;

    #[test]
    fn retired_secret_signs_until_its_end() {
        let target = json!({ "kind": "http", "url": "https://crm.acme.example/jobs" });
        let mut settings =
            JobQueueSettings::from_json(&json!({ "id": "mails", "tenant": "acme", "target": target })).unwrap();
        let [current, secret] = [[1; 32], [2; 32]].map(SigningSecret::generated);
        settings.target.secret = Some(current.clone());
        let retired_secret = Some(RetiredSecret { secret: secret.clone(), until: 1_000 });
        let stored = StoredJobQueue { settings, revision: 2, retired_secret, restored_from: None };
        let job_queue = CachedJobQueue { stored, tenant: None };
        assert_eq!(secrets(&job_queue, 999).collect::<Vec<_>>(), [&current, &secret]);
        assert_eq!(secrets(&job_queue, 1_000).collect::<Vec<_>>(), [&current]);
    }
}

//! Tests of the webhook of a job queue.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::jobs::{NewJob, WebhookEvent, WebhookEventType, WebhookSubject};

use super::jobs::enqueued_by_hand;
use super::service::{audit, find_editable};
use super::views::EnqueuedJob;
use crate::access::Principal;
use crate::body::Segments;
use crate::codes::Code;
use crate::problem::Problem;
use crate::state::Admin;

pub(super) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new().routes(routes!(test_webhook))
}

/// Test the webhook of a job queue
///
/// Enqueues an event of the type `webhook.test`, which is delivered like every other one. Its job shows what the handler answered.
#[utoipa::path(post, path = "/job-queues/{job_queue}/webhook/test", tag = "job queues",
    responses(
        (status = 202, description = "Queued", body = EnqueuedJob,
            headers(("X-Job-Id" = String, description = "ID of the job"), ("Location" = String, description = "Path of the job"))),
        (status = 404, description = "`unknown_job_queue`"),
        (status = 409, description = "`no_webhook`: the job queue delivers no webhook events"),
        (status = 503, description = "`job_queue_full`, `not_queued`, `store_unavailable`: nothing is queued. `enqueue_unconfirmed`: the job may or may not be queued"),
    ))]
pub(crate) async fn test_webhook(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<Response, Problem> {
    let (job_queues, cached) = find_editable(&admin, &principal, &id).await?;
    let settings = &cached.settings;
    let (tenant, subject) = (settings.tenant.clone(), WebhookSubject::JobQueue(settings.id.clone()));
    let test = WebhookEvent::new(WebhookEventType::Test, tenant, subject, admin.now().await?);
    let job = NewJob::of_webhook_event(&settings.id, &test).filter(|_| settings.webhook.is_some());
    let job = job.ok_or(Problem::Plain(StatusCode::CONFLICT, Code::NoWebhook))?;
    let event = audit(&principal, "job_queue.test_webhook", settings);
    enqueued_by_hand(&admin, job_queues, settings, job, event).await
}

//! Why a request for jobs failed.

use http::StatusCode;
use vestibule_core::jobs::{JobBackendError, JobId, PAYLOAD_MAX};
use vestibule_core::settings::FieldErrorCode;
use vestibule_core::{Message, QueueId};
use vestibule_runtime::{CONTENT_TYPE_MAX, JobRequestError, USER_ID_MAX};

use crate::codes::Code;

/// Why a request for jobs failed.
#[derive(Debug)]
pub(crate) enum JobRefusal {
    UnknownJobQueue,
    UnknownJob,
    /// It has jobs or dead letters.
    JobQueueNotEmpty,
    /// Rules of this queue hold orders in it.
    JobQueueInUse(QueueId),
    JobLeased,
    JobFinished,
    /// A job that cannot be enqueued as it is.
    Request(JobRequestError),
    JobQueueFull,
    /// The backend can't be reached: nothing is queued.
    NotQueued(JobBackendError),
    /// The backend did not respond: the job with this ID may or may not be queued.
    Unconfirmed(JobId, JobBackendError),
    /// The backend did not respond to a read.
    Unavailable(JobBackendError),
}

impl JobRefusal {
    /// Why this job is not queued, or may not be.
    pub(crate) fn of_enqueue(job: JobId, error: JobBackendError) -> Self {
        match error {
            JobBackendError::NotSent(_) => Self::NotQueued(error),
            error => Self::Unconfirmed(job, error),
        }
    }

    /// The status and the message.
    pub(crate) fn response(&self) -> (StatusCode, Message) {
        match self {
            Self::UnknownJobQueue => (StatusCode::NOT_FOUND, Code::UnknownJobQueue.into()),
            Self::UnknownJob => (StatusCode::NOT_FOUND, Code::UnknownJob.into()),
            Self::JobQueueNotEmpty => (StatusCode::CONFLICT, Code::JobQueueNotEmpty.into()),
            Self::JobQueueInUse(queue) => (StatusCode::CONFLICT, Code::JobQueueInUse.with("queue", queue.as_str())),
            Self::JobLeased => (StatusCode::CONFLICT, Code::JobLeased.into()),
            Self::JobFinished => (StatusCode::CONFLICT, Code::JobFinished.into()),
            Self::Request(error) => (error.response().0, message_of(error)),
            Self::JobQueueFull => (StatusCode::SERVICE_UNAVAILABLE, Code::JobQueueFull.into()),
            Self::NotQueued(_) => (StatusCode::SERVICE_UNAVAILABLE, Code::NotQueued.into()),
            Self::Unconfirmed(job, _) => {
                (StatusCode::SERVICE_UNAVAILABLE, Code::EnqueueUnconfirmed.with("job_id", job.to_string()))
            }
            Self::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, Code::JobsUnavailable.into()),
        }
    }

    /// The error of the backend, for the log.
    pub(crate) const fn cause(&self) -> Option<&JobBackendError> {
        match self {
            Self::NotQueued(error) | Self::Unconfirmed(_, error) | Self::Unavailable(error) => Some(error),
            _ => None,
        }
    }
}

impl From<JobRequestError> for JobRefusal {
    fn from(error: JobRequestError) -> Self {
        Self::Request(error)
    }
}

fn message_of(error: &JobRequestError) -> Message {
    match error {
        JobRequestError::HeldOrdersOnly => Code::HeldOrdersOnly.into(),
        JobRequestError::GroupRequired => Code::GroupRequired.into(),
        JobRequestError::GroupNotSupported => Code::GroupNotSupported.into(),
        JobRequestError::DelayNotSupported => Code::DelayNotSupported.into(),
        JobRequestError::InvalidKey(name) => Code::InvalidId.with("name", *name).with("what", FieldErrorCode::JobKey),
        JobRequestError::InvalidUserId => {
            let what = Code::UserIdFormat.with("most", USER_ID_MAX as u64);
            Code::InvalidId.with("name", "user_id").with("what", what)
        }
        JobRequestError::InvalidSession => Code::InvalidId.with("name", "session").with("what", Code::SessionIdFormat),
        JobRequestError::ContentTypeTooLong => {
            let what = Code::ContentTypeFormat.with("most", CONTENT_TYPE_MAX as u64);
            Code::InvalidId.with("name", "Content-Type").with("what", what)
        }
        JobRequestError::InvalidJson(cause) => Code::InvalidJson.with("cause", cause.as_str()),
        JobRequestError::EmptyPayload => Code::EmptyPayload.into(),
        JobRequestError::PayloadTooLarge => Code::PayloadTooLarge.with("most", PAYLOAD_MAX as u64),
    }
}

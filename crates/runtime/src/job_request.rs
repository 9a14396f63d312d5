//! A request that enqueues a job, from a client of the API or from a visitor.

use http::StatusCode;
use serde::de::IgnoredAny;
use vestibule_core::SessionId;
use vestibule_core::jobs::{
    DeduplicationId, FormerJob, JSON_LEVELS_MAX, JobGroupId, JobId, JobKeyError, JobParams, JobQueueSettings, NewJob,
    PAYLOAD_MAX, Payload,
};

use crate::held_request::HELD_REQUEST;

/// Maximum length of a user ID.
pub const USER_ID_MAX: usize = 255;

/// Maximum length of a content type.
pub const CONTENT_TYPE_MAX: usize = 255;

/// Why a request enqueues no job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobRequestError {
    /// Only rules with the action `hold` enqueue held orders.
    #[error("the job queue has held orders only")]
    HeldOrdersOnly,
    /// A FIFO job queue needs a group.
    #[error("a FIFO job queue needs the group of the job")]
    GroupRequired,
    /// A standard job queue has no groups.
    #[error("this job queue has no groups; leave the group out, or use one whose ID ends with .fifo")]
    GroupNotSupported,
    /// Jobs of a group start in order.
    #[error("a FIFO job queue has no delay")]
    DelayNotSupported,
    /// The group ID or deduplication ID, as this name says, is invalid.
    #[error("{0} {JobKeyError}")]
    InvalidKey(&'static str),
    /// The user ID is invalid.
    #[error("user_id must be 1 to {USER_ID_MAX} printable ASCII characters")]
    InvalidUserId,
    /// The session that may follow the job is not one.
    #[error("session must be a session ID")]
    InvalidSession,
    /// The content type is too long.
    #[error("Content-Type must be at most {CONTENT_TYPE_MAX} characters")]
    ContentTypeTooLong,
    /// The payload should be JSON that consumers can read.
    #[error("the payload cannot be read as JSON: {0}")]
    InvalidJson(String),
    /// There is no payload.
    #[error("the payload is empty")]
    EmptyPayload,
    /// The payload is too large.
    #[error("the payload exceeds {PAYLOAD_MAX} bytes")]
    PayloadTooLarge,
}

impl JobRequestError {
    /// Status and code of the response, and what of the request is invalid.
    pub const fn response(&self) -> (StatusCode, &'static str, Option<&'static str>) {
        match self {
            Self::HeldOrdersOnly => (StatusCode::CONFLICT, "held_orders_only", None),
            Self::GroupRequired => (StatusCode::BAD_REQUEST, "group_required", None),
            Self::GroupNotSupported => (StatusCode::BAD_REQUEST, "group_not_supported", None),
            Self::DelayNotSupported => (StatusCode::BAD_REQUEST, "delay_not_supported", None),
            Self::InvalidKey(name) => (StatusCode::BAD_REQUEST, "invalid_id", Some(*name)),
            Self::InvalidUserId => (StatusCode::BAD_REQUEST, "invalid_id", Some("user_id")),
            Self::InvalidSession => (StatusCode::BAD_REQUEST, "invalid_id", Some("session")),
            Self::ContentTypeTooLong => (StatusCode::BAD_REQUEST, "invalid_id", Some("content-type")),
            Self::InvalidJson(_) => (StatusCode::BAD_REQUEST, "invalid_json", None),
            Self::EmptyPayload => (StatusCode::UNPROCESSABLE_ENTITY, "empty_payload", None),
            Self::PayloadTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", None),
        }
    }
}

/// What a producer says about a job, not checked yet.
#[derive(Debug)]
pub struct JobRequest {
    /// The group.
    pub group_id: Option<String>,
    /// A job with the ID of an earlier one is a duplicate.
    pub deduplication_id: Option<String>,
    /// The user of the producer's site for whom the job runs.
    pub user_id: Option<String>,
    /// The session that may follow the job.
    pub session: Option<SessionId>,
    /// The session that its visitor had before signing in, whose equal jobs make it a duplicate.
    pub former: Option<SessionId>,
    /// Whether that session sent the request.
    pub by_visitor: bool,
    /// What the request has beside its body.
    pub params: Option<JobParams>,
    /// Seconds until the job is due.
    pub delay_seconds: u64,
    /// The payload, from [`checked_payload`].
    pub payload: Payload,
}

impl JobRequest {
    /// The job, if the job queue can have it.
    ///
    /// # Errors
    /// What is wrong with the request.
    pub fn checked(self, settings: &JobQueueSettings) -> Result<NewJob, JobRequestError> {
        // Nobody but the gate says what an order is.
        if settings.holds_orders() || self.payload.content_type.trim().eq_ignore_ascii_case(HELD_REQUEST) {
            return Err(JobRequestError::HeldOrdersOnly);
        }
        let is_fifo = settings.id.is_fifo();
        let group =
            self.group_id.map(|id| id.parse::<JobGroupId>().map_err(|_| JobRequestError::InvalidKey("group_id")));
        let group = match group.transpose()? {
            None if is_fifo => return Err(JobRequestError::GroupRequired),
            Some(_) if !is_fifo => return Err(JobRequestError::GroupNotSupported),
            group => group,
        };
        let deduplication_id = self.deduplication_id.map(|id| id.parse::<DeduplicationId>()).transpose();
        let deduplication_id = deduplication_id.map_err(|_| JobRequestError::InvalidKey("deduplication_id"))?;
        if is_fifo && self.delay_seconds > 0 {
            return Err(JobRequestError::DelayNotSupported);
        }
        let is_user_id =
            |id: &String| (1..=USER_ID_MAX).contains(&id.len()) && id.bytes().all(|b| (b' '..0x7f).contains(&b));
        if self.user_id.as_ref().is_some_and(|id| !is_user_id(id)) {
            return Err(JobRequestError::InvalidUserId);
        }
        let visitor = self.session.filter(|_| self.by_visitor);
        let group = match (group, visitor) {
            (Some(group), Some(session)) => Some(group.of_visitor(session)),
            (group, _) => group,
        };
        let id = match &deduplication_id {
            Some(deduplication_id) if !is_fifo => JobId::of_deduplication(&settings.id, visitor, deduplication_id),
            _ => JobId::random(),
        };
        let Self { user_id, session, by_visitor, params, delay_seconds, payload, .. } = self;
        let new = NewJob::new(id, payload);
        let job = NewJob { group, deduplication_id, delay_seconds, user_id, session, by_visitor, params, ..new };
        let former = self.former.and_then(|former| match (job.group.clone(), &job.deduplication_id) {
            (Some(group), _) => Some(FormerJob::Key(job.key_in(group.of_visitor(former), former))),
            (None, Some(id)) => Some(FormerJob::Id(JobId::of_deduplication(&settings.id, Some(former), id))),
            (None, None) => None,
        });
        Ok(NewJob { former, ..job })
    }
}

/// A payload that can be enqueued: not empty, not too large, with a content type of limited length, and if that says JSON, JSON
/// of limited depth.
///
/// # Errors
/// What is wrong with it.
pub fn checked_payload(content_type: String, bytes: Vec<u8>) -> Result<Payload, JobRequestError> {
    if content_type.len() > CONTENT_TYPE_MAX {
        return Err(JobRequestError::ContentTypeTooLong);
    }
    let payload = Payload { content_type, bytes };
    if payload.bytes.is_empty() {
        return Err(JobRequestError::EmptyPayload);
    }
    if payload.bytes.len() > PAYLOAD_MAX {
        return Err(JobRequestError::PayloadTooLarge);
    }
    if payload.is_json() {
        // This has no limit of levels.
        let parsed = serde_json::from_slice::<IgnoredAny>(&payload.bytes);
        parsed.map_err(|error| JobRequestError::InvalidJson(error.to_string()))?;
        if payload.is_nested_too_deeply() {
            let cause = format!("it has more than {JSON_LEVELS_MAX} levels of arrays and objects");
            return Err(JobRequestError::InvalidJson(cause));
        }
    }
    Ok(payload)
}

#[cfg(test)]
mod tests {
    use vestibule_core::fields::Object as _;

    use super::*;

    #[test]
    fn job_from_before_signing_in_is_known() {
        let [guest, account] = [SessionId::random(), SessionId::random()];
        let settings = |id: &str| {
            let target = serde_json::json!({ "kind": "http", "url": "https://crm.acme.example/jobs" });
            let settings = serde_json::json!({ "id": id, "tenant": "acme", "target": target });
            JobQueueSettings::from_json(&settings).unwrap()
        };
        let by = |session, former, group: Option<&str>, id: Option<&str>| JobRequest {
            group_id: group.map(str::to_owned),
            deduplication_id: id.map(str::to_owned),
            user_id: None,
            session: Some(session),
            former,
            by_visitor: true,
            params: None,
            delay_seconds: 0,
            payload: checked_payload(String::new(), b"hello".to_vec()).unwrap(),
        };
        for (queue, group, id) in
            [("a.fifo", Some("g"), None), ("a.fifo", Some("g"), Some("x")), ("a", None, Some("x"))]
        {
            let first = by(guest, None, group, id).checked(&settings(queue)).unwrap();
            let again = by(account, Some(guest), group, id).checked(&settings(queue)).unwrap();
            let known_by = first.deduplication_key().map_or(FormerJob::Id(first.id), FormerJob::Key);
            assert_eq!((again.former, first.former), (Some(known_by), None), "{queue} {id:?}");
        }
        let random = by(account, Some(guest), None, None).checked(&settings("a")).unwrap();
        assert_eq!(random.former, None, "without an ID, no jobs of a standard job queue are equal");
    }

    #[test]
    fn visitors_choose_among_groups_of_their_own() {
        let target = serde_json::json!({ "kind": "http", "url": "https://crm.acme.example/jobs" });
        let settings = serde_json::json!({ "id": "updates.fifo", "tenant": "acme", "target": target });
        let settings = JobQueueSettings::from_json(&settings).unwrap();
        let [one, other] = [SessionId::random(), SessionId::random()];
        let group = |session, by_visitor| {
            let request = JobRequest {
                group_id: Some("user-17".to_owned()),
                deduplication_id: None,
                user_id: None,
                session: Some(session),
                former: None,
                by_visitor,
                params: None,
                delay_seconds: 0,
                payload: checked_payload(String::new(), b"hello".to_vec()).unwrap(),
            };
            request.checked(&settings).unwrap().group.unwrap()
        };
        assert_eq!(group(one, true), group(one, true));
        assert_ne!(group(one, true), group(other, true));
        assert_ne!(group(one, true), group(one, false));
        assert_eq!((group(one, true).as_str(), group(one, false).as_str()), ("user-17", "user-17"));
    }

    #[test]
    fn levels_of_json_are_limited() {
        let of_levels = |content_type: &str, levels: usize| {
            let text = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
            checked_payload(content_type.to_owned(), text.into()).map(|payload| payload.bytes.len())
        };
        assert_eq!(of_levels("application/json", JSON_LEVELS_MAX), Ok(2 * JSON_LEVELS_MAX));
        let Err(JobRequestError::InvalidJson(cause)) = of_levels("application/json", 100_000) else {
            panic!("accepted")
        };
        assert!(cause.contains("more than 60 levels"), "{cause}");
        assert_eq!(of_levels("text/plain", 1_000), Ok(2_000));
    }

    #[test]
    fn length_of_a_content_type_is_limited() {
        let of_length = |length: usize| {
            let content_type = format!("text/plain; a={}", "x".repeat(length - "text/plain; a=".len()));
            checked_payload(content_type, b"hello".to_vec()).map(|payload| payload.content_type.len())
        };
        assert_eq!(of_length(255), Ok(255));
        assert_eq!(of_length(256), Err(JobRequestError::ContentTypeTooLong));
    }
}

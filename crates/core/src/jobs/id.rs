//! Identifiers of job queues, jobs, groups and deduplication (J1, J2).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};
use sha2::{Digest as _, Sha256};

use crate::SessionId;
use crate::fields::FieldErrorCode;
use crate::support_code;

/// Maximum length of the ID of a job queue, without `.fifo`.
pub const JOB_QUEUE_ID_MAX: usize = 40;
/// Maximum length of a group ID and of a deduplication ID.
pub const JOB_KEY_MAX: usize = 100;
/// How the ID of a FIFO job queue ends.
const FIFO: &str = ".fifo";

/// The error for an invalid ID of a job queue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to {JOB_QUEUE_ID_MAX} characters A-Z, a-z, 0-9, _ and -; a FIFO job queue ends with .fifo")]
pub struct JobQueueIdError;

/// The error for an invalid group ID or deduplication ID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to {JOB_KEY_MAX} printable ASCII characters without spaces")]
pub struct JobKeyError;

/// The error for an invalid job ID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be a job ID of {} characters", JobId::LENGTH)]
pub struct JobIdError;

fn is_job_queue_id(text: &str) -> bool {
    let stem = text.strip_suffix(FIFO).unwrap_or(text);
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    (1..=JOB_QUEUE_ID_MAX).contains(&stem.len()) && stem.bytes().all(is_plain)
}

fn is_job_key(text: &str) -> bool {
    (1..=JOB_KEY_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
}

crate::id::text_id! {
    /// The ID of a job queue: `emails`, or `orders.fifo` for a FIFO job queue.
    JobQueueId, is_job_queue_id, JobQueueIdError
}
crate::id::text_id! {
    /// A second job with the same ID is a duplicate: `order-4711`.
    DeduplicationId, is_job_key, JobKeyError
}

crate::text_field! {
    JobQueueId: FieldErrorCode::JobQueueId, { "pattern": "^[A-Za-z0-9_-]{1,40}(\\.fifo)?$" };
    JobGroupId: FieldErrorCode::JobKey, { "pattern": "^[!-~]{1,100}$" };
}

/// Jobs of one group of a FIFO job queue run one at a time, in order: `user-17`. A visitor chooses among groups of their own session,
/// so that nobody can make the jobs of somebody else wait.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JobGroupId {
    name: Arc<str>,
    visitor: Option<SessionId>,
}

impl JobGroupId {
    /// The name that the producer has chosen.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// The group with this name of the visitor with this session.
    #[must_use]
    pub fn of_visitor(self, session: SessionId) -> Self {
        Self { visitor: Some(session), ..self }
    }

    /// The session of the visitor whose group it is.
    pub const fn visitor(&self) -> Option<SessionId> {
        self.visitor
    }
}

impl FromStr for JobGroupId {
    type Err = JobKeyError;

    fn from_str(text: &str) -> Result<Self, JobKeyError> {
        if is_job_key(text) { Ok(Self { name: text.into(), visitor: None }) } else { Err(JobKeyError) }
    }
}

/// As backends store it: the name, and behind a space, which no name contains, the session of the visitor.
impl From<JobGroupId> for String {
    fn from(group: JobGroupId) -> Self {
        group.visitor.map_or_else(|| group.name.to_string(), |session| format!("{} {session}", group.name))
    }
}

impl TryFrom<String> for JobGroupId {
    type Error = JobKeyError;

    fn try_from(stored: String) -> Result<Self, JobKeyError> {
        let Some((name, session)) = stored.split_once(' ') else { return stored.parse() };
        Ok(name.parse::<Self>()?.of_visitor(session.parse().map_err(|_| JobKeyError)?))
    }
}

impl fmt::Display for JobGroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Debug for JobGroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from(self.clone()))
    }
}

impl JobQueueId {
    /// Whether jobs of one group run in order (J1).
    pub fn is_fifo(&self) -> bool {
        self.0.ends_with(FIFO)
    }
}

/// One job: 14 random bytes, or a hash of its deduplication ID. Written as 23 digits of Crockford's base 32.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay, DeserializeFromStr)]
pub struct JobId([u8; JobId::SIZE]);

impl JobId {
    /// Size in bytes. The collision probability is that of [`SessionId`].
    pub const SIZE: usize = 14;
    /// Number of characters.
    pub const LENGTH: usize = (8 * Self::SIZE).div_ceil(5);

    /// A new random ID.
    pub fn random() -> Self {
        Self(*SessionId::random().as_bytes())
    }

    /// The ID of every job of a standard job queue with this deduplication ID; among the jobs of one session if visitors enqueue
    /// them.
    pub fn of_deduplication(job_queue: &JobQueueId, visitor: Option<SessionId>, id: &DeduplicationId) -> Self {
        // Neither name contains these bytes.
        let visitor = visitor.map(|session| [&[1], &session.as_bytes()[..]].concat()).unwrap_or_default();
        let digest = Sha256::new().chain_update(job_queue.as_str()).chain_update(visitor).chain_update([0]);
        let digest = digest.chain_update(id.as_str()).finalize();
        let mut bytes = [0; Self::SIZE];
        bytes.copy_from_slice(&digest[..Self::SIZE]);
        Self(bytes)
    }

    /// The ID of a code that a visitor quotes: `0NPWV1-MDQB2X-KF3Y0T-5DWZQ`. Case, separators and look-alikes are accepted.
    ///
    /// # Errors
    /// If it is no code of a job.
    pub fn from_code(code: &str) -> Result<Self, JobIdError> {
        let number = support_code::read(code, Self::LENGTH).filter(|number| number >> (8 * Self::SIZE) == 0);
        number.and_then(|number| number.to_be_bytes().last_chunk().copied()).map(Self).ok_or(JobIdError)
    }

    /// The ID with these bytes.
    pub const fn from_bytes(bytes: [u8; Self::SIZE]) -> Self {
        Self(bytes)
    }

    /// The bytes of the ID.
    pub const fn as_bytes(&self) -> &[u8; Self::SIZE] {
        &self.0
    }
}

impl FromStr for JobId {
    type Err = JobIdError;

    /// Only the written form: an ID is also a header and a key, so each has one spelling.
    fn from_str(text: &str) -> Result<Self, JobIdError> {
        let id = Self::from_code(text)?;
        if id.to_string() == text { Ok(id) } else { Err(JobIdError) }
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0.iter().fold(0, |number, byte| number << 8 | u128::from(*byte));
        f.write_str(&support_code::write(number, Self::LENGTH, Self::LENGTH))
    }
}

crate::id::debug_as_display!(JobId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_job_queue_decides_its_type() {
        for (good, is_fifo) in
            [("emails", false), ("Orders_2.fifo", true), ("fifo", false), ("a-fifo", false), (&"x".repeat(40), false)]
        {
            assert_eq!(good.parse::<JobQueueId>().unwrap().is_fifo(), is_fifo, "{good}");
        }
        assert!(format!("{}.fifo", "x".repeat(40)).parse::<JobQueueId>().is_ok());
        for bad in ["", ".fifo", "a.b", "a.fifo.fifo", "a b", "a/b", "ä", "a.FIFO", "{a}", &"x".repeat(41)] {
            assert_eq!(bad.parse::<JobQueueId>(), Err(JobQueueIdError), "{bad}");
        }
    }

    #[test]
    fn groups_are_printable_without_spaces() {
        for good in ["user-17", "a:b/c", "~", &"x".repeat(100)] {
            assert!(good.parse::<JobGroupId>().is_ok() && good.parse::<DeduplicationId>().is_ok(), "{good}");
        }
        for bad in ["", "a b", "a\n", "ä", "\u{7f}", &"x".repeat(101)] {
            assert_eq!(bad.parse::<JobGroupId>(), Err(JobKeyError), "{bad}");
        }
    }

    #[test]
    fn groups_of_visitors_are_their_own() {
        let [one, other] = [SessionId::random(), SessionId::random()];
        let group: JobGroupId = "user-17".parse().unwrap();
        let groups = [group.clone(), group.clone().of_visitor(one), group.clone().of_visitor(other)];
        for (at, group) in groups.iter().enumerate() {
            assert_eq!(
                (group.as_str(), group.to_string()),
                ("user-17", "user-17".to_owned()),
                "as the producer wrote it"
            );
            assert!(!groups[..at].contains(group), "{group:?}");
            let stored = serde_json::to_value(group).unwrap();
            assert_eq!(serde_json::from_value::<JobGroupId>(stored.clone()).unwrap(), *group, "{stored}");
            assert_eq!(stored.as_str().unwrap().parse::<JobGroupId>().is_ok(), group.visitor().is_none(), "{stored}");
        }
        for bad in ["", "a b", &format!(" {one}"), &format!("a {one} {one}")] {
            assert!(serde_json::from_value::<JobGroupId>(bad.into()).is_err(), "{bad}");
        }
    }

    #[test]
    fn job_id_has_one_spelling() {
        for id in [JobId::random(), JobId::from_bytes([0; 14]), JobId::from_bytes([0xff; 14])] {
            let text = id.to_string();
            assert_eq!((text.len(), text.parse::<JobId>().unwrap()), (23, id));
            assert!(text.bytes().all(|b| b.is_ascii_alphanumeric()), "{text}");
            let code = format!("{}-{}", &text[..6], &text[6..]);
            assert_eq!(code.parse::<JobId>(), Err(JobIdError));
            for code in [&text, &code, &code.to_lowercase(), &format!(" {code}")] {
                assert_eq!(JobId::from_code(code), Ok(id), "{code}");
            }
        }
        for bad in ["", "0NPWV1MDQB2XKF3Y0T5DWZ", "ZZZZZZZZZZZZZZZZZZZZZZZ"] {
            assert_eq!(JobId::from_code(bad), Err(JobIdError), "{bad}");
        }
        for bad in ["", "0NPWV1MDQB2XKF3Y0T5DWZ", "0npwv1mdqb2xkf3y0t5dwzq", "ZZZZZZZZZZZZZZZZZZZZZZZ", "../x"] {
            assert_eq!(bad.parse::<JobId>(), Err(JobIdError), "{bad}");
        }
    }

    #[test]
    fn deduplication_id_determines_the_job_id() {
        let of_visitor = |queue: &str, visitor, id: &str| {
            JobId::of_deduplication(&queue.parse().unwrap(), visitor, &id.parse().unwrap())
        };
        let of = |queue, id| of_visitor(queue, None, id);
        assert_eq!(of("emails", "1"), of("emails", "1"));
        assert_ne!(of("emails", "1"), of("emails", "2"));
        assert_ne!(of("emails", "1"), of("email", "s1"), "the names are kept apart");
        let [one, other] = [SessionId::random(), SessionId::random()].map(Some);
        assert_eq!(of_visitor("emails", one, "1"), of_visitor("emails", one, "1"));
        assert_ne!(of_visitor("emails", one, "1"), of_visitor("emails", other, "1"), "visitors are kept apart");
        assert_ne!(of_visitor("emails", one, "1"), of("emails", "1"));
    }
}

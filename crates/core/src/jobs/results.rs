//! What a job leaves behind: progress messages, and the response that completed it (J18).

use std::fmt;
use std::str::FromStr;

use serde::de::IgnoredAny;

use super::settings::JobQueueSettings;
use super::{HELD_RESPONSE_MAX, PROGRESS_MAX, RESULT_KEPT};
use crate::time::Micros;

/// The error for an invalid progress message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgressError {
    /// It is too long.
    #[error("must have at most {PROGRESS_MAX} bytes")]
    TooLong,
    /// It is not JSON.
    #[error("must be JSON: {0}")]
    InvalidJson(String),
}

/// What a handler says about the progress of a job: JSON text of at most [`PROGRESS_MAX`] bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct ProgressMessage(String);

impl ProgressMessage {
    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A stored message, which was checked when it was added.
    pub const fn of_stored(text: String) -> Self {
        Self(text)
    }
}

impl FromStr for ProgressMessage {
    type Err = ProgressError;

    fn from_str(text: &str) -> Result<Self, ProgressError> {
        if text.len() > PROGRESS_MAX {
            return Err(ProgressError::TooLong);
        }
        let checked = serde_json::from_str::<IgnoredAny>(text);
        checked.map_err(|error| ProgressError::InvalidJson(error.to_string()))?;
        Ok(Self(text.to_owned()))
    }
}

/// Messages can be personal, as payloads are (J19).
impl fmt::Debug for ProgressMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of progress", self.0.len())
    }
}

/// A progress message of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Its number, from 1.
    pub id: u64,
    /// When it was added.
    pub at: Micros,
    /// What it says.
    pub message: ProgressMessage,
}

/// What became of a progress message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressAdded {
    /// It is stored.
    Added,
    /// The lease is not the current one; nothing changed (J9).
    NotLeased,
    /// Progress and results of the job queue use up `max_bytes`; nothing changed.
    Full,
}

/// The response that completed a job.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct JobResponse {
    /// Its status.
    pub status: u16,
    /// Where it redirects to. Held orders only.
    pub location: Option<String>,
    /// Its headers, in a form that backends don't read. Held orders only.
    pub headers: Vec<u8>,
    /// The body, or its start.
    pub body: Vec<u8>,
}

impl JobResponse {
    /// What is kept of a response (J18): for a held order all of it up to [`HELD_RESPONSE_MAX`], since the visitor gets it;
    /// otherwise the status and the first [`RESULT_KEPT`] bytes of the body.
    #[must_use]
    pub fn kept(mut self, settings: &JobQueueSettings) -> Self {
        if settings.holds_orders() {
            self.body.truncate(HELD_RESPONSE_MAX);
        } else {
            self.location = None;
            self.headers = Vec::new();
            self.body.truncate(RESULT_KEPT);
        }
        self
    }

    /// The response without headers and body, as it remains after it was delivered.
    #[must_use]
    pub fn reduced(self) -> Self {
        Self { headers: Vec::new(), body: Vec::new(), ..self }
    }

    /// The body as text, without a last character that is cut; `None` if it is not text.
    pub fn text(&self) -> Option<&str> {
        match std::str::from_utf8(&self.body) {
            Ok(text) => Some(text),
            Err(error) if error.error_len().is_none() => std::str::from_utf8(&self.body[..error.valid_up_to()]).ok(),
            Err(_) => None,
        }
    }

    /// Size of headers and body in bytes.
    pub fn size(&self) -> u64 {
        (self.headers.len() + self.body.len()) as u64
    }
}

/// Responses never appear in logs (J19).
impl fmt::Debug for JobResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "response with status {}, {} bytes", self.status, self.size())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_json_of_limited_size() {
        assert_eq!("{\"step\":1}".parse::<ProgressMessage>().unwrap().as_str(), "{\"step\":1}");
        let error = "step 1".parse::<ProgressMessage>().unwrap_err().to_string();
        assert!(error.starts_with("must be JSON: expected value"), "{error}");
        let longest = format!("\"{}\"", "x".repeat(PROGRESS_MAX - 2));
        assert!(longest.parse::<ProgressMessage>().is_ok());
        assert_eq!(format!("{longest} ").parse::<ProgressMessage>(), Err(ProgressError::TooLong));
    }

    #[test]
    fn text_of_a_response_ends_with_a_whole_character() {
        let text =
            |body: &[u8]| JobResponse { body: body.to_vec(), ..JobResponse::default() }.text().map(str::to_owned);
        assert_eq!(text("für".as_bytes()), Some("für".to_owned()));
        assert_eq!(text(&"für".as_bytes()[..2]), Some("f".to_owned()));
        for binary in [&b"\x89PNG"[..], b"a\xffb", b"a\xc3b"] {
            assert_eq!(text(binary), None, "{binary:?}");
        }
    }
}

//! The maximum size of a function response: the complete JSON has a limit that depends on the event source.

use axum::body::HttpBody as _;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;

use crate::event::EventSource;
use crate::response::{FunctionResponse, base64_length, escaped_length};

/// Maximum size of a response to a load balancer, as JSON: 1 MB.
pub const LOAD_BALANCER_RESPONSE_MAX: usize = 1 << 20;
/// Maximum size of any function response, as JSON: 6 MB. Applies to HTTP APIs and function URLs.
pub const FUNCTION_RESPONSE_MAX: usize = 6 << 20;

/// The maximum size of a response to the event source; an extension of the requests of a function. A server that sends
/// its responses itself has no such limit.
#[derive(Debug, Clone, Copy)]
pub struct ResponseLimit {
    pub(crate) caller: EventSource,
}

/// Why a response cannot be returned.
#[derive(Debug, thiserror::Error)]
pub enum ResponseError {
    /// The response exceeds the limit.
    #[error("the response exceeds {limit} bytes as JSON")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
        /// The length of the body, if it was announced.
        announced: Option<u64>,
    },
    /// The body was interrupted.
    #[error("the response was interrupted")]
    Broken(#[source] axum::Error),
}

impl ResponseLimit {
    /// The limit of head and body together, as JSON, in bytes.
    pub const fn bytes(&self) -> usize {
        match self.caller {
            EventSource::LoadBalancer { .. } => LOAD_BALANCER_RESPONSE_MAX,
            EventSource::HttpApi => FUNCTION_RESPONSE_MAX,
        }
    }

    /// The limit in MiB.
    pub const fn mib(&self) -> u32 {
        (self.bytes() >> 20) as u32
    }

    /// Collects the body of a response. A body that is too large is dropped as soon as that is certain, so no more than
    /// the limit is ever in memory.
    ///
    /// # Errors
    /// The response is too large, or its body was interrupted.
    pub async fn collect(&self, response: Response) -> Result<Response<Bytes>, ResponseError> {
        let (head, mut body) = response.into_parts();
        let room = self.bytes().saturating_sub(FunctionResponse::of(self.caller, &head).length());
        let size = body.size_hint();
        let too_large = || ResponseError::TooLarge { limit: self.bytes(), announced: size.exact() };
        if size.lower() > room as u64 {
            return Err(too_large());
        }
        let mut collected = Collected::default();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(ResponseError::Broken)?.into_data() else { continue };
            collected.push(&data);
            if collected.encoded_length() > room {
                return Err(too_large());
            }
        }
        Ok(Response::from_parts(head, collected.bytes.freeze()))
    }
}

/// The body so far, and its minimum length in the response.
#[derive(Default)]
struct Collected {
    bytes: BytesMut,
    escaped: usize,
    /// Length of the part that is known to be text.
    text: usize,
    is_binary: bool,
}

impl Collected {
    fn push(&mut self, data: &[u8]) {
        self.bytes.extend_from_slice(data);
        self.escaped += escaped_length(data);
        if self.is_binary {
            return;
        }
        match std::str::from_utf8(&self.bytes[self.text..]) {
            Ok(text) => self.text += text.len(),
            Err(error) => {
                self.text += error.valid_up_to();
                self.is_binary = error.error_len().is_some();
            }
        }
    }

    /// Text is written as it is unless base64 is shorter; other bodies are always base64.
    fn encoded_length(&self) -> usize {
        let base64 = base64_length(self.bytes.len());
        if self.is_binary { base64 } else { self.escaped.min(base64) }
    }
}

//! Commands, and the reasons why one gets no reply.

use fred::error::{Error, ErrorKind};
use fred::types::{ClusterHash, Value};
use fred::util::redis_keyslot;
use vestibule_core::StoreError;

/// Whether a command may be sent again if its reply was lost with the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Idempotent: executing it twice has the same effect as once.
    Harmless,
    /// Non-idempotent: it must be executed at most once.
    Never,
}

/// A command to be sent.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) name: &'static str,
    pub(crate) key: Value,
    pub(crate) arguments: Vec<Value>,
    pub(crate) repeat: Repeat,
}

impl Request {
    /// A command whose first argument is its key.
    pub(crate) fn on_key(name: &'static str, arguments: Vec<Value>, repeat: Repeat) -> Self {
        Self { name, key: arguments.first().cloned().unwrap_or(Value::Null), arguments, repeat }
    }

    /// A harmless command for the same node, sent before a non-idempotent one to test the
    /// connection.
    pub(crate) fn ahead_of(request: &Self) -> Self {
        match request.key {
            Value::Null => Self::on_key("PING", Vec::new(), Repeat::Harmless),
            _ => Self::on_key("EXISTS", vec![request.key.clone()], Repeat::Harmless),
        }
    }

    /// The hash slot of the key.
    pub(crate) fn slot(&self) -> ClusterHash {
        self.key.as_bytes().map_or(ClusterHash::Random, |key| ClusterHash::Custom(redis_keyslot(key)))
    }
}

/// Why a command got no reply.
pub(crate) enum Failure {
    /// The server does not know the function.
    UnknownFunction,
    /// The server has the library already.
    LibraryExists,
    /// The server rejects the command: a key has another type, or the script failed.
    Refused(String),
    /// A temporary failure.
    Away(String),
    /// No reply in time, for this reason.
    Silent(&'static str),
}

impl Failure {
    /// Whether the server itself reported this in reply to the command.
    pub(crate) fn was_said(&self) -> bool {
        matches!(self, Self::UnknownFunction | Self::LibraryExists | Self::Refused(_))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let details = error.details();
        if details.starts_with("ERR Function not found") {
            Self::UnknownFunction
        } else if details.starts_with("ERR Library") && details.ends_with("already exists") {
            Self::LibraryExists
        } else if details.starts_with("ERR ") || details.starts_with("WRONGTYPE") {
            Self::Refused(details.to_owned())
        } else if *error.kind() == ErrorKind::Timeout {
            Self::Silent("no answer in time")
        } else {
            Self::Away(details.to_owned())
        }
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::UnknownFunction | Failure::LibraryExists => {
                Self::Unavailable("the server did not keep the functions".to_owned())
            }
            Failure::Refused(details) => Self::Corrupt(details),
            Failure::Away(details) => Self::Unavailable(details),
            Failure::Silent(reason) => Self::Unavailable(reason.to_owned()),
        }
    }
}

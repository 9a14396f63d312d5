//! A command as it is sent, and why no answer came.

use fred::error::{Error, ErrorKind};
use fred::types::{ClusterHash, Value};
use fred::util::redis_keyslot;
use vestibule_core::StoreError;

/// Whether a command whose answer was lost with the connection may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Doing it twice leaves the same behind as doing it once.
    Harmless,
    /// Doing it twice would be seen.
    Never,
}

/// A command as it is sent.
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

    /// What goes ahead of a command that must not be sent twice: it does nothing, on the same node.
    pub(crate) fn ahead_of(request: &Self) -> Self {
        match request.key {
            Value::Null => Self::on_key("PING", Vec::new(), Repeat::Harmless),
            _ => Self::on_key("EXISTS", vec![request.key.clone()], Repeat::Harmless),
        }
    }

    /// Where a cluster has the key.
    pub(crate) fn slot(&self) -> ClusterHash {
        self.key.as_bytes().map_or(ClusterHash::Random, |key| ClusterHash::Custom(redis_keyslot(key)))
    }
}

/// Why a command gave no answer.
pub(crate) enum Failure {
    /// The server does not know the function.
    UnknownFunction,
    /// The server has the library already.
    LibraryExists,
    /// The server refuses the command itself: its keys hold something else, or the script is at fault.
    Refused(String),
    /// It may work later.
    Away(String),
    /// Nothing came back in time, for this reason.
    Silent(&'static str),
}

impl Failure {
    /// Whether the server said so itself, as an answer to this very command.
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

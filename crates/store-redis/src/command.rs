//! Commands for Redis, and why one fails.

use std::fmt;

use bytes::Bytes;
use fred::error::{Error, ErrorKind};
use fred::types::{ClusterHash, Key, Value};
use fred::util::redis_keyslot;
use vestibule_core::{SessionId, StoreError};

use crate::library::{Function, LIBRARY};

/// Whether a command may be sent again if its reply was lost with the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retry {
    /// Executing it twice has the same effect as once.
    Safe,
    /// It must be executed at most once.
    Never,
}

/// A command to send.
#[derive(Clone)]
pub(crate) struct Command {
    pub(crate) name: &'static str,
    /// Its first key, which selects the node of a cluster; null for any node.
    pub(crate) key: Value,
    pub(crate) arguments: Vec<Value>,
    pub(crate) retry: Retry,
    /// The number of replicas that must have what it writes.
    pub(crate) replicas: u8,
}

impl Command {
    /// A command whose first argument is its key.
    pub(crate) fn new(name: &'static str, arguments: Vec<Value>, retry: Retry) -> Self {
        Self { name, key: arguments.first().cloned().unwrap_or(Value::Null), arguments, retry, replicas: 0 }
    }

    /// A call of a function of the library.
    pub(crate) fn call(
        function: &Function,
        keys: impl IntoIterator<Item = Key>,
        arguments: impl IntoIterator<Item = Value>,
        retry: Retry,
    ) -> Self {
        let keys: Vec<Value> = keys.into_iter().map(Value::from).collect();
        let key = keys.first().cloned().unwrap_or(Value::Null);
        let head = [Value::String(function.0.clone()), Value::String(keys.len().to_string().into())];
        let arguments = head.into_iter().chain(keys).chain(arguments).collect();
        Self { name: "FCALL", key, arguments, retry, replicas: 0 }
    }

    /// Reads these sections of `INFO`, from any node.
    pub(crate) fn info(sections: &[&'static str]) -> Self {
        let arguments = sections.iter().map(|section| Value::from_static_str(section)).collect();
        Self { name: "INFO", key: Value::Null, arguments, retry: Retry::Safe, replicas: 0 }
    }

    /// The same, confirmed by this number of replicas.
    pub(crate) fn confirmed_by(self, replicas: u8) -> Self {
        Self { replicas, ..self }
    }

    /// Loads the library on the node of this command.
    pub(crate) fn load_library(&self) -> Self {
        let arguments = vec![Value::from_static_str("LOAD"), Value::String(LIBRARY.source.clone())];
        Self { name: "FUNCTION", key: self.key.clone(), arguments, retry: Retry::Safe, replicas: 0 }
    }

    /// A harmless command for the node of this one, which shows that the connection works.
    pub(crate) fn probe(&self) -> Self {
        match self.key {
            Value::Null => Self::new("PING", Vec::new(), Retry::Safe),
            _ => Self::new("EXISTS", vec![self.key.clone()], Retry::Safe),
        }
    }

    /// The hash slot of the key; `None` for any node.
    pub(crate) fn slot(&self) -> Option<u16> {
        self.key.as_bytes().map(redis_keyslot)
    }

    pub(crate) fn cluster_hash(&self) -> ClusterHash {
        self.slot().map_or(ClusterHash::Random, ClusterHash::Custom)
    }
}

/// Error replies of a server that does not execute a command because of its own state, or of the permissions of its user. They come
/// before a function starts or at its first write, never after one.
const REFUSALS: [&str; 9] =
    ["OOM ", "READONLY ", "MISCONF ", "NOREPLICAS ", "LOADING ", "MASTERDOWN ", "CLUSTERDOWN ", "TRYAGAIN ", "NOPERM "];
/// Those of a replica, which another connection may replace by one to the primary.
const REPLICA_REFUSALS: [&str; 2] = ["READONLY ", "MASTERDOWN "];
/// Those of a cluster that does not serve the hash slot.
const CLUSTER_REFUSAL: &str = "CLUSTERDOWN ";
/// The error reply to a command that the server does not have. Its arguments follow, which may be personal data.
const UNKNOWN_COMMAND: &str = "ERR unknown command";

/// Why a command failed.
pub(crate) enum CommandError {
    /// The server does not know the function.
    UnknownFunction,
    /// The server has the library already.
    LibraryExists,
    /// The server rejects the command: a key has another type, or the function failed.
    Rejected(String),
    /// The server has not executed it, because of its own state: it is out of memory, or a replica, for example.
    Refused(String),
    /// A temporary failure.
    Unavailable(String),
    /// No reply in time, for this reason.
    Timeout(&'static str),
    /// The server has executed it, but too few replicas have confirmed it.
    Unconfirmed(String),
    /// It was certainly not sent, for this reason.
    NotSent(String),
}

impl CommandError {
    /// Whether the error is a reply of the server to the command. Another server may not refuse it.
    pub(crate) fn is_reply(&self) -> bool {
        matches!(self, Self::UnknownFunction | Self::LibraryExists | Self::Rejected(_) | Self::Unconfirmed(_))
    }

    /// Whether the command has certainly not been executed, and never will be.
    pub(crate) fn is_certain(&self) -> bool {
        matches!(self, Self::NotSent(_) | Self::Refused(_))
    }

    /// Whether a replica refuses the command.
    pub(crate) fn is_of_replica(&self) -> bool {
        matches!(self, Self::Refused(reason) if REPLICA_REFUSALS.iter().any(|prefix| reason.starts_with(prefix)))
    }

    /// Whether a cluster refuses all commands on the hash slot. The command may have been sent several times.
    pub(crate) fn is_of_cluster(&self) -> bool {
        matches!(self, Self::Refused(reason) | Self::Unavailable(reason) if reason.starts_with(CLUSTER_REFUSAL))
    }

    /// The same error of a command that was also sent in another way, and so may have been executed.
    pub(crate) fn after_another_send(self) -> Self {
        match self {
            Self::NotSent(reason) | Self::Refused(reason) => Self::Unavailable(reason),
            other => other,
        }
    }
}

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        let details = error.details();
        if details.starts_with("ERR Function not found") {
            Self::UnknownFunction
        } else if details.starts_with("ERR Library") && details.ends_with("already exists") {
            Self::LibraryExists
        } else if details.starts_with(UNKNOWN_COMMAND) {
            let command = details.split(", with args").next().unwrap_or(UNKNOWN_COMMAND);
            Self::Refused(format!("Redis 7.0 or Valkey 7.2 or newer is required: {command}"))
        } else if details.starts_with("ERR ") || details.starts_with("WRONGTYPE") {
            Self::Rejected(details.to_owned())
        } else if REFUSALS.iter().any(|prefix| details.starts_with(prefix)) {
            Self::Refused(details.to_owned())
        } else if *error.kind() == ErrorKind::Timeout {
            Self::Timeout("no reply in time")
        } else {
            Self::Unavailable(details.to_owned())
        }
    }
}

impl From<CommandError> for StoreError {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::UnknownFunction | CommandError::LibraryExists => {
                Self::Unavailable("the server does not keep the functions".to_owned())
            }
            CommandError::Rejected(details) => Self::Corrupt(details),
            CommandError::Refused(details) => Self::Refused(details),
            CommandError::Unavailable(details)
            | CommandError::Unconfirmed(details)
            | CommandError::NotSent(details) => Self::Unavailable(details),
            CommandError::Timeout(reason) => Self::Unavailable(reason.to_owned()),
        }
    }
}

/// An argument that is left out.
pub(crate) fn nothing() -> Value {
    Value::Bytes(Bytes::new())
}

/// An argument as text.
pub(crate) fn text(value: impl fmt::Display) -> Value {
    Value::String(format!("{value}").into())
}

/// A session as a member of a set.
pub(crate) fn member(session: SessionId) -> Value {
    Value::Bytes(Bytes::copy_from_slice(session.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(reply: &'static str) -> CommandError {
        Error::new(ErrorKind::Unknown, reply).into()
    }

    #[test]
    fn arguments_of_an_unknown_command_are_not_repeated() {
        let reply =
            "ERR unknown command 'FCALL', with args beginning with: 'put_document_1' '1' '{\"password\":\"x\"}' ";
        let error = StoreError::from(error_of(reply)).to_string();
        assert!(error.contains("Redis 7.0") && error.contains("'FCALL'") && !error.contains("password"), "{error}");
    }

    #[test]
    fn refusals_by_the_state_of_the_server_are_certain() {
        for prefix in REFUSALS {
            let error = Error::new(ErrorKind::Unknown, format!("{prefix}for a reason"));
            assert!(CommandError::from(error).is_certain(), "{prefix}");
        }
        assert!(error_of("READONLY You can't write against a read only replica.").is_of_replica());
        assert!(error_of("CLUSTERDOWN Hash slot not served").is_of_cluster());
        assert!(!error_of("BUSY Redis is busy running a script.").is_certain());
    }
}

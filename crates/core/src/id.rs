//! The names of things: tenants, queues, sessions. Each is checked once, where it enters the program.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Most bytes of a tenant's, queue's or theme's id.
pub const ID_MAX: usize = 63;

/// An id that is not one: says what an id looks like.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("takes 1 to {ID_MAX} characters a-z, 0-9 and -, the first and the last not a -")]
pub struct IdError;

fn is_id(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= ID_MAX
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                if is_id(text) { Ok(Self(text.into())) } else { Err(IdError) }
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.as_str().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// A client brand: `acme`.
    TenantId
}
id! {
    /// One waiting room: `acme-tour`. Part of store keys, cookie names and addresses, so its letters are few.
    QueueId
}
id! {
    /// A theme's folder: `acme-summer`.
    ThemeId
}

/// One visitor in one queue: a random UUID. It names a session and proves nothing; the signed ticket does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(Uuid);

impl SessionId {
    /// A new session. The one place that draws a random id.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place that draws a random id")]
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }

    /// The session that follows this one for the bearer of a ticket that is good no more. The same for every
    /// request that carries that ticket, so that a hundred open tabs become one new session.
    #[must_use]
    pub fn successor(self, signed_at_us: u64) -> Self {
        Self(Uuid::new_v5(&self.0, &signed_at_us.to_be_bytes()))
    }

    /// The session with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// The 16 bytes of the id, as stores keep them.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }
}

impl FromStr for SessionId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        text.parse().map(Self)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_holds_nothing_that_could_leave_its_key() {
        for good in ["a", "acme-tour", "9", &"x".repeat(63)] {
            assert!(good.parse::<QueueId>().is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a b", "a}b", "{a}", "a:b", "ä", "a/b", "..", &"x".repeat(64)] {
            assert_eq!(bad.parse::<QueueId>(), Err(IdError), "{bad}");
        }
    }

    #[test]
    fn a_successor_is_the_same_for_every_tab() {
        let session = SessionId::random();
        assert_eq!(session.successor(1), session.successor(1));
        assert_ne!(session.successor(1), session.successor(2));
        assert_ne!(session.successor(1), session);
    }
}

//! Identifiers of tenants, queues, themes and sessions. Each is validated once, where it enters the
//! program.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::fields::FieldErrorCode;

/// Maximum length of a tenant, queue, event, batch or theme id, in bytes.
pub const ID_MAX: usize = 63;
/// The two bytes of a random UUID that hold the version and variant, and their indexes. RFC 9562,
/// section 5.4.
const RANDOM_VERSION: u8 = 0x40;
const VERSION_AT: usize = 6;
const VARIANT: u8 = 0x80;
const VARIANT_AT: usize = 8;

/// The error for an invalid id. Its text describes the format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to {ID_MAX} characters a-z, 0-9 and -, not starting or ending with -")]
pub struct IdError;

fn is_id(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= ID_MAX
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Writes values for developers as for others.
macro_rules! debug_as_display {
    ($name:ty) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}
pub(crate) use debug_as_display;

/// Defines an ID: a checked text that is cheap to clone.
macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $is_valid:path, $error:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde_with::SerializeDisplay, serde_with::DeserializeFromStr)]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            /// The ID as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                if $is_valid(text) { Ok(Self(text.into())) } else { Err($error) }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        crate::id::debug_as_display!($name);
    };
}
pub(crate) use text_id;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        text_id! { $(#[$doc])* $name, is_id, IdError }
        crate::text_field! { $name: FieldErrorCode::Id, { "pattern": "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" }; }
    };
}

id! {
    /// The id of a tenant (a client brand): `acme`.
    TenantId
}
id! {
    /// The id of a queue: `acme-tour`. It is part of store keys, cookie names and URLs, so few
    /// characters are allowed.
    QueueId
}
id! {
    /// The id of an event of a queue: `spring-sale`.
    EventId
}
id! {
    /// The id of a batch of invitation codes: `fan-club`.
    BatchId
}
id! {
    /// The id of a schedule of a job queue: `stock-import`.
    ScheduleId
}
id! {
    /// The id of a theme and the name of its folder: `acme-summer`.
    ThemeId
}

/// One visitor in one queue: a random UUID, of which 14 of the 16 bytes hold all random bits. It
/// identifies a session and proves nothing; the signed ticket does.
///
/// A store holds each id several times. Allocators hand out memory in steps of 16 bytes, of which
/// the server needs two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Uuid", into = "Uuid")]
pub struct SessionId([u8; SessionId::SIZE]);

impl SessionId {
    /// Size of an id in stores, in bytes. It has 112 random bits: among a billion sessions, the
    /// probability of a collision is about 1 in 10^16.
    pub const SIZE: usize = 14;

    /// A new random session id. No other code generates one.
    #[expect(clippy::disallowed_methods, reason = "the one place that draws a random id")]
    pub fn random() -> Self {
        Uuid::new_v4().into()
    }

    /// The session id that replaces this one when a ticket is no longer valid. Every request with
    /// the same ticket gets the same id, so a hundred open tabs become one new session.
    #[must_use]
    pub fn successor(self, signed_at_us: u64) -> Self {
        Uuid::new_v5(&self.into(), &signed_at_us.to_be_bytes()).into()
    }

    /// The session with these bytes.
    pub const fn from_bytes(bytes: [u8; Self::SIZE]) -> Self {
        Self(bytes)
    }

    /// The bytes of the id, as stores keep them.
    pub const fn as_bytes(&self) -> &[u8; Self::SIZE] {
        &self.0
    }
}

/// Drops the version and variant bits; the random bits of those two bytes are kept elsewhere in the
/// id.
impl From<Uuid> for SessionId {
    fn from(uuid: Uuid) -> Self {
        let bytes = uuid.as_bytes();
        let mut kept = [0; Self::SIZE];
        kept[..VERSION_AT].copy_from_slice(&bytes[..VERSION_AT]);
        kept[VERSION_AT] = bytes[VERSION_AT + 1];
        kept[VARIANT_AT - 1..].copy_from_slice(&bytes[VARIANT_AT + 1..]);
        Self(kept)
    }
}

/// A UUID of version 4: `2b6e6c34-6dd6-402e-80cd-e3f03456f3f7`.
impl From<SessionId> for Uuid {
    fn from(session: SessionId) -> Self {
        let mut bytes = [0; 16];
        bytes[..VERSION_AT].copy_from_slice(&session.0[..VERSION_AT]);
        bytes[VERSION_AT + 1] = session.0[VERSION_AT];
        bytes[VARIANT_AT + 1..].copy_from_slice(&session.0[VARIANT_AT - 1..]);
        (bytes[VERSION_AT], bytes[VARIANT_AT]) = (RANDOM_VERSION, VARIANT);
        Self::from_bytes(bytes)
    }
}

impl FromStr for SessionId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        text.parse().map(Uuid::into)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Uuid::from(*self).hyphenated().fmt(f)
    }
}

debug_as_display!(SessionId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_contain_no_key_delimiters() {
        for good in ["a", "acme-tour", "9", &"x".repeat(63)] {
            assert!(good.parse::<QueueId>().is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a b", "a}b", "{a}", "a:b", "ä", "a/b", "..", &"x".repeat(64)] {
            assert_eq!(bad.parse::<QueueId>(), Err(IdError), "{bad}");
        }
    }

    #[test]
    fn successor_is_the_same_for_every_tab() {
        let session = SessionId::random();
        assert_eq!(session.successor(1), session.successor(1));
        assert_ne!(session.successor(1), session.successor(2));
        assert_ne!(session.successor(1), session);
    }

    #[test]
    fn session_id_round_trips_as_a_random_uuid() {
        for session in [SessionId::random(), SessionId::random().successor(1), SessionId::from_bytes([0xff; 14])] {
            let uuid: Uuid = session.to_string().parse().unwrap();
            assert_eq!((uuid.get_version_num(), uuid.get_variant()), (4, uuid::Variant::RFC4122), "{session}");
            assert_eq!(session.to_string().parse::<SessionId>().unwrap(), session);
            assert_eq!(serde_json::to_value(session).unwrap(), session.to_string());
            assert_eq!(serde_json::from_value::<SessionId>(session.to_string().into()).unwrap(), session);
        }
        assert_ne!(SessionId::random(), SessionId::random());
    }
}

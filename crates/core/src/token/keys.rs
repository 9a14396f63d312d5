//! Keys that sign tickets and passes, and those from which draws derive. Several keys may be valid at once and the first one signs, so
//! keys rotate without invalidating tickets: append the new key, roll out, move it to the front,
//! roll out, and remove the old key after the longest `hold_ttl`.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Maximum length of a key id.
const KID_MAX: usize = 32;
/// Maximum number of keys of one kind.
const KEYS_MAX: usize = 8;
/// Minimum length of a ticket key in bytes: that of its MAC (RFC 7518 section 3.2).
const TICKET_KEY_MIN: usize = 32;
/// Maximum length of a ticket key, in bytes.
const TICKET_KEY_MAX: usize = 128;
/// Length of a pass key in bytes: the seed of an Ed25519 key.
const PASS_KEY_LEN: usize = 32;
/// Length of a sale key in bytes.
pub(crate) const SALE_KEY_LEN: usize = 32;

/// An error in a list of keys. It reveals nothing about the keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The list is not of the form `kid:base64,kid:base64`.
    #[error("must be 1 to {KEYS_MAX} keys as kid:base64,kid:base64; entry {0} is not of that form")]
    Form(usize),
    /// A key is too short or too long.
    #[error(
        "key \"{0}\" has the wrong length: a ticket key has {TICKET_KEY_MIN} to {TICKET_KEY_MAX} bytes, a pass key {PASS_KEY_LEN}, a \
         sale key {SALE_KEY_LEN}"
    )]
    Length(String),
    /// Two keys have the same id.
    #[error("two keys are named \"{0}\"")]
    Twice(String),
}

/// A secret with its id. `Debug` prints the id only.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    pub(crate) kid: String,
    pub(crate) secret: Vec<u8>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.kid)
    }
}

/// Keys of one kind; the first one signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyList(Vec<Key>);

impl FromStr for KeyList {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let entries: Vec<&str> = text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect();
        if entries.is_empty() || entries.len() > KEYS_MAX {
            return Err(KeyError::Form(entries.len()));
        }
        let mut keys: Vec<Key> = Vec::new();
        for (index, entry) in entries.into_iter().enumerate() {
            let key = parse_key(entry).ok_or(KeyError::Form(index + 1))?;
            if keys.iter().any(|other| other.kid == key.kid) {
                return Err(KeyError::Twice(key.kid));
            }
            keys.push(key);
        }
        Ok(Self(keys))
    }
}

/// Whether this text can be the id of a key.
pub fn is_key_id(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=KID_MAX).contains(&text.len()) && text.bytes().all(plain)
}

fn parse_key(entry: &str) -> Option<Key> {
    let (kid, encoded) = entry.split_once(':')?;
    if !is_key_id(kid) {
        return None;
    }
    let encoded = encoded.trim_end_matches('=');
    let secret = URL_SAFE_NO_PAD.decode(encoded).or_else(|_| STANDARD_NO_PAD.decode(encoded)).ok()?;
    Some(Key { kid: kid.to_owned(), secret })
}

impl KeyList {
    /// A list with one new key of these random bytes.
    pub fn of_bytes(kid: &str, bytes: [u8; 32]) -> Self {
        Self(vec![Key { kid: kid.to_owned(), secret: bytes.to_vec() }])
    }

    /// The list as text, including secrets: for the state folder only.
    pub fn expose(&self) -> String {
        let entries: Vec<String> =
            self.0.iter().map(|key| format!("{}:{}", key.kid, URL_SAFE_NO_PAD.encode(&key.secret))).collect();
        entries.join(",")
    }

    /// The keys, the signing key first, if every key has a length between the bounds.
    pub(crate) fn checked(&self, least: usize, most: usize) -> Result<&[Key], KeyError> {
        match self.0.iter().find(|key| key.secret.len() < least || key.secret.len() > most) {
            Some(key) => Err(KeyError::Length(key.kid.clone())),
            None => Ok(&self.0),
        }
    }

    pub(crate) fn for_tickets(&self) -> Result<&[Key], KeyError> {
        self.checked(TICKET_KEY_MIN, TICKET_KEY_MAX)
    }

    pub(crate) fn for_sales(&self) -> Result<&[Key], KeyError> {
        self.checked(SALE_KEY_LEN, SALE_KEY_LEN)
    }

    pub(crate) fn for_passes(&self) -> Result<&[Key], KeyError> {
        self.checked(PASS_KEY_LEN, PASS_KEY_LEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_list_round_trips() {
        let list = KeyList::of_bytes("k1", [7; 32]);
        assert_eq!(list.expose().parse::<KeyList>().unwrap(), list);
        assert_eq!(format!("{list:?}"), "KeyList([Key(k1)])");
    }

    #[test]
    fn key_list_error_names_the_entry_without_the_secret() {
        assert_eq!("".parse::<KeyList>(), Err(KeyError::Form(0)));
        assert_eq!("a:AAAA,nonsense".parse::<KeyList>(), Err(KeyError::Form(2)));
        assert_eq!("a:AAAA,a:AAAA".parse::<KeyList>(), Err(KeyError::Twice("a".into())));
        let short: KeyList = "a:AAAA".parse().unwrap();
        assert_eq!(short.for_tickets(), Err(KeyError::Length("a".into())));
    }
}

//! Sale keys: the secrets from which draws and invitation codes derive.

use std::fmt;

use crate::draw::hmac;
use crate::fields::FieldWording;
use crate::token::SALE_KEY_LEN;
use crate::{EventId, KeyError, KeyList, Message, QueueId};

/// Digits that are added to the salt of a new draw.
pub(crate) const ADDED_SALT_LEN: usize = 16;

/// The secrets of a deployment from which its draws and invitation codes derive. `Debug` prints their ids only.
#[derive(Clone, Default)]
pub struct SaleKeys(Vec<(String, [u8; SALE_KEY_LEN])>);

impl fmt::Debug for SaleKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ids()).finish()
    }
}

impl SaleKeys {
    /// The sale keys of a list. New events use the first one.
    ///
    /// # Errors
    /// Returns an error for a key that does not have 32 bytes.
    pub fn new(keys: &KeyList) -> Result<Self, KeyError> {
        let keys = keys.for_sales()?.iter().map(|key| {
            let wrong = |_| KeyError::Length(key.kid.clone());
            Ok((key.kid.clone(), key.secret.as_slice().try_into().map_err(wrong)?))
        });
        Ok(Self(keys.collect::<Result<_, _>>()?))
    }

    /// The ids of the keys. New events use the first one.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(id, _)| id.as_str())
    }

    /// The id of the key of an event or a batch: the given one, that which is stored, or the first. Also whether it may be used: it
    /// is known here, or it stays as it is stored.
    pub(crate) fn choose(&self, given: Option<String>, stored: Option<&str>) -> (Option<String>, bool) {
        let key = given.or_else(|| stored.map(str::to_owned)).or_else(|| self.ids().next().map(str::to_owned));
        let may_be_used = key.as_deref().is_some_and(|key| self.key(key).is_some() || stored == Some(key));
        (key, may_be_used)
    }

    /// The fault of a key that may not be used; `none` if there are no keys.
    pub(crate) fn unknown(&self, none: FieldWording) -> Message {
        let known: Vec<&str> = self.ids().collect();
        if known.is_empty() { none.into() } else { FieldWording::UnknownSaleKey.with("known", known.join(", ")) }
    }

    /// The key with this id.
    pub(crate) fn key(&self, id: &str) -> Option<&[u8; SALE_KEY_LEN]> {
        self.0.iter().find(|(known, _)| known == id).map(|(_, key)| key)
    }

    /// All keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &[u8; SALE_KEY_LEN]> {
        self.0.iter().map(|(_, key)| key)
    }

    /// A salt that nobody can compute without the sale keys: 16 hexadecimal digits. The same for the same settings, so that a
    /// plan of a change and its execution agree. Empty without keys.
    pub(crate) fn salt(&self, queue: &QueueId, event: &EventId, given: &str, epoch: u64, revision: u64) -> String {
        let Some((_, key)) = self.0.first() else { return String::new() };
        let [queue, event] = [queue.as_str().as_bytes(), event.as_str().as_bytes()];
        let (epoch, revision) = (epoch.to_be_bytes(), revision.to_be_bytes());
        let named =
            [b"vestibule draw salt 1\0", queue, b"\0", event, b"\0", given.as_bytes(), b"\0", &epoch, &revision];
        hmac(key, &named).to_string().chars().take(ADDED_SALT_LEN).collect()
    }
}

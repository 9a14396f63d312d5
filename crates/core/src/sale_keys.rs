//! Sale keys: the secrets from which draws and invitation codes derive.

use std::fmt;

use crate::fields::FieldErrorCode;
use crate::token::SALE_KEY_LEN;
use crate::{KeyError, KeyList, Message};

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
    pub(crate) fn unknown(&self, none: FieldErrorCode) -> Message {
        let known: Vec<&str> = self.ids().collect();
        if known.is_empty() { none.into() } else { FieldErrorCode::UnknownSaleKey.with("known", known.join(", ")) }
    }

    /// The key with this id.
    pub(crate) fn key(&self, id: &str) -> Option<&[u8; SALE_KEY_LEN]> {
        self.0.iter().find(|(known, _)| known == id).map(|(_, key)| key)
    }

    /// All keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &[u8; SALE_KEY_LEN]> {
        self.0.iter().map(|(_, key)| key)
    }
}

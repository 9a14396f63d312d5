//! Accounts of a site (rule 24): a JWT that the site signed names the account of a visitor. An account has one session per queue.
//!
//! Nothing here does I/O. Keys come from the settings, or were fetched by the gate.

mod key_set;
mod verify;

pub use key_set::{InvalidKeySet, KEYS_MAX, KeySet};
pub use verify::{IdentityError, IdentityToken, LEEWAY, TOKEN_MAX};

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_with::{DeserializeFromStr, SerializeDisplay};
use sha2::{Digest as _, Sha256};

use crate::time::Micros;

/// Length of an account's code in bytes.
const CODE_LEN: usize = 16;

/// An account that a verified token names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Who signed the token.
    pub issuer: String,
    /// The account: the value of the claim that the settings name.
    pub subject: String,
    /// When the token expires.
    pub expires_at: Micros,
}

impl Account {
    /// The code that passes carry.
    pub fn code(&self) -> AccountCode {
        let digest = Sha256::new().chain_update(&self.issuer).chain_update([0]).chain_update(&self.subject).finalize();
        let mut code = [0; CODE_LEN];
        code.copy_from_slice(&digest[..CODE_LEN]);
        AccountCode(code)
    }
}

/// What a pass says of the account: the first 16 bytes of SHA-256(issuer, 0x00, account), in base64url. A site computes the same for
/// the user who is signed in, and compares.
#[derive(Clone, Copy, PartialEq, Eq, Hash, SerializeDisplay, DeserializeFromStr)]
pub struct AccountCode([u8; CODE_LEN]);

/// The error for a text that is not an [`AccountCode`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the code of an account is 16 bytes in base64url")]
pub struct NotAnAccountCode;

impl FromStr for AccountCode {
    type Err = NotAnAccountCode;

    fn from_str(text: &str) -> Result<Self, NotAnAccountCode> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| NotAnAccountCode)?;
        bytes.try_into().map(Self).map_err(|_| NotAnAccountCode)
    }
}

impl fmt::Display for AccountCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

crate::id::debug_as_display!(AccountCode);

#[cfg(test)]
mod tests;

#[cfg(test)]
mod code_tests {
    use super::*;

    #[test]
    fn code_of_an_account_is_a_digest() {
        let account = Account {
            issuer: "https://www.example.com".to_owned(),
            subject: "user-1".to_owned(),
            expires_at: Micros(0),
        };
        // printf 'https://www.example.com\0user-1' | sha256sum | xxd -r -p | head -c 16 | basenc --base64url
        assert_eq!(account.code().to_string(), "64588pHZiP_8WWnErylZ5g");
        assert_eq!(account.code().to_string().parse(), Ok(account.code()));
        assert!("CODE".parse::<AccountCode>().is_err());
    }
}

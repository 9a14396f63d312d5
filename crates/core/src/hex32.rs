//! 32 bytes as hexadecimal digits.

use std::fmt;
use std::str::FromStr;

use hex::FromHex as _;
use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::fields::FieldErrorCode as Code;

/// 32 bytes, written as 64 lowercase hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, SerializeDisplay, DeserializeFromStr)]
pub struct Hex32(pub [u8; 32]);

/// The error for a text that is not 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be 64 hexadecimal digits")]
pub struct NotHex32;

crate::text_field! { Hex32: Code::Hex32, { "pattern": "^[0-9a-fA-F]{64}$" }; }

impl fmt::Display for Hex32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

crate::id::debug_as_display!(Hex32);

impl FromStr for Hex32 {
    type Err = NotHex32;

    fn from_str(text: &str) -> Result<Self, NotHex32> {
        <[u8; 32]>::from_hex(text).map(Self).map_err(|_| NotHex32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_values_are_read_strictly() {
        let text = "58634f96a38bcb2b841e4cc0cbc451f68ca0aae969d79db2e5f60e068012f90d";
        assert_eq!(text.parse::<Hex32>().unwrap().to_string(), text);
        for wrong in ["", "58", &format!("+8{}", &text[2..]), &format!("{text}00"), &format!("{}é", &text[2..])] {
            assert_eq!(wrong.parse::<Hex32>(), Err(NotHex32), "{wrong}");
        }
    }
}

//! Names of operators.

use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::codes::{Code, NAME_FORMAT};

/// Maximum length of a name.
const NAME_MAX: usize = 63;

/// The name that an operator signs in with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay, DeserializeFromStr)]
pub(crate) struct OperatorName(String);

impl OperatorName {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

vestibule_core::text_field! { OperatorName: Code::OperatorName, { "pattern": "^[a-z0-9][a-z0-9._@-]{0,62}$" }; }

impl FromStr for OperatorName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._@-".contains(&byte);
        let begins = text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
        let fits = begins && text.len() <= NAME_MAX && text.bytes().all(plain);
        if fits { Ok(Self(text.to_owned())) } else { Err(NAME_FORMAT) }
    }
}

impl fmt::Display for OperatorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

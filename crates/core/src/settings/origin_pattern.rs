//! Allowed origins of a tenant.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::host::is_subdomain_of;
use super::origin::{InvalidOrigin, Origin};
use crate::fields::FieldWording as W;

/// An allowed origin: `https://www.example.com`, or `https://*.example.com` for every subdomain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum OriginPattern {
    /// Exactly this origin.
    Exact(Origin),
    /// Every origin of this scheme and port whose host is a subdomain of this one.
    Below(Origin),
}

crate::text_field! { OriginPattern: W::OriginPattern, { "maxLength": 512 }; }

impl FromStr for OriginPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = match text.split_once("://*.") {
            Some((scheme, rest)) => format!("{scheme}://{rest}").parse().map(Self::Below),
            None => text.parse().map(Self::Exact),
        };
        parsed.map_err(|InvalidOrigin| format!("not an origin: \"{text}\""))
    }
}

impl TryFrom<String> for OriginPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<OriginPattern> for String {
    fn from(pattern: OriginPattern) -> Self {
        pattern.to_string()
    }
}

impl fmt::Display for OriginPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(origin) => origin.fmt(f),
            Self::Below(origin) => f.write_str(&origin.to_string().replacen("://", "://*.", 1)),
        }
    }
}

impl OriginPattern {
    pub(super) fn matches(&self, origin: &Origin) -> bool {
        match self {
            Self::Exact(own) => own == origin,
            Self::Below(own) => own.with_host(origin.host()) == *origin && is_subdomain_of(origin.host(), own.host()),
        }
    }
}

//! URLs in settings.

use std::fmt;
use std::str::FromStr;

use super::origin::Origin;

/// Maximum length of a URL in bytes.
const URL_MAX: usize = 1024;

/// An absolute URL: its origin and the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AbsoluteUrl {
    origin: Origin,
    /// From the slash on; empty if the URL has no path.
    rest: String,
}

impl AbsoluteUrl {
    /// Its origin.
    pub(crate) const fn origin(&self) -> &Origin {
        &self.origin
    }
}

impl FromStr for AbsoluteUrl {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`#".contains(&byte);
        if text.len() > URL_MAX || !text.bytes().all(is_plain) {
            return Err(());
        }
        let start = text.find("://").ok_or(())? + "://".len();
        let end = text[start..].find(['/', '?']).map_or(text.len(), |at| start + at);
        let (origin, rest) = text.split_at(end);
        if rest.starts_with('?') {
            return Err(());
        }
        Ok(Self { origin: origin.parse().map_err(|_| ())?, rest: rest.to_owned() })
    }
}

impl fmt::Display for AbsoluteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.rest)
    }
}

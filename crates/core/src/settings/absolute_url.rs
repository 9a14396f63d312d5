//! URLs in settings.

use std::fmt;
use std::str::FromStr;

use super::origin::Origin;

/// Defines a kind of [`AbsoluteUrl`] for a field: what is accepted, and an additional check of URL and text.
macro_rules! url_kind {
    ($($(#[$doc:meta])* $name:ident: $expected:expr $(, $check:path)?;)+) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name($crate::settings::AbsoluteUrl);

        $crate::text_field! { $name: $expected, { "maxLength": 1024 }; }

        impl $name {
            /// Its origin.
            pub const fn origin(&self) -> &$crate::settings::Origin {
                self.0.origin()
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                let url: $crate::settings::AbsoluteUrl = text.parse()?;
                $(if !$check(&url, text) {
                    return Err(());
                })?
                Ok(Self(url))
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )+ };
}

pub(crate) use url_kind;

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

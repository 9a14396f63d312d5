//! The content types that visitors can enqueue.

use std::fmt;
use std::str::FromStr;

use crate::content_type::{JSON, media_type};
use crate::fields::FieldErrorCode;

/// Maximum length of a media type.
const MEDIA_TYPE_MAX: usize = 100;
/// Another name of the media type of HTML forms, which some clients send.
const FORM_ALIAS: &str = "application/www-form-urlencoded";
const FORM: &str = "application/x-www-form-urlencoded";

/// A media type without parameters, in lower case: `application/json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaType(String);

crate::text_field! { MediaType: FieldErrorCode::MediaType, { "maxLength": MEDIA_TYPE_MAX }; }

impl MediaType {
    /// `application/json`.
    pub fn json() -> Self {
        Self(JSON.to_owned())
    }

    /// The media type of a `Content-Type`.
    pub fn of_header(content_type: &str) -> Option<Self> {
        media_type(content_type).parse().ok()
    }
}

impl FromStr for MediaType {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_token = |part: &str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b))
        };
        let (kind, subtype) = text.split_once('/').ok_or(())?;
        if text.len() > MEDIA_TYPE_MAX || !is_token(kind) || !is_token(subtype) {
            return Err(());
        }
        let name = text.to_ascii_lowercase();
        Ok(Self(if name == FORM_ALIAS { FORM.to_owned() } else { name }))
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

//! Names and values of headers and cookies, and limits of conditions.

use crate::fields::FieldErrorCode as Code;

/// Maximum length of a header or cookie text, and of a path glob, in bytes.
pub(super) const TEXT_MAX: usize = 512;
/// Maximum number of alternatives per condition.
pub(super) const ALTERNATIVES_MAX: usize = 100;

crate::text_kind! {
    /// A name or value of a header or cookie.
    pub ValueText: Code::ValueText.with("most", TEXT_MAX), { "minLength": 1 }, |text| {
        (!text.is_empty() && text.len() <= TEXT_MAX).then(|| text.to_owned())
    };
}

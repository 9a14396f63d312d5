//! Names shown to visitors.

use crate::fields::FieldErrorCode as Code;

/// Maximum length of a name shown to visitors, in characters.
pub const NAME_MAX: usize = 120;

/// Placeholder in the names of queues and tenants for the host that the visitor requested.
pub const HOST_GAP: &str = "{host}";

crate::text_kind! {
    /// A name shown to visitors.
    pub Name: Code::Name, { "minLength": 1, "maxLength": NAME_MAX }, parse_name;
}

/// A name shown to visitors, if the text is one.
pub fn parse_name(text: &str) -> Option<String> {
    let text = text.trim();
    let fits = !text.is_empty() && text.chars().count() <= NAME_MAX && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
}

//! The `Content-Type` of HTTP messages.

/// The media type of JSON.
pub const JSON: &str = "application/json";

/// The media type of a `Content-Type`, without parameters and in lower case.
pub fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

//! The path of the API.

/// Path prefix of the API.
pub(crate) const PREFIX: &str = "/api/v1";

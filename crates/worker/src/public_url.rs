//! Where handlers reach the gate.

use std::str::FromStr;

use vestibule_core::settings::Origin;

/// The error for an invalid address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be a scheme, host and port without a path, such as https://tickets.example.com")]
pub struct InvalidPublicUrl;

/// Scheme, host and port of the gate, for the addresses at which handlers report progress (`VESTIBULE_PUBLIC_URL`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl(String);

impl PublicUrl {
    /// The address, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PublicUrl {
    type Err = InvalidPublicUrl;

    fn from_str(text: &str) -> Result<Self, InvalidPublicUrl> {
        text.parse::<Origin>().map(|origin| Self(origin.to_string())).map_err(|_| InvalidPublicUrl)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_has_no_path() {
        for good in ["https://tickets.example.com", "http://127.0.0.1:8080"] {
            assert_eq!(good.parse::<PublicUrl>().unwrap().as_str(), good);
        }
        for bad in ["", "tickets.example.com", "https://tickets.example.com/a", "ftp://x", "https://x?y"] {
            assert_eq!(bad.parse::<PublicUrl>(), Err(InvalidPublicUrl), "{bad}");
        }
    }
}

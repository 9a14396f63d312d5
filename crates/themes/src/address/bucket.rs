//! The address of themes in a bucket.

use std::fmt;
use std::str::FromStr;

use super::{S3_SCHEME, ThemesAddressError};
use crate::asset::is_safe_path;

/// Length of a bucket's name in bytes, as S3 allows it.
const BUCKET_LENGTH: std::ops::RangeInclusive<usize> = 3..=63;

/// `s3://bucket/prefix`: themes are at `prefix/<theme>/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketAddress {
    bucket: String,
    /// Without `/` at either end; empty where themes are at the top.
    prefix: String,
}

impl FromStr for BucketAddress {
    type Err = ThemesAddressError;

    fn from_str(text: &str) -> Result<Self, ThemesAddressError> {
        let rest = text.strip_prefix(S3_SCHEME).ok_or(ThemesAddressError::Scheme)?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if !is_bucket(bucket) {
            return Err(ThemesAddressError::Bucket);
        }
        let prefix = prefix.trim_end_matches('/');
        if !prefix.is_empty() && !is_safe_path(prefix) {
            return Err(ThemesAddressError::Prefix);
        }
        Ok(Self { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }
}

/// Whether S3 allows the name; whether the bucket exists shows with the first request.
fn is_bucket(name: &str) -> bool {
    let letters = |part: &str| part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let part = |part: &str| !part.is_empty() && !part.starts_with('-') && !part.ends_with('-') && letters(part);
    BUCKET_LENGTH.contains(&name.len()) && name.split('.').all(part)
}

impl BucketAddress {
    /// The bucket's name.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// The key of a path.
    pub(crate) fn key_of(&self, path: &str) -> String {
        if self.prefix.is_empty() { path.to_owned() } else { format!("{}/{path}", self.prefix) }
    }
}

impl fmt::Display for BucketAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{S3_SCHEME}{}", self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_bucket_and_a_key_prefix() {
        for (text, shown, prefix) in [
            ("s3://acme-pages/themes", "s3://acme-pages/themes", "themes/acme/"),
            ("s3://acme-pages/a/b//", "s3://acme-pages/a/b", "a/b/acme/"),
            ("s3://acme.pages.eu/", "s3://acme.pages.eu", "acme/"),
            ("s3://abc", "s3://abc", "acme/"),
        ] {
            let address: BucketAddress = text.parse().unwrap();
            assert_eq!((address.to_string().as_str(), address.key_of("acme/").as_str()), (shown, prefix));
        }
    }

    #[test]
    fn invalid_bucket_addresses_are_refused() {
        for text in
            ["s3://", "s3:///themes", "s3://ab", "s3://Acme/x", "s3://a_b_c/x", "s3://-abc", "s3://abc-", "s3://a..b"]
        {
            assert_eq!(text.parse::<BucketAddress>(), Err(ThemesAddressError::Bucket), "{text}");
        }
        assert_eq!(format!("s3://{}", "a".repeat(64)).parse::<BucketAddress>(), Err(ThemesAddressError::Bucket));
        for text in ["s3://abc//x", "s3://abc/../x", "s3://abc/a//b", "s3://abc/a\u{7}b"] {
            assert_eq!(text.parse::<BucketAddress>(), Err(ThemesAddressError::Prefix), "{text}");
        }
    }
}

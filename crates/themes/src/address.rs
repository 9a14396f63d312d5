//! Where themes are: the text of `VESTIBULE_THEMES`, read.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::asset::is_safe_path;

const SCHEME: &str = "s3://";
/// Bytes of a bucket's name, as S3 has it.
const BUCKET_LENGTH: std::ops::RangeInclusive<usize> = 3..=63;

/// A place with themes in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThemesAddress {
    /// A folder with one sub-folder for each theme.
    Folder(PathBuf),
    /// A bucket of S3, alike.
    Bucket(BucketAddress),
}

/// `s3://bucket/prefix`: themes are at `prefix/<theme>/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketAddress {
    bucket: String,
    /// Without `/` at either end; empty where themes are at the top.
    prefix: String,
}

/// What is wrong with an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThemesAddressError {
    /// An address of another kind.
    #[error("takes a folder of themes or s3://bucket/prefix")]
    Scheme,
    /// No name of a bucket.
    #[error("names no bucket: between s3:// and the next / stand 3 to 63 of a-z, 0-9, - and .")]
    Bucket,
    /// A prefix that objects can't be found by.
    #[error(
        "has a prefix with an empty part, one that begins with a dot, or a character that is none of a file's name"
    )]
    Prefix,
}

impl FromStr for ThemesAddress {
    type Err = ThemesAddressError;

    fn from_str(text: &str) -> Result<Self, ThemesAddressError> {
        if text.starts_with(SCHEME) {
            return text.parse().map(Self::Bucket);
        }
        if text.is_empty() || text.contains("://") || text.starts_with("s3:") {
            return Err(ThemesAddressError::Scheme);
        }
        Ok(Self::Folder(text.into()))
    }
}

impl FromStr for BucketAddress {
    type Err = ThemesAddressError;

    fn from_str(text: &str) -> Result<Self, ThemesAddressError> {
        let rest = text.strip_prefix(SCHEME).ok_or(ThemesAddressError::Scheme)?;
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

/// The letters that S3 takes; whether the bucket is there shows when it is asked.
fn is_bucket(name: &str) -> bool {
    let letters = |part: &str| part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let part = |part: &str| !part.is_empty() && !part.starts_with('-') && !part.ends_with('-') && letters(part);
    BUCKET_LENGTH.contains(&name.len()) && name.split('.').all(part)
}

impl BucketAddress {
    /// The bucket's name.
    #[must_use]
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// What the keys of a theme's files begin with.
    pub(crate) fn prefix_of(&self, theme: &str) -> String {
        self.key_of(theme) + "/"
    }

    /// The key of a path at this place.
    pub(crate) fn key_of(&self, path: &str) -> String {
        if self.prefix.is_empty() { path.to_owned() } else { format!("{}/{path}", self.prefix) }
    }
}

impl fmt::Display for BucketAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_and_what_its_keys_begin_with() {
        for (text, shown, prefix) in [
            ("s3://acme-pages/themes", "s3://acme-pages/themes", "themes/acme/"),
            ("s3://acme-pages/a/b//", "s3://acme-pages/a/b", "a/b/acme/"),
            ("s3://acme.pages.eu/", "s3://acme.pages.eu", "acme/"),
            ("s3://abc", "s3://abc", "acme/"),
        ] {
            let Ok(ThemesAddress::Bucket(address)) = text.parse() else { panic!("{text}") };
            assert_eq!((address.to_string().as_str(), address.prefix_of("acme").as_str()), (shown, prefix));
        }
    }

    #[test]
    fn whatever_is_no_address_is_refused() {
        for text in
            ["s3://", "s3:///themes", "s3://ab", "s3://Acme/x", "s3://a_b_c/x", "s3://-abc", "s3://abc-", "s3://a..b"]
        {
            assert_eq!(text.parse::<ThemesAddress>(), Err(ThemesAddressError::Bucket), "{text}");
        }
        assert_eq!(format!("s3://{}", "a".repeat(64)).parse::<ThemesAddress>(), Err(ThemesAddressError::Bucket));
        for text in ["s3://abc//x", "s3://abc/../x", "s3://abc/a//b", "s3://abc/a\u{7}b"] {
            assert_eq!(text.parse::<ThemesAddress>(), Err(ThemesAddressError::Prefix), "{text}");
        }
        for text in ["", "https://abc.s3.amazonaws.com/x", "S3://abc", "s3:/abc", "s3:abc"] {
            assert_eq!(text.parse::<ThemesAddress>(), Err(ThemesAddressError::Scheme), "{text}");
        }
    }

    #[test]
    fn everything_else_is_a_folder() {
        for text in ["themes", "/srv/themes", "./a b", "s3"] {
            assert_eq!(text.parse(), Ok(ThemesAddress::Folder(text.into())));
        }
    }
}

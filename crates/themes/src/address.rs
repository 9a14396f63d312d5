//! The address of themes, as `VESTIBULE_THEMES` gives it.

#[cfg(feature = "s3")]
mod bucket;

use std::path::PathBuf;
use std::str::FromStr;

#[cfg(feature = "s3")]
pub use self::bucket::BucketAddress;

const S3_SCHEME: &str = "s3://";

/// Where themes are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThemesAddress {
    /// A folder with one sub-folder for each theme.
    Folder(PathBuf),
    /// An S3 bucket with the same layout.
    #[cfg(feature = "s3")]
    Bucket(BucketAddress),
}

/// Why an address is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThemesAddressError {
    /// Neither a folder nor a bucket.
    #[error("must be a folder or s3://bucket/prefix")]
    Scheme,
    /// Not a bucket's name.
    #[error("has an invalid bucket name: 3 to 63 characters of a-z, 0-9, - and . after s3://")]
    Bucket,
    /// A prefix that is not a path.
    #[error("has an invalid prefix: no part may be empty, begin with a dot or contain a control character, \\ or :")]
    Prefix,
    /// A bucket, in a build without the feature `s3`.
    #[error("must be a folder; this build has no support for S3")]
    NoS3,
}

impl FromStr for ThemesAddress {
    type Err = ThemesAddressError;

    fn from_str(text: &str) -> Result<Self, ThemesAddressError> {
        if text.starts_with(S3_SCHEME) {
            #[cfg(feature = "s3")]
            return text.parse().map(Self::Bucket);
            #[cfg(not(feature = "s3"))]
            return Err(ThemesAddressError::NoS3);
        }
        if text.is_empty() || text.contains("://") || text.starts_with("s3:") {
            return Err(ThemesAddressError::Scheme);
        }
        Ok(Self::Folder(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_schemes_are_refused() {
        for text in ["", "https://abc.s3.amazonaws.com/x", "S3://abc", "s3:/abc", "s3:abc"] {
            assert_eq!(text.parse::<ThemesAddress>(), Err(ThemesAddressError::Scheme), "{text}");
        }
    }

    #[test]
    #[cfg(not(feature = "s3"))]
    fn a_build_without_s3_refuses_buckets() {
        assert_eq!("s3://acme/themes".parse::<ThemesAddress>(), Err(ThemesAddressError::NoS3));
    }

    #[test]
    fn any_other_text_is_a_folder() {
        for text in ["themes", "/srv/themes", "./a b", "s3"] {
            assert_eq!(text.parse(), Ok(ThemesAddress::Folder(text.into())));
        }
    }
}

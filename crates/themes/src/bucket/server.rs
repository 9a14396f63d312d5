//! Which server has a bucket, and how its objects are named there.

use std::fmt;

use crate::source::SourceError;

/// Region of a server that has none.
const REGION_OF_NONE: &str = "us-east-1";

/// A server of S3 that is not the environment's: where, and the keys to it.
#[derive(Clone)]
pub struct S3Server {
    /// `http://127.0.0.1:9000`.
    pub endpoint: String,
    /// `us-east-1` where a server has none.
    pub region: String,
    /// Which key.
    pub access_key: String,
    /// The key itself.
    pub secret_key: String,
}

impl fmt::Debug for S3Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Server")
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .finish_non_exhaustive()
    }
}

/// Where a bucket is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// What every address begins with; a `/` and the key follow.
    pub(super) base: String,
    pub(super) region: String,
    /// It is no server of AWS's own.
    pub(super) foreign: bool,
}

impl Place {
    /// By the usual variables of AWS, unless a server is named.
    pub(super) fn of(
        bucket: &str,
        server: Option<&S3Server>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, SourceError> {
        if let Some(server) = server {
            return Ok(Self::at(&server.endpoint, bucket, server.region.clone()));
        }
        let variable = |names: [&str; 2]| names.into_iter().filter_map(&variable).find(|value| !value.is_empty());
        let region = variable(["AWS_REGION", "AWS_DEFAULT_REGION"]);
        match (variable(["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]), region) {
            (Some(endpoint), region) => {
                Ok(Self::at(&endpoint, bucket, region.unwrap_or_else(|| REGION_OF_NONE.to_owned())))
            }
            (None, Some(region)) => Ok(Self::of_aws(bucket, region)),
            (None, None) => Err(SourceError::Away("set AWS_REGION to the region of the bucket".to_owned())),
        }
    }

    /// Servers other than AWS's own seldom have a host's name for every bucket: there it stands in the path.
    fn at(endpoint: &str, bucket: &str, region: String) -> Self {
        Self { base: format!("{}/{bucket}", endpoint.trim_end_matches('/')), region, foreign: true }
    }

    /// A certificate is for one more name before the domain, so a bucket with a dot in its own stands in the path too.
    fn of_aws(name: &str, region: String) -> Self {
        let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        let base = if name.contains('.') {
            format!("https://s3.{region}.{domain}/{name}")
        } else {
            format!("https://{name}.s3.{region}.{domain}")
        };
        Self { base, region, foreign: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(bucket: &str, variables: &[(&str, &str)]) -> Result<Place, SourceError> {
        let find =
            |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned());
        Place::of(bucket, None, find)
    }

    #[test]
    fn the_environment_says_where_a_bucket_is() {
        for (bucket, variables, base, region) in [
            ("acme", &[("AWS_REGION", "eu-west-1")][..], "https://acme.s3.eu-west-1.amazonaws.com", "eu-west-1"),
            (
                "acme",
                &[("AWS_DEFAULT_REGION", "cn-north-1")],
                "https://acme.s3.cn-north-1.amazonaws.com.cn",
                "cn-north-1",
            ),
            (
                "acme",
                &[("AWS_REGION", "eu-west-1"), ("AWS_DEFAULT_REGION", "us-west-2"), ("AWS_ENDPOINT_URL_S3", "")],
                "https://acme.s3.eu-west-1.amazonaws.com",
                "eu-west-1",
            ),
            (
                "acme.pages",
                &[("AWS_REGION", "eu-west-1")],
                "https://s3.eu-west-1.amazonaws.com/acme.pages",
                "eu-west-1",
            ),
            ("acme", &[("AWS_ENDPOINT_URL", "http://minio:9000/")], "http://minio:9000/acme", "us-east-1"),
            (
                "acme",
                &[
                    ("AWS_ENDPOINT_URL", "http://all"),
                    ("AWS_ENDPOINT_URL_S3", "http://s3"),
                    ("AWS_REGION", "eu-west-1"),
                ],
                "http://s3/acme",
                "eu-west-1",
            ),
        ] {
            let found = place(bucket, variables).unwrap();
            assert_eq!((found.base.as_str(), found.region.as_str()), (base, region));
            assert_eq!(found.foreign, variables.iter().any(|(name, url)| name.contains("ENDPOINT") && !url.is_empty()));
        }
    }

    #[test]
    fn without_a_region_the_variable_is_named() {
        assert!(place("acme", &[]).unwrap_err().to_string().contains("AWS_REGION"));
    }
}

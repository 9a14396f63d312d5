//! How S3 is reached: region, credentials and endpoint from the usual AWS environment.

use std::fmt;
use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, ConfigLoader, Region, SdkConfig};
use aws_sdk_s3::Client;
use aws_sdk_s3::config::{Builder, Credentials};
use aws_smithy_http_client::tls;

use crate::awake::AwakeSleep;

const CONNECT_MAX: Duration = Duration::from_secs(1);
/// From the request to the first byte of the answer.
const FIRST_BYTE_MAX: Duration = Duration::from_secs(2);
/// One try, and all tries of one request together.
const TRY_MAX: Duration = Duration::from_secs(3);
const REQUEST_MAX: Duration = Duration::from_secs(5);
const TRIES_MAX: u32 = 2;
/// Between two tries.
const PAUSE_MAX: Duration = Duration::from_millis(200);

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

/// Reads the configuration. Nothing is asked of S3 yet.
pub(super) async fn connect(server: Option<&S3Server>) -> Client {
    let config = match server {
        Some(server) => loader()
            .credentials_provider(credentials(server))
            .endpoint_url(&server.endpoint)
            .region(Region::new(server.region.clone())),
        None => loader(),
    };
    let config = config.load().await;
    let by_path = by_path(&config);
    Client::from_conf(Builder::from(&config).force_path_style(by_path).build())
}

fn loader() -> ConfigLoader {
    let ring = tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring);
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT_MAX)
        .read_timeout(FIRST_BYTE_MAX)
        .operation_attempt_timeout(TRY_MAX)
        .operation_timeout(REQUEST_MAX);
    aws_config::defaults(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().tls_provider(ring).build_https())
        .timeout_config(timeouts.build())
        .retry_config(RetryConfig::standard().with_max_attempts(TRIES_MAX).with_initial_backoff(PAUSE_MAX))
        .sleep_impl(AwakeSleep)
        // It would take a freeze for a stream that stands still; `CONTENT_MAX` does not.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
}

fn credentials(server: &S3Server) -> Credentials {
    Credentials::new(&server.access_key, &server.secret_key, None, None, "vestibule")
}

/// Whether buckets stand in the path and not in the host's name: there is no variable for it, and servers other than
/// AWS's own seldom have a host's name for every bucket.
fn by_path(config: &SdkConfig) -> bool {
    config.endpoint_url().is_some() || std::env::var_os("AWS_ENDPOINT_URL_S3").is_some_and(|url| !url.is_empty())
}

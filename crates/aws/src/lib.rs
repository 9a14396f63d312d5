#![doc = include_str!("../README.md")]

use std::fmt;
use std::time::Duration;

use aws_config::BehaviorVersion;
use aws_config::environment::EnvironmentVariableRegionProvider;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::ProfileFileRegionProvider;
use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::timeout::TimeoutConfig;
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_async::rt::sleep::{AsyncSleep, SharedAsyncSleep, Sleep};
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_types::SdkConfig;
use aws_types::region::Region;
use aws_types::service_config::ServiceConfigKey;

/// Services close connections that are idle for longer.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);
const IDLE_CONNECTIONS_MAX: usize = 4;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
const ATTEMPTS_MAX: u32 = 2;
const BACKOFF: Duration = Duration::from_millis(100);
/// Region of a server that has none.
const DEFAULT_REGION: &str = "us-east-1";

/// A server with its credentials, instead of the one that the environment names.
#[derive(Clone)]
pub struct AwsServer {
    /// `http://127.0.0.1:9000`.
    pub endpoint: String,
    /// `us-east-1` where a server has none.
    pub region: String,
    /// The access key ID.
    pub access_key: String,
    /// The secret access key.
    pub secret_key: String,
}

impl fmt::Debug for AwsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwsServer")
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .finish_non_exhaustive()
    }
}

/// Neither the environment nor the profile has a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("set AWS_REGION")]
pub struct MissingRegion;

/// How long a client waits.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// From a request to the head of its response, connecting included.
    pub response: Duration,
    /// All attempts of an operation, credentials included. The body of an object is read after it.
    pub operation: Duration,
}

/// What a client of a service is built from.
pub struct Configuration {
    /// Credentials, region, HTTP client, sleep, timeouts and retries.
    pub shared: SdkConfig,
    /// The endpoint, if it is not that of AWS.
    pub endpoint: Option<String>,
}

/// The configuration of a client of this server, or of the one that the AWS environment and profile name. `service_id` is the ID
/// of the service in the SDK, such as `S3`. Sends no request.
///
/// # Errors
/// Returns an error if a region is needed and there is none.
pub async fn configuration(
    server: Option<&AwsServer>,
    service_id: &str,
    timeouts: Timeouts,
) -> Result<Configuration, MissingRegion> {
    let Configuration { shared, endpoint } = match server {
        Some(server) => given(server),
        None => from_environment(service_id).await?,
    };
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(timeouts.response)
        .operation_timeout(timeouts.operation);
    let shared = shared
        .into_builder()
        .timeout_config(timeouts.build())
        .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS_MAX).with_initial_backoff(BACKOFF))
        // It measures throughput by the clock, which also runs while a function is frozen.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
    Ok(Configuration { shared: shared.build(), endpoint })
}

fn given(server: &AwsServer) -> Configuration {
    let credentials = Credentials::new(&server.access_key, &server.secret_key, None, None, "given");
    let shared = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(http_client())
        .sleep_impl(SharedAsyncSleep::new(FreezeSafeSleep))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .region(Region::new(server.region.clone()))
        .build();
    Configuration { shared, endpoint: Some(server.endpoint.clone()) }
}

/// The SDK finds credentials, region, endpoint, FIPS and dual stack. The region is not asked of the instance metadata:
/// outside of EC2 that takes seconds.
async fn from_environment(service_id: &str) -> Result<Configuration, MissingRegion> {
    let region = RegionProviderChain::first_try(EnvironmentVariableRegionProvider::new())
        .or_else(ProfileFileRegionProvider::new());
    let mut shared = aws_config::defaults(BehaviorVersion::latest())
        .http_client(http_client())
        .sleep_impl(FreezeSafeSleep)
        .region(region)
        .load()
        .await;
    let endpoint = endpoint(&shared, service_id);
    if shared.region().is_none() {
        if endpoint.is_none() {
            return Err(MissingRegion);
        }
        shared = shared.into_builder().region(Region::new(DEFAULT_REGION)).build();
    }
    Ok(Configuration { shared, endpoint })
}

/// The endpoint of the service, or of all services. An empty variable counts as unset.
fn endpoint(shared: &SdkConfig, service_id: &str) -> Option<String> {
    let key =
        ServiceConfigKey::builder().service_id(service_id).env("AWS_ENDPOINT_URL").profile("endpoint_url").build();
    let of_service = shared.service_config().zip(key.ok()).and_then(|(config, key)| config.load_config(key));
    let of_all = || shared.endpoint_url().map(str::to_owned);
    of_service.filter(|url| !url.is_empty()).or_else(of_all).filter(|url| !url.is_empty())
}

fn http_client() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
        .build_https()
}

/// Timeouts do not count the time for which a function is frozen.
#[derive(Debug)]
struct FreezeSafeSleep;

impl AsyncSleep for FreezeSafeSleep {
    fn sleep(&self, duration: Duration) -> Sleep {
        Sleep::new(vestibule_freeze::sleep(duration))
    }
}

//! The S3 client: its configuration, and what its errors mean here.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use aws_config::BehaviorVersion;
use aws_config::environment::EnvironmentVariableRegionProvider;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::ProfileFileRegionProvider;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{Builder, Credentials, Region, StalledStreamProtectionConfig};
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::RequestId as _;
use aws_sdk_s3::primitives::ByteStream;
use aws_smithy_async::rt::sleep::{AsyncSleep, Sleep};
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_types::SdkConfig;
use aws_types::service_config::ServiceConfigKey;
use bytes::{Bytes, BytesMut};

use crate::files::StorageError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// From a request to the head of its response, connecting included.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);
/// All attempts of an operation, credentials included. The body of an object is read after it.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(5);
/// From the head of a response to the end of an object's body.
const BODY_TIMEOUT: Duration = Duration::from_secs(3);
const ATTEMPTS_MAX: u32 = 2;
const BACKOFF: Duration = Duration::from_millis(100);
/// S3 closes connections that are idle for longer.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);
const IDLE_CONNECTIONS_MAX: usize = 4;
/// Region of a server that has none.
const DEFAULT_REGION: &str = "us-east-1";

/// An S3 server with its credentials, instead of the one that the environment names.
#[derive(Clone)]
pub struct S3Server {
    /// `http://127.0.0.1:9000`.
    pub endpoint: String,
    /// `us-east-1` where a server has none.
    pub region: String,
    /// The access key ID.
    pub access_key: String,
    /// The secret access key.
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

/// A client of this server, or of the one that the AWS environment and profile name. Sends no request yet.
pub(super) async fn connect(server: Option<&S3Server>) -> Result<Client, StorageError> {
    let config = match server {
        Some(server) => given(server),
        None => from_environment().await?,
    };
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(RESPONSE_TIMEOUT)
        .operation_timeout(OPERATION_TIMEOUT);
    let retries = RetryConfig::standard().with_max_attempts(ATTEMPTS_MAX).with_initial_backoff(BACKOFF);
    let config = config
        .timeout_config(timeouts.build())
        .retry_config(retries)
        // It measures throughput by the clock, which also runs while a function is frozen. `BODY_TIMEOUT` does not.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
    Ok(Client::from_conf(config.build()))
}

fn given(server: &S3Server) -> Builder {
    Builder::new()
        .behavior_version(BehaviorVersion::latest())
        .http_client(http_client())
        .sleep_impl(FreezeSafeSleep)
        .credentials_provider(Credentials::new(&server.access_key, &server.secret_key, None, None, "given"))
        .region(Region::new(server.region.clone()))
        .endpoint_url(&server.endpoint)
        .force_path_style(true)
}

/// The SDK finds credentials, region, endpoint, FIPS and dual stack. The region is not asked of the instance metadata:
/// outside of EC2 that takes seconds.
async fn from_environment() -> Result<Builder, StorageError> {
    let region = RegionProviderChain::first_try(EnvironmentVariableRegionProvider::new())
        .or_else(ProfileFileRegionProvider::new());
    let shared = aws_config::defaults(BehaviorVersion::latest())
        .http_client(http_client())
        .sleep_impl(FreezeSafeSleep)
        .region(region)
        .load()
        .await;
    let endpoint = endpoint(&shared);
    let mut config = Builder::from(&shared);
    if shared.region().is_none() {
        if endpoint.is_none() {
            return Err(StorageError::Unavailable("set AWS_REGION to the region of the bucket".to_owned()));
        }
        config = config.region(Region::new(DEFAULT_REGION));
    }
    // Servers other than AWS seldom have a host name for each bucket.
    config.set_force_path_style(endpoint.is_some().then_some(true));
    config.set_endpoint_url(endpoint);
    Ok(config)
}

/// The endpoint of S3, or of all services. An empty variable is as good as none.
fn endpoint(shared: &SdkConfig) -> Option<String> {
    let key = ServiceConfigKey::builder().service_id("S3").env("AWS_ENDPOINT_URL").profile("endpoint_url").build();
    let of_s3 = shared.service_config().zip(key.ok()).and_then(|(config, key)| config.load_config(key));
    let of_all = || shared.endpoint_url().map(str::to_owned);
    of_s3.filter(|url| !url.is_empty()).or_else(of_all).filter(|url| !url.is_empty())
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

/// The whole body of an object, or `None` if it has more than `max` bytes.
pub(super) async fn read_body(body: ByteStream, max: u64) -> Result<Option<Bytes>, StorageError> {
    let content = vestibule_freeze::timeout(BODY_TIMEOUT, collect(body, max)).await;
    content.unwrap_or_else(|| Err(StorageError::Unavailable("the body did not arrive in time".to_owned())))
}

async fn collect(mut body: ByteStream, max: u64) -> Result<Option<Bytes>, StorageError> {
    let mut content = BytesMut::new();
    while let Some(part) = body.try_next().await.map_err(|error| StorageError::Unavailable(with_causes(&error)))? {
        if (content.len() + part.len()) as u64 > max {
            return Ok(None);
        }
        content.extend_from_slice(&part);
    }
    Ok(Some(content.freeze()))
}

/// The HTTP status of an error response.
pub(super) fn status<E>(error: &SdkError<E, HttpResponse>) -> Option<u16> {
    error.raw_response().map(|response| response.status().as_u16())
}

/// Whether there is no such object. A missing bucket is another error.
pub(super) fn is_missing<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> bool {
    error.code() == Some("NoSuchKey")
}

/// No usable response.
pub(super) fn failed<E>(error: &SdkError<E, HttpResponse>) -> StorageError
where
    E: ProvideErrorMetadata + Error + 'static,
{
    let Some(status) = status(error).filter(|_| matches!(error, SdkError::ServiceError(_))) else {
        return StorageError::Unavailable(with_causes(error));
    };
    let (code, message) = (error.code().unwrap_or("no code"), error.message().unwrap_or("no message"));
    let id = error.request_id().unwrap_or("unknown");
    StorageError::Unavailable(format!("S3 answered {status} {code}: {message} (request {id})"))
}

/// An error and its causes, in one line.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

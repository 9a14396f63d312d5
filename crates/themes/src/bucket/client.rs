//! The S3 client: its configuration, and what its errors mean here.

use std::error::Error;
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::Builder;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::RequestId as _;
use aws_sdk_s3::primitives::ByteStream;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use bytes::{Bytes, BytesMut};
use vestibule_aws::{AwsServer, Configuration, Timeouts};
use vestibule_core::with_causes;

use crate::files::StorageError;

const TIMEOUTS: Timeouts = Timeouts { response: Duration::from_secs(2), operation: Duration::from_secs(5) };
/// From the head of a response to the end of an object's body.
const BODY_TIMEOUT: Duration = Duration::from_secs(3);

/// A client of this server, or of the one that the AWS environment and profile name. Sends no request yet.
pub(super) async fn connect(server: Option<&AwsServer>) -> Result<Client, StorageError> {
    let configuration = vestibule_aws::configuration(server, "S3", TIMEOUTS).await;
    let Configuration { shared, endpoint } =
        configuration.map_err(|error| StorageError::Unavailable(format!("{error} to the region of the bucket")))?;
    let mut config = Builder::from(&shared);
    // Servers other than AWS seldom have a host name for each bucket.
    config.set_force_path_style(endpoint.is_some().then_some(true));
    config.set_endpoint_url(endpoint);
    Ok(Client::from_conf(config.build()))
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

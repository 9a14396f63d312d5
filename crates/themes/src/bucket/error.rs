//! What S3 says when it doesn't do what it was asked, in one line.

use std::error::Error;

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::RequestId;
use aws_sdk_s3::operation::get_object::GetObjectError;

use crate::source::SourceError;

/// No object of that key any more (404), or another version of it (412).
pub(super) fn is_changed(error: &SdkError<GetObjectError>) -> bool {
    let status = error.raw_response().map(|answer| answer.status().as_u16());
    status == Some(412) || error.as_service_error().is_some_and(GetObjectError::is_no_such_key)
}

/// The cause without headers and addresses, which the SDK's own texts have.
pub(super) fn away<E: ProvideErrorMetadata + Error + 'static>(error: &SdkError<E>) -> SourceError {
    SourceError::Away(match error.as_service_error() {
        Some(said) => {
            let status = error.raw_response().map(|answer| answer.status().as_u16()).unwrap_or_default();
            let (code, message) = (said.code().unwrap_or("no code"), said.message().unwrap_or("no message"));
            let request = said.meta().request_id().unwrap_or("unknown");
            format!("S3 answered {status} {code}: {message} (request {request})")
        }
        None => causes(error),
    })
}

fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

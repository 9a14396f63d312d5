//! What a handler's response means (J10).

use std::time::UNIX_EPOCH;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Response, StatusCode, header};
use tracing::info;
use vestibule_core::jobs::{
    Failure, FailureReason, HELD_RESPONSE_MAX, JobId, JobResponse, Outcome, RESPONSE_KEPT, RESULT_KEPT, RETRY_AFTER_MAX,
};
use vestibule_http_client::HttpError;
use vestibule_runtime::header_lines;

/// Maximum number of bytes of a response that are read.
pub(crate) const RESPONSE_MAX: usize = HELD_RESPONSE_MAX;
/// A job that is to run later waits this long at least.
const RETRY_AFTER_MIN: u64 = 1;
/// With [`ABORT`], a response that fails for good.
const DELIVERY: HeaderName = HeaderName::from_static("webhook-delivery");
const ABORT: &str = "abort-message";

/// The outcome of a call that ended at this instant, in Unix seconds.
pub(crate) fn outcome(response: Result<Response<Bytes>, HttpError>, now: u64) -> Outcome {
    let response = match response {
        Ok(response) => response,
        Err(error) => return Outcome::Failed(without_response(reason(&error))),
    };
    let (status, headers) = (response.status(), response.headers());
    if status.is_success() {
        let start = response.body().slice(..response.body().len().min(RESULT_KEPT));
        return Outcome::Acknowledged(Some(JobResponse {
            status: status.as_u16(),
            body: start.to_vec(),
            ..JobResponse::default()
        }));
    }
    let is_abort = headers
        .get(&DELIVERY)
        .is_some_and(|value| value.as_bytes().trim_ascii().eq_ignore_ascii_case(ABORT.as_bytes()));
    if is_abort || [400, 410, 422].contains(&status.as_u16()) {
        return Outcome::FailedForGood(failure(FailureReason::Permanent, &response));
    }
    let asks_for_later = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&status);
    if asks_for_later {
        not_processed(&response, now, response.status() == StatusCode::TOO_MANY_REQUESTS)
    } else {
        Outcome::Failed(failure(FailureReason::Status, &response))
    }
}

/// What the response to a held order means, sent when the call ended (H8). An order that the origin may have received is not sent
/// again. A 429 delays that order only: the origin may say it to this visitor, who must not stop the orders of all others.
pub(crate) fn held_outcome(response: Result<Response<Bytes>, HttpError>, now: u64) -> Outcome {
    let response = match response {
        Ok(response) => response,
        Err(error) if error.is_without_connection() => return Outcome::Failed(without_response(reason(&error))),
        Err(error) => return Outcome::Unknown(without_response(reason(&error))),
    };
    match response.status() {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => not_processed(&response, now, false),
        StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => {
            Outcome::Unknown(failure(FailureReason::Status, &response))
        }
        // Not a final response: the order asked for no other protocol.
        status if status.is_informational() => Outcome::Unknown(failure(FailureReason::Status, &response)),
        status => {
            let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
            Outcome::Acknowledged(Some(JobResponse {
                status: status.as_u16(),
                location: location.map(str::to_owned),
                headers: header_lines(response.headers()),
                body: response.into_body().to_vec(),
            }))
        }
    }
}

/// The outcome of 429 and 503: to be called later, if the response says when; otherwise a failure. `pauses` says whether the whole
/// job queue waits for that time.
fn not_processed(response: &Response<Bytes>, now: u64, pauses: bool) -> Outcome {
    match retry_after(response.headers(), now) {
        Some(seconds) => Outcome::Later { seconds, pauses },
        None => Outcome::Failed(failure(FailureReason::Status, response)),
    }
}

/// Logs why a call had no response: the reason of the outcome is one of a few words.
pub(crate) fn log_cause(job: JobId, error: &HttpError) {
    info!(%job, cause = %error, "no response to a call");
}

pub(crate) const fn without_response(reason: FailureReason) -> Failure {
    Failure { reason, status: None, response: Vec::new() }
}

fn reason(error: &HttpError) -> FailureReason {
    match error {
        HttpError::Timeout(_) => FailureReason::Timeout,
        HttpError::AddressRefused(_) => FailureReason::AddressRefused,
        HttpError::Connection(_) | HttpError::Incomplete(_) | HttpError::TooLarge(_) => FailureReason::Connection,
    }
}

fn failure(reason: FailureReason, response: &Response<Bytes>) -> Failure {
    let body = response.body();
    let start = body.slice(..body.len().min(RESPONSE_KEPT)).to_vec();
    Failure { reason, status: Some(response.status().as_u16()), response: start }
}

/// The seconds of a `Retry-After`, which is a number of seconds or a date. A time that has passed, by the clock of this machine, is
/// not an invitation to call at once: the target is busy.
fn retry_after(headers: &HeaderMap, now: u64) -> Option<u64> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    let seconds = if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        // More digits than fit are more than the maximum.
        text.parse().unwrap_or(u64::MAX)
    } else {
        let at = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
        at.as_secs().saturating_sub(now)
    };
    Some(seconds.clamp(RETRY_AFTER_MIN, RETRY_AFTER_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_445_412_480; // Wed, 21 Oct 2015 07:28:00 GMT

    fn of(status: u16, headers: &[(&'static str, &'static str)]) -> Outcome {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        outcome(Ok(response.body(Bytes::from_static(b"why")).unwrap()), NOW)
    }

    fn failed(reason: FailureReason, status: u16) -> Failure {
        Failure { reason, status: Some(status), response: b"why".to_vec() }
    }

    fn acknowledged(status: u16) -> Outcome {
        Outcome::Acknowledged(Some(JobResponse { status, body: b"why".to_vec(), ..JobResponse::default() }))
    }

    #[test]
    fn status_decides_the_outcome() {
        for status in [200, 202, 204, 299] {
            assert_eq!(of(status, &[]), acknowledged(status));
        }
        for status in [400, 410, 422] {
            assert_eq!(of(status, &[]), Outcome::FailedForGood(failed(FailureReason::Permanent, status)));
        }
        for status in [301, 304, 307, 401, 403, 404, 408, 409, 429, 500, 502, 503, 504, 599] {
            assert_eq!(of(status, &[]), Outcome::Failed(failed(FailureReason::Status, status)));
        }
    }

    #[test]
    fn abort_message_fails_for_good() {
        for status in [302, 403, 500, 503] {
            let outcome = of(status, &[("webhook-delivery", "abort-message"), ("retry-after", "1")]);
            assert_eq!(outcome, Outcome::FailedForGood(failed(FailureReason::Permanent, status)));
        }
        assert_eq!(of(204, &[("webhook-delivery", "abort-message")]), acknowledged(204));
        assert_eq!(of(500, &[("webhook-delivery", "other")]), Outcome::Failed(failed(FailureReason::Status, 500)));
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        for (value, seconds) in [
            ("0", 1),
            (" 7 ", 7),
            ("3601", 3_600),
            ("99999999999999999999999", 3_600),
            ("Wed, 21 Oct 2015 07:28:30 GMT", 30),
            ("Wed, 21 Oct 2015 07:00:00 GMT", 1),
            ("Thu, 22 Oct 2099 07:28:00 GMT", 3_600),
        ] {
            assert_eq!(of(429, &[("retry-after", value)]), Outcome::Later { seconds, pauses: true }, "{value}");
            assert_eq!(of(503, &[("retry-after", value)]), Outcome::Later { seconds, pauses: false }, "{value}");
            assert_eq!(of(500, &[("retry-after", value)]), Outcome::Failed(failed(FailureReason::Status, 500)));
        }
        for value in ["", "-1", "1.5", "soon", "0x10", "+3"] {
            assert_eq!(
                of(503, &[("retry-after", value)]),
                Outcome::Failed(failed(FailureReason::Status, 503)),
                "{value}"
            );
        }
    }

    #[test]
    fn order_that_the_site_delays_delays_no_other() {
        for status in [429, 503] {
            let response = Response::builder().status(status).header("retry-after", "7").body(Bytes::new()).unwrap();
            assert_eq!(held_outcome(Ok(response), NOW), Outcome::Later { seconds: 7, pauses: false }, "{status}");
        }
    }

    #[test]
    fn order_without_a_final_response_is_unknown() {
        let response = Response::builder().status(101).header("upgrade", "x").body(Bytes::from_static(b"why")).unwrap();
        let expected = Outcome::Unknown(failed(FailureReason::Status, 101));
        assert_eq!(held_outcome(Ok(response), NOW), expected);
    }

    #[test]
    fn start_of_a_long_response_is_kept() {
        let response = Response::builder().status(500).body(Bytes::from(vec![b'x'; RESPONSE_KEPT + 1])).unwrap();
        let Outcome::Failed(failure) = outcome(Ok(response), NOW) else { panic!("not failed") };
        assert_eq!(failure.response.len(), RESPONSE_KEPT);
    }
}

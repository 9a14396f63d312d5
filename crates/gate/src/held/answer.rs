//! What the visitor of an order gets (H5, H6, H8, H9).

use axum::body::Body;
use axum::response::Response;
use http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode, header};
use tracing::warn;
use vestibule_core::jobs::JobResponse;
use vestibule_proxy::prepare_response;
use vestibule_runtime::headers_of_lines;
use vestibule_themes::{JobDetails, JobNews};

use super::order_url::{form_url, with_job};
use super::outcome::OrderOutcome;
use super::store::Order;
use crate::answer::{Answer, JobReport, QueuedJob, Reply};
use crate::cache_headers::keep_private;
use crate::error::GateError;
use crate::referring_page::referring_page;
use crate::request::RequestInfo;
use crate::response_buffer::ResponseBuffer;
use crate::visit_result::VisitResult;

/// What is known about an order when its visitor is answered.
pub(super) struct OrderAnswer {
    pub(super) order: Order,
    pub(super) outcome: OrderOutcome,
    /// Whether the request is the order itself, not one that asks for its outcome.
    pub(super) is_submission: bool,
}

/// Answers the visitor of an order.
pub(super) async fn answer_order(info: &RequestInfo, visit: VisitResult, answer: OrderAnswer) -> Answer {
    let OrderAnswer { order, outcome, is_submission } = answer;
    let response = match &outcome {
        OrderOutcome::Response(response) => Some(visitor_response(response)),
        // A redirect is whole without headers and body; a script expects a response.
        OrderOutcome::NotKept(response) if !info.wants_page() || response.location.is_some() => {
            Some(response_without_contents(response))
        }
        _ => None,
    };
    if let Some(mut response) = response {
        // The response to HEAD has no body, so the visitor does not have it yet.
        if info.method != Method::HEAD {
            mark_delivered(&order).await;
        }
        if !is_submission {
            // The response to a POST must not be kept as that of a GET.
            keep_private(response.headers_mut());
            response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
        return Answer::new(visit, Reply::Forwarded(response, ResponseBuffer::of(&Extensions::new())));
    }
    let url = with_job(&info.path, info.query.as_deref(), order.id);
    let reply = match (info.wants_page(), is_submission) {
        (true, true) => Reply::SeeOther(url),
        (true, false) => page(info, &order, outcome),
        (false, _) => data(&order, &outcome, url),
    };
    Answer::new(visit, reply)
}

/// The refusal of an order that certainly was not stored. A page says that it was not placed, with the status of the error.
pub(super) fn not_placed(info: &RequestInfo, visit: VisitResult, error: GateError) -> Answer {
    let reply = if info.wants_page() {
        let url = Some(retry_url(info));
        let retry_after = error.retry_after();
        let (news, details) = (JobNews::OrderFailed, JobDetails::default());
        Reply::JobPage(error.status(), JobReport { news, job: None, job_queue: None, url, details, retry_after })
    } else {
        Reply::Error(error)
    };
    Answer::new(visit, reply)
}

/// Where a visitor whose order was not placed tries again: on the page that sent it, if that is one of this host, since the address of
/// an order may accept nothing but orders. Browsers name that page also when they follow the redirect to the status page, and
/// when a script reloads it.
fn retry_url(info: &RequestInfo) -> String {
    match referring_page(&info.headers, info.host.as_deref()) {
        Some(page) => form_url(page.path(), page.query()),
        None => form_url(&info.path, info.query.as_deref()),
    }
}

fn page(info: &RequestInfo, order: &Order, outcome: OrderOutcome) -> Reply {
    let news = outcome.news();
    let position = if let OrderOutcome::Pending { position } = outcome { position } else { None };
    let url = match outcome {
        // The page says that the visitor can continue to the brand.
        OrderOutcome::Delivered(response) => Some(response.location.unwrap_or_else(|| "/".to_owned())),
        OrderOutcome::NotKept(response) => response.location,
        OrderOutcome::Failed => Some(retry_url(info)),
        OrderOutcome::Placed => Some("/".to_owned()),
        OrderOutcome::Pending { .. } | OrderOutcome::Retrying | OrderOutcome::Response(_) | OrderOutcome::Unknown => {
            None
        }
    };
    let job_queue = Some(order.job_queue.settings.id.clone());
    let details = JobDetails { position, ..JobDetails::default() };
    let report = JobReport { news, job: Some(order.id), job_queue, url, details, retry_after: None };
    Reply::JobPage(StatusCode::OK, report)
}

/// The answer to a request of a script or an app.
fn data(order: &Order, outcome: &OrderOutcome, url: String) -> Reply {
    let state = match outcome {
        OrderOutcome::Pending { .. } | OrderOutcome::Response(_) | OrderOutcome::NotKept(_) => "queued",
        OrderOutcome::Retrying => "retrying",
        OrderOutcome::Delivered(_) | OrderOutcome::Placed => return Reply::Error(GateError::OrderAlreadySubmitted),
        OrderOutcome::Failed => return Reply::Error(GateError::OrderNotPlaced),
        OrderOutcome::Unknown => return Reply::Error(GateError::OrderOutcomeUnknown(order.id)),
    };
    let job_queue = order.job_queue.settings.id.clone();
    Reply::Queued(QueuedJob { job_id: order.id, job_queue, state, duplicate: order.is_duplicate, location: url })
}

/// The origin's response as the visitor gets it.
fn visitor_response(response: &JobResponse) -> Response {
    let mut headers = headers_of_lines(&response.headers);
    prepare_response(&mut headers);
    // That of the body as it was stored.
    headers.remove(header::CONTENT_LENGTH);
    response_with(response.status, headers, Body::from(response.body.clone()))
}

/// The origin's response if only status and location were kept.
fn response_without_contents(response: &JobResponse) -> Response {
    let location = response.location.as_ref().and_then(|location| HeaderValue::try_from(location).ok());
    response_with(
        response.status,
        location.map(|location| (header::LOCATION, location)).into_iter().collect(),
        Body::empty(),
    )
}

fn response_with(status: u16, headers: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    *response.headers_mut() = headers;
    response
}

async fn mark_delivered(order: &Order) {
    let settings = &order.job_queue.settings;
    if let Err(error) = order.job_queues.job_store().mark_delivered(settings, order.id).await {
        warn!(job_queue = %settings.id, job = %order.id, %error, "the delivery of a response could not be recorded");
    }
}

#[cfg(test)]
mod tests {
    use http::Uri;

    use super::*;
    use crate::client_rules::ClientRules;

    #[test]
    fn order_is_tried_again_from_the_page_that_sent_it() {
        let again = |order: &'static str, referer: &'static str| {
            let headers = HeaderMap::from_iter([
                (header::HOST, HeaderValue::from_static("shop.example")),
                (header::REFERER, HeaderValue::from_static(referer)),
            ]);
            let (uri, extensions) = (Uri::from_static(order), Extensions::new());
            retry_url(&RequestInfo::of(&Method::POST, &uri, headers, &extensions, 0, &ClientRules::default()))
        };
        assert_eq!(again("/buy", "https://shop.example/basket?a=1"), "/basket?a=1");
        assert_eq!(again("/order?action=buy", "https://shop.example/order?step=pay"), "/order?step=pay");
        assert_eq!(again("/buy?a=1", "https://other.example/basket"), "/buy?a=1");
        let status_page = "https://shop.example/buy?a=1&vestibule_job=0r5x3mhv6n2k8t4w7q9yabc";
        assert_eq!(again("/buy?a=1", status_page), "/buy?a=1");
    }
}

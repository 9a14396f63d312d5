//! The metrics of the gate, in the text format of Prometheus.

use std::time::Duration;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Uri};
use vestibule_http_client::{HttpClient, Options};

use super::{ObserveError, Sample};

/// Time limit of a request. A sample that comes later describes another second.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of the metrics in bytes.
const METRICS_MAX: usize = 16 << 20;

/// The metrics endpoint.
#[derive(Clone)]
pub struct MetricsAddress {
    uri: Uri,
    token: Option<HeaderValue>,
    client: HttpClient,
}

impl std::fmt::Debug for MetricsAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.uri)
    }
}

impl MetricsAddress {
    /// The metrics at a URL, with a bearer token.
    ///
    /// # Errors
    /// An invalid URL or token, or no certificate authority can be trusted.
    pub fn new(address: &str, token: Option<String>) -> Result<Self, ObserveError> {
        let wrong = || ObserveError::Metrics(address.to_owned());
        let uri: Uri = address.parse().map_err(|_| wrong())?;
        let good = uri.authority().is_some() && matches!(uri.scheme_str(), Some("http" | "https"));
        if !good {
            return Err(wrong());
        }
        let token = token.map(|token| HeaderValue::try_from(format!("Bearer {token}"))).transpose();
        let client = HttpClient::new(Options { timeout: TIMEOUT, response_max: METRICS_MAX, ..Options::default() })?;
        Ok(Self { uri, token: token.map_err(|_| ObserveError::MetricsToken)?, client })
    }

    /// The quota of a queue, or of the only one; `None` if the metrics do not have it.
    ///
    /// # Errors
    /// The metrics cannot be read.
    pub async fn quota(&self, queue: Option<&str>) -> Result<Option<u64>, String> {
        self.sample(queue).await.map(|sample| sample.quota)
    }

    pub(super) async fn sample(&self, queue: Option<&str>) -> Result<Sample, String> {
        let mut request = Request::new(Bytes::new());
        *request.uri_mut() = self.uri.clone();
        if let Some(token) = &self.token {
            request.headers_mut().insert(AUTHORIZATION, token.clone());
        }
        let response = self.client.send(request).await.map_err(|error| format!("metrics: {error}"))?;
        if !response.status().is_success() {
            return Err(format!("metrics: {}", response.status()));
        }
        let text = String::from_utf8_lossy(response.body());
        let of_queue = |name: &str| value(&text, name, queue);
        Ok(Sample {
            memory: None,
            cpu_us: None,
            commands: value(&text, "vestibule_request_store_seconds_count", None),
            waiting: of_queue("vestibule_queue_waiting"),
            active: of_queue("vestibule_queue_active"),
            quota: of_queue("vestibule_queue_quota"),
        })
    }
}

/// The value of a metric for a queue, or of the only queue.
fn value(text: &str, name: &str, queue: Option<&str>) -> Option<u64> {
    let label = queue.map(|queue| format!("queue=\"{queue}\""));
    let samples = text.lines().filter_map(|line| line.strip_prefix(name)).filter(|rest| rest.starts_with(['{', ' ']));
    let mut of_it = samples.filter(|rest| label.as_ref().is_none_or(|label| rest.contains(label.as_str())));
    let sample = of_it.next()?;
    if of_it.next().is_some() {
        return None;
    }
    let number: f64 = sample.rsplit(' ').next()?.parse().ok()?;
    (number >= 0.0).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metric_is_selected_by_queue() {
        let text = "# HELP x\nvestibule_queue_active{tenant=\"a\",queue=\"one\"} 3\nvestibule_queue_active{tenant=\"a\",queue=\"two\"} 4\n\
                    vestibule_queue_active_total 9\nvestibule_request_store_seconds_count 17\n";
        assert_eq!(value(text, "vestibule_queue_active", Some("two")), Some(4));
        assert_eq!(value(text, "vestibule_queue_active", None), None, "which of them?");
        assert_eq!(value(text, "vestibule_request_store_seconds_count", None), Some(17));
    }
}

//! `vestibule check FILE --url URL`: which queue and rule of a settings file decide about a request, for each interpretation of its path.

use vestibule_core::settings::{
    RequestAttributes, Route, Rule, Ruling, Settings, TrustedHeaders, deciding_rule, decisive, host_and_path, rulings,
};
use vestibule_runtime::{Queue, queues_of_host};

/// A URL as it was typed, and what rules see of it.
#[derive(Debug, Clone)]
pub(crate) struct TestedUrl {
    text: String,
    host: String,
    path: String,
}

/// Parses a URL with its host, with or without a scheme.
pub(crate) fn parse_url(text: &str) -> Result<TestedUrl, String> {
    let (host, path) =
        host_and_path(text).ok_or("must be a URL with its host, such as https://tickets.example.com/shop/seats")?;
    Ok(TestedUrl { text: text.to_owned(), host, path: path.to_owned() })
}

/// What happens to a request: a line with the result, and a line for each interpretation of the path.
pub(crate) fn ruling_lines(
    url: &TestedUrl,
    method: &str,
    queues: &[Settings],
    trusted: &TrustedHeaders,
) -> Vec<String> {
    let TestedUrl { text, host, path } = url;
    let queues = queues_of_host(queues, host);
    if queues.is_empty() {
        return vec![format!("{method} {text}: no queue has the host {host}; the gate answers 404")];
    }
    let facts = RequestAttributes {
        path,
        method,
        header: &|_, _| (),
        cookie: &|_, _| (),
        source: None,
        trusted_headers: trusted,
        in_list: &|_, _| None,
    };
    let rules: Vec<&[Rule]> = queues.iter().map(|queue| queue.settings.rules.as_slice()).collect();
    let rulings = rulings(&rules, &facts);
    let result = match decisive(&rulings) {
        Ruling { route: Route::Reject, .. } => {
            "rejected: the path has too many readings, or different queues take it; the gate answers 400".to_owned()
        }
        ruling => route_text(ruling, ruling.queue.map(|index| &*queues[index])),
    };
    // The rejection is of the path, not of a reading.
    let readings = rulings.iter().filter(|ruling| ruling.route != Route::Reject).map(|ruling| {
        let queue = ruling.queue.map(|index| &*queues[index]);
        let rule = queue.and_then(|queue| deciding_rule(&queue.settings.rules, &facts, &ruling.path));
        let rule = rule.map_or_else(|| "no rule matches".to_owned(), |index| format!("rules[{index}]"));
        format!("  {}: {}, {rule}", ruling.path, route_text(ruling, queue))
    });
    std::iter::once(format!("{method} {text}: {result}")).chain(readings).collect()
}

fn route_text(ruling: &Ruling, queue: Option<&Queue>) -> String {
    let queue = queue.map(|queue| queue.settings.id.as_str());
    match (ruling.route, queue) {
        (Route::Queue, Some(queue)) => format!("queued by {queue}"),
        (Route::Bypass, Some(queue)) => format!("bypasses {queue}"),
        _ => "passes".to_owned(),
    }
}

//! The summary that `serve` prints on a terminal: addresses, queues, and the script to embed in the site.

use std::fmt::Write as _;
use std::sync::Arc;

use vestibule_core::line::Mode;
use vestibule_runtime::Queue;

/// Maximum number of queues that are listed.
const LISTED_MAX: usize = 5;

/// The addresses and queues of a running program.
pub(crate) struct Summary<'a> {
    /// Address of the gate: `http://127.0.0.1:8080`.
    pub(crate) visitors: &'a str,
    /// Address of the dashboard, if it is on.
    pub(crate) dashboard: Option<&'a str>,
    /// Kind of the store.
    pub(crate) store: &'a str,
    /// The queues of the settings file, as they are in force.
    pub(crate) queues: &'a [Arc<Queue>],
    /// IDs of the queues of the store that the file does not name.
    pub(crate) others: &'a [String],
}

impl Summary<'_> {
    /// As lines for a terminal.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::from("\nVestibule is running. Ctrl+C stops it.\n\n");
        let _ = writeln!(text, "  Visitors   {}", self.visitors);
        if let Some(dashboard) = self.dashboard {
            let _ = writeln!(text, "  Dashboard  {dashboard}");
        }
        let _ = writeln!(text, "  Store      {}", self.store);
        if self.queues.is_empty() {
            text += "  Queues     those in the store; create queues in the dashboard or with vestibule apply\n";
        }
        for (number, queue) in self.queues.iter().map(|queue| &queue.settings).take(LISTED_MAX).enumerate() {
            let label = if number == 0 { "Queues" } else { "" };
            let hosts: Vec<String> = queue.hosts.iter().map(ToString::to_string).collect();
            let hosts = if hosts == ["*"] { "all hosts".to_owned() } else { hosts.join(", ") };
            let mode =
                if queue.line.mode == Mode::Open { String::new() } else { format!(", {}", queue.line.mode.as_str()) };
            let _ = writeln!(text, "  {label:<9}  {}: quota {}{mode}, {hosts}", queue.id, queue.line.quota);
        }
        if self.queues.len() > LISTED_MAX {
            let _ = writeln!(text, "             and {} more", self.queues.len() - LISTED_MAX);
        }
        if !self.queues.is_empty() && !self.others.is_empty() {
            let others = self.others.iter().take(LISTED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = if self.others.len() > LISTED_MAX { ", .." } else { "" };
            let _ = writeln!(text, "             also, from the store: {others}{more}");
        }
        if let Some(queue) = self.queues.first() {
            let _ = writeln!(
                text,
                "\n  Add this to the pages of your site; it renews the session of an admitted visitor:\n  \
                 <script src=\"/_vestibule/keepalive.js\" data-queue=\"{}\" defer></script>",
                queue.settings.id
            );
        }
        text + "\n"
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vestibule_core::settings::Settings;

    use super::*;

    fn queue(id: &str, hosts: &[&str], mode: &str) -> Arc<Queue> {
        let handover = json!({ "kind": "proxy", "origin": "http://127.0.0.1:3000" });
        let settings =
            json!({ "id": id, "tenant": "acme", "hosts": hosts, "quota": 100, "mode": mode, "handover": handover });
        vestibule_runtime::queues_of_host(&[Settings::from_value(&settings).unwrap()], "a.example").remove(0)
    }

    #[test]
    fn summary_has_addresses_queues_and_script() {
        let queues = [queue("default", &["*"], "open"), queue("tour", &["a.example"], "paused")];
        let summary = Summary {
            visitors: "http://127.0.0.1:8080",
            dashboard: Some("http://127.0.0.1:8081"),
            store: "memory",
            queues: &queues,
            others: &["old".to_owned()],
        };
        let text = summary.to_text();
        for line in [
            "  Visitors   http://127.0.0.1:8080\n",
            "  Dashboard  http://127.0.0.1:8081\n",
            "  Store      memory\n",
            "  Queues     default: quota 100, all hosts\n             tour: quota 100, paused, a.example\n",
            "             also, from the store: old\n",
            "  <script src=\"/_vestibule/keepalive.js\" data-queue=\"default\" defer></script>\n",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn long_queue_lists_are_shortened() {
        let hosts = ["a.example", "b.example"];
        let queues: Vec<_> = (0..7).map(|number| queue(&format!("tour-{number}"), &hosts, "open")).collect();
        let summary =
            Summary { visitors: "http://0.0.0.0:80", dashboard: None, store: "redis", queues: &queues, others: &[] };
        let text = summary.to_text();
        assert!(text.contains("             tour-4: quota 100, a.example, b.example\n"), "{text}");
        assert!(text.contains("and 2 more") && !text.contains("tour-5") && !text.contains("Dashboard"), "{text}");
    }
}

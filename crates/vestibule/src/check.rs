//! `vestibule check FILE`: what is wrong with a settings file, and what looks as if it were not meant.

use std::process::ExitCode;

use vestibule_core::settings::{HostPattern, Mode, RuleAction, Settings};
use vestibule_runtime::{ThemesConfig, open_themes};

use crate::cli::CheckOptions;
use crate::settings_file::read_settings;

/// Checks a file. Exit status 1 if `serve` would not take it.
pub(crate) async fn check(options: CheckOptions) -> anyhow::Result<ExitCode> {
    let document = match read_settings(&options.file, options.origin.as_ref()) {
        Ok(document) => document,
        Err(error) => {
            eprintln!("{error}");
            return Ok(ExitCode::FAILURE);
        }
    };
    let themes = open_themes("--themes", &ThemesConfig { address: options.themes.clone(), recheck: None })?;
    let mut code = ExitCode::SUCCESS;
    for queue in &document.queues {
        println!("{}", described(queue));
        for warning in warnings(queue, &document.queues) {
            println!("  warning: {warning}");
        }
        if let Some(theme) = queue.theme.as_ref().filter(|_| options.themes.is_some())
            && let Err(error) = themes.check(theme).await
        {
            println!("  error: theme \"{theme}\": {error}");
            code = ExitCode::FAILURE;
        }
    }
    let counted = [counted(document.tenants.len(), "tenant"), counted(document.queues.len(), "queue")].join(", ");
    let verdict = if code == ExitCode::SUCCESS { "is valid" } else { "has errors" };
    println!("{} {verdict}: {counted}", options.file.display());
    Ok(code)
}

fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn described(queue: &Settings) -> String {
    let hosts: Vec<String> = queue.hosts.iter().map(ToString::to_string).collect();
    let origin = queue.handover.origin.as_ref().map(|origin| format!(" to {origin}")).unwrap_or_default();
    let unmatched = if queues_unmatched(queue) { "meets the queue" } else { "passes" };
    let rules = match queue.rules.len() {
        0 => "every path meets the queue".to_owned(),
        rules => format!("{rules} rules, what none of them matches {unmatched}"),
    };
    let rate = queue.line.admissions_per_minute.map(|rate| format!(", {rate} a minute")).unwrap_or_default();
    format!("{}: {}: {rules}; {} places{rate}{origin}", queue.id, hosts.join(", "), queue.line.quota)
}

fn queues_unmatched(queue: &Settings) -> bool {
    queue.rules.iter().all(|rule| rule.action == RuleAction::Bypass)
}

fn warnings(queue: &Settings, all: &[Settings]) -> Vec<String> {
    let mut found = Vec::new();
    match queue.line.mode {
        Mode::Open if queue.line.quota == 0 => found.push("quota is 0, so nobody is ever admitted".to_owned()),
        Mode::Open => {}
        Mode::Paused => found.push("mode is \"paused\": people join and nobody is admitted".to_owned()),
        Mode::Closed => found.push("mode is \"closed\": nobody joins and nobody is admitted".to_owned()),
        Mode::Draining => {
            found.push("mode is \"draining\": nobody joins, and once the line is empty the queue closes".to_owned());
        }
        Mode::Bypass => found.push("mode is \"bypass\": everyone passes, quota or not".to_owned()),
    }
    for host in &queue.hosts {
        let hides = |other: &&Settings| other.id < queue.id && queues_unmatched(other) && other.hosts.contains(host);
        if let Some(other) = all.iter().find(hides) {
            found.push(format!("never asked on {host}: \"{}\" takes every request there first", other.id));
        }
    }
    if queue.hosts.contains(&HostPattern::Any) && all.len() > 1 {
        found.push("host \"*\" also takes the requests of hosts that were mistyped elsewhere".to_owned());
    }
    found
}

//! `vestibule check FILE`: validates a settings file and warns about settings that are probably a mistake.

use std::process::ExitCode;

use vestibule_core::settings::{HostPattern, Mode, Settings, queues_unmatched, routing_conflicts};
use vestibule_themes::ThemesConfig;

use crate::cli::CheckOptions;
use crate::settings_file::read_settings;

/// Checks a file. Exit status 1 if `serve` would reject it.
pub(crate) async fn check(options: CheckOptions) -> anyhow::Result<ExitCode> {
    let document = match read_settings(&options.file, options.origin.as_ref()) {
        Ok(document) => document,
        Err(error) => {
            eprintln!("{error}");
            return Ok(ExitCode::FAILURE);
        }
    };
    let themes = ThemesConfig { address: options.themes.clone(), recheck: None }.open("--themes")?;
    let mut code = ExitCode::SUCCESS;
    for queue in &document.queues {
        println!("{}", summary(queue));
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
    let counts = [count_noun(document.tenants.len(), "tenant"), count_noun(document.queues.len(), "queue")].join(", ");
    let result = if code == ExitCode::SUCCESS { "is valid" } else { "has errors" };
    println!("{} {result}: {counts}", options.file.display());
    Ok(code)
}

fn count_noun(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn summary(queue: &Settings) -> String {
    let hosts: Vec<String> = queue.hosts.iter().map(ToString::to_string).collect();
    let origin = queue.handover.origin.as_ref().map(|origin| format!(" to {origin}")).unwrap_or_default();
    let unmatched =
        if queues_unmatched(queue) { "unmatched requests are queued" } else { "unmatched requests bypass the queue" };
    let rules = match queue.rules.len() {
        0 => "all requests are queued".to_owned(),
        rules => format!("{}, {unmatched}", count_noun(rules, "rule")),
    };
    let rate =
        queue.line.admissions_per_minute.map(|rate| format!(", {rate} admissions per minute")).unwrap_or_default();
    format!("{}: {}: {rules}; quota {}{rate}{origin}", queue.id, hosts.join(", "), queue.line.quota)
}

fn warnings(queue: &Settings, all: &[Settings]) -> Vec<String> {
    let mut found = Vec::new();
    match queue.line.mode {
        Mode::Open if queue.line.quota == 0 => found.push("quota is 0: nobody is admitted".to_owned()),
        Mode::Open => {}
        Mode::Paused => found.push("mode is \"paused\": visitors join; nobody is admitted".to_owned()),
        Mode::Closed => found.push("mode is \"closed\": nobody joins; active visitors continue".to_owned()),
        Mode::Draining => {
            found.push(
                "mode is \"draining\": nobody joins; waiting visitors are admitted, then the queue closes".to_owned(),
            );
        }
        Mode::Bypass => found.push("mode is \"bypass\": all visitors continue, whatever the quota".to_owned()),
    }
    found.extend(routing_conflicts(queue, all, true, |_| true).iter().map(ToString::to_string));
    if queue.hosts.contains(&HostPattern::Any) && all.len() > 1 {
        found.push("host \"*\" also matches hosts that are misspelled in other queues".to_owned());
    }
    found
}

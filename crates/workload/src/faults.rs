//! Fault injection: commands that run at given times.

use std::process::Stdio;
use std::time::Duration;

use serde::Serialize;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::sim_time::SimTime;

/// Maximum number of faults.
const FAULTS_MAX: usize = 1000;

/// A command and its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Seconds after the start.
    pub at: f64,
    /// The name in the report.
    pub name: String,
    /// The shell command.
    pub command: String,
}

/// A fault that was injected.
#[derive(Debug, Clone, Serialize)]
pub struct InjectedFault {
    /// Seconds after the start.
    pub at: f64,
    /// The name.
    pub name: String,
    /// The shell command.
    pub command: String,
    /// Duration of the command, in seconds.
    pub seconds: f64,
    /// Whether the command succeeded.
    pub succeeded: bool,
    /// How the command ended.
    pub result: String,
}

/// An invalid line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// Not a fault.
    #[error(
        "line {line}: {text:?} is not a fault; use SECONDS NAME: COMMAND, such as 30 flush the store: redis-cli -p 6379 flushall"
    )]
    Line {
        /// Its number, from 1.
        line: usize,
        /// Its text.
        text: String,
    },
    /// Too many lines.
    #[error("more than {FAULTS_MAX} faults")]
    TooMany,
}

/// Parses faults: one per line, `SECONDS NAME: COMMAND`. Lines that start with `#` are comments.
///
/// # Errors
/// The first invalid line.
pub fn parse_faults(text: &str) -> Result<Vec<Fault>, FaultError> {
    let mut faults = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fault = fault_of(line).ok_or_else(|| FaultError::Line { line: index + 1, text: line.to_owned() })?;
        faults.push(fault);
    }
    if faults.len() > FAULTS_MAX {
        return Err(FaultError::TooMany);
    }
    faults.sort_by(|one, other| one.at.total_cmp(&other.at));
    Ok(faults)
}

fn fault_of(line: &str) -> Option<Fault> {
    let (at, rest) = line.split_once(char::is_whitespace)?;
    let at: f64 = at.trim_end_matches('s').parse().ok().filter(|at| (0.0..4e6).contains(at))?;
    let (name, command) = rest.split_once(": ")?;
    let (name, command) = (name.trim().to_owned(), command.trim().to_owned());
    (!name.is_empty() && !command.is_empty()).then_some(Fault { at, name, command })
}

/// Runs the commands at their times and reports the results.
pub(crate) async fn inject_faults(
    faults: Vec<Fault>,
    started_at: Instant,
    injected: mpsc::UnboundedSender<InjectedFault>,
) {
    for fault in faults {
        sleep_until(started_at + Duration::from_secs_f64(fault.at)).await;
        let started = Instant::now();
        // Background processes of the command must not block: only stderr is inherited.
        let mut command = Command::new("sh");
        command.args(["-c", &fault.command]).stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
        let status = command.status().await;
        let (succeeded, result) = match status {
            Ok(status) => (status.success(), status.to_string()),
            Err(error) => (false, error.to_string()),
        };
        let at = SimTime(started.saturating_duration_since(started_at).as_millis() as u32).seconds();
        let seconds = started.elapsed().as_secs_f64();
        let fault = InjectedFault { at, name: fault.name, command: fault.command, seconds, succeeded, result };
        if injected.send(fault).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_sorted_by_time() {
        let faults =
            parse_faults("# comment\n\n30 the gate starts again: kill -9 1; ./start\n12.5s empty: flushall\n").unwrap();
        assert_eq!(faults[0], Fault { at: 12.5, name: "empty".to_owned(), command: "flushall".to_owned() });
        assert_eq!(faults[1].command, "kill -9 1; ./start");
    }

    #[test]
    fn invalid_lines_are_reported_by_number() {
        for wrong in ["soon empty: flushall", "30", "30 flushall", "30 : flushall", "30 empty: ", "-3 a: b"] {
            let error = parse_faults(&format!("\n{wrong}")).unwrap_err();
            assert!(error.to_string().starts_with("line 2: "), "{error}");
        }
    }

    #[tokio::test]
    async fn results_of_commands_are_reported() {
        let faults = parse_faults("0 good: true\n0 bad: exit 3\n0 left behind: sleep 30 2> /dev/null &\n").unwrap();
        let (sender, mut injected) = mpsc::unbounded_channel();
        inject_faults(faults, Instant::now(), sender).await;
        let mut done = Vec::new();
        while let Some(injected) = injected.recv().await {
            assert!(injected.seconds < 5.0);
            done.push(injected.succeeded);
        }
        assert_eq!(done, [true, false, true]);
    }

    #[tokio::test]
    async fn command_ends_with_the_run() {
        let file = std::env::temp_dir().join(format!("vestibule-fault-{}", std::process::id()));
        let faults = parse_faults(&format!("0 wait: sleep 1; touch {}", file.display())).unwrap();
        let (sender, _injected) = mpsc::unbounded_channel();
        let injecting = tokio::spawn(inject_faults(faults, Instant::now(), sender));
        tokio::time::sleep(Duration::from_millis(300)).await;
        injecting.abort();
        tokio::time::sleep(Duration::from_millis(1500)).await;
        assert!(!file.exists(), "the command went on");
    }
}

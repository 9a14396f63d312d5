//! A drill: commands that are run at given times of a rehearsal.

use std::process::Stdio;
use std::time::Duration;

use serde::Serialize;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::moment::Moment;

/// Most faults of a drill.
const FAULTS_MAX: usize = 1000;

/// A command, and when it is run.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Seconds after the beginning.
    pub at: f64,
    /// What it is called in the report.
    pub name: String,
    /// What the shell is given.
    pub command: String,
}

/// A fault that was brought about.
#[derive(Debug, Clone, Serialize)]
pub struct Struck {
    /// Seconds after the beginning.
    pub at: f64,
    /// What it is called.
    pub name: String,
    /// What the shell was given.
    pub command: String,
    /// Seconds that the command took.
    pub took: f64,
    /// Whether the command did what it was to do.
    pub done: bool,
    /// How the command ended, for people.
    pub ended: String,
}

/// A line of a drill that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// A line that is no fault.
    #[error(
        "line {line}: {text:?} is no fault; a fault is SECONDS NAME: COMMAND, such as \
         30 the store comes back empty: redis-cli -p 6379 flushall"
    )]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What it says.
        text: String,
    },
    /// More lines than are run.
    #[error("it has more than {FAULTS_MAX} faults")]
    TooMany,
}

/// Reads a drill: a fault a line, `SECONDS NAME: COMMAND`; what begins with `#` is a remark.
///
/// # Errors
/// The first line that is no fault.
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

/// Runs the commands, each at its time, and tells how each ended.
pub(crate) async fn strike(faults: Vec<Fault>, began: Instant, struck: mpsc::UnboundedSender<Struck>) {
    for fault in faults {
        sleep_until(began + Duration::from_secs_f64(fault.at)).await;
        let started = Instant::now();
        // What the command leaves running must not hold this up: it gets none of our streams but the errors.
        let status =
            Command::new("sh").args(["-c", &fault.command]).stdin(Stdio::null()).stdout(Stdio::null()).status().await;
        let (done, ended) = match status {
            Ok(status) => (status.success(), status.to_string()),
            Err(error) => (false, error.to_string()),
        };
        let at = Moment(started.saturating_duration_since(began).as_millis() as u32).seconds();
        let took = started.elapsed().as_secs_f64();
        let told = Struck { at, name: fault.name, command: fault.command, took, done, ended };
        if struck.send(told).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drill_is_read_in_the_order_of_its_times() {
        let faults =
            parse_faults("# a drill\n\n30 the gate starts again: kill -9 1; ./start\n12.5s empty: flushall\n").unwrap();
        assert_eq!(faults[0], Fault { at: 12.5, name: "empty".to_owned(), command: "flushall".to_owned() });
        assert_eq!(faults[1].command, "kill -9 1; ./start");
    }

    #[test]
    fn a_line_that_is_no_fault_is_told_by_its_number() {
        for wrong in ["soon empty: flushall", "30", "30 flushall", "30 : flushall", "30 empty: ", "-3 a: b"] {
            let error = parse_faults(&format!("\n{wrong}")).unwrap_err();
            assert!(error.to_string().starts_with("line 2: "), "{error}");
        }
    }

    #[tokio::test]
    async fn what_a_command_ended_with_is_told() {
        let faults = parse_faults("0 good: true\n0 bad: exit 3\n0 left behind: sleep 30 2> /dev/null &\n").unwrap();
        let (sender, mut struck) = mpsc::unbounded_channel();
        strike(faults, Instant::now(), sender).await;
        let mut done = Vec::new();
        while let Some(struck) = struck.recv().await {
            assert!(struck.took < 5.0);
            done.push(struck.done);
        }
        assert_eq!(done, [true, false, true]);
    }
}

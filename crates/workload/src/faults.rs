//! Fault injection: commands that run at given times.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde::Serialize;
use tokio::process::Command;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};

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

/// Time that the command which runs at the end of the load test has, for instance to start again what it has stopped.
pub(crate) const COMMAND_GRACE: Duration = Duration::from_secs(30);
/// Time between SIGTERM and SIGKILL for a command that takes longer.
const KILL_AFTER: Duration = Duration::from_secs(5);

/// Resolves when the load test has ended: its end of the channel is dropped. It can be awaited again.
async fn end_of(run: &mut watch::Receiver<()>) {
    while run.changed().await.is_ok() {}
}

/// Runs the commands at their times until the run ends, and returns the results. The command that runs then has `grace` to finish.
pub(crate) async fn inject_faults(
    faults: Vec<Fault>,
    started_at: Instant,
    mut run: watch::Receiver<()>,
    grace: Duration,
) -> Vec<InjectedFault> {
    let mut injected = Vec::new();
    for Fault { at, name, command } in faults {
        tokio::select! {
            () = sleep_until(started_at + Duration::from_secs_f64(at)) => {}
            () = end_of(&mut run) => break,
        }
        let started = Instant::now();
        let (succeeded, result) = match run_command(&command, &mut run, grace).await {
            Ok(Some(status)) => (status.success(), status.to_string()),
            Ok(None) => {
                let waited = grace.as_secs();
                (false, format!("still running {waited} s after the end of the test, and ended: {command}"))
            }
            Err(error) => (false, error.to_string()),
        };
        let at = SimTime(started.saturating_duration_since(started_at).as_millis() as u32).seconds();
        let seconds = started.elapsed().as_secs_f64();
        injected.push(InjectedFault { at, name, command, seconds, succeeded, result });
    }
    injected
}

/// Runs a command to its end. `None` if it took too long after the end of the run, and was ended with its child processes.
async fn run_command(command: &str, run: &mut watch::Receiver<()>, grace: Duration) -> io::Result<Option<ExitStatus>> {
    // Background processes of the command must not block: only stderr is inherited.
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
    let mut shell = shell.spawn()?;
    let mut group = ProcessGroup(shell.id().and_then(|id| Pid::from_raw(id.cast_signed())));
    let finished = tokio::select! {
        status = shell.wait() => Some(status?),
        () = async { end_of(run).await; sleep(grace).await } => None,
    };
    if finished.is_some() {
        // Processes that it leaves in the background are a part of the fault, such as a gate that starts again.
        group.0 = None;
        return Ok(finished);
    }
    group.signal(Signal::TERM);
    let _ = timeout(KILL_AFTER, shell.wait()).await;
    Ok(None)
}

/// The processes of a command, which are killed when this is dropped.
struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // They may have ended.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
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
        let (_run, until) = watch::channel(());
        let injected = inject_faults(faults, Instant::now(), until, COMMAND_GRACE).await;
        assert!(injected.iter().all(|it| it.seconds < 5.0), "{injected:?}");
        assert_eq!(injected.iter().map(|it| it.succeeded).collect::<Vec<_>>(), [true, false, true]);
    }

    /// Runs a command that takes longer than the test.
    async fn at_the_end(command: &str, grace: Duration) -> InjectedFault {
        let faults = parse_faults(&format!("0 late: {command}\n5 never: true")).unwrap();
        let (run, until) = watch::channel(());
        let injecting = tokio::spawn(inject_faults(faults, Instant::now(), until, grace));
        sleep(Duration::from_millis(300)).await;
        drop(run);
        let mut injected = injecting.await.unwrap();
        assert_eq!(injected.len(), 1);
        injected.remove(0)
    }

    #[tokio::test]
    async fn command_finishes_after_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("restored");
        let fault = at_the_end(&format!("sleep 1; touch {}", file.display()), COMMAND_GRACE).await;
        assert!(fault.succeeded && file.exists(), "{fault:?}");
    }

    #[tokio::test]
    async fn command_that_takes_too_long_ends_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("late");
        let command = format!("(sleep 2; touch {}) & wait", file.display());
        let fault = at_the_end(&command, Duration::from_millis(200)).await;
        assert!(!fault.succeeded && fault.seconds < 2.0, "{fault:?}");
        assert_eq!(fault.result, format!("still running 0 s after the end of the test, and ended: {command}"));
        sleep(Duration::from_millis(2500)).await;
        assert!(!file.exists(), "a child went on");
    }
}

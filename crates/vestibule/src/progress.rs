//! The progress of a load test, as lines for a terminal or a log.

use std::io::{IsTerminal as _, Write as _};

use rustix::termios::tcgetwinsize;
use vestibule_workload::Progress;

/// Seconds between progress lines if stderr is not a terminal.
const PROGRESS_INTERVAL: usize = 10;
/// Columns of a terminal that does not tell how many it has.
const COLUMNS: u16 = 80;

/// Prints the progress: one line that is updated on a terminal, a line every few seconds otherwise.
pub(crate) struct ProgressPrinter {
    terminal: bool,
    printed: usize,
}

impl ProgressPrinter {
    pub(crate) fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), printed: 0 }
    }

    pub(crate) fn print(&mut self, progress: &Progress) {
        if progress.awaits_fault {
            self.end();
            eprintln!("The command of a fault is still running; it has up to 30 seconds to finish.");
            return;
        }
        let now = progress.now;
        if !self.terminal && now.second() < self.printed + PROGRESS_INTERVAL {
            return;
        }
        self.printed = now.second();
        let line = progress_line(progress);
        // Errors are ignored: progress is not worth failing a run.
        let mut stderr = std::io::stderr().lock();
        let columns = tcgetwinsize(&stderr).map_or(COLUMNS, |size| size.ws_col);
        let columns = if columns == 0 { COLUMNS } else { columns };
        let _ = if self.terminal {
            write!(stderr, "\r{}\x1b[K", fitting(&line, columns))
        } else {
            writeln!(stderr, "{line}")
        };
        let _ = stderr.flush();
    }

    pub(crate) fn end(&self) {
        if self.terminal {
            eprintln!("");
        }
    }
}

fn progress_line(progress: &Progress) -> String {
    let Progress { now, waiting, active, admitted, requests, failures, cause, .. } = progress;
    let why = cause.as_ref().map(|cause| format!(" ({cause})")).unwrap_or_default();
    format!(
        "{:>4} s {waiting:>6} waiting {active:>5} active {admitted:>6} admitted {requests:>8} requests {failures:>3} failed{why}",
        now.second()
    )
}

/// The part of a line that fits this many columns, without the last one: a line that breaks could not be replaced by the next one.
fn fitting(line: &str, columns: u16) -> &str {
    let last = usize::from(columns).saturating_sub(1);
    line.char_indices().nth(last).map_or(line, |(end, _)| &line[..end])
}

#[cfg(test)]
mod tests {
    use vestibule_workload::SimTime;

    use super::*;

    #[test]
    fn progress_fits_the_terminal() {
        let progress = |cause: Option<&str>| Progress {
            now: SimTime(3_599_000),
            waiting: 99_999,
            active: 9_999,
            admitted: 99_999,
            requests: 9_999_999,
            failures: 99,
            cause: cause.map(str::to_owned),
            awaits_fault: false,
        };
        assert_eq!(progress_line(&progress(None)).chars().count(), 79);
        let line = progress_line(&progress(Some("connection refused")));
        assert_eq!(fitting(&line, 80).chars().count(), 79);
        assert_eq!(fitting(&line, 200), line);
    }
}

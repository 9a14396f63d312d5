use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::wait_until;

/// Outlives the test process: when its standard input closes without a word, it ends the server and removes its folder.
const WATCHDOG: &str = r#"trap '' HUP INT TERM; read -r _ && exit; kill -9 "$1"; rm -rf "$2""#;

/// A running server, its output in a file. It is killed on drop, and by a watchdog if the test process dies first.
pub(crate) struct Process {
    child: Child,
    watchdog: Child,
}

impl Process {
    /// Starts `command`, its output appended to `log`; `folder` is what the watchdog removes.
    pub(crate) fn start(command: &mut Command, log: &Path, folder: &Path) -> Self {
        let output = File::options().create(true).append(true).open(log).unwrap();
        let child = command
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", command.get_program().display()));
        let watchdog = Command::new("sh")
            .args(["-c", WATCHDOG, "watchdog", &child.id().to_string()])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh starts");
        Self { child, watchdog }
    }

    /// Sends a signal by its name: `HUP`, `STOP`, ...
    pub(crate) fn signal(&self, name: &str) {
        // The shell's own kill: not every machine has the program.
        let process = self.child.id().to_string();
        let sent = Command::new("sh").args(["-c", r#"kill -"$1" "$2""#, "kill", name, &process]).status();
        assert!(sent.expect("sh starts").success(), "signal {name} was not sent");
    }

    /// The number by which the system knows it.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What the process ended with, if it ended.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Asks the process to end and waits until it did, so that it can end what it started itself.
    pub(crate) fn terminate(&mut self, limit: Duration) {
        const PAUSE: Duration = Duration::from_millis(5);
        if self.ended().is_none() {
            self.signal("TERM");
        }
        for _ in 0..limit.as_millis() / PAUSE.as_millis() {
            if self.ended().is_some() {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits for the process's own end.
    pub(crate) async fn end(&mut self, limit: Duration) -> ExitStatus {
        wait_until("the process ends", limit, async || self.ended().is_some()).await;
        self.ended().expect("it ended")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // All of it may fail, when the process ended by itself; there is nothing left to do then.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(mut leash) = self.watchdog.stdin.take() {
            let _ = leash.write_all(b"done\n");
        }
        let _ = self.watchdog.wait();
    }
}

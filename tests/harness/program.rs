use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use tempfile::TempDir;

use crate::process::Process;
use crate::{Visitor, wait_until};

/// How long a program may take to be ready, and to end when it is asked to.
const TIMEOUT: Duration = Duration::from_secs(15);

/// One of the workspace's own programs, running in a temporary folder of its own.
pub struct Program {
    launch: ProgramOptions,
    folder: TempDir,
    process: Option<Process>,
}

/// What a program is started with.
pub struct ProgramOptions {
    program: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    files: Vec<(String, String)>,
    descriptors: Option<u32>,
    /// A script of `sh` that runs the program, whose path and arguments are its parameters.
    script: Option<&'static str>,
}

impl Program {
    /// The stand-alone program, not started yet: `Program::vestibule(&["serve", "--listen", &address]).start()`.
    pub fn vestibule(arguments: &[&str]) -> ProgramOptions {
        Self::named("vestibule", arguments)
    }

    /// A program of the workspace by its name, not started yet.
    pub fn named(name: &str, arguments: &[&str]) -> ProgramOptions {
        ProgramOptions {
            program: built(name),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            environment: Vec::new(),
            files: Vec::new(),
            descriptors: None,
            script: None,
        }
    }

    /// The folder that the program runs in.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// All that the program wrote so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Waits until the log holds `text`.
    pub async fn until_logged(&mut self, text: &str) {
        wait_until(&format!("the log says {text:?}"), TIMEOUT, async || {
            self.log().contains(text) || {
                self.assert_running();
                false
            }
        })
        .await;
    }

    /// Waits until `http://<address>/_vestibule/health` answers 200.
    pub async fn until_healthy(&mut self, address: &str) {
        let mut visitor = Visitor::new(address, address);
        wait_until(&format!("{address} is healthy"), TIMEOUT, async || {
            self.assert_running();
            visitor.try_get("/_vestibule/health").await.is_ok_and(|answer| answer.status.is_success())
        })
        .await;
    }

    /// The number by which the system knows the program.
    pub fn id(&self) -> u32 {
        self.process.as_ref().expect("the program runs").id()
    }

    /// Sends a signal by its name: `HUP`.
    pub fn signal(&self, name: &str) {
        self.process.as_ref().expect("the program runs").signal(name);
    }

    /// Asks the program to end, and waits until it did.
    pub async fn terminate(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.end().await
    }

    /// Waits until the program ends by itself.
    pub async fn end(&mut self) -> ExitStatus {
        self.end_within(TIMEOUT).await
    }

    /// Waits until the program ends by itself, for longer than others take.
    pub async fn end_within(&mut self, limit: Duration) -> ExitStatus {
        let status = self.process.as_mut().expect("the program runs").end(limit).await;
        self.process = None;
        status
    }

    /// Kills the program at once.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Starts the program again, in the same folder, after [`Self::terminate`] or [`Self::kill`].
    pub fn restart(&mut self) {
        self.kill();
        self.process = Some(self.launch.spawn(self.folder.path()));
    }

    fn assert_running(&mut self) {
        let ended = self.process.as_mut().expect("the program was started").ended();
        assert!(ended.is_none(), "the program ended with {ended:?}:\n{}", self.log());
    }
}

impl ProgramOptions {
    /// Sets a variable of the program's environment, which otherwise has nothing of Vestibule's.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Writes a file into the folder that the program runs in, before it starts.
    #[must_use]
    pub fn file(mut self, name: &str, text: &str) -> Self {
        self.files.push((name.to_owned(), text.to_owned()));
        self
    }

    /// Lets the program have this many file descriptors at most.
    #[must_use]
    pub fn descriptors(mut self, most: u32) -> Self {
        self.descriptors = Some(most);
        self
    }

    /// Closes the pipe of the program's output at once, as `head` does. The exit status is not that of the program.
    #[must_use]
    pub fn unread(mut self) -> Self {
        self.script = Some(r#""$@" | exec true"#);
        self
    }

    /// Writes the program's stdout to a device that is always full.
    #[must_use]
    pub fn on_full_device(mut self) -> Self {
        self.script = Some(r#""$@" > /dev/full"#);
        self
    }

    /// Runs the program on a terminal, for a minute at most: a terminal that is killed sends it only SIGHUP. Its path and arguments have
    /// no spaces.
    #[must_use]
    pub fn on_terminal(mut self) -> Self {
        self.script = Some(r#"exec script --quiet --command "timeout 60 $*" /dev/null"#);
        self
    }

    /// Starts the program; wait for it with [`Program::until_healthy`] or [`Program::until_logged`].
    #[must_use]
    pub fn start(self) -> Program {
        let folder = tempfile::Builder::new().prefix("vestibule-program-").tempdir().unwrap();
        for (name, text) in &self.files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let process = self.spawn(folder.path());
        Program { launch: self, folder, process: Some(process) }
    }

    fn spawn(&self, folder: &Path) -> Process {
        let mut command = match (self.descriptors, self.script) {
            (Some(most), _) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", r#"ulimit -n "$1" && shift && exec "$@""#, "limit", &most.to_string()]);
                shell.arg(&self.program);
                shell
            }
            (None, Some(script)) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", script, "redirected"]).arg(&self.program);
                shell
            }
            (None, None) => Command::new(&self.program),
        };
        without_settings(&mut command);
        command.args(&self.arguments).envs(self.environment.iter().cloned()).current_dir(folder);
        Process::start(&mut command, &folder.join("log"), folder)
    }
}

/// Removes the machine's settings of Vestibule, of the AWS libraries and of certificate authorities.
pub(crate) fn without_settings(command: &mut Command) {
    let is_setting = |name: &str| ["VESTIBULE_", "AWS_", "SSL_CERT_"].iter().any(|prefix| name.starts_with(prefix));
    for (name, _) in std::env::vars().filter(|(name, _)| is_setting(name)) {
        command.env_remove(name);
    }
}

/// The program beside the running test: `target/debug/deps/it-0123` -> `target/debug/<name>`.
pub(crate) fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).expect("tests run from target/<profile>/deps").join(name);
    assert!(program.exists(), "{} is not built: cargo build --workspace --bins --tests", program.display());
    program
}

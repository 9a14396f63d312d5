use std::io::{ErrorKind, Result};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tempfile::TempDir;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::process::Process;
use crate::resp::call;
use crate::{FakeTime, Value, free_port, wait_until};

/// How long a server may take to start, and a command of a test to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A Redis server that keeps nothing on disk.
///
/// The program is `redis-server`, or what `VESTIBULE_TEST_REDIS_SERVER` names (a Valkey, say).
pub struct Redis {
    port: u16,
    arguments: Vec<String>,
    folder: TempDir,
    time: Option<Arc<FakeTime>>,
    process: Mutex<Option<Process>>,
}

impl Redis {
    /// Starts a server and waits until it answers.
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// Starts a server with more options: `["--maxmemory", "20mb"]`.
    pub async fn start_with(options: &[&str]) -> Self {
        Self::launch(free_port(), options).await
    }

    /// The one server of this test process, which nobody may kill, freeze or flush: take a queue id of your own.
    pub async fn shared() -> &'static Self {
        static SHARED: OnceCell<Redis> = OnceCell::const_new();
        SHARED.get_or_init(Self::start).await
    }

    /// Starts a server whose clock is `time`: it stays until the test moves it.
    pub async fn start_at(time: Arc<FakeTime>) -> Self {
        Self::prepared(free_port(), &[], Some(time)).await
    }

    pub(crate) async fn launch(port: u16, options: &[&str]) -> Self {
        Self::prepared(port, options, None).await
    }

    async fn prepared(port: u16, options: &[&str], time: Option<Arc<FakeTime>>) -> Self {
        let folder = tempfile::Builder::new().prefix("vestibule-redis-").tempdir().unwrap();
        let common = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
        let arguments = common.iter().chain(options).map(ToString::to_string).collect();
        Self { time, ..Self::unstarted(port, arguments, folder) }.started().await
    }

    /// Starts the server in `folder` with nothing but `arguments`, its port and its folder.
    pub(crate) async fn run(port: u16, arguments: Vec<String>, folder: TempDir) -> Self {
        Self::unstarted(port, arguments, folder).started().await
    }

    fn unstarted(port: u16, arguments: Vec<String>, folder: TempDir) -> Self {
        Self { port, arguments, folder, time: None, process: Mutex::new(None) }
    }

    async fn started(self) -> Self {
        self.spawn().await;
        self
    }

    async fn spawn(&self) {
        let program = std::env::var("VESTIBULE_TEST_REDIS_SERVER").unwrap_or_else(|_| "redis-server".to_owned());
        let mut command = Command::new(program);
        command.args(&self.arguments).args(["--port", &self.port.to_string(), "--dir"]).arg(self.folder.path());
        if let Some(time) = &self.time {
            time.rule(&mut command);
        }
        let process = Process::start(&mut command, &self.folder.path().join("log"), self.folder.path());
        *self.process() = Some(process);
        wait_until("Redis answers", TIMEOUT, async || {
            let ended = self.process().as_mut().and_then(Process::ended);
            assert!(ended.is_none(), "Redis ended with {ended:?}:\n{}", self.log());
            self.try_command(&["PING"]).await.is_ok_and(|answer| answer == Value::Text("PONG".to_owned()))
        })
        .await;
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address in the form that the program takes.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// What the server wrote to its log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Kills the server at once, as a machine that is gone; connections to it are refused from now on.
    pub fn kill(&self) {
        self.process().take();
    }

    /// Kills the server if it runs, and starts it on the same port with what it has on disk.
    pub async fn restart(&self) {
        self.kill();
        self.spawn().await;
    }

    /// The same for a server that keeps nothing on disk.
    pub async fn restart_empty(&self) {
        self.restart().await;
    }

    /// Stops the server in its tracks: connections are taken, nothing is answered.
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    /// Lets a frozen server go on.
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    /// Runs a command and fails the test if no answer comes. An error of Redis is a [`Value`].
    pub async fn command(&self, words: &[&str]) -> Value {
        self.try_command(words).await.unwrap_or_else(|error| panic!("Redis, {words:?}: {error}"))
    }

    /// Runs a command.
    ///
    /// # Errors
    ///
    /// If the server is gone or does not answer within ten seconds.
    pub async fn try_command(&self, words: &[&str]) -> Result<Value> {
        timeout(TIMEOUT, call(self.port, words)).await.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
    }

    /// A field of `INFO <section>`, if there is one of that name.
    pub async fn info(&self, section: &str, field: &str) -> Option<String> {
        let info = self.command(&["INFO", section]).await;
        info.text().lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':').map(str::to_owned))
    }

    /// Seconds of CPU that the server worked so far.
    pub async fn cpu(&self) -> f64 {
        let mut sum = 0.0;
        for field in ["used_cpu_sys", "used_cpu_user"] {
            sum += self.info("cpu", field).await.unwrap().parse::<f64>().unwrap();
        }
        sum
    }

    /// How many commands the server ran so far, those inside of scripts and the harness's own included.
    pub async fn commands_processed(&self) -> u64 {
        self.info("stats", "total_commands_processed").await.unwrap().parse().unwrap()
    }

    /// How often the server ran one command: `fcall`, `config|get`.
    pub async fn calls(&self, command: &str) -> u64 {
        let Some(statistics) = self.info("commandstats", &format!("cmdstat_{command}")).await else { return 0 };
        let calls = statistics.split(',').find_map(|field| field.strip_prefix("calls="));
        calls.unwrap().parse().unwrap()
    }

    fn signal(&self, name: &str) {
        self.process().as_ref().expect("the server runs").signal(name);
    }

    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        self.process.lock()
    }
}

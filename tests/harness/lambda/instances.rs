use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use super::runtime_api::Outcome;
use super::{Deployment, RuntimeApi};
use crate::process::Process;

/// Between two looks at whether an instance still runs.
const PAUSE: Duration = Duration::from_millis(20);
/// How long an instance may take to ask for its next invocation after it answered one.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Instances of one function, each with a Runtime API of its own and one invocation at a time.
pub struct Instances {
    all: Vec<Instance>,
    idle: Mutex<VecDeque<usize>>,
    free: Semaphore,
}

/// One execution environment: the process, and its Runtime API.
pub struct Instance {
    deployment: Deployment,
    api: RuntimeApi,
    folder: TempDir,
    process: Mutex<Option<Process>>,
    starts: AtomicUsize,
    freezes: AtomicBool,
    frozen: AtomicBool,
}

impl Instances {
    pub(super) async fn start(deployment: Deployment, count: usize) -> Self {
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            all.push(Instance::new(deployment.clone()).await);
        }
        Self { all, idle: Mutex::new((0..count).collect()), free: Semaphore::new(count) }
    }

    pub(super) fn all(&self) -> &[Instance] {
        &self.all
    }

    /// Lambda refuses what finds no instance free and may start no more; here it waits.
    pub(super) async fn invoke(&self, event: Bytes) -> Outcome {
        let _permit = self.free.acquire().await.expect("it is never closed");
        let index = self.idle().pop_front().expect("as many as there are permits");
        let outcome = self.all[index].invoke(event).await;
        self.idle().push_back(index);
        outcome
    }

    fn idle(&self) -> MutexGuard<'_, VecDeque<usize>> {
        self.idle.lock()
    }
}

impl Instance {
    async fn new(deployment: Deployment) -> Self {
        let folder = tempfile::Builder::new().prefix("vestibule-function-").tempdir().unwrap();
        let api = RuntimeApi::open(deployment.timeout).await;
        Self {
            deployment,
            api,
            folder,
            process: Mutex::default(),
            starts: AtomicUsize::new(0),
            freezes: AtomicBool::new(false),
            frozen: AtomicBool::new(false),
        }
    }

    /// From now on the process is stopped between two invocations, as Lambda does it: nothing in it runs, and its
    /// connections are left alone.
    pub fn freezes_between_invocations(&self) {
        self.freezes.store(true, Ordering::SeqCst);
    }

    /// How often the program was started: once, and again after each end.
    #[must_use]
    pub fn starts(&self) -> usize {
        self.starts.load(Ordering::SeqCst)
    }

    /// Whether the process is stopped now.
    pub fn is_frozen(&self) -> bool {
        self.frozen.load(Ordering::SeqCst)
    }

    /// Kills the process at once; the next invocation starts it again.
    pub fn kill(&self) {
        self.process().take();
        self.frozen.store(false, Ordering::SeqCst);
        self.api.deserted();
    }

    /// All that the program wrote so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    async fn invoke(&self, event: Bytes) -> Outcome {
        if self.has_ended() {
            self.api.deserted();
            self.start();
        }
        self.thaw();
        let (id, outcome) = self.api.hand(event);
        let outcome = self.wait(outcome).await;
        self.api.forget(&id);
        self.freeze().await;
        outcome
    }

    /// The answer, or the end of the process or of its time, whichever comes first.
    async fn wait(&self, mut outcome: tokio::sync::oneshot::Receiver<Outcome>) -> Outcome {
        let deadline = Instant::now() + self.deployment.timeout;
        loop {
            tokio::select! {
                said = &mut outcome => return said.unwrap_or_else(|_| Err(ended("Runtime.ExitError"))),
                () = sleep(PAUSE) => {
                    if self.has_ended() {
                        self.api.deserted();
                        return Err(self.api.init_error().unwrap_or_else(|| ended("Runtime.ExitError")));
                    }
                    if Instant::now() > deadline {
                        self.kill();
                        return Err(ended("Sandbox.Timedout"));
                    }
                }
            }
        }
    }

    fn start(&self) {
        self.starts.fetch_add(1, Ordering::SeqCst);
        self.frozen.store(false, Ordering::SeqCst);
        let mut command = self.deployment.command(&self.deployment.program);
        command.env("AWS_LAMBDA_RUNTIME_API", self.api.address()).current_dir(self.folder.path());
        let process = Process::start(&mut command, &self.folder.path().join("log"), self.folder.path());
        *self.process() = Some(process);
    }

    fn has_ended(&self) -> bool {
        self.process().as_mut().is_none_or(|process| process.ended().is_some())
    }

    /// Once the process asks for its next invocation, it has nothing to do any more.
    async fn freeze(&self) {
        if !self.freezes.load(Ordering::SeqCst) || self.has_ended() {
            return;
        }
        let mut idle = self.api.idle();
        let asked = tokio::time::timeout(TIMEOUT, idle.wait_for(|idle| *idle)).await;
        if asked.is_ok() && !self.has_ended() {
            self.signal("STOP");
            self.frozen.store(true, Ordering::SeqCst);
        }
    }

    fn thaw(&self) {
        if self.frozen.swap(false, Ordering::SeqCst) {
            self.signal("CONT");
        }
    }

    fn signal(&self, name: &str) {
        if let Some(process) = self.process().as_ref() {
            process.signal(name);
        }
    }

    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        self.process.lock()
    }
}

fn ended(kind: &str) -> String {
    format!(r#"{{"errorType":"{kind}","errorMessage":"the function ended without an answer"}}"#)
}

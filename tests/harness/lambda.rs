mod emulator;
mod instances;
mod runtime_api;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use bytes::Bytes;

pub use emulator::Emulator;
pub use instances::{Instance, Instances};
pub use runtime_api::RuntimeApi;

use crate::program::{built, without_settings};

/// What a function is deployed as: its program and its environment.
#[derive(Clone, Debug)]
pub struct Deployment {
    name: String,
    program: PathBuf,
    environment: Vec<(String, String)>,
    timeout: Duration,
}

/// A function that can be invoked. It ends with its value.
pub enum Function {
    /// Under the official Runtime Interface Emulator: one instance, one invocation at a time.
    Emulated(Box<Emulator>),
    /// Under the harness's own Runtime API: as many instances as were asked for.
    Instances(Instances),
    /// In the test itself, without a process.
    Here(Box<Handler>),
}

/// What a function in the test does with an event.
type Handler = dyn Fn(serde_json::Value) -> Result<Bytes, String> + Send + Sync;

impl Deployment {
    /// A function of the workspace by the name of its program: `gate`.
    pub fn of(name: &str) -> Self {
        Self::of_program(name, built(name))
    }

    /// Any program that speaks with the Runtime API.
    pub fn of_program(name: &str, program: PathBuf) -> Self {
        Self { name: name.to_owned(), program, environment: Vec::new(), timeout: Duration::from_secs(30) }
    }

    /// Sets a variable of the function's environment, which otherwise has nothing of Vestibule's and of AWS'.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// How long an invocation may take: 30 seconds unless it is said here. Whole seconds.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Puts the function under the Runtime Interface Emulator. The program starts with the first invocation.
    pub async fn emulated(self) -> Function {
        Function::Emulated(Box::new(Emulator::start(&self).await))
    }

    /// Starts this many instances, as many invocations are served at once.
    pub async fn instances(self, count: usize) -> Function {
        Function::Instances(Instances::start(self, count).await)
    }

    /// A command that has what Lambda sets, and what the function is given.
    fn command(&self, program: &std::path::Path) -> Command {
        let mut command = Command::new(program);
        without_settings(&mut command);
        command
            .env("AWS_LAMBDA_FUNCTION_NAME", &self.name)
            .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
            .env("AWS_LAMBDA_FUNCTION_TIMEOUT", self.timeout.as_secs().to_string())
            .env("AWS_LAMBDA_LOG_GROUP_NAME", format!("/aws/lambda/{}", self.name))
            .env("AWS_LAMBDA_LOG_STREAM_NAME", "2026/01/01/[$LATEST]0123456789abcdef")
            .env("AWS_REGION", "eu-west-1")
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl Function {
    /// A function that a test writes itself.
    #[must_use]
    pub fn here(handler: impl Fn(serde_json::Value) -> Result<Bytes, String> + Send + Sync + 'static) -> Self {
        Self::Here(Box::new(handler))
    }

    /// Invokes the function and returns its response, or the error that it reported or ended with.
    ///
    /// # Errors
    ///
    /// What Lambda tells whoever invoked a function that failed: the error's JSON.
    pub async fn invoke(&self, event: impl Into<Bytes>) -> Result<Bytes, String> {
        match self {
            Self::Emulated(emulator) => emulator.invoke(event.into()).await,
            Self::Instances(instances) => instances.invoke(event.into()).await,
            Self::Here(handler) => handler(serde_json::from_slice(&event.into()).unwrap()),
        }
    }

    /// All that the function wrote so far.
    pub fn log(&self) -> String {
        match self {
            Self::Emulated(emulator) => emulator.log(),
            Self::Instances(instances) => instances.all().iter().map(Instance::log).collect(),
            Self::Here(_) => String::new(),
        }
    }

    /// The instances, where the harness runs them itself.
    pub fn each(&self) -> &[Instance] {
        match self {
            Self::Instances(instances) => instances.all(),
            Self::Emulated(_) | Self::Here(_) => &[],
        }
    }
}

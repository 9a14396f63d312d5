mod dockerfile;
mod paths;
mod service;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::process::Process;
use crate::program::{built, without_settings};
use crate::wait_until;

pub use dockerfile::Dockerfile;
use paths::Paths;
use service::Service;

/// How long a service may take to be healthy.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The services of `docker-compose.yml`, run outside of containers: their own commands, variables, files and health
/// checks, with free ports of 127.0.0.1 instead of theirs and temporary folders instead of their volumes.
pub struct ComposeStack {
    services: BTreeMap<String, Service>,
    paths: Paths,
    running: BTreeMap<String, Process>,
    folder: TempDir,
}

impl ComposeStack {
    /// Reads the file; nothing runs yet.
    pub fn read() -> Self {
        let document = yaml("docker-compose.yml");
        let described = document["services"].as_object().expect("services");
        let services: BTreeMap<String, Service> =
            described.iter().map(|(name, described)| (name.clone(), Service::of(name, described))).collect();
        let folder = tempfile::Builder::new().prefix("vestibule-compose-").tempdir().unwrap();
        let paths = Paths::of(&services);
        Self { services, paths, running: BTreeMap::new(), folder }
    }

    /// Starts a service and, before it, what it depends on, and waits until all of these are healthy.
    pub async fn up(&mut self, name: &str) {
        for name in self.with_dependencies(name) {
            if self.running.contains_key(&name) {
                continue;
            }
            self.prepare(&name);
            let mut command = self.command(&name, &self.services[&name].command);
            let process = Process::start(&mut command, &self.log_file(&name), self.folder.path());
            self.running.insert(name.clone(), process);
            self.until_healthy(&name).await;
        }
    }

    /// Runs a service that ends by itself, what it depends on first.
    pub async fn run(&mut self, name: &str) -> ExitStatus {
        for dependency in self.services[name].depends_on.clone() {
            self.up(&dependency).await;
        }
        self.prepare(name);
        let mut command = self.command(name, &self.services[name].command);
        Process::start(&mut command, &self.log_file(name), self.folder.path()).end(TIMEOUT).await
    }

    /// `127.0.0.1:<port>` of what the file calls `<service>:<port>`.
    pub fn address(&self, name: &str, port: u16) -> String {
        self.paths.address(&self.services[name].network, port)
    }

    /// What stands for a path that a service mounts.
    pub fn path(&self, name: &str, mounted: &str) -> PathBuf {
        self.root(name).join(mounted.trim_start_matches('/'))
    }

    /// All that a service wrote so far.
    pub fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.log_file(name)).unwrap_or_default()
    }

    /// What must run before a service, in that order, and the service itself.
    fn with_dependencies(&self, name: &str) -> Vec<String> {
        let mut order = Vec::new();
        for dependency in &self.services[name].depends_on {
            order.extend(self.with_dependencies(dependency));
        }
        order.push(name.to_owned());
        order
    }

    async fn until_healthy(&mut self, name: &str) {
        let Some(test) = &self.services[name].health else { return };
        let mut command = self.command(name, test);
        wait_until(&format!("{name} is healthy"), TIMEOUT, async || {
            let ended = self.running.get_mut(name).expect("it was started").ended();
            assert!(ended.is_none(), "{name} ended with {ended:?}:\n{}", self.log(name));
            command.output().unwrap().status.success()
        })
        .await;
    }

    /// Lays out what the service mounts, addresses and paths in the files put right.
    fn prepare(&self, name: &str) {
        for mount in &self.services[name].mounts {
            let target = self.path(name, &mount.target);
            match &mount.source {
                Some(source) => self.copy(name, &workspace().join(source), &target),
                None => std::fs::create_dir_all(target).unwrap(),
            }
        }
    }

    fn copy(&self, name: &str, from: &Path, to: &Path) {
        if from.is_dir() {
            for entry in std::fs::read_dir(from).unwrap() {
                let entry = entry.unwrap();
                self.copy(name, &entry.path(), &to.join(entry.file_name()));
            }
            return;
        }
        std::fs::create_dir_all(to.parent().expect("a file is in a folder")).unwrap();
        let text = std::fs::read_to_string(from).unwrap();
        std::fs::write(to, self.put_right(name, &text)).unwrap();
    }

    fn command(&self, name: &str, words: &[String]) -> Command {
        let service = &self.services[name];
        let mut words = words.iter().map(|word| self.paths.word(&service.network, &self.put_right(name, word)));
        let mut command = Command::new(words.next().expect("a command has a program"));
        command.args(words).env("PATH", search_path()).current_dir(self.folder.path());
        without_settings(&mut command);
        command.envs(service.environment.iter().map(|(name, value)| (name, self.put_right(&service.name, value))));
        command
    }

    /// Addresses and mounted paths in a text of the service, as they are here.
    fn put_right(&self, name: &str, text: &str) -> String {
        let service = &self.services[name];
        let mut table = self.paths.addresses(&service.network);
        for mount in &service.mounts {
            table.insert(mount.target.clone(), self.path(name, &mount.target).display().to_string());
        }
        paths::replace(text, &table)
    }

    fn root(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn log_file(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.log"))
    }
}

/// The workspace's own programs and tools before the machine's.
fn search_path() -> std::ffi::OsString {
    let built = built("vestibule").parent().expect("a program is in a folder").to_owned();
    let own = [built, workspace().join("deploy/docker"), workspace().join(".tools/python/bin")];
    let machine = std::env::var_os("PATH").unwrap_or_default();
    let debian = [PathBuf::from("/usr/sbin")];
    std::env::join_paths(own.into_iter().chain(std::env::split_paths(&machine)).chain(debian)).unwrap()
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are in the workspace")
}

/// A YAML file of the workspace, anchors and merges resolved.
pub fn yaml(file: &str) -> Value {
    const SCRIPT: &str = "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)";
    let output = Command::new(workspace().join(".tools/python/bin/python"))
        .args(["-c", SCRIPT])
        .arg(workspace().join(file))
        .output()
        .expect("scripts/setup makes .tools/python");
    assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

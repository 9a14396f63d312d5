//! The stand-alone program as people run it.

mod apply;
mod apply_to_backoffice;
mod backoffice;
mod beacon;
mod check;
mod demo;
mod flood;
mod invitations;
mod jobs;
mod lifetime;
mod logging;
mod reload;
mod start;
mod streams;
mod tls;
mod verify_draw;

use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;
use vestibule_core::{Clock as _, Micros, SystemClock, Timestamp};
use vestibule_tests::{Origin, Program, ProgramOptions, free_port};

/// A settings file of one queue before an origin, with more lines for the queue.
fn settings(origin: &str, lines: &str) -> String {
    format!(
        "[[tenants]]\nid = \"acme\"\nname = \"Acme\"\n\n\
         [[queues]]\nid = \"tour\"\ntenant = \"acme\"\nname = \"Acme tour\"\nhosts = [\"tickets.example.com\"]\n\
         handover = {{ kind = \"proxy\", origin = \"{origin}\" }}\nprotection = {{ pre_ticket_from = \"none\" }}\n{lines}\n"
    )
}

/// The time of this machine, in seconds since 1970.
fn now() -> u64 {
    SystemClock::new().now().seconds()
}

/// An event of a settings file, in seconds since 1970. It takes an hour.
fn sale(lobby_at: u64, starts_at: u64) -> String {
    let at = |seconds: u64| Timestamp::of(Micros(0).add_seconds(seconds));
    let (lobby_at, starts_at, ends_at) = (at(lobby_at), at(starts_at), at(starts_at + 3600));
    format!(
        "[[queues.events]]\nid = \"sale\"\nlobby_at = {lobby_at}\nstarts_at = {starts_at}\nends_at = {ends_at}\norder = \"arrival\"\n"
    )
}

const HOST: &str = "tickets.example.com";
const COOKIE: &str = "vestibule_tour";

/// A file in a folder of its own.
struct SettingsFile {
    folder: TempDir,
}

impl SettingsFile {
    fn of(text: &str) -> Self {
        let file = Self { folder: tempfile::tempdir().unwrap() };
        file.write(text);
        file
    }

    fn write(&self, text: &str) {
        std::fs::write(self.path(), text).unwrap();
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("vestibule.toml")
    }

    fn shown(&self) -> String {
        self.path().display().to_string()
    }
}

/// Runs the program to its end, and returns its status and all that it said.
pub(crate) async fn run(arguments: &[&str]) -> (i32, String) {
    let mut program = Program::vestibule(arguments).start();
    let status = program.end().await;
    (status.code().unwrap_or(-1), program.log())
}

/// A running gate over a settings file, its keys kept in its own folder.
struct RunningGate {
    program: Program,
    address: String,
    file: SettingsFile,
    origin: Origin,
}

impl RunningGate {
    async fn with(lines: &str) -> Self {
        Self::launched(lines, &[], |launch| launch).await
    }

    async fn launched(lines: &str, more: &[&str], change: impl FnOnce(ProgramOptions) -> ProgramOptions) -> Self {
        let origin = Origin::start();
        let file = SettingsFile::of(&settings(&origin.url(), lines));
        let address = format!("127.0.0.1:{}", free_port());
        let shown = file.shown();
        let mut arguments = vec!["serve", "--listen", &address, "--settings", &shown, "--state", "state"];
        arguments.extend(more);
        let mut program = change(Program::vestibule(&arguments)).start();
        program.until_healthy(&address).await;
        Self { program, address, file, origin }
    }

    fn visitor(&self) -> vestibule_tests::Visitor {
        vestibule_tests::Visitor::new(&self.address, HOST)
    }
}

fn session(visitor_status: &Value) -> &str {
    visitor_status["session"].as_str().unwrap_or_else(|| panic!("no session: {visitor_status}"))
}

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use vestibule_core::Micros;

/// A clock that stands until it is moved, for a server that goes by the machine's.
///
/// libfaketime, loaded into the server, gives it the instant in a file whenever it asks what time it is; how long
/// something lasts (the monotonic clock) it still learns from the machine, so its event loop runs on.
pub struct FakeTime {
    folder: TempDir,
}

impl FakeTime {
    /// A clock that stands at `now`.
    pub fn at(now: Micros) -> Self {
        let time = Self { folder: tempfile::Builder::new().prefix("vestibule-time-").tempdir().unwrap() };
        time.set(now);
        time
    }

    /// Moves the clock.
    pub fn set(&self, now: Micros) {
        // Half a microsecond more: the fraction becomes a binary one on its way and is cut off, not rounded.
        let text = format!("{}.{:06}5\n", now.seconds(), now.0 % 1_000_000);
        let (next, file) = (self.folder.path().join("next"), self.file());
        std::fs::write(&next, text).unwrap();
        std::fs::rename(next, file).unwrap();
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("now")
    }

    /// Makes the program that is started go by this clock.
    pub(crate) fn rule(&self, command: &mut Command) {
        command
            .env("LD_PRELOAD", preload())
            .env("FAKETIME_TIMESTAMP_FILE", self.file())
            .env("FAKETIME_FMT", "%s")
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    }

    /// The environment of a program whose clock is this much ahead or behind: `+5s`.
    pub fn environment(offset: &str) -> Vec<(String, String)> {
        let variables = [("LD_PRELOAD", &*preload()), ("FAKETIME", offset), ("FAKETIME_DONT_FAKE_MONOTONIC", "1")];
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }
}

/// The C library's own allocator comes first: jemalloc asks for the time before libfaketime is ready to tell it.
fn preload() -> String {
    format!("{}:libc.so.6", library().display())
}

/// Where Debian's package `faketime` puts it, whatever the machine's architecture.
fn library() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib").unwrap().flatten().map(|entry| entry.path());
    let mut libraries = folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1"));
    libraries.find(|library| Path::exists(library)).expect("libfaketime is not installed: run scripts/setup")
}

//! Prints to stdout and stderr. A command whose text cannot be written still does its work, and fails at its end, unless the reader
//! has closed the pipe.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write as _};
use std::sync::OnceLock;

/// The first error of stdout.
static FAILURE: OnceLock<io::Error> = OnceLock::new();

/// Prints a text to stdout.
pub(crate) fn print(text: Arguments<'_>) {
    note(io::stdout().write_fmt(text));
}

/// Prints a line to stdout.
pub(crate) fn print_line(text: Arguments<'_>) {
    note(writeln!(io::stdout(), "{text}"));
}

/// Prints a line to stderr.
pub(crate) fn print_error(text: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Why a part of the text is missing in stdout, if it is.
pub(crate) fn failure() -> Option<&'static io::Error> {
    note(io::stdout().flush());
    FAILURE.get()
}

fn note(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        let _ = FAILURE.set(error);
    }
}

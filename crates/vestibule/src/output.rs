//! Prints to stdout and stderr. Errors are ignored: nobody reads the text any more, and the command still has work to do.

use std::fmt::Arguments;
use std::io::Write as _;

/// Prints a text to stdout.
pub(crate) fn print(text: Arguments<'_>) {
    let _ = std::io::stdout().write_fmt(text);
}

/// Prints a line to stdout.
pub(crate) fn print_line(text: Arguments<'_>) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Prints a line to stderr.
pub(crate) fn print_error(text: Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

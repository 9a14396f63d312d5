//! Asks at the terminal.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use anyhow::bail;

/// Asks a question at the terminal. Without one, the error gives this hint.
pub(crate) fn prompt(question: &str, hint: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("stdin is not a terminal; {hint}");
    }
    print!("{question} [y/N] ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

//! Options from environment variables: an empty variable counts as not set, an error names the variable, and a misspelled one is
//! reported.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command, Parser};

/// What the names of all variables begin with.
const PREFIX: &str = "VESTIBULE_";
/// Minimum similarity (0 to 1) of an unknown variable to a known one for which it is taken to be meant.
const SIMILARITY_MIN: f64 = 0.95;

/// Parses the command line and the environment, or ends the process with an error or the help.
pub(crate) fn parse<T: Parser>() -> T {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let is_empty = |name: &std::ffi::OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    let command = without_variables(T::command(), &is_empty);
    let mut matches = match command.clone().try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) => {
            let variable = variable_of(&error, &command, &arguments);
            let _ = error.print();
            if let Some(variable) = variable {
                eprintln!("\nThe value is that of the environment variable {variable}.");
            }
            std::process::exit(error.exit_code());
        }
    };
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    // Empty variables are read, too.
    for warning in misspelled(&T::command(), names) {
        eprintln!("warning: {warning}");
    }
    T::from_arg_matches_mut(&mut matches).unwrap_or_else(|error| error.format(&mut command.clone()).exit())
}

/// A command that does not read these variables.
fn without_variables(command: Command, is_left_out: &dyn Fn(&std::ffi::OsStr) -> bool) -> Command {
    let without = |arg: Arg| {
        let is_read = !arg.get_env().is_some_and(is_left_out);
        // The empty name is that of no variable.
        if is_read { arg } else { arg.env("").hide_env(true) }
    };
    command.mut_args(without).mut_subcommands(|command| without_variables(command, is_left_out))
}

/// A warning for each of these variables that is not read but seems to be meant for an option.
fn misspelled(command: &Command, names: impl Iterator<Item = String>) -> Vec<String> {
    let options = options(command);
    let known = || options.iter().filter_map(|(_, variable)| variable.as_deref());
    let warning = |name: &String| {
        let rest = name.strip_prefix(PREFIX)?;
        if known().any(|variable| variable == name) {
            return None;
        }
        let flag = rest.to_lowercase().replace('_', "-");
        if let Some((flag, variable)) = options.iter().find(|(long, _)| *long == flag) {
            let instead =
                variable.as_ref().map_or_else(|| "has no variable".to_owned(), |it| format!("is set by {it}"));
            return Some(format!("{name} is not read: --{flag} {instead}"));
        }
        let similarity = |variable: &&str| strsim::jaro_winkler(rest, variable.trim_start_matches(PREFIX));
        let best = known().max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
        (similarity(&best) >= SIMILARITY_MIN).then(|| format!("{name} is not read; did you mean {best}?"))
    };
    names.filter_map(|name| warning(&name)).collect()
}

/// The flags of a command and its subcommands without their dashes, each with its variable.
fn options(command: &Command) -> Vec<(String, Option<String>)> {
    let option = |arg: &Arg| {
        let variable = arg.get_env().map(|name| name.to_string_lossy().into_owned());
        Some((arg.get_long()?.to_owned(), variable.filter(|name| !name.is_empty())))
    };
    let own = command.get_arguments().filter_map(option);
    let mut all: Vec<_> = own.chain(command.get_subcommands().flat_map(options)).collect();
    // `--store` has a variable in some commands only.
    all.sort_by_key(|(_, variable)| variable.is_none());
    all
}

/// The variable that has the value of an invalid option, if the option is not among the arguments.
fn variable_of(error: &clap::Error, command: &Command, arguments: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    // As in `--listen <ADDR>`.
    let flag = option.split_whitespace().next()?;
    let is_given =
        |argument: &OsString| argument.to_str().is_some_and(|it| it == flag || it.starts_with(&format!("{flag}=")));
    if arguments.iter().any(is_given) {
        return None;
    }
    let mut command = command;
    for name in arguments.iter().skip(1).filter_map(|argument| argument.to_str()) {
        command = command.find_subcommand(name).unwrap_or(command);
    }
    let arg = command.get_arguments().find(|arg| arg.get_long().is_some_and(|long| flag == format!("--{long}")))?;
    let variable = arg.get_env().filter(|name| std::env::var_os(name).is_some())?;
    Some(variable.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use crate::cli::Cli;

    #[test]
    fn misspelled_variables_are_reported() {
        let warnings = |names: &[&str]| {
            super::misspelled(&Cli::command(), names.iter().map(|name| format!("VESTIBULE_{name}"))).join("; ")
        };
        let store = warnings(&["STORE"]);
        assert!(store.ends_with("STORE is not read: --store is set by VESTIBULE_REDIS_URL"), "{store}");
        let keys = warnings(&["TICKET_KEY"]);
        assert!(keys.ends_with("TICKET_KEY is not read; did you mean VESTIBULE_TICKET_KEYS?"), "{keys}");
        let silent =
            ["REDIS_URL", "QUOTA", "PORT", "SERVICE_HOST", "PORT_8080_TCP", "PURGE_BUDGET_MS", "TEST_REDIS_SERVER"];
        assert_eq!(warnings(&silent), "", "others are those of containers, functions and tests");
    }
}

//! Options from environment variables: an empty variable counts as not set, and an error names the variable.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command, Parser};

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

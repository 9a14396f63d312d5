//! Logging: levels per module, text or JSON.

use std::fmt::Debug;

use tracing::field::Field;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::log_format::RequestIdFormat;

/// The default levels: what an operator needs to know, without a line per request (`request=info` adds those).
pub(crate) const DEFAULT_LEVELS: &str = "info,request=off";

/// The field of an audit event that has the whole of it.
const ENTRY: &str = "entry";

/// Libraries that log complete messages at level trace, with cookies, addresses and signatures.
const PAYLOAD_LOGGERS: [&str; 2] = ["lambda_runtime", "aws_"];

/// The format of log lines (`VESTIBULE_LOG_FORMAT`, `--log-format`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

impl std::str::FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("must be text or json".to_owned()),
        }
    }
}

/// Starts logging to standard error. `levels` is `VESTIBULE_LOG`: `info`, or levels per module such as
/// `warn,vestibule_gate=debug`. Unless they name the target `request`, there is no line per request.
///
/// # Errors
/// The levels are invalid; the text says why.
pub fn init_telemetry(levels: &str, format: LogFormat) -> Result<(), String> {
    let levels = parsed(&with_default(levels)).map_err(|directive| {
        format!(
            "must be error, warn, info, debug, trace or off, and levels per module such as info,vestibule_gate=debug: \
             \"{directive}\" is neither"
        )
    })?;
    let registry = tracing_subscriber::registry().with(levels).with(NoTracePayloads);
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let started = match format {
        LogFormat::Text => {
            let lines = lines.fmt_fields(debug_fn(write_field).delimited(" "));
            registry.with(lines.map_event_format(RequestIdFormat::text)).try_init()
        }
        LogFormat::Json => {
            let lines = lines.json().flatten_event(true).with_current_span(false).with_span_list(false);
            registry.with(lines.map_event_format(RequestIdFormat::json)).try_init()
        }
    };
    started.map_err(|error| error.to_string())
}

/// Writes a field as people read it: the JSON of an audit event, which has all of its changes, is for programs.
fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> std::fmt::Result {
    match field.name() {
        "message" => write!(writer, "{value:?}"),
        ENTRY => write!(writer, "{ENTRY}=.."),
        name => write!(writer, "{name}={value:?}"),
    }
}

/// A line per request must be enabled by name: `info` or `debug` alone do not enable it.
fn with_default(levels: &str) -> String {
    let named = levels.split(',').any(|directive| directive.trim().starts_with("request"));
    if named { levels.to_owned() } else { format!("request=off,{levels}") }
}

/// Levels per module, and `info` for all others unless a level without a module says more or less; the error is the invalid part.
/// Spaces and empty parts are ignored. A filter by fields of spans would add a regular expression engine.
fn parsed(levels: &str) -> Result<Targets, String> {
    let directives = levels.split(',').map(str::trim).filter(|directive| !directive.is_empty());
    directives.into_iter().try_fold(Targets::new().with_default(LevelFilter::INFO), |targets, directive| {
        let none = || directive.to_owned();
        match directive.split_once('=') {
            Some((module, level)) => {
                Ok(targets.with_target(name(module).ok_or_else(none)?, one(level).ok_or_else(none)?))
            }
            None => one(directive).map(|level| targets.with_default(level)).ok_or_else(none),
        }
    })
}

fn name(module: &str) -> Option<&str> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b':' | b'.');
    let module = module.trim();
    (!module.is_empty() && module.bytes().all(plain)).then_some(module)
}

fn one(level: &str) -> Option<LevelFilter> {
    let level = level.trim();
    if level.is_empty() { None } else { level.parse().ok() }
}

/// Suppresses messages that no log may contain, at any level.
struct NoTracePayloads;

impl NoTracePayloads {
    fn allows(metadata: &Metadata<'_>) -> bool {
        *metadata.level() != Level::TRACE
            || !PAYLOAD_LOGGERS.iter().any(|library| metadata.target().starts_with(library))
    }
}

impl<S: Subscriber> Layer<S> for NoTracePayloads {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if Self::allows(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        Self::allows(metadata)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_lines_must_be_enabled() {
        for (asked, meant) in [
            ("info", "request=off,info"),
            ("warn,vestibule_gate=debug", "request=off,warn,vestibule_gate=debug"),
            ("info,request=info", "info,request=info"),
            ("info, request=debug", "info, request=debug"),
            (DEFAULT_LEVELS, DEFAULT_LEVELS),
        ] {
            assert_eq!(with_default(asked), meant);
        }
    }

    #[test]
    fn levels_are_read_by_module() {
        let levels =
            parsed("warn, vestibule_gate=debug,vestibule_gate::respond=off,request = Info,,fred=trace").unwrap();
        for (module, level, shown) in [
            ("hyper", Level::WARN, true),
            ("hyper", Level::INFO, false),
            ("vestibule_gate", Level::DEBUG, true),
            ("vestibule_gate::decide", Level::DEBUG, true),
            ("vestibule_gate::decide", Level::TRACE, false),
            ("vestibule_gate::respond", Level::ERROR, false),
            ("request", Level::INFO, true),
            ("request", Level::DEBUG, false),
            ("fred::router", Level::TRACE, true),
        ] {
            assert_eq!(levels.would_enable(module, &level), shown, "{module} {level}");
        }
    }

    #[test]
    fn other_modules_have_the_level_info() {
        let levels = parsed("request=info").unwrap();
        assert!(levels.would_enable("vestibule_gate", &Level::INFO));
        assert!(!levels.would_enable("vestibule_gate", &Level::DEBUG));
    }

    #[test]
    fn invalid_levels_are_named() {
        for (levels, named) in [
            ("warning", "warning"),
            ("info,fred", "fred"),
            ("info,=", "="),
            ("info,vestibule_gate=loud", "vestibule_gate=loud"),
            ("vestibule_gate=", "vestibule_gate="),
            ("=debug", "=debug"),
            ("info,a=debug=info", "a=debug=info"),
            ("info,[span]=debug", "[span]=debug"),
            ("info;warn", "info;warn"),
        ] {
            assert_eq!(parsed(levels).unwrap_err(), named);
        }
    }
}

//! Logging: levels per module, text or JSON.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Levels where nobody gave any: what an operator wants to know, without a line a request (`request=info` adds those).
pub const DEFAULT_LEVELS: &str = "info,request=off";

/// How log lines look (`VESTIBULE_LOG_FORMAT`, `--log-format`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

impl std::str::FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("takes text or json".to_owned()),
        }
    }
}

/// Starts logging to standard error. `levels` is `VESTIBULE_LOG`: `info`, or levels per module such as
/// `warn,vestibule_gate=debug`.
///
/// # Errors
/// Levels that are none, in words.
pub fn init_telemetry(levels: &str, format: LogFormat) -> Result<(), String> {
    let filter = EnvFilter::try_new(levels)
        .map_err(|error| format!("takes levels per module such as info,vestibule_gate=debug: {error}"))?;
    let registry = tracing_subscriber::registry().with(filter);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => registry.with(lines.with_ansi(false)).try_init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true).with_current_span(false)).try_init(),
    };
    started.map_err(|error| error.to_string())
}

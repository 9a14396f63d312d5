//! Arguments that several commands have.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args;
use vestibule_core::settings::{InvalidOrigin, Origin};
use vestibule_runtime::LogFormat;

#[derive(Args, Clone)]
pub(crate) struct LogOptions {
    /// Log level: error, warn, info, debug, trace or off, and levels of modules as a comma-separated list;
    /// info,request=info logs every request
    #[arg(long = "log", env = "VESTIBULE_LOG", default_value = "info", value_name = "LEVELS")]
    pub(crate) levels: String,

    /// Log format: text or json
    #[arg(long = "log-format", env = "VESTIBULE_LOG_FORMAT", default_value = "text", value_name = "FORMAT")]
    pub(crate) format: LogFormat,
}

/// A listen address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listen {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl std::str::FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(path.into()));
        }
        let expected = "must be an address and port, such as 127.0.0.1:8080 or [::]:80, or unix:/run/vestibule.sock";
        text.parse().map(Self::Tcp).map_err(|_| expected.to_owned())
    }
}

impl std::fmt::Display for Listen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "http://{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Parses the origin of a site.
pub(crate) fn parse_origin(text: &str) -> Result<Origin, String> {
    text.parse().map_err(|error: InvalidOrigin| error.to_string())
}

/// Parses a whole number within bounds; the error states the bounds.
pub(crate) fn whole<T: TryFrom<u64>>(bounds: RangeInclusive<u64>) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number =
            text.parse().ok().filter(|number| bounds.contains(number)).and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| match (bounds.start(), *bounds.end()) {
            (min, u64::MAX) => format!("must be a whole number, at least {min}"),
            (min, max) => format!("must be a whole number from {min} to {max}"),
        })
    }
}

/// Parses the variable of a flag without a value.
pub(crate) fn flag(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err("must be true, yes, on or 1, or false, no, off or 0".to_owned()),
    }
}

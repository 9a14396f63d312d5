//! Headers that only trusted proxies can send: `VESTIBULE_TRUSTED_HEADERS`.

use std::fmt;
use std::str::FromStr;

/// Maximum number of names and prefixes.
const NAMES_MAX: usize = 50;
/// Maximum length of a name or prefix.
const NAME_MAX: usize = 128;
/// Minimum length of a prefix, so that nobody trusts all headers by mistake.
const PREFIX_MIN: usize = 3;
/// Headers that Vestibule, the connection or every client needs.
const RESERVED: [&str; 14] = [
    "accept*",
    "access-control-*",
    "authorization",
    "connection",
    "content-*",
    "cookie",
    "forwarded",
    "host",
    "origin",
    "sec-*",
    "transfer-encoding",
    "upgrade",
    "x-forwarded-*",
    "x-vestibule-*",
];

/// A value of `VESTIBULE_TRUSTED_HEADERS` that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTrustedHeaders {
    /// This is neither the name of a header nor a prefix.
    #[error(
        "must be names of headers such as cf-bot-score, or prefixes such as x-amzn-waf-*, separated by commas; got \"{0}\""
    )]
    Name(String),
    /// Clients send this header too.
    #[error("must not include headers that Vestibule or the connection needs; got \"{0}\"")]
    Reserved(String),
    /// There are too many.
    #[error("must be at most {NAMES_MAX} names and prefixes")]
    TooMany,
}

/// The names of headers, and prefixes of names, that are dropped unless a trusted proxy sent them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustedHeaders(Vec<String>);

impl TrustedHeaders {
    /// Whether no header is trusted.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the header is one of them. Names are case-insensitive.
    pub fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|trusted| covers(trusted, name))
    }

    /// Whether the header is none of them, and an origin can take it for one, as [`name_with_hyphens`] says.
    pub fn are_imitated_by(&self, name: &str) -> bool {
        let name_read = name_with_hyphens(name);
        let with_hyphens = |trusted: &str| match trusted.strip_suffix('*') {
            Some(prefix) => name_with_hyphens(prefix) + "*",
            None => name_with_hyphens(trusted),
        };
        !self.contains(name) && self.0.iter().any(|trusted| covers(&with_hyphens(trusted), &name_read))
    }
}

impl FromStr for TrustedHeaders {
    type Err = InvalidTrustedHeaders;

    fn from_str(text: &str) -> Result<Self, InvalidTrustedHeaders> {
        let names = text.split([',', ' ']).map(str::trim).filter(|name| !name.is_empty());
        let names = names.map(parse_name).collect::<Result<Vec<_>, _>>()?;
        if names.len() > NAMES_MAX { Err(InvalidTrustedHeaders::TooMany) } else { Ok(Self(names)) }
    }
}

impl fmt::Display for TrustedHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "" })?;
        f.write_str(&self.0.join(", "))
    }
}

fn parse_name(text: &str) -> Result<String, InvalidTrustedHeaders> {
    let name = text.to_ascii_lowercase();
    let prefix = name.strip_suffix('*');
    let is_valid = prefix.unwrap_or(&name).bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    let is_long_enough = prefix.is_none_or(|prefix| prefix.len() >= PREFIX_MIN);
    if !is_valid || !is_long_enough || name.len() > NAME_MAX {
        return Err(InvalidTrustedHeaders::Name(text.chars().take(NAME_MAX).collect()));
    }
    if RESERVED.into_iter().any(|reserved| covers(reserved, &name) || covers(&name, reserved)) {
        return Err(InvalidTrustedHeaders::Reserved(text.to_owned()));
    }
    Ok(name)
}

/// The name of the header for which an origin can take one of this name: where headers become variables (CGI, WSGI, PHP), a hyphen
/// becomes an underscore, and with some servers each character that is neither a letter nor a digit does.
pub fn name_with_hyphens(name: &str) -> String {
    name.replace(|character: char| !character.is_ascii_alphanumeric(), "-")
}

/// Whether a name, or a name with this prefix and `*`, is covered by a name or prefix.
fn covers(trusted: &str, name: &str) -> bool {
    match trusted.strip_suffix('*') {
        Some(prefix) => name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix)),
        None => name.eq_ignore_ascii_case(trusted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_prefixes_are_trusted() {
        let trusted: TrustedHeaders = "CF-Bot-Score, x-amzn-waf-*".parse().unwrap();
        assert_eq!(trusted.to_string(), "cf-bot-score, x-amzn-waf-*");
        for name in ["cf-bot-score", "Cf-Bot-Score", "x-amzn-waf-verdict", "X-AMZN-WAF-"] {
            assert!(trusted.contains(name), "{name}");
        }
        for name in ["cf-bot-scores", "cf-bot", "x-amzn-waf", "x-amzn-trace-id", ""] {
            assert!(!trusted.contains(name), "{name}");
        }
        for name in ["cf_bot_score", "CF-Bot_Score", "cf.bot.score", "x_amzn-waf-verdict"] {
            assert!(trusted.are_imitated_by(name), "{name}");
        }
        for name in ["cf-bot-score", "x-amzn-waf-a_b", "cf_bot_scores"] {
            assert!(!trusted.are_imitated_by(name), "{name}");
        }
        let with_underscore: TrustedHeaders = "bot_score".parse().unwrap();
        assert!(with_underscore.are_imitated_by("bot-score") && !with_underscore.are_imitated_by("bot_score"));
        let none: TrustedHeaders = " ".parse().unwrap();
        assert!(none.is_empty() && none.to_string() == "none");
    }

    #[test]
    fn names_that_everyone_sends_are_refused() {
        for text in ["cookie", "Host", "x-*", "x-forwarded-for", "x-f*", "x-vestibule-ticket", "sec-fetch-mode", "con*"]
        {
            assert!(text.parse::<TrustedHeaders>().is_err(), "{text}");
        }
        assert_eq!("a b:c".parse::<TrustedHeaders>(), Err(InvalidTrustedHeaders::Name("b:c".to_owned())));
        assert_eq!("*".parse::<TrustedHeaders>(), Err(InvalidTrustedHeaders::Name("*".to_owned())));
        assert_eq!("x-f*".parse::<TrustedHeaders>(), Err(InvalidTrustedHeaders::Reserved("x-f*".to_owned())));
        let many = vec!["x-score"; NAMES_MAX + 1].join(",");
        assert_eq!(many.parse::<TrustedHeaders>(), Err(InvalidTrustedHeaders::TooMany));
    }
}

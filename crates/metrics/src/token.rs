//! The secret that a scrape must know.

use http::{HeaderMap, header};
use subtle::ConstantTimeEq as _;
use vestibule_http::{VariableError, required};

/// Fewest characters of a token: shorter ones are guessed.
pub const TOKEN_MIN: usize = 16;
/// Most characters of a token: it comes in one header.
pub const TOKEN_MAX: usize = 1024;

const VARIABLE: &str = "VESTIBULE_METRICS_TOKEN";

/// Text that is no token; says what one takes, and not what was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("takes {TOKEN_MIN} to {TOKEN_MAX} characters that a header may hold, without spaces: openssl rand -hex 32")]
pub struct TokenError;

/// The bearer token of the metrics. It is never shown.
#[derive(Clone)]
pub struct MetricsToken(String);

impl MetricsToken {
    /// Reads `VESTIBULE_METRICS_TOKEN`, which there must be.
    ///
    /// # Errors
    /// It is missing, or no token.
    pub fn from_env() -> Result<Self, VariableError> {
        let text = required(VARIABLE, "the bearer token that a scrape must send: openssl rand -hex 32")?;
        text.parse().map_err(|error: TokenError| VariableError::new(VARIABLE, error.to_string()))
    }

    /// Whether a request carries this very token. Takes as long for one that is nearly right as for one that is not.
    pub(crate) fn is_in(&self, headers: &HeaderMap) -> bool {
        let sent = headers.get(header::AUTHORIZATION).map(http::HeaderValue::as_bytes);
        let bearer = sent.and_then(|sent| sent.split_at_checked(7));
        bearer.is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case(b"bearer ") && bool::from(token.trim_ascii().ct_eq(self.0.as_bytes()))
        })
    }
}

impl std::str::FromStr for MetricsToken {
    type Err = TokenError;

    /// Takes what stands between spaces and newlines, as a file that holds a secret often ends with one.
    fn from_str(text: &str) -> Result<Self, TokenError> {
        let token = text.trim();
        let fits = (TOKEN_MIN..=TOKEN_MAX).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Self(token.to_owned())) } else { Err(TokenError) }
    }
}

impl std::fmt::Debug for MetricsToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MetricsToken")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef";

    fn sent(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::AUTHORIZATION, value.parse().unwrap())])
    }

    #[test]
    fn only_the_very_token_is_the_token() {
        let token: MetricsToken = SECRET.parse().unwrap();
        for good in ["Bearer 0123456789abcdef", "bearer 0123456789abcdef", "BEARER  0123456789abcdef "] {
            assert!(token.is_in(&sent(good)), "{good}");
        }
        for bad in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdeF",
            "Bearer 0123456789abcdef0",
            "Basic 0123456789abcdef",
            "0123456789abcdef",
            "Bearer 0123456789abcdef, Bearer 0123456789abcdef",
        ] {
            assert!(!token.is_in(&sent(bad)), "{bad}");
        }
        assert!(!token.is_in(&HeaderMap::new()));
    }

    #[test]
    fn what_is_no_token_is_refused_and_not_repeated() {
        for bad in ["", "short", "0123456789abcde", "0123456789 abcdef", "0123456789abcdé", &"x".repeat(TOKEN_MAX + 1)]
        {
            let error = bad.parse::<MetricsToken>().unwrap_err().to_string();
            assert!(error.contains("16 to 1024") && (bad.is_empty() || !error.contains(bad)), "{error}");
        }
        assert!(format!("{SECRET}\n").parse::<MetricsToken>().is_ok());
        assert!(!format!("{:?}", SECRET.parse::<MetricsToken>()).contains(SECRET));
    }
}

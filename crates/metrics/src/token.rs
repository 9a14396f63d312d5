//! The bearer token of a scrape.

use http::{HeaderMap, header};
use subtle::ConstantTimeEq as _;
use vestibule_runtime::{EnvError, required};

/// Minimum length of a token in characters.
const TOKEN_MIN: usize = 16;
/// Maximum length of a token in characters.
pub const TOKEN_MAX: usize = 1024;

const VARIABLE: &str = "VESTIBULE_METRICS_TOKEN";

/// An invalid token. The message does not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be {TOKEN_MIN} to {TOKEN_MAX} printable ASCII characters without spaces, for example from openssl rand -hex 32"
)]
pub struct TokenError;

/// The bearer token of the metrics. `Debug` does not print it.
#[derive(Clone)]
pub struct MetricsToken(String);

impl MetricsToken {
    /// Reads `VESTIBULE_METRICS_TOKEN`, which is required.
    ///
    /// # Errors
    /// The variable is missing or invalid.
    pub fn from_env() -> Result<Self, EnvError> {
        let text = required(VARIABLE, "the bearer token of a scrape, for example from openssl rand -hex 32")?;
        text.parse().map_err(|error: TokenError| EnvError::new(VARIABLE, error.to_string()))
    }

    /// Whether a request carries this token, compared in constant time.
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

    /// Trims whitespace, because a file with a secret often ends with a newline.
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
    fn only_the_exact_token_is_accepted() {
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
    fn invalid_tokens_are_rejected_and_not_echoed() {
        for bad in ["", "short", "0123456789abcde", "0123456789 abcdef", "0123456789abcdé", &"x".repeat(TOKEN_MAX + 1)]
        {
            let error = bad.parse::<MetricsToken>().unwrap_err().to_string();
            assert!(error.contains("16 to 1024") && (bad.is_empty() || !error.contains(bad)), "{error}");
        }
        assert!(format!("{SECRET}\n").parse::<MetricsToken>().is_ok());
        assert!(!format!("{:?}", SECRET.parse::<MetricsToken>()).contains(SECRET));
    }
}

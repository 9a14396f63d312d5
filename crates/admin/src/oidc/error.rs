//! The result of a sign-in through the provider.

use crate::access::OperatorName;

/// Why single sign-on failed. The code is for the sign-in page, the cause for the log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OidcError {
    #[error("there is no identity provider")]
    NoProvider,
    #[error("the attempt has expired, was already used, or began in another browser")]
    AttemptExpired,
    #[error("the address that the browser came back with belongs to another attempt")]
    WrongState,
    #[error("the provider refused: {0}")]
    Refused(String),
    #[error("the provider did not respond as expected: {0}")]
    Unavailable(String),
    #[error("the provider's ID token is not valid: {0}")]
    #[cfg_attr(not(feature = "oidc"), expect(dead_code, reason = "only a provider finds it"))]
    NotProven(String),
    #[error("the provider's ID token does not name an operator: {0}")]
    #[cfg_attr(not(feature = "oidc"), expect(dead_code, reason = "only a provider finds it"))]
    Nameless(&'static str),
    #[error("there is no operator of this name: {0}")]
    UnknownOperator(String),
    #[error("sign-ins from this address failed too often")]
    Slowed,
    #[error("the store did not respond")]
    Store,
}

impl OidcError {
    /// A word for programs; it never changes.
    pub(crate) const fn code(&self) -> &'static str {
        match self {
            Self::NoProvider => "oidc_not_configured",
            Self::AttemptExpired => "attempt_expired",
            Self::WrongState => "wrong_state",
            Self::Refused(_) => "provider_refused",
            Self::Unavailable(_) => "provider_unavailable",
            Self::NotProven(_) => "invalid_id_token",
            Self::Nameless(_) => "missing_claim",
            Self::UnknownOperator(_) => "unknown_operator",
            Self::Slowed => "rate_limited",
            Self::Store => "store_unavailable",
        }
    }

    /// All codes, for the document of the API.
    #[cfg(test)]
    pub(crate) const CODES: [&'static str; 10] = [
        "oidc_not_configured",
        "attempt_expired",
        "wrong_state",
        "provider_refused",
        "provider_unavailable",
        "invalid_id_token",
        "missing_claim",
        "unknown_operator",
        "rate_limited",
        "store_unavailable",
    ];
}

/// An identity that the provider has proved.
#[derive(Debug)]
pub(crate) struct Identity {
    /// The name in the claim as the provider wrote it.
    pub(crate) claim: String,
    /// The name of the operator; `None` if the claim is not a valid name.
    pub(crate) name: Option<OperatorName>,
}

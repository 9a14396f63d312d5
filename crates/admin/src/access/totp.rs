//! TOTP (RFC 6238): the second factor of operators who sign in with a password. It uses SHA-1, six digits, steps of 30 seconds
//! and one step of clock difference either way, which every authenticator app supports.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use totp_rs::{Algorithm, Builder, Secret, Totp};
use utoipa::ToSchema;
use vestibule_core::{Micros, StoreError};

use crate::access::{OperatorName, Role};
use crate::secret::{has_hash, hash, random};

/// What an authenticator app lists the account under.
const ISSUER: &str = "Vestibule";
/// Bytes of a secret: 160 bits, as RFC 4226 recommends.
const SECRET_BYTES: usize = 20;
/// Bytes of a recovery code: 80 bits, which nobody can guess even from the hash.
const RECOVERY_BYTES: usize = 10;
/// How many recovery codes an operator gets.
const RECOVERY_CODES: usize = 10;
/// Longest text that is read as a code, in bytes.
pub(crate) const CODE_MAX: usize = 64;

/// Which operators need TOTP to sign in with a password (`--require-totp`, `VESTIBULE_REQUIRE_TOTP`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RequireTotp {
    /// None; every operator decides.
    #[default]
    Nobody,
    /// Superusers.
    Superusers,
    /// All operators.
    Everybody,
}

impl RequireTotp {
    fn includes(self, role: Role) -> bool {
        match self {
            Self::Nobody => false,
            Self::Superusers => role == Role::Superuser,
            Self::Everybody => true,
        }
    }
}

impl FromStr for RequireTotp {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "nobody" => Ok(Self::Nobody),
            "superusers" => Ok(Self::Superusers),
            "everybody" => Ok(Self::Everybody),
            _ => Err("must be nobody, superusers or everybody"),
        }
    }
}

impl fmt::Display for RequireTotp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nobody => "nobody",
            Self::Superusers => "superusers",
            Self::Everybody => "everybody",
        })
    }
}

/// How an operator signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SignInMethod {
    #[default]
    Password,
    PasswordAndTotp,
    Provider,
}

/// Whether the operator has TOTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TotpStatus {
    /// Not available: the operator has no password, or the request used an API token.
    Unavailable,
    /// Not set up.
    Off,
    /// Not set up, but required: until it is, this sign-in can do nothing else.
    Required,
    /// Set up.
    On,
}

impl TotpStatus {
    pub(crate) fn of(
        (has_password, has_totp): (bool, bool),
        role: Role,
        method: SignInMethod,
        required: RequireTotp,
    ) -> Self {
        match (has_password, has_totp) {
            (false, _) => Self::Unavailable,
            (true, true) => Self::On,
            (true, false) if method != SignInMethod::Provider && required.includes(role) => Self::Required,
            (true, false) => Self::Off,
        }
    }
}

/// The secret that the server shares with an authenticator app, in base32. It is never printed.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct TotpSecret(String);

impl TotpSecret {
    /// A new random secret.
    pub(crate) fn generate() -> Self {
        Self(Secret::from(random::<SECRET_BYTES>()).to_base32())
    }

    /// A secret that was kept.
    pub(crate) fn kept(text: String) -> Self {
        Self(text)
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// The `otpauth://` URI that an authenticator app reads.
    pub(crate) fn uri(&self, name: &OperatorName) -> Result<String, StoreError> {
        let builder = Builder::new().with_issuer(Some(ISSUER)).with_account_name(name.as_str());
        self.totp(builder)?.to_url().map_err(|error| corrupt(&error))
    }

    /// The time step that a code belongs to, if it is the code of now or of the step before or after.
    fn step_of(&self, code: &str, now: Micros) -> Result<Option<u64>, StoreError> {
        Ok(self.totp(Builder::new())?.check(code, now.seconds()))
    }

    fn totp(&self, builder: Builder) -> Result<Totp, StoreError> {
        let secret = Secret::try_from_base32(&self.0).map_err(|error| corrupt(&error))?;
        let builder = builder.with_algorithm(Algorithm::SHA1).with_digits(6).with_skew(1).with_step_duration(30);
        builder.with_secret(secret).build().map_err(|error| corrupt(&error))
    }
}

fn corrupt(error: &dyn fmt::Display) -> StoreError {
    StoreError::Corrupt(format!("a TOTP secret: {error}"))
}

/// What kind of code was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeKind {
    Totp,
    /// A recovery code, with the number of those that are left.
    Recovery(usize),
}

/// The TOTP of an operator as it is kept.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct OperatorTotp {
    secret: TotpSecret,
    /// Time step of the newest accepted code: no code of this step or an earlier one is accepted again.
    last_step: u64,
    /// SHA-256 of each unused recovery code.
    #[serde(default)]
    recovery_codes: Vec<String>,
    /// When it was set up.
    pub(crate) set_up_at: Micros,
}

impl OperatorTotp {
    /// TOTP with this secret and new recovery codes, if the first code is right.
    pub(crate) fn confirm(
        secret: TotpSecret,
        code: &str,
        now: Micros,
    ) -> Result<Option<(Self, Vec<String>)>, StoreError> {
        let Some(last_step) = secret.step_of(&digits(code), now)? else { return Ok(None) };
        let codes: Vec<String> = std::iter::repeat_with(recovery_code).take(RECOVERY_CODES).collect();
        let recovery_codes = codes.iter().map(|code| hash(&plain(code))).collect();
        Ok(Some((Self { secret, last_step, recovery_codes, set_up_at: now }, codes)))
    }

    /// Accepts a code once: the change must be stored before anything is allowed by it.
    pub(crate) fn accept(&mut self, code: &str, now: Micros) -> Result<Option<CodeKind>, StoreError> {
        if let Some(step) = self.secret.step_of(&digits(code), now)? {
            if step <= self.last_step {
                return Ok(None);
            }
            self.last_step = step;
            return Ok(Some(CodeKind::Totp));
        }
        let code = plain(code);
        let Some(found) = self.recovery_codes.iter().position(|kept| has_hash(&code, kept)) else { return Ok(None) };
        self.recovery_codes.remove(found);
        Ok(Some(CodeKind::Recovery(self.recovery_codes.len())))
    }
}

/// A new recovery code: `abcd-efgh-2345-6723`.
fn recovery_code() -> String {
    let text = Secret::from(random::<RECOVERY_BYTES>()).to_base32().to_lowercase();
    let groups: Vec<&str> = (0..text.len()).step_by(4).filter_map(|at| text.get(at..at + 4)).collect();
    groups.join("-")
}

/// A recovery code without what people add or change when they type it.
fn plain(code: &str) -> String {
    code.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// A code of an app, which many show in two groups.
fn digits(code: &str) -> String {
    code.chars().filter(|character| !character.is_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The SHA-1 secret of RFC 6238, appendix B.
    fn rfc_secret() -> TotpSecret {
        TotpSecret(Secret::from(*b"12345678901234567890").to_base32())
    }

    fn at(seconds: u64) -> Micros {
        Micros(seconds * 1_000_000)
    }

    #[test]
    fn codes_match_the_vectors_of_rfc_6238() {
        // The last six of the eight digits of the RFC's table.
        for (seconds, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(rfc_secret().step_of(code, at(seconds)).unwrap(), Some(seconds / 30), "{seconds}");
        }
    }

    #[test]
    fn code_is_valid_for_one_step_before_and_after() {
        let step = 1_111_111_109 / 30;
        let found = |at_step: u64| rfc_secret().step_of("081804", at(at_step * 30)).unwrap();
        assert_eq!(
            [step - 2, step - 1, step, step + 1, step + 2].map(found),
            [None, Some(step), Some(step), Some(step), None]
        );
        for malformed in ["", "81804", "0818040", "+81804", "08180a"] {
            assert_eq!(rfc_secret().step_of(malformed, at(1_111_111_109)).unwrap(), None, "{malformed}");
        }
    }

    #[test]
    fn code_is_accepted_once() {
        let (mut totp, _) = OperatorTotp::confirm(rfc_secret(), "081 804", at(1_111_111_109)).unwrap().unwrap();
        assert_eq!(totp.accept("081804", at(1_111_111_109)).unwrap(), None, "the first code was used by the set-up");
        assert_eq!(totp.accept("050471", at(1_111_111_111)).unwrap(), Some(CodeKind::Totp));
        assert_eq!(totp.accept("050471", at(1_111_111_111)).unwrap(), None);
        assert_eq!(totp.accept("081804", at(1_111_111_111)).unwrap(), None, "an earlier step is no longer valid");
    }

    #[test]
    fn recovery_code_is_accepted_once_however_it_is_typed() {
        let (mut totp, codes) = OperatorTotp::confirm(rfc_secret(), "081804", at(1_111_111_109)).unwrap().unwrap();
        assert_eq!(codes.len(), 10);
        assert!(codes.iter().all(|code| code.len() == 19), "{codes:?}");
        let kept = serde_json::to_string(&totp).unwrap();
        assert!(codes.iter().all(|code| !kept.contains(code.as_str()) && !kept.contains(&plain(code))));
        let typed = codes[3].to_uppercase().replace('-', " ");
        assert_eq!(totp.accept(&typed, at(1_111_111_111)).unwrap(), Some(CodeKind::Recovery(9)));
        assert_eq!(totp.accept(&codes[3], at(1_111_111_111)).unwrap(), None);
        assert_eq!(totp.accept(&codes[0], at(1_111_111_111)).unwrap(), Some(CodeKind::Recovery(8)));
    }

    #[test]
    fn secret_has_160_bits_and_a_uri_for_apps() {
        let secret = TotpSecret::generate();
        assert_eq!(secret.text().len(), 32);
        assert_ne!(secret.text(), TotpSecret::generate().text());
        let uri = secret.uri(&"zoe@example.com".parse().unwrap()).unwrap();
        let expected = format!("otpauth://totp/Vestibule:zoe%40example.com?secret={}&issuer=Vestibule", secret.text());
        assert_eq!(uri, expected);
    }

    #[test]
    fn totp_is_required_of_passwords_only() {
        let status = |operator, role, method| TotpStatus::of(operator, role, method, RequireTotp::Superusers);
        assert_eq!(status((true, false), Role::Superuser, SignInMethod::Password), TotpStatus::Required);
        assert_eq!(status((true, false), Role::Operator, SignInMethod::Password), TotpStatus::Off);
        assert_eq!(status((true, false), Role::Superuser, SignInMethod::Provider), TotpStatus::Off);
        assert_eq!(status((false, false), Role::Superuser, SignInMethod::Provider), TotpStatus::Unavailable);
        assert_eq!(status((true, true), Role::Superuser, SignInMethod::PasswordAndTotp), TotpStatus::On);
        for value in [RequireTotp::Nobody, RequireTotp::Superusers, RequireTotp::Everybody] {
            assert_eq!(value.to_string().parse(), Ok(value));
        }
        assert!("all".parse::<RequireTotp>().is_err());
    }
}

//! Hashes passwords with Argon2id, a few at a time.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use tokio::sync::Semaphore;
use vestibule_core::{StoreError, text_kind};

use crate::access::CODE_MAX;
use crate::codes::Code;
use crate::secret::salt;

/// Minimum length of a password in characters, and maximum length in bytes.
pub(crate) const PASSWORD_MIN: usize = 12;
pub(crate) const PASSWORD_MAX: usize = 256;

/// Memory in KiB, passes and lanes of a hash: <https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html>
const COST: (u32, u32, u32) = (19_456, 2, 1);
/// How many passwords are hashed at once: each hash needs the memory of its cost.
const AT_ONCE: usize = 2;

/// Whether a text may be a password.
pub(crate) fn is_password(text: &str) -> bool {
    text.chars().count() >= PASSWORD_MIN && text.len() <= PASSWORD_MAX
}

text_kind! {
    /// A new password.
    pub(crate) NewPassword: Code::NewPassword,
        { "format": "password", "minLength": PASSWORD_MIN, "maxLength": PASSWORD_MAX },
        |text| is_password(text).then(|| text.to_owned()), SECRET;
    /// A password that exists.
    pub(crate) Password: Code::Password, { "format": "password", "maxLength": PASSWORD_MAX },
        |text| (text.len() <= PASSWORD_MAX).then(|| text.to_owned()), SECRET;
    /// A code of an authenticator app, or a recovery code.
    pub(crate) AuthenticationCode: Code::AuthenticationCode, { "maxLength": CODE_MAX },
        |text| (text.len() <= CODE_MAX).then(|| text.to_owned()), SECRET;
}

/// Hashes passwords without blocking other requests.
pub(crate) struct PasswordHasher {
    free: Semaphore,
}

impl Default for PasswordHasher {
    fn default() -> Self {
        Self { free: Semaphore::new(AT_ONCE) }
    }
}

impl PasswordHasher {
    /// The hash to keep, parameters and salt included.
    pub(crate) async fn hash(&self, password: &str) -> Result<String, StoreError> {
        let password = password.to_owned();
        self.work(move || hash(&password)).await
    }

    /// Whether a password has this hash. Without a hash, returns `false` after the same time.
    pub(crate) async fn matches(&self, password: &str, expected: Option<String>) -> Result<bool, StoreError> {
        let password = password.to_owned();
        self.work(move || match expected {
            Some(expected) => verify(&password, &expected),
            None => hash(&password).map(|_| false),
        })
        .await
    }

    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, argon2::password_hash::Error> + Send + 'static,
    ) -> Result<T, StoreError> {
        let failed = |error: &dyn std::fmt::Display| StoreError::Corrupt(format!("a password: {error}"));
        let _turn = self.free.acquire().await.map_err(|error| failed(&error))?;
        let done = tokio::task::spawn_blocking(work).await.map_err(|error| failed(&error))?;
        done.map_err(|error| failed(&error))
    }
}

fn argon2() -> Result<Argon2<'static>, argon2::password_hash::Error> {
    let (memory, passes, lanes) = COST;
    let params = Params::new(memory, passes, lanes, None).map_err(argon2::password_hash::Error::from)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn hash(password: &str) -> Result<String, argon2::password_hash::Error> {
    Ok(argon2()?.hash_password_with_salt(password.as_bytes(), &salt())?.to_string())
}

fn verify(password: &str, expected: &str) -> Result<bool, argon2::password_hash::Error> {
    let expected = PasswordHash::new(expected)?;
    Ok(argon2()?.verify_password(password.as_bytes(), &expected).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn password_matches_its_hash() {
        let passwords = PasswordHasher::default();
        let hash = passwords.hash("correct horse battery").await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_ne!(hash, passwords.hash("correct horse battery").await.unwrap(), "every hash has its salt");
        assert!(passwords.matches("correct horse battery", Some(hash.clone())).await.unwrap());
        assert!(!passwords.matches("correct horse batterz", Some(hash)).await.unwrap());
        assert!(!passwords.matches("correct horse battery", None).await.unwrap());
    }

    #[test]
    fn password_length_is_limited() {
        assert!(is_password("twelve chars") && is_password(&"x".repeat(256)));
        assert!(!is_password("eleven char") && !is_password(&"x".repeat(257)));
    }
}

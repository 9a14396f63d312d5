//! Random secrets and their hashes.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use vestibule_core::hex;

/// Bytes of a secret.
const SECRET_BYTES: usize = 32;

/// `N` random bytes.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    #[expect(clippy::expect_used, reason = "a system without randomness can't give out secrets, and must not try")]
    getrandom::fill(&mut bytes).expect("the system has randomness");
    bytes
}

/// `N` random bytes in hexadecimal digits: a name, not a secret.
pub(crate) fn random_hex<const N: usize>() -> String {
    hex(random::<N>())
}

/// Random bytes for a salt.
pub(crate) fn salt() -> [u8; 16] {
    random()
}

/// A new secret of 256 random bits. It is shown once; only its hash is stored.
pub(crate) fn new_secret() -> String {
    URL_SAFE_NO_PAD.encode(random::<SECRET_BYTES>())
}

/// The SHA-256 of a text in hexadecimal digits. For secrets of 256 random bits, never for passwords.
pub(crate) fn hash(text: &str) -> String {
    hex(Sha256::digest(text))
}

/// Whether a secret has this hash, compared in constant time.
pub(crate) fn has_hash(secret: &str, expected: &str) -> bool {
    hash(secret).as_bytes().ct_eq(expected.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_stored_as_a_hash() {
        let secret = new_secret();
        assert_eq!(secret.len(), 43);
        assert_ne!(secret, new_secret());
        assert!(has_hash(&secret, &hash(&secret)));
        assert!(!has_hash(&secret, &hash("another")));
        assert_eq!(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}

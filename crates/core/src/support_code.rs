//! Support codes: a visitor reads one out, and an operator finds the session by it.

use crate::SessionId;

/// Digits of Crockford's base 32, which has no ambiguous characters.
/// <https://www.crockford.com/base32.html>
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Bits of a session id.
const BITS: usize = 8 * SessionId::SIZE;
/// Digits needed for these bits.
const LENGTH: usize = BITS.div_ceil(5);
/// Digits per group; the last group has one less.
const GROUP: usize = 6;

impl SessionId {
    /// The support code of this session: `0NPWV1-MDQB2X-KF3Y0T-5DWZQ`. It encodes the whole id, so
    /// it finds the session without a search, and like the id it proves nothing. A shorter code
    /// would require a search of the line, which is slowest when most visitors ask.
    #[must_use]
    pub fn support_code(&self) -> String {
        let number = self.as_bytes().iter().fold(0, |number, byte| number << 8 | u128::from(*byte));
        let mut code = String::with_capacity(LENGTH + LENGTH / GROUP);
        for place in 0..LENGTH {
            if place > 0 && place % GROUP == 0 {
                code.push('-');
            }
            let digit = (number >> (5 * (LENGTH - 1 - place))) & 31;
            code.push(char::from(DIGITS[digit as usize]));
        }
        code
    }

    /// The session id of a support code. Case, separators and look-alikes (`O` for 0, `I` and `L`
    /// for 1) are accepted.
    #[must_use]
    pub fn from_support_code(code: &str) -> Option<Self> {
        let mut number: u128 = 0;
        let mut digits = 0;
        for letter in code.chars().filter(|letter| !letter.is_whitespace() && *letter != '-') {
            let digit = match letter.to_ascii_uppercase() {
                'O' => 0,
                'I' | 'L' => 1,
                other => DIGITS.iter().position(|digit| char::from(*digit) == other)?,
            };
            digits += 1;
            // The first digit holds only two bits of the id.
            if digits > LENGTH || number >> (BITS - 5) != 0 {
                return None;
            }
            number = number << 5 | digit as u128;
        }
        let bytes = number.to_be_bytes().last_chunk().copied()?;
        (digits == LENGTH).then(|| Self::from_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_code_is_the_same_session_however_it_was_written() {
        let session: SessionId = "2b6e6c34-6dd6-402e-80cd-e3f03456f3f7".parse().unwrap();
        let code = session.support_code();
        assert_eq!(code, "0NPWV1-MDQB2X-KF3Y0T-5DWZQ");
        for written in [
            code.to_lowercase(),
            code.replace('-', ""),
            code.replace('-', "  "),
            code.replace('0', "o").replace('1', "l"),
            format!(" {code}\n"),
        ] {
            assert_eq!(SessionId::from_support_code(&written), Some(session), "{written}");
        }
        for wrong in
            ["", "0NPWV1", &code[1..], &format!("{code}0"), &code.replace('D', "U"), "ZZZZZZ-ZZZZZZ-ZZZZZZ-ZZZZZ"]
        {
            assert_eq!(SessionId::from_support_code(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_session_has_its_own_code(bytes: [u8; SessionId::SIZE]) {
            let session = SessionId::from_bytes(bytes);
            prop_assert_eq!(SessionId::from_support_code(&session.support_code()), Some(session));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            let _ = SessionId::from_support_code(&text);
        }
    }
}

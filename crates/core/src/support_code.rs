//! Support codes: a visitor reads one out, and an operator finds the session by it. The short code of a waiting visitor
//! encodes the arrival, by which a store finds a session without a search; the long one encodes the session id, which
//! finds the session in every state.

use std::fmt;
use std::str::FromStr;

use crate::SessionId;
use crate::time::Micros;

/// Digits of Crockford's base 32, which has no ambiguous characters.
/// <https://www.crockford.com/base32.html>
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Bits of a session id.
const BITS: usize = 8 * SessionId::SIZE;
/// Digits of the code of a session id.
const LENGTH: usize = BITS.div_ceil(5);
/// Digits per group; the last group has one less.
pub(crate) const GROUP: usize = 6;

/// Digits of a short code.
const SHORT_LENGTH: usize = 8;
/// Digits per group of a short code.
const SHORT_GROUP: usize = 4;
/// Short codes repeat after this many microseconds: 12.7 days.
const SHORT_SPAN: u64 = 1 << (5 * SHORT_LENGTH);
/// Multiplied with an arrival modulo [`SHORT_SPAN`], so that visitors who joined one after the other have codes that
/// differ in most digits, and a mistyped digit finds nobody rather than a neighbor. Any large odd number does.
const MIX: u64 = 0x9E_3779_B97B;

impl SessionId {
    /// The support code of this session: `0NPWV1-MDQB2X-KF3Y0T-5DWZQ`. It encodes the whole id, so
    /// it finds the session without a search, and like the id it proves nothing.
    pub fn support_code(&self) -> String {
        write(self.as_bytes().iter().fold(0, |number, byte| number << 8 | u128::from(*byte)), LENGTH, GROUP)
    }

    /// The session id of a support code. Case, separators and look-alikes (`O` for 0, `I` and `L`
    /// for 1) are accepted.
    pub fn from_support_code(code: &str) -> Option<Self> {
        let number = read(code, LENGTH)?;
        // The first digit holds only two bits of the id.
        let bytes = number.to_be_bytes().last_chunk().copied()?;
        (number >> BITS == 0).then(|| Self::from_bytes(bytes))
    }
}

/// The short support code of a waiting visitor: `7QK2-M0XV`. It encodes the arrival and proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortCode(u64);

impl ShortCode {
    /// The code of a session with this arrival.
    pub const fn of(arrival: Micros) -> Self {
        Self(arrival.0.wrapping_mul(MIX) % SHORT_SPAN)
    }

    /// The two latest arrivals with this code that are not after `now`, latest first.
    pub const fn arrivals(self, now: Micros) -> [Micros; 2] {
        let remainder = self.0.wrapping_mul(inverse(MIX)) % SHORT_SPAN;
        let since = now.0.wrapping_sub(remainder) % SHORT_SPAN;
        let latest = now.0.saturating_sub(since);
        [Micros(latest), Micros(latest.saturating_sub(SHORT_SPAN))]
    }
}

impl fmt::Display for ShortCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&write(self.0.into(), SHORT_LENGTH, SHORT_GROUP))
    }
}

/// The inverse of an odd number modulo 2^64, by Newton's method: each step doubles the correct bits, three at first.
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut step = 0;
    while step < 5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

/// The support code to show for a session: the short one if it waits, with this arrival.
pub fn support_code(session: SessionId, arrival: Option<Micros>) -> String {
    arrival.map_or_else(|| session.support_code(), |arrival| ShortCode::of(arrival).to_string())
}

/// What identifies a visitor to an operator: a short code, a long one, or a session id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitorCode {
    /// A session.
    Session(SessionId),
    /// The arrival of a waiting session.
    Short(ShortCode),
}

/// The text is neither a support code nor a session id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a support code or session ID")]
pub struct NotACode;

impl FromStr for VisitorCode {
    type Err = NotACode;

    fn from_str(text: &str) -> Result<Self, NotACode> {
        let session = text.trim().parse().ok().or_else(|| SessionId::from_support_code(text)).map(Self::Session);
        let short = || Some(Self::Short(ShortCode(u64::try_from(read(text, SHORT_LENGTH)?).ok()?)));
        session.or_else(short).ok_or(NotACode)
    }
}

/// A number as this many digits, in groups.
pub(crate) fn write(number: u128, length: usize, group: usize) -> String {
    let mut code = String::with_capacity(length + length / group);
    for index in 0..length {
        if index > 0 && index % group == 0 {
            code.push('-');
        }
        let digit = (number >> (5 * (length - 1 - index))) & 31;
        code.push(char::from(DIGITS[digit as usize]));
    }
    code
}

/// The number of exactly this many digits.
pub(crate) fn read(code: &str, length: usize) -> Option<u128> {
    let mut number: u128 = 0;
    let mut digits = 0;
    for letter in code.chars().filter(|letter| !letter.is_whitespace() && *letter != '-') {
        let digit = match letter.to_ascii_uppercase() {
            'O' => 0,
            'I' | 'L' => 1,
            other => DIGITS.iter().position(|digit| char::from(*digit) == other)?,
        };
        digits += 1;
        if digits > length {
            return None;
        }
        number = number << 5 | digit as u128;
    }
    (digits == length).then_some(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn code_spellings_decode_to_the_same_session() {
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

    #[test]
    fn short_code_finds_the_arrival() {
        let arrival = Micros(1_804_152_674_842_326);
        let code = ShortCode::of(arrival);
        assert_eq!(code.to_string().len(), 9);
        let typed = code.to_string().to_lowercase().replace('-', " ");
        let Ok(VisitorCode::Short(read)) = typed.parse() else { panic!("{typed}") };
        assert_eq!(read.arrivals(arrival.add_seconds(3600))[0], arrival);
        assert_eq!(read.arrivals(arrival)[0], arrival);
        let days = |days: u64| arrival.add_seconds(days * 86_400);
        assert_eq!(read.arrivals(days(20))[1], arrival, "a line that is weeks old");
        let next = ShortCode::of(Micros(arrival.0 + 1)).to_string();
        let same = code.to_string().chars().zip(next.chars()).filter(|(one, other)| one == other).count();
        assert!(same <= 4, "{code} {next}");
    }

    #[test]
    fn other_texts_are_no_code() {
        for wrong in ["", "banana", "7QK2-M0X", "7QK2-M0XVV", "7QK2-M0XU", "tour"] {
            assert_eq!(wrong.parse::<VisitorCode>(), Err(NotACode), "{wrong}");
        }
        let session = SessionId::from_bytes([7; 14]);
        for text in [session.to_string(), session.support_code(), format!(" {session} ")] {
            assert_eq!(text.parse(), Ok(VisitorCode::Session(session)), "{text}");
        }
    }

    proptest! {
        #[test]
        fn short_codes_are_reversible(now in 0..1_u64 << 53, since in 0..SHORT_SPAN) {
            let arrival = Micros(now.saturating_sub(since));
            prop_assert_eq!(ShortCode::of(arrival).arrivals(Micros(now))[0], arrival);
        }

        #[test]
        fn every_session_has_a_distinct_code(bytes: [u8; SessionId::SIZE]) {
            let session = SessionId::from_bytes(bytes);
            prop_assert_eq!(SessionId::from_support_code(&session.support_code()), Some(session));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            let _ = text.parse::<VisitorCode>();
        }
    }
}

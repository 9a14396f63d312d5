//! The rules as scripts read them: in one piece, as big-endian doubles. Whole numbers below 2^53 are exact in them; -1 stands
//! for none.

use bytes::Bytes;
use vestibule_core::StoreError;
use vestibule_core::line::LineRules;

use crate::codes::MODES;

/// No number.
pub(crate) const NONE: f64 = -1.0;
/// Largest number that is surely what it was before it became a double.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
const RULES: usize = 10;

fn optional(value: Option<u64>) -> f64 {
    value.map_or(NONE, |value| value as f64)
}

/// The rules as `RULES_FORMAT` has them.
pub(crate) fn pack_rules(rules: &LineRules) -> Bytes {
    let mode = MODES.iter().find(|(mode, _)| *mode == rules.mode).map_or(NONE, |(_, code)| *code as f64);
    let numbers: [f64; RULES] = [
        mode,
        rules.quota as f64,
        optional(rules.admissions_per_minute),
        rules.waiting_ttl as f64,
        rules.active_ttl as f64,
        rules.claim_ttl as f64,
        rules.hold_ttl as f64,
        optional(rules.max_session),
        rules.epoch as f64,
        rules.revision as f64,
    ];
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

fn whole(number: f64) -> Result<u64, StoreError> {
    let fits = (0.0..=WHOLE_MAX).contains(&number) && number.fract() == 0.0;
    if fits { Ok(number as u64) } else { Err(StoreError::Corrupt(format!("packed rules hold {number}"))) }
}

fn whole_or_none(number: f64) -> Result<Option<u64>, StoreError> {
    if number < 0.0 { Ok(None) } else { whole(number).map(Some) }
}

/// The rules that `pack_rules` packed.
pub(crate) fn unpack_rules(packed: &[u8]) -> Result<LineRules, StoreError> {
    let wrong_length = || StoreError::Corrupt(format!("packed rules of {} bytes", packed.len()));
    let numbers: [[u8; 8]; RULES] = packed.as_chunks().0.try_into().map_err(|_| wrong_length())?;
    if packed.len() != RULES * 8 {
        return Err(wrong_length());
    }
    let [mode, quota, per_minute, waiting_ttl, active_ttl, claim_ttl, hold_ttl, max_session, epoch, revision] =
        numbers.map(f64::from_be_bytes);
    let code = whole(mode)?;
    let mode = MODES.iter().find(|(_, known)| code == *known as u64).map(|(mode, _)| *mode);
    Ok(LineRules {
        mode: mode.ok_or_else(|| StoreError::Corrupt(format!("packed rules hold the mode {code}")))?,
        quota: whole(quota)?,
        admissions_per_minute: whole_or_none(per_minute)?,
        waiting_ttl: whole(waiting_ttl)?,
        active_ttl: whole(active_ttl)?,
        claim_ttl: whole(claim_ttl)?,
        hold_ttl: whole(hold_ttl)?,
        max_session: whole_or_none(max_session)?,
        epoch: whole(epoch)?,
        revision: whole(revision)?,
    })
}

#[cfg(test)]
mod tests {
    use vestibule_core::line::Mode;

    use super::*;

    fn rules() -> LineRules {
        LineRules {
            mode: Mode::Paused,
            quota: 10_000_000,
            admissions_per_minute: None,
            waiting_ttl: 60,
            active_ttl: 600,
            claim_ttl: 30,
            hold_ttl: 601,
            max_session: Some(86_400),
            epoch: 1 << 53,
            revision: 7,
        }
    }

    #[test]
    fn rules_come_back_as_they_were_packed() {
        assert_eq!(unpack_rules(&pack_rules(&rules())).unwrap(), rules());
        let open = LineRules { mode: Mode::Open, admissions_per_minute: Some(0), max_session: None, ..rules() };
        assert_eq!(unpack_rules(&pack_rules(&open)).unwrap(), open);
    }

    #[test]
    fn what_is_no_packed_rules_is_corrupt() {
        let good = pack_rules(&rules());
        let with_mode = |mode: f64| [&mode.to_be_bytes(), &good[8..]].concat();
        for bad in
            [vec![], good[1..].to_vec(), [&good[..], &[0]].concat(), with_mode(5.0), with_mode(0.5), with_mode(-1.0)]
        {
            assert!(matches!(unpack_rules(&bad), Err(StoreError::Corrupt(_))), "{bad:?}");
        }
    }
}

//! Invitations: who can join a queue, and what the codes of each batch are worth.

use super::event::KeyId;
use super::name::Name;
use crate::fields::FieldErrorCode as Code;
use crate::fields::{Bounded, Flag, ObjectReader, Omissible};
use crate::time::{Micros, Timestamp};
use crate::{BatchId, FieldError, SaleKeys};

/// Maximum number of batches per queue.
pub const BATCHES_MAX: usize = 100;
/// Maximum head start in seconds.
pub const HEAD_START_MAX: u64 = 86_400;
/// Maximum number of codes of a batch.
pub const CODES_MAX: u64 = 10_000_000;
const NUMBER_MAX: u64 = u16::MAX as u64;

/// Who can join a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Everyone.
    #[default]
    Anyone,
    /// Visitors with an invitation code.
    Invited,
}

// A word of a newer version restricts access in a way that this version does not know.
crate::word_field!(Access { Anyone = "anyone", Invited = "invited" } else Invited);

crate::fields! {
    /// A batch of invitation codes. Times are in RFC 3339 with an offset, in whole seconds.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct InvitationBatch {
        /// Number of the batch, from 1 to 65,535. Its codes contain it, so never use it for another batch.
        pub number: Bounded<1, NUMBER_MAX>,
        /// ID of the batch, unique in the queue.
        pub id: BatchId,
        /// Name shown to operators, by default the ID.
        pub name: Omissible<Name>,
        /// Seconds by which invited visitors join ahead of others.
        pub head_start: Bounded<0, HEAD_START_MAX> = 0,
        /// How many codes the batch has. Codes with a higher number are not valid.
        pub count: Bounded<1, CODES_MAX>,
        /// When the codes become valid. By default they are at once.
        pub from: Omissible<Timestamp>,
        /// When the codes expire. By default never.
        pub until: Omissible<Timestamp>,
        /// ID of the sale key from which the codes derive. By default that of the stored batch, or the first sale key if it is
        /// new.
        pub key: Omissible<KeyId>,
        /// Whether the codes are no longer valid.
        pub revoked: Flag = false,
    }
    check = check_batch;
}

fn check_batch(batch: &mut InvitationBatch, object: &mut ObjectReader<'_>) {
    if let (Some(from), Some(until)) = (batch.from, batch.until)
        && until <= from
    {
        object.error("until", Code::UntilBeforeFrom);
    }
}

impl InvitationBatch {
    /// The number of the batch, as its codes contain it.
    pub fn number(&self) -> u16 {
        // The bounds of the field.
        u16::try_from(self.number).unwrap_or_default()
    }

    /// Name shown to operators.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.id.as_str())
    }

    /// Whether codes of the batch can be presented at `now`.
    pub fn is_valid_at(&self, now: Micros) -> bool {
        let has_begun = self.from.is_none_or(|from| from.micros() <= now);
        !self.revoked && has_begun && self.until.is_none_or(|until| now < until.micros())
    }
}

/// Checks that no two batches have the same number or ID.
pub(super) fn check_batches(batches: &[InvitationBatch], object: &mut ObjectReader<'_>) {
    if object.is_stored() {
        return;
    }
    for (index, batch) in batches.iter().enumerate() {
        let before = &batches[..index];
        if before.iter().any(|other| other.number == batch.number) {
            object.error(&format!("invitations[{index}].number"), Code::BatchNumberTaken.with("number", batch.number));
        }
        if before.iter().any(|other| other.id == batch.id) {
            object.error(&format!("invitations[{index}].id"), Code::BatchIdTaken.with("id", batch.id.as_str()));
        }
    }
}

/// Completes the keys of `batches` from those of the same number before, or with the first of `keys`. Returns an error for
/// each batch whose key is not among `keys`.
pub(super) fn complete_invitations(
    before: &[InvitationBatch],
    batches: &mut [InvitationBatch],
    keys: &SaleKeys,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, batch) in batches.iter_mut().enumerate() {
        let held = before.iter().find(|held| held.number == batch.number).and_then(|held| held.key.as_deref());
        let (key, may_be_used) = keys.choose(batch.key.take(), held);
        batch.key = key;
        if !may_be_used {
            errors.push(FieldError::new(format!("invitations[{index}].key"), keys.unknown(Code::NoSaleKeysToInvite)));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::KeyList;
    use crate::settings::Settings;

    fn parse(invitations: &Value) -> Result<Settings, Vec<String>> {
        let value = json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 1, "handover": { "kind": "check" },
            "access": "invited", "invitations": invitations,
        });
        Settings::from_value(&value).map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    fn fans() -> Value {
        json!({ "number": 7, "id": "fans", "head_start": 600, "count": 5000 })
    }

    #[test]
    fn batches_have_defaults_and_are_read_again() {
        let settings = parse(&json!([fans()])).unwrap();
        let batch = &settings.invitations[0];
        assert_eq!((batch.number(), batch.name(), batch.revoked, batch.key.as_ref()), (7, "fans", false, None));
        assert_eq!(Settings::from_stored(&settings.to_stored()).unwrap().invitations, settings.invitations);
        assert_eq!(settings.line.access, Some(Access::Invited));
        let plain =
            json!({ "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 1, "handover": { "kind": "check" } });
        let plain = Settings::from_value(&plain).unwrap().to_stored();
        assert_eq!((plain.get("access"), plain.get("invitations")), (None, None), "defaults are not written");
    }

    #[test]
    fn invalid_batches_are_named() {
        let with = |changes: Value| {
            let mut batch = fans();
            batch.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            batch
        };
        let twice = parse(&json!([fans(), with(json!({ "id": "press" }))])).unwrap_err();
        assert_eq!(twice, ["invitations[1].number: is already used by another batch of the queue: 7"]);
        let twice = parse(&json!([fans(), with(json!({ "number": 8 }))])).unwrap_err();
        assert_eq!(twice, ["invitations[1].id: is already used by another batch of the queue: \"fans\""]);
        for (changes, field) in [
            (json!({ "number": 0 }), "number"),
            (json!({ "number": 65_536 }), "number"),
            (json!({ "count": 0 }), "count"),
            (json!({ "count": 10_000_001 }), "count"),
            (json!({ "head_start": 86_401 }), "head_start"),
            (json!({ "from": "2027-03-04T10:00:00Z", "until": "2027-03-04T10:00:00Z" }), "until"),
        ] {
            let errors = parse(&json!([with(changes)])).unwrap_err();
            assert!(errors[0].starts_with(&format!("invitations[0].{field}: ")), "{errors:?}");
        }
    }

    #[test]
    fn an_unknown_access_is_restricted() {
        let mut stored = parse(&json!([])).unwrap().to_stored();
        stored["access"] = "members".into();
        assert_eq!(Settings::from_stored(&stored).unwrap().line.access, Some(Access::Invited));
    }

    #[test]
    fn keys_of_batches_are_completed() {
        let keys = |names: &[&str]| {
            let list: Vec<String> = names.iter().map(|name| format!("{name}:{}=", "A".repeat(43))).collect();
            SaleKeys::new(&list.join(",").parse::<KeyList>().unwrap()).unwrap()
        };
        let complete = |before: &[InvitationBatch], keys: &SaleKeys| {
            let mut batches = parse(&json!([fans()])).unwrap().invitations;
            let errors = complete_invitations(before, &mut batches, keys);
            (batches, errors.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let (first, errors) = complete(&[], &keys(&["s1"]));
        assert_eq!((first[0].key.as_deref(), errors.len()), (Some("s1"), 0));
        let (rotated, errors) = complete(&first, &keys(&["s2", "s1"]));
        assert_eq!((rotated[0].key.as_deref(), errors.len()), (Some("s1"), 0), "codes stay valid");
        let (kept, errors) = complete(&first, &keys(&["s2"]));
        assert_eq!((kept[0].key.as_deref(), errors.len()), (Some("s1"), 0), "left as it is");
        let (_, errors) = complete(&[], &SaleKeys::default());
        assert!(errors[0].starts_with("invitations[0].key: invitations need a sale key"), "{errors:?}");
    }
}

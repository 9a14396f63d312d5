//! Rule 15: the draws of events: their salts, keys and secrets.

use super::Settings;
use super::event::{Event, EventOrder, Events, SALT_MAX};
use super::invitation::InvitationBatch;
use crate::draw::{commitment_of, hmac};
use crate::fields::FieldErrorCode as Code;
use crate::line::LineRules;
use crate::{Draw, DrawNumber, DrawTerms, FieldError, Hex32, MICROS_PER_SECOND, Micros, QueueId, SaleKeys, SessionId};

impl Event {
    /// Completes the salt and the key of a draw from the stored event, or for a new one; `false` if the key may not be used. An event
    /// without a draw has neither: else a salt whose secret is public could come back with it.
    fn complete_draw(&mut self, before: Option<&Self>, policy: SaltPolicy, keys: &SaleKeys) -> bool {
        if self.order != EventOrder::Draw {
            (self.salt, self.key) = (None, None);
            return true;
        }
        let before = before.filter(|before| before.order == EventOrder::Draw);
        let (given, held) = (self.salt.take(), before.and_then(|before| before.salt.clone()));
        self.salt = match (given, held) {
            (None, Some(held)) => Some(held),
            (Some(given), Some(held)) if policy.is_from(&given, &held) => Some(held),
            (given, _) => Some(policy.salt_of_new(self, given)),
        };
        let (key, may_be_used) = keys.choose(self.key.take(), before.and_then(|before| before.key.as_deref()));
        self.key = key;
        may_be_used
    }
}

/// Digits that are added to the salt of a new draw.
const ADDED_SALT_LEN: usize = 16;

/// Where the salts of new draws come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SaltPolicy {
    /// From whoever writes the settings, or else from the start of the event: for those who operate the deployment.
    #[default]
    AsGiven,
    /// With random digits. The secret of a salt is public after its draw, so nobody may bring it back: not even by creating the
    /// event again, or its queue.
    Random,
}

impl SaltPolicy {
    fn salt_of_new(self, event: &Event, given: Option<String>) -> String {
        match self {
            Self::AsGiven => given.unwrap_or_else(|| event.starts_at.seconds().to_string()),
            Self::Random => {
                let given = given.unwrap_or_default();
                let (kept, added) = (kept_of(&given), random_digits());
                if kept.is_empty() { added } else { format!("{kept}-{added}") }
            }
        }
    }

    /// Whether the stored salt is what became of the given one, so that writing the same settings again changes nothing.
    fn is_from(self, given: &str, held: &str) -> bool {
        let added = held.strip_prefix(kept_of(given)).and_then(|rest| rest.strip_prefix('-'));
        let is_added = added.is_some_and(|added| added.len() == ADDED_SALT_LEN);
        held == given || (self == Self::Random && is_added)
    }
}

/// [`ADDED_SALT_LEN`] random hexadecimal digits.
fn random_digits() -> String {
    let mut digits = hex::encode(SessionId::random().as_bytes());
    digits.truncate(ADDED_SALT_LEN);
    digits
}

/// The part of a given salt to which digits are added.
fn kept_of(given: &str) -> &str {
    &given[..given.len().min(SALT_MAX - ADDED_SALT_LEN - 1)]
}

/// Completes the salts and keys of the draws of `rules` from the stored rules, or for new events, and what the server has
/// recorded about their beacons. Returns an error for each event whose key is not among `keys`, and for each that states
/// something else about its beacon.
pub(super) fn complete_draws(
    before: Option<&LineRules>,
    rules: &mut LineRules,
    keys: &SaleKeys,
    policy: SaltPolicy,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut events = rules.events.to_vec();
    for (index, event) in events.iter_mut().enumerate() {
        let held = before.and_then(|before| before.events.iter().find(|held| held.id == event.id));
        if let Err(field) = event.complete_beacon(held) {
            errors.push(FieldError::new(format!("events[{index}].{field}"), Code::RecordedByServer));
        }
        if !event.complete_draw(held, policy, keys) {
            errors.push(FieldError::new(format!("events[{index}].key"), keys.unknown(Code::NoSaleKeys)));
        }
    }
    rules.events = Events(events.into());
    errors
}

impl SaleKeys {
    /// The draw of an event of this queue. `None` for an event that is not drawn, while the value of its beacon is missing, and
    /// if its key is not known here.
    pub fn draw(&self, queue: &QueueId, event: &Event) -> Option<Draw> {
        if event.lacks_beacon_value() {
            return None;
        }
        let (beacon, starts_at) = (event.beacon_value.as_ref().map(|value| value.randomness), event.starts_at);
        let [queue_id, event_id] = [queue.as_str(), event.id.as_str()];
        let terms = DrawTerms { queue: queue_id, event: event_id, lobby_at: event.lobby_at(), starts_at, beacon };
        Some(Draw::new(self.secret(queue, event)?, &terms))
    }

    /// The commitment to the draw of an event, which is known before the value of its beacon. `None` for an event that is not
    /// drawn, and if its key is not known here.
    pub fn commitment(&self, queue: &QueueId, event: &Event) -> Option<Hex32> {
        self.secret(queue, event).map(commitment_of)
    }

    fn secret(&self, queue: &QueueId, event: &Event) -> Option<Hex32> {
        let (id, salt) = (event.key.as_ref()?, event.salt.as_ref()?);
        let key = self.key(id).filter(|_| event.order == EventOrder::Draw)?;
        let [queue, id, salt] = [queue.as_str(), event.id.as_str(), salt].map(str::as_bytes);
        Some(hmac(key, &[b"vestibule draw secret 1\0", queue, b"\0", id, b"\0", salt]))
    }

    /// The number of a session in line, if a draw of the queue gave it this arrival. `None` for a session that joined in
    /// order of arrival.
    pub fn number(&self, settings: &Settings, session: SessionId, arrival: Micros) -> Option<DrawNumber> {
        // An invited session of the lobby is ahead of its number by the head start of its batch.
        let head_starts = || settings.invitations.iter().map(|batch| batch.head_start * MICROS_PER_SECOND);
        let longest = head_starts().max().unwrap_or_default();
        let drawn = settings.line.events.planned().filter(|event| event.order == EventOrder::Draw);
        let mut in_lobby = drawn.filter(|event| {
            let opens = event.lobby_at().micros();
            (Micros(opens.0.saturating_sub(longest))..event.starts_at.micros()).contains(&arrival)
        });
        in_lobby.find_map(|event| {
            let draw = self.draw(&settings.id, event)?;
            let ahead = draw.arrival(session).0.checked_sub(arrival.0)?;
            (ahead == 0 || head_starts().any(|head_start| head_start == ahead)).then(|| draw.number(session))
        })
    }
}

impl Settings {
    /// The draws and batches of invitations that can still be used at `now`, such as `event "sale"`, and the sale key that each
    /// derives from: empty if it is not chosen yet.
    pub fn needed_sale_keys(&self, now: Micros) -> impl Iterator<Item = (String, &str)> {
        let is_over = move |event: &Event| event.ends_at.micros().add_seconds(self.line.hold_ttl) <= now;
        let draws = self.line.events.planned().filter(|event| event.order == EventOrder::Draw);
        let draws =
            draws.filter(move |event| !is_over(event)).map(|event| (format!("event \"{}\"", event.id), &event.key));
        let has_expired = move |batch: &InvitationBatch| batch.until.is_some_and(|until| until.micros() <= now);
        let batches = self.invitations.iter().filter(move |batch| !batch.revoked && !has_expired(batch));
        let batches = batches.map(|batch| (format!("invitations \"{}\"", batch.id), &batch.key));
        draws.chain(batches).map(|(what, key)| (what, key.as_deref().unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::settings::event::tests::{SPRING, settings};

    #[test]
    fn draws_are_completed_once() {
        let keys = |ids: &str| {
            SaleKeys::new(
                &ids.split(',')
                    .map(|id| format!("{id}:{}", "A".repeat(43)))
                    .collect::<Vec<_>>()
                    .join(",")
                    .parse()
                    .unwrap(),
            )
            .unwrap()
        };
        let draw = |starts_at: &str| {
            settings(
                &json!([{ "id": "a", "starts_at": starts_at, "ends_at": "2027-03-04T20:00:00Z", "order": "draw" }]),
            )
            .line
        };
        let complete = |before: Option<&LineRules>, rules: &mut LineRules, keys: &SaleKeys| {
            complete_draws(before, rules, keys, SaltPolicy::AsGiven)
        };
        let mut first = draw(SPRING.0);
        assert!(complete(None, &mut first, &keys("new,old")).is_empty());
        let of = |rules: &LineRules| (rules.events[0].salt.clone().unwrap(), rules.events[0].key.clone().unwrap());
        assert_eq!(of(&first), ("1804154400".to_owned(), "new".to_owned()));
        let mut postponed = draw("2027-03-04T11:00:00Z");
        assert!(complete(Some(&first), &mut postponed, &keys("newer,new")).is_empty());
        assert_eq!(of(&postponed), of(&first), "the commitment stays");
        assert!(complete(Some(&first), &mut postponed, &SaleKeys::default()).is_empty(), "nothing new to draw");
        let named = |rules: &mut LineRules, keys: &SaleKeys| {
            complete(None, rules, keys).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(named(&mut first, &keys("other")), ["events[0].key: is not one of the sale keys: other"]);
        let none = named(&mut draw(SPRING.0), &SaleKeys::default());
        assert!(none[0].starts_with("events[0].key: a draw needs a sale key"), "{none:?}");
    }

    #[test]
    fn published_secret_cannot_be_brought_back() {
        let keys = SaleKeys::new(&format!("new:{}", "A".repeat(43)).parse().unwrap()).unwrap();
        let complete = |before: Option<&LineRules>, order: &str, given: Option<&str>| {
            let mut event = json!({ "id": "a", "starts_at": SPRING.0, "ends_at": SPRING.1, "order": order });
            if let Some(given) = given {
                event["salt"] = given.into();
            }
            let mut rules = settings(&json!([event])).line;
            rules.revision = before.map_or(1, |before| before.revision + 1);
            assert!(complete_draws(before, &mut rules, &keys, SaltPolicy::Random).is_empty());
            rules
        };
        let salt = |before: Option<&LineRules>, given: Option<&str>| {
            let rules = complete(before, "draw", given);
            (rules.events[0].salt.clone().unwrap(), rules)
        };
        let (first, created) = salt(None, Some("mine"));
        assert!(first.starts_with("mine-") && first.len() == 21, "{first}");
        assert_ne!(salt(None, Some("mine")).0, first, "the queue was removed and created again");
        assert_eq!(salt(Some(&created), Some(&first)).0, first);
        assert_eq!(salt(Some(&created), None).0, first);
        let removed = LineRules { events: Events::default(), revision: 2, ..created.clone() };
        assert_ne!(salt(Some(&removed), Some(&first)).0, first, "the event was removed and created again");
        assert_eq!(salt(Some(&created), Some("mine")).0, first, "the same settings again");
        assert_ne!(salt(Some(&created), Some("yours")).0, first, "another salt for the same event");
        let by_arrival = complete(Some(&removed), "arrival", Some(&first));
        assert_eq!(by_arrival.events[0].salt, None, "an event without a draw keeps no salt");
        assert_ne!(salt(Some(&by_arrival), Some(&first)).0, first, "it was no draw in between");
        let longest = "a".repeat(SALT_MAX);
        assert_eq!(salt(None, Some(&longest)).0.len(), SALT_MAX);
    }

    #[test]
    fn sale_keys_are_needed_until_the_draw_and_the_codes_are_over() {
        let event = |id: &str, order: &str, day: u32| {
            let at = |hour: u32| format!("2027-03-{day:02}T{hour}:00:00Z");
            json!({ "id": id, "starts_at": at(10), "ends_at": at(14), "order": order, "key": "s1" })
        };
        let mut suspended = event("none", "draw", 7);
        suspended["suspended"] = true.into();
        let batch = |number: u64, more: &serde_json::Value| {
            let mut batch = json!({ "number": number, "id": format!("b{number}"), "count": 1, "key": "s2" });
            batch.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            batch
        };
        let settings = Settings::from_value(&json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 1, "handover": { "kind": "check" },
            "events": [event("a", "draw", 4), event("b", "arrival", 5), event("c", "draw", 6), suspended],
            "invitations": [
                batch(1, &json!({})),
                batch(2, &json!({ "revoked": true })),
                batch(3, &json!({ "until": "2027-03-04T14:10:00Z" })),
            ],
        }))
        .unwrap();
        let needed = |at: &str, micros: u64| {
            let now = Micros(at.parse::<crate::Timestamp>().unwrap().micros().0 - micros);
            settings.needed_sale_keys(now).map(|(what, key)| format!("{what} {key}")).collect::<Vec<_>>()
        };
        let later = ["event \"c\" s1", "invitations \"b1\" s2"];
        assert_eq!(
            needed("2027-03-04T14:10:00Z", 1),
            [&["event \"a\" s1"], &later[..], &["invitations \"b3\" s2"]].concat()
        );
        assert_eq!(needed("2027-03-04T14:10:00Z", 0), later);
    }
}

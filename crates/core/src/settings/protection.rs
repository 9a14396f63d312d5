//! Measures of a queue against automated clients.

use serde::{Deserialize, Serialize};

use super::identity::Identity;
use super::network_lists::{ClassifiedNetworks, NetworkListNames};
use super::proof_of_work::ProofOfWork;
use crate::ProofMode;
use crate::fields::FieldErrorCode as Code;
use crate::fields::{Bounded, Flag, ObjectReader, Omissible, OrDefault, OrNone};
use crate::join_counters::COUNTERS;

/// Default of `pre_ticket_from`.
const PRE_TICKET_FROM: u64 = 50;
/// Default of `pre_ticket_max_age`.
const PRE_TICKET_MAX_AGE: u64 = 30;
/// Default of `per_address`.
const PER_ADDRESS: u64 = 20;
/// Default of `per_network`.
const PER_NETWORK: u64 = 400;
/// Maximum of `per_address` and `per_network`, below the maximum of a counter.
const JOINS_MAX: u64 = 60_000;
/// Maximum of `joins_per_second`.
const JOINS_PER_SECOND_MAX: u64 = 100_000;

/// Whether joins are counted, and whether limits are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LimitMode {
    /// Nothing is counted.
    Off,
    /// Joins are counted and reported; nobody is affected.
    #[default]
    Monitor,
    /// Limits are applied.
    Enforce,
}

/// What happens to joins above `per_address` or `per_network`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnExceed {
    /// The client has to prove work.
    #[default]
    Challenge,
    /// The join is rejected.
    Reject,
}

crate::word_field!(LimitMode { Off = "off", Monitor = "monitor", Enforce = "enforce" });
crate::word_field!(OnExceed { Challenge = "challenge", Reject = "reject" });

crate::choice_kind! {
    /// The number of counters per row.
    pub CounterCount -> u64: "integer", COUNTERS, |count| (*count).into();
}

crate::fields! {
    /// Measures against automated clients.
    ///
    /// They are stored among the rules of the line. In a stored object a missing percentage means that no pre-ticket is required,
    /// since scripts cannot store `null`; if the whole object is missing, the default applies.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct Protection {
        /// Percentage of the quota in use from which newcomers need a pre-ticket to join; `"none"` if they never do.
        #[serde(default)]
        pub pre_ticket_from: OrNone<Bounded<0, 100>> = Some(PRE_TICKET_FROM),
        /// Seconds for which the first visit counts as the arrival of a session that joins by its pre-ticket.
        pub pre_ticket_max_age: Bounded<0, 300> = PRE_TICKET_MAX_AGE,
        /// Whether joins are counted and limited: `off`, `monitor` (counted and reported only) or `enforce`.
        pub mode: LimitMode = LimitMode::Monitor,
        /// Joins of one address (IPv4 /32, IPv6 /64) in ten minutes; `"none"` for no limit.
        #[serde(default)]
        pub per_address: OrNone<Bounded<1, JOINS_MAX>> = Some(PER_ADDRESS),
        /// Joins of one network (IPv4 /24, IPv6 /48) in ten minutes; `"none"` for no limit.
        #[serde(default)]
        pub per_network: OrNone<Bounded<1, JOINS_MAX>> = Some(PER_NETWORK),
        /// What happens to joins above `per_address` or `per_network`: `challenge` or `reject`.
        pub on_exceed: OnExceed = OnExceed::Challenge,
        /// Joins of the queue per second; `"none"` for no limit.
        #[serde(default)]
        pub joins_per_second: OrNone<Bounded<1, JOINS_PER_SECOND_MAX>> = None,
        /// Counters per row: more for more joins. 131072 take 1 MiB and suffice for 300 joins per second.
        pub counters: CounterCount = COUNTERS[0],
        /// Whether operators see the largest networks. Without, the store keeps no network in the clear.
        pub show_networks: Flag = true,
        /// Work that newcomers prove before they join.
        pub proof_of_work: OrDefault<ProofOfWork>,
        /// Lists of networks by class.
        pub lists: OrDefault<NetworkListNames>,
        /// Single networks by class.
        #[serde(skip_serializing_if = "ClassifiedNetworks::is_empty")]
        pub networks: ClassifiedNetworks,
        /// How the account of a visitor is known; `null` if accounts don't matter.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub identity: Omissible<Identity>,
    }
    check = check_protection;
    // An identity is never ignored; other invalid fields have their defaults.
    const NEVER_IGNORED;
}

/// Without proof of work nothing would happen to joins above a limit. An earlier version may have stored that.
fn check_protection(protection: &mut Protection, object: &mut ObjectReader<'_>) {
    let limits = protection.per_address.or(protection.per_network).is_some();
    let is_enforced = protection.mode == LimitMode::Enforce && protection.on_exceed == OnExceed::Challenge;
    let challenges = protection.proof_of_work.mode != ProofMode::Off;
    if is_enforced && limits && !challenges && !object.is_stored() && !object.has_errors() {
        object.error("on_exceed", Code::NoProofOfWork);
    }
}

impl Protection {
    /// No pre-tickets: every first visit joins.
    pub fn without_pre_tickets() -> Self {
        Self { pre_ticket_from: None, ..Self::default() }
    }
}

impl Default for Protection {
    fn default() -> Self {
        Self {
            pre_ticket_from: Some(PRE_TICKET_FROM),
            pre_ticket_max_age: PRE_TICKET_MAX_AGE,
            mode: LimitMode::default(),
            per_address: Some(PER_ADDRESS),
            per_network: Some(PER_NETWORK),
            on_exceed: OnExceed::default(),
            joins_per_second: None,
            counters: COUNTERS[0],
            show_networks: true,
            proof_of_work: ProofOfWork::default(),
            lists: NetworkListNames::default(),
            networks: ClassifiedNetworks::default(),
            identity: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fields::joined;
    use crate::settings::Settings;

    fn settings(protection: &Value) -> Result<Settings, Vec<crate::FieldError>> {
        let mut document =
            json!({ "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 7, "handover": { "kind": "check" } });
        document["protection"] = protection.clone();
        Settings::from_value(&document)
    }

    #[test]
    fn default_protection_is_not_written() {
        let defaults = settings(&json!({})).unwrap();
        assert_eq!(defaults.line.protection, Protection::default());
        assert_eq!(Protection::default().pre_ticket_from, Some(50));
        assert_eq!(defaults.to_value().get("protection"), None);
        assert_eq!(settings(&Value::Null).unwrap().line.protection, Protection::default());
    }

    #[test]
    fn pre_tickets_can_be_switched_off() {
        for none in [json!("none"), Value::Null] {
            let settings = settings(&json!({ "pre_ticket_from": none })).unwrap();
            assert_eq!(settings.line.protection.pre_ticket_from, None);
            let written = settings.to_value();
            assert_eq!(written["protection"]["pre_ticket_from"], "none");
            assert_eq!(Settings::from_stored(&written).unwrap().line, settings.line);
        }
    }

    #[test]
    fn invalid_protection_names_the_field() {
        let faults = |protection: Value| joined(&settings(&protection).unwrap_err());
        let percentage = faults(json!({ "pre_ticket_from": 101 }));
        assert_eq!(percentage, "protection.pre_ticket_from: must be a whole number from 0 to 100; got 101");
        let word = faults(json!({ "pre_ticket_from": "never" }));
        assert_eq!(
            word,
            "protection.pre_ticket_from: must be a whole number from 0 to 100, or \"none\"; got \"never\""
        );
        let age = faults(json!({ "pre_ticket_max_age": "none", "unknown": 1 }));
        assert!(age.contains("pre_ticket_max_age: must be a whole number from 0 to 300"), "{age}");
        assert!(age.contains("protection.unknown: is unknown"), "{age}");
    }

    #[test]
    fn limits_round_trip() {
        let written = json!({
            "pre_ticket_from": 0, "pre_ticket_max_age": 0, "mode": "enforce", "per_address": 5, "per_network": "none",
            "on_exceed": "reject", "joins_per_second": 100, "counters": 524_288, "show_networks": false,
            "proof_of_work": { "mode": "always", "effort": 5_000, "from": 10 },
            "lists": { "trusted": ["offices"], "blocked": ["hosting", "scrapers"] },
            "networks": { "203.0.113.0/24": "shared", "2001:db8::/32": "blocked" },
        });
        let parsed = settings(&written).unwrap();
        assert_eq!(parsed.to_value()["protection"], written);
        assert_eq!(Settings::from_stored(&parsed.to_value()).unwrap().line, parsed.line);
        let stored = serde_json::to_value(&parsed.line.protection).unwrap();
        assert_eq!(serde_json::from_value::<Protection>(stored).unwrap(), parsed.line.protection);
        let class = |address: &str| parsed.line.protection.networks.class_of(address.parse().unwrap());
        assert_eq!(class("203.0.113.9"), Some(crate::NetworkClass::Shared));
        assert_eq!(class("198.51.100.1"), None);
    }

    #[test]
    fn longest_prefix_decides_the_class() {
        let networks = json!({ "203.0.113.0/24": "blocked", "203.0.113.9": "trusted", "203.0.0.0/8": "shared" });
        let parsed = settings(&json!({ "networks": networks })).unwrap().line.protection.networks;
        let class = |address: &str| parsed.class_of(address.parse().unwrap()).unwrap().as_str();
        assert_eq!(
            [class("203.0.113.9"), class("203.0.113.8"), class("203.0.112.1")],
            ["trusted", "blocked", "shared"]
        );
    }

    #[test]
    fn invalid_limits_name_the_field() {
        let fault = |protection: Value| joined(&settings(&protection).unwrap_err());
        assert!(
            fault(json!({ "mode": "on" }))
                .contains("protection.mode: must be one of \"off\", \"monitor\", \"enforce\"")
        );
        assert!(
            fault(json!({ "per_address": 0 }))
                .contains("protection.per_address: must be a whole number from 1 to 60000")
        );
        assert!(
            fault(json!({ "counters": 7 })).contains("protection.counters: must be one of 131072, 524288, 1048576")
        );
        assert!(fault(json!({ "lists": { "trusted": ["Our Offices"] } })).contains("protection.lists.trusted[0]"));
        assert!(
            fault(json!({ "networks": { "everyone": "blocked" } }))
                .contains("protection.networks.everyone: must be a network")
        );
        assert!(
            fault(json!({ "networks": { "203.0.113.0/24": "bad" } }))
                .contains("protection.networks.203.0.113.0/24: must be one of")
        );
        assert!(
            fault(json!({ "proof_of_work": { "effort": 99 } }))
                .contains("protection.proof_of_work.effort: must be a whole number from 100 to 100000")
        );
        assert!(
            fault(json!({ "proof_of_work": { "mode": "on" } }))
                .contains("must be one of \"off\", \"auto\", \"always\"")
        );
        let enforced = fault(json!({ "mode": "enforce" }));
        assert!(enforced.contains("protection.on_exceed: ") && enforced.contains("\"reject\""), "{enforced}");
        assert!(settings(&json!({ "mode": "enforce", "on_exceed": "reject" })).is_ok());
        assert!(settings(&json!({ "mode": "enforce", "proof_of_work": { "mode": "auto" } })).is_ok());
        assert!(settings(&json!({ "mode": "enforce", "per_address": "none", "per_network": "none" })).is_ok());
    }

    #[test]
    fn stored_protection_without_percentage_needs_no_pre_ticket() {
        let read = |stored: Value| serde_json::from_value::<Protection>(stored).unwrap().pre_ticket_from;
        assert_eq!(read(json!({ "pre_ticket_max_age": 30, "mode": "monitor" })), None);
        assert_eq!(read(json!({ "pre_ticket_from": 0 })), Some(0));
    }
}

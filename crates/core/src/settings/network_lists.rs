//! What operators say about networks: by the names of lists, and by single prefixes.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::list_name::ListName;
use super::source::Network;
use crate::fields::FieldErrorCode as Code;
use crate::fields::{Field, List, OrEmpty, Reader};
use crate::{Message, NetworkClass};

/// Maximum number of lists per class.
const LISTS_MAX: usize = 20;
/// Maximum number of prefixes that a queue classifies by themselves.
const NETWORKS_MAX: usize = 1000;

/// The names of lists.
type ListNames = OrEmpty<List<ListName, 0, LISTS_MAX>>;

crate::fields! {
    /// Lists of networks by class. A list is a file at the place of `VESTIBULE_NETWORKS`. If a network is in several classes, the
    /// first of `trusted`, `blocked`, `suspicious` and `shared` applies.
    #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(default)]
    pub struct NetworkListNames as "NetworkLists" {
        /// Lists of known visitors: no limit by address or network.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub trusted: ListNames,
        /// Lists of networks with many visitors behind few addresses: 16 joins count as one.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub shared: ListNames,
        /// Lists of networks that are unlikely to be those of visitors.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub suspicious: ListNames,
        /// Lists of networks from which nobody joins.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub blocked: ListNames,
    }
}

impl NetworkListNames {
    /// The lists of each class, the class that applies first at the front.
    pub fn by_class(&self) -> [(NetworkClass, &[String]); 4] {
        [
            (NetworkClass::Trusted, &self.trusted),
            (NetworkClass::Blocked, &self.blocked),
            (NetworkClass::Suspicious, &self.suspicious),
            (NetworkClass::Shared, &self.shared),
        ]
    }
}

/// Single prefixes with their classes. They apply before lists; the longest prefix applies.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClassifiedNetworks(BTreeMap<IpNet, NetworkClass>);

impl ClassifiedNetworks {
    /// Whether no prefix is classified.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether any network has this class.
    pub fn any_is(&self, class: NetworkClass) -> bool {
        self.0.values().any(|it| *it == class)
    }

    /// The class of the longest prefix that contains the address.
    pub fn class_of(&self, address: IpAddr) -> Option<NetworkClass> {
        let containing = self.0.iter().filter(|(prefix, _)| prefix.contains(&address));
        containing.max_by_key(|(prefix, _)| prefix.prefix_len()).map(|(_, class)| *class)
    }
}

impl Field for ClassifiedNetworks {
    type Value = Self;
    const OMISSIBLE: bool = true;

    fn expected() -> Message {
        Code::ClassifiedNetworks.with("most", NETWORKS_MAX)
    }

    fn schema() -> Value {
        json!({ "type": "object", "maxProperties": NETWORKS_MAX, "additionalProperties": NetworkClass::schema() })
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<Self> {
        let map = value.as_object().filter(|map| map.len() <= NETWORKS_MAX);
        let Some(map) = map else { return reader.accept::<Self>(value, None) };
        let mut networks = BTreeMap::new();
        let mut is_complete = true;
        for (prefix, class) in map {
            let entry = reader.entry(prefix, |reader| {
                let network = Network::parse(&json!(prefix), reader).map(|network| network.trunc());
                network.zip(NetworkClass::parse(class, reader))
            });
            is_complete &= entry.is_some();
            networks.extend(entry);
        }
        (is_complete || reader.is_stored()).then_some(Self(networks))
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }

    fn is_omitted(value: &Self) -> bool {
        value.is_empty()
    }

    fn to_json(value: &Self) -> Value {
        let entry = |(prefix, class): (&IpNet, &NetworkClass)| (prefix.to_string(), json!(class.as_str()));
        Value::Object(value.0.iter().map(entry).collect::<Map<_, _>>())
    }
}

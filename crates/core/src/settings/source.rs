//! Where clients may be.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;

use super::list_name::parse_list_name;
use crate::Message;
use crate::fields::FieldErrorCode as Code;
use crate::fields::{Field, Reader};

crate::text_field! { IpAddr: Code::Address, {}; }

fn parse_network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

crate::text_kind! {
    /// A network, or a single address.
    pub Network -> IpNet: Code::Network, {}, parse_network;
}

/// Where a client may be: a network, or a list of networks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A network.
    Network(IpNet),
    /// The list of this name: `@name`.
    List(String),
}

/// Begins the name of a list.
const LIST_MARK: char = '@';

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(network) => network.fmt(f),
            Self::List(name) => write!(f, "{LIST_MARK}{name}"),
        }
    }
}

impl Field for Source {
    type Value = Self;

    fn expected() -> Message {
        Code::Source.into()
    }

    fn schema() -> Value {
        serde_json::json!({ "type": "string" })
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<Self> {
        let text = value.as_str();
        let parsed = match text.and_then(|text| text.strip_prefix(LIST_MARK)) {
            Some(name) => parse_list_name(name).map(Self::List),
            None => text.and_then(parse_network).map(Self::Network),
        };
        reader.accept::<Self>(value, parsed)
    }

    fn to_json(value: &Self) -> Value {
        value.to_string().into()
    }
}

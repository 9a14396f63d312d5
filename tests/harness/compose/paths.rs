use std::collections::{BTreeMap, BTreeSet};

use super::service::Service;
use crate::ports::free_cluster_port;

/// Which port of 127.0.0.1 stands for which port of which network.
pub(super) struct Paths {
    /// By network and port.
    ports: BTreeMap<(String, u16), u16>,
    /// The network of each service.
    networks: BTreeMap<String, String>,
}

impl Paths {
    /// Finds every `<service>:<port>` that is named, and every port that is published.
    pub(super) fn of(services: &BTreeMap<String, Service>) -> Self {
        let networks: BTreeMap<String, String> =
            services.values().map(|service| (service.name.clone(), service.network.clone())).collect();
        let texts: Vec<String> = services.values().flat_map(Service::texts).collect();
        let mut found = BTreeSet::new();
        for service in services.values() {
            found.extend(service.ports.iter().map(|port| (service.network.clone(), *port)));
            let name = format!("{}:", service.name);
            for named in texts.iter().flat_map(|text| text.split(&name).skip(1)) {
                let digits: String = named.chars().take_while(char::is_ascii_digit).collect();
                found.extend(digits.parse().ok().map(|port: u16| (service.network.clone(), port)));
            }
        }
        // Of Redis' nodes both ports must be free.
        Self { ports: found.into_iter().map(|named| (named, free_cluster_port())).collect(), networks }
    }

    pub(super) fn address(&self, network: &str, port: u16) -> String {
        let found = self.ports.get(&(network.to_owned(), port));
        format!("127.0.0.1:{}", found.unwrap_or_else(|| panic!("the file names no {network}:{port}")))
    }

    /// How the addresses in a text of a service on `network` read here.
    pub(super) fn addresses(&self, network: &str) -> BTreeMap<String, String> {
        let mut table = BTreeMap::new();
        for (of, port) in self.ports.keys() {
            let here = self.address(of, *port);
            for service in self.networks.iter().filter(|(_, its)| *its == of).map(|(service, _)| service) {
                table.insert(format!("{service}:{port}"), here.clone());
            }
            if of == network {
                for own in ["0.0.0.0", "127.0.0.1"] {
                    table.insert(format!("{own}:{port}"), here.clone());
                }
            }
        }
        table
    }

    /// A whole word of a command that is a port of the network's, or all addresses.
    pub(super) fn word(&self, network: &str, word: &str) -> String {
        if word == "0.0.0.0" {
            return "127.0.0.1".to_owned();
        }
        let port = word.parse().ok().and_then(|port: u16| self.ports.get(&(network.to_owned(), port)));
        port.map_or_else(|| word.to_owned(), ToString::to_string)
    }
}

/// Replaces what is in `table`, the longest first, and nothing in what was put in.
pub(super) fn replace(text: &str, table: &BTreeMap<String, String>) -> String {
    let mut keys: Vec<&String> = table.keys().collect();
    keys.sort_by_key(|key| std::cmp::Reverse(key.len()));
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(key) = keys.iter().find(|key| rest.starts_with(**key)) {
            out.push_str(&table[*key]);
            rest = &rest[key.len()..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

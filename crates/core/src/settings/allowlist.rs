//! Allowlists of a tenant: domains for the hosts and cookie domains of its queues, and origins.
//!
//! Superusers and the settings file set the two lists. A list applies to every change of the
//! tenant's queues, by any principal. Without a list, only superusers and the settings file may set
//! these values; operators change everything else.

use super::Settings;
use super::host::{HostPattern, is_subdomain_of};
use super::origin::Origin;
use super::origin_pattern::OriginPattern;
use super::reach::Reach;
use super::tenant::Tenant;
use crate::fields::{FieldError, FieldErrorCode as Code};
use crate::jobs::JobQueueSettings;
use crate::{Message, Param};

impl Tenant {
    /// The addresses that may be connected to for this origin. An exactly listed origin may be
    /// in a private network, and on this machine only if its IP address or `localhost` is listed. Every
    /// origin may have the addresses of networks that are listed with its scheme and port.
    pub fn reach(&self, origin: &Origin) -> Reach {
        let Some(origins) = &self.origins else { return Reach::Any };
        let is_exact = origins.contains(&OriginPattern::Exact(origin.clone()));
        if is_exact && origin.names_an_address() {
            return Reach::Any;
        }
        let networks: Vec<_> = origins.iter().filter_map(|pattern| pattern.network_of(origin)).collect();
        match (is_exact, networks.is_empty()) {
            (true, true) => Reach::Private,
            (false, true) => Reach::Public,
            (_, false) => Reach::networks(networks, is_exact),
        }
    }

    /// Whether the list of origins, if there is one, has an entry for this origin.
    pub fn allows_origin(&self, origin: &Origin) -> bool {
        self.origins.as_ref().is_none_or(|origins| origins.iter().any(|pattern| pattern.matches(origin)))
    }

    /// The values of a queue that are not allowed for this tenant. Values unchanged from `before`
    /// are not checked again, so a change of the quota never fails because of a host that was set
    /// earlier.
    #[must_use]
    pub fn refusals(&self, queue: &Settings, before: Option<&Settings>, by_superuser: bool) -> Vec<FieldError> {
        let mut refused = Vec::new();
        for (index, host) in queue.hosts.iter().enumerate() {
            if before.is_none_or(|before| !before.hosts.contains(host)) {
                let fault = self.host_refusal(host, by_superuser);
                refused.extend(fault.map(|fault| FieldError::new(format!("hosts[{index}]"), fault)));
            }
        }
        let origin = &queue.handover.origin;
        if let Some(origin) = origin.as_ref().filter(|_| before.is_none_or(|it| it.handover.origin != *origin)) {
            let fault = self.origin_refusal(origin, by_superuser);
            refused.extend(fault.map(|fault| FieldError::new("handover.origin", fault)));
        }
        let identity = queue.line.protection.identity.as_ref();
        let before_identity = before.and_then(|before| before.line.protection.identity.as_ref());
        let [jwks, jwks_before] = [identity, before_identity].map(|it| it.and_then(|it| it.jwks.as_ref()));
        if let Some(url) = jwks.filter(|url| jwks_before != Some(*url)) {
            let fault = self.origin_refusal(url.origin(), by_superuser);
            refused.extend(fault.map(|fault| FieldError::new("protection.identity.jwks", fault)));
        }
        let [sign_in, sign_in_before] = [identity, before_identity].map(|it| it.and_then(|it| it.sign_in.as_ref()));
        if let Some(url) = sign_in.filter(|url| sign_in_before != Some(*url)) {
            let fault = self.origin_refusal(url.origin(), by_superuser);
            refused.extend(fault.map(|fault| FieldError::new("protection.identity.sign_in", fault)));
        }
        let domain = &queue.cookie_domain;
        if let Some(domain) = domain.as_ref().filter(|_| before.is_none_or(|it| it.cookie_domain != *domain)) {
            let fault = self.cookie_domain_refusal(domain, by_superuser);
            refused.extend(fault.map(|fault| FieldError::new("cookie_domain", fault)));
        }
        refused
    }

    /// Why the handler of a job queue is not allowed for this tenant.
    #[must_use]
    pub fn job_queue_refusal(&self, job_queue: &JobQueueSettings, by_superuser: bool) -> Option<FieldError> {
        let fault = self.origin_refusal(job_queue.target.url.as_ref()?.origin(), by_superuser)?;
        Some(FieldError::new("target.url", fault))
    }

    fn host_refusal(&self, host: &HostPattern, by_superuser: bool) -> Option<Message> {
        match (host, &self.domains) {
            (HostPattern::Any, None) if by_superuser => None,
            (HostPattern::Any, _) => Some(Code::AnyHost.into()),
            (HostPattern::Exact(name) | HostPattern::Wildcard(name), Some(domains)) => {
                let fault = || Code::HostOutside.with("host", host.to_string()).with("domains", listed(domains));
                (!is_within(name, domains)).then(fault)
            }
            (_, None) => no_list(by_superuser, "domains"),
        }
    }

    fn origin_refusal(&self, origin: &Origin, by_superuser: bool) -> Option<Message> {
        let Some(origins) = &self.origins else { return no_list(by_superuser, "origins") };
        let fault = || Code::OriginOutside.with("origin", origin.to_string()).with("origins", listed(origins));
        (!self.allows_origin(origin)).then(fault)
    }

    fn cookie_domain_refusal(&self, domain: &str, by_superuser: bool) -> Option<Message> {
        if psl::suffix(domain.as_bytes()).is_some_and(|suffix| suffix == domain) {
            return Some(Code::PublicSuffix.with("domain", domain));
        }
        let Some(domains) = &self.domains else { return no_list(by_superuser, "domains") };
        let fault = || Code::CookieDomainOutside.with("domain", domain).with("domains", listed(domains));
        (!is_within(domain, domains)).then(fault)
    }
}

fn no_list(by_superuser: bool, list: &'static str) -> Option<Message> {
    (!by_superuser).then(|| Code::SuperusersOnly.with("list", list))
}

fn is_within(name: &str, domains: &[String]) -> bool {
    domains.iter().any(|domain| name == domain || is_subdomain_of(name, domain))
}

fn listed<T: ToString>(entries: &[T]) -> Param {
    if entries.is_empty() {
        return Code::NoEntries.into();
    }
    entries.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ").into()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn tenant(lists: &Value) -> Tenant {
        let mut value = json!({ "id": "acme", "name": "Acme" });
        value.as_object_mut().unwrap().extend(lists.as_object().unwrap().clone());
        Tenant::from_value(&value).unwrap()
    }

    fn queue(settings: &Value) -> Settings {
        let mut value = json!({
            "id": "tour", "tenant": "acme", "hosts": ["tickets.acme.example"], "quota": 1,
            "handover": { "kind": "proxy", "origin": "https://www.acme.example" },
        });
        value.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        Settings::from_value(&value).unwrap()
    }

    fn refused(tenant: &Tenant, settings: &Value, by_superuser: bool) -> Vec<String> {
        tenant.refusals(&queue(settings), None, by_superuser).iter().map(ToString::to_string).collect()
    }

    fn origin(text: &str) -> Origin {
        text.parse().unwrap()
    }

    #[test]
    fn allowlist_applies_to_all_principals() {
        let listed = tenant(&json!({
            "domains": ["acme.example", "Acme-Tickets.example"], "origins": ["https://www.acme.example", "https://*.shop.example"],
        }));
        for by_superuser in [true, false] {
            for allowed in [
                json!({}),
                json!({ "hosts": ["acme.example", "*.acme.example", "a.b.acme-tickets.example"] }),
                json!({ "handover": { "kind": "redirect", "origin": "https://eu.shop.example:443" } }),
                json!({ "handover": { "kind": "check" } }),
                json!({ "cookie_domain": "acme.example" }),
            ] {
                assert_eq!(refused(&listed, &allowed, by_superuser), [""; 0], "{allowed}");
            }
            for (settings, says) in [
                (
                    json!({ "hosts": ["tickets.acme.example", "other.example"] }),
                    "hosts[1]: \"other.example\" is outside",
                ),
                (json!({ "hosts": ["badacme.example"] }), "hosts[0]: \"badacme.example\" is outside"),
                (json!({ "hosts": ["*.example"] }), "hosts[0]: \"*.example\" is outside"),
                (json!({ "hosts": ["*"] }), "hosts[0]: \"*\" can only be set by a superuser"),
                (json!({ "handover": { "kind": "proxy", "origin": "http://127.0.0.1:8191" } }), "handover.origin: "),
                (json!({ "handover": { "kind": "check", "origin": "http://www.acme.example" } }), "handover.origin: "),
                (json!({ "handover": { "kind": "redirect", "origin": "https://shop.example" } }), "handover.origin: "),
                (
                    json!({ "handover": { "kind": "redirect", "origin": "https://x.shop.example:8443" } }),
                    "handover.origin: ",
                ),
                (
                    json!({ "hosts": ["a.acme.co.uk"], "cookie_domain": "co.uk" }),
                    "hosts[0]: \"a.acme.co.uk\" is outside",
                ),
            ] {
                let errors = refused(&listed, &settings, by_superuser);
                assert!(errors.first().is_some_and(|error| error.starts_with(says)), "{settings}: {errors:?}");
            }
        }
    }

    #[test]
    fn only_superusers_choose_without_an_allowlist() {
        let unlisted = tenant(&json!({}));
        assert_eq!(refused(&unlisted, &json!({ "hosts": ["*"] }), true), [""; 0]);
        let chosen = json!({ "cookie_domain": "acme.example" });
        assert_eq!(refused(&unlisted, &chosen, true), [""; 0]);
        let errors = refused(&unlisted, &chosen, false);
        let fields: Vec<_> = errors.iter().filter_map(|error| error.split(':').next()).collect();
        assert_eq!(fields, ["hosts[0]", "handover.origin", "cookie_domain"], "{errors:?}");
        assert!(errors[1].contains("no list of origins"), "{errors:?}");
    }

    #[test]
    fn empty_allowlist_allows_nothing() {
        let errors = refused(&tenant(&json!({ "domains": [], "origins": [] })), &json!({}), true);
        assert_eq!(errors.len(), 2, "{errors:?}");
        assert!(errors.iter().all(|error| error.ends_with("none")), "{errors:?}");
    }

    #[test]
    fn unchanged_values_are_accepted() {
        let before = queue(&json!({ "hosts": ["*"] }));
        let after = queue(&json!({ "hosts": ["*"], "quota": 7 }));
        assert_eq!(tenant(&json!({})).refusals(&after, Some(&before), false), []);
        let wider = queue(&json!({ "hosts": ["*", "x.example"] }));
        assert_eq!(tenant(&json!({})).refusals(&wider, Some(&before), false).len(), 1);
    }

    #[test]
    fn public_suffixes_are_rejected_as_cookie_domains() {
        for (host, suffix) in [("shop.co.uk", "co.uk"), ("acme.github.io", "github.io")] {
            let errors = refused(&tenant(&json!({})), &json!({ "hosts": [host], "cookie_domain": suffix }), true);
            assert!(errors.iter().any(|error| error.contains("is a public suffix")), "{suffix}: {errors:?}");
        }
    }

    #[test]
    fn cookie_domains_are_within_the_domains() {
        let listed = tenant(&json!({ "domains": ["a.plat.test"] }));
        let errors = refused(&listed, &json!({ "hosts": ["a.plat.test"], "cookie_domain": "plat.test" }), true);
        assert!(errors[0].starts_with("cookie_domain: \"plat.test\" is outside"), "{errors:?}");
    }

    #[test]
    fn only_exact_origins_reach_internal_addresses() {
        let listed = tenant(&json!({
            "origins": ["http://shop.internal:8080", "https://*.acme.example", "http://10.0.0.5", "http://localhost:3000", "http://[::1]:80"],
        }));
        for (at, reach) in [
            ("http://shop.internal:8080", Reach::Private),
            ("http://shop.internal", Reach::Public),
            ("https://www.acme.example", Reach::Public),
            ("http://10.0.0.5:80", Reach::Any),
            ("http://localhost:3000", Reach::Any),
            ("http://[::1]", Reach::Any),
            ("http://127.0.0.1", Reach::Public),
        ] {
            assert_eq!(listed.reach(&origin(at)), reach, "{at}");
        }
        assert_eq!(tenant(&json!({})).reach(&origin("http://127.0.0.1")), Reach::Any);
    }

    #[test]
    fn networks_are_reached_by_their_scheme_and_port_only() {
        let listed = tenant(&json!({
            "origins": ["http://10.20.0.0/16", "http://[fd12::/32]:8080", "http://crm.internal", "http://*.hooks.example"],
        }));
        let networks = |written: &[&str], is_private| {
            Reach::networks(written.iter().map(|it| it.parse().unwrap()).collect(), is_private)
        };
        for (at, is_allowed, reach) in [
            ("http://10.20.3.4", true, networks(&["10.20.0.0/16"], false)),
            ("http://[::ffff:10.20.3.4]", true, networks(&["10.20.0.0/16"], false)),
            ("http://10.21.0.1", false, networks(&["10.20.0.0/16"], false)),
            ("http://10.20.3.4:8080", false, networks(&["fd12::/32"], false)),
            ("https://10.20.3.4", false, Reach::Public),
            ("http://[fd12::7]:8080", true, networks(&["fd12::/32"], false)),
            ("http://crm.internal", true, networks(&["10.20.0.0/16"], true)),
            ("http://eu.hooks.example", true, networks(&["10.20.0.0/16"], false)),
            ("http://other.example", false, networks(&["10.20.0.0/16"], false)),
        ] {
            assert_eq!((listed.allows_origin(&origin(at)), listed.reach(&origin(at))), (is_allowed, reach), "{at}");
        }
        assert!(tenant(&json!({})).allows_origin(&origin("http://10.0.0.1")));
    }

    #[test]
    fn origin_pattern_round_trips() {
        for (given, written) in [
            ("https://www.example.com/", "https://www.example.com"),
            ("HTTPS://*.Example.com:443", "https://*.example.com"),
            ("http://*.example.com:8080", "http://*.example.com:8080"),
            ("http://10.20.0.0/16", "http://10.20.0.0/16"),
            ("HTTP://10.20.0.0/16:80", "http://10.20.0.0/16"),
            ("https://10.20.0.0/16:8443", "https://10.20.0.0/16:8443"),
            ("https://[FD12::/32]", "https://[fd12::/32]"),
            ("http://[fd12::/32]:8080", "http://[fd12::/32]:8080"),
        ] {
            assert_eq!(given.parse::<OriginPattern>().unwrap().to_string(), written);
        }
        for bad in [
            "*",
            "https://*",
            "https://*.",
            "www.example.com",
            "https://a.*.example.com",
            "https://x/y",
            "http://10.20.0.1/16",
            "http://10.20.0.0/33",
            "http://[fd12::/32",
            "http://10.20.0.0/16/",
            "http://10.20.0.0/16:0",
            "http://crm.example/16",
            "http://fd12::/32",
            "http://10.20.0.0/16x",
        ] {
            assert!(bad.parse::<OriginPattern>().is_err(), "{bad}");
        }
    }
}

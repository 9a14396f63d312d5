//! Messages for invalid fields.

use crate::wordings;

// The limits that the messages mention.
const _: () = assert!(crate::ID_MAX == 63 && super::NAME_MAX == 120);

wordings! {
    /// What is wrong with a field, to be appended to its name, and what fields accept, as the rest of "must be ..".
    pub enum FieldWording {
        InvalidValue("invalid_value", "must be {what}; got {given}"),
        Invalid("invalid", "must be {what}"),
        Empty("empty", "is empty; it must be {what}"),
        Required("required", "is required: {what}"),
        UnknownField("unknown_field", "is unknown; known fields are {known}"),
        IdTaken("duplicate_id", "is already used in this document: \"{id}\""),
        NoSuchTenant("unknown_tenant", "is not a tenant of this document: \"{tenant}\""),
        HoldTtlTooShort("hold_ttl_too_short", "must not be below waiting_ttl: a ticket must hold its position at least as long as its session is present"),
        ClaimTtlTooShort("claim_ttl_too_short", "must be at least a third of waiting_ttl, the longest poll interval"),
        HostNotCovered("host_not_covered", "does not cover the host \"{host}\"; it must be {what}"),
        HostOutside("host_outside", "\"{host}\" is outside the tenant's domains: {domains}"),
        AnyHost("any_host", "\"*\" can only be set by a superuser or the settings file, for a tenant without a list of domains"),
        OriginOutside("origin_outside", "\"{origin}\" is not one of the tenant's origins: {origins}"),
        CookieDomainOutside("cookie_domain_outside", "\"{domain}\" is outside the tenant's domains: {domains}"),
        PublicSuffix("public_suffix", "\"{domain}\" is a public suffix, for which browsers reject cookies; use a domain below it"),
        SuperusersOnly("superusers_only", "can only be set by a superuser or the settings file, because the tenant has no list of {list}"),
        NoEntries("no_entries", "none"),
        RuleWithoutCondition("rule_without_condition", "needs at least one condition: path, method, header, cookie or source"),
        TooManyPaths("too_many_paths", "must have at most {most} path globs in all rules together"),
        HostTaken("host_taken", "\"{host}\" is already used by {queue}"),
        NeverApplies("never_applies", "never applies on \"{host}\": {queue} matches all requests first"),
        HidesOther("hides_other", "matches all requests on \"{host}\" before {queue}, which then never applies"),
        RuleRepeated("rule_repeated", "has the same conditions as rule {rule} of {queue} on \"{host}\"; only the first match applies"),
        ForeignQueue("foreign_queue", "a queue of another tenant"),
        WholeNumber("whole_number", "a whole number from {least} to {most}"),
        OneOf("one_of", "one of {words}"),
        Object("object", "an object"),
        Text("text", "a text of at most {most} characters"),
        StringMap("string_map", "an object of at most {most} texts"),
        List("list", "a list of {least} to {most} items, each {what}"),
        ListAtMost("list_at_most", "a list of at most {most} items, each {what}"),
        Id("id", "1 to 63 characters a-z, 0-9 and -, not starting or ending with -"),
        Name("name", "1 to 120 characters without control characters"),
        Host("host", "a host name such as \"tickets.example.com\" or \"*.example.com\" without scheme or port, or \"*\" for every host"),
        Origin("origin", "a scheme, host and port without a path, such as \"https://www.example.com\""),
        CookieDomain("cookie_domain", "a domain with a dot, such as \"example.com\", that contains all hosts"),
        PathGlob("path_glob", "a path glob that starts with /, such as \"/shop/**\""),
        Method("method", "a method in capitals, such as \"GET\""),
        ValueText("value_text", "a text of 1 to {most} characters"),
        Network("network", "a network such as \"203.0.113.0/24\" or an address"),
        Address("address", "an IP address such as \"203.0.113.9\""),
        Color("color", "a color such as \"#0a7d5a\""),
        Domain("domain", "a domain such as \"example.com\", which includes its subdomains"),
        OriginPattern("origin_pattern", "an origin such as \"https://www.example.com\", or \"https://*.example.com\" for all subdomains"),
        Logo("logo", "a file of the theme's folder, such as \"logo.svg\""),
    }
}

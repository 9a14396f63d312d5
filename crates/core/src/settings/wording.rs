//! Messages for invalid settings.

use crate::wordings;

// The limits that the messages mention.
const _: () = assert!(crate::ID_MAX == 63 && super::document::NAME_MAX == 120);

wordings! {
    /// What is wrong with a field and which values it accepts, to be appended to the field's name.
    pub enum FieldWording {
        TakesNot("takes_not", "takes {what}, not {given}"),
        Takes("takes", "takes {what}"),
        Empty("empty", "is empty; it takes {what}"),
        Missing("missing", "is missing; it takes {what}"),
        NoField("no_field", "is not a field here; the fields are {known}"),
        IdTaken("id_taken", "is taken already: \"{id}\""),
        NoSuchTenant("no_such_tenant", "names no tenant of this document: \"{tenant}\""),
        HoldTtlTooShort("hold_ttl_too_short", "must not be below waiting_ttl: a place is held at least as long as its presence"),
        ClaimTtlTooShort("claim_ttl_too_short", "must be at least a third of waiting_ttl: who waits asks that seldom, and would miss the turn"),
        HostNotCovered("host_not_covered", "does not cover the host \"{host}\": it takes {what}"),
        HostOutside("host_outside", "\"{host}\" is outside the tenant's domains; it takes hosts in: {domains}"),
        AnyHost("any_host", "\"*\" takes a superuser or the settings file, and a tenant without a list of domains"),
        OriginOutside("origin_outside", "\"{origin}\" is not one of the tenant's origins; it takes one of: {origins}"),
        CookieDomainOutside("cookie_domain_outside", "\"{domain}\" is outside the tenant's domains; it takes a domain in: {domains}"),
        PublicSuffix("public_suffix", "\"{domain}\" is a public suffix, for which browsers keep no cookies; it takes a domain below it"),
        SuperusersOnly("superusers_only", "takes a superuser or the settings file, because the tenant has no list of {list}"),
        NoEntries("no_entries", "none"),
        RuleWithoutCondition("rule_without_condition", "needs a condition beside it: path, method, header, cookie or source"),
        TooManyPaths("too_many_paths", "takes at most {most} path globs in all rules together"),
        WholeNumber("whole_number", "a whole number from {least} to {most}"),
        WholeNumberOrNothing("whole_number_or_nothing", "a whole number from {least} to {most}, or nothing"),
        OneOf("one_of", "one of {words}"),
        Id("id", "1 to 63 characters a-z, 0-9 and -, the first and the last not a -"),
        Name("name", "1 to 120 characters, none of them a control character"),
        Hosts("hosts", "1 to {most} host names such as \"tickets.example.com\" or \"*.example.com\" without scheme or port, or \"*\" for every host"),
        Origin("origin", "an address of scheme, host and port only, such as \"https://www.example.com\""),
        Handover("handover", "{ kind = \"redirect\", \"proxy\" or \"check\", origin, preflights }"),
        CookieDomain("cookie_domain", "a domain such as \"example.com\" that all hosts are or end in, with a dot inside"),
        Document("document", "[[tenants]] and [[queues]]"),
        Table("table", "a table"),
        Tables("tables", "a list of at most {most} tables"),
        Rules("rules", "a list of at most {most} rules"),
        RuleTable("rule", "a table with an action and conditions"),
        Paths("paths", "path globs that start with /, such as \"/shop/**\""),
        Methods("methods", "methods in capitals, such as \"GET\""),
        NamedValue("named_value", "{ name, value }, neither empty"),
        Networks("networks", "networks such as \"203.0.113.0/24\" or addresses"),
        Color("color", "a color such as \"#0a7d5a\""),
        Domains("domains", "at most {most} domains such as \"example.com\", each with all names below it"),
        Origins("origins", "at most {most} origins such as \"https://www.example.com\", or \"https://*.example.com\" for all names below"),
        Logo("logo", "a file of the theme's folder, such as \"logo.svg\""),
    }
}

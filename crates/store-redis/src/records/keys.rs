//! Names of the keys of documents, logs and ephemeral values. They have no common hash tag, so they
//! spread over a cluster.

use vestibule_records::{DocumentKind, EphemeralKey, LogName};

/// Hash: id of a document -> its revision and its text; [`OF_KIND`] -> the revision of all of them.
pub(super) fn documents(kind: DocumentKind) -> String {
    format!("vestibule:{}", kind.as_str())
}

/// The field with the revision of a kind. No document has this id.
pub(super) const OF_KIND: &str = "";

/// Stream: entries with the single field `text`.
pub(super) fn log(log: &LogName) -> String {
    match log {
        LogName::Audit => "vestibule:audit".to_owned(),
        LogName::TenantAudit(tenant) => format!("vestibule:audit:tenant:{tenant}"),
        LogName::AccountAudit => "vestibule:audit:accounts".to_owned(),
        LogName::Minutes(queue) => format!("vestibule:minutes:{queue}"),
        LogName::FiveMinutes(queue) => format!("vestibule:five-minutes:{queue}"),
        LogName::RecordedMinutes => "vestibule:recorded-minutes".to_owned(),
        LogName::RecordedFiveMinutes => "vestibule:recorded-five-minutes".to_owned(),
        LogName::EventSnapshots(queue) => format!("vestibule:event-snapshots:{queue}"),
    }
}

/// String: the expiry of the ephemeral key, and its text.
pub(super) fn ephemeral(key: &EphemeralKey) -> String {
    format!("vestibule:ephemeral:{}:{}", key.kind.as_str(), key.id)
}

#[cfg(test)]
mod tests {
    use vestibule_records::{EphemeralKind, LoggedQueue};

    use super::*;

    #[test]
    fn key_names_are_stable() {
        let queue = || LoggedQueue { tenant: "acme".parse().unwrap(), queue: "acme-tour".parse().unwrap() };
        for (name, expected) in [
            (documents(DocumentKind::Operators), "vestibule:operators"),
            (documents(DocumentKind::Tokens), "vestibule:tokens"),
            (documents(DocumentKind::FileQueues), "vestibule:file-queues"),
            (documents(DocumentKind::FileTenants), "vestibule:file-tenants"),
            (documents(DocumentKind::FileJobQueues), "vestibule:file-job-queues"),
            (documents(DocumentKind::JobQueues), "vestibule:job-queues"),
            (documents(DocumentKind::FormerTenants), "vestibule:former-tenants"),
            (log(&LogName::Audit), "vestibule:audit"),
            (log(&LogName::TenantAudit("acme".parse().unwrap())), "vestibule:audit:tenant:acme"),
            (log(&LogName::AccountAudit), "vestibule:audit:accounts"),
            (log(&LogName::Minutes(queue())), "vestibule:minutes:acme:acme-tour"),
            (log(&LogName::FiveMinutes(queue())), "vestibule:five-minutes:acme:acme-tour"),
            (log(&LogName::RecordedMinutes), "vestibule:recorded-minutes"),
            (log(&LogName::RecordedFiveMinutes), "vestibule:recorded-five-minutes"),
            (log(&LogName::EventSnapshots(queue())), "vestibule:event-snapshots:acme:acme-tour"),
            (ephemeral(&EphemeralKey::new(EphemeralKind::SignIn, "0f")), "vestibule:ephemeral:sign-in:0f"),
            (
                ephemeral(&EphemeralKey::new(EphemeralKind::SignInAttempt, "0f")),
                "vestibule:ephemeral:sign-in-attempt:0f",
            ),
            (ephemeral(&EphemeralKey::new(EphemeralKind::Preview, "0f")), "vestibule:ephemeral:preview:0f"),
            (ephemeral(&EphemeralKey::new(EphemeralKind::KnownAddress, "0f")), "vestibule:ephemeral:known-address:0f"),
            (ephemeral(&EphemeralKey::new(EphemeralKind::Failures, "0f")), "vestibule:ephemeral:failures:0f"),
            (ephemeral(&EphemeralKey::new(EphemeralKind::Slowed, "0f")), "vestibule:ephemeral:slowed:0f"),
            (ephemeral(&EphemeralKey::new(EphemeralKind::Confirmation, "0f")), "vestibule:ephemeral:confirmation:0f"),
            (ephemeral(&EphemeralKey::new(EphemeralKind::Minute, "7")), "vestibule:ephemeral:minute:7"),
            (ephemeral(&EphemeralKey::new(EphemeralKind::Creation, "7")), "vestibule:ephemeral:creation:7"),
            (ephemeral(&EphemeralKey::new(EphemeralKind::Idempotency, "7")), "vestibule:ephemeral:idempotency:7"),
            (ephemeral(&EphemeralKey::new(EphemeralKind::Changes, "7")), "vestibule:ephemeral:changes:7"),
            (ephemeral(&EphemeralKey::new(EphemeralKind::AccountEvents, "7")), "vestibule:ephemeral:account-events:7"),
            (ephemeral(&EphemeralKey::new(EphemeralKind::TotpSetup, "7")), "vestibule:ephemeral:totp-setup:7"),
        ] {
            assert_eq!(name, expected);
        }
    }
}

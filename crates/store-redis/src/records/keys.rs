//! Names of the keys of documents, logs and ephemeral values. They have no common hash tag, so they
//! spread over a cluster.

use vestibule_records::{DocumentKind, EphemeralKey, LogName};

/// Hash: id of a document -> its revision and its text.
pub(super) fn records(kind: DocumentKind) -> String {
    format!("vestibule:{}", kind.as_str())
}

/// Stream: entries with the single field `text`.
pub(super) fn stream(stream: &LogName) -> String {
    match stream {
        LogName::Audit => "vestibule:audit".to_owned(),
        LogName::TenantAudit(tenant) => format!("vestibule:audit:tenant:{tenant}"),
        LogName::AccountAudit => "vestibule:audit:accounts".to_owned(),
        LogName::Minutes(queue) => format!("vestibule:minutes:{queue}"),
        LogName::FiveMinutes(queue) => format!("vestibule:five-minutes:{queue}"),
    }
}

/// String: the expiry of the ephemeral key, and its text.
pub(super) fn note(note: &EphemeralKey) -> String {
    format!("vestibule:note:{}:{}", note.kind.as_str(), note.id)
}

#[cfg(test)]
mod tests {
    use vestibule_records::EphemeralKind;

    use super::*;

    #[test]
    fn key_names_are_stable() {
        let queue = || "acme-tour".parse().unwrap();
        for (name, expected) in [
            (records(DocumentKind::Operators), "vestibule:operators"),
            (records(DocumentKind::Tokens), "vestibule:tokens"),
            (records(DocumentKind::FileQueues), "vestibule:file-queues"),
            (records(DocumentKind::FileTenants), "vestibule:file-tenants"),
            (stream(&LogName::Audit), "vestibule:audit"),
            (stream(&LogName::TenantAudit("acme".parse().unwrap())), "vestibule:audit:tenant:acme"),
            (stream(&LogName::AccountAudit), "vestibule:audit:accounts"),
            (stream(&LogName::Minutes(queue())), "vestibule:minutes:acme-tour"),
            (stream(&LogName::FiveMinutes(queue())), "vestibule:five-minutes:acme-tour"),
            (note(&EphemeralKey::new(EphemeralKind::SignIn, "0f")), "vestibule:note:sign-in:0f"),
            (note(&EphemeralKey::new(EphemeralKind::SignInAttempt, "0f")), "vestibule:note:sign-in-attempt:0f"),
            (note(&EphemeralKey::new(EphemeralKind::Preview, "0f")), "vestibule:note:preview:0f"),
            (note(&EphemeralKey::new(EphemeralKind::KnownAddress, "0f")), "vestibule:note:known-address:0f"),
            (note(&EphemeralKey::new(EphemeralKind::Failures, "0f")), "vestibule:note:failures:0f"),
            (note(&EphemeralKey::new(EphemeralKind::Slowed, "0f")), "vestibule:note:slowed:0f"),
            (note(&EphemeralKey::new(EphemeralKind::Confirmation, "0f")), "vestibule:note:confirmation:0f"),
            (note(&EphemeralKey::new(EphemeralKind::Minute, "7")), "vestibule:note:minute:7"),
            (note(&EphemeralKey::new(EphemeralKind::Creation, "7")), "vestibule:note:creation:7"),
            (note(&EphemeralKey::new(EphemeralKind::Idempotency, "7")), "vestibule:note:idempotency:7"),
            (note(&EphemeralKey::new(EphemeralKind::Changes, "7")), "vestibule:note:changes:7"),
            (note(&EphemeralKey::new(EphemeralKind::FailedSignIns, "7")), "vestibule:note:failed-sign-ins:7"),
            (note(&EphemeralKey::new(EphemeralKind::TotpSetup, "7")), "vestibule:note:totp-setup:7"),
        ] {
            assert_eq!(name, expected);
        }
    }
}

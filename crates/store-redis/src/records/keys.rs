//! The names of the keys of records, streams and notes. Each is a key of its own, so that they spread over a cluster.

use vestibule_core::records::{Note, RecordKind, Stream};

/// Hash: id of a record -> its revision and its text.
pub(super) fn records(kind: RecordKind) -> String {
    format!("vestibule:{}", kind.as_str())
}

/// Stream: entries with the one field `text`.
pub(super) fn stream(stream: &Stream) -> String {
    match stream {
        Stream::Audit => "vestibule:audit".to_owned(),
        Stream::TenantAudit(tenant) => format!("vestibule:audit:tenant:{tenant}"),
        Stream::AccountAudit => "vestibule:audit:accounts".to_owned(),
        Stream::Minutes(queue) => format!("vestibule:minutes:{queue}"),
        Stream::FiveMinutes(queue) => format!("vestibule:five-minutes:{queue}"),
    }
}

/// String: when the note lapses, and its text.
pub(super) fn note(note: &Note) -> String {
    format!("vestibule:note:{}:{}", note.kind.as_str(), note.id)
}

#[cfg(test)]
mod tests {
    use vestibule_core::records::NoteKind;

    use super::*;

    #[test]
    fn the_names_of_keys_stay_as_they_are() {
        let queue = || "acme-tour".parse().unwrap();
        for (name, expected) in [
            (records(RecordKind::Operators), "vestibule:operators"),
            (records(RecordKind::Tokens), "vestibule:tokens"),
            (records(RecordKind::FileQueues), "vestibule:file-queues"),
            (records(RecordKind::FileTenants), "vestibule:file-tenants"),
            (stream(&Stream::Audit), "vestibule:audit"),
            (stream(&Stream::TenantAudit("acme".parse().unwrap())), "vestibule:audit:tenant:acme"),
            (stream(&Stream::AccountAudit), "vestibule:audit:accounts"),
            (stream(&Stream::Minutes(queue())), "vestibule:minutes:acme-tour"),
            (stream(&Stream::FiveMinutes(queue())), "vestibule:five-minutes:acme-tour"),
            (note(&Note::new(NoteKind::SignIn, "0f")), "vestibule:note:sign-in:0f"),
            (note(&Note::new(NoteKind::SignInAttempt, "0f")), "vestibule:note:sign-in-attempt:0f"),
            (note(&Note::new(NoteKind::Preview, "0f")), "vestibule:note:preview:0f"),
            (note(&Note::new(NoteKind::KnownAddress, "0f")), "vestibule:note:known-address:0f"),
            (note(&Note::new(NoteKind::Failures, "0f")), "vestibule:note:failures:0f"),
            (note(&Note::new(NoteKind::Slowed, "0f")), "vestibule:note:slowed:0f"),
            (note(&Note::new(NoteKind::Confirmation, "0f")), "vestibule:note:confirmation:0f"),
            (note(&Note::new(NoteKind::Minute, "7")), "vestibule:note:minute:7"),
            (note(&Note::new(NoteKind::Creation, "7")), "vestibule:note:creation:7"),
            (note(&Note::new(NoteKind::Idempotency, "7")), "vestibule:note:idempotency:7"),
            (note(&Note::new(NoteKind::Changes, "7")), "vestibule:note:changes:7"),
            (note(&Note::new(NoteKind::FailedSignIns, "7")), "vestibule:note:failed-sign-ins:7"),
            (note(&Note::new(NoteKind::TotpSetup, "7")), "vestibule:note:totp-setup:7"),
        ] {
            assert_eq!(name, expected);
        }
    }
}

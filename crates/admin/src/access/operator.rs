//! Operators and their records.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tracing::warn;
use vestibule_core::{Micros, StoreError};
use vestibule_records::{DOCUMENTS_MAX, DocumentChange, DocumentKind, DocumentOutcome, RecordStore};

use crate::access::{OperatorName, OperatorTotp, RequireTotp, Role, Scope, SignInMethod, TotpStatus};
use crate::codes::Code;
use crate::problem::Problem;

/// A text in the records of superusers only: names and hashes contain no quotes.
const OF_SUPERUSERS: &str = "\"role\":\"superuser\"";

/// An operator as stored. The password is stored as its Argon2id hash; operators with single sign-on have none.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Operator {
    #[serde(flatten)]
    pub(crate) scope: Scope,
    pub(crate) password: Option<String>,
    /// When the password was set, or the operator created without one. A new password ends older sign-ins.
    pub(crate) password_at: Micros,
    pub(crate) created_at: Micros,
    /// The second factor of a sign-in with the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) totp: Option<OperatorTotp>,
    /// Fields unknown to this version, preserved for the version that knows them.
    #[serde(flatten)]
    pub(crate) unknown: Map<String, Value>,
}

impl Operator {
    /// The operator of this name, with the revision of the record.
    pub(crate) async fn load(
        records: &dyn RecordStore,
        name: &OperatorName,
    ) -> Result<Option<(Self, u64)>, StoreError> {
        let record = records.get_document(DocumentKind::Operators, name.as_str()).await?;
        record.map(|record| Ok((parse(name.as_str(), &record.text)?, record.revision))).transpose()
    }

    /// All operators by name, except those whose records can't be read.
    pub(crate) async fn all(records: &dyn RecordStore) -> Result<Vec<(OperatorName, Self, u64)>, StoreError> {
        let mut all = Vec::new();
        for (name, record) in records.list_documents(DocumentKind::Operators).await? {
            match (name.parse(), parse(&name, &record.text)) {
                (Ok(name), Ok(operator)) => all.push((name, operator, record.revision)),
                (Err(_), _) => warn!(name, "the name of an operator cannot be read"),
                (_, Err(error)) => warn!(%error, "an operator cannot be read"),
            }
        }
        Ok(all)
    }

    /// Whether there is a superuser. One whose record can't be read may be one.
    pub(crate) async fn has_superuser(records: &dyn RecordStore) -> Result<bool, StoreError> {
        let all = records.list_documents(DocumentKind::Operators).await?;
        let is_superuser = |record: Result<Self, StoreError>| record.map_or(true, |it| it.is_superuser());
        Ok(all.iter().any(|(name, record)| is_superuser(parse(name, &record.text))))
    }

    /// Writes the operator over a revision, 0 for a new one. Returns the new revision.
    pub(crate) async fn store(
        &self,
        records: &dyn RecordStore,
        name: &OperatorName,
        over: u64,
    ) -> Result<u64, Problem> {
        let text = self.text()?;
        written(records, name, DocumentChange { text: Some(&text), over, needs_other: None }).await
    }

    /// Writes the operator in place of `before`, unless that leaves no superuser.
    pub(crate) async fn replace(
        &self,
        records: &dyn RecordStore,
        name: &OperatorName,
        (before, over): (&Self, u64),
    ) -> Result<u64, Problem> {
        let text = self.text()?;
        let needs_other = if self.is_superuser() { None } else { before.needs_other() };
        written(records, name, DocumentChange { text: Some(&text), over, needs_other }).await
    }

    /// Removes the operator over a revision, unless it is the last superuser.
    pub(crate) async fn remove(
        &self,
        records: &dyn RecordStore,
        name: &OperatorName,
        over: u64,
    ) -> Result<(), Problem> {
        let needs_other = self.needs_other();
        written(records, name, DocumentChange { text: None, over, needs_other }).await.map(drop)
    }

    pub(crate) fn is_superuser(&self) -> bool {
        self.scope.role == Role::Superuser
    }

    /// Whether they have TOTP, or must set it up.
    pub(crate) fn totp_status(&self, method: SignInMethod, required: RequireTotp) -> TotpStatus {
        TotpStatus::of((self.password.is_some(), self.totp.is_some()), self.scope.role, method, required)
    }

    fn needs_other(&self) -> Option<&'static str> {
        self.is_superuser().then_some(OF_SUPERUSERS)
    }

    fn text(&self) -> Result<String, StoreError> {
        serde_json::to_string(self).map_err(|error| StoreError::Corrupt(error.to_string()))
    }
}

async fn written(records: &dyn RecordStore, name: &OperatorName, change: DocumentChange<'_>) -> Result<u64, Problem> {
    let outcome = records.change_document(DocumentKind::Operators, name.as_str(), change).await;
    match outcome.map_err(Problem::of_write)? {
        DocumentOutcome::Stored(revision) => Ok(revision),
        DocumentOutcome::Conflict(_) if change.over == 0 => Err(Problem::AlreadyExists(Code::ThisName)),
        DocumentOutcome::Conflict(_) => Err(Problem::ConcurrentChange),
        DocumentOutcome::Full => Err(Problem::LimitReached(DOCUMENTS_MAX)),
        DocumentOutcome::NoOther => Err(Problem::LastSuperuser(name.to_string())),
    }
}

fn parse(name: &str, text: &str) -> Result<Operator, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt(format!("the operator {name}: {error}")))
}

#[cfg(test)]
mod tests {
    use vestibule_core::SystemClock;
    use vestibule_store_memory::MemoryRecords;

    use super::*;
    use crate::codes::NAME_FORMAT;

    #[test]
    fn operator_record_without_totp_is_read_and_written_as_before() {
        let text = r#"{"role":"viewer","tenants":["acme"],"password":null,"password_at":1,"created_at":1}"#;
        let operator = parse("zoe", text).unwrap();
        assert!(operator.totp.is_none());
        assert_eq!(operator.text().unwrap(), text);
    }

    #[test]
    fn unknown_fields_of_an_operator_are_kept() {
        let text =
            r#"{"role":"viewer","tenants":["acme"],"password":null,"password_at":1,"created_at":1,"networks":[1]}"#;
        assert_eq!(parse("zoe", text).unwrap().text().unwrap(), text);
    }

    #[tokio::test]
    async fn unreadable_operator_is_skipped_and_counts_as_superuser() {
        let records = MemoryRecords::new(SystemClock::new());
        let readable = r#"{"role":"viewer","tenants":["acme"],"password":null,"password_at":1,"created_at":1}"#;
        records.put_document(DocumentKind::Operators, "zoe", readable, 0).await.unwrap();
        assert!(!Operator::has_superuser(&records).await.unwrap());
        let unreadable = readable.replace("viewer", "auditor");
        records.put_document(DocumentKind::Operators, "max", &unreadable, 0).await.unwrap();
        let all = Operator::all(&records).await.unwrap();
        assert_eq!(all.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>(), ["zoe"]);
        assert!(Operator::has_superuser(&records).await.unwrap(), "it may be one");
        let Err(error) = Operator::load(&records, &"max".parse().unwrap()).await else { panic!("it cannot be read") };
        assert!(error.to_string().contains("the operator max"), "{error}");
    }

    #[test]
    fn operator_name_fits_keys_and_urls() {
        for good in ["zoe", "zoe.li@example.com", "0", "a_b-c"] {
            assert!(good.parse::<OperatorName>().is_ok(), "{good}");
        }
        for bad in ["", "Zoe", ".zoe", "-zoe", "zo\u{eb}", "z/e", "z e", "a:b", &"x".repeat(64)] {
            assert_eq!(bad.parse::<OperatorName>(), Err(NAME_FORMAT), "{bad}");
        }
    }
}

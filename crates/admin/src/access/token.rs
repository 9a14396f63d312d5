//! API tokens for scripts. A token is shown once and stored as a hash.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tracing::warn;
use utoipa::ToSchema;
use vestibule_core::{Micros, StoreError};
use vestibule_records::{DOCUMENTS_MAX, Document, DocumentKind, DocumentOutcome, RecordStore};

use crate::access::{OperatorName, Scope};
use crate::problem::Problem;
use crate::secret::{has_hash, hash, new_secret, random_hex};

/// Maximum number of tokens of an operator, so that no operator can use up the number of all.
const PER_OPERATOR_MAX: usize = 100;
/// Prefix of all tokens, by which secret scanners recognize them.
const PREFIX: &str = "vestibule_";
/// Seconds within which a token's use is written once.
const USE_KEPT_EVERY: u64 = 60;
/// Bytes of a token's public half.
const ID_BYTES: usize = 8;

/// What a token is limited to, beside its scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum TokenLimit {
    /// Export and import of settings, as needed by `vestibule apply`.
    Settings,
    /// Enqueuing, reading, receiving and settling jobs, as needed by the shop.
    Jobs,
}

vestibule_core::word_field!(TokenLimit { Settings = "settings", Jobs = "jobs" });

/// A token as stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Token {
    pub(crate) name: String,
    /// Its owner: the token has at most the permissions of the owner, and is removed with them.
    pub(crate) operator: OperatorName,
    #[serde(flatten)]
    pub(crate) scope: Scope,
    /// What it is limited to; `None` for all that its scope allows.
    #[serde(default)]
    pub(crate) only: Option<TokenLimit>,
    pub(crate) created_at: Micros,
    pub(crate) expires_at: Micros,
    /// When it was used last, give or take [`USE_KEPT_EVERY`]; `None` if never.
    #[serde(default)]
    pub(crate) used_at: Option<Micros>,
    hash: String,
    /// Fields unknown to this version, preserved for the version that knows them.
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

impl Token {
    /// Makes a token, and removes all that have expired. Returns its public half and the whole of it, which is kept nowhere.
    pub(crate) async fn create(
        records: &dyn RecordStore,
        name: String,
        operator: OperatorName,
        (scope, only): (Scope, Option<TokenLimit>),
        (created_at, expires_at): (Micros, Micros),
    ) -> Result<(String, String, Self), Problem> {
        let all = Self::all(records).await?;
        for (id, _) in all.iter().filter(|(_, token)| token.expires_at <= created_at) {
            records.remove_document(DocumentKind::Tokens, id).await?;
        }
        let count = |all: &[(String, Self)]| {
            all.iter().filter(|(_, it)| it.operator == operator && it.expires_at > created_at).count()
        };
        if count(&all) >= PER_OPERATOR_MAX {
            return Err(Problem::LimitReached(PER_OPERATOR_MAX));
        }
        let (id, secret) = (random_hex::<ID_BYTES>(), new_secret());
        let (hash, unknown) = (hash(&secret), Map::new());
        let token = Self {
            name,
            operator: operator.clone(),
            scope,
            only,
            created_at,
            expires_at,
            used_at: None,
            hash,
            unknown,
        };
        let text = serde_json::to_string(&token).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        match records.put_document(DocumentKind::Tokens, &id, &text, 0).await.map_err(Problem::of_write)? {
            DocumentOutcome::Stored(_) => {}
            DocumentOutcome::Conflict(_) | DocumentOutcome::NoOther => return Err(Problem::ConcurrentChange),
            DocumentOutcome::Full => return Err(Problem::LimitReached(DOCUMENTS_MAX)),
        }
        // Concurrent requests have counted the same tokens.
        if count(&Self::all(records).await.map_err(Problem::of_write)?) > PER_OPERATOR_MAX {
            records.remove_document(DocumentKind::Tokens, &id).await.map_err(Problem::of_write)?;
            return Err(Problem::LimitReached(PER_OPERATOR_MAX));
        }
        Ok((id.clone(), format!("{PREFIX}{id}_{secret}"), token))
    }

    /// The token of this text, with its public half and the revision of its record, if it is one.
    pub(crate) async fn find(records: &dyn RecordStore, text: &str) -> Result<Option<(String, Self, u64)>, StoreError> {
        let Some((id, secret)) = text.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_')) else {
            return Ok(None);
        };
        let found = Self::load(records, id).await?.filter(|(token, _)| has_hash(secret, &token.hash));
        Ok(found.map(|(token, revision)| (id.to_owned(), token, revision)))
    }

    /// The token with this public half, with the revision of its record.
    pub(crate) async fn load(records: &dyn RecordStore, id: &str) -> Result<Option<(Self, u64)>, StoreError> {
        let is_id = id.len() == 2 * ID_BYTES && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            return Ok(None);
        }
        let record = records.get_document(DocumentKind::Tokens, id).await?;
        record.map(|record| Ok((parse(id, &record.text)?, record.revision))).transpose()
    }

    /// Keeps that it was used, over the revision that was read: one that was revoked meanwhile does not come back. Nobody
    /// is refused because this can't be written.
    pub(crate) async fn used(mut self, records: &dyn RecordStore, id: &str, over: u64, now: Micros) {
        if self.used_at.is_some_and(|before| now < before.add_seconds(USE_KEPT_EVERY)) {
            return;
        }
        self.used_at = Some(now);
        let Ok(text) = serde_json::to_string(&self) else { return };
        // Whoever was faster has written the same.
        if let Err(error) = records.put_document(DocumentKind::Tokens, id, &text, over).await {
            warn!(%error, token = id, "the use of a token could not be kept");
        }
    }

    /// All tokens by their public half, except those whose records can't be read.
    pub(crate) async fn all(records: &dyn RecordStore) -> Result<Vec<(String, Self)>, StoreError> {
        let all = records.list_documents(DocumentKind::Tokens).await?;
        let readable = |(id, record): (String, Document)| match parse(&id, &record.text) {
            Ok(token) => Some((id, token)),
            Err(error) => {
                warn!(%error, "a token cannot be read");
                None
            }
        };
        Ok(all.into_iter().filter_map(readable).collect())
    }
}

fn parse(id: &str, text: &str) -> Result<Token, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt(format!("the token {id}: {error}")))
}

#[cfg(test)]
mod tests {
    use vestibule_core::SystemClock;
    use vestibule_store_memory::MemoryRecords;

    use super::*;
    use crate::access::Role;

    #[tokio::test]
    async fn token_is_found_by_its_full_text_only() {
        let records = MemoryRecords::new(SystemClock::new());
        let scope = Scope { role: Role::Viewer, tenants: vec!["acme".parse().unwrap()] };
        let times = (Micros(1), Micros(2));
        let created = Token::create(&records, "deploy".to_owned(), "zoe".parse().unwrap(), (scope, None), times).await;
        let (id, text, _) = created.ok().unwrap();
        let kept = records.get_document(DocumentKind::Tokens, &id).await.unwrap().unwrap().text;
        assert!(!kept.contains(text.splitn(3, '_').nth(2).unwrap()), "{kept}");
        assert_eq!(Token::find(&records, &text).await.unwrap().unwrap().0, id);
        let (_, token, revision) = Token::find(&records, &text).await.unwrap().unwrap();
        for wrong in ["", "vestibule_", &text[..text.len() - 1], &text.replace(&id, "0123456789abcdef"), &text[10..]] {
            assert!(Token::find(&records, wrong).await.unwrap().is_none(), "{wrong}");
        }
        records.remove_document(DocumentKind::Tokens, &id).await.unwrap();
        token.used(&records, &id, revision, Micros(1)).await;
        assert!(Token::find(&records, &text).await.unwrap().is_none(), "a use under way brings no revoked token back");
    }

    #[tokio::test]
    async fn unknown_restriction_of_a_token_survives_its_use() {
        let records = MemoryRecords::new(SystemClock::new());
        let text = r#"{"name":"ci","operator":"zoe","role":"viewer","tenants":["acme"],"created_at":1,"expires_at":2,"hash":"0f",
            "networks":["10.0.0.0/8"]}"#;
        let id = "0123456789abcdef";
        records.put_document(DocumentKind::Tokens, id, text, 0).await.unwrap();
        records.put_document(DocumentKind::Tokens, "0f", &text.replace("viewer", "auditor"), 0).await.unwrap();
        let all = Token::all(&records).await.unwrap();
        assert_eq!(all.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), [id], "the other cannot be read");
        let (token, revision) = Token::load(&records, id).await.unwrap().unwrap();
        token.used(&records, id, revision, Micros(1)).await;
        let kept = records.get_document(DocumentKind::Tokens, id).await.unwrap().unwrap().text;
        let kept: Value = serde_json::from_str(&kept).unwrap();
        assert_eq!((&kept["networks"][0], &kept["used_at"]), (&"10.0.0.0/8".into(), &1.into()));
    }
}

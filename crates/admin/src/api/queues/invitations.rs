//! The codes of a queue's invitations.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::SaleKeys;
use vestibule_core::fields;
use vestibule_core::fields::Bounded;
use vestibule_core::settings::{CODES_MAX, HostPattern, InvitationBatch, Settings};

use super::service::{find_editable, find_visible};
use crate::access::{Principal, may_change};
use crate::audit::AuditEventBuilder;
use crate::body::{Query, Segments};
use crate::codes::Code;
use crate::csv::csv_file;
use crate::describe::describe;
use crate::message::MessageView;
use crate::problem::Problem;
use crate::state::Admin;

/// Maximum number of codes of a response.
const CODES_PER_REQUEST: u64 = 100_000;
/// Number of codes of a response without `count`: few enough for a function, whose responses have at most 1 MB.
const CODES_DEFAULT: u64 = 5_000;

fields! {
    /// The wanted codes.
    pub(crate) struct CodesQuery {
        /// Number of the first code.
        from: Bounded<1, CODES_MAX> = 1,
        /// How many codes, at most 100,000. Fewer if the batch has no more. Where the backoffice is a function, its responses have
        /// at most 1 MB, which are about 8,000 codes.
        count: Bounded<1, CODES_PER_REQUEST> = CODES_DEFAULT,
    }
}

describe!(query CodesQuery);

/// The batches of invitations of a queue.
#[derive(Serialize, ToSchema)]
pub(crate) struct InvitationList {
    /// The batches, in the order of the settings.
    invitations: Vec<InvitationState>,
}

/// What prevents the codes of a batch from being used.
#[derive(Serialize, ToSchema)]
struct InvitationState {
    /// Number of the batch.
    number: u64,
    /// ID of the batch.
    id: String,
    /// ID of the sale key from which the codes derive.
    key: String,
    /// What prevents the codes from being used, besides the settings of the batch.
    problems: Vec<MessageView>,
}

impl InvitationState {
    fn of(keys: &SaleKeys, settings: &Settings, batch: &InvitationBatch) -> Self {
        let key = batch.key.as_deref().unwrap_or_default();
        let is_known = keys.batch_key(settings, batch).is_some();
        let missing = (!is_known).then(|| MessageView(Code::SaleKeyMissing.with("key", key)));
        let problems = missing.into_iter().collect();
        Self { number: batch.number, id: batch.id.to_string(), key: key.to_owned(), problems }
    }
}

/// List the batches of invitations
///
/// Returns the batches of a queue with what prevents their codes from being used: `sale_key_missing`, if the backoffice does not
/// know the sale key. The gates have the same keys.
#[utoipa::path(get, path = "/queues/{queue}/invitations", tag = "queues",
    responses((status = 200, description = "The batches", body = InvitationList)))]
pub(crate) async fn list_invitations(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(queue): Segments<String>,
) -> Result<Json<InvitationList>, Problem> {
    let settings = find_visible(&admin, &principal, &queue).await?;
    let batches = settings.invitations.iter();
    let invitations = batches.map(|batch| InvitationState::of(&admin.sale_keys, &settings, batch)).collect();
    Ok(Json(InvitationList { invitations }))
}

/// Get the codes of a batch of invitations
///
/// Returns codes of a batch as CSV with the columns `number`, `code` and `link`. Anyone with a code can use its invitation, so
/// only operators can get them, and each download is in the audit log. Without a code from `from` on, there are no rows. A link
/// leads to the first host of the queue without a wildcard; if there is none, it has no host.
#[utoipa::path(get, path = "/queues/{queue}/invitations/{batch}/codes", tag = "queues",
    params(CodesQuery),
    responses(
        (status = 200, description = "The codes", body = String, content_type = "text/csv"),
        (status = 409, description = "The backoffice does not know the sale key of the batch"),
    ))]
pub(crate) async fn get_invitation_codes(
    State(admin): State<Admin>,
    principal: Principal,
    Query(query): Query<CodesQuery>,
    Segments((queue, batch)): Segments<(String, String)>,
) -> Result<Response, Problem> {
    let settings = find_editable(&admin, &principal, &queue).await?;
    let batch = find_batch(&settings, &batch)?;
    let key = admin
        .sale_keys
        .batch_key(&settings, batch)
        .ok_or_else(|| Problem::InvitationKeyMissing(batch.key.clone().unwrap_or_default()))?;
    let until = batch.count.min(query.from.saturating_add(query.count - 1));
    may_change(&*admin.records, principal.operator.as_str()).await?;
    let event = AuditEventBuilder::of(&principal, "invitations.download").queue(&settings).subject(&batch.id);
    event.with("from", query.from).with("until", until).log(&admin).await;
    let site = site(&settings);
    let rows = (query.from..=until).filter_map(|number| u32::try_from(number).ok()).map(|number| {
        let code = key.code(number).to_string();
        let link = format!("{site}/?vestibule_invite={code}");
        [number.to_string(), code, link]
    });
    let name = format!("{}-{}-{}-{until}", settings.id, batch.id, query.from);
    Ok(csv_file(&name, ["number", "code", "link"], rows))
}

fn find_batch<'a>(settings: &'a Settings, id: &str) -> Result<&'a InvitationBatch, Problem> {
    let found = settings.invitations.iter().find(|batch| batch.id.as_str() == id);
    found.ok_or(Problem::NotFound(Code::ABatch))
}

/// Where links lead; empty without a host that is known.
fn site(settings: &Settings) -> String {
    let host = settings.hosts.iter().find(|host| matches!(host, HostPattern::Exact(_)));
    host.map(|host| format!("https://{host}")).unwrap_or_default()
}

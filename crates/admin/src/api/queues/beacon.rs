//! The value of the beacon of a draw.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use vestibule_core::fields::Bounded;
use vestibule_core::settings::{BEACON_ROUND_MAX, BeaconRefusal, FieldErrorCode, Settings, Signature, differences};
use vestibule_core::{FieldError, fields};
use vestibule_runtime::{RecordBeaconError, RecordedBeacon, record_beacon};

use super::events::{EventState, find_event};
use super::service::find_editable;
use crate::access::Principal;
use crate::audit::AuditEventBuilder;
use crate::body::{Body, Segments};
use crate::codes::Code;
use crate::describe::describe;
use crate::problem::Problem;
use crate::state::Admin;

fields! {
    /// What a beacon has published.
    pub(crate) struct BeaconDraft {
        /// The round that the event names.
        round: Bounded<1, BEACON_ROUND_MAX>,
        /// The signature of the round, in hexadecimal digits.
        signature: Signature,
    }
}

describe!(request BeaconDraft);

/// Record the value of a beacon
///
/// Records what the beacon of a draw has published, once and between the publication of the round and the end of the event. The order is drawn then.
/// The signature is not verified here: anyone can compare it with a relay.
#[utoipa::path(post, path = "/queues/{queue}/events/{event}/beacon", tag = "queues", request_body = BeaconDraft,
    responses(
        (status = 200, description = "The event with its draw", body = EventState),
        (status = 409, description = "The event has no beacon, or its value was recorded before"),
        (status = 422, description = "Another round, too early or too late"),
    ))]
pub(crate) async fn record_beacon_value(
    State(admin): State<Admin>,
    principal: Principal,
    Segments((queue, event)): Segments<(String, String)>,
    Body(BeaconDraft { round, signature }): Body<BeaconDraft>,
) -> Result<Json<EventState>, Problem> {
    let settings = find_editable(&admin, &principal, &queue).await?;
    let id = find_event(&settings, &event)?.id.clone();
    let audit_event = AuditEventBuilder::of(&principal, "event.beacon").queue(&settings).subject(&id);
    let RecordedBeacon { before, after } = match record_beacon(&*admin.store, &settings.id, &id, round, &signature)
        .await
    {
        Ok(recorded) => recorded,
        Err(RecordBeaconError::Write(error)) => return Err(audit_event.failed(&admin, Problem::of_write(error)).await),
        Err(error) => return Err(problem_of(error, &settings, &event)),
    };
    let changes = differences(&before.to_value(), &after.to_value());
    audit_event.queue(&after).changes(changes).log(&admin).await;
    admin.changed(&after.id).await;
    EventState::read(&admin, &after, &event).await.map(Json)
}

fn problem_of(error: RecordBeaconError, settings: &Settings, event: &str) -> Problem {
    match error {
        RecordBeaconError::NoEvent => Problem::NotFound(Code::AnEvent),
        RecordBeaconError::Contended => Problem::ConcurrentChange,
        RecordBeaconError::Read(error) | RecordBeaconError::Write(error) => error.into(),
        RecordBeaconError::Refused(BeaconRefusal::NoBeacon) => Problem::NoBeacon,
        RecordBeaconError::Refused(BeaconRefusal::Recorded) => {
            Problem::Plain(StatusCode::CONFLICT, Code::BeaconRecorded)
        }
        RecordBeaconError::Refused(BeaconRefusal::Signature) => {
            let fault = FieldErrorCode::Invalid.with("what", FieldErrorCode::Signature);
            Problem::ValidationFailed(vec![FieldError::new("signature", fault)])
        }
        RecordBeaconError::Refused(BeaconRefusal::Round) => {
            let found = find_event(settings, event).ok();
            let named = found.and_then(|found| Some((found.beacon_round()?, found.ends_at)));
            named.map_or(Problem::NoBeacon, |(named, ends_at)| Problem::BeaconRound {
                round: named.round,
                at: named.published_at,
                ends_at,
            })
        }
    }
}

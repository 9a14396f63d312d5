//! Measures against automated clients: attack mode, and what is known about joins.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::fields;
use vestibule_core::fields::Bounded;
use vestibule_core::line::{
    ATTACK_MODE_MAX, ATTACK_MODE_MIN, ClientAddressState, HISTOGRAM_CELLS, NetworkJoins, ProtectionReport,
};
use vestibule_core::settings::Settings;
use vestibule_core::{Micros, NetworkClass};
use vestibule_records::client_address_state;

use super::service::{find_editable, find_visible};
use crate::access::Principal;
use crate::audit::AuditEventBuilder;
use crate::body::{Body, Segments};
use crate::describe::describe;
use crate::problem::Problem;
use crate::state::Admin;

fields! {
    /// How long attack mode lasts.
    pub(crate) struct AttackModeRequest {
        /// Seconds from now.
        duration_seconds: Bounded<ATTACK_MODE_MIN, ATTACK_MODE_MAX>,
    }
}

describe!(request AttackModeRequest);

/// Attack mode of a queue.
#[derive(Serialize, ToSchema)]
pub(crate) struct AttackModeState {
    /// When it ends, in seconds since 1970; `null` if it is off.
    attack_mode_until: Option<u64>,
}

/// Start attack mode
///
/// From the next request on, for `duration_seconds`: every newcomer needs a pre-ticket and proves work, four times as much as otherwise,
/// or joins later. Limits of joins are enforced and halved, and clients of suspicious networks do not join. The settings stay as they are. It ends by itself. If it is on already, it ends
/// `duration_seconds` from now.
#[utoipa::path(put, path = "/queues/{queue}/attack-mode", tag = "actions", request_body = AttackModeRequest,
    responses(
        (status = 200, description = "When it ends", body = AttackModeState),
        (status = 504, description = "The store did not respond; attack mode may or may not be on"),
    ))]
pub(crate) async fn start_attack_mode(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
    Body(AttackModeRequest { duration_seconds }): Body<AttackModeRequest>,
) -> Result<Json<AttackModeState>, Problem> {
    let settings = find_editable(&admin, &principal, &id).await?;
    let event = AuditEventBuilder::of(&principal, "queue.attack_mode").queue(&settings);
    let event = event.with("duration_seconds", duration_seconds);
    let change = event.written(&admin, admin.store.set_attack_mode(&settings.id, duration_seconds).await).await?;
    Ok(Json(AttackModeState { attack_mode_until: change.until.map(Micros::seconds) }))
}

/// End attack mode
///
/// The settings apply again from the next request on. Nothing changes if it is off.
#[utoipa::path(delete, path = "/queues/{queue}/attack-mode", tag = "actions",
    responses(
        (status = 204, description = "It is off"),
        (status = 504, description = "The store did not respond; attack mode may or may not be on"),
    ))]
pub(crate) async fn end_attack_mode(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<StatusCode, Problem> {
    let settings = find_editable(&admin, &principal, &id).await?;
    let event = AuditEventBuilder::of(&principal, "queue.end_attack_mode").queue(&settings);
    match admin.store.set_attack_mode(&settings.id, 0).await {
        // Nothing was changed.
        Ok(change) if change.before.is_none() => {}
        outcome => drop(event.written(&admin, outcome).await?),
    }
    Ok(StatusCode::NO_CONTENT)
}

/// What is known about joins and pre-tickets, in the current window of 300 seconds and the one before together.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueueProtection {
    /// ID of the queue.
    queue: String,
    /// The mode of limits in the settings: `off`, `monitor` or `enforce`.
    #[schema(value_type = String)]
    mode: vestibule_core::settings::LimitMode,
    /// Whether newcomers need a pre-ticket now.
    pre_ticket_required: bool,
    /// When attack mode ends, in seconds since 1970; `null` if it is off.
    attack_mode_until: Option<u64>,
    /// Whether client addresses are reliable: `ok`, `unusable` or `extra_proxy`.
    #[schema(value_type = String)]
    client_address: &'static str,
    /// Share of joins without a usable address.
    no_address_share: f64,
    /// Length of both windows until now, in seconds.
    window_seconds: u64,
    /// Pre-tickets.
    pre_tickets: PreTicketCounts,
    /// Joins.
    joins: JoinCounts,
    /// The largest networks, largest first; empty with `show_networks = false`.
    networks: Vec<NetworkEntry>,
    /// Joins above a limit, rejected or not.
    over_limit: OverLimitCounts,
    /// Joins without the proof of work that they would need in mode `enforce`.
    would_challenge: u64,
    /// Rejected joins by reason.
    rejected: RejectedCounts,
    /// Proofs of work.
    proofs: ProofCounts,
    /// Difficulty of the proof of work for the first join of a network now; 0 if none is required.
    difficulty: u64,
    /// Tokens of accounts.
    identities: IdentityCounts,
}

/// Pre-tickets in both windows.
#[derive(Serialize, ToSchema)]
pub(crate) struct PreTicketCounts {
    /// Pre-tickets issued to first visits.
    issued: u64,
    /// Sessions that joined by a pre-ticket.
    redeemed: u64,
    /// Share of first visits that did not come back: automated clients, and visitors who closed the page. `null` if none was issued.
    share_not_redeemed: Option<f64>,
}

/// Joins in both windows.
#[derive(Serialize, ToSchema)]
pub(crate) struct JoinCounts {
    /// Joins per second in the last ten seconds.
    per_second: f64,
    /// Joins by the number of joins of their address: element `i` has those that were the 2^i-th to below the 2^(i+1)-th, the last one all
    /// further ones. Joins of a shared network count as a part, those of a trusted one as the first. Joins without a usable address
    /// are left out.
    #[schema(min_items = 16, max_items = 16)]
    by_address: [u64; HISTOGRAM_CELLS],
    /// The same by the number of joins of their network.
    #[schema(min_items = 16, max_items = 16)]
    by_network: [u64; HISTOGRAM_CELLS],
}

/// A network and its joins.
#[derive(Serialize, ToSchema)]
pub(crate) struct NetworkEntry {
    /// The network.
    prefix: String,
    /// Its joins in both windows.
    joins: u64,
    /// The class that the setting `networks` gives it: `trusted`, `shared`, `suspicious` or `blocked`; `null` if none.
    #[schema(value_type = Option<String>)]
    list: Option<NetworkClass>,
}

/// Joins above a limit.
#[derive(Serialize, ToSchema)]
pub(crate) struct OverLimitCounts {
    /// Above `per_address`.
    address: u64,
    /// Above `per_network`.
    network: u64,
}

/// Rejected joins by reason.
#[derive(Serialize, ToSchema)]
pub(crate) struct RejectedCounts {
    /// The network is blocked.
    blocked: u64,
    /// The line is full.
    full: u64,
    /// More joins than `joins_per_second`.
    rate: u64,
    /// More joins than `per_address` or `per_network`.
    limit: u64,
}

/// Proofs of work.
#[derive(Serialize, ToSchema)]
pub(crate) struct ProofCounts {
    /// Newcomers who had to prove work, or more of it, before they join.
    challenged: u64,
    /// Proofs that were accepted.
    valid: u64,
    /// Proofs that were not accepted.
    invalid: u64,
    /// Joins without a proof, after a waiting time.
    delayed_joins: u64,
}

/// Tokens of accounts.
#[derive(Serialize, ToSchema)]
pub(crate) struct IdentityCounts {
    /// Tokens that were accepted.
    accepted: u64,
    /// Tokens that were rejected: forged, expired, or of somebody else.
    rejected: u64,
}

impl QueueProtection {
    fn of(settings: &Settings, report: &ProtectionReport, client_address: ClientAddressState) -> Self {
        let ProtectionReport { stats, totals, events, .. } = report;
        let limits = &events.limits;
        let (issued, redeemed) = (events.pre_tickets_issued, events.pre_tickets_redeemed);
        let share = |part: u64, of: u64| if of == 0 { 0.0 } else { part as f64 / of as f64 };
        let entry = |entry: &NetworkJoins| NetworkEntry {
            prefix: entry.network.to_string(),
            joins: entry.joins,
            list: settings.line.protection.networks.class_of(entry.network.network().network()),
        };
        Self {
            queue: settings.id.to_string(),
            mode: settings.line.protection.mode,
            pre_ticket_required: stats.requires_pre_ticket(),
            attack_mode_until: stats.attack_mode_until.map(Micros::seconds),
            client_address: client_address.as_str(),
            no_address_share: share(totals.without_address, totals.joins),
            window_seconds: report.window_seconds,
            pre_tickets: PreTicketCounts {
                issued,
                redeemed,
                share_not_redeemed: (issued > 0).then(|| 1.0 - share(redeemed.min(issued), issued)),
            },
            joins: JoinCounts {
                per_second: report.joins_per_second,
                by_address: report.by_address,
                by_network: report.by_network,
            },
            networks: report.networks.iter().map(entry).collect(),
            over_limit: OverLimitCounts { address: limits.over_address, network: limits.over_network },
            would_challenge: limits.would_challenge,
            rejected: RejectedCounts {
                blocked: limits.rejected_blocked,
                full: limits.rejected_full,
                rate: limits.rejected_rate,
                limit: limits.rejected_limit,
            },
            proofs: ProofCounts {
                challenged: limits.challenged,
                valid: limits.proofs_valid,
                invalid: limits.proofs_invalid,
                delayed_joins: limits.delayed_joins,
            },
            difficulty: report.difficulty(),
            identities: IdentityCounts { accepted: events.identities_accepted, rejected: events.identities_rejected },
        }
    }
}

/// Get the protection of a queue
///
/// Returns what is known about joins and pre-tickets in the last five to ten minutes, and attack mode.
#[utoipa::path(get, path = "/queues/{queue}/protection", tag = "stats",
    responses((status = 200, description = "The report", body = QueueProtection)))]
pub(crate) async fn get_queue_protection(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<Json<QueueProtection>, Problem> {
    let settings = find_visible(&admin, &principal, &id).await?;
    let report = admin.store.protection(&settings.id).await?;
    let client_address = client_address_state(&*admin.records, &settings.id, &report.stats).await?;
    Ok(Json(QueueProtection::of(&settings, &report, client_address)))
}

//! TOTP of the signed-in operator.

use axum::Json;
use axum::extract::State;
use axum::response::{AppendHeaders, IntoResponse};
use http::StatusCode;
use http::header::SET_COOKIE;
use qrcode::{Color, QrCode};
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::{StoreError, fields};
use vestibule_records::{EphemeralKey, EphemeralKind};

use crate::access::{
    AuthenticationCode, Operator, OperatorName, OperatorTotp, Password, Principal, SignIn, SignInMethod,
    SignInThrottle, TotpSecret, set_cookie,
};
use crate::api::account::client_info::ClientInfo;
use crate::audit::AuditEventBuilder;
use crate::body::{Body, wrong};
use crate::codes::Code;
use crate::describe::describe;
use crate::problem::Problem;
use crate::secret::hash;
use crate::state::Admin;

/// Seconds within which a setup must be confirmed.
const SETUP_TTL: u64 = 600;

/// A secret for an authenticator app, not active yet.
#[derive(Serialize, ToSchema)]
pub(crate) struct TotpSetup {
    /// The secret in base32, to type into an app.
    secret: String,
    /// The same as an `otpauth://` URI.
    uri: String,
    /// The URI as a QR code.
    qr_code: QrCodeImage,
}

/// A QR code, to be drawn dark on light with a margin of four modules.
#[derive(Serialize, ToSchema)]
pub(crate) struct QrCodeImage {
    /// Modules on each side.
    size: usize,
    /// The dark modules as an SVG path in units of one module.
    path: String,
}

impl QrCodeImage {
    fn of(text: &str) -> Result<Self, StoreError> {
        let code = QrCode::new(text).map_err(|error| StoreError::Corrupt(format!("a QR code: {error}")))?;
        let size = code.width();
        let dark = code.to_colors().into_iter().enumerate().filter(|(_, color)| *color == Color::Dark);
        let squares: Vec<String> =
            dark.map(|(index, _)| format!("M{} {}h1v1h-1z", index % size, index / size)).collect();
        Ok(Self { size, path: squares.concat() })
    }
}

fields! {
    /// The password and the first code of the app.
    pub(crate) struct TotpConfirmation {
        /// The operator's password.
        password: Password,
        /// The current code of the app.
        code: AuthenticationCode,
    }
}

describe!(request TotpConfirmation);

/// Recovery codes, shown only once.
#[derive(Serialize, ToSchema)]
pub(crate) struct RecoveryCodes {
    /// Each is accepted once in place of a code of the app.
    recovery_codes: Vec<String>,
}

/// Start TOTP setup
///
/// Generates a secret for an authenticator app. TOTP is active after `PUT /sign-in/totp` confirms it within ten
/// minutes. API tokens are not accepted.
#[utoipa::path(post, path = "/sign-in/totp", tag = "account",
    responses(
        (status = 200, description = "The secret for an authenticator app", body = TotpSetup),
        (status = 409, description = "TOTP is already set up"),
    ))]
pub(crate) async fn start_totp_setup(
    State(admin): State<Admin>,
    principal: Principal,
) -> Result<Json<TotpSetup>, Problem> {
    without_totp(&admin, &principal).await?;
    let secret = TotpSecret::generate();
    admin.records.set_ephemeral(&setup(&principal.operator), secret.text(), SETUP_TTL).await?;
    let uri = secret.uri(&principal.operator)?;
    Ok(Json(TotpSetup { secret: secret.text().to_owned(), qr_code: QrCodeImage::of(&uri)?, uri }))
}

/// Confirm TOTP setup
///
/// Needs the password and a first code. From then on, a sign-in with the password also needs a code. Ends all other
/// sign-ins that used the password alone, and returns recovery codes that are shown only once.
#[utoipa::path(put, path = "/sign-in/totp", tag = "account", request_body = TotpConfirmation,
    responses(
        (status = 200, description = "TOTP is active", body = RecoveryCodes, headers(("Set-Cookie" = String))),
        (status = 409, description = "TOTP is already set up, or no setup is in progress"),
        (status = 429, description = "Too many attempts; `Retry-After` says when to try again"),
    ))]
pub(crate) async fn confirm_totp_setup(
    State(admin): State<Admin>,
    principal: Principal,
    client: ClientInfo,
    Body(TotpConfirmation { password, code }): Body<TotpConfirmation, 4096>,
) -> Result<impl IntoResponse, Problem> {
    let (mut operator, revision) = without_totp(&admin, &principal).await?;
    let (records, now) = (&*admin.records, admin.now().await?);
    let key = setup(&principal.operator);
    let secret = records.get_ephemeral(&key).await?.ok_or(Problem::Plain(StatusCode::CONFLICT, Code::NoTotpSetup))?;
    let throttle = SignInThrottle::of(&principal.operator, client.address());
    throttle.attempt(records, now).await?;
    if !admin.passwords.matches(&password, operator.password.clone()).await? {
        AuditEventBuilder::of(&principal, "account.confirm_password_failed").log(&admin).await;
        return Err(wrong("password", Code::NotThePassword));
    }
    let confirmed = OperatorTotp::confirm(TotpSecret::kept(secret), &code, now)?;
    let Some((totp, recovery_codes)) = confirmed else {
        AuditEventBuilder::of(&principal, "account.enable_totp_failed").log(&admin).await;
        return Err(wrong("code", Code::NotTheCode));
    };
    throttle.succeeded(records).await?;
    operator.totp = Some(totp);
    let stored = operator.store(records, &principal.operator, revision).await;
    AuditEventBuilder::of(&principal, "account.enable_totp").concluded(&admin, stored).await?;
    records.take_ephemeral(&key).await.map_err(Problem::of_write)?;
    let method = SignInMethod::PasswordAndTotp;
    let begun = SignIn::begin(records, principal.operator.clone(), operator.password_at, method, now).await;
    let cookie = set_cookie(Some(&begun.map_err(Problem::of_write)?), client.https());
    Ok((AppendHeaders([(SET_COOKIE, cookie)]), Json(RecoveryCodes { recovery_codes })))
}

/// Turn off TOTP
///
/// Requires an operator who signed in or confirmed the password within the last five minutes (`POST /sign-in/proof`).
/// API tokens are not accepted.
#[utoipa::path(delete, path = "/sign-in/totp", tag = "account",
    responses(
        (status = 204, description = "TOTP is off"),
        (status = 409, description = "Someone else changed this operator at the same time"),
    ))]
pub(crate) async fn remove_own_totp(State(admin): State<Admin>, principal: Principal) -> Result<StatusCode, Problem> {
    principal.gave_password(admin.now().await?)?;
    let found = Operator::load(&*admin.records, &principal.operator).await?;
    let Some((mut operator, revision)) = found else { return Err(Problem::CredentialInvalid) };
    if operator.totp.take().is_some() {
        let stored = operator.store(&*admin.records, &principal.operator, revision).await;
        AuditEventBuilder::of(&principal, "account.disable_totp").concluded(&admin, stored).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// The signed-in operator, if they have a password and no TOTP yet.
async fn without_totp(admin: &Admin, principal: &Principal) -> Result<(Operator, u64), Problem> {
    if principal.sign_in.is_none() {
        return Err(Problem::PermissionDenied(Code::SignedInOperator));
    }
    let found = Operator::load(&*admin.records, &principal.operator).await?;
    let Some((operator, revision)) = found else { return Err(Problem::CredentialInvalid) };
    if operator.password.is_none() {
        return Err(Problem::PermissionDenied(Code::OperatorWithPassword));
    }
    if operator.totp.is_some() {
        return Err(Problem::Plain(StatusCode::CONFLICT, Code::TotpExists));
    }
    Ok((operator, revision))
}

fn setup(operator: &OperatorName) -> EphemeralKey {
    EphemeralKey::new(EphemeralKind::TotpSetup, hash(operator.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qr_code_has_its_three_finder_patterns() {
        let image = QrCodeImage::of("otpauth://totp/Vestibule:zoe?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ").unwrap();
        assert_eq!((image.size - 17) % 4, 0);
        let last = image.size - 1;
        for (x, y) in [(0, 0), (last, 0), (0, last)] {
            assert!(image.path.contains(&format!("M{x} {y}h1v1h-1z")), "{x} {y}");
        }
        assert!(!image.path.contains("M1 1h"), "the ring inside a finder pattern is light");
    }
}

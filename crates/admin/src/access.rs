//! Operators, sign-ins, tokens and permissions.

mod change_limit;
mod operator;
mod operator_name;
mod password;
mod principal;
mod role;
mod sign_in;
mod sign_in_throttle;
mod token;
mod totp;

pub(crate) use change_limit::{count_change, may_change};
pub(crate) use operator::Operator;
pub(crate) use operator_name::OperatorName;
pub(crate) use password::{AuthenticationCode, NewPassword, Password, PasswordHasher, is_password};
pub(crate) use principal::Principal;
pub use role::Role;
pub(crate) use role::{Scope, TenantIds, Tenants};
pub(crate) use sign_in::{COOKIE, SignIn, cookie_candidates, cookie_name, set_cookie};
pub(crate) use sign_in_throttle::SignInThrottle;
pub(crate) use token::{Token, TokenLimit};
pub use totp::RequireTotp;
pub(crate) use totp::{CODE_MAX, CodeKind, OperatorTotp, SignInMethod, TotpSecret, TotpStatus};

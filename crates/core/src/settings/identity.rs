//! Accounts of a site (rule 24): which tokens name the account of a visitor, and whether visitors need one.

use std::fmt;
use std::str::FromStr;

use super::absolute_url::{AbsoluteUrl, url_kind};
use super::{KeyId, ValueText};
use crate::fields::FieldErrorCode as Code;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use crate::fields::{Field as _, Flag, List, NeverIgnored, ObjectReader, Omissible, OrEmpty, Reader, Reading, joined};
use crate::identity::KeySet;

/// Maximum number of audiences, and of load balancers.
const AUDIENCES_MAX: usize = 8;
/// Maximum number of sources of a token.
const SOURCES_MAX: usize = 4;
/// Placeholder in `sign_in` for the address to which the visitor returns, percent-encoded.
pub const RETURN_GAP: &str = "{return}";
/// The claim that names the account by default.
const SUBJECT: &str = "sub";
/// The header in which load balancers of AWS pass their token.
const ALB_HEADER: &str = "x-amzn-oidc-data";

/// Who signs the tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentityKind {
    /// The site, or its identity provider.
    Jwt,
    /// A load balancer of AWS that authenticates users.
    Alb,
}

crate::word_field!(IdentityKind { Jwt = "jwt", Alb = "alb" });

crate::fields! {
    /// How the account of a visitor is known. An account has one session in the queue.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Identity {
        /// Who signs the tokens: `jwt` for the site, `alb` for a load balancer of AWS.
        pub kind: IdentityKind = IdentityKind::Jwt,
        /// Address of the JWK set that verifies the tokens; its origin must be one of the tenant's. With `alb`, the address below
        /// which the keys of the load balancer's region are, if that is not the usual one.
        pub jwks: Omissible<HttpsUrl>,
        /// The JWK set itself, in place of `jwks`: public keys for RS256, ES256 or `EdDSA`.
        pub keys: Omissible<KeySet>,
        /// The issuer of the tokens: their claim `iss`.
        pub issuer: ValueText,
        /// Audiences of the tokens, one of which must be in the claim `aud`. With `alb`, the ARNs of the load balancers.
        pub audience: List<ValueText, 1, AUDIENCES_MAX>,
        /// The claim that names the account.
        pub claim: ValueText = SUBJECT.to_owned(),
        /// Where the token is looked for, in this order: `cookie:NAME`, or `header:NAME` if a trusted proxy sets the header.
        /// Endpoints of the gate also take `Authorization: Bearer`. With `alb`, `header:x-amzn-oidc-data` by default.
        pub from: OrEmpty<List<IdentitySource, 0, SOURCES_MAX>>,
        /// Whether nobody joins without an account.
        pub required: NeverIgnored<Flag> = false,
        /// Address of the page on which visitors sign in; its origin must be one of the tenant's. `{return}` stands for the address
        /// to which they return.
        pub sign_in: Omissible<SignInUrl>,
        /// ID of the ticket key from which the sessions of accounts derive. By default the first ticket key: then every account gets
        /// another session when the keys rotate.
        pub key_id: Omissible<KeyId>,
    }
    check = check_identity;
    // Without it, a queue that requires accounts would open to everybody.
    const NEVER_IGNORED;
}

fn check_identity(identity: &mut Identity, object: &mut ObjectReader<'_>) {
    if identity.kind == IdentityKind::Alb && identity.from.is_empty() {
        identity.from = vec![IdentitySource::Header(ALB_HEADER.to_owned())];
    }
    if object.is_stored() || object.has_errors() {
        return;
    }
    match identity.kind {
        IdentityKind::Jwt if identity.jwks.is_some() == identity.keys.is_some() => {
            object.error("jwks", Code::JwksOrKeys);
        }
        IdentityKind::Alb if identity.keys.is_some() => object.error("keys", Code::KeysOfAlb),
        IdentityKind::Alb if identity.key_address().is_none() => object.error("audience", Code::AlbArn),
        _ => {}
    }
    if identity.required && identity.sign_in.is_none() {
        object.error("sign_in", Code::SignInRequired);
    }
}

/// As in settings, for snapshots of lines.
impl Serialize for Identity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::to_json(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Identity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Reader::read(&value, Reading::Stored).map_err(|errors| de::Error::custom(joined(&errors)))
    }
}

impl Identity {
    /// The address of the keys: that of the JWK set, or the one below which the keys of the load balancers are. `None` if the keys
    /// are in the settings.
    pub fn key_address(&self) -> Option<String> {
        match (&self.jwks, self.kind) {
            (Some(url), _) => Some(url.to_string()),
            (None, IdentityKind::Jwt) => None,
            (None, IdentityKind::Alb) => {
                let mut regions = self.audience.iter().map(|arn| region_of(arn));
                let region = regions.next().flatten()?;
                let is_same = regions.all(|other| other == Some(region));
                is_same.then(|| format!("https://public-keys.auth.elb.{region}.amazonaws.com"))
            }
        }
    }
}

/// The region of a load balancer: `eu-central-1` of `arn:aws:elasticloadbalancing:eu-central-1:123456789012:loadbalancer/app/..`.
fn region_of(arn: &str) -> Option<&str> {
    let mut parts = arn.split(':');
    let (Some("arn"), Some("aws"), Some("elasticloadbalancing"), Some(region)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (!region.is_empty() && region.bytes().all(is_plain)).then_some(region)
}

/// Where a token is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdentitySource {
    /// The cookie with this name.
    Cookie(String),
    /// The header with this name, in lower case, which a trusted proxy sets.
    Header(String),
}

crate::text_field! { IdentitySource: Code::IdentitySource, { "maxLength": 137 }; }

/// Maximum length of the name of a cookie or a header.
const SOURCE_NAME_MAX: usize = 128;
/// Headers that say something else, or that clients set themselves wherever the gate is.
const OTHER_HEADERS: [&str; 3] = ["cookie", "authorization", "x-vestibule-ticket"];

impl FromStr for IdentitySource {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (kind, name) = text.split_once(':').ok_or(())?;
        // The characters of a token (RFC 9110 section 5.6.2).
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || name.len() > SOURCE_NAME_MAX || !name.bytes().all(is_plain) {
            return Err(());
        }
        match kind {
            // The cookies of queues are tickets.
            "cookie" if !name.starts_with("vestibule_") && !name.starts_with("__Host-vestibule_") => {
                Ok(Self::Cookie(name.to_owned()))
            }
            "header" => {
                let name = name.to_ascii_lowercase();
                if OTHER_HEADERS.contains(&name.as_str()) { Err(()) } else { Ok(Self::Header(name)) }
            }
            _ => Err(()),
        }
    }
}

impl fmt::Display for IdentitySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cookie(name) => write!(f, "cookie:{name}"),
            Self::Header(name) => write!(f, "header:{name}"),
        }
    }
}

url_kind! {
    /// An address from which keys are fetched: over https, or over http from this machine.
    HttpsUrl: Code::HttpsUrl, may_serve_keys;
    /// The address of a page on which visitors sign in.
    SignInUrl: Code::SignInUrl;
}

fn may_serve_keys(url: &AbsoluteUrl, text: &str) -> bool {
    let is_plain = !text.contains(['{', '}']);
    let is_safe = url.origin().is_https() || url.origin().names_this_machine();
    is_safe && is_plain
}

impl SignInUrl {
    /// The address for a visitor who returns to `address` afterwards.
    pub fn returning_to(&self, address: &str) -> String {
        let encoded = percent_encoding::utf8_percent_encode(address, percent_encoding::NON_ALPHANUMERIC);
        self.0.to_string().replace(RETURN_GAP, &encoded.to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::settings::{Settings, Tenant};

    fn document(identity: &Value) -> Value {
        json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 7, "handover": { "kind": "check" },
            "protection": { "identity": identity },
        })
    }

    fn parse(identity: &Value) -> Result<Settings, String> {
        Settings::from_value(&document(identity)).map_err(|errors| joined(&errors))
    }

    fn fetched() -> Value {
        json!({
            "jwks": "https://www.example.com/.well-known/jwks.json", "issuer": "https://www.example.com", "audience": ["tour"],
            "from": ["cookie:shop_id"], "required": true,
            "sign_in": "https://www.example.com/sign-in?return={return}", "key_id": "k1",
        })
    }

    fn with(name: &str, value: Value) -> Value {
        let mut identity = fetched();
        identity[name] = value;
        identity
    }

    #[test]
    fn identity_round_trips() {
        let settings = parse(&fetched()).unwrap();
        let identity = settings.line.protection.identity.clone().unwrap();
        assert_eq!((identity.kind, identity.claim.as_str(), identity.required), (IdentityKind::Jwt, "sub", true));
        let stored = Settings::from_stored(&settings.to_stored()).unwrap();
        assert_eq!(stored.line.protection.identity, Some(identity.clone()));
        let rules = serde_json::to_value(&settings.line).unwrap();
        let restored: crate::line::LineRules = serde_json::from_value(rules).unwrap();
        assert_eq!(restored.protection.identity, Some(identity.clone()), "in snapshots");
        assert_eq!(identity.key_address().as_deref(), Some("https://www.example.com/.well-known/jwks.json"));
        let sign_in = identity.sign_in.unwrap();
        assert_eq!(
            sign_in.returning_to("https://t.example.com/a?b=1&c"),
            "https://www.example.com/sign-in?return=https%3A%2F%2Ft%2Eexample%2Ecom%2Fa%3Fb%3D1%26c"
        );
    }

    #[test]
    fn stored_identity_is_never_ignored() {
        let read = |protection: Value| {
            let mut stored = parse(&fetched()).unwrap().to_stored();
            stored["protection"] = protection;
            Settings::from_stored(&stored).map(|settings| settings.line.protection)
        };
        for invalid in [
            with("issuer", Value::Null),
            with("audience", json!([])),
            json!("jwt"),
            json!({}),
            with("required", json!("yes")),
        ] {
            let errors = read(json!({ "identity": invalid, "per_address": 7 })).unwrap_err();
            assert!(errors.iter().all(|error| error.field.starts_with("protection.identity")), "{errors:?}");
        }
        let newer = read(json!({ "identity": with("quantum_safe", json!(true)), "per_address": "many" })).unwrap();
        assert!(newer.identity.unwrap().required, "unknown fields are ignored");
        assert_eq!(newer.per_address, Some(20), "other invalid fields have their default");
    }

    #[test]
    fn invalid_identity_names_the_field() {
        for (name, value, expected) in [
            ("jwks", Value::Null, "protection.identity.jwks: give either jwks"),
            ("jwks", json!("http://www.example.com/keys"), "protection.identity.jwks: must be an https address"),
            ("jwks", json!("https://user@www.example.com/keys"), "protection.identity.jwks: must be an https address"),
            ("keys", json!({ "keys": [] }), "protection.identity.keys: must be a JWK set"),
            ("issuer", Value::Null, "protection.identity.issuer: is required"),
            ("audience", json!([]), "protection.identity.audience: is empty"),
            ("from", json!(["query:token"]), "protection.identity.from[0]: must be a place"),
            ("from", json!(["header:Authorization"]), "protection.identity.from[0]: must be a place"),
            ("from", json!(["cookie:vestibule_tour"]), "protection.identity.from[0]: must be a place"),
            ("sign_in", Value::Null, "protection.identity.sign_in: is required"),
            ("sign_in", json!("/sign-in"), "protection.identity.sign_in: must be an address"),
            ("sign_in", json!("javascript:alert(1)"), "protection.identity.sign_in: must be an address"),
            ("kind", json!("alb"), ""),
            ("kind", json!("saml"), "protection.identity.kind: must be one of"),
            ("key_id", json!("k 1"), "protection.identity.key_id: must be"),
        ] {
            let result = parse(&with(name, value));
            match result {
                Ok(_) => assert_eq!(expected, "", "{name}"),
                Err(error) => assert!(!expected.is_empty() && error.contains(expected), "{name}: {error}"),
            }
        }
        let alb = json!({ "kind": "alb", "issuer": "i", "audience": ["shop"] });
        assert!(parse(&alb).unwrap_err().contains("protection.identity.audience: must be ARNs"));
    }

    #[test]
    fn addresses_must_be_among_the_tenants_origins() {
        let tenant = |origins: Value| {
            Tenant::from_value(&json!({ "id": "acme", "name": "Acme", "domains": [], "origins": origins }))
        };
        let settings = parse(&fetched()).unwrap();
        let refused = |origins: Value, before: Option<&Settings>| -> Vec<String> {
            let found = tenant(origins).unwrap().refusals(&settings, before, true);
            found.into_iter().map(|error| error.field).filter(|field| field.starts_with("protection")).collect()
        };
        let both = ["protection.identity.jwks", "protection.identity.sign_in"];
        assert_eq!(refused(json!(["https://other.example.com"]), None), both);
        assert!(refused(json!(["https://*.example.com"]), None).is_empty());
        assert!(refused(json!(["https://other.example.com"]), Some(&settings)).is_empty(), "unchanged");
        let by_operator = Tenant::from_value(&json!({ "id": "acme", "name": "Acme" })).unwrap();
        let fields: Vec<_> =
            by_operator.refusals(&settings, None, false).into_iter().map(|error| error.field).collect();
        assert!(both.iter().all(|field| fields.iter().any(|found| found == field)), "{fields:?}");
    }
}

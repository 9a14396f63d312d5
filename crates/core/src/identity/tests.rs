//! Tokens of each kind, signed with keys that only tests have.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use super::*;
use crate::settings::{Identity, Settings};
use crate::time::Micros;

const NOW: Micros = Micros(1_700_000_000_000_000);
const RSA: &[u8] = include_bytes!("../../../../tests/fixtures/identity/rsa.der");
const P256: &[u8] = include_bytes!("../../../../tests/fixtures/identity/p256.der");
const ED25519: &[u8] = include_bytes!("../../../../tests/fixtures/identity/ed25519.der");
const ARN: &str = "arn:aws:elasticloadbalancing:eu-central-1:123456789012:loadbalancer/app/shop/50dc6c495c0c9188";

fn key(algorithm: Algorithm) -> EncodingKey {
    match algorithm {
        Algorithm::RS256 => EncodingKey::from_rsa_der(RSA),
        Algorithm::ES256 => EncodingKey::from_ec_der(P256),
        _ => EncodingKey::from_ed_der(ED25519),
    }
}

fn jwk(algorithm: Algorithm) -> Value {
    let mut jwk = serde_json::to_value(Jwk::from_encoding_key(&key(algorithm), algorithm).unwrap()).unwrap();
    jwk["kid"] = json!(format!("{algorithm:?}"));
    jwk
}

fn key_set() -> Value {
    json!({ "keys": [jwk(Algorithm::RS256), jwk(Algorithm::ES256), jwk(Algorithm::EdDSA)] })
}

fn claims() -> Value {
    json!({ "iss": "https://www.example.com", "aud": ["shop", "tour"], "sub": "user-1", "exp": 1_700_000_300 })
}

fn signed(algorithm: Algorithm, kid: Option<&str>, claims: &Value) -> String {
    let header = Header { kid: kid.map(str::to_owned), ..Header::new(algorithm) };
    jsonwebtoken::encode(&header, claims, &key(algorithm)).unwrap()
}

/// The same token with another header, and the signature as it was.
fn with_header(token: &str, header: &Value) -> String {
    let rest = token.split_once('.').unwrap().1;
    format!("{}.{rest}", URL_SAFE_NO_PAD.encode(header.to_string()))
}

fn identity(value: &Value) -> Identity {
    let mut document = json!({
        "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 7, "handover": { "kind": "check" },
        "protection": { "identity": {
            "keys": key_set(), "issuer": "https://www.example.com", "audience": "tour", "from": ["cookie:shop_id"],
        } },
    });
    for (name, member) in value.as_object().unwrap() {
        document["protection"]["identity"][name] = member.clone();
    }
    Settings::from_value(&document).unwrap().line.protection.identity.unwrap()
}

fn verify_with(identity: &Identity, keys: &KeySet, token: &[u8]) -> Result<Account, IdentityError> {
    let token = IdentityToken::read(token, identity.kind)?;
    let account = token.check(identity, NOW)?;
    token.verify(keys).map(|()| account)
}

fn verify(token: &str) -> Result<Account, IdentityError> {
    verify_with(&identity(&json!({})), &KeySet::from_settings(&key_set()).unwrap(), token.as_bytes())
}

#[test]
fn tokens_of_each_algorithm_name_the_account() {
    for algorithm in [Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA] {
        for kid in [Some(format!("{algorithm:?}")), None] {
            let account = verify(&signed(algorithm, kid.as_deref(), &claims())).unwrap();
            assert_eq!((account.issuer.as_str(), account.subject.as_str()), ("https://www.example.com", "user-1"));
            assert_eq!(account.expires_at, Micros(1_700_000_300_000_000));
        }
    }
    let mut number = claims();
    number["sub"] = json!(42);
    assert_eq!(verify(&signed(Algorithm::ES256, None, &number)).unwrap().subject, "42");
}

/// Issuers that write their numbers as signed ones begin the modulus with a zero byte.
#[test]
fn rsa_keys_may_begin_with_zeros() {
    let mut jwk = jwk(Algorithm::RS256);
    let n = URL_SAFE_NO_PAD.decode(jwk["n"].as_str().unwrap()).unwrap();
    jwk["n"] = json!(URL_SAFE_NO_PAD.encode([vec![0], n].concat()));
    jwk["e"] = json!("AAEAAQ");
    let keys = KeySet::from_settings(&json!({ "keys": [jwk] })).unwrap();
    let token = signed(Algorithm::RS256, None, &claims());
    verify_with(&identity(&json!({})), &keys, token.as_bytes()).unwrap();
    assert_eq!(keys.to_document()["keys"][0]["e"], json!("AQAB"));
}

#[test]
fn forged_tokens_name_nobody() {
    let genuine = signed(Algorithm::ES256, Some("ES256"), &claims());
    let parts: Vec<&str> = genuine.split('.').collect();
    let other_claims = URL_SAFE_NO_PAD.encode(claims().to_string().replace("user-1", "user-2"));
    let public = STANDARD.encode(jwk(Algorithm::RS256)["n"].as_str().unwrap());
    let symmetric = EncodingKey::from_secret(public.as_bytes());
    let hs256 = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims(), &symmetric).unwrap();
    for (token, expected) in [
        (format!("{}.{other_claims}.{}", parts[0], parts[2]), IdentityError::BadSignature),
        (format!("{}.{}.", parts[0], parts[1]), IdentityError::BadSignature),
        (genuine[..genuine.len() - 3].to_owned(), IdentityError::BadSignature),
        (with_header(&genuine, &json!({ "alg": "none" })), IdentityError::WrongAlgorithm),
        (with_header(&genuine, &json!({ "alg": "none", "kid": "ES256" })), IdentityError::WrongAlgorithm),
        (hs256, IdentityError::WrongAlgorithm),
        (with_header(&genuine, &json!({ "alg": "RS256", "kid": "ES256" })), IdentityError::WrongAlgorithm),
        (with_header(&genuine, &json!({ "alg": "EdDSA", "kid": "EdDSA" })), IdentityError::BadSignature),
        (with_header(&genuine, &json!({ "alg": "ES256", "kid": "k9" })), IdentityError::UnknownKey),
        (with_header(&genuine, &json!({ "alg": "ES256", "kid": "ES256", "crit": ["b64"] })), IdentityError::NotAToken),
        (format!("{genuine}.more"), IdentityError::NotAToken),
        ("a.b.c".to_owned(), IdentityError::NotAToken),
        (String::new(), IdentityError::NotAToken),
        ("a".repeat(TOKEN_MAX + 1), IdentityError::TooLong),
    ] {
        assert_eq!(verify(&token), Err(expected), "{token}");
    }
}

#[test]
fn claims_must_fit_the_settings() {
    let with = |name: &str, value: Value| {
        let mut claims = claims();
        claims[name] = value;
        verify(&signed(Algorithm::ES256, None, &claims))
    };
    assert_eq!(with("exp", Value::Null), Err(IdentityError::Expired));
    assert_eq!(with("exp", json!(1_699_999_940)), Err(IdentityError::Expired), "60 seconds ago");
    assert!(with("exp", json!(1_699_999_941)).is_ok(), "within the leeway");
    assert!(with("exp", json!(1e300)).is_ok());
    assert_eq!(with("exp", json!(-1)), Err(IdentityError::Expired));
    assert_eq!(with("nbf", json!(1_700_000_061)), Err(IdentityError::NotYetValid));
    assert!(with("nbf", json!(1_700_000_060)).is_ok(), "within the leeway");
    assert_eq!(with("iss", json!("https://www.example.com/")), Err(IdentityError::WrongIssuer));
    assert_eq!(with("iss", Value::Null), Err(IdentityError::WrongIssuer));
    assert_eq!(with("aud", json!("shop")), Err(IdentityError::WrongAudience));
    assert_eq!(with("aud", Value::Null), Err(IdentityError::WrongAudience));
    assert!(with("aud", json!("tour")).is_ok());
    for nobody in [json!(""), Value::Null, json!({}), json!("a".repeat(257)), json!("a\u{0}b"), json!(1.5)] {
        assert_eq!(with("sub", nobody.clone()), Err(IdentityError::NoAccount), "{nobody}");
    }
}

#[test]
fn load_balancers_sign_padded_tokens() {
    let identity = identity(&json!({ "kind": "alb", "keys": null, "audience": ARN, "from": [] }));
    assert_eq!(identity.key_address().as_deref(), Some("https://public-keys.auth.elb.eu-central-1.amazonaws.com"));
    assert_eq!(identity.from[0].to_string(), "header:x-amzn-oidc-data");
    let spki = Jwk::from_encoding_key(&key(Algorithm::ES256), Algorithm::ES256).unwrap();
    let jwk = serde_json::to_value(spki).unwrap();
    let coordinate = |name: &str| URL_SAFE_NO_PAD.decode(jwk[name].as_str().unwrap()).unwrap();
    let prefix = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE";
    let der = [STANDARD.decode(prefix).unwrap(), coordinate("x"), coordinate("y")].concat();
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der));
    let keys = KeySet::from_p256_pem("a-b", &pem).unwrap();
    assert!(KeySet::from_p256_pem("a-b", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----").is_err());
    let token = |signer: &str| {
        let header = json!({ "alg": "ES256", "kid": "a-b", "signer": signer, "typ": "JWT" });
        let mut claims = claims();
        claims.as_object_mut().unwrap().remove("aud");
        let message = format!("{}.{}", URL_SAFE.encode(header.to_string()), URL_SAFE.encode(claims.to_string()));
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key(Algorithm::ES256), Algorithm::ES256);
        format!("{message}.{}==", signature.unwrap())
    };
    assert!(token(ARN).contains("=."), "the parts are padded");
    assert_eq!(verify_with(&identity, &keys, token(ARN).as_bytes()).unwrap().subject, "user-1");
    let other = ARN.replace("shop", "other");
    assert_eq!(verify_with(&identity, &keys, token(&other).as_bytes()), Err(IdentityError::WrongAudience));
}

#[test]
fn keys_must_be_public_and_strong() {
    let usable = |keys: Value| KeySet::from_settings(&json!({ "keys": keys }));
    assert_eq!(usable(json!([])), Err(InvalidKeySet::Form));
    assert_eq!(KeySet::from_fetched(&json!({})), Err(InvalidKeySet::Form));
    let mut private = jwk(Algorithm::EdDSA);
    private["d"] = json!("AAAA");
    let mut weak = jwk(Algorithm::RS256);
    weak["n"] = json!(URL_SAFE_NO_PAD.encode([0xff; 128]));
    let mut encryption = jwk(Algorithm::RS256);
    encryption["use"] = json!("enc");
    let mut other = jwk(Algorithm::ES256);
    other["alg"] = json!("ES384");
    for bad in [private, weak, encryption, other, json!({ "kty": "oct", "k": "AAAA" })] {
        assert_eq!(usable(json!([bad])), Err(InvalidKeySet::UnusableKey), "{bad}");
        let fetched = KeySet::from_fetched(&json!({ "keys": [bad, jwk(Algorithm::EdDSA)] })).unwrap();
        assert_eq!(fetched, usable(json!([jwk(Algorithm::EdDSA)])).unwrap(), "others are left out");
        assert_eq!(KeySet::from_fetched(&json!({ "keys": [bad] })), Err(InvalidKeySet::NoUsableKey));
    }
}

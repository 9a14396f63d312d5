//! A site that signs tokens of accounts and publishes its keys, and that can break.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::Path;
use axum::response::IntoResponse as _;
use axum::routing::get;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE;
use http::StatusCode;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const P256: &[u8] = include_bytes!("../fixtures/identity/p256.der");
const ED25519: &[u8] = include_bytes!("../fixtures/identity/ed25519.der");
const RSA: &[u8] = include_bytes!("../fixtures/identity/rsa.der");

fn key(algorithm: Algorithm) -> EncodingKey {
    match algorithm {
        Algorithm::RS256 => EncodingKey::from_rsa_der(RSA),
        Algorithm::ES256 => EncodingKey::from_ec_der(P256),
        _ => EncodingKey::from_ed_der(ED25519),
    }
}

/// The public keys of the site as a JWK set. Each has the name of its algorithm as its ID.
pub fn account_keys() -> Value {
    let jwk = |algorithm: Algorithm| {
        let mut jwk = serde_json::to_value(Jwk::from_encoding_key(&key(algorithm), algorithm).unwrap()).unwrap();
        jwk["kid"] = json!(format!("{algorithm:?}"));
        jwk
    };
    json!({ "keys": [jwk(Algorithm::RS256), jwk(Algorithm::ES256), jwk(Algorithm::EdDSA)] })
}

/// A token with these claims, signed with the key for this algorithm: `RS256`, `ES256` or `EdDSA`.
pub fn account_token(algorithm: &str, claims: &Value) -> String {
    let algorithm: Algorithm = algorithm.parse().unwrap();
    let header = Header { kid: Some(format!("{algorithm:?}")), ..Header::new(algorithm) };
    jsonwebtoken::encode(&header, claims, &key(algorithm)).unwrap()
}

/// A token with these claims as a load balancer of AWS passes it: ES256, with the key ID and the ARN of the signer in the header.
pub fn load_balancer_token(key_id: &str, signer: &str, claims: &Value) -> String {
    let encoded = |value: &Value| BASE64_URL_SAFE.encode(value.to_string());
    let header = json!({ "alg": "ES256", "kid": key_id, "signer": signer, "iss": claims["iss"], "exp": claims["exp"] });
    let message = format!("{}.{}", encoded(&header), encoded(claims));
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key(Algorithm::ES256), Algorithm::ES256).unwrap();
    format!("{message}.{signature}==")
}

/// A token signed with the public key as if it were a secret, as forgers do.
pub fn forged_account_token(claims: &Value) -> String {
    let secret = EncodingKey::from_secret(account_keys()["keys"][0]["n"].as_str().unwrap().as_bytes());
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), claims, &secret).unwrap()
}

/// A server that publishes the keys, and counts how often it is asked.
pub struct AccountKeyServer {
    address: String,
    fetches: Arc<AtomicU64>,
    server: JoinHandle<()>,
}

impl AccountKeyServer {
    /// Starts the server at a free port of loopback. With `fails`, it answers 503.
    pub async fn start(fails: bool) -> Self {
        let fetches = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&fetches);
        let answer = get(move || async move {
            counter.fetch_add(1, Ordering::Relaxed);
            if fails {
                StatusCode::SERVICE_UNAVAILABLE.into_response()
            } else {
                axum::Json(account_keys()).into_response()
            }
        });
        let counter = Arc::clone(&fetches);
        let named = get(move |Path(kid): Path<String>| async move {
            counter.fetch_add(1, Ordering::Relaxed);
            if fails || kid != "ES256" {
                StatusCode::NOT_FOUND.into_response()
            } else {
                axum::Json(account_keys()).into_response()
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let router = Router::new().route("/jwks.json", answer).route("/named/{kid}", named);
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, fetches, server }
    }

    /// The address of the keys.
    pub fn url(&self) -> String {
        format!("http://{}/jwks.json", self.address)
    }

    /// The address below which the key `ES256` is, as those of load balancers are.
    pub fn named_url(&self) -> String {
        format!("http://{}/named", self.address)
    }

    /// How often the keys were fetched.
    pub fn fetches(&self) -> u64 {
        self.fetches.load(Ordering::Relaxed)
    }
}

impl Drop for AccountKeyServer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

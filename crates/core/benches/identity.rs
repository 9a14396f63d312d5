//! Signatures of account tokens: what verifying one costs that is forged, beside the crate that signed it.

#![expect(clippy::unwrap_used, reason = "a benchmark that can't be set up has failed")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header};
use serde_json::json;
use vestibule_core::identity::{IdentityToken, KeySet};
use vestibule_core::settings::IdentityKind;

const RSA: &[u8] = include_bytes!("../../../tests/fixtures/identity/rsa.der");
const P256: &[u8] = include_bytes!("../../../tests/fixtures/identity/p256.der");
const ED25519: &[u8] = include_bytes!("../../../tests/fixtures/identity/ed25519.der");

fn forged_tokens(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("forged account token");
    let keys = [
        (Algorithm::RS256, EncodingKey::from_rsa_der(RSA)),
        (Algorithm::ES256, EncodingKey::from_ec_der(P256)),
        (Algorithm::EdDSA, EncodingKey::from_ed_der(ED25519)),
    ];
    for (algorithm, key) in keys {
        let name = format!("{algorithm:?}");
        let jwk = Jwk::from_encoding_key(&key, algorithm).unwrap();
        let set = KeySet::from_settings(&json!({ "keys": [serde_json::to_value(&jwk).unwrap()] })).unwrap();
        let signed = |subject: &str| {
            jsonwebtoken::encode(&Header::new(algorithm), &json!({ "sub": subject, "exp": 4_000_000_000_u64 }), &key)
        };
        let (own, other) = (signed("user-1").unwrap(), signed("user-2").unwrap());
        let (message, (_, signature)) = (own.rsplit_once('.').unwrap().0, other.rsplit_once('.').unwrap());
        let forged = format!("{message}.{signature}");
        group.bench_function(BenchmarkId::new("vestibule", &name), |bencher| {
            bencher.iter(|| {
                let token = IdentityToken::read(black_box(forged.as_bytes()), IdentityKind::Jwt).unwrap();
                assert!(token.verify(&set).is_err());
            });
        });
        let public = DecodingKey::from_jwk(&jwk).unwrap();
        group.bench_function(BenchmarkId::new("jsonwebtoken", &name), |bencher| {
            bencher.iter(|| {
                let valid = jsonwebtoken::crypto::verify(signature, black_box(message.as_bytes()), &public, algorithm);
                assert!(!valid.unwrap());
            });
        });
    }
    group.finish();
}

criterion_group!(benches, forged_tokens);
criterion_main!(benches);

//! A challenge of proof of work beside one key derivation: to make one costs little more, and to verify a proof next to nothing.

#![expect(clippy::unwrap_used, reason = "a benchmark that can't be set up has failed")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use sha2::Sha256;
use vestibule_core::{ChallengeSigner, ChallengeTerms, KeyList, Micros, Proof, QueueId, SessionId};

const NOW: Micros = Micros(1_700_000_000_000_000);
/// Iterations of one derivation.
const COST: u32 = 1000;

fn challenges(criterion: &mut Criterion) {
    let signer = ChallengeSigner::new(&KeyList::of_bytes("bench", [7; 32])).unwrap();
    let queue: QueueId = "bench".parse().unwrap();
    let terms =
        |session| ChallengeTerms { queue: queue.clone(), epoch: 1, session, difficulty: 1, base: 0, effort: 100 };
    let session = SessionId::random();
    let challenge = signer.challenge(&terms(session), NOW).unwrap();
    let proof = Proof { solution: challenge.solve().unwrap(), challenge };

    let mut group = criterion.benchmark_group("challenge");
    group.bench_function("derivation", |bencher| {
        bencher.iter(|| {
            let mut key = [0; 32];
            pbkdf2::pbkdf2_hmac::<Sha256>(black_box(&[7; 20]), black_box(&[7; 16]), COST, &mut key);
            key
        });
    });
    group.bench_function("made", |bencher| {
        bencher.iter_batched(
            SessionId::random,
            |session| signer.challenge(&terms(session), NOW).unwrap(),
            criterion::BatchSize::SmallInput,
        );
    });
    group.bench_function("verified", |bencher| {
        bencher.iter(|| signer.verify(black_box(&proof), &queue, session, NOW).unwrap());
    });
    group.finish();
}

criterion_group!(benches, challenges);
criterion_main!(benches);

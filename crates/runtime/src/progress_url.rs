//! The address at which a handler reports the progress of a job: signed, and valid as long as the lease.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use vestibule_core::jobs::{JobQueueId, Lease, SigningSecret};

/// Path and query of the address for this lease, signed with the secret of the job queue.
pub fn progress_target(secret: &SigningSecret, job_queue: &JobQueueId, lease: Lease) -> Option<String> {
    let signature = BASE64_URL_SAFE_NO_PAD.encode(mac(secret, job_queue, lease)?.finalize().into_bytes());
    let Lease { job, receive_count } = lease;
    Some(format!("/_vestibule/jobs/{job_queue}/{job}/progress?receive_count={receive_count}&signature={signature}"))
}

/// Whether a signature is that of the address for this lease.
pub fn is_progress_signature(secret: &SigningSecret, job_queue: &JobQueueId, lease: Lease, signature: &str) -> bool {
    let given = BASE64_URL_SAFE_NO_PAD.decode(signature).ok();
    given.zip(mac(secret, job_queue, lease)).is_some_and(|(given, mac)| mac.verify_slice(&given).is_ok())
}

/// No call has this text as its `id.timestamp.body`, which the same secret signs: a job ID has no colon.
fn mac(secret: &SigningSecret, job_queue: &JobQueueId, lease: Lease) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.key()).ok()?;
    mac.update(format!("progress:{job_queue}:{}:{}", lease.job, lease.receive_count).as_bytes());
    Some(mac)
}

#[cfg(test)]
mod tests {
    use vestibule_core::jobs::JobId;

    use super::*;

    #[test]
    fn signature_is_for_one_lease() {
        let secret = SigningSecret::generated([7; 32]);
        let (emails, mails): (JobQueueId, JobQueueId) = ("emails".parse().unwrap(), "mails".parse().unwrap());
        let lease = Lease { job: JobId::from_bytes([1; JobId::SIZE]), receive_count: 2 };
        let target = progress_target(&secret, &emails, lease).unwrap();
        let signature = target.split("signature=").nth(1).unwrap();
        assert!(target.starts_with(&format!("/_vestibule/jobs/emails/{}/progress?receive_count=2&", lease.job)));
        assert!(is_progress_signature(&secret, &emails, lease, signature));
        let other = SigningSecret::generated([8; 32]);
        let job = JobId::from_bytes([2; JobId::SIZE]);
        for is_valid in [
            is_progress_signature(&other, &emails, lease, signature),
            is_progress_signature(&secret, &mails, lease, signature),
            is_progress_signature(&secret, &emails, Lease { receive_count: 3, ..lease }, signature),
            is_progress_signature(&secret, &emails, Lease { job, ..lease }, signature),
            is_progress_signature(&secret, &emails, lease, ""),
            is_progress_signature(&secret, &emails, lease, &signature[1..]),
        ] {
            assert!(!is_valid);
        }
    }
}

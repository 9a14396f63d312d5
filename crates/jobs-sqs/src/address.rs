//! The address of the SQS queues.

use std::fmt;
use std::str::FromStr;

/// How an address begins.
const SCHEME: &str = "sqs://";
/// SQS allows 80 characters for a name; `-jobs.fifo` follows.
const PREFIX_MAX: usize = 64;

/// The error for an invalid address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be {SCHEME} and a prefix of 1 to {PREFIX_MAX} characters A-Z, a-z, 0-9, _ and -, such as {SCHEME}vestibule"
)]
pub struct SqsPrefixError;

/// What the names of both SQS queues begin with. Written as `sqs://<prefix>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqsPrefix(String);

impl SqsPrefix {
    /// The name of the SQS queue of FIFO job queues, or of standard ones.
    pub fn queue_name(&self, is_fifo: bool) -> String {
        format!("{}-jobs{}", self.0, if is_fifo { ".fifo" } else { "" })
    }
}

impl FromStr for SqsPrefix {
    type Err = SqsPrefixError;

    fn from_str(text: &str) -> Result<Self, SqsPrefixError> {
        let prefix = text.strip_prefix(SCHEME).ok_or(SqsPrefixError)?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if !(1..=PREFIX_MAX).contains(&prefix.len()) || !prefix.bytes().all(is_plain) {
            return Err(SqsPrefixError);
        }
        Ok(Self(prefix.to_owned()))
    }
}

impl fmt::Display for SqsPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_names_both_queues() {
        let prefix: SqsPrefix = "sqs://acme-1".parse().unwrap();
        assert_eq!(
            (prefix.queue_name(false), prefix.queue_name(true)),
            ("acme-1-jobs".into(), "acme-1-jobs.fifo".into())
        );
        assert_eq!(prefix.to_string(), "sqs://acme-1");
        for bad in ["", "acme", "sqs://", "sqs://a/b", "sqs://a.fifo", "SQS://a", &format!("sqs://{}", "x".repeat(65))]
        {
            assert_eq!(bad.parse::<SqsPrefix>(), Err(SqsPrefixError), "{bad}");
        }
    }
}

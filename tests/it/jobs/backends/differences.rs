//! What jobs in SQS do otherwise than jobs in Redis.

/// Why a behavior is not tested with SQS.
#[derive(Clone, Copy)]
pub(crate) enum Difference {
    /// The payload of a job that has not ended is in a message, where nobody can look it up.
    Payload,
    /// SQS decides in which order jobs of different groups start, and standard jobs.
    Order,
    /// Messages can't be counted by position, so it is not known how many jobs start before one.
    Ahead,
    /// SQS brings the next job. Nobody asks when that is due.
    NextDue,
    /// SQS brings the payloads, and limits itself how much it brings at a time.
    Bytes,
    /// Nobody can receive the jobs of one job queue from a shared SQS queue.
    Pull,
    /// A job that the rate delays has reserved its start, and does not start earlier when the clock steps back.
    Reservation,
}

//! Job queues whose jobs Amazon SQS carries.
//!
//! SQS stores the payloads and brings the jobs; Redis has their state and applies the rules, see
//! [`JobRegistry`](vestibule_store_redis::JobRegistry). All job queues share two SQS queues: `<prefix>-jobs` for standard job
//! queues and `<prefix>-jobs.fifo` for FIFO job queues, whose message groups are the groups of the jobs.
//!
//! # A job's way
//!
//! 1. **Enqueue.** The job is registered in Redis, then its message is sent. A duplicate of a job of which no message has arrived is
//!    sent again: if a process stopped between the two steps, the repeated request completes its work. A job whose message was
//!    certainly not sent is withdrawn.
//! 2. **Start.** Redis says whether the job of a message can start, has ended, or waits. The message of a job that waits is hidden
//!    for that time, and the message of a job that runs for as long as its lease.
//! 3. **End.** The lease ends in Redis; then the message is deleted, or hidden until the retry. The payload of a dead letter is
//!    stored in Redis, from which it can be replayed.
//!
//! # What can be lost
//!
//! Nothing that was accepted: if Redis loses its data, messages register their jobs again, without their attempts. A held order that
//! SQS has delivered before, or that was sent again, is then not started, and its outcome is unknown. Duplicates of earlier jobs
//! are recognized from their messages' arrival on. Dead letters are lost with Redis. A message that is deleted late, or delivered
//! twice, finds that its job has ended.

mod address;
mod backend;
mod in_flight;
mod message;
mod queues;

pub use address::{SqsPrefix, SqsPrefixError};
pub use backend::SqsJobs;

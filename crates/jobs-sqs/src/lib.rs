//! Job queues whose jobs Amazon SQS carries.
//!
//! SQS stores the payloads and brings the jobs; Redis has their state and applies the rules, see
//! [`JobRegistry`](vestibule_store_redis::JobRegistry). All job queues share two SQS queues: `<prefix>-jobs` for standard job
//! queues and `<prefix>-jobs.fifo` for FIFO job queues, whose message groups are the groups of the jobs.
//!
//! # A job's way
//!
//! 1. **Enqueue.** The job is registered in Redis, then its message is sent. A duplicate of a job of which no message has arrived is
//!    sent again if its content is the same: if a process stopped between the two steps, the repeated request completes its work. A
//!    job whose message was certainly not sent is withdrawn, unless another request sends it, too. Each job has an answer of its own.
//! 2. **Start.** Redis says whether the job of a message can start, has ended, or waits. The message of a job that waits is hidden
//!    for that time, and the message of a job that runs for as long as its lease.
//! 3. **End.** The lease ends in Redis; then the message is deleted, or hidden until the retry. Redis remembers that a job has ended
//!    until its message is known to be deleted, or SQS has not kept it any longer. The payload of a dead letter is stored in Redis,
//!    from which it can be replayed. A replayed job whose message may not have been sent is a dead letter again.
//!
//! Messages name the tenant and the job queue, and whether it is the same one: those of a job queue that was removed are deleted when
//! they arrive.
//!
//! # What can be lost
//!
//! Nothing that was accepted: if Redis loses its data, messages register their jobs again, without their attempts. A held order that
//! SQS has delivered before, or that was sent again, is then not started, and its outcome is unknown. Duplicates of earlier jobs
//! are recognized from their messages' arrival on. Dead letters are lost with Redis.
//!
//! A message that is deleted late, or delivered twice, finds that its job has ended. Two cases remain in which a job that is not a held
//! order can run again: Redis has lost that it has ended, and SQS delivers a message of a standard job queue again although it was
//! deleted, which it rarely does, when `result_ttl` has passed.

mod address;
mod backend;
mod event;
mod in_flight;
mod message;
mod queues;

pub use address::{SqsPrefix, SqsPrefixError};
pub use backend::{Brought, SqsJobs};
pub use event::{SqsMessage, SqsMessages};

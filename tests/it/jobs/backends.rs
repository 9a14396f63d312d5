//! The contract of every backend of job queues: one function per behavior, run against each backend.

mod attempts;
mod differences;
mod dispatch;
mod enqueueing;
mod faults;
pub(super) mod fixture;
mod groups;
mod held;
mod lost_keys;
mod messages;
mod operating;
mod property;
mod results;
mod sqs_faults;
mod sqs_property;

macro_rules! suite {
    ($($module:ident { $($behavior:ident $(not on SQS: $difference:ident)?,)+ })+) => {
        crate::suite::on_each! {
            {
                memory: &super::fixture::JobsFixture::memory(),
                redis: &super::fixture::JobsFixture::redis().await,
            }
            { $($module { $($behavior,)+ })+ }
        }

        // Few tests: a runner with one process per test starts a server for each.
        mod sqs {
            $(
                #[tokio::test]
                async fn $module() {
                    $(suite!(@sqs $module $behavior $($difference)?);)+
                }
            )+
        }

        // One test: a runner with one process per test starts a cluster for each.
        #[tokio::test]
        async fn cluster() {
            $($(
                println!(stringify!($behavior));
                $module::$behavior(&fixture::JobsFixture::cluster().await).await;
            )+)+
        }
    };
    (@sqs $module:ident $behavior:ident) => {
        println!(stringify!($behavior));
        super::$module::$behavior(&super::fixture::JobsFixture::sqs().await).await;
    };
    (@sqs $module:ident $behavior:ident $difference:ident) => {
        let _ = super::differences::Difference::$difference;
    };
}

suite! {
    enqueueing {
        j01_name_decides_type,
        j02_job_ids_are_unique,
        j03_accepted_job_is_stored not on SQS: Payload,
        j04_sequence_numbers_increase,
        j07_duplicate_is_not_queued,
        j07_id_replaces_hash,
        j07_jobs_of_visitors_are_compared_within_a_session,
        j07_job_from_before_signing_in_is_the_first,
        j15_full_job_queue_refuses,
        j15_jobs_of_visitors_leave_room,
        j15_sessions_are_limited,
        j17_job_queues_are_separate,
    }
    groups {
        j05_group_runs_in_order,
        j05_next_waits_for_acknowledgement,
        j05_groups_of_visitors_are_separate,
        j05_groups_take_turns not on SQS: Order,
        j06_groups_run_in_parallel,
        j06_failing_group_blocks_itself,
        blocked_group_is_reported,
        blocked_group_is_found_among_the_oldest_jobs not on SQS: Order,
    }
    dispatch {
        j08_standard_runs_in_parallel,
        j08_receive_has_at_most_its_bytes not on SQS: Bytes,
        j08_longest_due_starts_first,
        j08_receive_count_never_decreases,
        j08_rate_limits_starts,
        jobs_that_can_start_are_counted not on SQS: Ahead,
        j08_next_due_is_exact not on SQS: NextDue,
        j08_jobs_ahead_are_counted not on SQS: Ahead,
        j13_paused_job_queue_starts_nothing,
        j17_clock_stepping_back_stops_nothing not on SQS: Reservation,
    }
    attempts {
        j09_expired_lease_is_a_failed_attempt,
        j09_old_lease_is_refused,
        j09_repeated_settlement_is_answered_again,
        j09_extension_keeps_the_lease,
        j09_pulled_job_is_leased_for_its_timeout not on SQS: Pull,
        j10_failed_job_is_retried,
        j10_backoff_doubles_and_spreads,
        j10_permanent_failure_is_not_retried,
        j10_retry_after_is_not_an_attempt not on SQS: Order,
        j13_pause_of_an_operator_ends_that_of_the_handler,
        j12_requeued_job_is_next,
        j14_dead_letter_keeps_payload_and_response,
        j16_unfinished_job_expires,
        j16_shorter_retention_applies_at_once,
        j16_expired_jobs_never_start,
        j18_result_is_kept_for_result_ttl,
        j18_last_attempts_are_kept,
        expired_leases_end_in_batches,
    }
    operating {
        j13_canceled_job_is_deleted,
        j13_drain_deletes_what_is_not_leased,
        j13_drained_orders_can_be_submitted_again,
        only_an_empty_job_queue_is_removed,
        j03_removed_job_queue_accepts_no_jobs,
        expired_results_are_removed_in_batches,
        j14_dead_letters_are_listed,
        j14_deleted_dead_letter_has_no_duplicates,
        j14_replayed_job_goes_to_the_end,
        j14_all_dead_letters_are_replayed_once,
    }
    held {
        h07_only_the_current_lease_may_send,
        h08_order_that_may_have_been_sent_is_unknown,
        h08_lost_response_is_unknown,
        h08_repeated_order_that_may_be_placed_is_unknown,
        h08_order_that_waits_has_no_second_one,
        h08_order_that_waits_longer_than_expected_has_no_second_one,
        h08_result_is_kept_for_duplicates,
        h08_unprocessed_order_is_sent_again,
        h08_rejected_order_can_be_submitted_again,
        h08_late_result_replaces_unknown,
        h08_retry_always_sends_again,
        h09_operator_resolves_an_unknown_outcome,
        h11_changed_pace_applies_to_the_next_receive not on SQS: Reservation,
        h13_dead_letters_of_orders_keep_no_payload,
    }
    results {
        j18_start_of_the_response_is_kept,
        j18_responses_have_room_of_their_own,
        j18_responses_of_failures_share_that_room,
        j18_failures_leave_room_for_results,
        j18_progress_is_numbered_and_kept,
        h06_response_is_removed_after_its_delivery,
    }
}

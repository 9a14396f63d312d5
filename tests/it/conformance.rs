//! What every store keeps to: one function a behaviour, run against each of them.

mod ending;
mod keeping;
mod modes;
mod order;
mod presence;
mod returns;

macro_rules! suite {
    ($($module:ident { $($behaviour:ident,)+ })+) => {
        mod memory {
            $($(
                #[tokio::test]
                async fn $behaviour() {
                    super::$module::$behaviour(&crate::room::Bench::memory()).await;
                }
            )+)+
        }

        mod redis {
            $($(
                #[tokio::test]
                async fn $behaviour() {
                    super::$module::$behaviour(&crate::room::Bench::redis().await).await;
                }
            )+)+
        }

        // One test a module: a runner that gives every test its own process starts a cluster for each.
        mod cluster {
            $(
                #[tokio::test]
                async fn $module() {
                    $(
                        println!(stringify!($behaviour));
                        super::$module::$behaviour(&crate::room::Bench::cluster().await).await;
                    )+
                }
            )+
        }
    };
}

suite! {
    order {
        rule_01_arrivals_are_strictly_increasing,
        rule_01_those_who_come_at_one_instant_stand_in_the_order_of_their_requests,
        rule_01_no_number_is_given_twice_to_those_who_come_together,
        a_repeated_first_visit_is_the_same_session,
        a_void_ticket_makes_one_new_session_in_all_tabs,
        rule_02_the_lowest_arrival_is_admitted_first,
        rule_02_a_newcomer_never_takes_the_place_that_became_free,
        rule_02_a_newcomer_waits_behind_those_whom_the_rate_keeps_waiting,
        rule_02_every_operation_that_frees_a_place_admits_the_next,
        rule_02_at_most_128_advance_in_one_go,
        rule_02_the_lapsed_at_the_head_stop_nobody_behind_them,
        rule_02_a_hundred_free_places_take_one_operation,
        rule_03_the_quota_is_never_exceeded,
        rule_03_lowering_the_quota_evicts_nobody_and_stops_admissions,
        rule_03_raising_the_quota_admits_at_once,
        rule_04_no_more_than_a_seconds_worth_is_admitted_at_once,
        rule_04_a_slow_rate_admits_one_at_a_time,
        rule_04_no_minute_has_a_burst_at_its_edge,
        rule_04_a_changed_rate_holds_from_the_next_request,
    }
    presence {
        rule_05_a_visit_lasts_waiting_ttl_in_line,
        rule_05_a_visit_lasts_active_ttl_in_places,
        rule_05_who_is_let_in_while_away_has_claim_ttl_to_show_up,
        rule_05_a_first_visit_has_claim_ttl_at_most,
        rule_05_a_repeated_first_visit_does_not_push_the_expiry,
        rule_05_max_session_ends_a_place_for_good,
        rule_05_max_session_counts_from_the_admission_even_for_who_returns,
        rule_05_an_expiry_that_is_far_ahead_is_not_moved,
        rule_05_a_shortened_time_holds_from_the_next_visit,
        rule_05_who_asks_three_times_in_waiting_ttl_never_lapses,
        rule_06_an_operation_removes_at_most_32_of_the_lapsed,
        rule_06_purge_removes_in_batches_of_at_most_500,
        rule_06_purge_admits_into_the_places_that_it_frees,
        rule_06_a_purge_clears_old_tombstones,
        who_lapsed_but_was_not_purged_is_found_again_on_a_visit,
    }
    returns {
        rule_07_a_ticket_returns_to_its_original_arrival,
        rule_07_a_keepalive_returns_as_well,
        rule_07_a_ticket_holds_its_place_for_hold_ttl_from_its_last_signature,
        rule_07_who_slept_through_the_turn_comes_back_to_the_head,
        rule_07_an_admitted_ticket_returns_to_places,
        rule_07_an_admitted_ticket_is_good_for_active_ttl,
        rule_07_an_admitted_ticket_that_finds_all_places_taken_goes_to_the_head_of_the_line,
        rule_07_an_old_ticket_of_a_session_that_is_in_is_that_session,
        rule_07_after_a_lost_state_the_order_is_kept,
        rule_07_a_lost_state_admits_nobody_new_for_one_waiting_ttl,
        rule_07_a_ticket_older_than_the_state_shows_that_the_state_was_lost,
        rule_07_a_void_ticket_older_than_the_state_shows_nothing,
        rule_07_a_loss_that_shows_late_begins_one_recovery_and_no_other,
        rule_07_a_lost_state_takes_back_no_more_than_the_quota_and_the_rest_stand_first,
        rule_07_slots_are_reserved_for_the_active_who_have_not_returned,
        rule_07_who_was_admitted_and_had_not_heard_of_it_takes_the_reserved_slot,
        rule_07_who_waits_for_a_slot_that_max_session_ended_meanwhile_waits_on,
        rule_07_who_could_not_claim_a_place_for_the_loss_can_afterwards,
        rule_07_a_state_that_went_back_in_time_is_in_recovery,
        rule_07_visitors_who_could_not_be_served_keep_their_order,
        rule_07_a_quiet_queue_is_no_interruption,
        rule_07_a_clock_that_steps_back_stops_nobody,
        rule_07_restored_settings_give_way_to_newer_ones,
        rule_07_a_ticket_of_a_higher_epoch_undoes_an_older_one_that_was_restored,
        rule_07_a_ticket_that_never_came_back_is_good_for_claim_ttl,
        rule_07_a_newcomer_to_a_lost_state_comes_after_all_who_returned,
        rule_07_a_returner_waits_for_the_turn_while_the_queue_is_paused,
        rule_07_who_came_back_to_the_line_from_a_lapsed_place_waits_whatever_old_tickets_say,
    }
    ending {
        rule_08_who_leaves_frees_the_place_and_cannot_return,
        rule_08_an_operator_ends_a_session_that_is_present,
        rule_08_a_slot_stays_taken_until_the_last_credential_for_it_has_expired,
        rule_08_an_operator_ends_a_session_that_is_away,
        rule_08_who_leaves_while_away_cannot_return,
        rule_08_a_tombstone_outlasts_every_ticket_signed_before,
        rule_08_ending_a_session_again_makes_its_tombstone_last,
        rule_08_a_closed_queue_page_blocks_nobody_and_its_ticket_holds_the_place,
        rule_08_going_away_does_nothing_to_who_is_let_in,
        rule_08_a_ticket_of_another_epoch_removes_nobody,
        rule_08_ending_who_never_was_keeps_that_id_out,
    }
    modes {
        rule_09_open_admits_while_there_are_places,
        rule_09_bypass_stores_nothing,
        rule_09_after_a_bypass_the_line_stands_as_before,
        rule_09_paused_lets_people_join_and_nobody_in,
        rule_09_closed_lets_nobody_join_and_who_is_in_stays,
        rule_09_draining_lets_nobody_join_and_those_who_wait_in_by_order,
        rule_09_draining_takes_back_who_was_away,
        rule_09_a_drained_queue_closes_once_no_ticket_holds_a_place,
        rule_09_who_comes_back_to_a_drained_queue_keeps_it_from_closing,
        rule_09_a_drain_that_was_called_off_begins_anew,
        rule_09_a_queue_that_lost_its_state_while_it_drained_waits_for_its_tickets,
        rule_10_a_release_ignores_quota_rate_and_pause,
        rule_10_a_release_costs_the_rate_nothing,
        rule_10_a_release_skips_the_lapsed,
        rule_10_one_release_admits_at_most_500,
        rule_10_after_a_release_the_quota_holds_again,
        rule_10_an_operator_admits_one_whatever_quota_rate_pause_or_order_say,
        rule_10_only_who_waits_is_admitted_by_name,
        rule_11_a_reset_empties_the_line_and_voids_older_tickets,
        rule_11_every_reset_is_another_epoch,
        rule_11_settings_with_another_epoch_begin_a_new_line,
        rule_11_a_reset_keeps_its_epoch_through_a_lost_state,
    }
    keeping {
        settings_come_back_as_they_were_written,
        a_revision_guards_against_lost_updates,
        a_changed_setting_rules_the_next_request_whose_answer_says_so,
        a_restored_queue_has_its_epoch_and_revision_back,
        an_unknown_queue_is_an_error_that_names_it,
        a_removed_queue_leaves_nothing_behind,
        queues_are_listed_by_id_with_their_revision,
        queues_know_nothing_of_each_other,
        tenants_are_kept_by_id,
        a_removed_tenant_is_gone_and_its_queues_stay,
        a_session_is_found_wherever_it_is,
        a_page_goes_on_where_the_last_one_ended,
        looking_changes_nothing,
        the_oldest_arrival_is_the_heads,
        waits_are_counted_by_their_length,
        the_pace_counts_those_who_waited,
        the_pace_begins_once_all_places_are_taken,
        the_pace_counts_those_who_leave_the_line_and_who_come_back,
        a_session_is_confirmed_when_its_ticket_comes_back_for_the_first_time,
        the_pace_forgets_what_is_older_than_two_windows,
        counters_add_up,
        the_last_purge_is_kept_with_the_time_of_the_store,
        the_store_answers,
    }
}

//! The contract of every store: one function per behavior, run against each store.

mod accounts;
mod attack_mode;
mod draws;
mod ending;
mod interruptions;
mod invitations;
mod join_reports;
mod keeping;
pub(crate) mod limits;
mod modes;
mod order;
pub(crate) mod phases;
mod pre_tickets;
mod presence;
mod proof_of_work;
mod returns;
mod streams;

macro_rules! suite {
    ($($module:ident { $($behavior:ident,)+ })+) => {
        crate::suite::on_each! {
            {
                memory: &crate::line_fixture::StoreFixture::memory(),
                redis: &crate::line_fixture::StoreFixture::redis().await,
            }
            { $($module { $($behavior,)+ })+ }
        }

        // One test per module: a runner with one process per test starts a cluster for each.
        mod cluster {
            $(
                #[tokio::test]
                async fn $module() {
                    $(
                        println!(stringify!($behavior));
                        super::$module::$behavior(&crate::line_fixture::StoreFixture::cluster().await).await;
                    )+
                }
            )+
        }
    };
}

suite! {
    accounts {
        rule_24_account_joins_once,
        rule_24_account_that_left_joins_again_at_the_end,
        rule_24_first_visit_before_the_end_grants_no_arrival,
        rule_24_ticket_from_before_the_end_is_void,
        rule_24_account_joins_again_once_its_slot_is_free,
        rule_24_older_ticket_of_the_account_moves_it_ahead,
        rule_24_signing_in_takes_over_the_session,
        rule_24_signing_in_takes_over_the_slot,
        rule_24_earlier_end_of_the_account_does_not_end_the_slot,
        rule_24_account_with_a_session_keeps_it,
        rule_24_session_of_a_code_stays_that_of_the_code,
        rule_24_preserved_first_visit_counts_for_one_account,
        rule_24_ended_pre_ticket_grants_no_arrival,
        rule_24_tokens_are_counted,
        rule_24_random_accounts_have_one_session_each,
    }
    invitations {
        rule_19_head_start_is_bounded,
        rule_19_equal_arrivals_have_an_order,
        rule_19_a_join_ahead_is_no_return,
        rule_20_uninvited_newcomers_do_not_join,
        rule_20_tickets_return_without_an_invitation,
        rule_20_an_ended_session_blocks_its_code,
        rule_20_the_lobby_is_for_the_invited_too,
    }
    order {
        rule_01_arrivals_are_strictly_increasing,
        rule_01_simultaneous_arrivals_keep_request_order,
        rule_01_concurrent_arrivals_are_unique,
        repeated_first_visit_is_the_same_session,
        void_ticket_makes_one_new_session_in_all_tabs,
        rule_02_lowest_arrival_is_admitted_first,
        rule_02_newcomer_never_takes_a_freed_slot,
        rule_02_newcomer_waits_behind_rate_limited_sessions,
        rule_02_freeing_a_slot_admits_the_next_session,
        rule_02_one_operation_admits_at_most_128,
        rule_02_expired_sessions_at_the_head_do_not_block,
        rule_02_one_operation_fills_a_hundred_free_slots,
        rule_03_quota_is_never_exceeded,
        rule_03_lower_quota_stops_admissions_without_eviction,
        rule_03_higher_quota_admits_immediately,
        rule_04_burst_is_limited_to_one_second_of_the_rate,
        rule_04_slow_rate_admits_one_at_a_time,
        rule_04_no_burst_at_minute_boundaries,
        rule_04_changed_rate_applies_to_the_next_request,
        rule_21_steps_admit_at_whole_multiples,
        rule_21_steps_can_be_set_and_removed,
        rule_21_fractions_of_a_step_are_kept,
        rule_17_checkpoints_are_exact_and_change_nothing,
        rule_22_full_line_admits_no_newcomer_to_it,
        rule_22_returning_tickets_join_a_full_line,
        rule_22_concurrent_joins_never_exceed_the_limit,
    }
    presence {
        rule_05_waiting_visit_lasts_waiting_ttl,
        rule_05_active_visit_lasts_active_ttl,
        rule_05_absent_admitted_visitor_has_claim_ttl,
        rule_05_first_visit_lasts_at_most_claim_ttl,
        rule_05_repeated_first_visit_does_not_extend_the_expiry,
        rule_05_max_session_ends_the_session_permanently,
        rule_05_max_session_counts_from_admission_after_return,
        rule_05_distant_expiry_is_not_rewritten,
        rule_05_shorter_ttl_applies_from_the_next_visit,
        rule_05_three_polls_per_waiting_ttl_never_expire,
        rule_12_far_visit_lasts_a_quarter_of_the_shown_wait,
        rule_12_shorter_wait_shortens_presence,
        rule_12_expiry_tells_who_never_returned_a_ticket,
        rule_12_positions_are_incomplete_until_all_poll,
        rule_12_far_visitor_is_present_at_the_census,
        rule_06_one_operation_removes_at_most_32_expired,
        rule_06_purge_removes_in_batches_of_at_most_500,
        rule_06_purge_admits_to_the_slots_it_frees,
        rule_06_purge_removes_old_tombstones,
        expired_unpurged_session_is_restored_by_a_visit,
    }
    returns {
        rule_07_ticket_restores_its_original_arrival,
        rule_07_keepalive_restores_a_session,
        rule_07_ticket_holds_its_position_for_hold_ttl,
        rule_07_missed_turn_returns_to_the_head,
        rule_07_admitted_ticket_restores_an_active_session,
        rule_07_admitted_ticket_is_valid_for_active_ttl,
        rule_07_admitted_ticket_without_free_slot_heads_the_line,
        rule_07_old_ticket_of_an_active_session_is_that_session,
        rule_07_order_survives_a_lost_state,
        rule_07_recovery_admits_no_newcomer_for_waiting_ttl,
        rule_07_ticket_older_than_the_state_starts_recovery,
        rule_07_void_old_ticket_does_not_start_recovery,
        rule_07_late_detected_loss_starts_one_recovery,
        rule_07_recovery_restores_quota_and_the_rest_wait_first,
        rule_07_slots_are_reserved_for_unreturned_sessions,
        rule_08_leave_of_an_expired_ticket_frees_no_reserved_slot,
        rule_07_unnotified_admission_takes_its_reserved_slot,
        rule_07_early_arrival_does_not_take_a_reserved_slot,
        rule_07_slot_ended_by_max_session_is_not_restored,
        rule_07_claim_prevented_by_the_loss_succeeds_later,
        rule_07_state_that_went_back_in_time_recovers,
        rule_07_clock_stepping_back_blocks_no_visitor,
        rule_07_newer_settings_replace_restored_ones,
        rule_07_restored_settings_replace_no_created_ones,
        rule_07_settings_of_a_removed_queue_replace_no_new_ones,
        rule_07_higher_ticket_epoch_replaces_a_restored_epoch,
        rule_07_unconfirmed_ticket_is_valid_for_claim_ttl,
        rule_07_newcomer_in_recovery_waits_behind_returners,
        rule_07_returner_waits_while_the_queue_is_paused,
        rule_07_old_admitted_tickets_do_not_skip_the_line,
        rule_07_raised_ttl_makes_no_void_ticket_valid,
        rule_07_raised_ttl_prolongs_no_recovery,
    }
    interruptions {
        rule_07_unserved_visitors_keep_their_order,
        rule_07_no_admission_before_a_visit_shows_an_interruption,
        rule_07_interruption_is_known_after_visits_of_others,
        rule_07_later_arrivals_grant_no_slots_to_the_expired,
        rule_07_unnoticed_admission_is_known_after_visits_of_others,
        rule_07_longer_quiet_time_hides_no_interruption,
        rule_07_quiet_queue_is_not_an_interruption,
    }
    ending {
        rule_08_leaving_frees_the_slot_permanently,
        rule_08_operator_ends_a_present_session,
        rule_08_slot_is_held_until_the_last_credential_expires,
        rule_08_operator_ends_an_absent_session,
        rule_08_absent_visitor_who_left_cannot_return,
        rule_08_tombstone_outlasts_earlier_tickets,
        rule_08_ending_a_session_again_extends_its_tombstone,
        rule_08_leaving_does_not_undo_an_end,
        rule_08_closed_page_keeps_its_position_and_does_not_block,
        rule_08_away_does_not_affect_active_sessions,
        rule_08_ticket_of_another_epoch_removes_no_session,
        rule_08_ending_an_unknown_session_blocks_its_id,
    }
    modes {
        rule_09_open_admits_while_slots_are_free,
        rule_09_bypass_stores_nothing,
        rule_09_line_is_unchanged_after_bypass,
        rule_09_paused_accepts_joins_without_admission,
        rule_09_closed_rejects_joins_and_keeps_active_sessions,
        rule_09_draining_rejects_joins_and_admits_in_order,
        rule_09_draining_restores_absent_visitors,
        rule_09_drained_queue_closes_after_tickets_expire,
        rule_09_return_to_a_drained_queue_delays_closing,
        rule_09_canceled_drain_starts_over,
        rule_09_draining_queue_in_recovery_waits_for_tickets,
        rule_10_release_ignores_quota_rate_and_pause,
        rule_10_release_does_not_consume_the_rate,
        rule_10_release_skips_expired_sessions,
        rule_10_one_release_admits_at_most_500,
        rule_10_quota_applies_again_after_a_release,
        rule_10_admit_ignores_quota_rate_pause_and_order,
        rule_10_admit_applies_to_waiting_sessions_only,
        rule_11_reset_empties_the_line_and_voids_tickets,
        rule_11_every_reset_starts_another_epoch,
        rule_11_settings_with_another_epoch_start_a_new_line,
        rule_11_reset_epoch_survives_a_lost_state,
    }
    pre_tickets {
        rule_23_first_visit_joins_while_slots_are_free,
        rule_23_pre_ticket_is_required_while_slots_are_scarce,
        rule_23_pre_ticket_is_required_in_recovery,
        rule_23_recent_first_visit_is_the_arrival,
        rule_23_old_first_visit_joins_at_the_end,
        rule_23_preserved_first_visit_counts_for_hold_ttl,
        rule_23_first_visit_counts_from_its_network_only,
        rule_23_first_visit_of_the_future_joins_at_the_end,
        rule_23_pre_ticket_is_one_session,
        rule_23_pre_ticket_of_an_ended_session_joins_nobody,
        rule_23_pre_ticket_of_another_epoch_joins_nobody,
        rule_23_redeemed_session_is_confirmed_at_once,
        rule_23_only_open_and_paused_queues_require_pre_tickets,
        rule_23_redeemer_obeys_the_mode_and_the_length_of_the_line,
        rule_23_first_visits_of_a_lobby_count_from_the_start,
        rule_23_first_visits_count_from_when_the_queue_opens,
        rule_23_first_visits_before_a_lobby_count_from_its_opening,
        rule_23_direct_joins_never_exceed_the_quota_after_a_loss,
        rule_23_hoarded_pre_tickets_gain_nothing,
        rule_23_issued_and_redeemed_pre_tickets_are_counted,
    }
    limits {
        monitor_affects_nobody,
        reject_limits_one_address,
        reject_limits_one_network,
        limits_do_not_apply_below_twenty_joins,
        extra_proxy_disables_limits,
        joins_without_address_are_not_limited,
        shared_network_counts_as_a_part,
        trusted_network_is_not_limited,
        blocked_network_does_not_join,
        rate_limits_joins_per_second,
        counts_end_after_two_windows,
        counters_are_removed_with_the_queue,
        returning_ticket_is_no_join,
        full_line_counts_rejections,
    }
    join_reports {
        joins_are_counted_by_address_and_network,
        trusted_and_shared_networks_are_counted_as_limits_count_them,
        histogram_predicts_what_a_limit_rejects,
        joins_per_second_are_those_of_the_last_seconds,
        counts_of_two_windows_are_reported,
        largest_networks_are_listed_unless_hidden,
        report_of_a_queue_without_joins_is_empty,
    }
    proof_of_work {
        proof_of_work_is_required_of_newcomers,
        proof_of_an_earlier_epoch_counts_for_nothing,
        proof_of_work_is_monitored,
        proof_of_work_grows_with_the_joins_of_an_address,
        proof_of_work_grows_with_the_joins_of_the_queue,
        invited_newcomers_prove_no_work,
        attack_mode_asks_for_four_times_the_work,
        delayed_newcomers_join_without_a_proof,
        delayed_joins_are_limited_by_address,
        proofs_are_counted,
    }
    attack_mode {
        attack_mode_always_requires_pre_tickets,
        attack_mode_enforces_half_of_the_limits,
        attack_mode_rejects_suspicious_networks,
        attack_mode_applies_to_the_next_request_and_ends_by_itself,
        attack_mode_can_be_extended_and_ended,
        attack_mode_does_not_apply_limits_to_unreliable_addresses,
        attack_mode_survives_changed_settings_and_not_a_reset,
        attack_mode_lasts_as_long_after_the_clock_stepped_back,
    }
    draws {
        rule_14_lobby_costs_no_memory,
        rule_14_blocked_networks_get_no_lobby_ticket,
        rule_20_invited_latecomers_follow_the_draw,
        rule_14_sessions_from_before_keep_their_positions,
        rule_14_visitor_ended_in_the_lobby_is_not_drawn,
        rule_14_account_that_left_takes_part_in_the_draw,
        rule_14_account_ended_in_the_lobby_joins_after_the_draw,
        rule_14_session_that_was_served_is_not_drawn,
        rule_14_account_that_came_again_is_drawn,
        rule_15_admissions_follow_the_numbers,
        rule_15_late_visitor_returns_to_the_drawn_position,
        rule_15_drawn_arrivals_are_no_times_in_any_mode,
        rule_15_store_before_the_draw_keeps_the_visitor_in_the_lobby,
        rule_15_quiet_lobby_is_no_loss,
        rule_15_flush_in_the_lobby_loses_no_position,
        rule_16_order_is_drawn_when_the_beacon_is_recorded,
        rule_16_visitor_ended_before_the_draw_is_not_drawn,
        rule_16_draw_phase_without_a_value_lasts_until_the_end,
        rule_16_late_value_is_drawn_after_the_end,
    }
    phases {
        rule_13_phases_begin_to_the_microsecond,
        rule_13_lobby_keeps_the_order_of_arrival,
        rule_13_ending_admits_the_line_before_bypass,
        rule_13_lost_line_does_not_open_the_site,
        rule_13_interrupted_line_does_not_open_the_site,
        rule_13_later_visit_tells_of_an_interrupted_line,
        rule_13_ticket_returns_to_a_line_that_may_be_interrupted,
        rule_13_line_that_left_ends_the_event,
        rule_13_last_expiry_lets_the_same_visit_pass,
        rule_13_closed_between_events_drains_after_the_end,
        rule_13_set_mode_overrides_the_events,
        rule_13_schedule_survives_reset_and_loss,
        rule_13_loss_long_after_an_event_does_not_continue_it,
        rule_13_clock_stepping_back_restores_the_phase,
        rule_13_events_are_read_as_written,
    }
    streams {
        rule_18_read_only_visit_sees_the_position,
        rule_18_read_only_visits_renew_no_presence,
        rule_18_read_only_visit_restores_and_joins_nobody,
        rule_18_read_only_visit_expires_and_admits_others,
        rule_18_census_of_a_read_only_visit_frees_reserved_slots,
        rule_18_turn_that_was_only_read_expires_unclaimed,
    }
    keeping {
        settings_are_read_as_written,
        revision_prevents_lost_updates,
        changed_settings_apply_to_the_next_request,
        restored_queue_keeps_its_epoch_and_revision,
        queue_continues_after_the_revision_of_a_removed_one,
        unknown_queue_error_names_the_queue,
        removed_queue_leaves_no_data,
        queues_are_listed_by_id_with_their_revision,
        queues_are_isolated,
        tenants_are_stored_by_id,
        changed_tenant_is_not_replaced,
        removed_tenant_leaves_its_queues,
        sessions_are_found_in_every_state,
        next_page_continues_after_the_previous_one,
        active_sessions_are_listed_by_admission,
        ended_sessions_are_listed_until_forgotten,
        reads_do_not_change_the_state,
        oldest_arrival_is_that_of_the_head,
        waits_are_counted_in_histogram_buckets,
        pace_counts_admissions_of_waiting_sessions,
        pace_starts_when_all_slots_are_taken,
        pace_counts_departures_and_returns,
        pace_excludes_joins_and_lost_sessions,
        first_returned_ticket_confirms_a_session,
        pace_drops_data_older_than_two_windows,
        counters_add_up,
        last_purge_has_the_time_of_the_store,
        the_store_answers,
    }
}

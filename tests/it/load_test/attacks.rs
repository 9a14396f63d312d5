//! Attacks at size. `make test-all` runs them; [`super::hostile`] has smaller ones.

use super::hostile::{assert_flood_is_harmless, assert_positions_cost_computing_time};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flood_of_500_requests_a_second_leaves_200_visitors_alone() {
    assert_flood_is_harmless(500, 200, 60).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn position_of_a_farm_costs_computing_time_in_attack_mode() {
    assert_positions_cost_computing_time().await;
}

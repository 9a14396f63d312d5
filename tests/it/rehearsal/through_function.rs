//! A crowd against the gate's function, of several instances, behind a load balancer.

use serde_json::json;
use vestibule_core::PutMode;
use vestibule_core::settings::parse_document;
use vestibule_tests::{Balancer, BalancerOptions, GateOptions, Origin, Redis};

use super::{assert_held, mixed, rehearse, value};
use crate::scene::{PATIENCE, document_of, over, random_id};

const QUOTA: u64 = 20;
const INSTANCES: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_function_holds_before_a_crowd_with_all_habits() {
    let (redis, origin, queue) = (Redis::start().await, Origin::start(), random_id());
    let function = GateOptions::default().deployment(&redis.url()).instances(INSTANCES).await;
    let balancer = Balancer::before(function, BalancerOptions::default()).await;
    let (store, host) = (over(&redis, PATIENCE), format!("{queue}.example.com"));
    let document = document_of(&queue, &host, &origin.url(), &json!({ "quota": QUOTA }));
    let document = parse_document(&document).unwrap();
    store.put_tenant(&document.tenants[0]).await.unwrap();
    store.put_settings(&document.queues[0], PutMode::Always).await.unwrap();

    let report = rehearse(mixed(80), balancer.address(), &host, &queue, QUOTA, Vec::new()).await;
    assert_held(&report);
    assert_eq!(balancer.complaints(), Vec::<String>::new());
    assert!(value(&report, "failed_share").abs() < f64::EPSILON, "{:?}", report.failures);
}

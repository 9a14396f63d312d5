//! A workload against the gate's function, of several instances, behind a load balancer.

use std::path::PathBuf;

use serde_json::json;
use vestibule_core::PutMode;
use vestibule_core::settings::parse_settings_document;
use vestibule_tests::{Balancer, BalancerOptions, GateOptions, Origin, Redis};
use vestibule_workload::report::Report;
use vestibule_workload::{Arrivals, Behavior, Shopping, Workload};

use super::{assert_passed, mixed, rehearse, value};
use crate::gate_fixture::{TIMEOUT, document_of, over, random_id};

const INSTANCES: usize = 4;

/// Runs a workload against the function before a queue with this quota.
async fn through_function(workload: Workload, quota: u64) -> Report {
    let (redis, origin, queue) = (Redis::start().await, Origin::start(), random_id());
    let function = GateOptions::default().deployment(&redis.url()).instances(INSTANCES).await;
    let balancer = Balancer::before(function, BalancerOptions::default()).await;
    let (store, host) = (over(&redis, TIMEOUT), format!("{queue}.example.com"));
    let document = document_of(&queue, &host, &origin.url(), &json!({ "quota": quota, "recheck_after": 5 }));
    let document = parse_settings_document(&document).unwrap();
    store.put_tenant(&document.tenants[0]).await.unwrap();
    store.put_settings(&document.queues[0], PutMode::Always).await.unwrap();
    let report = rehearse(workload, balancer.address(), &host, &queue, quota, Vec::new()).await;
    assert_eq!(balancer.complaints(), Vec::<String>::new());
    report
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn function_passes_all_checks_with_all_behaviors() {
    let report = through_function(mixed(80), 20).await;
    assert_passed(&report);
    assert!(value(&report, "failed_share").abs() < f64::EPSILON, "{:?}", report.failures);
}

/// Takes minutes. Writes its report into the folder that `VESTIBULE_REHEARSALS` names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: run it with --run-ignored only"]
async fn function_passes_all_checks_with_2000_visitors() {
    let behavior = Behavior {
        shopping: Shopping::LogNormal(15.0),
        leave: 0.95,
        patience: 60.0,
        away: 20.0,
        awake: 60.0,
        asleep: 60.0,
        reload_every: 30.0,
        bots: 0.005,
        flood: 0.003,
        ..Behavior::default()
    };
    let workload = Workload {
        visitors: 2_000,
        arrivals: Arrivals::Burst(60.0),
        behavior,
        seed: 1,
        repeat: None,
        hostile: Vec::new(),
    };
    let mut report = through_function(workload, 150).await;
    report.run.target = "the gate's function, four instances behind a load balancer, over Redis".to_owned();
    report.add_notes();
    if let Some(folder) = std::env::var_os("VESTIBULE_REHEARSALS").map(PathBuf::from) {
        std::fs::write(folder.join("function-2000.json"), report.to_json()).unwrap();
        std::fs::write(folder.join("function-2000.html"), report.to_html()).unwrap();
    }
    assert_passed(&report);
}

//! The arrows between the crates, and between the files of each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::module_graph::ModuleGraph;

fn metadata() -> Value {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let arguments = ["metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path", manifest];
    let output = Command::new(cargo).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What each crate of the workspace depends on to work; what its tests need is left out.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let of = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap().iter();
        all.filter(|dependency| dependency["kind"].as_str() != Some("dev")).map(name).collect()
    };
    packages.map(|package| (name(package), of(package))).collect()
}

/// The layout of the design: which crate may use which.
fn allowed(package: &str) -> Option<&'static [&'static str]> {
    Some(match package {
        "vestibule-core" | "vestibule-freeze" | "vestibule-tls" => &[],
        "vestibule-aws" => &["vestibule-freeze"],
        "vestibule-http-client" => &["vestibule-core", "vestibule-freeze", "vestibule-tls"],
        "vestibule-estimate" | "vestibule-records" => &["vestibule-core"],
        "vestibule-themes" => &["vestibule-aws", "vestibule-core", "vestibule-freeze"],
        "vestibule-proxy" => &["vestibule-core", "vestibule-freeze", "vestibule-http-client", "vestibule-tls"],
        "vestibule-store-memory" => &["vestibule-core", "vestibule-records"],
        "vestibule-store-redis" => &["vestibule-core", "vestibule-freeze", "vestibule-records", "vestibule-tls"],
        "vestibule-jobs-sqs" => &["vestibule-aws", "vestibule-core", "vestibule-store-redis"],
        "vestibule-runtime" => &[
            "vestibule-core",
            "vestibule-freeze",
            "vestibule-jobs-sqs",
            "vestibule-records",
            "vestibule-store-memory",
            "vestibule-store-redis",
        ],
        "vestibule-lambda" => &["vestibule-core", "vestibule-runtime"],
        "vestibule-gate" => &[
            "vestibule-core",
            "vestibule-estimate",
            "vestibule-freeze",
            "vestibule-http-client",
            "vestibule-lambda",
            "vestibule-proxy",
            "vestibule-runtime",
            "vestibule-themes",
        ],
        "vestibule-admin" => &[
            "vestibule-core",
            "vestibule-estimate",
            "vestibule-http-client",
            "vestibule-lambda",
            "vestibule-records",
            "vestibule-runtime",
            "vestibule-themes",
        ],
        "vestibule-workload" => {
            &["vestibule-core", "vestibule-estimate", "vestibule-http-client", "vestibule-store-redis"]
        }
        "vestibule-metrics" | "vestibule-purge" => {
            &["vestibule-core", "vestibule-records", "vestibule-runtime", "vestibule-lambda"]
        }
        "vestibule-worker" => &[
            "vestibule-core",
            "vestibule-http-client",
            "vestibule-jobs-sqs",
            "vestibule-lambda",
            "vestibule-records",
            "vestibule-runtime",
        ],
        _ => return None,
    })
}

#[test]
fn crates_depend_only_on_lower_layers() {
    let all = dependencies();
    assert!(all.contains_key("vestibule-gate") && all.contains_key("vestibule"), "{:?}", all.keys());
    for (package, uses) in &all {
        if package == "vestibule" || package == "vestibule-tests" {
            continue;
        }
        let allowed = allowed(package).unwrap_or_else(|| panic!("{package} is not in the layout"));
        for used in uses.iter().filter(|used| all.contains_key(*used)) {
            assert!(allowed.contains(&used.as_str()), "{package} uses {used}");
        }
    }
}

#[test]
fn restricted_dependencies_stay_in_one_crate() {
    for (library, user) in [
        ("fred", "vestibule-store-redis"),
        ("aws-sdk-s3", "vestibule-themes"),
        ("aws-sdk-sqs", "vestibule-jobs-sqs"),
        ("toml_edit", "vestibule"),
    ] {
        for (package, uses) in dependencies() {
            assert!(!uses.contains(library) || package == user, "{package} uses {library}");
        }
    }
    assert!(dependencies()["vestibule-store-redis"].contains("fred"));
}

#[test]
fn core_does_no_io() {
    for library in ["tokio", "hyper", "axum", "fred", "http", "reqwest", "tracing-subscriber"] {
        assert!(!dependencies()["vestibule-core"].contains(library), "{library}");
    }
}

#[test]
fn files_of_a_crate_use_each_other_in_one_direction() {
    let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates");
    let mut roots: Vec<_> = std::fs::read_dir(crates)
        .unwrap()
        .flat_map(|crate_folder| {
            ["src/lib.rs", "src/main.rs"].map(|root| crate_folder.as_ref().unwrap().path().join(root))
        })
        .filter(|root| root.exists())
        .collect();
    roots.sort();
    assert!(roots.len() > 20, "{roots:?}");
    let core = ModuleGraph::read(&Path::new(crates).join("core/src/lib.rs")).edges();
    assert!(
        core["line::state"].contains("line::presence") && core["token::ticket"].contains("line::ticket"),
        "{core:?}"
    );
    for root in roots {
        let circles = ModuleGraph::read(&root).circles();
        assert!(circles.is_empty(), "{}: move what both use into a file below: {circles:#?}", root.display());
    }
}

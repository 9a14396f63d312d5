//! Refuses a release without its dashboard.

use std::path::Path;

const INDEX: &str = "../../dashboard/dist/index.html";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A debug build reads the files when it runs, so they may change later.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if !is_release || std::env::var_os("CARGO_FEATURE_DASHBOARD").is_none() {
        return;
    }
    println!("cargo::rerun-if-changed=../../dashboard/dist");
    if !Path::new(INDEX).exists() {
        println!("cargo::rerun-if-changed=../../dashboard");
        println!(
            "cargo::error=the dashboard is not built, and a release contains it: run `make dashboard`, then build again; \
             for a program without it, build with `--no-default-features --features oidc,s3`"
        );
    }
}

//! Notices that the dashboard was built: its files go into a released program.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // A program that is worked on reads the folder itself. Where the folder is missing this would run every time.
    let released = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if released {
        println!("cargo:rerun-if-changed=../../dashboard/dist");
        if !std::path::Path::new("../../dashboard/dist/index.html").exists() {
            println!(
                "cargo:warning=the dashboard is not built, so this release has none: run `make dashboard`, then build again"
            );
        }
    }
}

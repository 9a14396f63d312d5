//! What surrounds the program: the composition, the image, the pipelines, how a stage is deployed, and how a release is published.

mod composition;
mod deploy;
mod image;
mod pipelines;
mod publish;

use std::path::Path;

/// A file of the workspace.
fn read(file: &str) -> String {
    std::fs::read_to_string(workspace().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The Rust that the workspace is written for.
fn rust_version() -> String {
    let manifest = read("Cargo.toml");
    let line = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap();
    line.trim_matches('"').to_owned()
}

/// Whether an image is named by a version, and not by a name that means another one next month.
fn is_versioned(image: &str) -> bool {
    image.rsplit_once(':').is_some_and(|(_, tag)| tag.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit()))
}

/// The stages of samconfig.toml.
fn stages() -> Vec<String> {
    let parameters = |line: &str| line.strip_prefix('[')?.strip_suffix(".deploy.parameters]").map(str::to_owned);
    read("samconfig.toml").lines().filter_map(parameters).collect()
}

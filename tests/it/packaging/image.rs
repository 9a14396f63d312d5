//! What the image is made of.

use std::net::TcpListener;
use std::process::Command;

use vestibule_tests::{Dockerfile, yaml};

use super::{is_versioned, read, rust_version, workspace};

#[test]
fn every_image_is_named_by_its_version() {
    let image = Dockerfile::read();
    let composition = yaml("docker-compose.yml");
    let composed = composition["services"].as_object().unwrap().values();
    let pulled =
        composed.filter(|service| service.get("build").is_none()).map(|service| service["image"].as_str().unwrap());
    let bases = image.all("FROM").into_iter().map(|from| from.split(' ').next().unwrap());
    let all: Vec<&str> = pulled.chain(bases).collect();
    assert!(all.len() > 5, "{all:?}");
    for image in all {
        assert!(is_versioned(image), "{image}");
    }
    assert!(!is_versioned("debian:stable-slim") && !is_versioned("debian"));
}

#[test]
fn the_image_is_built_with_the_workspace_s_rust() {
    let image = Dockerfile::read();
    let from = image.all("FROM").into_iter().find(|from| from.ends_with(" AS build")).unwrap();
    let wanted = format!("rust:{}-", rust_version());
    assert!(from.starts_with(&wanted), "{from} does not begin with {wanted}");
}

#[test]
fn image_builds_the_dashboard_first() {
    let text = read("Dockerfile");
    let at = |line: &str| text.find(line).unwrap_or_else(|| panic!("{line} is missing"));
    assert!(at("npm ci\n") < at("RUN npm run build\n"));
    assert!(at("RUN npm run build\n") < at("COPY --from=dashboard /dashboard/dist dashboard/dist\n"));
    assert!(at("COPY . .\n") < at("COPY --from=dashboard"), "what was built is not overwritten");
    assert!(at("COPY --from=dashboard") < at("cargo build"));
    let ignored = read(".dockerignore");
    for line in ["!dashboard", "dashboard/dist", "dashboard/node_modules"] {
        assert!(ignored.lines().any(|other| other == line), "{line} is not in .dockerignore");
    }
    let needed = serde_json::from_str::<serde_json::Value>(&read("dashboard/package.json")).unwrap();
    let needed = needed["engines"]["node"].as_str().unwrap().trim_start_matches(">=").split('.').next().unwrap();
    let node = text.split("FROM node:").nth(1).unwrap().split(['.', '-']).next().unwrap();
    assert!(node.parse::<u32>().unwrap() >= needed.parse().unwrap(), "node {node}, and {needed} is needed");
    let pipelines = read("bitbucket-pipelines.yml");
    assert!(pipelines.contains(&format!("image: node:{node}-")), "the pipelines build with another one");
}

#[test]
fn health_check_needs_a_listener_and_no_store() {
    let is_healthy = |listen: &str| {
        let mut check = Command::new("bash");
        check.arg(workspace().join("deploy/docker/healthy")).env("VESTIBULE_LISTEN", listen);
        check.status().unwrap().success()
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = format!("0.0.0.0:{}", listener.local_addr().unwrap().port());
    assert!(is_healthy(&listen), "nothing is answered");
    drop(listener);
    assert!(!is_healthy(&listen));
}

#[test]
fn the_program_runs_as_a_numbered_user_that_is_not_root() {
    let image = Dockerfile::read();
    let user = image.last("USER");
    let numbers: Vec<u32> = user.split(':').map(|number| number.parse().unwrap()).collect();
    assert!(numbers.len() == 2 && !numbers.contains(&0), "{user}");
    let made = image.last_stage().iter().any(|(name, rest)| {
        let owned = format!("--owner={} --group={}", numbers[0], numbers[1]);
        name == "RUN" && rest.contains(&owned) && rest.ends_with(image.last("VOLUME"))
    });
    assert!(made, "the state folder is the user's own");
}

#[test]
fn the_composed_s3_is_the_one_that_the_tests_use() {
    let version = read("tests/requirements.txt");
    let version = version.lines().find_map(|line| line.strip_prefix("moto[s3,server]==")).unwrap();
    for service in ["s3", "themes"] {
        let image = &yaml("docker-compose.yml")["services"][service]["image"];
        assert_eq!(image, &format!("motoserver/moto:{version}"), "{service}");
    }
}

//! What bitbucket-pipelines.yml says, beyond what its published schema asks: that takes any word for a key.

use std::collections::BTreeSet;

use serde_json::Value;
use vestibule_tests::yaml;

use super::{is_versioned, read, stages, workspace};

/// All that a step of ours says.
const STEP_KEYS: [&str; 10] =
    ["caches", "deployment", "max-time", "name", "oidc", "script", "services", "size", "trigger", "after-script"];
/// Caches that Bitbucket knows by itself.
const KNOWN_CACHES: [&str; 2] = ["node", "pip"];

/// Every step of every pipeline.
fn steps() -> Vec<Value> {
    let kinds = yaml("bitbucket-pipelines.yml")["pipelines"].as_object().unwrap().clone();
    kinds.keys().flat_map(|kind| steps_of(kind)).collect()
}

/// Every step of the pipelines of a kind: `pull-requests`, `branches`, `custom`.
fn steps_of(kind: &str) -> Vec<Value> {
    let mut steps = Vec::new();
    for pipeline in yaml("bitbucket-pipelines.yml")["pipelines"][kind].as_object().unwrap().values() {
        collect(pipeline, &mut steps);
    }
    steps
}

fn collect(items: &Value, steps: &mut Vec<Value>) {
    for item in items.as_array().unwrap() {
        let (kind, inner) = item.as_object().unwrap().iter().next().unwrap();
        match kind.as_str() {
            "step" => steps.push(inner.clone()),
            "parallel" => collect(inner, steps),
            other => panic!("{other} is no part of a pipeline"),
        }
    }
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}")).iter().map(|text| text.as_str().unwrap()).collect()
}

fn targets() -> BTreeSet<String> {
    let makefile = read("Makefile");
    let heads = makefile.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.to_owned());
    heads.filter(|name| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')).collect()
}

#[test]
fn a_step_has_a_name_a_script_and_no_key_that_is_none() {
    let document = yaml("bitbucket-pipelines.yml");
    for key in document.as_object().unwrap().keys() {
        assert!(["clone", "definitions", "image", "pipelines"].contains(&key.as_str()), "{key}");
    }
    assert!(is_versioned(document["image"].as_str().unwrap()));
    for step in steps() {
        for key in step.as_object().unwrap().keys() {
            assert!(STEP_KEYS.contains(&key.as_str()), "{key} in {step}");
        }
        assert!(step["name"].is_string() && !texts(&step["script"]).is_empty(), "{step}");
    }
}

#[test]
fn every_line_of_a_script_is_a_local_command_that_is_there() {
    let targets = targets();
    for step in steps() {
        for line in texts(&step["script"]) {
            let mut words = line.split(' ');
            match words.next().unwrap() {
                "." => assert!(workspace().join(words.next().unwrap()).is_file(), "{line}"),
                "make" => {
                    for target in words.filter(|word| !word.contains('=')) {
                        assert!(targets.contains(target), "make has no {target}: {line}");
                    }
                }
                other => panic!("{other} is no command that everybody runs: {line}"),
            }
        }
    }
}

/// `make test` and the pipelines' steps together run the same: a check that is added to one is added to the other.
#[test]
fn the_steps_of_a_pull_request_are_all_that_make_test_runs() {
    let makefile = read("Makefile");
    let test = makefile.lines().find_map(|line| line.strip_prefix("test: ")).unwrap();
    let wanted: BTreeSet<&str> = test.split("##").next().unwrap().split_whitespace().collect();
    let steps = steps_of("pull-requests");
    let lines = steps.iter().flat_map(|step| texts(&step["script"])).filter(|line| line.starts_with("make "));
    let run: BTreeSet<&str> = lines.flat_map(|line| line.split(' ').skip(1)).collect();
    let missing: Vec<_> = wanted.difference(&run).collect();
    assert!(missing.is_empty(), "no step runs {missing:?}");
}

#[test]
fn every_cache_is_one_that_is_defined_and_used() {
    let document = yaml("bitbucket-pipelines.yml");
    let defined = document["definitions"]["caches"].as_object().unwrap();
    let steps = steps();
    let used: BTreeSet<&str> = steps.iter().flat_map(|step| texts(&step["caches"])).collect();
    for cache in &used {
        assert!(defined.contains_key(*cache) || KNOWN_CACHES.contains(cache), "{cache}");
    }
    for (name, cache) in defined {
        assert!(used.contains(name.as_str()), "nobody uses {name}");
        for file in texts(&cache["key"]["files"]) {
            assert!(workspace().join(file).is_file(), "{name}: {file}");
        }
    }
}

#[test]
fn every_stage_has_a_manual_deployment_step() {
    let steps = steps();
    let deploying: Vec<&Value> = steps.iter().filter(|step| step.get("deployment").is_some()).collect();
    let mut deployed: Vec<&str> = deploying.iter().map(|step| step["deployment"].as_str().unwrap()).collect();
    let mut stages = stages();
    deployed.sort_unstable();
    stages.sort_unstable();
    assert_eq!(deployed, stages, "the deployments are named as the stages of samconfig.toml");
    for step in deploying {
        assert_eq!(step["oidc"], true, "{step}");
        assert!(
            texts(&step["script"]).contains(&"make setup deploy STAGE=$BITBUCKET_DEPLOYMENT_ENVIRONMENT"),
            "{step}"
        );
    }
}

#[test]
fn deployments_are_manual() {
    for kind in ["pull-requests", "tags"] {
        assert!(steps_of(kind).iter().all(|step| step.get("deployment").is_none()), "{kind}");
    }
    for step in steps_of("branches").iter().filter(|step| step.get("deployment").is_some()) {
        assert_eq!(step["trigger"], "manual", "{step}");
    }
    let kinds = yaml("bitbucket-pipelines.yml")["pipelines"].as_object().unwrap().clone();
    let kinds: BTreeSet<&str> = kinds.keys().map(String::as_str).collect();
    let known = BTreeSet::from(["branches", "custom", "pull-requests", "tags"]);
    assert_eq!(kinds, known, "a custom pipeline runs by hand alone");
}

#[test]
fn only_a_tag_publishes_and_after_all_checks() {
    let publishes = |step: &Value| texts(&step["script"]).iter().any(|line| line.contains("publish"));
    for kind in ["branches", "custom", "pull-requests"] {
        assert!(!steps_of(kind).iter().any(publishes), "{kind}");
    }
    let (tags, checks) = (steps_of("tags"), steps_of("pull-requests"));
    assert_eq!(tags[..checks.len()], checks);
    assert!(matches!(&tags[checks.len()..], [step] if publishes(step)));
}

//! scripts/deploy, with a `sam` in front of the real one that writes down what it was asked.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::{read, stages, workspace};

/// A copy of what the script reads, with a `sam` that says how it was called and which variables it was given.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let programs = folder.path().join(".tools/python/bin");
    std::fs::create_dir_all(&programs).unwrap();
    std::fs::create_dir(folder.path().join("scripts")).unwrap();
    for file in ["scripts/deploy", "template.yaml"] {
        std::fs::copy(workspace().join(file), folder.path().join(file)).unwrap();
    }
    std::fs::write(folder.path().join("samconfig.toml"), read("samconfig.toml").replace("REPLACE", "of-the-account"))
        .unwrap();
    let recorder = "#!/bin/sh\n\
        echo \"sam $*\"\n\
        echo \"role ${AWS_ROLE_ARN-none}, session ${AWS_ROLE_SESSION_NAME-none}\"\n\
        if [ -n \"${AWS_WEB_IDENTITY_TOKEN_FILE-}\" ]; then\n\
        echo \"token $(cat \"$AWS_WEB_IDENTITY_TOKEN_FILE\") in $AWS_WEB_IDENTITY_TOKEN_FILE\"\n\
        fi\n\
        echo \"architecture ${ARCHITECTURE-none}, admin [${ADMIN_HOST-none}]\"\n\
        if [ \"${4-}\" = --config-file ]; then sed 's/^/config /' \"$5\"; fi\n\
        if [ \"$1\" = \"${FAILS-}\" ]; then exit 3; fi\n";
    std::fs::write(programs.join("sam"), recorder).unwrap();
    std::fs::set_permissions(programs.join("sam"), std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn deploy(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(folder.join("scripts/deploy"));
    for name in ["AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "BITBUCKET_STEP_OIDC_TOKEN"] {
        command.env_remove(name);
    }
    command.args(arguments).envs(environment.iter().copied()).output().unwrap()
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_stage_is_built_and_then_deployed() {
    for stage in stages() {
        let output = deploy(folder().path(), &[&stage], &[]);
        assert!(output.status.success(), "{}", said(&output.stderr));
        let calls = said(&output.stdout);
        let calls: Vec<&str> = calls.lines().filter(|line| line.starts_with("sam ")).collect();
        assert_eq!(calls.len(), 2, "{calls:?}");
        assert_eq!(calls[0], format!("sam build --config-env {stage}"));
        assert!(calls[1].starts_with(&format!("sam deploy --config-env {stage} --config-file ")), "{}", calls[1]);
    }
}

#[test]
fn build_gets_architecture_and_admin_host() {
    let folder = folder();
    let stage = &stages()[0];
    assert!(said(&deploy(folder.path(), &[stage], &[]).stdout).contains("architecture arm64, admin []"));
    let file = folder.path().join("samconfig.toml");
    let given = "parameter_overrides = [\n  \"Architecture=x86_64\",\n  \"AdminHost=admin.example.com\",\n";
    let text = std::fs::read_to_string(&file).unwrap().replacen("parameter_overrides = [\n", given, 1);
    std::fs::write(&file, text).unwrap();
    assert!(
        said(&deploy(folder.path(), &[stage], &[]).stdout).contains("architecture x86_64, admin [admin.example.com]")
    );
}

/// The parameters of a stage that SAM is given. It takes the last value of each.
fn given(output: &Output, stage: &str) -> BTreeMap<String, String> {
    let text = said(&output.stdout);
    let lines = text.lines().filter_map(|line| line.strip_prefix("config "));
    let stage = lines.skip_while(|line| *line != format!("[{stage}.global.parameters]")).skip(1);
    let lines = stage.take_while(|line| !line.starts_with('[')).map(str::trim).filter(|line| !line.starts_with('#'));
    let values = lines.filter_map(|line| {
        let (name, value) = line.strip_suffix(',')?.trim_matches('\'').trim_matches('"').split_once('=')?;
        Some((name.to_owned(), value.trim_matches('"').to_owned()))
    });
    values.collect()
}

/// SAM keeps the value of the last deployment for a parameter that it is not given.
#[test]
fn unlisted_parameters_get_their_defaults() {
    let folder = folder();
    let stage = &stages()[0];
    let file = folder.path().join("samconfig.toml");
    let listed = std::fs::read_to_string(&file).unwrap();
    let old = "parameter_overrides = [\n  # \"AdminHost=old.example.com\",\n  # \"Architecture=x86_64\",\n";
    std::fs::write(&file, listed.replacen("parameter_overrides = [\n", old, 1)).unwrap();
    let output = deploy(folder.path(), &[stage], &[]);
    assert!(said(&output.stdout).contains("architecture arm64, admin []"), "{}", said(&output.stdout));

    let template: yaml_serde::Value = yaml_serde::from_str(&read("template.yaml")).unwrap();
    let mut given = given(&output, stage);
    for (name, parameter) in template["Parameters"].as_mapping().unwrap() {
        let name = name.as_str().unwrap();
        let default = match &parameter["Default"] {
            yaml_serde::Value::Null => None,
            yaml_serde::Value::Number(number) => Some(number.to_string()),
            text => text.as_str().map(str::to_owned),
        };
        let value = given.remove(name);
        if ["RestoreSnapshot", "KeysInUse"].contains(&name) {
            assert_eq!(value, None, "{name}: the default would replace Valkey, or all keys");
        } else if name != "Release" && !listed.contains(&format!("\"{name}=")) {
            assert_eq!(value, default, "{name}");
        }
    }
    assert_eq!(given, BTreeMap::new(), "the template has no such parameters");
}

#[test]
fn listed_parameters_take_the_place_of_defaults() {
    let stage = "production";
    let given = given(&deploy(folder().path(), &[stage], &[]), stage);
    for (name, value) in [("LogRetentionDays", "90"), ("QueueMetrics", "on"), ("NodeType", "cache.m7g.large")] {
        assert_eq!(given[name], value, "{name}");
    }
}

#[test]
fn every_deployment_has_a_release_of_its_own() {
    for stage in stages() {
        let text = said(&deploy(folder().path(), &[&stage], &[]).stdout);
        let given: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("config ")).collect();
        let release = given.iter().position(|line| line.trim().starts_with("\"Release=")).expect("a release");
        let digits = given[release].trim().trim_start_matches("\"Release=").trim_end_matches("\",");
        assert!(digits.len() == 10 && digits.bytes().all(|byte| byte.is_ascii_digit()), "{digits}");
        let heading = given[..release].iter().rfind(|line| line.starts_with('[')).unwrap();
        assert_eq!(*heading, format!("[{stage}.global.parameters]"));
        assert_eq!(given.iter().filter(|line| line.contains("\"Release=")).count(), 1, "no other stage has it");
    }
}

/// SAM cuts a value at a space, and says nothing.
#[test]
fn values_with_a_space_need_quotes_of_their_own() {
    let (folder, stage) = (folder(), &stages()[0]);
    let file = folder.path().join("samconfig.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    for (line, is_deployed) in [("\"OidcName=Company login\"", false), ("'OidcName=\"Company login\"'", true)] {
        let given = format!("parameter_overrides = [\n  {line},\n");
        std::fs::write(&file, text.replacen("parameter_overrides = [\n", &given, 1)).unwrap();
        let output = deploy(folder.path(), &[stage], &[]);
        assert_eq!(output.status.success(), is_deployed, "{}", said(&output.stderr));
        assert!(is_deployed || said(&output.stderr).contains("OidcName=\"a b\""), "{}", said(&output.stderr));
    }
}

#[test]
fn failed_build_is_not_deployed() {
    let output = deploy(folder().path(), &[&stages()[0]], &[("FAILS", "build")]);
    assert!(!output.status.success());
    assert!(!said(&output.stdout).contains("sam deploy"), "{}", said(&output.stdout));
}

#[test]
fn unknown_stage_is_rejected_with_the_known_ones() {
    for arguments in [&[] as &[&str], &[""], &["prod"], &[".*"]] {
        let output = deploy(folder().path(), arguments, &[]);
        assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
        for stage in stages() {
            assert!(said(&output.stderr).contains(&stage), "{}", said(&output.stderr));
        }
    }
}

#[test]
fn a_stage_that_has_no_values_of_its_account_is_not_built() {
    let folder = folder();
    let file = folder.path().join("samconfig.toml");
    let [first, second] = [&stages()[0], &stages()[1]];
    let one_left = format!("{}\n[{first}.more]\nkey = \"REPLACE\"\n", std::fs::read_to_string(&file).unwrap());
    std::fs::write(&file, one_left).unwrap();

    let output = deploy(folder.path(), &[first], &[]);
    assert!(!output.status.success() && output.stdout.is_empty());
    assert!(said(&output.stderr).contains(first.as_str()) && said(&output.stderr).contains("REPLACE"));
    assert!(deploy(folder.path(), &[second], &[]).status.success(), "another stage has its own values");
}

#[test]
fn pipeline_signs_in_with_oidc_and_removes_the_token() {
    let environment =
        [("BITBUCKET_STEP_OIDC_TOKEN", "secret"), ("AWS_ROLE_ARN", "arn:of:a-role"), ("BITBUCKET_BUILD_NUMBER", "7")];
    let output = deploy(folder().path(), &[&stages()[0]], &environment);
    let text = said(&output.stdout);
    assert!(output.status.success() && text.contains("role arn:of:a-role, session vestibule-7"), "{text}");
    assert!(text.contains("--no-confirm-changeset"), "nobody is there to confirm: {text}");
    let file = text.lines().find_map(|line| line.strip_prefix("token secret in ")).unwrap();
    assert!(!Path::new(file).exists(), "{file}");
}

#[test]
fn missing_role_names_the_variable() {
    let output = deploy(folder().path(), &[&stages()[0]], &[("BITBUCKET_STEP_OIDC_TOKEN", "secret")]);
    assert!(!output.status.success() && output.stdout.is_empty());
    let text = said(&output.stderr);
    assert!(text.contains("AWS_ROLE_ARN") && !text.contains("secret"), "{text}");
}

#[test]
fn deploying_installs_two_python_packages_and_nothing_as_root() {
    let plan = Command::new("make")
        .args(["--dry-run", "--no-print-directory", "setup-deploy"])
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .current_dir(workspace())
        .output()
        .unwrap();
    assert_eq!(said(&plan.stdout).trim(), "scripts/python-tools aws-sam-cli cargo-lambda");
    let script = read("scripts/python-tools");
    for installer in ["sudo", "apt", "brew"] {
        assert!(!script.contains(installer), "{installer}");
    }
}

//! samconfig.toml gives the template's parameters values that they take, but for what is the account's own.

use serde_json::Value;

use super::stack::{Stack, template, text_of};

/// Stages with all that they say, by their heading.
fn stages() -> Vec<(String, Vec<(String, String)>)> {
    let text = text_of("samconfig.toml");
    let stages = text.split("\n[").skip(1).filter(|part| part.contains("parameter_overrides"));
    let of = |part: &str| {
        let given = part.lines().filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\","));
        let pair = |given: &str| given.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        (part.split('.').next().unwrap().to_owned(), given.map(|given| pair(given).unwrap()).collect())
    };
    stages.map(of).collect()
}

fn takes(parameter: &Value, value: &str) -> bool {
    match parameter["AllowedValues"].as_array() {
        Some(allowed) => {
            let said = |allowed: &Value| allowed.as_str().map_or_else(|| allowed.to_string(), str::to_owned);
            allowed.iter().any(|allowed| said(allowed) == value)
        }
        None if parameter["Type"] == "Number" => {
            let number = value.parse::<i64>().ok();
            number.is_some_and(|number| {
                parameter["MinValue"].as_i64().is_none_or(|least| number >= least)
                    && parameter["MaxValue"].as_i64().is_none_or(|most| number <= most)
            })
        }
        None => !value.is_empty(),
    }
}

#[test]
fn stage_parameters_are_complete_and_known() {
    let template = template();
    let parameters = template["Parameters"].as_object().unwrap();
    let stages = stages();
    assert_eq!(stages.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["dev", "staging", "production"]);
    for (stage, given) in stages {
        for (name, value) in &given {
            let parameter = parameters.get(name).unwrap_or_else(|| panic!("{stage}: there is no {name}"));
            assert!(takes(parameter, value), "{stage}: {name} does not take {value}");
        }
        for (name, _) in parameters.iter().filter(|(_, parameter)| parameter["Default"].is_null()) {
            assert!(given.iter().any(|(given, _)| given == name), "{stage}: {name} must be given");
        }
        assert!(given.contains(&("Stage".to_owned(), stage.clone())), "{stage}");
    }
}

/// Stages share it, so it is not of a stage's stack, whose deletion would take S3 from the others.
#[test]
fn the_network_has_the_s3_endpoint() {
    let network: yaml_serde::Value = yaml_serde::from_str(&text_of("deploy/aws/network.yaml")).unwrap();
    let endpoint = &network["Resources"]["S3Endpoint"]["Properties"];
    assert_eq!(endpoint["VpcEndpointType"].as_str(), Some("Gateway"));
    let template = template();
    for output in network["Outputs"].as_mapping().unwrap().keys() {
        assert!(template["Parameters"][output.as_str().unwrap()].is_object(), "{output:?}");
    }
    assert!(!Stack::deploy(&[]).has("S3Endpoint"));
    assert!(Stack::deploy(&[("PrivateRouteTables", "rtb-0123456789abcdef0")]).has("S3Endpoint"));
    for (stage, given) in stages() {
        assert!(given.iter().all(|(name, _)| name != "PrivateRouteTables"), "{stage}");
    }
}

/// SAM would give the release of the deployment before, which publishes no version.
#[test]
fn stages_have_no_release_of_their_own() {
    let stages = stages().len();
    assert_eq!(text_of("samconfig.toml").matches("parameter_overrides = [\n  'Release=\"\"',\n").count(), stages);
}

#[test]
fn parameters_have_a_description_and_a_group() {
    let template = template();
    let groups = template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"].as_array().unwrap();
    let grouped: Vec<&Value> = groups.iter().flat_map(|group| group["Parameters"].as_array().unwrap()).collect();
    let parameters = template["Parameters"].as_object().unwrap();
    assert_eq!(grouped.len(), parameters.len());
    for (name, parameter) in parameters {
        assert!(grouped.contains(&&Value::from(name.as_str())), "{name} is in no group");
        assert!(parameter["Description"].as_str().is_some_and(|text| text.ends_with('.')), "{name}");
        let checked = ["AllowedPattern", "AllowedValues", "MinValue"].iter().any(|check| !parameter[check].is_null());
        assert!(checked || parameter["Type"].as_str().unwrap().contains("AWS::"), "{name} takes anything");
    }
}

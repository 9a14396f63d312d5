//! What `CloudFormation` makes of `template.yaml`: its parameters, conditions, functions and secrets, as far as it uses them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Map, Value, json};

const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const PUNCTUATION: &[u8] = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

/// A file of the repository.
pub(crate) fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

pub(crate) fn text_of(path: &str) -> String {
    std::fs::read_to_string(file(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The template, with `!Sub x` written as `{"Fn::Sub": x}`.
pub(crate) fn template() -> Value {
    long_form(yaml_serde::from_str(&text_of("template.yaml")).unwrap())
}

fn long_form(value: yaml_serde::Value) -> Value {
    use yaml_serde::Value as Yaml;
    match value {
        Yaml::Tagged(tagged) => {
            let name = tagged.tag.to_string();
            let name = name.trim_start_matches('!');
            let name = if matches!(name, "Ref" | "Condition") { name.to_owned() } else { format!("Fn::{name}") };
            json!({ name: long_form(tagged.value) })
        }
        Yaml::Sequence(items) => items.into_iter().map(long_form).collect(),
        Yaml::Mapping(fields) => {
            let named = |key: Yaml| key.as_str().map(str::to_owned).unwrap();
            Value::Object(fields.into_iter().map(|(key, value)| (named(key), long_form(value))).collect())
        }
        plain => yaml_serde::from_value(plain).unwrap(),
    }
}

/// The parameters of a deployment with all that there may be.
pub(crate) const WITH_ALL: [(&str, &str); 6] = [
    ("Jobs", "on"),
    ("AdminHost", "admin.example.com"),
    ("CertificateArn", "arn:aws:acm:eu-west-1:123456789012:certificate/1"),
    ("OidcIssuer", "https://id.example.com/staff"),
    ("OidcClientId", "vestibule"),
    ("OidcClientSecret", OIDC_CLIENT_SECRET),
];
/// A secret that is somebody else's: the template only names it.
const OIDC_CLIENT_SECRET: &str = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:oidc-AbCdEf";

/// A deployed stack.
pub(crate) struct Stack {
    template: Value,
    parameters: BTreeMap<String, Value>,
    /// The secrets that there are, with a number that no other secret ever had.
    secrets: BTreeMap<String, u64>,
    deployed: u64,
}

impl Stack {
    /// The first deployment, with what must be given and these parameters.
    pub(crate) fn deploy(parameters: &[(&str, &str)]) -> Self {
        let none = Self { template: template(), parameters: BTreeMap::new(), secrets: BTreeMap::new(), deployed: 0 };
        none.update(parameters)
    }

    /// The first deployment with all that there may be, and these parameters.
    pub(crate) fn deploy_all(parameters: &[(&str, &str)]) -> Self {
        Self::deploy(&[&WITH_ALL, parameters].concat())
    }

    /// The next deployment: what was not given now has its default.
    pub(crate) fn update(&self, parameters: &[(&str, &str)]) -> Self {
        let needed = [
            ("Stage", "test"),
            ("Vpc", "vpc-1"),
            ("PrivateSubnets", "subnet-1,subnet-2"),
            ("LoadBalancerSubnets", "subnet-3,subnet-4"),
        ];
        let given: BTreeMap<&str, &str> = needed.iter().chain(parameters).copied().collect();
        let mut stack = Self {
            template: self.template.clone(),
            parameters: self.given(&given),
            secrets: BTreeMap::new(),
            deployed: self.deployed + 1,
        };
        for name in stack.resources("AWS::SecretsManager::Secret") {
            let serial = stack.deployed * 1000 + stack.secrets.len() as u64;
            let kept = self.secrets.get(&name).copied();
            stack.secrets.insert(name, kept.unwrap_or(serial));
        }
        stack
    }

    fn given(&self, given: &BTreeMap<&str, &str>) -> BTreeMap<String, Value> {
        let declared = self.template["Parameters"].as_object().unwrap();
        assert!(given.keys().all(|name| declared.contains_key(*name)), "{given:?}");
        let value = |(name, parameter): (&String, &Value)| {
            let default =
                || parameter["Default"].as_str().map_or_else(|| parameter["Default"].to_string(), str::to_owned);
            let value = given.get(name.as_str()).map_or_else(default, ToString::to_string);
            let is_list = parameter["Type"].as_str().unwrap().contains("List");
            (name.clone(), if is_list { value.split(',').map(Value::from).collect() } else { value.into() })
        };
        declared.iter().map(value).collect()
    }

    /// An output of the stack.
    pub(crate) fn output(&self, name: &str) -> Value {
        self.value(&self.template["Outputs"][name]["Value"])
    }

    /// What the template's rules say against the parameters. Whether subnets are in the VPC is known to AWS alone.
    pub(crate) fn refusals(&self) -> Vec<String> {
        let rules =
            self.template["Rules"].as_object().unwrap().iter().filter(|(name, _)| *name != "SubnetsAreInTheVpc");
        let applies = |rule: &&Value| rule["RuleCondition"].is_null() || self.value(&rule["RuleCondition"]) == true;
        let assertions =
            rules.map(|(_, rule)| rule).filter(applies).flat_map(|rule| rule["Assertions"].as_array().unwrap());
        let refusing = assertions.filter(|assertion| self.value(&assertion["Assert"]) != true);
        refusing.map(|assertion| assertion["AssertDescription"].as_str().unwrap().to_owned()).collect()
    }

    /// Names of the resources of a kind that there are.
    pub(crate) fn resources(&self, kind: &str) -> Vec<String> {
        let all = self.template["Resources"].as_object().unwrap().iter();
        let there = all.filter(|(name, resource)| resource["Type"] == kind && self.has(name));
        let mut names: Vec<_> = there.map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names
    }

    /// Whether a resource is there.
    pub(crate) fn has(&self, resource: &str) -> bool {
        self.template["Resources"][resource]["Condition"].as_str().is_none_or(|name| self.holds(name))
    }

    /// A resource's properties, for a function with what all functions have.
    pub(crate) fn properties(&self, resource: &str) -> Value {
        let resource = &self.template["Resources"][resource];
        let mut properties = json!({});
        if resource["Type"] == "AWS::Serverless::Function" {
            properties = self.template["Globals"]["Function"].clone();
        }
        merge(&mut properties, &resource["Properties"]);
        self.value(&properties)
    }

    /// The environment of a function, secrets and all.
    pub(crate) fn environment(&self, function: &str) -> BTreeMap<String, String> {
        let variables = &self.properties(function)["Environment"]["Variables"];
        let variables = variables.as_object().unwrap().iter();
        variables.map(|(name, value)| (name.clone(), self.resolved(value.as_str().unwrap()))).collect()
    }

    /// A text with its secrets in place of the references to them.
    pub(crate) fn resolved(&self, text: &str) -> String {
        let Some((before, rest)) = text.split_once("{{resolve:secretsmanager:") else { return text.to_owned() };
        let (arn, after) = rest.split_once("}}").unwrap();
        if arn == OIDC_CLIENT_SECRET {
            return format!("{before}the-client-s-secret{}", self.resolved(after));
        }
        let name = self.secrets.keys().find(|name| self.reference(name) == arn);
        let name = name.unwrap_or_else(|| panic!("no secret is {arn}"));
        format!("{before}{}{}", self.secret(name), self.resolved(after))
    }

    /// What Secrets Manager makes as it is asked to.
    pub(crate) fn secret(&self, name: &str) -> String {
        let asked = &self.properties(name)["GenerateSecretString"];
        let plain = asked["ExcludePunctuation"] == true;
        let letters: Vec<u8> = if plain { LETTERS.to_vec() } else { [LETTERS, PUNCTUATION].concat() };
        random(self.secrets[name], &letters, asked["PasswordLength"].as_u64().unwrap())
    }

    fn holds(&self, condition: &str) -> bool {
        self.value(&self.template["Conditions"][condition]) == true
    }

    fn value(&self, value: &Value) -> Value {
        self.present(value).unwrap_or(Value::Null)
    }

    /// A value, or `None` where `AWS::NoValue` leaves it out.
    fn present(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Array(items) => Some(items.iter().filter_map(|item| self.present(item)).collect()),
            Value::Object(fields) => {
                if let Some((name, argument)) = fields.iter().next()
                    && fields.len() == 1
                    && (name.starts_with("Fn::") || matches!(name.as_str(), "Ref" | "Condition"))
                {
                    return self.called(name, argument);
                }
                let present = |(name, value): (&String, &Value)| Some((name.clone(), self.present(value)?));
                Some(Value::Object(fields.iter().filter_map(present).collect()))
            }
            plain => Some(plain.clone()),
        }
    }

    fn called(&self, name: &str, argument: &Value) -> Option<Value> {
        let at = |index: usize| self.value(&argument[index]);
        let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let truths = || argument.as_array().unwrap().iter().map(|value| self.value(value) == true);
        Some(match name {
            "Ref" if argument == "AWS::NoValue" => return None,
            "Ref" => match self.parameters.get(argument.as_str().unwrap()) {
                Some(value) => value.clone(),
                None => self.reference(argument.as_str().unwrap()).into(),
            },
            "Condition" => self.holds(argument.as_str().unwrap()).into(),
            "Fn::Equals" => (text(at(0)) == text(at(1))).into(),
            "Fn::Not" => (at(0) != true).into(),
            "Fn::And" => truths().all(|truth| truth).into(),
            "Fn::Or" => truths().any(|truth| truth).into(),
            "Fn::If" => {
                let chosen = if self.holds(argument[0].as_str().unwrap()) { 1 } else { 2 };
                return self.present(&argument[chosen]);
            }
            "Fn::GetAtt" => argument.as_str().unwrap().to_lowercase().into(),
            "Fn::Join" => {
                let parts: Vec<String> = at(1).as_array().unwrap().iter().cloned().map(text).collect();
                parts.join(at(0).as_str().unwrap()).into()
            }
            "Fn::Split" => at(1).as_str().unwrap().split(at(0).as_str().unwrap()).map(Value::from).collect(),
            "Fn::Select" => at(1)[at(0).as_u64().unwrap() as usize].clone(),
            "Fn::Sub" => self.substituted(argument).into(),
            "Fn::FindInMap" => {
                let [map, row, column] = [0, 1, 2].map(|index| text(at(index)));
                self.template["Mappings"][map][row][column].clone()
            }
            other => panic!("{other} is not known here"),
        })
    }

    fn substituted(&self, argument: &Value) -> String {
        let (text, own) = match argument {
            Value::Array(parts) => (parts[0].as_str().unwrap(), self.value(&parts[1])),
            text => (text.as_str().unwrap(), json!({})),
        };
        let mut parts = text.split("${");
        let mut result = parts.next().unwrap().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('}').unwrap();
            let value = own.get(name).or_else(|| self.parameters.get(name)).and_then(Value::as_str);
            let named = || if name.contains('.') { name.to_lowercase() } else { self.reference(name) };
            result += &value.map_or_else(named, str::to_owned);
            result += rest;
        }
        result
    }

    /// What `Ref` gives for a resource or for what AWS knows: names in small letters stand for those that AWS gives.
    fn reference(&self, name: &str) -> String {
        match name {
            "AWS::Region" => "eu-west-1".to_owned(),
            "AWS::AccountId" => "123456789012".to_owned(),
            "AWS::Partition" => "aws".to_owned(),
            // What SAM makes of a function, such as its alias.
            name if name.contains('.') => name.to_lowercase(),
            name => {
                assert!(self.template["Resources"][name].is_object() && self.has(name), "{name} is not there");
                match self.secrets.get(name) {
                    Some(serial) => {
                        let named = self.properties(name)["Name"].as_str().unwrap().to_owned();
                        let end = random(serial + 1_000_000, LETTERS, 6);
                        format!("arn:aws:secretsmanager:eu-west-1:123456789012:secret:{named}-{end}")
                    }
                    None => name.to_lowercase(),
                }
            }
        }
    }
}

fn random(seed: u64, letters: &[u8], length: u64) -> String {
    let mut random = SmallRng::seed_from_u64(seed);
    random.random::<u64>();
    (0..length).map(|_| char::from(*letters.choose(&mut random).unwrap())).collect()
}

/// As SAM merges what a function says into what all have: maps by their keys, lists one behind the other.
fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) if !is_call(into) && !is_call(from) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (Value::Array(into), Value::Array(from)) => into.extend(from.iter().cloned()),
        (into, from) => *into = from.clone(),
    }
}

fn is_call(fields: &Map<String, Value>) -> bool {
    fields.keys().any(|name| name.starts_with("Fn::") || name == "Ref")
}

use std::collections::BTreeMap;

use serde_json::Value;

use super::Dockerfile;

/// What the file says of a service, as far as it matters outside of a container.
pub(super) struct Service {
    pub(super) name: String,
    /// Whose network it is on: its own, or another service's.
    pub(super) network: String,
    pub(super) command: Vec<String>,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) health: Option<Vec<String>>,
    pub(super) ports: Vec<u16>,
    pub(super) mounts: Vec<Mount>,
    pub(super) depends_on: Vec<String>,
}

/// A path in the container.
pub(super) struct Mount {
    /// A path in the workspace, if it is no volume.
    pub(super) source: Option<String>,
    pub(super) target: String,
}

impl Service {
    pub(super) fn of(name: &str, described: &Value) -> Self {
        let mut service = Self {
            name: name.to_owned(),
            network: described["network_mode"]
                .as_str()
                .map_or(name, |mode| mode.trim_start_matches("service:"))
                .to_owned(),
            command: [words(&described["entrypoint"]), words(&described["command"])].concat(),
            environment: variables(&described["environment"]),
            health: described.pointer("/healthcheck/test").map(|test| without_kind(&words(test))),
            ports: words(&described["ports"]).iter().map(|text| port_inside(text)).collect(),
            mounts: mounts(described),
            depends_on: depends_on(&described["depends_on"]),
        };
        if described.get("build").is_some() {
            service.complete(&Dockerfile::read());
        }
        service
    }

    /// What the service leaves to its image.
    fn complete(&mut self, image: &Dockerfile) {
        let command = if self.command.is_empty() { image.words("CMD") } else { self.command.clone() };
        self.command = [image.words("ENTRYPOINT"), command].concat();
        for (name, value) in image.environment() {
            self.environment.entry(name).or_insert(value);
        }
        if self.health.is_none() {
            self.health = Some(image.health());
        }
    }

    /// All its texts that may name an address.
    pub(super) fn texts(&self) -> Vec<String> {
        let files = self.mounts.iter().filter_map(|mount| mount.source.as_deref()).filter_map(|source| {
            // A folder names addresses too, but none that another file does not.
            std::fs::read_to_string(super::workspace().join(source)).ok()
        });
        let words = self.command.iter().chain(self.environment.values()).chain(self.health.iter().flatten()).cloned();
        words.chain(files).collect()
    }
}

fn words(value: &Value) -> Vec<String> {
    let text = |word: &Value| word.as_str().unwrap_or_else(|| panic!("no text: {word}")).to_owned();
    value.as_array().map(|words| words.iter().map(text).collect()).unwrap_or_default()
}

fn without_kind(test: &[String]) -> Vec<String> {
    assert_eq!(test[0], "CMD", "a health check without a shell of the image's");
    test[1..].to_vec()
}

fn variables(value: &Value) -> BTreeMap<String, String> {
    let Some(variables) = value.as_object() else { return BTreeMap::new() };
    variables.iter().map(|(name, value)| (name.clone(), value.as_str().expect("a text").to_owned())).collect()
}

/// 5000 of `127.0.0.1:9000:5000`.
fn port_inside(text: &str) -> u16 {
    text.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("no port: {text}"))
}

fn mounts(described: &Value) -> Vec<Mount> {
    let volume = |text: String| {
        let mut parts = text.split(':');
        let (source, target) = (parts.next().unwrap(), parts.next().expect("source and target"));
        Mount { source: source.strip_prefix("./").map(str::to_owned), target: target.to_owned() }
    };
    let volumes = words(&described["volumes"]).into_iter().map(volume);
    let empty = words(&described["tmpfs"]).into_iter().map(|target| Mount { source: None, target });
    volumes.chain(empty).collect()
}

fn depends_on(value: &Value) -> Vec<String> {
    match value {
        Value::Object(conditions) => conditions.keys().cloned().collect(),
        names => words(names),
    }
}

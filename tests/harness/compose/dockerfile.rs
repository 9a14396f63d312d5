use std::collections::BTreeMap;

/// The instructions of the `Dockerfile`, in order.
pub struct Dockerfile {
    instructions: Vec<(String, String)>,
}

impl Dockerfile {
    /// Reads the workspace's.
    pub fn read() -> Self {
        let text = std::fs::read_to_string(super::workspace().join("Dockerfile")).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let joined = lines.join("\n").replace("\\\n", " ");
        let split = |line: &str| line.split_once(' ').map(|(name, rest)| (name.to_owned(), rest.trim().to_owned()));
        Self { instructions: joined.lines().filter_map(split).collect() }
    }

    /// What every instruction of a name says.
    pub fn all(&self, name: &str) -> Vec<&str> {
        self.instructions.iter().filter(|(its, _)| its == name).map(|(_, rest)| rest.as_str()).collect()
    }

    /// The instructions of the last stage.
    pub fn last_stage(&self) -> &[(String, String)] {
        let from =
            self.instructions.iter().rposition(|(name, _)| name == "FROM").expect("an image begins with another");
        &self.instructions[from..]
    }

    /// The last instruction of a name in the last stage.
    pub fn last(&self, name: &str) -> &str {
        let found = self.last_stage().iter().rfind(|(its, _)| its == name);
        &found.unwrap_or_else(|| panic!("the image has no {name}")).1
    }

    /// The words of an instruction that is written as a list.
    pub fn words(&self, name: &str) -> Vec<String> {
        serde_json::from_str(self.last(name)).unwrap_or_else(|error| panic!("{name} is no list: {error}"))
    }

    pub(super) fn health(&self) -> Vec<String> {
        let (_, command) = self.last("HEALTHCHECK").split_once("CMD ").expect("a command");
        serde_json::from_str(command).expect("a list")
    }

    pub(super) fn environment(&self) -> BTreeMap<String, String> {
        let pairs = self.last("ENV").split_whitespace().filter_map(|pair| pair.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}

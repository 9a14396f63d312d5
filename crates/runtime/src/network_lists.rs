//! Lists of networks: files of one network a line, in the folder of `VESTIBULE_NETWORKS`.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use ipnet::IpNet;
use prefix_trie::joint::JointPrefixSet;
use tokio::time::Instant;
use tracing::{error, info};
use vestibule_core::NetworkClass;
use vestibule_core::settings::Protection;

/// How long lists are used before the folder is read again, in the background.
const RECHECK: Duration = Duration::from_secs(10);
/// Maximum number of lists.
const LISTS_MAX: usize = 100;
/// Maximum number of networks in all lists together.
const NETWORKS_MAX: usize = 500_000;
/// Maximum size of a file in bytes.
const FILE_MAX: u64 = 16 << 20;

/// Why a folder of lists cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NetworkListsError {
    /// The folder or a file cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A line is no network.
    #[error("{}:{line}: must be a network such as 203.0.113.0/24, or an address; got {text:?}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// The start of the line.
        text: String,
    },
    /// There is too much of it.
    #[error("{}: {what}", path.display())]
    TooMuch {
        /// The folder or file.
        path: PathBuf,
        /// What there may be at most.
        what: String,
    },
}

/// The content of all lists at one instant.
#[derive(Default)]
pub struct Networks(BTreeMap<String, JointPrefixSet<IpNet>>);

impl Networks {
    /// Whether the list contains the address. A list that does not exist contains none.
    #[must_use]
    pub fn contains(&self, list: &str, address: IpAddr) -> bool {
        self.0.get(list).is_some_and(|list| list.get_lpm(&IpNet::from(address)).is_some())
    }

    /// What the operators of a queue say about the network of an address: by the longest single prefix, or else by lists.
    #[must_use]
    pub fn class_of(&self, address: IpAddr, protection: &Protection) -> Option<NetworkClass> {
        let in_list = || {
            let mut classes = protection.lists.by_class().into_iter();
            let found = classes.find(|(_, lists)| lists.iter().any(|list| self.contains(list, address)));
            found.map(|(class, _)| class)
        };
        protection.networks.class_of(address).or_else(in_list)
    }
}

/// What tells one version of a folder from another: name, size and time of each file.
type Version = Vec<(PathBuf, u64, Option<SystemTime>)>;

struct Folder {
    path: PathBuf,
    opened: Instant,
    checked_ms: AtomicU64,
    is_checking: AtomicBool,
    version: ArcSwap<Version>,
    networks: ArcSwap<Networks>,
}

/// The lists of networks of a process; clones share them. They are read again a few seconds after a change. If that fails, the
/// last valid lists stay in use and the log names file and line.
#[derive(Clone, Default)]
pub struct NetworkLists(Option<Arc<Folder>>);

impl NetworkLists {
    /// Reads the lists of a folder. The name of a list is that of its file without extension. Empty lines are skipped, and `#`
    /// begins a comment. Files whose names begin with a dot are skipped.
    ///
    /// # Errors
    /// The folder or a file cannot be read, or a line is no network.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, NetworkListsError> {
        let path = path.into();
        let version = version_of(&path)?;
        let networks = read(&path, &version)?;
        Ok(Self(Some(Arc::new(Folder {
            path,
            opened: Instant::now(),
            checked_ms: AtomicU64::new(0),
            is_checking: AtomicBool::new(false),
            version: ArcSwap::from_pointee(version),
            networks: ArcSwap::from_pointee(networks),
        }))))
    }

    /// The current lists. Starts to read the folder again in the background if that is due.
    #[must_use]
    pub fn current(&self) -> Arc<Networks> {
        let Some(folder) = &self.0 else { return Arc::default() };
        let elapsed = folder.opened.elapsed().as_millis() as u64;
        let is_due = elapsed >= folder.checked_ms.load(Ordering::Relaxed) + RECHECK.as_millis() as u64;
        if is_due && !folder.is_checking.swap(true, Ordering::AcqRel) {
            let folder = Arc::clone(folder);
            tokio::task::spawn_blocking(move || {
                folder.reload();
                folder.checked_ms.store(folder.opened.elapsed().as_millis() as u64, Ordering::Relaxed);
                folder.is_checking.store(false, Ordering::Release);
            });
        }
        folder.networks.load_full()
    }
}

impl Folder {
    /// Reads the folder if it has changed.
    fn reload(&self) {
        let version = match version_of(&self.path) {
            Ok(version) if version == **self.version.load() => return,
            Ok(version) => version,
            Err(error) => {
                error!(%error, "lists of networks cannot be read; the last ones stay in use");
                return;
            }
        };
        match read(&self.path, &version) {
            Ok(networks) => {
                info!(lists = networks.0.len(), "lists of networks read again");
                self.networks.store(Arc::new(networks));
            }
            Err(error) => error!(%error, "lists of networks are invalid; the last valid ones stay in use"),
        }
        // An invalid version is reported once.
        self.version.store(Arc::new(version));
    }
}

fn version_of(folder: &Path) -> Result<Version, NetworkListsError> {
    let unreadable = |path: &Path, error| NetworkListsError::Unreadable { path: path.to_owned(), error };
    let mut version = Version::new();
    for entry in fs::read_dir(folder).map_err(|error| unreadable(folder, error))? {
        let path = entry.map_err(|error| unreadable(folder, error))?.path();
        let meta = fs::metadata(&path).map_err(|error| unreadable(&path, error))?;
        let is_hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        if meta.is_file() && !is_hidden {
            version.push((path, meta.len(), meta.modified().ok()));
        }
    }
    version.sort();
    Ok(version)
}

fn read(folder: &Path, version: &Version) -> Result<Networks, NetworkListsError> {
    let too_much = |path: &Path, what: String| NetworkListsError::TooMuch { path: path.to_owned(), what };
    if version.len() > LISTS_MAX {
        return Err(too_much(folder, format!("has more than {LISTS_MAX} files")));
    }
    let mut lists: BTreeMap<String, JointPrefixSet<IpNet>> = BTreeMap::new();
    let mut count = 0;
    for (path, size, _) in version {
        if *size > FILE_MAX {
            return Err(too_much(path, format!("is larger than {FILE_MAX} bytes")));
        }
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let text =
            fs::read_to_string(path).map_err(|error| NetworkListsError::Unreadable { path: path.clone(), error })?;
        let list = lists.entry(name).or_default();
        for network in networks_in(path, &text) {
            list.insert(network?);
            count += 1;
        }
        if count > NETWORKS_MAX {
            return Err(too_much(folder, format!("has more than {NETWORKS_MAX} networks")));
        }
    }
    Ok(Networks(lists))
}

fn networks_in<'a>(path: &'a Path, text: &'a str) -> impl Iterator<Item = Result<IpNet, NetworkListsError>> + 'a {
    let lines =
        text.lines().enumerate().map(|(index, line)| (index + 1, line.split('#').next().unwrap_or_default().trim()));
    lines.filter(|(_, line)| !line.is_empty()).map(|(number, line)| {
        let network = line.parse().ok().or_else(|| line.parse::<IpAddr>().ok().map(IpNet::from));
        network.map(|network: IpNet| network.trunc()).ok_or_else(|| NetworkListsError::Line {
            path: path.to_owned(),
            line: number,
            text: line.chars().take(60).collect(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that is removed afterwards.
    struct TestFolder(PathBuf);

    impl TestFolder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("vestibule-networks-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn write(&self, file: &str, text: &str) {
            fs::write(self.0.join(file), text).unwrap();
        }
    }

    impl Drop for TestFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn contains(lists: &NetworkLists, list: &str, address: &str) -> bool {
        lists.current().contains(list, address.parse().unwrap())
    }

    #[tokio::test]
    async fn lists_are_named_by_their_files() {
        let folder = TestFolder::new("named");
        folder.write("offices.txt", "# Our offices\n203.0.113.0/24\n\n2001:db8::/32 # the new one\n198.51.100.7\n");
        folder.write("hosting", "192.0.2.0/25\n");
        folder.write(".hidden", "no network");
        let lists = NetworkLists::open(&folder.0).unwrap();
        assert!(contains(&lists, "offices", "203.0.113.9") && contains(&lists, "offices", "2001:db8:1::1"));
        assert!(contains(&lists, "offices", "198.51.100.7") && !contains(&lists, "offices", "198.51.100.8"));
        assert!(contains(&lists, "hosting", "192.0.2.1") && !contains(&lists, "hosting", "192.0.2.128"));
        assert!(!contains(&lists, "other", "192.0.2.1"), "a list without a file is empty");
        assert!(!contains(&NetworkLists::default(), "offices", "203.0.113.9"));
    }

    #[tokio::test]
    async fn class_is_that_of_the_first_class_with_the_network() {
        let folder = TestFolder::new("classes");
        folder.write("offices", "203.0.113.0/28");
        folder.write("hosting", "203.0.113.0/24");
        let lists = NetworkLists::open(&folder.0).unwrap().current();
        let mut protection = Protection::default();
        protection.lists.blocked = vec!["hosting".to_owned()];
        protection.lists.trusted = vec!["offices".to_owned()];
        let class = |protection: &Protection, address: &str| lists.class_of(address.parse().unwrap(), protection);
        assert_eq!(class(&protection, "203.0.113.1"), Some(NetworkClass::Trusted));
        assert_eq!(class(&protection, "203.0.113.77"), Some(NetworkClass::Blocked));
        assert_eq!(class(&protection, "198.51.100.1"), None);
    }

    #[test]
    fn invalid_line_is_named() {
        let folder = TestFolder::new("invalid");
        folder.write("offices", "203.0.113.0/24\n\neverybody\n");
        let error = NetworkLists::open(&folder.0).err().unwrap().to_string();
        assert!(
            error.ends_with("offices:3: must be a network such as 203.0.113.0/24, or an address; got \"everybody\""),
            "{error}"
        );
        assert!(NetworkLists::open(folder.0.join("none")).is_err());
    }

    #[tokio::test]
    async fn changed_list_is_read_again_and_an_invalid_one_is_not_used() {
        let folder = TestFolder::new("changed");
        folder.write("offices", "203.0.113.0/24\n");
        let lists = NetworkLists::open(&folder.0).unwrap();
        let inner = lists.0.clone().unwrap();
        folder.write("offices", "198.51.100.0/24\n192.0.2.0/24\n");
        inner.reload();
        assert!(contains(&lists, "offices", "198.51.100.1") && !contains(&lists, "offices", "203.0.113.9"));
        folder.write("offices", "not a network, and longer than before\n");
        inner.reload();
        assert!(contains(&lists, "offices", "198.51.100.1"));
        folder.write("offices", "203.0.113.0/24\n");
        inner.reload();
        assert!(contains(&lists, "offices", "203.0.113.9") && !contains(&lists, "offices", "198.51.100.1"));
    }

    #[tokio::test(start_paused = true)]
    async fn folder_is_read_again_after_a_while() {
        let folder = TestFolder::new("later");
        folder.write("offices", "203.0.113.0/24\n");
        let lists = NetworkLists::open(&folder.0).unwrap();
        folder.write("offices", "198.51.100.0/24\n192.0.2.0/24\n");
        assert!(contains(&lists, "offices", "203.0.113.9"), "not due yet");
        tokio::time::advance(RECHECK).await;
        while !contains(&lists, "offices", "198.51.100.1") {
            tokio::task::yield_now().await;
            tokio::time::advance(RECHECK).await;
        }
    }
}

//! Lists of networks: files of one network a line, in the folder or below the S3 prefix of `VESTIBULE_NETWORKS`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use ipnet::IpNet;
use prefix_trie::joint::JointPrefixSet;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tracing::{error, info, warn};
use vestibule_core::NetworkClass;
use vestibule_core::settings::Protection;
use vestibule_freeze::FreezeAwareInstant;
use vestibule_themes::{
    FileFolder, FileFolderError, FileFolderLimits, FilesVersion, ThemesAddress, ThemesAddressError,
};

/// How long lists are used before they are checked for changes, in the background.
const RECHECK: Duration = Duration::from_secs(10);
/// Maximum time that a process waits for its lists when it starts.
const START_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of lists, and maximum size of a list in bytes.
const LIMITS: FileFolderLimits = FileFolderLimits { files: 100, bytes: 16 << 20 };
/// Maximum number of networks in all lists together.
const NETWORKS_MAX: usize = 500_000;
/// Maximum number of characters of an invalid line in a message.
const SHOWN_MAX: usize = 60;

/// Why lists of networks cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NetworkListsError {
    /// The address is invalid.
    #[error("{address:?} {reason}")]
    Address {
        /// The address.
        address: String,
        /// Why.
        reason: ThemesAddressError,
    },
    /// There is no such folder.
    #[error("{0} is not a folder")]
    NoFolder(String),
    /// The files cannot be read.
    #[error(transparent)]
    Files(#[from] FileFolderError),
    /// A line is no network.
    #[error("{file}:{line}: must be a network such as 203.0.113.0/24, or an address; got {text:?}")]
    Line {
        /// The file.
        file: String,
        /// Number of the line, from 1.
        line: usize,
        /// The start of the line.
        text: String,
    },
    /// A file is no text.
    #[error("{0}: must be text in UTF-8")]
    NoText(String),
    /// There are too many networks.
    #[error("must be at most {NETWORKS_MAX} networks in all lists together")]
    TooMany,
}

impl NetworkListsError {
    /// Whether a later attempt may succeed without a change of the lists.
    pub const fn is_temporary(&self) -> bool {
        matches!(self, Self::Files(FileFolderError::Unavailable(_)))
    }
}

/// The content of all lists at one instant.
#[derive(Default)]
pub struct Networks(BTreeMap<String, JointPrefixSet<IpNet>>);

impl Networks {
    /// Whether the list contains the address; `None` if there is no such list.
    pub fn find(&self, list: &str, address: IpAddr) -> Option<bool> {
        self.0.get(list).map(|list| list.get_lpm(&IpNet::from(address)).is_some())
    }

    /// Whether the list contains the address. A list that does not exist contains none.
    pub fn contains(&self, list: &str, address: IpAddr) -> bool {
        self.find(list, address).unwrap_or_default()
    }

    /// The names of the lists.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// What the operators of a queue say about the network of an address: by the longest single prefix, or else by lists.
    pub fn class_of(&self, address: IpAddr, protection: &Protection) -> Option<NetworkClass> {
        let in_list = || {
            let mut classes = protection.lists.by_class().into_iter();
            let found = classes.find(|(_, lists)| lists.iter().any(|list| self.contains(list, address)));
            found.map(|(class, _)| class)
        };
        protection.networks.class_of(address).or_else(in_list)
    }
}

/// The lists of a folder or prefix, and what is known of them.
struct Lists {
    files: FileFolder,
    /// When the lists were last checked.
    checked_at: parking_lot::Mutex<Option<FreezeAwareInstant>>,
    is_checking: AtomicBool,
    version: Mutex<FilesVersion>,
    networks: ArcSwap<Networks>,
}

/// The lists of networks of a process; clones share them. They are read again a few seconds after a change. If that fails, the
/// last valid lists stay in use and the log names file and line.
#[derive(Clone, Default)]
pub struct NetworkLists(Option<Arc<Lists>>);

impl NetworkLists {
    /// The lists at an address: a folder, or `s3://bucket/prefix`. The name of a list is that of its file without extension. Empty
    /// lines are skipped, and `#` begins a comment. Files whose names begin with a dot are skipped. Nothing is read yet.
    ///
    /// # Errors
    /// The address is invalid, or there is no such folder.
    pub fn at(address: &str) -> Result<Self, NetworkListsError> {
        let invalid = |reason| NetworkListsError::Address { address: address.to_owned(), reason };
        let parsed = address.parse::<ThemesAddress>().map_err(invalid)?;
        if let ThemesAddress::Folder(folder) = &parsed
            && !folder.is_dir()
        {
            return Err(NetworkListsError::NoFolder(address.to_owned()));
        }
        Ok(Self::of(FileFolder::at(parsed)))
    }

    /// The lists of these files. Nothing is read yet.
    pub fn of(files: FileFolder) -> Self {
        Self(Some(Arc::new(Lists {
            files,
            checked_at: parking_lot::Mutex::default(),
            is_checking: AtomicBool::new(false),
            version: Mutex::default(),
            networks: ArcSwap::default(),
        })))
    }

    /// Reads the lists of a process that starts. A bucket that does not answer soon is read later, in the background. So is one with
    /// an invalid list: it changes while processes run, and those that start meanwhile serve visitors all the same.
    ///
    /// # Errors
    /// The folder cannot be read, or a list in it is invalid.
    pub async fn load_at_start(&self) -> Result<(), NetworkListsError> {
        match timeout(START_TIMEOUT, self.load()).await {
            Ok(Err(error)) if error.is_temporary() => warn!(%error, "lists of networks are read later"),
            Ok(Err(error)) if self.is_in_bucket() => {
                error!(%error, "lists of networks cannot be used until they are corrected");
            }
            Ok(loaded) => return loaded,
            Err(_) => warn!("lists of networks are read later: the storage did not answer in time"),
        }
        Ok(())
    }

    fn is_in_bucket(&self) -> bool {
        self.0.as_ref().is_some_and(|lists| lists.files.is_in_bucket())
    }

    /// Reads the lists, if they have changed since they were read last.
    ///
    /// # Errors
    /// They cannot be read, or are invalid.
    pub async fn load(&self) -> Result<(), NetworkListsError> {
        let Some(lists) = &self.0 else { return Ok(()) };
        lists.load().await
    }

    /// The current lists. Starts to read them again in the background if that is due.
    pub fn current(&self) -> Arc<Networks> {
        let Some(lists) = &self.0 else { return Arc::default() };
        if lists.is_due() && !lists.is_checking.swap(true, Ordering::AcqRel) {
            let lists = Arc::clone(lists);
            tokio::spawn(async move {
                if let Err(error) = lists.load().await {
                    error!(%error, "lists of networks cannot be used; the last valid ones stay in use");
                }
                lists.is_checking.store(false, Ordering::Release);
            });
        }
        lists.networks.load_full()
    }
}

impl Lists {
    async fn load(&self) -> Result<(), NetworkListsError> {
        let loaded = self.load_now().await;
        *self.checked_at.lock() = Some(FreezeAwareInstant::now());
        loaded
    }

    fn is_due(&self) -> bool {
        let checked_at = *self.checked_at.lock();
        checked_at.is_none_or(|at| at.elapsed() >= RECHECK)
    }

    async fn load_now(&self) -> Result<(), NetworkListsError> {
        let mut version = self.version.lock().await;
        let Some((found, files)) = self.files.read_unless(&version, LIMITS).await? else { return Ok(()) };
        // An invalid version is reported once.
        *version = found;
        let folder = self.files.clone();
        let parsed = tokio::task::spawn_blocking(move || parse(&folder, &files)).await;
        let networks = parsed.map_err(|error| FileFolderError::Unavailable(error.to_string()))??;
        info!(lists = networks.0.len(), "lists of networks read");
        self.networks.store(Arc::new(networks));
        Ok(())
    }
}

fn parse(folder: &FileFolder, files: &[(String, Bytes)]) -> Result<Networks, NetworkListsError> {
    let mut lists: BTreeMap<String, JointPrefixSet<IpNet>> = BTreeMap::new();
    let mut count = 0;
    for (file, content) in files {
        let location = folder.location(file);
        let text = std::str::from_utf8(content).map_err(|_| NetworkListsError::NoText(location.clone()))?;
        let name = Path::new(file).file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let list = lists.entry(name).or_default();
        for network in networks_in(&location, text) {
            list.insert(network?);
            count += 1;
            if count > NETWORKS_MAX {
                return Err(NetworkListsError::TooMany);
            }
        }
    }
    Ok(Networks(lists))
}

fn networks_in<'a>(file: &'a str, text: &'a str) -> impl Iterator<Item = Result<IpNet, NetworkListsError>> + 'a {
    let lines =
        text.lines().enumerate().map(|(index, line)| (index + 1, line.split('#').next().unwrap_or_default().trim()));
    lines.filter(|(_, line)| !line.is_empty()).map(|(number, line)| {
        let network = line.parse().ok().or_else(|| line.parse::<IpAddr>().ok().map(IpNet::from));
        network.map(|network: IpNet| network.trunc()).ok_or_else(|| NetworkListsError::Line {
            file: file.to_owned(),
            line: number,
            text: line.chars().take(SHOWN_MAX).collect(),
        })
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

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

    async fn opened(folder: &TestFolder) -> NetworkLists {
        let lists = NetworkLists::at(folder.0.to_str().unwrap()).unwrap();
        lists.load().await.unwrap();
        lists
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
        let lists = opened(&folder).await;
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
        let lists = opened(&folder).await.current();
        let mut protection = Protection::default();
        protection.lists.blocked = vec!["hosting".to_owned()];
        protection.lists.trusted = vec!["offices".to_owned()];
        let class = |protection: &Protection, address: &str| lists.class_of(address.parse().unwrap(), protection);
        assert_eq!(class(&protection, "203.0.113.1"), Some(NetworkClass::Trusted));
        assert_eq!(class(&protection, "203.0.113.77"), Some(NetworkClass::Blocked));
        assert_eq!(class(&protection, "198.51.100.1"), None);
    }

    #[tokio::test]
    async fn invalid_line_is_named() {
        let folder = TestFolder::new("invalid");
        folder.write("offices", "203.0.113.0/24\n\neverybody\n");
        let lists = NetworkLists::at(folder.0.to_str().unwrap()).unwrap();
        let error = lists.load().await.unwrap_err().to_string();
        assert!(
            error.ends_with("offices:3: must be a network such as 203.0.113.0/24, or an address; got \"everybody\""),
            "{error}"
        );
        for address in [folder.0.join("none").to_str().unwrap(), "https://example.com", "s3://A/b", ""] {
            assert!(NetworkLists::at(address).is_err(), "{address}");
        }
    }

    #[tokio::test]
    async fn changed_list_is_read_again_and_an_invalid_one_is_not_used() {
        let folder = TestFolder::new("changed");
        folder.write("offices", "203.0.113.0/24\n");
        let lists = opened(&folder).await;
        folder.write("offices", "198.51.100.0/24\n192.0.2.0/24\n");
        lists.load().await.unwrap();
        assert!(contains(&lists, "offices", "198.51.100.1") && !contains(&lists, "offices", "203.0.113.9"));
        folder.write("offices", "not a network, and longer than before\n");
        assert!(lists.load().await.is_err() && lists.load().await.is_ok(), "reported once");
        assert!(contains(&lists, "offices", "198.51.100.1"));
        folder.write("offices", "203.0.113.0/24\n");
        lists.load().await.unwrap();
        assert!(contains(&lists, "offices", "203.0.113.9") && !contains(&lists, "offices", "198.51.100.1"));
    }

    #[tokio::test(start_paused = true)]
    async fn folder_is_read_again_after_a_while() {
        let folder = TestFolder::new("later");
        folder.write("offices", "203.0.113.0/24\n");
        let lists = opened(&folder).await;
        folder.write("offices", "198.51.100.0/24\n192.0.2.0/24\n");
        assert!(contains(&lists, "offices", "203.0.113.9"), "not due yet");
        tokio::time::advance(RECHECK).await;
        while !contains(&lists, "offices", "198.51.100.1") {
            tokio::task::yield_now().await;
            tokio::time::advance(RECHECK).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn folder_is_read_again_after_a_freeze() {
        let folder = TestFolder::new("frozen");
        folder.write("offices", "203.0.113.0/24\n");
        let lists = opened(&folder).await;
        let opened = lists.0.as_ref().unwrap();
        assert!(!opened.is_due());
        let checked_at = opened.checked_at.lock().take();
        *opened.checked_at.lock() = checked_at.and_then(|at| at.before_freeze(RECHECK));
        assert!(opened.checked_at.lock().is_some() && opened.is_due());
    }
}

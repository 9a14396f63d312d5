//! Signing keys of a stand-alone program: configured, or generated once in the state folder so that tickets survive a
//! restart.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use tracing::info;
use vestibule_core::{KeyList, PassSigner};
use vestibule_runtime::parse_keys;

/// The default state folder: `$XDG_STATE_HOME/vestibule`, or `~/.local/state/vestibule`.
pub(crate) fn state_folder(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let from = |name: &str, rest: &str| {
        std::env::var_os(name).filter(|value| !value.is_empty()).map(|value| PathBuf::from(value).join(rest))
    };
    given
        .or_else(|| from("XDG_STATE_HOME", "vestibule"))
        .or_else(|| from("HOME", ".local/state/vestibule"))
        .context("no folder for generated keys: pass --state DIR, or --ticket-keys and --pass-keys")
}

/// Signs passes with the keys that are given, or with those of the state folder. Returns whether those were generated.
pub(crate) fn pass_signer(given: Option<&str>, state: Option<&PathBuf>) -> anyhow::Result<(PassSigner, bool)> {
    let (keys, generated) = load_keys("--pass-keys", given, state, "pass.keys")?;
    Ok((PassSigner::new(&keys).context("--pass-keys")?, generated))
}

/// The configured keys, or those of the state folder, generated if there are none. Returns whether they were generated.
pub(crate) fn load_keys(
    variable: &'static str,
    given: Option<&str>,
    state: Option<&PathBuf>,
    file: &str,
) -> anyhow::Result<(KeyList, bool)> {
    if let Some(text) = given {
        return Ok((parse_keys(variable, text)?, false));
    }
    let folder = state_folder(state.cloned())?;
    let path = folder.join(file);
    let shown = path.display().to_string();
    match fs::read_to_string(&path) {
        Ok(text) => {
            let mode = fs::metadata(&path)?.permissions().mode() & 0o777;
            if mode & 0o077 != 0 {
                bail!(
                    "{shown} is readable by other users (mode {mode:o}): run chmod 600 on it, and replace the keys if others had access"
                );
            }
            let keys = text.trim().parse().with_context(|| shown.clone())?;
            Ok((keys, true))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let keys = random_key(file.split('.').next().unwrap_or("key"))?;
            write_private(&folder, &path, &keys.expose()).with_context(|| format!("cannot write keys to {shown}"))?;
            info!(file = shown, "generated new keys");
            Ok((keys, true))
        }
        Err(error) => Err(error).with_context(|| format!("cannot read keys from {shown}")),
    }
}

/// A new random key of this kind. Its id is random as well, so that keys of several processes never have the same one.
pub(crate) fn random_key(kind: &str) -> anyhow::Result<KeyList> {
    let (mut bytes, mut id) = ([0; 32], [0; 4]);
    for random in [&mut bytes[..], &mut id] {
        getrandom::fill(random).map_err(|error| anyhow::anyhow!("no random bytes: {error}"))?;
    }
    Ok(KeyList::of_bytes(&format!("{kind}-{:08x}", u32::from_be_bytes(id)), bytes))
}

/// Creates the state folder for its owner alone, if it does not exist.
pub(crate) fn create_private(folder: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn write_private(folder: &Path, path: &Path, text: &str) -> std::io::Result<()> {
    create_private(folder)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{text}")?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_keys_are_reused_with_mode_0600() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let load = || load_keys("--ticket-keys", None, Some(&state), "ticket.keys");
        let (first, generated) = load().unwrap();
        assert!(generated);
        assert_eq!(load().unwrap().0, first, "a restart finds the same keys");
        let path = state.join("ticket.keys");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(load().unwrap_err().to_string().contains("chmod 600"));
    }
}

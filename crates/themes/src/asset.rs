//! Files of a theme: which are served, with which content type.

use bytes::Bytes;
use sha2::{Digest, Sha256};
use vestibule_core::hex;

/// Most bytes of an asset.
pub const ASSET_MAX: u64 = 2 * 1024 * 1024;
/// Most bytes of an asset's path.
const PATH_MAX: usize = 255;
/// Fewest hex digits that count as a content hash in a name.
const HASH_DIGITS_MIN: usize = 8;

/// A file as it is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asset {
    /// The content.
    pub bytes: Bytes,
    /// `Content-Type`.
    pub content_type: &'static str,
    /// `ETag` with quotes, from a hash of the content.
    pub etag: String,
    /// The name contains a content hash (`logo.3f2a9c1b.svg`), so the file can be cached forever.
    pub immutable: bool,
}

impl Asset {
    pub(crate) fn new(path: &str, bytes: Bytes) -> Option<Self> {
        let content_type = content_type(path)?;
        let etag = format!("\"{}\"", content_hash(&bytes));
        Some(Self { bytes, content_type, etag, immutable: is_hashed(path) })
    }
}

/// The first 64 bits of the content's SHA-256, in hex.
pub(crate) fn content_hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes)[..8])
}

/// The content's SHA-256, in hex.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes))
}

/// Whether a decoded path stays inside its folder: relative, no `.`, `..` or hidden part, and no character that a system
/// reads as a separator, a drive or an end.
pub(crate) fn is_safe_path(path: &str) -> bool {
    let odd = |c: char| c.is_control() || matches!(c, '\\' | ':');
    path.len() <= PATH_MAX
        && !path.contains(odd)
        && path.split('/').all(|part| !part.is_empty() && !part.starts_with('.'))
}

/// The content type by file extension; `None` if such files are not served.
pub(crate) fn content_type(path: &str) -> Option<&'static str> {
    let (_, ending) = path.rsplit_once('.')?;
    Some(match ending {
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "svg" => "image/svg+xml",
        "webp" => "image/webp",
        "avif" => "image/avif",
        "gif" => "image/gif",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "woff" => "font/woff",
        "ttf" => "font/ttf",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        _ => return None,
    })
}

fn is_hashed(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let Some((stem, _)) = name.rsplit_once('.') else { return false };
    stem.split(['.', '-', '_']).skip(1).any(|part| {
        part.len() >= HASH_DIGITS_MIN && part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_could_leave_its_folder_is_refused() {
        for good in ["logo.svg", "fonts/a b.woff2", "a/b/c.css", "x..y.png"] {
            assert!(is_safe_path(good), "{good}");
        }
        for bad in [
            "",
            "/etc/passwd",
            "../x.css",
            "a/../../x.css",
            "a/./x.css",
            "a//x.css",
            "a\\..\\x.css",
            "c:x.css",
            "x.css\0.png",
            ".env",
            "a/.git/config.json",
            "a/",
            "x\n.css",
        ] {
            assert!(!is_safe_path(bad), "{bad:?}");
        }
        assert!(!is_safe_path(&"x".repeat(PATH_MAX + 1)));
    }

    #[test]
    fn only_known_files_are_served() {
        assert_eq!(content_type("a/logo.svg"), Some("image/svg+xml"));
        for unknown in ["queue.html", "x.php", "noending", "x.SVG", "svg"] {
            assert_eq!(content_type(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn hashed_names_are_cached_as_immutable() {
        for hashed in ["logo.3f2a9c1b.svg", "img/logo-3f2a9c1b77.png"] {
            assert!(is_hashed(hashed), "{hashed}");
        }
        for plain in ["logo.svg", "deadbeef.svg", "summer-2026.png", "3f2a9c1b/logo.svg"] {
            assert!(!is_hashed(plain), "{plain}");
        }
    }
}

//! Path globs of rules.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use serde_json::Value;

use super::value_text::{ALTERNATIVES_MAX, TEXT_MAX};
use crate::Message;
use crate::fields::FieldErrorCode as Code;
use crate::fields::{Field, List, Reader};

/// Maximum number of wildcards per path glob: each `*`, `?`, `[` and `{`. With more, a matcher can have too many states.
const WILDCARDS_MAX: usize = 8;

crate::text_kind! {
    /// A path glob.
    pub PathGlob: Code::PathGlob.with("most", WILDCARDS_MAX).with("bytes", TEXT_MAX), {}, |text| {
        let wildcards = text.bytes().filter(|byte| b"*?[{".contains(byte)).count();
        let has_size = text.len() <= TEXT_MAX && wildcards <= WILDCARDS_MAX;
        let fits = text.starts_with('/') && has_size && glob(text).is_some();
        fits.then(|| text.to_owned())
    };
}

/// Path globs in source and compiled form: `*` within a segment, `**` across segments.
#[derive(Debug, Clone, Default)]
pub struct PathGlobs {
    sources: Vec<String>,
    set: GlobSet,
}

fn glob(source: &str) -> Option<Glob> {
    GlobBuilder::new(source).case_insensitive(true).literal_separator(true).build().ok()
}

/// The globs of a path condition.
type GlobList = List<PathGlob, 1, ALTERNATIVES_MAX>;

impl Field for PathGlobs {
    type Value = Self;

    fn expected() -> Message {
        GlobList::expected()
    }

    fn schema() -> Value {
        GlobList::schema()
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<Self> {
        let sources = GlobList::parse(value, reader)?;
        let mut set = GlobSetBuilder::new();
        for source in &sources {
            set.add(glob(source)?);
        }
        Some(Self { set: set.build().ok()?, sources })
    }

    fn to_json(value: &Self) -> Value {
        GlobList::to_json(&value.sources)
    }
}

impl PathGlobs {
    /// The globs as they were written.
    pub fn sources(&self) -> &[String] {
        &self.sources
    }

    /// `/shop/**` matches `/shop` too, so a missing trailing slash does not bypass a rule.
    pub(super) fn matches(&self, path: &str) -> bool {
        self.set.is_match(path) || self.set.is_match(format!("{path}/"))
    }
}

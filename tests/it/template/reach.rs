//! What a function's program can reach, read from the sources: the variables of its environment and the calls to AWS.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::stack::{file, text_of};

/// What more than one function uses, and no function all of.
const SHARED: &str = "crates/runtime";

/// The program's sources as it is built: its own, and of what is shared the parts that they name.
pub(crate) fn program(function: &str) -> String {
    let own = sources(&format!("crates/{}", function.to_lowercase()));
    let shared = items(&sources(SHARED));
    let (mut reached, mut text) = (BTreeSet::new(), own);
    loop {
        let words: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let next = shared.iter().filter(|(name, _)| words.contains(name.as_str()) && !reached.contains(*name));
        let next: Vec<(String, String)> = next.map(|(name, item)| (name.clone(), item.clone())).collect();
        if next.is_empty() {
            return text;
        }
        for (name, item) in next {
            reached.insert(name);
            text += &item;
        }
    }
}

/// The variables that a function reads.
pub(crate) fn variables(function: &str) -> BTreeSet<String> {
    let text = program(function);
    let literals = text.split('"').filter(|literal| literal.starts_with("VESTIBULE_"));
    let name = |literal: &&str| literal.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    literals.filter(name).map(str::to_owned).collect()
}

/// What a function does with the bucket of themes: the methods of `Storage` that gates and the backoffice call.
pub(crate) fn uses_of_s3(function: &str) -> BTreeSet<String> {
    let program = program(function);
    let mut uses = BTreeSet::new();
    if program.contains("themes.open(") {
        uses.extend(["cache", "assets", "refresh", "live", "version"].into_iter().flat_map(uses_in));
    }
    if program.contains("themes.open_versions(") {
        uses.extend(["versions", "live", "version"].into_iter().flat_map(uses_in));
    }
    uses
}

/// The methods of `storage` that a module calls.
fn uses_in(module: &str) -> BTreeSet<String> {
    let code = text_of(&format!("crates/themes/src/{module}.rs"));
    let calls = code.split("storage.").skip(1);
    let name = |call: &str| call.split_once('(').map(|(name, _)| name.to_owned());
    let is_name = |name: &String| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    calls.filter_map(name).filter(is_name).collect()
}

fn code_of(folder: &Path) -> String {
    let mut text = String::new();
    collect(folder, &mut text);
    assert!(!text.is_empty(), "{}", folder.display());
    text
}

/// A crate's code, without comments and tests.
fn sources(package: &str) -> String {
    code_of(&file(package).join("src"))
}

fn collect(folder: &Path, text: &mut String) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            collect(&path, text);
        } else if path.extension().is_some_and(|ending| ending == "rs") && name != "tests.rs" {
            let source = std::fs::read_to_string(&path).unwrap();
            let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
            for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
}

/// What stands at the top level, by its name; an `impl` by that of its type.
fn items(source: &str) -> BTreeMap<String, String> {
    let mut items: BTreeMap<String, String> = BTreeMap::new();
    let mut name = String::new();
    for line in source.lines() {
        if let Some(next) = name_of(line) {
            name = next;
        }
        let item = items.entry(name.clone()).or_default();
        item.push_str(line);
        item.push('\n');
    }
    items.remove("");
    items
}

fn name_of(line: &str) -> Option<String> {
    let line = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
    let line = line.strip_prefix("async ").unwrap_or(line);
    let line = line.strip_prefix("const fn ").map_or(line.to_owned(), |rest| format!("fn {rest}"));
    let (kind, rest) = line.split_once(' ')?;
    let name = |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_owned();
    match kind {
        "fn" | "struct" | "enum" | "const" | "static" | "type" | "trait" => Some(name(rest)),
        // Not the name of anything: what follows belongs to nobody.
        "use" | "mod" => Some(String::new()),
        kind if kind.starts_with("impl") => {
            Some(name(line.rsplit(" for ").next().unwrap().trim_start_matches("impl ")))
        }
        _ => None,
    }
}

//! Which file of a crate uses which other file, read from the sources: by imports, and by paths that begin at a module of the
//! crate. What a file re-exports belongs to the file that defines it. Tests do not count, and neither do calls of methods: the
//! methods of a type can be in several files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The path of a module from its crate's root; the root is empty.
type ModulePath = Vec<String>;

/// One file of a crate.
#[derive(Default)]
struct Module {
    /// Names that the file defines itself.
    defined: BTreeSet<String>,
    /// The paths that each imported or re-exported name stands for, several if features decide.
    imported: BTreeMap<String, BTreeSet<Vec<String>>>,
    /// The paths of `use some::path::*`.
    globs: Vec<Vec<String>>,
    /// Paths with at least two segments in the code, and imports that are no re-exports.
    used: BTreeSet<Vec<String>>,
}

/// The files of one crate and which of them uses which.
pub(super) struct ModuleGraph {
    modules: BTreeMap<ModulePath, Module>,
}

impl ModuleGraph {
    /// Reads the crate whose root is this file, `lib.rs` or `main.rs`.
    pub(super) fn read(root: &Path) -> Self {
        let mut modules = BTreeMap::new();
        read_module(root, Vec::new(), &mut modules);
        Self { modules }
    }

    /// For each file, the other files that it uses.
    pub(super) fn edges(&self) -> BTreeMap<String, BTreeSet<String>> {
        let name = |module: &ModulePath| if module.is_empty() { "(root)".to_owned() } else { module.join("::") };
        let of = |(at, module): (&ModulePath, &Module)| {
            let used = module.used.iter().flat_map(|path| self.resolve(at, path, 0));
            let globs = module.globs.iter().flat_map(|path| self.resolve(at, path, 0));
            let others = used.chain(globs).filter(|used| used != at).map(|used| name(&used));
            (name(at), others.collect())
        };
        self.modules.iter().map(of).collect()
    }

    /// The files that define what this path in the module stands for; none if it is in another crate.
    fn resolve(&self, at: &ModulePath, path: &[String], depth: usize) -> BTreeSet<ModulePath> {
        assert!(depth < 32, "{path:?} in {at:?} is imported from itself");
        let Some((first, rest)) = path.split_first() else { return BTreeSet::new() };
        match (first.as_str(), at.split_last()) {
            ("crate", _) => return self.descend(Vec::new(), rest, depth),
            ("self", _) => return self.descend(at.clone(), rest, depth),
            ("super", Some((_, parent))) => return self.descend(parent.to_vec(), rest, depth),
            _ => {}
        }
        let child = [at.as_slice(), std::slice::from_ref(first)].concat();
        if self.modules.contains_key(&child) {
            return self.descend(child, rest, depth);
        }
        let imported = self.modules[at].imported.get(first).into_iter().flatten();
        let imported = imported.filter(|imported| imported.first() != Some(first));
        imported.flat_map(|imported| self.resolve(at, &[imported, rest].concat(), depth + 1)).collect()
    }

    fn descend(&self, mut at: ModulePath, path: &[String], depth: usize) -> BTreeSet<ModulePath> {
        let Some((next, rest)) = path.split_first() else { return BTreeSet::from([at]) };
        if next == "super" {
            at.pop();
            return self.descend(at, rest, depth);
        }
        let child = [at.as_slice(), std::slice::from_ref(next)].concat();
        if self.modules.contains_key(&child) {
            return self.descend(child, rest, depth);
        }
        let module = &self.modules[&at];
        if module.defined.contains(next) {
            return BTreeSet::from([at]);
        }
        if let Some(imported) = module.imported.get(next) {
            return imported.iter().flat_map(|path| self.resolve(&at, &[path, rest].concat(), depth + 1)).collect();
        }
        let mut globs = module.globs.iter().flat_map(|glob| self.resolve(&at, glob, depth + 1));
        BTreeSet::from([globs.find(|module| self.modules[module].defined.contains(next)).unwrap_or(at)])
    }

    /// Groups of files that use each other in a circle, with the arrows inside each group.
    pub(super) fn circles(&self) -> Vec<Vec<String>> {
        let edges = self.edges();
        let reachable: BTreeMap<&String, BTreeSet<&String>> =
            edges.keys().map(|start| (start, reachable_from(start, &edges))).collect();
        let mut seen = BTreeSet::new();
        let mut circles = Vec::new();
        for start in edges.keys().filter(|start| reachable[start].contains(start)) {
            let group: BTreeSet<&String> =
                reachable[start].iter().copied().filter(|other| reachable[other].contains(start)).collect();
            if seen.insert(group.clone()) {
                let arrows = |from: &&String| {
                    let within: Vec<&str> =
                        edges[*from].iter().filter(|to| group.contains(to)).map(String::as_str).collect();
                    format!("{from} -> {}", within.join(", "))
                };
                circles.push(group.iter().map(arrows).collect());
            }
        }
        circles
    }
}

fn reachable_from<'a>(start: &'a String, edges: &'a BTreeMap<String, BTreeSet<String>>) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&String> = edges[start].iter().collect();
    while let Some(module) = next.pop() {
        if found.insert(module) {
            next.extend(&edges[module]);
        }
    }
    found
}

fn read_module(file: &Path, at: ModulePath, modules: &mut BTreeMap<ModulePath, Module>) {
    let source = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let tokens: TokenStream = source.parse().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut module = Module::default();
    let mut children = Vec::new();
    read_items(&tokens.into_iter().collect::<Vec<_>>(), true, &mut module, &mut children);
    let folder = match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "main") => file.parent().map(Path::to_path_buf).unwrap_or_default(),
        _ => file.with_extension(""),
    };
    for child in children {
        let file = folder.join(format!("{child}.rs"));
        let at = [at.as_slice(), std::slice::from_ref(&child)].concat();
        read_module(&file, at, modules);
    }
    modules.insert(at, module);
}

fn ident(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    }
}

fn punct(token: Option<&TokenTree>, character: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == character)
}

/// Reads the tokens of a file, or of a block in it. Only those at the top of a file are its items.
fn read_items(tokens: &[TokenTree], top: bool, module: &mut Module, children: &mut Vec<String>) {
    let mut at = 0;
    let mut public = false;
    while at < tokens.len() {
        let token = &tokens[at];
        // An attribute: what is compiled only for tests is passed over with its item.
        if punct(Some(token), '#')
            && let Some(TokenTree::Group(attribute)) = tokens.get(at + 1)
        {
            at += 2;
            let text = attribute.stream().to_string().replace(' ', "");
            if text == "cfg(test)" || text.starts_with("cfg(all(test") {
                at += item_length(&tokens[at..]);
            } else {
                // A derived or documented name is a macro, not a path of this crate; others may have paths in them.
                let inner: Vec<_> = attribute.stream().into_iter().collect();
                read_items(&inner, false, module, children);
            }
            continue;
        }
        match token {
            TokenTree::Group(group) => {
                let inner: Vec<_> = group.stream().into_iter().collect();
                read_items(&inner, false, module, children);
                at += 1;
                if group.delimiter() == Delimiter::Brace {
                    public = false;
                }
            }
            TokenTree::Ident(name) => match name.to_string().as_str() {
                "pub" => {
                    public = true;
                    at += 1;
                    if matches!(tokens.get(at), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis)
                    {
                        at += 1;
                    }
                }
                "use" if !punct(tokens.get(at + 1), '<') => {
                    let end =
                        at + tokens[at..].iter().position(|token| punct(Some(token), ';')).unwrap_or(tokens.len() - at);
                    let mut names = Vec::new();
                    use_tree(&tokens[at + 1..end], &mut Vec::new(), &mut names);
                    for (name, path) in names {
                        if name == "*" {
                            module.globs.push(path);
                            continue;
                        }
                        if !(public && top) {
                            module.used.insert(path.clone());
                        }
                        module.imported.entry(name).or_default().insert(path);
                    }
                    public = false;
                    at = end + 1;
                }
                "mod" if top && punct(tokens.get(at + 2), ';') => {
                    children.extend(ident(tokens.get(at + 1)));
                    public = false;
                    at += 3;
                }
                "fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static" | "mod" if top => {
                    at += 1;
                    while matches!(ident(tokens.get(at)).as_deref(), Some("fn" | "mut" | "unsafe" | "async" | "extern"))
                    {
                        at += 1;
                    }
                    module.defined.extend(ident(tokens.get(at)));
                    at += 1;
                }
                "macro_rules" if top => {
                    module.defined.extend(ident(tokens.get(at + 2)));
                    at += 3;
                }
                first => {
                    let mut path = vec![first.to_owned()];
                    at += 1;
                    while punct(tokens.get(at), ':') && punct(tokens.get(at + 1), ':') {
                        let Some(next) = ident(tokens.get(at + 2)) else { break };
                        path.push(next);
                        at += 3;
                    }
                    if path.len() > 1 {
                        module.used.insert(path);
                    }
                }
            },
            TokenTree::Punct(mark) => {
                if mark.as_char() == ';' {
                    public = false;
                }
                // `::name` after a type or a macro variable is no path of its own.
                if mark.as_char() == ':' && punct(tokens.get(at + 1), ':') && ident(tokens.get(at + 2)).is_some() {
                    at += 3;
                } else {
                    at += 1;
                }
            }
            TokenTree::Literal(_) => at += 1,
        }
    }
}

/// How many tokens the item takes that begins here: up to its block or semicolon, attributes before it included.
fn item_length(tokens: &[TokenTree]) -> usize {
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        token => punct(Some(token), ';') || punct(Some(token), ','),
    };
    tokens.iter().position(ends).map_or(tokens.len(), |end| end + 1)
}

/// Each name that a `use` brings in, with its path.
fn use_tree(tokens: &[TokenTree], prefix: &mut Vec<String>, names: &mut Vec<(String, Vec<String>)>) {
    let mut path = prefix.clone();
    let mut at = 0;
    let mut add = |path: &mut Vec<String>, alias: Option<String>| {
        if path.len() > prefix.len() {
            if path.last().is_some_and(|last| last == "self") {
                path.pop();
            }
            if let Some(last) = path.last().cloned() {
                names.push((alias.unwrap_or(last), path.clone()));
            }
        }
        path.clone_from(prefix);
    };
    let mut groups = Vec::new();
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(name) if name == "as" => {
                add(&mut path, ident(tokens.get(at + 1)));
                at += 2;
                continue;
            }
            TokenTree::Ident(name) => path.push(name.to_string()),
            TokenTree::Punct(mark) if mark.as_char() == ',' => add(&mut path, None),
            TokenTree::Punct(mark) if mark.as_char() == '*' => {
                add(&mut path, Some("*".to_owned()));
            }
            TokenTree::Group(group) => {
                groups.push((group.stream().into_iter().collect::<Vec<_>>(), path.clone()));
                path.clone_from(prefix);
            }
            _ => {}
        }
        at += 1;
    }
    add(&mut path, None);
    for (tokens, mut prefix) in groups {
        use_tree(&tokens, &mut prefix, names);
    }
}

#[test]
fn circles_of_files_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("lib.rs", "mod a; mod b; mod c; pub use a::{A, again}; /// [`crate::c`]\nfn root() { \"crate::b::B\"; }");
    write("a.rs", "pub struct A; pub fn again() {} #[cfg(test)] mod tests { use crate::c::C; }");
    write("b.rs", "use crate::{A, c}; struct B(A); impl B { fn b() { c::C::new(super::again()) } }");
    write("c.rs", "pub struct C; macro_rules! m { () => {} } fn c() { format!(\"{}\", 1); Vec::<u8>::new() }");
    let graph = || ModuleGraph::read(&folder.path().join("lib.rs"));
    assert_eq!(graph().edges()["b"], BTreeSet::from(["a".to_owned(), "c".to_owned()]));
    assert_eq!(graph().circles(), Vec::<Vec<String>>::new());
    write("c.rs", "pub struct C; fn c() { format!(\"{}\", crate::b::B::b()) }");
    assert_eq!(graph().circles(), [["b -> c", "c -> b"]]);
    write("a.rs", "mod d; pub struct A; pub fn again() { d::d() }");
    std::fs::create_dir(folder.path().join("a")).unwrap();
    write("a/d.rs", "pub(super) fn d() -> super::super::A { todo!() }");
    assert_eq!(graph().circles(), [["a -> a::d", "a::d -> a"], ["b -> c", "c -> b"]]);
}

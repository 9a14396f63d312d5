//! The documentation says what the code does: settings, flags, variables and links.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use http::StatusCode;
use serde_json::{Value, json};
use vestibule_core::fields::Object as _;
use vestibule_core::jobs::JobQueueSettings;
use vestibule_core::settings::{Settings, Tenant, beacon_randomness};

use crate::program::run;

const README_LINES_MAX: usize = 130;
/// Folders with pages of others, or built files.
const FOREIGN: [&str; 6] = ["target", "node_modules", "dist", ".git", ".tools", ".aws-sam"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// All files with this ending below a folder, without those of others.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            if !FOREIGN.contains(&name.as_str()) {
                found.extend(files(&path, ending));
            }
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
    found
}

/// The cells in backticks of each row of the tables below a heading of the configuration reference.
fn documented(heading: &str) -> Vec<Vec<String>> {
    let page = text("docs/configuration.md");
    let (_, section) = page.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no {heading:?}"));
    let rows = section.lines().take_while(|line| !line.starts_with('#')).filter(|line| line.starts_with("| `"));
    let name = |cell: &str| cell.trim().strip_prefix('`')?.split('`').next().map(str::to_owned);
    rows.map(|row| row.split('|').filter_map(name).collect()).collect()
}

/// The first cells, each once.
fn names(heading: &str) -> BTreeSet<String> {
    let rows = documented(heading);
    let names: BTreeSet<_> = rows.iter().map(|row| row[0].clone()).collect();
    assert_eq!(names.len(), rows.len(), "a name twice below {heading:?}");
    names
}

fn fields(value: &Value) -> BTreeSet<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn every_setting_is_documented() {
    let named = json!({ "name": "a", "value": "b" });
    let rule = json!({ "action": "queue", "path": "/a", "method": "GET", "header": named, "cookie": named, "source": "10.0.0.1" });
    let jwks = "https://www.example.com/jwks.json";
    let identity = json!({
        "jwks": jwks, "issuer": "a", "audience": "b", "from": "cookie:c", "sign_in": "https://www.example.com/", "key_id": "k1",
    });
    let hold = json!({
        "action": "hold", "method": "POST", "job_queue": "orders.fifo", "on_failure": "refuse",
    });
    let queue = json!({
        "id": "acme-tour", "tenant": "acme", "hosts": ["tickets.example.com"], "quota": 1, "rules": [rule, hold],
        "handover": { "kind": "proxy", "origin": "https://www.example.com" }, "message": { "default": "a" },
        "access": "invited", "invitations": [{
            "number": 1, "id": "fans", "name": "Fans", "count": 1, "from": "2027-03-04T09:30:00Z", "until": "2027-03-04T10:00:00Z",
            "key": "s1",
        }],
        "protection": {
            "pre_ticket_from": 0, "lists": { "trusted": ["offices"] }, "proof_of_work": { "mode": "auto", "effort": 100, "from": 1 },
            "networks": { "203.0.113.0/24": "shared" }, "identity": identity,
        },
        "between_events": "closed", "events": [{
            "id": "sale", "name": "Sale", "lobby_at": "2027-03-04T09:30:00Z", "starts_at": "2027-03-04T10:00:00Z",
            "ends_at": "2027-03-04T14:00:00Z", "draw_seconds": 45, "salt": "a", "key": "s1", "beacon": "drand-quicknet",
            "beacon_value": {
                "round": 37_117_016, "signature": "00ff", "received_at": "2027-03-04T10:00:12Z",
                "randomness": beacon_randomness("00ff").unwrap().to_string(),
            },
        }, {
            "id": "drawn", "starts_at": "2027-03-05T10:00:00Z", "ends_at": "2027-03-05T14:00:00Z",
            "beacon_removed_at": "2027-03-05T10:05:00Z",
        }],
    });
    let settings = Settings::from_value(&queue).unwrap().to_value();
    assert_eq!(names("### Queues"), fields(&settings));
    let events = fields(&settings["events"][0]).into_iter().chain(fields(&settings["events"][1]));
    assert_eq!(names("### Events"), events.collect());
    assert_eq!(names("### Invitations"), fields(&settings["invitations"][0]));
    assert_eq!(names("### Handover"), fields(&settings["handover"]));
    assert_eq!(names("### Protection"), fields(&settings["protection"]));
    assert_eq!(names("### Proof of work"), fields(&settings["protection"]["proof_of_work"]));
    let keys = std::iter::once("keys".to_owned());
    assert_eq!(names("### Identity"), fields(&settings["protection"]["identity"]).into_iter().chain(keys).collect());
    let rules = fields(&settings["rules"][0]).into_iter().chain(fields(&settings["rules"][1]));
    assert_eq!(names("### Rules"), rules.collect());
    let target =
        json!({ "kind": "http", "url": "https://crm.acme.example/", "secret": format!("whsec_{}", "A".repeat(32)) });
    let job_queue = json!({
        "id": "mails.fifo", "tenant": "acme", "target": target, "dispatches_per_minute": 1,
        "schedules": [{ "id": "nightly", "cron": "@daily", "group_id": "stock", "payload": "{}" }],
        "webhook": { "event_types": ["queue.reset"] },
    });
    let job_queue = JobQueueSettings::from_json(&job_queue).unwrap().to_value();
    assert_eq!(names("### Job queues"), fields(&job_queue));
    assert_eq!(names("### Targets"), fields(&job_queue["target"]));
    assert_eq!(names("### Schedules"), fields(&job_queue["schedules"][0]));
    assert_eq!(names("### Webhooks"), fields(&job_queue["webhook"]));
    let tenant = Tenant::from_value(&json!({ "id": "acme", "name": "Acme" })).unwrap();
    assert_eq!(names("### Tenants"), fields(&serde_json::to_value(tenant).unwrap()));
}

/// Flags of `vestibule serve` with their variables, as its help prints them.
async fn flags() -> BTreeMap<String, String> {
    let (status, help) = run(&["serve", "--help"]).await;
    assert_eq!(status, 0, "{help}");
    let options = help.split("\n      --").skip(1);
    let flag = |option: &str| {
        let name = option.split([' ', '\n']).next().unwrap().to_owned();
        let words: Vec<&str> = option.split_whitespace().collect();
        let variable =
            words.windows(2).find(|pair| pair[0] == "[env:").map(|pair| pair[1].trim_matches([']', '=']).to_owned());
        (format!("--{name}"), variable.unwrap_or_else(|| panic!("{name} has no variable")))
    };
    options.map(flag).collect()
}

#[tokio::test]
async fn every_flag_of_serve_is_documented_with_its_variable() {
    let documented = documented("## Flags of `vestibule serve`");
    let documented: BTreeMap<_, _> = documented.into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    assert_eq!(documented, flags().await);
}

/// Names of variables in a text.
fn variables(text: &str) -> BTreeSet<String> {
    let starts = text.match_indices("VESTIBULE_").map(|(start, _)| &text[start..]);
    let name = |rest: &str| rest.split(|c: char| !c.is_ascii_uppercase() && c != '_').next().unwrap().to_owned();
    starts.map(name).collect()
}

#[test]
fn every_variable_is_documented() {
    let sources = files(&root().join("crates"), ".rs");
    let sources = sources.iter().filter(|path| path.components().any(|part| part.as_os_str() == "src"));
    let code: BTreeSet<_> = sources.flat_map(|path| variables(&fs::read_to_string(path).unwrap())).collect();
    let code: BTreeSet<_> =
        code.into_iter().filter(|name| !name.starts_with("VESTIBULE_TEST") && !name.ends_with('_')).collect();
    assert_eq!(variables(&text("docs/configuration.md")), code);
}

/// Statuses and codes of responses in a source file: the lines of a match that begin a value with a status.
fn codes_of_errors(path: &str) -> BTreeSet<(String, String)> {
    let source = text(path);
    let pairs = source.split("(StatusCode::").skip(1).chain(source.split("(*").skip(1));
    let pair = |rest: &str| {
        let (status, rest) = rest.split_once(", \"")?;
        Some((status.to_owned(), rest.split_once('"')?.0.to_owned()))
    };
    pairs.filter_map(pair).filter(|(status, _)| status.chars().all(|c| c.is_ascii_alphabetic() || c == '_')).collect()
}

#[test]
fn every_error_code_of_the_gate_is_documented() {
    let mut sent = codes_of_errors("crates/gate/src/error.rs");
    sent.extend(codes_of_errors("crates/runtime/src/job_request.rs"));
    // The jobs of visitors have no delay.
    sent.retain(|(_, code)| code != "delay_not_supported");
    assert!(sent.len() > 40, "the codes were not found: {sent:?}");
    let page = text("docs/http-api.md");
    let (_, section) = page.split_once("\n## Errors\n").unwrap();
    let rows = section.lines().filter(|line| line.contains(" | `"));
    let documented = rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let status = cells[1].parse().ok().and_then(|status| StatusCode::from_u16(status).ok());
        let name = status.and_then(|status| status.canonical_reason());
        // Several statuses are a field of the error.
        let name = name.map_or_else(|| "status".to_owned(), |name| name.to_uppercase().replace(' ', "_"));
        (name, cells[2].trim_matches('`').to_owned())
    });
    assert_eq!(documented.collect::<BTreeSet<_>>(), sent);
}

#[test]
fn the_readme_is_short() {
    assert!(text("README.md").lines().count() <= README_LINES_MAX);
}

/// The anchor of a heading, as GitHub and Bitbucket's readers make it.
fn anchor(heading: &str) -> String {
    let kept = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading.trim().to_lowercase().chars().filter(|c| kept(*c)).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// A page without its code blocks.
fn prose(page: &str) -> String {
    page.split("```").step_by(2).collect::<Vec<_>>().join("\n")
}

fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#'));
    headings.map(anchor).collect()
}

#[test]
fn every_relative_link_of_the_documentation_resolves() {
    let mut broken = Vec::new();
    for path in files(&root(), ".md") {
        let page = prose(&fs::read_to_string(&path).unwrap());
        let links = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let images = page.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next());
        for link in links.chain(images).filter(|link| !link.contains("://") && !link.contains('{')) {
            let (file, wanted) = link.split_once('#').map_or((link, None), |(file, wanted)| (file, Some(wanted)));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let has_anchor =
                |wanted: &str| fs::read_to_string(&target).is_ok_and(|page| anchors(&prose(&page)).contains(wanted));
            if !target.exists() || !wanted.is_none_or(has_anchor) {
                broken.push(format!("{}: {link}", path.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn findings_name_existing_tests() {
    let page = text("docs/internals/findings.md");
    let tests = page.split('`').filter_map(|code| code.split_once("::")).filter(|(file, _)| file.contains('/'));
    let missing: Vec<_> = tests.filter(|(file, name)| !text(file).contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// What a text has in backticks: `a::{b, c}` as `a::b` and `a::c`.
fn codes(text: &str) -> Vec<String> {
    let mut codes = Vec::new();
    for code in text.split('`').skip(1).step_by(2) {
        match code.trim_end_matches('}').split_once('{') {
            Some((before, names)) => codes.extend(names.split(',').map(|name| format!("{before}{}", name.trim()))),
            None => codes.push(code.to_owned()),
        }
    }
    codes
}

/// The names of functions and modules of the crates and of the tests, and of browser specs.
fn names_of_tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for path in ["crates", "tests"].iter().flat_map(|folder| files(&root().join(folder), ".rs")) {
        let module = if path.ends_with("main.rs") { path.parent().unwrap() } else { path.as_path() };
        names.insert(module.file_stem().unwrap().to_str().unwrap().to_owned());
        let source = fs::read_to_string(&path).unwrap();
        let declared = ["fn ", "mod "].into_iter().flat_map(|keyword| source.split(keyword).skip(1));
        let name = |rest: &str| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_owned();
        names.extend(declared.map(name));
    }
    for spec in files(&root().join("tests/browser"), ".spec.ts") {
        let name = spec.file_name().unwrap().to_str().unwrap();
        names.insert(name.trim_end_matches(".spec.ts").to_owned());
    }
    names
}

#[test]
fn names_of_tests_are_short() {
    let long: Vec<_> = names_of_tests().into_iter().filter(|name| name.len() > 60).collect();
    assert!(long.is_empty(), "{long:?}");
}

/// A column that is headed "tests" has tests, files and targets of make. Elsewhere, paths are checked.
#[test]
fn pages_about_tests_name_existing_ones() {
    let (known, makefile) = (names_of_tests(), text("Makefile"));
    let exists = |code: &String| match code.strip_prefix("make ") {
        Some(target) => makefile.contains(&format!("\n{target}:")),
        None if code.contains('/') => root().join(code).exists(),
        None => known.contains(code.rsplit("::").next().unwrap()),
    };
    let mut named = Vec::new();
    let mut is_map = false;
    for line in text("docs/internals/tests.md").lines() {
        is_map = line.ends_with("| tests |") || (is_map && line.starts_with('|'));
        if is_map {
            named.extend(line.rsplit(" | ").next().map(codes).unwrap());
        } else {
            named.extend(codes(line).into_iter().filter(|code| code.contains('/')));
        }
    }
    assert!(named.len() > 300, "the tables were not found: {named:?}");
    let is_path =
        |code: &String| ["it/", "harness/", "browser/", "benches/"].iter().any(|start| code.starts_with(start));
    let paths = codes(&prose(&text("tests/README.md"))).into_iter().filter(is_path);
    named.extend(paths.map(|path| format!("tests/{path}")));
    let missing: Vec<_> = named.into_iter().filter(|code| !exists(code)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

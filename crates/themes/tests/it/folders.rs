//! Themes in a folder: what they may do, and what happens when they are broken.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Once;

use crate::support::{view, visitor_status};
use tempfile::TempDir;
use tokio::time::{Instant, advance};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use vestibule_core::{ThemeId, VisitorState};
use vestibule_themes::{
    ASSET_MAX, Asset, FOLDER_RECHECK, PAGE_MAX, RENDER_WAIT_MAX, TEMPLATE_MAX, TEMPLATES_MAX, ThemeError, Themes,
};

fn theme(name: &str) -> ThemeId {
    name.parse().unwrap()
}

fn folder(files: &[(&str, &str)]) -> (TempDir, Themes) {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        write(folder.path(), path, content);
    }
    let themes = Themes::folder(folder.path());
    (folder, themes)
}

fn write(folder: &Path, path: &str, content: impl AsRef<[u8]>) {
    let file = folder.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, content).unwrap();
}

async fn page(themes: &Themes, name: &str) -> String {
    themes.queue_page(Some(&theme(name)), &view(&visitor_status(VisitorState::Waiting))).await
}

async fn asset(themes: &Themes, name: &str, path: &str) -> Option<Asset> {
    themes.asset(&theme(name), path).await.unwrap()
}

/// A page of its own that works.
const OURS: &str = "ours{{ script_tags }}";

fn is_built_in(page: &str) -> bool {
    page.contains("You’re in line") && page.contains("class=\"card\"")
}

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Gathers the text of every event by thread, which is by test. One for the whole program, because what a thread
/// without a subscriber logs first is switched off for all.
struct Log;

impl Log {
    async fn of(run: impl Future<Output = ()>) -> Vec<String> {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| tracing::subscriber::set_global_default(Self).unwrap());
        LINES.take();
        run.await;
        LINES.take()
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, "{field}={value:?} ");
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        LINES.with_borrow_mut(|lines| lines.push(line.0));
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn values_in_custom_themes_are_escaped() {
    let (_folder, themes) =
        folder(&[("acme/queue.html", "<h1>{{ brand.name }} {{ position }}</h1>{{ logo }}{{ script_tags }}")]);
    let visitor_status = visitor_status(VisitorState::Waiting);
    let view = vestibule_themes::PageView { brand_name: "<b>", ..view(&visitor_status) };
    let page = themes.queue_page(Some(&theme("acme")), &view).await;
    assert!(page.starts_with("<h1>&lt;b&gt; 1,234</h1>"), "{page}");
}

#[tokio::test]
async fn theme_overrides_one_block() {
    let source = "{% extends \"vestibule/queue.html\" %}{% block logo %}<img src=\"{{ asset_base }}big.png\" alt=\"\">{% endblock %}";
    let (_folder, themes) = folder(&[("acme/queue.html", source)]);
    let page = page(&themes, "acme").await;
    assert!(page.contains("theme&#x2f;acme-tour&#x2f;big.png\" alt=\"\">"), "{page}");
    assert!(is_built_in(&page));
    assert_eq!(themes.check(&theme("acme")).await, Ok(()));
}

#[tokio::test]
async fn theme_includes_its_own_templates() {
    let (_folder, themes) = folder(&[
        ("acme/queue.html", "{% include \"part.html\" %}{{ script_tags }}"),
        ("acme/part.html", "<p>{{ queue.name }}</p>"),
    ]);
    assert!(page(&themes, "acme").await.starts_with("<p>World tour</p>"));
}

#[tokio::test]
async fn default_theme_is_the_fallback() {
    let (_folder, themes) = folder(&[("default/queue.html", OURS), ("default/logo.svg", "<svg/>")]);
    assert!(page(&themes, "missing").await.starts_with("ours"));
    let page = themes.queue_page(None, &view(&visitor_status(VisitorState::Waiting))).await;
    assert!(page.starts_with("ours"), "{page}");
    assert!(asset(&themes, "missing", "logo.svg").await.is_some());
}

#[tokio::test]
async fn missing_theme_falls_back_to_built_in() {
    let (_folder, themes) = folder(&[]);
    assert!(is_built_in(&page(&themes, "missing").await));
    assert!(is_built_in(&page(&Themes::folder("/nowhere/at/all"), "missing").await));
    assert_eq!(themes.check(&theme("missing")).await, Err(ThemeError::Missing { theme: theme("missing") }));
}

#[tokio::test]
async fn missing_template_is_the_built_in_one() {
    let (_folder, themes) = folder(&[("acme/closed.html", "shut")]);
    assert!(is_built_in(&page(&themes, "acme").await));
    assert_eq!(themes.closed_page(Some(&theme("acme")), &view(&visitor_status(VisitorState::Waiting))).await, "shut");
}

#[tokio::test]
async fn broken_template_falls_back_and_is_logged_once() {
    for (source, line) in [("<p>\n{{ nope", 2), ("<p>\n\n{{ 1 / 0 }}", 3), ("{% include \"gone.html\" %}", 1)] {
        let (_folder, themes) = folder(&[("acme/queue.html", source)]);
        let log = Log::of(async {
            for _ in 0..5 {
                assert!(is_built_in(&page(&themes, "acme").await), "{source}");
            }
        })
        .await;
        assert_eq!(log.len(), 1, "{source}: {log:?}");
        assert!(log[0].contains(&format!("acme/queue.html:{line}:")), "{source}: {log:?}");
    }
}

/// A loop that runs a hundred times, a hundred times, and so on.
fn nested(depth: usize, inner: &str) -> String {
    let open = format!("{{% for _ in \"{}\" %}}", "x".repeat(100));
    format!("{}{inner}{}", open.repeat(depth), "{% endfor %}".repeat(depth))
}

#[tokio::test]
async fn endless_template_falls_back() {
    let flood = nested(1, &"x".repeat(PAGE_MAX / 64));
    for source in [
        nested(4, ""),
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}".to_owned(),
        "{% extends \"queue.html\" %}".to_owned(),
        "{% include \"queue.html\" %}".to_owned(),
        format!("{{% set a %}}{}{{% endset %}}", nested(3, &"x".repeat(64 * 1024))),
        flood,
    ] {
        let (_folder, themes) = folder(&[("acme/queue.html", &source)]);
        let log = Log::of(async { assert!(is_built_in(&page(&themes, "acme").await), "{source}") }).await;
        assert_eq!(log.len(), 1, "{source}: {log:?}");
    }
}

/// What a trial doesn't see may still be expensive for visitors.
#[tokio::test]
async fn slow_page_falls_back_and_is_paused() {
    let search = nested(1, &"{% if \"xyz\" in big %}{% endif %}".repeat(10));
    let big = format!("{{% set big %}}{}{{% endset %}}", nested(1, &"x".repeat(16 * 1024)));
    let source = format!("{{% if queue.id == \"acme-tour\" %}}{big}{search}{{% endif %}}{{{{ script_tags }}}}");
    let (_folder, themes) = folder(&[("acme/queue.html", &source), ("other/queue.html", OURS)]);
    let begun = Instant::now();
    assert!(is_built_in(&page(&themes, "acme").await));
    assert!(begun.elapsed() < RENDER_WAIT_MAX * 4, "{:?}", begun.elapsed());
    let begun = Instant::now();
    assert!(is_built_in(&page(&themes, "acme").await), "it is not tried again");
    assert!(begun.elapsed() < RENDER_WAIT_MAX, "{:?}", begun.elapsed());
    assert!(page(&themes, "other").await.starts_with("ours"), "other themes don't wait for it");
}

#[tokio::test]
async fn templates_cannot_amplify_text() {
    for source in [
        "{{ \"x\" * 100000000 }}",
        "{% set a = \"x\" * 100000000 %}{{ a|length }}",
        "{{ [1] * 100000000 }}",
        "{% set a = heading ~ heading %}",
        "{% set a = heading + heading %}",
        "{{ range(100000)|list|length }}",
        "{{ heading|replace(\"\", heading) }}",
        "{{ heading|indent(100000000) }}",
        "{{ texts }}",
        "{{ namespace(a=1) }}",
        "{% set a = [heading, heading] %}",
    ] {
        let (_folder, themes) = folder(&[("acme/queue.html", &format!("{source}{{{{ script_tags }}}}"))]);
        let fault = themes.check(&theme("acme")).await;
        assert!(matches!(fault, Err(ThemeError::Template { .. })), "{source}: {fault:?}");
    }
}

#[tokio::test]
async fn a_template_beyond_the_limits_falls_back() {
    let (folder, themes) = folder(&[]);
    write(folder.path(), "big/queue.html", "x".repeat(TEMPLATE_MAX as usize + 1));
    assert!(is_built_in(&page(&themes, "big").await));
    assert!(matches!(themes.check(&theme("big")).await, Err(ThemeError::TooLarge { .. })));

    for n in 0..=TEMPLATES_MAX {
        write(folder.path(), &format!("many/part-{n}.html"), "x");
    }
    assert!(matches!(themes.check(&theme("many")).await, Err(ThemeError::TooMany { .. })));

    write(folder.path(), "latin/queue.html", [0x66, 0xfc, 0x72]);
    assert!(is_built_in(&page(&themes, "latin").await));
    assert!(matches!(themes.check(&theme("latin")).await, Err(ThemeError::NotUtf8 { line: 1, .. })));
}

#[tokio::test]
async fn check_reports_undefined_variables() {
    let (_folder, themes) = folder(&[
        ("typo/queue.html", "{{ script_tags }}\n{{ positon }}"),
        ("still/queue.html", "<h1>{{ heading }}</h1>"),
    ]);
    let Err(ThemeError::Template { file, line, .. }) = themes.check(&theme("typo")).await else {
        panic!("found nothing")
    };
    assert!(file.ends_with("typo/queue.html") && line == 2, "{file:?} {line}");
    assert!(matches!(themes.check(&theme("still")).await, Err(ThemeError::NoScript { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_changed_template_is_noticed_within_a_second() {
    let (folder, themes) = folder(&[("acme/queue.html", OURS)]);
    assert!(page(&themes, "acme").await.starts_with("ours"));
    write(folder.path(), "acme/queue.html", "other {{ script_tags }}");
    advance(FOLDER_RECHECK / 2).await;
    assert!(page(&themes, "acme").await.starts_with("ours"));
    advance(FOLDER_RECHECK / 2).await;
    assert!(page(&themes, "acme").await.starts_with("other"));
}

#[tokio::test(start_paused = true)]
async fn added_and_deleted_themes_are_noticed() {
    let (folder, themes) = folder(&[("default/queue.html", "default {{ script_tags }}")]);
    assert!(page(&themes, "acme").await.starts_with("default"));
    write(folder.path(), "acme/queue.html", OURS);
    advance(FOLDER_RECHECK).await;
    assert!(page(&themes, "acme").await.starts_with("ours"));
    fs::remove_dir_all(folder.path().join("acme")).unwrap();
    advance(FOLDER_RECHECK).await;
    assert!(page(&themes, "acme").await.starts_with("default"));
}

#[tokio::test(start_paused = true)]
async fn invalid_change_keeps_the_last_valid_page() {
    let (folder, themes) = folder(&[("acme/queue.html", OURS)]);
    assert!(page(&themes, "acme").await.starts_with("ours"));
    for broken in ["{% if %}", "{{ script_tags }}{{ positon }}", "no script", "{% include \"gone.html\" %}"] {
        write(folder.path(), "acme/queue.html", broken);
        let log = Log::of(async {
            for _ in 0..3 {
                advance(FOLDER_RECHECK).await;
                assert!(page(&themes, "acme").await.starts_with("ours"), "{broken}");
            }
        })
        .await;
        assert_eq!(log.len(), 1, "{broken}: {log:?}");
        assert!(log[0].contains("acme/queue.html") && log[0].contains("the last valid version"), "{log:?}");
    }
    write(folder.path(), "acme/queue.html", "fixed {{ script_tags }}");
    advance(FOLDER_RECHECK).await;
    assert!(page(&themes, "acme").await.starts_with("fixed"));
}

#[tokio::test(start_paused = true)]
async fn asset_has_content_type_and_etag() {
    let (folder, themes) = folder(&[("acme/img/logo.svg", "<svg/>"), ("acme/app.0123456789abcdef.js", "1")]);
    let logo = asset(&themes, "acme", "img/logo.svg").await.unwrap();
    assert_eq!((&logo.bytes[..], logo.content_type, logo.immutable), (&b"<svg/>"[..], "image/svg+xml", false));
    assert!(logo.etag.starts_with('"') && logo.etag.len() == 18);
    assert!(asset(&themes, "acme", "app.0123456789abcdef.js").await.unwrap().immutable);

    write(folder.path(), "acme/img/logo.svg", "<svg></svg>");
    advance(FOLDER_RECHECK).await;
    assert_ne!(asset(&themes, "acme", "img/logo.svg").await.unwrap().etag, logo.etag);
}

#[tokio::test]
async fn paths_cannot_leave_the_theme() {
    let (folder, themes) = folder(&[
        ("secret.json", "{}"),
        ("other/x.css", "x"),
        ("acme/x.css", "x"),
        ("acme/.hidden.css", "x"),
        ("acme/queue.html", "x"),
        ("acme/key.pem", "x"),
        ("acme/folder.css/y.css", "x"),
    ]);
    let absolute = folder.path().join("secret.json");
    for path in [
        "../secret.json",
        "../other/x.css",
        "img/../../secret.json",
        "./x.css",
        "/x.css",
        absolute.to_str().unwrap(),
        "..\\secret.json",
        "x.css\0",
        ".hidden.css",
        "queue.html",
        "key.pem",
        "folder.css",
        "gone.css",
        "",
    ] {
        assert_eq!(asset(&themes, "acme", path).await, None, "{path:?}");
    }
    assert!(asset(&themes, "acme", "x.css").await.is_some());
}

#[cfg(unix)]
#[tokio::test]
async fn links_out_of_a_theme_are_not_followed() {
    use std::os::unix::fs::symlink;

    let (folder, themes) =
        folder(&[("secret.css", "x"), ("secret.html", "secret"), ("acme/real.css", "x"), ("out/y.css", "y")]);
    let acme = folder.path().join("acme");
    symlink(folder.path().join("secret.css"), acme.join("link.css")).unwrap();
    symlink(folder.path().join("out"), acme.join("dir")).unwrap();
    symlink(folder.path().join("secret.html"), acme.join("queue.html")).unwrap();
    symlink(acme.join("real.css"), acme.join("within.css")).unwrap();
    assert_eq!(asset(&themes, "acme", "link.css").await, None);
    assert_eq!(asset(&themes, "acme", "dir/y.css").await, None);
    assert!(asset(&themes, "acme", "within.css").await.is_some());
    assert!(is_built_in(&page(&themes, "acme").await));
}

#[tokio::test]
async fn an_asset_that_is_too_large_is_not_served() {
    let (folder, themes) = folder(&[]);
    write(folder.path(), "acme/fits.mp4", vec![0; ASSET_MAX as usize]);
    write(folder.path(), "acme/big.mp4", vec![0; ASSET_MAX as usize + 1]);
    assert!(asset(&themes, "acme", "fits.mp4").await.is_some());
    assert_eq!(asset(&themes, "acme", "big.mp4").await, None);
}

#[tokio::test]
async fn documented_themes_are_valid() {
    let text = include_str!("../../../../docs/themes.md");
    let samples: Vec<_> = text.split("```html\n").skip(1).map(|rest| rest.split_once("```").unwrap().0).collect();
    let (_folder, themes) = folder(&[("little/queue.html", samples[0]), ("whole/queue.html", samples[1])]);
    assert_eq!(themes.check(&theme("little")).await, Ok(()));
    assert_eq!(themes.check(&theme("whole")).await, Ok(()));
}

#[tokio::test]
async fn documentation_names_every_variable_and_limit() {
    let text = include_str!("../../../../docs/themes.md");
    let context = include_str!("../../src/context.rs");
    let (_, fields) = context.split_once("pub(crate) struct Context {").unwrap();
    for field in fields.split_once('}').unwrap().0.lines().filter_map(|line| line.split_once(':')) {
        let name = field.0.trim();
        assert!(text.contains(&format!("`{name}`")) || text.contains(&format!("`{name}.")), "{name}");
    }
    for limit in ["2 MiB", "256 KiB", "512 KiB", "| 32 |", "5,000", "100 ms", "half a second"] {
        assert!(text.contains(limit), "{limit}");
    }
}

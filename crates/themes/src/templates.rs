//! Rendering: the environment that every template runs in, its limits, and the built-in templates.

use std::io;
use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, escape_formatter};

use crate::bounds;
use crate::context::Context;
use crate::script::minify;

/// Most bytes of a page.
pub const PAGE_MAX: usize = 512 * 1024;
/// Depth of includes and macros.
const DEPTH_MAX: usize = 32;

/// The pages that a theme can replace.
pub const PAGES: [&str; 4] = ["queue.html", "closed.html", "error.html", "job.html"];

const BUILT_IN: [(&str, &str); 6] = [
    ("vestibule/layout.html", include_str!("../built-in/layout.html")),
    ("vestibule/queue.html", include_str!("../built-in/queue.html")),
    ("vestibule/closed.html", include_str!("../built-in/closed.html")),
    ("vestibule/language.html", include_str!("../built-in/language.html")),
    ("vestibule/error.html", include_str!("../built-in/error.html")),
    ("vestibule/job.html", include_str!("../built-in/job.html")),
];

static BUILT_IN_ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(built_in);

/// An environment with the built-in templates, below `vestibule/`. They are compiled once for all themes.
pub(crate) fn environment() -> Environment<'static> {
    BUILT_IN_ENVIRONMENT.clone()
}

#[expect(clippy::expect_used, reason = "the templates are compiled in, and the tests render every one of them")]
fn built_in() -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_syntax(syntax());
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    bounds::add_filters_and_tests(&mut environment);
    environment.set_formatter(|out, state, value| {
        bounds::spend(value)?;
        escape_formatter(out, state, if value.is_none() { &Value::UNDEFINED } else { value })
    });
    environment.set_recursion_limit(DEPTH_MAX);
    environment.set_fuel(Some(bounds::FUEL));
    environment.add_global("page_css", Value::from_safe_string(minify(include_str!("../built-in/page.css"))));
    for (name, source) in BUILT_IN {
        environment.add_template(name, source).expect("built-in templates compile");
    }
    environment
}

/// The syntax of templates.
pub(crate) fn syntax() -> SyntaxConfig {
    SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().unwrap_or_default()
}

/// Renders a template within the limits.
///
/// # Errors
/// The template is missing or fails, or the page exceeds a limit.
pub(crate) fn render(environment: &Environment<'_>, name: &str, context: &Context) -> Result<String, Error> {
    let mut page = Page(Vec::with_capacity(16 * 1024));
    bounds::begin();
    environment.get_template(name)?.render_captured_to(Value::from(Serde(context)), &mut page)?;
    bounds::check_time()?;
    String::from_utf8(page.0).map_err(|_| Error::new(ErrorKind::WriteFailure, "the page is no UTF-8"))
}

/// A page of the built-in theme.
pub(crate) fn render_built_in(name: &str, context: &Context) -> String {
    render(&BUILT_IN_ENVIRONMENT, &format!("vestibule/{name}"), context).unwrap_or_else(|error| {
        tracing::error!(template = name, %error, "a built-in page cannot be rendered");
        fallback_page(context)
    })
}

/// Heading and lead, in case a built-in template fails.
fn fallback_page(context: &Context) -> String {
    let (heading, lead) = context.heading_and_lead();
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<!doctype html><meta charset=\"utf-8\"><title>{0}</title><h1>{0}</h1><p>{1}</p>",
        escape(heading),
        escape(lead)
    )
}

/// A buffer that refuses to grow past [`PAGE_MAX`].
struct Page(Vec<u8>);

impl io::Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > PAGE_MAX {
            return Err(io::Error::other(format!("a page must have at most {PAGE_MAX} bytes")));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! Limits of templates in time and memory: the available filters and tests, the syntax that is not allowed, and the
//! budget of a page.
//!
//! Counting steps is not enough, because one step could repeat a text a hundred million times. So no operation makes a
//! large text of a small one, and the text that is written out is counted.

use std::cell::Cell;
use std::time::Duration;

use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, filters, tests};
use rustix::time::{ClockId, clock_gettime};

/// Steps that a page may take to render; fewer if the theme has a piece of text longer than 16 MiB divided by this.
pub(crate) const FUEL: u64 = 5000;
/// Processor time that a page may take to render.
const RENDER_TIME_MAX: Duration = Duration::from_millis(100);
/// Most bytes that a page's steps may copy of the template itself: steps by the longest piece between two tags.
const WORK_MAX: u64 = 16 * 1024 * 1024;
/// Most bytes of values that a page may write, including captured parts that are written again.
const WRITTEN_MAX: usize = 2 * 1024 * 1024;
/// Longest input of a filter in bytes.
const FILTERED_MAX: usize = 64 * 1024;

/// Values between two looks at the processor time, which take a system call each.
const VALUES_PER_CHECK: usize = 32;

/// The error of a page that takes too long.
const TOO_SLOW: &str = "takes more than 100 ms of processor time";

/// What the page of a thread has used.
#[derive(Clone, Copy)]
struct Spent {
    /// Processor time at which the page began.
    begun: Duration,
    /// Values, and their bytes.
    values: usize,
    bytes: usize,
}

thread_local! {
    static SPENT: Cell<Spent> = const { Cell::new(Spent { begun: Duration::ZERO, values: 0, bytes: 0 }) };
}

/// Begins a page on this thread.
pub(crate) fn begin() {
    SPENT.set(Spent { begun: processor_time(), values: 0, bytes: 0 });
}

/// Refuses a page that has taken too long.
pub(crate) fn check_time() -> Result<(), Error> {
    if processor_time().saturating_sub(SPENT.get().begun) > RENDER_TIME_MAX { Err(refused(TOO_SLOW)) } else { Ok(()) }
}

/// Refuses values beyond the limit, and values that are neither text nor number.
pub(crate) fn spend(value: &Value) -> Result<(), Error> {
    let Spent { begun, mut values, mut bytes } = SPENT.get();
    values += 1;
    if values.is_multiple_of(VALUES_PER_CHECK) {
        check_time()?;
    }
    bytes += match value.kind() {
        ValueKind::String => value.as_str().map_or(0, str::len),
        ValueKind::Undefined | ValueKind::None | ValueKind::Bool | ValueKind::Number | ValueKind::Invalid => 0,
        kind => return Err(refused(format!("only texts and numbers can be written, not a {kind}"))),
    };
    SPENT.set(Spent { begun, values, bytes });
    if bytes > WRITTEN_MAX {
        return Err(refused(format!("writes more than {WRITTEN_MAX} bytes of values")));
    }
    Ok(())
}

/// Whether a page failed because it took too long.
pub(crate) fn was_slow(error: &Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<Error>().is_some_and(|error| error.detail() == Some(TOO_SLOW)) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The steps that a page may take, by the longest piece of text between two tags.
pub(crate) fn fuel(longest_piece: usize) -> u64 {
    FUEL.min(WORK_MAX / longest_piece.max(1) as u64)
}

/// A bracket that is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    /// Arguments of a call, or a subscript.
    Arguments,
    /// Parentheses around an expression.
    Group,
    /// A list of constants.
    List,
}

/// Refuses syntax that could make a large text or list of a small one. Runs before compilation, because the compiler
/// computes constants. Returns the length of the longest piece of text between two tags.
///
/// # Errors
/// The line and the error.
pub(crate) fn check_syntax(source: &str, syntax: SyntaxConfig) -> Result<usize, (usize, &'static str)> {
    let mut check = Check::default();
    // The compiler reports invalid tokens, with a better message.
    for (token, span) in tokenize(source, false, syntax).map_while(Result::ok) {
        check.token(&token).map_err(|message| (usize::from(span.start_line), message))?;
    }
    Ok(check.longest)
}

/// What the last token completed.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Nothing,
    /// A value, after which a bracket is a call or a subscript.
    Value,
    Number,
}

/// The state after the tokens so far.
#[derive(Default)]
struct Check {
    longest: usize,
    open: Vec<Open>,
    last: Last,
    /// A `+` that is not behind a number.
    plus: bool,
    /// Whether a comma is allowed outside of brackets in this tag, as in `from .. import a, b`.
    names: bool,
    begins: bool,
}

impl Check {
    fn token(&mut self, token: &Token<'_>) -> Result<(), &'static str> {
        let number = matches!(token, Token::Int(_) | Token::Int128(_) | Token::Float(_));
        if std::mem::take(&mut self.plus) && !number {
            return Err("`+` adds a number; write texts one after the other: {{ a }}{{ b }}");
        }
        if self.open.last() == Some(&Open::List) && !is_constant(token) {
            return Err("a list holds constants only");
        }
        let begins = std::mem::take(&mut self.begins);
        match token {
            Token::TemplateData(text) => self.longest = self.longest.max(text.len()),
            Token::BlockStart => (self.begins, self.names) = (true, false),
            Token::VariableStart => self.names = false,
            Token::Ident("import") if begins => return Err("there is no `import .. as`; use `from .. import`"),
            Token::Ident("from" | "with" | "for") if begins => self.names = true,
            Token::Ident("in") if self.open.is_empty() => self.names = false,
            Token::Mul | Token::Pow => return Err("there is no `*` in templates"),
            Token::Tilde => return Err("there is no `~`; write texts one after the other: {{ a }}{{ b }}"),
            Token::Plus => self.plus = self.last != Last::Number,
            Token::BraceOpen => return Err("there are no maps in templates"),
            Token::ParenOpen => self.open.push(self.opened(Open::Group)),
            Token::BracketOpen => self.open.push(self.opened(Open::List)),
            Token::ParenClose | Token::BracketClose => drop(self.open.pop()),
            Token::Comma if !self.takes_comma() => return Err("there are no tuples in templates"),
            _ => {}
        }
        self.last = match token {
            Token::Ident("in" | "not" | "and" | "or" | "if" | "else" | "is" | "elif" | "set") => Last::Nothing,
            Token::Ident(_) | Token::Str(_) | Token::String(_) | Token::ParenClose | Token::BracketClose => Last::Value,
            _ if number => Last::Number,
            _ => Last::Nothing,
        };
        Ok(())
    }

    const fn opened(&self, otherwise: Open) -> Open {
        if matches!(self.last, Last::Nothing) { otherwise } else { Open::Arguments }
    }

    fn takes_comma(&self) -> bool {
        self.open.last().map_or(self.names, |open| *open != Open::Group)
    }
}

fn is_constant(token: &Token<'_>) -> bool {
    let word = |word: &str| matches!(word, "true" | "false" | "none" | "True" | "False" | "None");
    match token {
        Token::Ident(ident) => word(ident),
        Token::Str(_) | Token::String(_) | Token::Int(_) | Token::Int128(_) | Token::Float(_) | Token::Comma => true,
        other => matches!(other, Token::Minus | Token::BracketOpen | Token::BracketClose),
    }
}

/// Adds the filters and tests. The output of each is at most a small multiple of its input.
pub(crate) fn add_filters_and_tests(environment: &mut Environment<'static>) {
    for name in ["default", "d"] {
        environment.add_filter(name, filters::default);
    }
    for name in ["length", "count"] {
        environment.add_filter(name, filters::length);
    }
    environment.add_filter("abs", filters::abs);
    environment.add_filter("int", filters::int);
    environment.add_filter("float", filters::float);
    environment.add_filter("round", filters::round);
    environment.add_filter("first", filters::first);
    environment.add_filter("last", filters::last);
    environment.add_filter("upper", |text: &Value| short(text).map(str::to_uppercase));
    environment.add_filter("lower", |text: &Value| short(text).map(str::to_lowercase));
    environment.add_filter("capitalize", |text: &Value| short(text).map(capitalized));
    environment.add_filter("trim", |text: &Value| short(text).map(|text| text.trim().to_owned()));
    environment.add_filter("safe", |text: &Value| short(text).map(|text| Value::from_safe_string(text.to_owned())));
    environment.add_test("defined", tests::is_defined);
    environment.add_test("undefined", tests::is_undefined);
    environment.add_test("none", tests::is_none);
    environment.add_test("number", tests::is_number);
    environment.add_test("string", tests::is_string);
    environment.add_test("odd", tests::is_odd);
    environment.add_test("even", tests::is_even);
    environment.add_test("divisibleby", tests::is_divisibleby);
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn short(value: &Value) -> Result<&str, Error> {
    let text = value.as_str().ok_or_else(|| refused("the filter needs a text"))?;
    if text.len() > FILTERED_MAX { Err(refused("the filter accepts at most 64 KiB")) } else { Ok(text) }
}

fn refused(detail: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, detail)
}

/// The processor time of this thread, which does not depend on the load of the machine.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

#[cfg(test)]
mod tests_of_syntax {
    use super::*;

    #[test]
    fn loops_and_joins_are_rejected_with_their_line() {
        for (source, line) in [
            ("{{ 'x' * 100000000 }}", 1),
            ("\n{{ 2 ** 3 }}", 2),
            ("\n\n{% set a = a ~ a %}", 3),
            ("{% set a = a + a %}", 1),
            ("{{ f(*a) }}", 1),
            ("{% set a = [a, a] %}", 1),
            ("{% set a = (a, a) %}", 1),
            ("{% set a = a, a %}", 1),
            ("{% for x in a, a %}{% endfor %}", 1),
            ("{% if (a) in [a] %}{% endif %}", 1),
            ("{% set a = {1: a} %}", 1),
            ("{% import \"b.html\" as b %}", 1),
        ] {
            assert_eq!(check_syntax(source, SyntaxConfig::default()).unwrap_err().0, line, "{source}");
        }
        for source in [
            "* ~ + **",
            "{{ position_number + 1 }}",
            "{{ 1 + n }}",
            "{% raw %}{{ a * b }}{% endraw %}",
            "{% macro m(a, b=1) %}{{ a }}{% endmacro %}{{ m(a, b) }}{{ x|default(\"\", true) }}",
            "{% from \"b.html\" import m, n %}{% with a = 1, b = 2 %}{{ a[1:] }}{% endwith %}",
            "{% if lang in [\"de\", \"fr\"] %}{% for a in [1, -2, [3]] %}{{ texts[\"x\"] }}{% endfor %}{% endif %}",
        ] {
            assert!(check_syntax(source, SyntaxConfig::default()).is_ok(), "{source}");
        }
    }

    #[test]
    fn long_pieces_of_text_leave_fewer_steps() {
        assert_eq!(check_syntax("abc{{ x }}abcdef", SyntaxConfig::default()), Ok(6));
        assert_eq!((fuel(0), fuel(1024), fuel(256 * 1024)), (FUEL, FUEL, 64));
    }
}

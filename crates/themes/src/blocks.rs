//! Finds blocks that no page shows: a template that extends another shows only blocks that are in that one too.

use std::collections::HashSet;

use minijinja::Environment;
use minijinja::machinery::{Token, tokenize};

use crate::templates;

/// A block that is never shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnshownBlock {
    /// Its line, from 1.
    pub(crate) line: usize,
    pub(crate) name: String,
    /// The template in which it is missing.
    pub(crate) parent: String,
}

/// The first block of a template that no page shows.
pub(crate) fn find_unshown(environment: &Environment<'_>, name: &str) -> Option<UnshownBlock> {
    let outline = outline_of(environment, name)?;
    let parent = outline.extends?;
    let inherited = blocks_of(environment, &parent)?;
    let is_shown = |name: &String| inherited.contains(name) || outline.called.contains(name);
    let (line, name) = outline.outermost.into_iter().find(|(_, name)| !is_shown(name))?;
    Some(UnshownBlock { line, name, parent })
}

/// All blocks of a template and of those that it extends; `None` if one of them is missing or extends itself.
fn blocks_of(environment: &Environment<'_>, name: &str) -> Option<HashSet<String>> {
    let (mut blocks, mut seen) = (HashSet::new(), HashSet::new());
    let mut next = Some(name.to_owned());
    while let Some(name) = next {
        let outline = outline_of(environment, &name)?;
        blocks.extend(outline.all);
        if !seen.insert(name) {
            return None;
        }
        next = outline.extends;
    }
    Some(blocks)
}

/// The blocks of a template.
#[derive(Default)]
struct Outline {
    extends: Option<String>,
    all: Vec<String>,
    /// Those that are in no other block, with their lines.
    outermost: Vec<(usize, String)>,
    /// Those that the template shows itself, as in `{{ self.name() }}`.
    called: HashSet<String>,
}

fn outline_of(environment: &Environment<'_>, name: &str) -> Option<Outline> {
    let template = environment.get_template(name).ok()?;
    let mut outline = Outline::default();
    let mut depth = 0_usize;
    let mut tokens = tokenize(template.source(), false, templates::syntax()).map_while(Result::ok);
    while let Some((token, span)) = tokens.next() {
        if matches!(token, Token::Ident("self")) {
            if let (Token::Dot, Token::Ident(block)) = (tokens.next()?.0, tokens.next()?.0) {
                outline.called.insert(block.to_owned());
            }
            continue;
        }
        if !matches!(token, Token::BlockStart) {
            continue;
        }
        match tokens.next()?.0 {
            Token::Ident("extends") => {
                // A template whose parent is only known while it is rendered cannot be checked.
                let Token::Str(parent) = tokens.next()?.0 else { return None };
                if outline.extends.replace(parent.to_owned()).is_some() {
                    return None;
                }
            }
            Token::Ident("block") => {
                if let Token::Ident(block) = tokens.next()?.0 {
                    outline.all.push(block.to_owned());
                    if depth == 0 {
                        outline.outermost.push((usize::from(span.start_line), block.to_owned()));
                    }
                    depth += 1;
                }
            }
            Token::Ident("endblock") => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Some(outline)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_no_page_shows_are_found() {
        let mut environment = templates::environment();
        for (name, source) in [
            ("typo", "{% extends \"vestibule/queue.html\" %}\n{% block note %}{% endblock %}"),
            (
                "right",
                "{% extends \"vestibule/queue.html\" %}{% block notes %}{% block own %}{% endblock %}{% endblock %}",
            ),
            (
                "child",
                "{% extends \"right\" %}{% block own %}{% endblock own %}\n\n{% block code %}{% endblock %}{% block x %}{% endblock %}",
            ),
            ("alone", "{% block mine %}{% endblock %}"),
            ("chosen", "{% extends name %}{% block mine %}{% endblock %}"),
            (
                "shown",
                "{% extends \"right\" %}{% block extra %}{% endblock %}{% block own %}{{ self.extra() }}{% endblock %}",
            ),
            (
                "either",
                "{% if mine %}{% extends \"right\" %}{% else %}{% extends \"alone\" %}{% endif %}{% block own %}{% endblock %}",
            ),
            ("loop", "{% extends \"loop\" %}{% block mine %}{% endblock %}"),
        ] {
            environment.add_template_owned(name, source).unwrap();
        }
        let found = |name| find_unshown(&environment, name);
        let (line, name, parent) = (2, "note".to_owned(), "vestibule/queue.html".to_owned());
        assert_eq!(found("typo"), Some(UnshownBlock { line, name, parent }));
        let (line, name, parent) = (3, "x".to_owned(), "right".to_owned());
        assert_eq!(found("child"), Some(UnshownBlock { line, name, parent }));
        for name in
            ["right", "alone", "chosen", "shown", "either", "loop", "vestibule/closed.html", "vestibule/job.html"]
        {
            assert_eq!(found(name), None, "{name}");
        }
    }

    /// The names between backticks.
    fn named(text: &str) -> HashSet<String> {
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    #[test]
    fn documentation_names_every_block() {
        let text = include_str!("../../../docs/themes.md");
        let environment = templates::environment();
        let (_, table) = text.split_once("| block | content |\n| --- | --- |\n").unwrap();
        let rows = table.lines().take_while(|line| line.starts_with('|'));
        let documented: HashSet<_> = rows.flat_map(|row| named(row.split('|').nth(1).unwrap())).collect();
        assert_eq!(documented, blocks_of(&environment, "vestibule/queue.html").unwrap());
        for page in ["closed", "error", "job"] {
            let begin = format!("extends `vestibule/{page}.html`, with the blocks ");
            let (_, rest) = text.split_once(&begin).unwrap();
            let documented = named(rest.split_once('.').unwrap().0);
            assert_eq!(documented, blocks_of(&environment, &format!("vestibule/{page}.html")).unwrap(), "{page}");
        }
    }

    #[test]
    fn documentation_names_every_element_of_the_script() {
        let text = include_str!("../../../docs/themes.md");
        let (_, table) = text.split_once("| what the script does |\n").unwrap();
        let documented: HashSet<_> = table.lines().take_while(|line| line.starts_with('|')).flat_map(named).collect();
        for page in [
            include_str!("../built-in/queue.html"),
            include_str!("../built-in/closed.html"),
            include_str!("../built-in/language.html"),
        ] {
            let used = page.split("data-vestibule=\"").skip(1).filter_map(|rest| rest.split_once('"'));
            for name in used.flat_map(|(names, _)| names.split(' ')) {
                assert!(documented.contains(name), "{name}");
            }
        }
    }
}

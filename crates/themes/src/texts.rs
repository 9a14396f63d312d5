//! The texts of the built-in pages, one file per language. The type ensures that no language lacks a text.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use minijinja::value::{Serde, Value};
use serde::{Deserialize, Serialize};
use vestibule_core::{EndReason, VisitorState};

use crate::Language;
use crate::language::Category;
use crate::wait::WaitText;

/// One text per state.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StateTexts {
    waiting: String,
    admitted: String,
    paused: String,
    lobby: String,
    closed: String,
    full: String,
    invitation_required: String,
    unavailable: String,
}

impl StateTexts {
    pub(crate) fn of(&self, state: VisitorState) -> &str {
        match state {
            VisitorState::Waiting => &self.waiting,
            VisitorState::Admitted => &self.admitted,
            VisitorState::Paused => &self.paused,
            VisitorState::Lobby => &self.lobby,
            VisitorState::Closed => &self.closed,
            VisitorState::Full => &self.full,
            VisitorState::InvitationRequired => &self.invitation_required,
            VisitorState::Unavailable => &self.unavailable,
        }
    }
}

/// One text per plural category; `{n}` is the number.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Plural(BTreeMap<Category, String>);

impl Plural {
    pub(crate) fn form(&self, language: Language, n: u64) -> &str {
        let form = self.0.get(&language.category(n)).or_else(|| self.0.get(&Category::Other));
        form.map_or("{n}", String::as_str)
    }

    pub(crate) fn count(&self, language: Language, n: u64) -> String {
        fill(self.form(language, n), &[("n", &language.number(n))])
    }
}

/// The texts of an estimated wait, named as in [`WaitText`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitTemplates {
    less_than_minute: String,
    minutes: Plural,
    range: Plural,
    up_to_minutes: Plural,
    more_than_minutes: Plural,
    up_to_hours: Plural,
    more_than_hours: Plural,
}

impl WaitTemplates {
    pub(crate) fn say(&self, language: Language, wait: WaitText) -> String {
        match wait {
            WaitText::LessThanMinute => self.less_than_minute.clone(),
            WaitText::Minutes(n) => self.minutes.count(language, n),
            WaitText::Range { from, to } => {
                let (first, last) = (language.number(from), language.number(to));
                fill(self.range.form(language, to), &[("from", &first), ("to", &last)])
            }
            WaitText::UpToMinutes(n) => self.up_to_minutes.count(language, n),
            WaitText::MoreThanMinutes(n) => self.more_than_minutes.count(language, n),
            WaitText::UpToHours(n) => self.up_to_hours.count(language, n),
            WaitText::MoreThanHours(n) => self.more_than_hours.count(language, n),
        }
    }
}

/// Why a visitor has to start again.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReasonTexts {
    ended: String,
    expired: String,
    reset: String,
}

impl ReasonTexts {
    pub(crate) fn of(&self, reason: EndReason) -> &str {
        match reason {
            EndReason::Ended => &self.ended,
            EndReason::Expired => &self.expired,
            EndReason::Reset => &self.reset,
        }
    }
}

/// The form for an invitation code.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CodeTexts {
    label: String,
    submit: String,
    pub(crate) wrong: String,
}

/// Heading and lead of a page or a state.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageText {
    pub(crate) heading: String,
    pub(crate) lead: String,
}

/// The texts of an event that has not started.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventTexts {
    /// The heading, with the name of the event and the time.
    pub(crate) starts: String,
    /// The lead for visitors in line.
    pub(crate) lobby: String,
    /// The lead while nobody can join.
    pub(crate) closed: String,
    /// The label of the countdown; the script also reads it with the rest of the time.
    pub(crate) countdown: String,
    /// The rest of the time in hours and minutes, without the script, which counts down.
    #[serde(skip_serializing)]
    pub(crate) hours_minutes: String,
    /// What the script announces at the start.
    starting: String,
}

/// The texts of an event with a draw.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DrawTexts {
    /// The lead in the lobby.
    pub(crate) lobby: String,
    /// The lead for visitors who joined the line before the lobby opened.
    pub(crate) ahead: String,
    /// The lead for visitors of the lobby while an operator has paused the queue.
    pub(crate) paused: String,
    /// The lead while nobody can take part.
    pub(crate) closed: String,
    /// The label of the countdown to the end of the draw; the script also reads it with the rest of the time.
    pub(crate) countdown: String,
    /// What the script announces at the start.
    starting: String,
    /// What the script announces at the end of the draw.
    admitting: String,
    /// The visitor's number.
    pub(crate) number: String,
    /// The note about reloading in the lobby.
    pub(crate) reload: String,
    /// The note about the order.
    pub(crate) fair: String,
    /// The link to the line document.
    how_fair: String,
}

/// The error pages.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ErrorPageTexts {
    pub(crate) origin_down: PageText,
    pub(crate) origin_slow: PageText,
    pub(crate) no_queue: PageText,
    pub(crate) unavailable: PageText,
    pub(crate) response_too_large: PageText,
    pub(crate) join_blocked: PageText,
    pub(crate) join_rate: PageText,
    pub(crate) join_limit: PageText,
    pub(crate) sign_in: PageText,
    pub(crate) not_processed: PageText,
    pub(crate) over_limit: PageText,
    /// The lead of `origin_down` and `origin_slow` after a form: the page does not send it again.
    pub(crate) not_repeated: String,
}

/// The pages of jobs that a visitor follows.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobPageTexts {
    pub(crate) order_queued: PageText,
    pub(crate) order_retrying: PageText,
    pub(crate) order_failed: PageText,
    pub(crate) order_unknown: PageText,
    pub(crate) order_received: PageText,
    pub(crate) order_submitted: PageText,
    pub(crate) order_placed: PageText,
    pub(crate) job_queued: PageText,
    pub(crate) job_completed: PageText,
    pub(crate) job_failed: PageText,
    pub(crate) job_unknown: PageText,
}

/// All texts of one language.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Texts {
    pub(crate) heading: StateTexts,
    pub(crate) lead: StateTexts,
    pub(crate) next: String,
    pub(crate) newcomer: PageText,
    pub(crate) left: PageText,
    pub(crate) reserved: String,
    pub(crate) expired: PageText,
    pub(crate) reason: ReasonTexts,
    pub(crate) code: CodeTexts,
    pub(crate) event: EventTexts,
    pub(crate) draw: DrawTexts,
    pub(crate) position_label: String,
    pub(crate) wait_label: String,
    pub(crate) wait: WaitTemplates,
    pub(crate) behind_label: String,
    pub(crate) behind: Plural,
    pub(crate) behind_none: String,
    pub(crate) progress: String,
    pub(crate) auto_update: String,
    pub(crate) last_updated: String,
    pub(crate) hold_notice: Plural,
    pub(crate) draw_hold_notice: Plural,
    pub(crate) reload_notice: String,
    pub(crate) order_notice: String,
    pub(crate) position_kept: Plural,
    pub(crate) position_kept_until: String,
    pub(crate) support_code: String,
    #[serde(rename = "continue")]
    pub(crate) continue_to: String,
    pub(crate) retry: String,
    pub(crate) sign_in: String,
    pub(crate) leave: String,
    pub(crate) leave_confirm: String,
    pub(crate) rejoin: String,
    pub(crate) notify: String,
    pub(crate) notify_on: String,
    pub(crate) notify_unsupported: String,
    /// While the device has no network. The script adds until when the position is kept.
    pub(crate) offline_notice: String,
    /// The same while the device has one, but the gate does not answer.
    pub(crate) unreachable_notice: String,
    pub(crate) pre_ticket: String,
    /// While the browser solves the challenge of a newcomer.
    pub(crate) prove: String,
    /// In place of it for a browser that cannot.
    pub(crate) prove_later: String,
    prove_progress: String,
    pub(crate) allow_cookies: String,
    pub(crate) cookies_blocked: String,
    pub(crate) no_script_notice: Plural,
    pub(crate) session_kept: Plural,
    pub(crate) language: String,
    pub(crate) change_language: String,
    pub(crate) error_page: ErrorPageTexts,
    pub(crate) job_page: JobPageTexts,
}

/// The texts of a language, also as a template value.
pub(crate) struct TextSet {
    pub(crate) texts: Texts,
    pub(crate) value: Value,
}

/// In the order of [`Language::ALL`].
const SOURCES: [&str; Language::ALL.len()] = [
    include_str!("../built-in/texts/en.json"),
    include_str!("../built-in/texts/de.json"),
    include_str!("../built-in/texts/fr.json"),
    include_str!("../built-in/texts/es.json"),
    include_str!("../built-in/texts/nl.json"),
    include_str!("../built-in/texts/cy.json"),
    include_str!("../built-in/texts/pt.json"),
    include_str!("../built-in/texts/it.json"),
    include_str!("../built-in/texts/pl.json"),
    include_str!("../built-in/texts/tr.json"),
    include_str!("../built-in/texts/ar.json"),
    include_str!("../built-in/texts/ja.json"),
    include_str!("../built-in/texts/ko.json"),
    include_str!("../built-in/texts/zh-Hans.json"),
    include_str!("../built-in/texts/zh-Hant.json"),
];

static SETS: LazyLock<[TextSet; SOURCES.len()]> = LazyLock::new(|| SOURCES.map(parse));

#[expect(clippy::expect_used, reason = "the files are compiled in, and a test reads every one of them")]
fn parse(source: &str) -> TextSet {
    let texts: Texts = serde_json::from_str(source).expect("built-in texts are complete");
    let value = Value::from(Serde(&texts));
    TextSet { texts, value }
}

/// The texts of a language.
pub(crate) fn texts(language: Language) -> &'static TextSet {
    &SETS[language as usize]
}

/// The text without the characters that isolate names in right-to-left languages, for the title of a tab.
pub(crate) fn without_isolates(text: &str) -> String {
    text.replace(['\u{2068}', '\u{2069}'], "")
}

/// Replaces each `{name}` by its value, in one pass: values are not replaced again.
pub(crate) fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let found = after
            .split_once('}')
            .and_then(|(name, tail)| values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value, tail)));
        if let Some((value, tail)) = found {
            filled.push_str(value);
            rest = tail;
        } else {
            filled.push('{');
            rest = after;
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value as Json;

    use super::*;

    fn walk(path: &str, json: &Json, leaf: &mut impl FnMut(&str, &Json)) {
        match json {
            Json::Object(map) if !map.contains_key("other") => {
                for (key, value) in map {
                    walk(&format!("{path}.{key}"), value, leaf);
                }
            }
            leaf_value => leaf(path, leaf_value),
        }
    }

    fn keys(source: &str) -> Vec<String> {
        let mut keys = Vec::new();
        walk("", &serde_json::from_str(source).unwrap(), &mut |path, _| keys.push(path.to_owned()));
        keys
    }

    #[test]
    fn every_language_has_the_same_keys_and_no_empty_text() {
        for (language, source) in Language::ALL.into_iter().zip(SOURCES) {
            assert_eq!(keys(source), keys(SOURCES[0]), "{language:?}");
            assert!(!source.contains("\"\""), "{language:?}");
            assert_eq!(texts(language).texts.continue_to, parse(source).texts.continue_to, "{language:?}");
        }
    }

    #[test]
    fn every_plural_has_exactly_the_categories_of_its_language() {
        for (language, source) in Language::ALL.into_iter().zip(SOURCES) {
            walk("", &serde_json::from_str(source).unwrap(), &mut |path, json| {
                if json.is_object() {
                    let plural: Plural = serde_json::from_value(json.clone()).unwrap();
                    let categories: BTreeSet<Category> = plural.0.keys().copied().collect();
                    assert_eq!(language.categories(), categories, "{language:?}{path}");
                }
            });
        }
    }

    #[test]
    fn every_language_uses_the_same_placeholders() {
        fn placeholders(text: &str) -> Vec<&str> {
            let mut found: Vec<_> = text.split('{').skip(1).filter_map(|part| part.split('}').next()).collect();
            found.sort_unstable();
            found
        }
        let english: Json = serde_json::from_str(SOURCES[0]).unwrap();
        for source in SOURCES {
            walk("", &serde_json::from_str(source).unwrap(), &mut |path, json| {
                let twin = english.pointer(&path.replace('.', "/")).unwrap();
                let (ours, theirs) = (json.get("other").unwrap_or(json), twin.get("other").unwrap_or(twin));
                assert_eq!(placeholders(ours.as_str().unwrap()), placeholders(theirs.as_str().unwrap()), "{path}");
            });
        }
    }

    /// Otherwise "Spring sale: 04/03/2027" is shown in another order in the middle of an Arabic sentence.
    #[test]
    fn right_to_left_texts_isolate_names_times_and_codes() {
        for (language, source) in Language::ALL.into_iter().zip(SOURCES) {
            walk("", &serde_json::from_str(source).unwrap(), &mut |path, json| {
                for text in json.as_object().map_or_else(|| vec![json], |forms| forms.values().collect()) {
                    let mut rest = text.as_str().unwrap().to_owned();
                    for number in ["{n}", "{from}", "{to}", "{hours}", "{minutes}"] {
                        rest = rest.replace(number, "");
                    }
                    let isolated = rest.matches("\u{2068}{").count().min(rest.matches("}\u{2069}").count());
                    let expected = if language.direction() == "rtl" { rest.matches('{').count() } else { 0 };
                    assert_eq!(isolated, expected, "{language:?}{path}");
                }
            });
        }
    }

    #[test]
    fn plural_forms_follow_the_language() {
        for (language, n, text) in [
            (Language::Polish, 1, "1 osoba"),
            (Language::Polish, 22, "22 osoby"),
            (Language::Polish, 25, "25 osób"),
            (Language::Arabic, 2, "شخصان"),
            (Language::Arabic, 7, "7 أشخاص"),
            (Language::Arabic, 11, "11 شخصًا"),
            (Language::Italian, 1_000_000, "1.000.000 di persone"),
            (Language::Japanese, 1, "1 人"),
        ] {
            assert_eq!(texts(language).texts.behind.count(language, n), text, "{language:?} {n}");
        }
    }

    #[test]
    fn filled_values_are_not_expanded() {
        assert_eq!(fill("{brand}: {n} {x} {", &[("brand", "{n}"), ("n", "7")]), "{n}: 7 {x} {");
    }

    #[test]
    fn welsh_plurals_are_used() {
        let minutes = &texts(Language::Welsh).texts.wait.minutes;
        assert_eq!(minutes.count(Language::Welsh, 2), "tua 2 funud");
        assert_eq!(minutes.count(Language::Welsh, 3), "tua 3 munud");
        let behind = &texts(Language::Welsh).texts.behind;
        assert_eq!(behind.count(Language::Welsh, 2), "2 berson");
        assert_eq!(behind.count(Language::Welsh, 1200), "1,200 o bobl");
    }
}

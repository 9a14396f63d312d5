//! The built-in pages, as a visitor's browser gets them.

use std::io::Write;

use crate::support::{STATES, of_event, view, visitor_status};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::FutureExt as _;
use vestibule_core::settings::EventOrder;
use vestibule_core::{VisitorState, VisitorStatus, WaitSeconds};
use vestibule_themes::{
    ErrorPage, JobDetails, JobNews, JobPage, Language, PageView, Themes, fallback_script, job_script, queue_script,
    retry_script,
};

fn page(view: &PageView<'_>) -> String {
    Themes::built_in()
        .queue_page(None, view)
        .now_or_never()
        .unwrap_or_else(|| panic!("the built-in page waits for something"))
}

fn zipped(bytes: &[u8]) -> usize {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap().len()
}

fn data(page: &str) -> serde_json::Value {
    let (_, rest) = page.split_once("id=\"vestibule-data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn every_state_is_shown_in_every_language() {
    for state in STATES {
        for language in Language::ALL {
            let visitor_status = visitor_status(state);
            let page = page(&PageView { language, ..view(&visitor_status) });
            let data = data(&page);
            let heading = data["texts"]["heading"][state.as_str()].as_str().unwrap();
            assert!(page.contains(&format!(
                "<html lang=\"{}\" dir=\"{}\" data-state=\"{}\">",
                language.code(),
                language.direction(),
                state.as_str()
            )));
            assert!(page.contains(&format!(">{heading}</h1>")), "{language:?} {state:?}");
            assert_eq!(page.matches("<h1").count(), 1, "{language:?} {state:?}");
            assert_eq!(page.matches("<main").count(), 1, "{language:?} {state:?}");
        }
    }
}

#[test]
fn waiting_visitor_sees_position_wait_and_behind() {
    let visitor_status = visitor_status(VisitorState::Waiting);
    let page = page(&view(&visitor_status));
    let code =
        format!("<code data-vestibule=\"support-code\">{}</code>", visitor_status.support_code.as_ref().unwrap());
    for data in [
        ">1,234</p>",
        ">about 4 to 6 minutes<",
        ">4,444 people<",
        "<title>1,234 · Acme</title>",
        "come back within 10 minutes",
        &code,
        "<noscript><meta http-equiv=\"refresh\" content=\"20\"></noscript>",
    ] {
        assert!(page.contains(data), "{data}");
    }
}

/// Which text of `texts` an element shows.
fn shows(page: &str, name: &str, text: &serde_json::Value) -> bool {
    page.contains(&format!("data-vestibule=\"{name}\">{}<", text.as_str().unwrap().replace('/', "&#x2f;")))
}

#[test]
fn lobby_counts_down_and_promises_no_position() {
    for language in Language::ALL {
        let lobby = of_event(VisitorState::Lobby, EventOrder::Draw, 900.0);
        let page = page(&PageView { language, ..view(&lobby) });
        let data = data(&page);
        let texts = &data["texts"];
        assert!(page.contains("Spring sale") && page.contains("2027-03-04 10:00 UTC"), "{page}");
        assert!(shows(&page, "lead", &texts["draw"]["lobby"]), "{language:?}");
        assert!(shows(&page, "countdown-label", &texts["event"]["countdown"]));
        assert!(shows(&page, "hold", &texts["draw_hold_notice"]) && shows(&page, "reload", &texts["draw"]["reload"]));
        assert!(shows(&page, "order", &texts["draw"]["fair"]));
        assert!(page.contains(
            "data-vestibule=\"how-fair\" href=\"&#x2f;_vestibule&#x2f;line?queue=acme-tour\" target=\"_blank\">"
        ));
        assert!(page.contains("data-vestibule=\"position-section\" aria-labelledby=\"position-label\" hidden"));
        assert!(page.contains("data-vestibule=\"number\" hidden></p>"));
        let position = ["hold_notice", "reload_notice"].map(|name| texts[name].as_str().unwrap());
        let markup = page.split("id=\"vestibule-data\">").next().unwrap();
        assert!(position.iter().all(|text| !markup.contains(text)), "{language:?}");
        assert!(!markup.contains("{n}") && !markup.contains("{time}") && !markup.contains("{event}"), "{language:?}");
        assert_eq!((&data["line_url"], &data["state"]), (&"/_vestibule/line?queue=acme-tour".into(), &"lobby".into()));
    }
}

#[test]
fn names_in_arabic_are_isolated_but_not_in_titles() {
    let lobby = of_event(VisitorState::Lobby, EventOrder::Draw, 900.0);
    let html = page(&PageView { language: Language::Arabic, ..view(&lobby) });
    assert!(html.contains("\u{2068}Spring sale\u{2069}: \u{2068}2027-03-04 10:00 UTC\u{2069}</h1>"), "{html}");
    let title = html.split("<title>").nth(1).unwrap().split("</title>").next().unwrap();
    assert!(title.contains("Spring sale: 2027-03-04 10:00 UTC"), "{title}");
}

#[test]
fn draw_shows_the_number_and_then_the_position() {
    for language in Language::ALL {
        let draw = of_event(VisitorState::Lobby, EventOrder::Draw, -10.0);
        let html = page(&PageView { language, ..view(&draw) });
        let texts = &data(&html)["texts"];
        assert!(shows(&html, "heading", &texts["heading"]["lobby"]) && shows(&html, "lead", &texts["lead"]["lobby"]));
        assert!(shows(&html, "countdown-label", &texts["draw"]["countdown"]), "{language:?}");
        assert!(!html.contains("data-vestibule=\"countdown-row\" hidden"));
        let number = if language == Language::Arabic { "\u{2068}0.855761\u{2069}</p>" } else { "0.855761</p>" };
        assert!(html.contains(number), "{language:?}");
        let waiting = of_event(VisitorState::Waiting, EventOrder::Draw, -31.0);
        let html = page(&PageView { language, ..view(&waiting) });
        assert!(html.contains(number) && html.contains("data-vestibule=\"countdown-row\" hidden"));
        assert!(shows(&html, "order", &texts["draw"]["fair"]) && shows(&html, "hold", &texts["hold_notice"]));
        assert!(shows(&html, "reload", &texts["reload_notice"]), "{language:?}");
    }
}

#[test]
fn each_order_has_its_texts() {
    use EventOrder::{Arrival, Draw};
    use VisitorState::{Closed, Paused};
    for (state, order, group, lead) in [
        (Paused, Arrival, "event", "lobby"),
        (Paused, Draw, "draw", "ahead"),
        (Closed, Arrival, "event", "closed"),
        (Closed, Draw, "draw", "closed"),
    ] {
        let status = of_event(state, order, 900.0);
        let built_in = Themes::built_in();
        let html = match state {
            Closed => built_in.closed_page(None, &view(&status)).now_or_never().unwrap(),
            _ => page(&view(&status)),
        };
        let texts = &data(&html)["texts"];
        assert!(shows(&html, "lead", &texts[group][lead]), "{state:?} {order:?}");
    }
    let html = page(&view(&of_event(VisitorState::Waiting, Arrival, -10.0)));
    assert!(shows(&html, "order", &data(&html)["texts"]["order_notice"]));
    assert!(html.contains("target=\"_blank\" hidden>How is this fair?"));
}

#[test]
fn lobby_visitor_of_a_paused_queue_has_no_position() {
    let status = VisitorStatus { position: None, ..visitor_status(VisitorState::Paused) };
    let html = page(&view(&status));
    assert!(html.contains(">Admissions are paused. This page updates when they resume.</p>"), "{html}");
    assert!(html.contains("to stay in the draw.</li>"));
    let in_line = VisitorStatus { expires_in: Some(60), ..status };
    assert!(page(&view(&in_line)).contains("You keep your position. This page updates when admissions resume.</p>"));
}

#[test]
fn admitted_visitor_sees_the_link_and_no_position() {
    let visitor_status = visitor_status(VisitorState::Admitted);
    let page = page(&view(&visitor_status));
    assert!(page.contains("<title>● It’s your turn · Acme</title>"));
    assert!(page.contains("href=\"https:&#x2f;&#x2f;shop.example&#x2f;tickets?a=1\""));
    assert!(page.contains("content=\"2;url=https:"));
    assert!(!page.contains("1,234"));
}

#[test]
fn visitor_without_session_sees_no_position() {
    let visitor_status = VisitorStatus {
        session: None,
        support_code: None,
        position: None,
        waiting: None,
        wait_seconds: None,
        enter_url: None,
        ..visitor_status(VisitorState::Unavailable)
    };
    let page = page(&view(&visitor_status));
    assert!(page.contains("data-vestibule=\"position-section\" aria-labelledby=\"position-label\" hidden"));
    assert!(!page.contains(">none<") && !page.contains("undefined") && !page.contains("<code>"));
    assert_eq!(data(&page)["status_url"], "/_vestibule/status?queue=acme-tour");
}

#[test]
fn script_data_has_urls_and_texts() {
    let visitor_status = visitor_status(VisitorState::Waiting);
    let data = data(&page(&PageView { language: Language::Welsh, ..view(&visitor_status) }));
    let session = "6f1c2a54-9a57-408e-8043-6d7a3f0f9b11";
    assert_eq!(data["status_url"], format!("/_vestibule/status?queue=acme-tour&session={session}"));
    assert_eq!(data["away_url"], "/_vestibule/away?queue=acme-tour");
    assert_eq!(data["session"], session);
    assert_eq!(data["position"], 1234);
    assert_eq!(data["texts"]["wait"]["minutes"]["two"], "tua {n} funud");
}

#[test]
fn brand_names_are_escaped() {
    let evil = "</script><script>alert(1)</script>\" onload='x' <!--";
    for state in STATES {
        let visitor_status = VisitorStatus { enter_url: Some(format!("https://x/{evil}")), ..visitor_status(state) };
        let page = page(&PageView {
            queue_name: evil,
            brand_name: evil,
            logo: Some("/x\" onerror=\"alert(1)"),
            nonce: "a\"b",
            asset_base: evil,
            ..view(&visitor_status)
        });
        let page = page.replacen(&format!("<script>{}</script>", fallback_script()), "", 1);
        assert!(!page.contains("<script>") && !page.contains("alert(1)</"), "{state:?}");
        let markup = page.split("id=\"vestibule-data\">").next().unwrap();
        assert!(!markup.contains("\" onload") && !markup.contains("\" onerror") && !page.contains("<!--"), "{state:?}");
        assert_eq!(page.matches("</script>").count(), 2, "{state:?}");
        assert_eq!(data(&page)["brand"], evil);
    }
}

#[test]
fn only_http_urls_become_links() {
    let visitor_status =
        VisitorStatus { enter_url: Some("javascript:alert(1)".to_owned()), ..visitor_status(VisitorState::Admitted) };
    let page = page(&PageView { logo: Some("data:image/png;base64,"), ..view(&visitor_status) });
    assert!(!page.contains("javascript:") && !page.contains("data:image/png"));
}

#[test]
fn nothing_in_a_page_breaks_the_strict_policy() {
    for state in STATES {
        let visitor_status = visitor_status(state);
        let page = page(&view(&visitor_status));
        assert!(!page.contains(" style=") && !page.contains(" onclick") && !page.contains("javascript:"), "{state:?}");
        assert_eq!(page.matches("<style").count(), page.matches("<style nonce=\"n0nce\"").count());
        for (_, rest) in page.match_indices("<script").map(|(at, _)| page.split_at(at)) {
            let (tag, content) = rest.split_once('>').unwrap();
            assert!(
                tag.contains("type=\"application/json\"")
                    || tag.contains("src=\"/_vestibule/queue.js?v=")
                    || content.starts_with(&format!("{}</script>", fallback_script())),
                "{tag}"
            );
        }
    }
}

#[test]
fn style_sheet_uses_logical_properties() {
    let css = include_str!("../../built-in/page.css").replace("line-height:", "");
    for physical in [
        "-left",
        "-right",
        "{left",
        ";left",
        "{right",
        ";right",
        "margin-top",
        "margin-bottom",
        "padding-top",
        "padding-bottom",
        " width:",
        ";width:",
        "height:",
    ] {
        assert!(!css.contains(physical), "{physical}");
    }
}

#[test]
fn a_page_with_its_script_stays_small() {
    for language in Language::ALL {
        for state in STATES {
            let visitor_status = visitor_status(state);
            let page = page(&PageView { language, ..view(&visitor_status) });
            let total = zipped(page.as_bytes()) + zipped(&queue_script().bytes);
            assert!(total <= 16 * 1024, "{language:?} {state:?}: {total}");
        }
    }
}

#[test]
fn plain_pages_speak_every_language() {
    for page in ErrorPage::ALL {
        for language in Language::ALL {
            let html = Themes::plain_page(page, language, "n0nce", Some(503));
            assert!(html.contains(&format!("<html lang=\"{}\"", language.code())), "{page:?}");
            assert!(html.contains("<h1>"), "{page:?} {language:?}");
        }
    }
}

#[test]
fn pages_that_may_pass_retry_automatically() {
    let seconds = ErrorPage::RETRY_SECONDS;
    let refresh = format!("<noscript><meta http-equiv=\"refresh\" content=\"{seconds}\"></noscript>");
    for page in ErrorPage::ALL {
        let status = match page {
            ErrorPage::OriginDown | ErrorPage::OriginSlow | ErrorPage::Unavailable => ",\"status\":508",
            _ => "",
        };
        let data = format!("{{\"refresh_seconds\":{seconds}{status}}}");
        let script = if status.is_empty() { fallback_script() } else { retry_script() };
        let script = format!("{data}</script>\n<script>{script}</script>");
        let html = Themes::plain_page(page, Language::English, "n0nce", Some(508));
        for retry in [&refresh, &script] {
            assert_eq!(html.contains(retry), page.retries(), "{page:?}: {html}");
        }
        let after_a_form = Themes::plain_page(page, Language::English, "n0nce", None);
        assert!(!after_a_form.contains("http-equiv") && !after_a_form.contains("<script"), "{page:?}");
    }
    let html = Themes::plain_page(ErrorPage::Unavailable, Language::English, "n0nce", Some(429));
    assert!(html.contains("Keep this page open: it retries automatically"), "{html}");
}

#[test]
fn error_page_shows_brand_and_session_hold() {
    let visitor_status = visitor_status(VisitorState::Admitted);
    let code = format!("<code>{}</code>", visitor_status.support_code.as_ref().unwrap());
    for language in Language::ALL {
        for page in [ErrorPage::OriginDown, ErrorPage::OriginSlow] {
            let view = PageView { language, kept_seconds: Some(540), ..view(&visitor_status) };
            let html = Themes::built_in().error_page(None, page, 502, &view).now_or_never().unwrap();
            assert!(html.contains("Acme") && html.contains(" 9") && html.contains(&code), "{language:?} {page:?}");
            assert!(html.contains("http-equiv=\"refresh\" content=\"10\""));
            assert!(!html.contains("{brand}"), "{language:?} {page:?}");
        }
    }
    let outside = PageView { kept_seconds: None, refresh_seconds: 0, ..view(&visitor_status) };
    let html = Themes::built_in().error_page(None, ErrorPage::OriginDown, 502, &outside).now_or_never().unwrap();
    assert!(!html.contains("You’re admitted") && !html.contains("http-equiv") && !html.contains("<script"), "{html}");
    let short = PageView { kept_seconds: Some(59), ..view(&visitor_status) };
    let html = Themes::built_in().error_page(None, ErrorPage::OriginDown, 502, &short).now_or_never().unwrap();
    assert!(!html.contains("You’re admitted"), "a minute would be too long: {html}");
}

#[test]
fn a_form_without_a_response_is_not_said_to_be_retried() {
    let visitor_status = visitor_status(VisitorState::Admitted);
    for language in Language::ALL {
        for page in [ErrorPage::OriginDown, ErrorPage::OriginSlow] {
            let [form, link] = [0, 10].map(|refresh_seconds| {
                let view = PageView { language, refresh_seconds, ..view(&visitor_status) };
                Themes::built_in().error_page(None, page, 502, &view).now_or_never().unwrap()
            });
            let lead =
                |html: &str| html.split("<p class=\"lead\">").nth(1).unwrap().split("</p>").next().unwrap().to_owned();
            assert!(lead(&form).contains("Acme") && lead(&form) != lead(&link), "{language:?} {page:?}");
            let has_button = |html: &str| html.contains("class=\"button\"");
            assert!(!has_button(&form) && has_button(&link), "{language:?} {page:?}");
        }
    }
    let html = Themes::plain_page(ErrorPage::NotProcessed, Language::English, "n0nce", None);
    assert!(html.contains(">Go back, and try again later.</p>") && !html.contains("class=\"button\""), "{html}");
}

#[test]
fn unavailable_newcomer_sees_no_position() {
    let visitor_status = VisitorStatus {
        session: None,
        support_code: None,
        position: None,
        ..visitor_status(VisitorState::Unavailable)
    };
    let html = page(&view(&visitor_status));
    assert!(html.contains(">One moment</h1>") && html.contains("you join the line when it is available"));
    assert!(html.contains("data-vestibule=\"hold-notice\" hidden"), "{html}");
    assert!(page(&view(&self::visitor_status(VisitorState::Unavailable))).contains(">Reconnecting</h1>"));
}

#[test]
fn rejoining_visitor_sees_the_reason() {
    use vestibule_core::EndReason::{Ended, Expired, Reset};
    for (reason, text) in [(Ended, "has ended"), (Expired, "away for too long"), (Reset, "was reset")] {
        let visitor_status = VisitorStatus { reason: Some(reason), ..visitor_status(VisitorState::Waiting) };
        assert!(page(&view(&visitor_status)).contains(text), "{reason:?}");
        let shown = "data-vestibule=\"reason\">";
        assert!(page(&view(&visitor_status)).contains(shown), "{reason:?}");
        let newcomer = VisitorStatus { session: None, support_code: None, position: None, ..visitor_status };
        assert!(!page(&view(&newcomer)).contains(shown), "{reason:?}: nobody has joined");
    }
    assert!(!page(&view(&visitor_status(VisitorState::Waiting))).contains("data-vestibule=\"reason\""));
}

#[test]
fn message_has_the_language_of_its_text() {
    for (message_language, lang) in [(Some("de-AT".to_owned()), "de-AT"), (None, "")] {
        let message = Some("Sold out.".to_owned());
        let status = VisitorStatus { message, message_language, ..visitor_status(VisitorState::Waiting) };
        let view = PageView { language: Language::Arabic, ..view(&status) };
        let closed = Themes::built_in().closed_page(None, &view).now_or_never().unwrap();
        for html in [page(&view), closed] {
            assert!(html.contains(&format!(" lang=\"{lang}\">Sold out.</p>")), "{lang}: {html}");
        }
    }
}

#[test]
fn visitors_with_a_short_wait_see_that_they_are_next() {
    for (p90, next) in [(Some(0), true), (Some(180), true), (Some(181), false), (None, false)] {
        let wait_seconds = p90.map(|p90| WaitSeconds { p50: p90 / 2, p90 });
        let visitor_status = VisitorStatus { position: Some(1), wait_seconds, ..visitor_status(VisitorState::Waiting) };
        assert_eq!(page(&view(&visitor_status)).contains(">It’s almost your turn."), next, "{p90:?}");
    }
}

#[test]
fn closed_page_shows_the_hold_time() {
    let visitor_status = VisitorStatus { position: None, ..visitor_status(VisitorState::Closed) };
    let html = page(&PageView { kept_seconds: Some(420), ..view(&visitor_status) });
    assert!(html.contains(">We keep your position for 7 minutes.<"), "{html}");
    assert_eq!(data(&html)["kept_seconds"], 420);
    for kept_seconds in [None, Some(59)] {
        let html = page(&PageView { kept_seconds, ..view(&visitor_status) });
        assert!(!html.contains("We keep your position for"), "{kept_seconds:?}");
    }
}

#[test]
fn wrong_code_is_in_the_title_and_its_field_has_the_focus() {
    let visitor_status = VisitorStatus { position: None, ..visitor_status(VisitorState::InvitationRequired) };
    let asked = page(&view(&visitor_status));
    let wrong = page(&PageView { code_wrong: true, ..view(&visitor_status) });
    assert!(
        wrong.contains("<title>This code is not valid for this queue. Check the code and try again. · Acme</title>")
    );
    assert!(wrong.contains(" autofocus aria-invalid=\"true\"") && !asked.contains("autofocus"), "{wrong}");
    assert!(asked.contains("<title>An invitation is required · Acme</title>"), "{asked}");
}

#[test]
fn too_large_response_names_the_limit() {
    for language in Language::ALL {
        let html = Themes::plain_page(ErrorPage::ResponseTooLarge { limit_mib: 6 }, language, "n0nce", Some(502));
        assert!(html.contains(" 6 ") && !html.contains("{n}"), "{language:?}");
    }
}

#[test]
fn closed_page_has_no_position() {
    let visitor_status = visitor_status(VisitorState::Waiting);
    let page = Themes::built_in().closed_page(None, &view(&visitor_status)).now_or_never().unwrap();
    assert!(page.contains("data-state=\"closed\"") && page.contains("Closed for now"));
    assert!(!page.contains("1,234"));
}

#[test]
fn languages_can_be_chosen_on_waiting_and_closed_pages() {
    for state in STATES {
        let visitor_status = VisitorStatus { enter_url: Some("/a?b=1&c".to_owned()), ..visitor_status(state) };
        let html = page(&PageView { language: Language::Arabic, ..view(&visitor_status) });
        assert!(html.contains("<form class=\"language\" action=\"/_vestibule/language\""), "{state:?}");
        assert!(html.contains("name=\"return\" value=\"&#x2f;a?b=1&amp;c\""), "{html}");
        assert_eq!(html.matches("<option").count(), Language::ALL.len());
        assert!(html.contains("<option value=\"ar\" lang=\"ar\" selected>العربية</option>"));
        assert_eq!(html.matches(" selected>").count(), 1);
    }
}

#[test]
fn page_of_a_running_job_asks_for_its_state() {
    let visitor_status = visitor_status(VisitorState::Admitted);
    for news in JobNews::ALL {
        let status_url = Some("/_vestibule/jobs/orders/0NPWV1MDQB2X");
        let job = JobPage { news, code: "0NPWV1-MDQB2X", url: None, status_url, details: &JobDetails::default() };
        let html = Themes::built_in().job_page(None, &job, &view(&visitor_status)).now_or_never().unwrap();
        assert_eq!(
            html.contains("\"status_url\":\"/_vestibule/jobs/orders/0NPWV1MDQB2X\""),
            news.is_running(),
            "{news:?}"
        );
        assert_eq!(html.contains(job_script()), news.is_running(), "{news:?}");
        assert_eq!(html.contains("\"is_retrying\":true"), news == JobNews::OrderRetrying, "{news:?}");
        let reload = "<noscript><meta http-equiv=\"refresh\" content=\"20\"></noscript>";
        assert_eq!(html.contains(reload), news.is_running(), "{news:?}");
        assert!(html.contains("data-vestibule=\"job-position-row\" hidden"), "{html}");
    }
}

/// A visitor who is asked for a code sees one code.
#[test]
fn page_that_asks_for_the_code_of_a_job_has_no_support_code() {
    let visitor_status =
        VisitorStatus { support_code: Some("7QK2-M0XV".to_owned()), ..visitor_status(VisitorState::Admitted) };
    for news in JobNews::ALL {
        let job = JobPage { news, code: "0NPWV1-MDQB2X", url: None, status_url: None, details: &JobDetails::default() };
        let html = Themes::built_in().job_page(None, &job, &view(&visitor_status)).now_or_never().unwrap();
        assert_ne!(html.contains("0NPWV1-MDQB2X"), html.contains("7QK2-M0XV"), "{news:?}");
    }
}

#[test]
fn page_of_a_job_shows_position_and_progress() {
    let visitor_status = visitor_status(VisitorState::Admitted);
    let details = JobDetails {
        position: Some(1_234),
        progress: Some("<b>Seat</b>".to_owned()),
        response: Some("Thank & you".to_owned()),
    };
    for language in Language::ALL {
        let job = JobPage { news: JobNews::JobQueued, code: "", url: None, status_url: None, details: &details };
        let view = PageView { language, ..view(&visitor_status) };
        let html = Themes::built_in().job_page(None, &job, &view).now_or_never().unwrap();
        assert!(html.contains("data-vestibule=\"job-position-row\">"), "{html}");
        for escaped in ["&lt;b&gt;Seat&lt;", "Thank &amp; you"] {
            assert!(html.contains(escaped), "{language:?} {html}");
        }
    }
}

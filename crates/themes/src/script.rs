//! The two scripts, and the data block that the queue page's script reads.

use std::sync::LazyLock;

use bytes::Bytes;
use serde::Serialize;
use vestibule_core::{QueueId, SessionId, VisitorState, VisitorStatus, WaitSeconds};

use crate::asset::{Asset, content_hash};
use crate::context::NEXT_BELOW;
use crate::texts::{PageText, Plural, StateTexts, Texts, WaitTemplates, texts};
use crate::view::{BASE_PATH, PageView};

static QUEUE: LazyLock<Asset> = LazyLock::new(|| script(include_str!("../built-in/queue.js")));
static KEEPALIVE: LazyLock<Asset> = LazyLock::new(|| script(include_str!("../built-in/keepalive.js")));
static QUEUE_TAG: LazyLock<String> = LazyLock::new(|| {
    let version = content_hash(&queue_script().bytes);
    format!(r#"<script src="{BASE_PATH}/queue.js?v={version}" defer></script>"#)
});

/// The queue page's script, `/_vestibule/queue.js`. Its URL contains a content hash, so it can be cached forever.
#[must_use]
pub fn queue_script() -> &'static Asset {
    &QUEUE
}

/// The script that a site embeds, `/_vestibule/keepalive.js`. Its URL never changes, so caches must revalidate it.
#[must_use]
pub fn keepalive_script() -> &'static Asset {
    &KEEPALIVE
}

fn script(source: &str) -> Asset {
    let bytes = Bytes::from(minify(source));
    Asset {
        content_type: "text/javascript; charset=utf-8",
        etag: format!("\"{}\"", content_hash(&bytes)),
        bytes,
        immutable: false,
    }
}

/// Removes indentation and comment lines. Scripts and style sheet have no multi-line strings, so nothing else changes.
pub(crate) fn minify(source: &str) -> String {
    let lines = source.lines().map(str::trim);
    let kept = lines.filter(|line| !line.is_empty() && !line.starts_with("//") && !line.starts_with("/*"));
    kept.collect::<Vec<_>>().join("\n")
}

/// The data of the page's script.
#[derive(Serialize)]
struct Data<'a> {
    lang: &'static str,
    queue: &'a QueueId,
    session: Option<SessionId>,
    state: VisitorState,
    position: Option<u64>,
    waiting: Option<u64>,
    wait_seconds: Option<WaitSeconds>,
    poll_after: u64,
    enter_url: &'a str,
    status_url: String,
    away_url: String,
    leave_url: String,
    /// Seconds for which a hidden tab holds an admission.
    hold_admission: u64,
    kept_seconds: Option<u64>,
    next_below: u64,
    brand: &'a str,
    name: &'a str,
    texts: DataTexts<'a>,
}

#[derive(Serialize)]
struct DataTexts<'a> {
    heading: &'a StateTexts,
    lead: &'a StateTexts,
    position_label: &'a str,
    wait_label: &'a str,
    wait: &'a WaitTemplates,
    behind: &'a Plural,
    behind_none: &'a str,
    next: &'a str,
    newcomer: &'a PageText,
    left: &'a PageText,
    leave_confirm: &'a str,
    notify_on: &'a str,
    last_updated: &'a str,
    position_kept_until: &'a str,
}

/// The data block and the script tag.
pub(crate) fn tags(view: &PageView<'_>) -> String {
    let data = Data::of(view, &texts(view.language).texts);
    let json = serde_json::to_string(&data).unwrap_or_default();
    format!("<script type=\"application/json\" id=\"vestibule-data\">{}</script>\n{}", inert(&json), *QUEUE_TAG)
}

/// JSON that cannot end its element or begin a comment.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

impl<'a> Data<'a> {
    fn of(view: &'a PageView<'_>, texts: &'a Texts) -> Self {
        let VisitorStatus { queue, session, state, position, waiting, wait_seconds, poll_after, .. } =
            view.visitor_status;
        let status = format!("{BASE_PATH}/status?queue={queue}");
        Self {
            lang: view.language.code(),
            queue,
            session: *session,
            state: *state,
            position: *position,
            waiting: *waiting,
            wait_seconds: *wait_seconds,
            poll_after: *poll_after,
            enter_url: view.enter_url(),
            status_url: session.map_or(status.clone(), |session| format!("{status}&session={session}")),
            away_url: format!("{BASE_PATH}/away?queue={queue}"),
            leave_url: format!("{BASE_PATH}/leave?queue={queue}"),
            hold_admission: view.claim_seconds / 2,
            kept_seconds: view.kept_seconds,
            next_below: NEXT_BELOW,
            brand: view.brand(),
            name: view.queue_name,
            texts: DataTexts {
                heading: &texts.heading,
                lead: &texts.lead,
                position_label: &texts.position_label,
                wait_label: &texts.wait_label,
                wait: &texts.wait,
                behind: &texts.behind,
                behind_none: &texts.behind_none,
                next: &texts.next,
                newcomer: &texts.newcomer,
                left: &texts.left,
                leave_confirm: &texts.leave_confirm,
                notify_on: &texts.notify_on,
                last_updated: &texts.last_updated,
                position_kept_until: &texts.position_kept_until,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minify_removes_indentation_and_comments() {
        assert_eq!(minify("// a\n  let x = 1; // b\n\n/* c */\n\ty()\n"), "let x = 1; // b\ny()");
    }

    #[test]
    fn keepalive_script_stays_small() {
        let mut sent = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut sent, &keepalive_script().bytes).unwrap();
        let sent = sent.finish().unwrap().len();
        assert!(sent <= 2048, "{sent}");
    }

    #[test]
    fn json_in_a_page_cannot_end_its_element() {
        assert_eq!(inert("\"</script><!--&\""), "\"\\u003c/script\\u003e\\u003c!--\\u0026\"");
    }
}

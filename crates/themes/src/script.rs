//! The scripts of the pages and of sites, and the data blocks that they read.

use std::sync::LazyLock;

use bytes::Bytes;
use serde::Serialize;
use vestibule_core::{EventStatus, JoinStep, QueueId, SessionId, VisitorState, VisitorStatus, WaitSeconds};

use crate::asset::{Asset, content_hash};
use crate::hold::{NEXT_WITHIN, hold_notices};
use crate::texts::{DrawTexts, EventTexts, PageText, Plural, StateTexts, Texts, WaitTemplates, texts};
use crate::view::{BASE_PATH, JOB_POLL_SECONDS, JobNews, JobPage, PageView};

static QUEUE: LazyLock<Asset> = LazyLock::new(|| script(include_str!("../built-in/queue.js")));
static FALLBACK: LazyLock<String> = LazyLock::new(|| minify_script(include_str!("../built-in/fallback.js")));
static RETRY: LazyLock<String> = LazyLock::new(|| minify_script(include_str!("../built-in/retry.js")));
static JOB: LazyLock<String> = LazyLock::new(|| minify_script(include_str!("../built-in/job.js")));
static KEEPALIVE: LazyLock<Asset> = LazyLock::new(|| script(include_str!("../built-in/keepalive.js")));
static QUEUE_TAG: LazyLock<String> = LazyLock::new(|| {
    let version = queue_script_version();
    format!(r#"<script src="{BASE_PATH}/queue.js?v={version}" defer></script>"#)
});

/// The queue page's script, `/_vestibule/queue.js`. With [`queue_script_version`] in its URL it can be cached forever.
pub fn queue_script() -> &'static Asset {
    &QUEUE
}

/// The hash of the queue page's script.
pub fn queue_script_version() -> &'static str {
    queue_script().etag.trim_matches('"')
}

/// The inline script that reloads the page of a rejection, and the queue page if [`queue_script`] does not run. The page's policy
/// allows it by its hash.
pub fn fallback_script() -> &'static str {
    &FALLBACK
}

/// The inline script that reloads an error page once there is another answer. The page's policy allows it by its hash.
pub fn retry_script() -> &'static str {
    &RETRY
}

/// The inline script of the page of a job that runs. The page's policy allows it by its hash.
pub fn job_script() -> &'static str {
    &JOB
}

/// The script that a site embeds, `/_vestibule/keepalive.js`. Its URL never changes, so caches must revalidate it.
pub fn keepalive_script() -> &'static Asset {
    &KEEPALIVE
}

fn script(source: &str) -> Asset {
    let bytes = Bytes::from(minify_script(source));
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

/// The same without spaces around operators, inside braces and after commas.
fn minify_script(source: &str) -> String {
    minify(source).lines().map(tighten).collect::<Vec<_>>().join("\n")
}

/// Removes the spaces around words that are operators, after `{` and `,`, and before `}`. No string of the scripts has such spaces.
fn tighten(line: &str) -> String {
    let is_operator = |word: &str| !word.is_empty() && word.bytes().all(|byte| b"=+-*/<>!?:&|%{}".contains(&byte));
    let mut tight = String::with_capacity(line.len());
    let mut words = line.split(' ');
    let mut before = words.next().unwrap_or_default();
    tight.push_str(before);
    for word in words {
        let is_tight =
            is_operator(before) || is_operator(word) || before.ends_with(['{', ',']) || word.starts_with('}');
        if !is_tight {
            tight.push(' ');
        }
        tight.push_str(word);
        before = word;
    }
    tight
}

/// Seconds after which a page with a form for a code reloads without its script: not while the visitor types.
const CODE_REFRESH: u64 = 3_600;

/// The data of the page's script.
#[derive(Serialize)]
struct Data<'a> {
    lang: &'static str,
    queue: &'a QueueId,
    session: Option<SessionId>,
    state: VisitorState,
    joined_at: Option<u64>,
    position: Option<u64>,
    waiting: Option<u64>,
    wait_seconds: Option<WaitSeconds>,
    event: Option<&'a EventStatus>,
    revision: Option<u64>,
    poll_after: u64,
    join: Option<&'a JoinStep>,
    enter_url: &'a str,
    status_url: String,
    stream_url: Option<String>,
    line_url: String,
    away_url: String,
    leave_url: String,
    join_url: String,
    /// Seconds until the session expires without another visit; `None` in the lobby.
    expires_in: Option<u64>,
    kept_seconds: Option<u64>,
    /// How long an absent visitor's position is kept, in seconds.
    hold_seconds: u64,
    /// Seconds after which the page reloads if its script does not run.
    refresh_seconds: u64,
    /// [`NEXT_WITHIN`].
    next: u64,
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
    pre_ticket: &'a str,
    prove: &'a str,
    prove_later: &'a str,
    left: &'a PageText,
    reserved: &'a str,
    expired: &'a PageText,
    event: &'a EventTexts,
    draw: &'a DrawTexts,
    hold_notice: String,
    draw_hold_notice: String,
    reload_notice: &'a str,
    order_notice: &'a str,
    leave_confirm: &'a str,
    notify_on: &'a str,
    notify_unsupported: &'a str,
    last_updated: &'a str,
    position_kept_until: &'a str,
    offline_notice: &'a str,
    unreachable_notice: &'a str,
}

/// The data block and the script tags.
pub(crate) fn tags(view: &PageView<'_>) -> String {
    let data = Data::of(view, &texts(view.language).texts);
    let json = serde_json::to_string(&data).unwrap_or_default();
    let (data, fallback) = (inert(&json), fallback_script());
    format!(
        "<script type=\"application/json\" id=\"vestibule-data\">{data}</script>\n<script>{fallback}</script>\n{}",
        *QUEUE_TAG
    )
}

/// The data block and the script of an error page, which renew it after this time, or once its address has another status than this
/// one; empty if it stays as it is.
pub(crate) fn retry_tags(refresh_seconds: u64, watched_status: Option<u16>) -> String {
    if refresh_seconds == 0 {
        return String::new();
    }
    let status = watched_status.map(|status| format!(",\"status\":{status}")).unwrap_or_default();
    let script = if watched_status.is_some() { retry_script() } else { fallback_script() };
    format!(
        "<script type=\"application/json\" id=\"vestibule-data\">{{\"refresh_seconds\":{refresh_seconds}{status}}}</script>\n\
         <script>{script}</script>"
    )
}

/// The data of the script of a job's page.
#[derive(Serialize)]
struct JobData<'a> {
    lang: &'static str,
    status_url: &'a str,
    keepalive_url: String,
    poll_after: u64,
    is_order: bool,
    /// Whether the page says that the order is sent again.
    is_retrying: bool,
}

/// The data block and the script of the page of a job; empty if the page stays as it is.
pub(crate) fn job_tags(page: &JobPage<'_>, view: &PageView<'_>) -> String {
    let Some(status_url) = page.status_url.filter(|_| page.news.is_running()) else { return String::new() };
    let data = JobData {
        lang: view.language.code(),
        status_url,
        keepalive_url: format!("{BASE_PATH}/keepalive?queue={}", view.visitor_status.queue),
        poll_after: JOB_POLL_SECONDS,
        is_order: page.news != JobNews::JobQueued,
        is_retrying: page.news == JobNews::OrderRetrying,
    };
    let data = inert(&serde_json::to_string(&data).unwrap_or_default());
    let script = job_script();
    format!("<script type=\"application/json\" id=\"vestibule-job\">{data}</script>\n<script>{script}</script>")
}

/// JSON that cannot end its element or begin a comment.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

impl<'a> Data<'a> {
    fn of(view: &'a PageView<'_>, texts: &'a Texts) -> Self {
        let VisitorStatus {
            queue,
            session,
            state,
            joined_at,
            position,
            waiting,
            wait_seconds,
            expires_in,
            poll_after,
            event,
            revision,
            join,
            ..
        } = view.visitor_status;
        let invitation = view.invitation.map(|pair| format!("&{pair}")).unwrap_or_default();
        let status = format!("{BASE_PATH}/status?queue={queue}{invitation}");
        let [hold_notice, draw_hold_notice] = hold_notices(view);
        Self {
            lang: view.language.code(),
            queue,
            session: *session,
            state: *state,
            joined_at: *joined_at,
            position: *position,
            waiting: *waiting,
            wait_seconds: *wait_seconds,
            event: event.as_ref(),
            revision: *revision,
            poll_after: *poll_after,
            join: join.as_ref(),
            enter_url: view.enter_url(),
            status_url: session.map_or(status.clone(), |session| format!("{status}&session={session}")),
            stream_url: view.stream_url.map(|path| format!("{path}?queue={queue}")),
            line_url: view.line_url(),
            away_url: format!("{BASE_PATH}/away?queue={queue}"),
            leave_url: format!("{BASE_PATH}/leave?queue={queue}"),
            join_url: format!("{BASE_PATH}/join?queue={queue}"),
            expires_in: *expires_in,
            kept_seconds: view.kept_seconds,
            hold_seconds: view.hold_seconds,
            refresh_seconds: if view.asks_for_code() { CODE_REFRESH } else { view.refresh_seconds },
            next: NEXT_WITHIN,
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
                pre_ticket: &texts.pre_ticket,
                prove: &texts.prove,
                prove_later: &texts.prove_later,
                left: &texts.left,
                reserved: &texts.reserved,
                expired: &texts.expired,
                event: &texts.event,
                draw: &texts.draw,
                hold_notice,
                draw_hold_notice,
                reload_notice: &texts.reload_notice,
                order_notice: &texts.order_notice,
                leave_confirm: &texts.leave_confirm,
                notify_on: &texts.notify_on,
                notify_unsupported: &texts.notify_unsupported,
                last_updated: &texts.last_updated,
                position_kept_until: &texts.position_kept_until,
                offline_notice: &texts.offline_notice,
                unreachable_notice: &texts.unreachable_notice,
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
    fn spaces_that_a_script_does_not_need_are_removed() {
        let line = "const f = ({ a }, b) => a > 1 ? -a : { b: 'c d' };";
        assert_eq!(tighten(line), "const f=({a},b)=>a>1?-a:{b: 'c d'};");
    }

    #[test]
    fn strings_of_scripts_stay_as_they_are() {
        let sources = ["queue", "fallback", "retry", "job", "keepalive"];
        let scripts = [
            include_str!("../built-in/queue.js"),
            include_str!("../built-in/fallback.js"),
            include_str!("../built-in/retry.js"),
            include_str!("../built-in/job.js"),
            include_str!("../built-in/keepalive.js"),
        ];
        for (name, script) in sources.into_iter().zip(scripts.map(minify)) {
            for string in script.lines().flat_map(|line| line.split('\'').skip(1).step_by(2)) {
                assert_eq!(tighten(&format!("x{string}x")), format!("x{string}x"), "{name}");
            }
            // `a - -b` would become another operator.
            for operator in ["++", "--"] {
                let tight = minify_script(&script);
                assert_eq!(tight.matches(operator).count(), script.matches(operator).count(), "{name}: {operator}");
            }
        }
    }

    #[test]
    fn keepalive_script_stays_small() {
        let mut sent = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut sent, &keepalive_script().bytes).unwrap();
        let sent = sent.finish().unwrap().len();
        // A third of it are the texts of fifteen languages.
        assert!(sent <= 2816, "{sent}");
    }

    #[test]
    fn json_in_a_page_cannot_end_its_element() {
        assert_eq!(inert("\"</script><!--&\""), "\"\\u003c/script\\u003e\\u003c!--\\u0026\"");
    }
}

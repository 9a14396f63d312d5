//! `vestibule check`.

use vestibule_tests::Program;

use super::{SettingsFile, now, run, sale, settings};

#[tokio::test]
async fn valid_file_is_summarized() {
    let file = SettingsFile::of(&settings("https://www.example.com", "quota = 500\nadmissions_per_minute = 60"));
    let (status, said) = run(&["check", &file.shown()]).await;
    assert_eq!(status, 0, "{said}");
    for words in [
        "tour: tickets.example.com",
        "quota 500",
        "60 admissions per minute",
        "https://www.example.com",
        "is valid: 1 tenant, 1 queue",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("warning"), "{said}");
}

#[tokio::test]
async fn all_errors_are_reported_by_line_and_field() {
    let lines = "quota = -1\nmode = \"opne\"\nqouta = 5\nwaiting_ttl = \"long\"\n[[queues.rules]]\naction = \"bypass\"\npath = \"static\"";
    let file = SettingsFile::of(&settings("ftp://x", lines));
    let (status, said) = run(&["check", &file.shown()]).await;
    assert_eq!(status, 1, "{said}");
    let shown = file.shown();
    for (line, field) in [
        (10, "queues[0].handover.origin"),
        (12, "queues[0].quota"),
        (13, "queues[0].mode"),
        (14, "queues[0].qouta"),
        (15, "queues[0].waiting_ttl"),
        (18, "queues[0].rules[0].path"),
    ] {
        assert!(said.contains(&format!("{shown}:{line}: {field}: ")), "{field} at line {line}: {said}");
    }
    assert_eq!(said.lines().count(), 6, "{said}");

    let text = settings(
        "ftp://x",
        "quota = 1\n[[queues]]\nid = \"tour\"\ntenant = \"nobody\"\nhosts = [\"a.example.com\"]\nquota = 1\nhandover = { kind = \"check\" }",
    );
    let file = SettingsFile::of(&text);
    let (_, said) = run(&["check", &file.shown()]).await;
    for field in ["queues[0].handover.origin", "queues[1].id: is already used", "queues[1].tenant: is not a tenant"] {
        assert!(said.contains(field), "{field}: {said}");
    }
}

#[tokio::test]
async fn text_that_cannot_be_written_is_a_failure() {
    let file = SettingsFile::of(&settings("https://www.example.com", "quota = 500"));
    let mut program = Program::vestibule(&["check", &file.shown()]).on_full_device().start();
    assert_eq!(program.end().await.code(), Some(1));
    assert!(program.log().contains("vestibule: cannot write to stdout: No space left"), "{}", program.log());
}

#[tokio::test]
async fn suspicious_modes_and_quotas_are_warnings() {
    for (lines, words) in [
        ("quota = 0", "quota is 0: nobody is admitted"),
        ("quota = 5\nmode = \"paused\"", "nobody is admitted"),
        ("quota = 5\nmode = \"closed\"", "nobody joins"),
        ("quota = 5\nmode = \"draining\"", "the queue closes"),
        ("quota = 5\nmode = \"bypass\"", "all visitors continue"),
    ] {
        let file = SettingsFile::of(&settings("https://www.example.com", lines));
        let (status, said) = run(&["check", &file.shown()]).await;
        assert_eq!(status, 0, "{said}");
        assert!(said.contains("warning: ") && said.contains(words), "{words}: {said}");
    }
}

#[tokio::test]
async fn redirect_to_another_site_is_a_warning() {
    for (origin, is_warned) in [("https://www.example.com", false), ("https://www.example.org", true)] {
        let proxied = settings(origin, "quota = 5");
        for (lines, is_warned) in [(proxied.replace("\"proxy\"", "\"redirect\""), is_warned), (proxied, false)] {
            let file = SettingsFile::of(&lines);
            let (status, said) = run(&["check", &file.shown()]).await;
            let words = "another site than tickets.example.com";
            assert_eq!((status, said.contains("warning"), said.contains(words)), (0, is_warned, is_warned), "{said}");
        }
    }
}

#[tokio::test]
async fn events_are_listed_in_utc_and_local_time() {
    let event = |lines: &str| {
        format!(
            "{lines}\n[[queues.events]]\nid = \"sale\"\nlobby_at = 2099-03-04T10:30:00+01:00\n\
             starts_at = 2099-03-04T10:00:00Z\nends_at = 2099-03-04T14:00:00Z"
        )
    };
    let checked = async |lines: String| {
        let file = SettingsFile::of(&settings("https://www.example.com", &lines));
        let mut program = Program::vestibule(&["check", &file.shown()]).env("TZ", "Asia/Kathmandu").start();
        let status = program.end().await;
        assert_eq!(status.code(), Some(0), "{}", program.log());
        program.log()
    };
    let said = checked(event("quota = 5\nmode = \"scheduled\"")).await;
    let line = "event sale: lobby 2099-03-04T09:30:00Z (2099-03-04 15:15:00 +05:45), \
                start 2099-03-04T10:00:00Z (2099-03-04 15:45:00 +05:45), end 2099-03-04T14:00:00Z (2099-03-04 19:45:00 +05:45)";
    assert!(said.contains(line) && !said.contains("warning"), "{said}");
    assert!(said.contains("draw of 30 s, sale key as stored, or the first if it is new"), "{said}");
    let said = checked(event("quota = 0") + "\nsuspended = true").await;
    assert!(said.contains("event sale, suspended: lobby ") && !said.contains("event \"sale\":"), "{said}");
}

#[tokio::test]
async fn protection_that_affects_other_visitors_is_a_warning() {
    let enforced = "quota = 5\n[queues.protection]\nmode = \"enforce\"\non_exceed = \"reject\"\n";
    let shared = format!("{enforced}[queues.protection.networks]\n\"203.0.113.0/24\" = \"shared\"");
    let unlimited = format!("{enforced}per_address = \"none\"\nper_network = \"none\"");
    let age = "quota = 5\nhold_ttl = 60\n[queues.protection]\npre_ticket_max_age = 90";
    for (lines, words) in [
        (enforced, Some("no network is \"shared\"")),
        (&shared, None),
        (&unlimited, None),
        (age, Some("protection.pre_ticket_max_age is 90 and hold_ttl is 60")),
    ] {
        let ordinary = "protection = { pre_ticket_from = \"none\" }\n";
        let file = SettingsFile::of(&settings("https://www.example.com", lines).replace(ordinary, ""));
        let (status, said) = run(&["check", &file.shown()]).await;
        assert_eq!((status, said.contains("warning: ")), (0, words.is_some()), "{lines}: {said}");
        assert!(said.contains(words.unwrap_or_default()), "{lines}: {said}");
    }
}

#[tokio::test]
async fn events_that_will_not_take_place_are_warnings() {
    let past = sale(now() - 7200, now() - 7000);
    for (lines, words) in [
        (
            format!("quota = 5\n{}", sale(now() + 100, now() + 200)),
            "event \"sale\": the event has no effect unless the mode is \"scheduled\"",
        ),
        (
            format!("quota = 0\nmode = \"scheduled\"\n{}", sale(now() + 100, now() + 200)),
            "event \"sale\": the quota is 0: nobody is admitted",
        ),
        (format!("quota = 5\nmode = \"scheduled\"\n{past}"), "event \"sale\": the event is in the past"),
        (
            format!("quota = 5\nmode = \"scheduled\"\n{past}"),
            "mode is \"scheduled\" and no event is ahead: all visitors continue, whatever the quota",
        ),
        (
            "quota = 5\nmode = \"scheduled\"\nbetween_events = \"closed\"".to_owned(),
            "mode is \"scheduled\" and no event is ahead: nobody joins",
        ),
    ] {
        let file = SettingsFile::of(&settings("https://www.example.com", &lines));
        let (status, said) = run(&["check", &file.shown()]).await;
        assert_eq!(status, 0, "{said}");
        assert!(said.contains("warning: ") && said.contains(words), "{words}: {said}");
    }
}

#[tokio::test]
async fn missing_sale_keys_are_reported() {
    let drawn = sale(now() + 100, now() + 200).replace("\"arrival\"", "\"draw\"\nkey = \"s1\"");
    let batch = "[[queues.invitations]]\nid = \"fans\"\nnumber = 1\ncount = 10\nkey = \"s1\"\n";
    let key = "A".repeat(43);
    for (lines, what, field) in [
        (drawn.as_str(), "event \"sale\"", "tour.events[0].key"),
        (batch, "invitations \"fans\"", "tour.invitations[0].key"),
    ] {
        let file = SettingsFile::of(&settings(
            "https://www.example.com",
            &format!("quota = 5\nmode = \"scheduled\"\n{lines}"),
        ));
        let shown = file.shown();
        let checked = async |keys: &str| run(&["check", &shown, "--sale-keys", keys]).await;
        let (status, said) = run(&["check", &shown]).await;
        let warning = format!("warning: {what}: serve needs the sale key \"s1\"");
        assert_eq!((status, said.contains(&warning)), (0, true), "{said}");
        let (status, said) = checked(&format!("s2:{key}")).await;
        assert_eq!((status, said.contains(&format!("error: {field}: "))), (1, true), "{said}");
        let (status, said) = checked(&format!("s2:{key},s1:{key}")).await;
        assert_eq!((status, said.contains("s1\"")), (0, false), "{said}");
    }
}

#[tokio::test]
async fn address_of_jobs_is_checked_as_by_serve() {
    let file = SettingsFile::of(&settings("https://www.example.com", "quota = 5"));
    let (status, said) = run(&["check", &file.shown(), "--jobs", "foo"]).await;
    assert_eq!((status, said.contains("redis://")), (1, true), "{said}");
}

#[tokio::test]
async fn file_without_queues_is_a_warning() {
    let file = SettingsFile::of("");
    let (status, said) = run(&["check", &file.shown()]).await;
    assert_eq!((status, said.contains("warning: the file has no queues")), (0, true), "{said}");
    let (status, said) = run(&["serve", "--settings", &file.shown(), "--state", "state"]).await;
    assert_eq!((status, said.contains("has no queues, and without --admin-listen")), (1, true), "{said}");
}

#[tokio::test]
async fn shadowed_queue_is_a_warning() {
    let second = "quota = 5\n[[queues]]\nid = \"zebra\"\ntenant = \"acme\"\nhosts = [\"tickets.example.com\"]\nquota = 1\n\
                  handover = { kind = \"check\" }";
    let file = SettingsFile::of(&settings("https://www.example.com", second));
    let (status, said) = run(&["check", &file.shown()]).await;
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("never applies on \"tickets.example.com\": \"tour\""), "{said}");
}

#[tokio::test]
async fn broken_theme_is_an_error() {
    let file = SettingsFile::of(&settings("https://www.example.com", "quota = 5\ntheme = \"acme\""));
    let themes = tempfile::tempdir().unwrap();
    std::fs::create_dir(themes.path().join("acme")).unwrap();
    std::fs::write(themes.path().join("acme/queue.html"), "{% if %}").unwrap();
    let (status, said) = run(&["check", &file.shown(), "--themes", &themes.path().display().to_string()]).await;
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("theme \"acme\"") && said.contains("queue.html"), "{said}");
}

#[tokio::test]
async fn missing_file_and_invalid_toml_are_errors() {
    let (status, said) = run(&["check", "nowhere.toml"]).await;
    assert_eq!(status, 1);
    assert!(said.contains("nowhere.toml"), "{said}");
    let file = SettingsFile::of("[[queues]]\nid = \n");
    let (status, said) = run(&["check", &file.shown()]).await;
    assert_eq!(status, 1);
    assert!(said.contains(&format!("{}:2: ", file.shown())), "{said}");
}

#[tokio::test]
async fn untrusted_headers_and_unknown_lists_are_warnings() {
    let rules = "quota = 5\n[[queues.rules]]\naction = \"block\"\nheader = { name = \"cf-bot-score\", below = 30 }\n\
                 [[queues.rules]]\naction = \"bypass\"\nsource = \"@offices\"";
    let text = settings("https://www.example.com", rules);
    let text =
        text.replace("pre_ticket_from = \"none\"", "pre_ticket_from = \"none\", lists = { blocked = [\"hosting\"] }");
    let file = SettingsFile::of(&text);
    let lists = tempfile::tempdir().unwrap();
    std::fs::write(lists.path().join("partners.txt"), "203.0.113.0/24").unwrap();
    let (shown, networks) = (file.shown(), lists.path().display().to_string());
    let header = "rules[0].header: \"cf-bot-score\" is not in VESTIBULE_TRUSTED_HEADERS";
    let unknown = [
        "rules[1].source: --networks has no list \"offices\"; there are partners",
        "protection.lists.blocked: --networks has no list \"hosting\"; there are partners",
    ];
    let (status, said) = run(&["check", &shown, "--networks", &networks]).await;
    assert_eq!(status, 0, "{said}");
    assert!(said.contains(header) && unknown.iter().all(|warning| said.contains(warning)), "{said}");
    for list in ["offices", "hosting.txt"] {
        std::fs::write(lists.path().join(list), "198.51.100.0/24").unwrap();
    }
    let (status, said) = run(&["check", &shown, "--networks", &networks, "--trusted-headers", "cf-*"]).await;
    assert_eq!((status, said.contains("warning")), (0, false), "{said}");
    std::fs::write(lists.path().join("offices"), "everybody").unwrap();
    let (status, said) = run(&["check", &shown, "--networks", &networks]).await;
    assert_eq!(status, 1);
    assert!(said.contains("offices:1: must be a network such as 203.0.113.0/24"), "{said}");
}

#[tokio::test]
async fn orders_that_cannot_be_stored_are_warnings() {
    let rule = "quota = 5\n[[queues.rules]]\naction = \"hold\"\nmethod = \"POST\"\njob_queue = \"orders.fifo\"";
    let job_queue = |tenant: &str, target: &str| {
        format!("\n[[job_queues]]\nid = \"orders.fifo\"\ntenant = \"{tenant}\"\ntarget = {target}\n")
    };
    let other = "\n[[tenants]]\nid = \"other\"\nname = \"Other\"\n";
    let origin = "{ kind = \"origin\" }";
    let missing =
        || Some("rules[0].job_queue: must be a job queue of the tenant with the target \"origin\"".to_owned());
    let text = settings("https://www.example.com", rule);
    for (more, jobs, warning) in [
        (String::new(), "redis://127.0.0.1", missing()),
        (job_queue("acme", "{ kind = \"pull\" }"), "redis://127.0.0.1", missing()),
        (other.to_owned() + &job_queue("other", origin), "redis://127.0.0.1", missing()),
        (
            job_queue("acme", origin),
            "memory",
            Some("rules[0]: --jobs is memory: orders that are not sent yet".to_owned()),
        ),
        (job_queue("acme", origin), "redis://127.0.0.1", None),
    ] {
        let file = SettingsFile::of(&format!("{text}{more}"));
        let (status, said) = run(&["check", &file.shown(), "--jobs", jobs]).await;
        assert_eq!(status, 0, "{said}");
        match warning {
            Some(warning) => assert!(said.contains(&warning), "{warning}: {said}"),
            None => assert!(!said.contains("warning"), "{said}"),
        }
    }
}

#[tokio::test]
async fn settings_that_sqs_does_not_support_are_reported() {
    let job_queues = "\n[[job_queues]]\nid = \"pulled\"\ntenant = \"acme\"\ntarget = { kind = \"pull\" }\n\
                      [[job_queues]]\nid = \"slow\"\ntenant = \"acme\"\ntimeout = 900\n\
                      target = { kind = \"http\", url = \"https://crm.acme.example/\" }\n";
    let file = SettingsFile::of(&format!("{}{job_queues}", settings("https://www.example.com", "quota = 1")));
    let (status, said) = run(&["check", &file.shown(), "--jobs", "sqs://acme"]).await;
    assert_eq!(status, 0, "{said}");
    assert!(
        said.contains("warning: target.kind is \"pull\": consumers cannot receive jobs that SQS carries"),
        "{said}"
    );
    assert!(
        said.contains("warning: timeout is 900: the function that runs the jobs of SQS ends calls after 870"),
        "{said}"
    );
    let (_, said) = run(&["check", &file.shown(), "--jobs", "redis://127.0.0.1"]).await;
    assert!(!said.contains("warning"), "{said}");
}

#[tokio::test]
async fn readings_of_a_url_are_printed() {
    let rules = "quota = 1\n[[queues.rules]]\naction = \"bypass\"\npath = \"/static/*\"";
    let file = SettingsFile::of(&settings("https://www.example.com", rules));
    let with = async |more: &[&str]| run(&[&["check", &file.shown()], more].concat()).await;
    let (status, said) = with(&[
        "--url",
        "https://tickets.example.com/static/..%2fbuy?x",
        "--url",
        "tickets.example.com/static/a.css",
        "--url",
        "https://nobody.example.com/",
        "--method",
        "POST",
    ])
    .await;
    assert_eq!(status, 0, "{said}");
    for line in [
        "POST https://tickets.example.com/static/..%2fbuy?x: queued by tour\n",
        "  /static/..%2fbuy: bypasses tour, rules[0]\n",
        "  /buy: queued by tour, no rule matches\n",
        "POST tickets.example.com/static/a.css: bypasses tour\n  /static/a.css: bypasses tour, rules[0]\n",
        "POST https://nobody.example.com/: no queue has the host nobody.example.com; the gate answers 404\n",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let (status, said) = with(&["--url", "/static/a.css"]).await;
    assert_eq!(status, 2, "{said}");
    assert!(said.contains("must be a URL with its host, such as https://tickets.example.com/shop/seats"), "{said}");
    let (status, said) = with(&["--url", "tickets.example.com", "--method", "B AD"]).await;
    assert_eq!(status, 2, "{said}");
    assert!(said.contains("must be a method, such as GET or POST"), "{said}");

    let rules = "quota = 1\n[[queues.rules]]\naction = \"bypass\"\npath = \"/api\"\nsource = \"@offices\"\n\
                 header = { name = \"X-Probe\", value = \"1\" }\ncookie = { name = \"member\", value = \"gold\" }";
    let lists = tempfile::tempdir().unwrap();
    std::fs::write(lists.path().join("offices.txt"), "192.0.2.0/24\n").unwrap();
    let (file, lists) = (SettingsFile::of(&settings("https://www.example.com", rules)), lists.path().to_str().unwrap());
    let asked = ["check", &file.shown(), "--networks", lists, "--url", "tickets.example.com/api"];
    let (_, said) = run(&asked).await;
    assert!(said.contains("the visitor's address is not known; name one with --source"), "{said}");
    let known = ["--source", "192.0.2.7", "--header", "X-Probe: 1", "--cookie", "member=gold"];
    let (_, said) = run(&[&asked[..], &known].concat()).await;
    assert!(said.contains("  /api: bypasses tour, rules[0]\n"), "{said}");

    let two = "quota = 1\n[[queues.rules]]\naction = \"queue\"\npath = \"/shop/*\"\n\n[[queues]]\nid = \"sale\"\n\
               tenant = \"acme\"\nhosts = [\"tickets.example.com\"]\nquota = 1\n\
               handover = { kind = \"proxy\", origin = \"https://www.example.com\" }\n\
               [[queues.rules]]\naction = \"queue\"\npath = \"/sale\"";
    let file = SettingsFile::of(&settings("https://www.example.com", two));
    let (_, said) = run(&["check", &file.shown(), "--url", "tickets.example.com/shop/..%2fsale"]).await;
    assert!(said.contains("rejected: the path has too many readings, or different queues take it"), "{said}");
    assert!(said.contains("  /sale: queued by sale, rules[0]\n"), "{said}");
}

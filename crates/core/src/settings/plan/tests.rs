use super::super::parse_settings_document;
use super::*;

fn document(queues: &[(&str, u64)]) -> Document {
    let queue = |(id, quota): &(&str, u64)| {
        json!({
            "id": id, "tenant": "acme", "hosts": [format!("{id}.example.com")], "quota": quota,
            "handover": { "kind": "check" },
        })
    };
    let queues: Vec<_> = queues.iter().map(queue).collect();
    parse_settings_document(&json!({ "tenants": [{ "id": "acme", "name": "Acme" }], "queues": queues })).unwrap()
}

fn stored(queues: &[(&str, u64)]) -> StoredSettings {
    let Document { tenants, queues, .. } = document(queues);
    StoredSettings { tenants, queues, ..StoredSettings::default() }
}

fn ids<'a>(queues: impl IntoIterator<Item = &'a QueueId>) -> Vec<String> {
    queues.into_iter().map(ToString::to_string).collect()
}

fn written(plan: &Plan) -> Vec<(String, Option<u64>)> {
    plan.queues.iter().map(|it| (it.settings.id.to_string(), it.replaces)).collect()
}

fn id(text: &str) -> QueueId {
    text.parse().unwrap()
}

#[test]
fn queues_with_locked_events_keep_their_stored_settings() {
    let document = |lobby_at: &str, quota: u64| {
        let queue = |id: &str, lobby_at: &str| {
            let sale = json!({
                "id": "sale", "lobby_at": lobby_at, "starts_at": "2027-03-04T10:00:00Z", "ends_at": "2027-03-04T14:00:00Z",
            });
            json!({
                "id": id, "tenant": "acme", "hosts": [format!("{id}.example.com")], "quota": quota,
                "handover": { "kind": "check" }, "mode": "scheduled", "events": [sale],
            })
        };
        let queues = [queue("tour", lobby_at), queue("tour-2", "2027-03-04T09:30:00Z")];
        parse_settings_document(&json!({ "tenants": [{ "id": "acme", "name": "Acme" }], "queues": queues })).unwrap()
    };
    let Document { tenants, queues, .. } = document("2027-03-04T09:30:00Z", 1);
    let stored = StoredSettings { tenants, queues, ..StoredSettings::default() };
    let lobby = "2027-03-04T09:35:00Z".parse::<crate::Timestamp>().unwrap().micros();
    let mut plan = Plan::of(&stored, document("2027-03-04T09:40:00Z", 2), &PlanOptions::default());
    let locked = plan.keep_locked(&stored, lobby).into_iter().map(|(queue, error)| (queue, error.field));
    assert_eq!(locked.collect::<Vec<_>>(), [(id("tour"), "events[0].lobby_at".to_owned())]);
    assert_eq!(
        (written(&plan), plan.kept.clone()),
        (vec![("tour-2".to_owned(), Some(1))], vec![(id("tour"), KeptReason::EventLocked)],)
    );
    let after: Vec<_> = plan.queues_after.iter().map(|queue| queue.line.quota).collect();
    assert_eq!(after, [1, 2], "nothing of the queue is changed");
    assert!(plan.keep_locked(&stored, lobby).is_empty());
}

#[test]
fn postponed_event_keeps_its_lobby_over_reloads() {
    let document = |starts_at: &str| {
        let sale =
            json!({ "id": "sale", "starts_at": starts_at, "ends_at": "2027-03-04T14:00:00Z", "order": "arrival" });
        let queue = json!({
            "id": "tour", "tenant": "acme", "hosts": ["tour.example.com"], "quota": 1, "handover": { "kind": "check" },
            "mode": "scheduled", "events": [sale],
        });
        parse_settings_document(&json!({ "tenants": [{ "id": "acme", "name": "Acme" }], "queues": [queue] })).unwrap()
    };
    let (first, postponed) = (document("2027-03-04T10:00:00Z"), document("2027-03-04T11:00:00Z"));
    let lobby = "2027-03-04T09:30:00Z".parse::<crate::Timestamp>().unwrap();
    let stored = |queues: &[Settings]| StoredSettings {
        tenants: first.tenants.clone(),
        queues: queues.to_vec(),
        ..StoredSettings::default()
    };
    let plan = |stored: &StoredSettings, file: &Document, last: &Document| {
        let options = PlanOptions { now: Some(lobby.micros()), last_applied: Some(last), ..PlanOptions::default() };
        Plan::of(stored, file.clone(), &options)
    };
    let before = stored(&first.queues);
    let applied = plan(&before, &postponed, &first);
    assert!(applied.locked_events(&before, lobby.micros()).is_empty());
    assert_eq!(applied.queues_after[0].line.events[0].lobby_at(), lobby);
    let after = stored(&applied.queues_after);
    assert!(plan(&after, &postponed, &postponed).is_empty(), "the same file again");
    assert!(plan(&after, &first, &first).is_empty(), "the event was postponed elsewhere");
}

#[test]
fn only_new_and_changed_entries_are_written() {
    let mut stored = stored(&[("same", 1), ("tour", 1)]);
    stored.queues[1].line.revision = 7;
    let plan = Plan::of(&stored, document(&[("same", 1), ("tour", 2), ("gig", 3)]), &PlanOptions::default());
    assert_eq!(written(&plan), [("tour".to_owned(), Some(7)), ("gig".to_owned(), None)]);
    let change = FieldChange { field: "quota".to_owned(), from: json!(1), to: json!(2) };
    assert_eq!(plan.queues[0].changes, [change]);
    assert!(plan.tenants.is_empty() && plan.kept.is_empty() && plan.removed.is_empty());
    assert_eq!(plan.queues_after.len(), 3);

    let plan = Plan::of(&StoredSettings::default(), document(&[]), &PlanOptions::default());
    assert!(plan.tenants[0].created && !plan.is_empty());
}

#[test]
fn job_queue_with_orders_of_a_rule_stays() {
    let rule = json!({ "action": "hold", "job_queue": "orders.fifo", "method": ["POST"] });
    let document = |rules: &Value, job_queues: &Value| {
        let handover = json!({ "kind": "proxy", "origin": "https://shop.example" });
        let queue = json!({ "id": "tour", "tenant": "acme", "hosts": ["a.example"], "rules": rules, "quota": 1, "handover": handover });
        let tenants = json!([{ "id": "acme", "name": "Acme" }]);
        parse_settings_document(&json!({ "tenants": tenants, "queues": [queue], "job_queues": job_queues })).unwrap()
    };
    let orders = json!([{ "id": "orders.fifo", "tenant": "acme", "target": { "kind": "origin" } }]);
    let whole = document(&json!([rule]), &orders);
    let settings = whole.job_queues[0].clone();
    let job_queues = vec![StoredJobQueue { settings, revision: 1, retired_secret: None, restored_from: None }];
    let stored = StoredSettings { tenants: whole.tenants, queues: whole.queues, job_queues, ..Default::default() };
    let options = PlanOptions { unlisted: Unlisted::Remove, ..PlanOptions::default() };
    let plan = |stored: &StoredSettings, document| Plan::of(stored, document, &options);
    let kept = plan(&stored, document(&json!([rule]), &json!([])));
    assert!(kept.job_queues.is_empty());
    let warnings: Vec<_> = kept.warnings().into_iter().map(|it| it.field).collect();
    assert_eq!(warnings, ["orders.fifo"]);
    assert!(kept.warnings_about(&id("orders")).is_empty(), "it is about a job queue whose ID begins like this queue");
    let removed = plan(&stored, document(&json!([]), &json!([])));
    assert_eq!((removed.job_queues.removed.len(), removed.warnings().len()), (1, 0));
    let mut planned = plan(&stored, document(&json!([]), &json!([])));
    let stays = planned.keep_job_queues_in_use(&stored);
    assert_eq!(
        stays.iter().map(|it| it.field.as_str()).collect::<Vec<_>>(),
        ["orders.fifo"],
        "its rule was not removed"
    );
    assert!(planned.job_queues.removed.is_empty() && planned.keep_job_queues_in_use(&stored).is_empty());
    let mut planned = plan(&stored, document(&json!([]), &json!([])));
    let unreadable = StoredSettings { unreadable: vec![unreadable("broken", 1)], ..StoredSettings::default() };
    assert_eq!(planned.keep_job_queues_in_use(&unreadable).len(), 1, "nobody knows its rules");
    let missing = plan(&StoredSettings::default(), document(&json!([rule]), &json!([]))).warnings();
    assert_eq!(missing.iter().map(|it| it.field.as_str()).collect::<Vec<_>>(), ["tour.rules[0].job_queue"]);
    assert!(plan(&StoredSettings::default(), document(&json!([rule]), &orders)).warnings().is_empty());
    let unreadable_job_queues = vec![("orders.fifo".parse().unwrap(), 1)];
    let unreadable = StoredSettings { unreadable_job_queues, ..StoredSettings::default() };
    assert!(plan(&unreadable, document(&json!([rule]), &json!([]))).warnings().is_empty(), "it stays");
}

/// At a start the file may be another one.
#[test]
fn job_queues_that_left_the_source_stay_unless_named() {
    let job_queue = json!({ "id": "mails", "tenant": "acme", "target": { "kind": "pull" } });
    let source = parse_settings_document(&json!({
        "tenants": [{ "id": "acme", "name": "Acme" }], "queues": [], "job_queues": [job_queue],
    }))
    .unwrap();
    let settings = source.job_queues[0].clone();
    let job_queues = vec![StoredJobQueue { settings, revision: 1, retired_secret: None, restored_from: None }];
    let stored = StoredSettings { job_queues, ..stored(&[]) };
    let options =
        PlanOptions { last_applied: Some(&source), unlisted: Unlisted::RemoveOnly(&[]), ..Default::default() };
    let plan = Plan::of(&stored, document(&[]), &options);
    assert_eq!((plan.job_queues.removed.len(), plan.job_queues.kept.len()), (0, 1));
    let removed_job_queues: &[JobQueueId] = &["mails".parse().unwrap()];
    let plan = Plan::of(&stored, document(&[]), &PlanOptions { removed_job_queues, ..options });
    assert_eq!((plan.job_queues.removed.len(), plan.job_queues.kept.len()), (1, 0));
    let plan = Plan::of(&stored, source.clone(), &PlanOptions { removed_job_queues, ..options });
    assert!(plan.job_queues.removed.is_empty(), "the document names it");
}

#[test]
fn unlisted_queues_stay_or_are_removed() {
    let mut stored = stored(&[("gig", 1), ("old", 1), ("tour", 1)]);
    stored.unreadable.push(unreadable("broken", 1));
    let with = |unlisted| {
        let plan = Plan::of(&stored, document(&[("tour", 1)]), &PlanOptions { unlisted, ..PlanOptions::default() });
        (ids(&plan.removed), ids(plan.kept_because(KeptReason::NotListed)), plan.all_queues_after().count())
    };
    let list = |all: &[&str]| all.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    assert_eq!(with(Unlisted::Keep), (list(&[]), list(&["gig", "old"]), 3));
    assert_eq!(with(Unlisted::Remove), (list(&["gig", "old"]), list(&[]), 1));
    // A queue that is not stored may still be cached.
    let only = [id("tour"), id("old"), id("lost")];
    assert_eq!(with(Unlisted::RemoveOnly(&only)), (list(&["lost", "old"]), list(&["gig"]), 2));
    let plan = Plan::of(&stored, document(&[]), &PlanOptions { unlisted: Unlisted::Remove, ..PlanOptions::default() });
    assert_eq!(ids(plan.kept_because(KeptReason::Unreadable)), ["broken"]);
}

fn unreadable(queue: &str, revision: u64) -> UnreadableQueue {
    UnreadableQueue { id: id(queue), revision, reason: "the rules".to_owned() }
}

#[test]
fn unreadable_settings_of_the_document_are_replaced() {
    let mut stored = stored(&[("cached", 1)]);
    stored.queues[0].line.epoch = 9;
    stored.unreadable = vec![unreadable("cached", 1), unreadable("tour", 7)];
    let options = PlanOptions { first_epoch: 100, ..PlanOptions::default() };
    let plan = Plan::of(&stored, document(&[("cached", 1), ("tour", 2)]), &options);
    let written = plan.queues.iter().map(|it| {
        assert!(it.replaces_unreadable);
        (it.settings.id.as_str(), it.settings.line.revision, it.settings.line.epoch)
    });
    assert_eq!(written.collect::<Vec<_>>(), [("cached", 2, 9), ("tour", 8, 1)]);
}

#[test]
fn epoch_of_a_stored_queue_never_decreases() {
    let mut stored = stored(&[("tour", 1)]);
    stored.queues[0].line.epoch = 9;
    let options = PlanOptions { first_epoch: 100, ..PlanOptions::default() };
    let plan = Plan::of(&stored, document(&[("tour", 2), ("gig", 1)]), &options);
    let epochs: Vec<_> = plan.queues.iter().map(|change| change.settings.line.epoch).collect();
    assert_eq!(epochs, [9, 100], "of the reset, and of a new queue");
    let mut wanted = document(&[("tour", 1)]);
    wanted.queues[0].line.epoch = 10;
    let plan = Plan::of(&stored, wanted, &options);
    assert_eq!(plan.queues[0].changes.iter().map(|it| it.field.as_str()).collect::<Vec<_>>(), ["epoch"]);
    assert!(plan.warnings().is_empty());
}

#[test]
fn epoch_that_empties_no_line_is_a_warning() {
    let mut stored = stored(&[("tour", 1)]);
    stored.queues[0].line.epoch = 1_700_000_000;
    let with_epoch = |epoch: u64| {
        let mut document = document(&[("tour", 1)]);
        document.queues[0].line.epoch = epoch;
        document
    };
    let warnings = |epoch: u64, last: Option<u64>| {
        let last = last.map(with_epoch);
        let options = PlanOptions { last_applied: last.as_ref(), ..PlanOptions::default() };
        let plan = Plan::of(&stored, with_epoch(epoch), &options);
        plan.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let text = "tour.epoch: has no effect: the queue has the epoch 1700000000, and only a higher one empties its line";
    assert_eq!((warnings(2, Some(1)), warnings(2, None)), (vec![text.to_owned()], vec![text.to_owned()]));
    for (epoch, last) in [(1, None), (2, Some(2)), (1, Some(2)), (1_700_000_000, Some(1)), (1_700_000_001, Some(1))] {
        assert_eq!(warnings(epoch, last), [""; 0], "{epoch} after {last:?}");
    }
}

#[test]
fn unknown_stored_fields_are_kept() {
    let mut stored = stored(&[("tour", 1)]);
    stored.queues[0].unknown_fields.insert("newer".to_owned(), json!(1));
    let plan = Plan::of(&stored, document(&[("tour", 2)]), &PlanOptions::default());
    assert_eq!(plan.queues[0].settings.unknown_fields["newer"], 1);
}

#[test]
fn changes_elsewhere_stay_until_the_source_changes() {
    let last = document(&[("tour", 1), ("gone", 1), ("lost", 1)]);
    let options = PlanOptions { last_applied: Some(&last), ..PlanOptions::default() };
    let mut stored = stored(&[("tour", 5)]);
    stored.removed.push(id("gone"));

    let plan = Plan::of(&stored, last.clone(), &options);
    assert_eq!(written(&plan), [("lost".to_owned(), None)], "a lost queue is created, a removed one is not");
    let reasons = [(id("gone"), KeptReason::RemovedElsewhere), (id("tour"), KeptReason::ChangedElsewhere)];
    assert_eq!(plan.kept, reasons);
    assert_eq!(plan.queues_after[0].line.quota, 5);

    let plan = Plan::of(&stored, document(&[("tour", 2), ("gone", 2)]), &options);
    assert_eq!(written(&plan), [("tour".to_owned(), Some(1)), ("gone".to_owned(), None)]);
    assert!(plan.queues[0].overrides, "the change elsewhere is replaced");
    let stored = self::stored(&[("tour", 1)]);
    assert!(!Plan::of(&stored, document(&[("tour", 2)]), &options).queues[0].overrides);
}

#[test]
fn tenants_keep_changes_made_elsewhere() {
    let last = document(&[]);
    let mut stored = stored(&[]);
    stored.tenants[0].name = "Acme Inc.".to_owned();
    let options = PlanOptions { last_applied: Some(&last), ..PlanOptions::default() };
    let plan = Plan::of(&stored, last.clone(), &options);
    assert!(plan.is_empty() && plan.tenants_after[0].name == "Acme Inc.");
    assert_eq!(Plan::of(&stored, last, &PlanOptions::default()).tenants[0].tenant.name, "Acme");
}

#[test]
fn conflicts_with_queues_that_stay_are_found() {
    let mut stored = stored(&[("a", 1)]);
    stored.queues[0].hosts = document(&[("tour", 1)]).queues[0].hosts.clone();
    let plan = Plan::of(&stored, document(&[("tour", 1)]), &PlanOptions::default());
    assert_eq!(plan.conflicts().iter().map(|it| it.field.as_str()).collect::<Vec<_>>(), ["tour.hosts[0]"]);
    let options = PlanOptions { unlisted: Unlisted::Remove, ..PlanOptions::default() };
    assert!(Plan::of(&stored, document(&[("tour", 1)]), &options).conflicts().is_empty());
}

#[test]
fn lists_of_a_tenant_must_allow_queues_that_stay() {
    let mut wanted = document(&[]);
    wanted.tenants[0] =
        Tenant::from_value(&json!({ "id": "acme", "name": "Acme", "domains": ["example.org"] })).unwrap();
    let plan = Plan::of(&stored(&[("tour", 1)]), wanted, &PlanOptions::default());
    assert_eq!(plan.outside().iter().map(|it| it.field.as_str()).collect::<Vec<_>>(), ["tour.hosts[0]"]);
}

#[test]
fn settings_file_counts_its_own_job_queues() {
    let document = |most: u64, ids: &[&str]| {
        let job_queue = |id: &&str| json!({ "id": id, "tenant": "acme", "target": { "kind": "pull" } });
        let job_queues: Vec<_> = ids.iter().map(job_queue).collect();
        let tenant = json!({ "id": "acme", "name": "Acme", "max_job_queues": most });
        parse_settings_document(&json!({ "tenants": [tenant], "job_queues": job_queues })).unwrap()
    };
    let stored = |most: u64, ids: &[&str]| {
        let Document { tenants, job_queues, .. } = document(most, ids);
        let stored = |settings| StoredJobQueue { settings, revision: 1, retired_secret: None, restored_from: None };
        StoredSettings {
            tenants,
            job_queues: job_queues.into_iter().map(stored).collect(),
            ..StoredSettings::default()
        }
    };
    let is_refused_by = |options: &PlanOptions<'_>, stored: &StoredSettings, document: Document| {
        !Plan::of(stored, document, options).invalid.is_empty()
    };
    let (file, api) =
        (PlanOptions::default(), PlanOptions { counts_existing_job_queues: true, ..PlanOptions::default() });
    let is_refused = |stored: &StoredSettings, document| is_refused_by(&file, stored, document);
    // Operators of the tenant have created others, and the limit was lowered in the dashboard.
    let others = stored(1, &["mails", "theirs", "other"]);
    assert!(!is_refused(&others, document(2, &["mails", "new"])), "only those of the file count, by its limit");
    // As `check` does, which knows nothing that is stored: a loss of data changes nothing.
    for known in [&[][..], &["mails", "new"]] {
        assert!(is_refused(&stored(2, known), document(1, &["mails", "new"])), "more than the file allows: {known:?}");
    }
    assert!(!is_refused_by(&api, &others, document(4, &["mails", "new"])), "four in all");
    assert!(is_refused_by(&api, &others, document(3, &["mails", "new"])), "all that exist count");
    assert!(!is_refused_by(&api, &others, document(1, &["mails"])), "those that exist stay");
}

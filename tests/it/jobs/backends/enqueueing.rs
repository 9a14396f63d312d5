//! What becomes of a job to enqueue: J1 to J4, J7, J15.

use serde_json::json;
use vestibule_core::SessionId;
use vestibule_core::jobs::{
    ENQUEUES_WINDOW, Enqueued, FormerJob, JOB_BATCH, JobCounters, JobParams, JobQueueId, JobState, JobView, NewJob,
    Payload,
};

use super::fixture::{JOB_BYTES, JobsFixture, job};

pub(super) async fn j01_name_decides_type(fixture: &JobsFixture) {
    assert!("orders.fifo".parse::<JobQueueId>().unwrap().is_fifo());
    assert!(!"orders".parse::<JobQueueId>().unwrap().is_fifo());
    let fifo = fixture.fifo(&json!({}));
    fifo.enqueue_numbers(1..=2, Some("a")).await;
    assert_eq!(fifo.start().await.0, ["job 1"], "the jobs of a group run one at a time");
    let standard = fixture.standard(&json!({}));
    standard.enqueue_numbers(1..=2, None).await;
    assert_eq!(standard.start().await.0, ["job 1", "job 2"]);
}

pub(super) async fn j02_job_ids_are_unique(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({}));
    assert_eq!(queue.enqueue(job(1, None)).await, Enqueued::Accepted);
    let again = Enqueued::Duplicate(job(1, None).id);
    assert_eq!(queue.enqueue(job(1, None)).await, again);
    assert_eq!(queue.enqueue_all(vec![job(2, None), job(2, None)]).await[0], Enqueued::Accepted);
    let (started, leases) = queue.start().await;
    assert_eq!(started, ["job 1", "job 2"]);
    queue.acknowledge(leases[0]).await;
    assert_eq!(queue.enqueue(job(1, None)).await, again, "its result is stored");
    queue.advance_seconds(3_600);
    assert_eq!(queue.enqueue(job(1, None)).await, Enqueued::Accepted, "its result has expired");
}

pub(super) async fn j03_accepted_job_is_stored(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({}));
    let bytes: Vec<u8> = (0..=255).collect();
    let payload = Payload { content_type: "application/octet-stream; x=\"\u{e4}\"".to_owned(), bytes };
    let user_id = Some("user 17 \u{1f3ab}".to_owned());
    let session = Some(SessionId::random());
    let query = json!({ "query": { "name": "übrig" } });
    let params = JobParams::of(query.as_object().unwrap());
    let new = NewJob {
        payload: payload.clone(),
        user_id: user_id.clone(),
        session,
        params: params.clone(),
        ..job(1, Some("a:b"))
    };
    assert_eq!(queue.enqueue(new).await, Enqueued::Accepted);
    let view = queue.view(1).await.unwrap();
    assert_eq!((view.state, view.sequence, view.receive_count), (JobState::Queued, 1, 0));
    assert_eq!((view.enqueued_at, view.due_at), (queue.now(), Some(queue.now())));
    assert_eq!((view.payload.as_ref(), &view.user_id), (Some(&payload), &user_id));
    assert_eq!((view.session, &view.params), (session, &params));
    assert_eq!(queue.status(1).await, Some(JobView { payload: None, ..view }), "the same without contents");
    let received = queue.receive(1).await.remove(0);
    assert_eq!((received.session, received.params), (session, params));
    assert_eq!((received.payload, received.user_id), (payload, user_id));
    assert_eq!((received.group, received.sequence), (Some("a:b".parse().unwrap()), 1));
    assert_eq!(received.enqueued_at, queue.now());
    assert_eq!(queue.view(2).await, None);
    let empty = Payload { content_type: String::new(), bytes: Vec::new() };
    queue.enqueue(NewJob { payload: empty.clone(), ..job(2, Some("b")) }).await;
    assert_eq!(queue.receive(1).await[0].payload, empty, "a payload may be empty");
}

pub(super) async fn j04_sequence_numbers_increase(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({}));
    let mut last = 0;
    for number in 1..=40 {
        let group = if number % 3 == 0 { "a" } else { "b" };
        queue.enqueue(job(number, Some(group))).await;
        queue.enqueue(job(number, Some(group))).await;
        let sequence = queue.view(number).await.unwrap().sequence;
        assert!(sequence > last);
        last = sequence;
    }
    assert_eq!(last, 40, "duplicates take no number");
}

pub(super) async fn j07_duplicate_is_not_queued(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({ "deduplication_interval": 60 }));
    let same = |number: u64, group: &str| NewJob { payload: job(1, None).payload, ..job(number, Some(group)) };
    let first = Enqueued::Duplicate(job(1, None).id);
    assert_eq!(queue.enqueue_all(vec![same(1, "a"), same(2, "a")]).await, [Enqueued::Accepted, first]);
    assert_eq!(queue.enqueue(same(3, "b")).await, Enqueued::Accepted, "another group");
    let leases = queue.start().await.1;
    queue.acknowledge(leases[0]).await;
    queue.advance_micros(60_000_000 - 1);
    assert_eq!(queue.enqueue(same(4, "a")).await, first, "completion does not end the interval");
    queue.advance_micros(1);
    assert_eq!(queue.enqueue(same(5, "a")).await, Enqueued::Accepted);
    assert_eq!(queue.enqueue(same(6, "a")).await, Enqueued::Duplicate(job(5, None).id));
    let standard = fixture.standard(&json!({}));
    let plain = |number| NewJob { payload: job(1, None).payload, ..job(number, None) };
    assert_eq!(standard.enqueue_all(vec![plain(1), plain(2)]).await, [Enqueued::Accepted; 2], "FIFO only");
}

pub(super) async fn j07_id_replaces_hash(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({}));
    let with = |number: u64, id: &str| NewJob { deduplication_id: Some(id.parse().unwrap()), ..job(number, Some("a")) };
    assert_eq!(queue.enqueue(with(1, "order-1")).await, Enqueued::Accepted);
    assert_eq!(queue.enqueue(with(2, "order-1")).await, Enqueued::Duplicate(job(1, None).id), "other content");
    assert_eq!(queue.enqueue(with(3, "order-2")).await, Enqueued::Accepted);
    assert_eq!(queue.enqueue(NewJob { payload: job(3, None).payload, ..job(4, Some("a")) }).await, Enqueued::Accepted);
    assert_eq!(queue.stats().await.counters, JobCounters { enqueued: 3, duplicate: 1, ..JobCounters::default() });
}

pub(super) async fn j07_jobs_of_visitors_are_compared_within_a_session(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({}));
    let [one, other] = [SessionId::random(), SessionId::random()];
    let by = |number, session, id: Option<&str>| NewJob {
        session: Some(session),
        by_visitor: true,
        deduplication_id: id.map(|id| id.parse().unwrap()),
        payload: job(1, None).payload,
        ..job(number, Some("a"))
    };
    let answers = [by(1, one, None), by(2, one, Some("change-1")), by(3, other, None), by(4, other, Some("change-1"))];
    let answers = queue.enqueue_all(answers.to_vec()).await;
    assert_eq!(answers, [Enqueued::Accepted; 4], "nobody can suppress the job of another visitor");
    let again = queue.enqueue_all(vec![by(5, one, None), by(6, other, Some("change-1"))]).await;
    assert_eq!(again, [1, 4].map(|number| Enqueued::Duplicate(job(number, None).id)));
    let of_the_site = NewJob { by_visitor: false, ..by(7, one, None) };
    assert_eq!(queue.enqueue(of_the_site).await, Enqueued::Accepted);
}

pub(super) async fn j07_job_from_before_signing_in_is_the_first(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({}));
    let [guest, account] = [SessionId::random(), SessionId::random()];
    let by = |number, content, session| NewJob {
        session: Some(session),
        by_visitor: true,
        payload: job(content, None).payload,
        ..job(number, Some("a"))
    };
    let signed_in = |number, content| {
        let new = by(number, content, account);
        let former = Some(FormerJob::Key(new.key_in(new.group.clone().unwrap(), guest)));
        NewJob { former, ..new }
    };
    let duplicate_of = |number| Enqueued::Duplicate(job(number, None).id);
    assert_eq!(queue.enqueue(by(1, 1, guest)).await, Enqueued::Accepted);
    let answers = queue.enqueue_all(vec![signed_in(2, 1), signed_in(3, 3), signed_in(4, 3), by(5, 3, account)]).await;
    assert_eq!(answers, [duplicate_of(1), Enqueued::Accepted, duplicate_of(3), duplicate_of(3)]);
    assert_eq!(queue.enqueue(by(6, 1, account)).await, Enqueued::Accepted, "on a device that has nothing from before");
    assert_eq!(queue.enqueue(signed_in(7, 1)).await, duplicate_of(6), "one of the account comes first");

    let queue = fixture.standard(&json!({}));
    let signed_in = |number, former| NewJob { former: Some(FormerJob::Id(job(former, None).id)), ..job(number, None) };
    assert_eq!(queue.enqueue(job(1, None)).await, Enqueued::Accepted);
    let answers = queue.enqueue_all(vec![signed_in(2, 1), signed_in(3, 9), signed_in(3, 1)]).await;
    assert_eq!(answers, [duplicate_of(1), Enqueued::Accepted, duplicate_of(3)]);
}

pub(super) async fn j15_full_job_queue_refuses(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({ "max_jobs": 2 }));
    queue.enqueue_numbers(1..=2, Some("a")).await;
    assert_eq!(queue.enqueue(job(3, Some("a"))).await, Enqueued::Full);
    assert_eq!(queue.view(3).await, None);
    let lease = queue.start_one().await;
    queue.acknowledge(lease).await;
    assert_eq!(queue.enqueue(job(3, Some("a"))).await, Enqueued::Accepted, "a refused job leaves no key behind");
    let params = JobParams::of(json!({ "query": { "a": "b" } }).as_object().unwrap()).unwrap();
    let max_bytes = 2 * JOB_BYTES + params.as_str().len() as u64;
    let queue = fixture.standard(&json!({ "max_bytes": max_bytes }));
    let with_params = NewJob { params: Some(params), ..job(1, None) };
    let answers = queue.enqueue_all(vec![with_params, job(2, None), job(3, None)]).await;
    assert_eq!(answers, [Enqueued::Accepted, Enqueued::Accepted, Enqueued::Full]);
    assert_eq!(queue.stats().await.bytes, max_bytes);
    for lease in queue.start().await.1 {
        queue.acknowledge(lease).await;
    }
    assert_eq!((queue.view(1).await.unwrap().params, queue.stats().await.bytes), (None, 0), "completed jobs drop both");
    let queue = fixture.standard(&json!({}));
    let answers = queue.enqueue_all((0..=JOB_BATCH as u64).map(|number| job(number, None)).collect()).await;
    assert_eq!(answers.iter().position(|answer| *answer == Enqueued::Full), Some(JOB_BATCH));
}

pub(super) async fn j15_jobs_of_visitors_leave_room(fixture: &JobsFixture) {
    let of_visitor = |number| NewJob { session: Some(SessionId::random()), by_visitor: true, ..job(number, None) };
    for limit in [json!({ "max_jobs": 10 }), json!({ "max_bytes": 10 * JOB_BYTES })] {
        let queue = fixture.standard(&limit);
        for number in 1..=9 {
            assert_eq!(queue.enqueue(of_visitor(number)).await, Enqueued::Accepted, "{limit}");
        }
        assert_eq!(queue.enqueue(of_visitor(10)).await, Enqueued::Full, "{limit}");
        assert_eq!(queue.enqueue(job(0, None)).await, Enqueued::Accepted, "{limit}");
        assert_eq!(queue.enqueue(job(11, None)).await, Enqueued::Full, "{limit}");
    }
    let queue = fixture.fifo(&json!({ "target": { "kind": "origin" }, "max_jobs": 10 }));
    for number in 1..=10 {
        let order = NewJob { group: Some("a".parse().unwrap()), ..of_visitor(number) };
        assert_eq!(queue.enqueue(order).await, Enqueued::Accepted, "only visitors have orders");
    }
}

pub(super) async fn j15_sessions_are_limited(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({ "enqueues_per_minute": 2 }));
    let [one, other] = [SessionId::random(), SessionId::random()];
    let by = |number, session| NewJob { session: Some(session), by_visitor: true, ..job(number, Some("a")) };
    assert_eq!(queue.enqueue(by(1, one)).await, Enqueued::Accepted);
    queue.advance_seconds(ENQUEUES_WINDOW - 1);
    let answers = queue.enqueue_all(vec![by(1, one), by(2, one), by(3, one), by(4, other)]).await;
    let first = Enqueued::Duplicate(job(1, None).id);
    assert_eq!(answers, [first, Enqueued::Accepted, Enqueued::TooMany, Enqueued::Accepted], "duplicates do not count");
    assert_eq!(queue.view(3).await, None);
    let of_the_site = NewJob { by_visitor: false, ..by(3, one) };
    assert_eq!(queue.enqueue(of_the_site).await, Enqueued::Accepted, "clients of the API are not limited");
    queue.advance_seconds(1);
    assert_eq!(queue.enqueue_all(vec![by(5, one), by(6, one)]).await, [Enqueued::Accepted; 2], "a new window");
    assert_eq!(queue.enqueue(by(7, one)).await, Enqueued::TooMany);
    assert_eq!(queue.enqueue(by(8, other)).await, Enqueued::Accepted);
}

pub(super) async fn j17_job_queues_are_separate(fixture: &JobsFixture) {
    let (one, other) = (fixture.standard(&json!({})), fixture.standard(&json!({})));
    one.enqueue_numbers(1..=2, None).await;
    assert!(other.start().await.0.is_empty());
    assert_eq!((other.view(1).await, other.stats().await.waiting), (None, 0));
    assert_eq!(other.enqueue(job(1, None)).await, Enqueued::Accepted);
    one.advance_seconds(7);
    let stats = one.stats().await;
    assert_eq!(
        (stats.waiting, stats.running, stats.dead, stats.bytes, stats.oldest_age),
        (2, 0, 0, 2 * JOB_BYTES, Some(7))
    );
}

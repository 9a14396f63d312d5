//! Rule 24: one session per account.

use std::collections::HashMap;

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;
use vestibule_core::identity::Account;
use vestibule_core::line::{Identities, Removed, SessionState, Visit, VisitAnswer, VisitKind};
use vestibule_core::{FirstVisit, KeyList, MICROS_PER_SECOND, Micros, PreTicket, SessionId, Ticket, TicketSigner};

use crate::line_fixture::{LineFixture, StoreFixture};

/// A queue that admits nobody.
async fn closed(stores: &StoreFixture) -> LineFixture<'_> {
    stores.open(json!({ "quota": 0 })).await
}

/// The account joins, and returns its ticket an instant later.
async fn join(fixture: &LineFixture<'_>, account: SessionId) -> Ticket {
    let joined = fixture.visit_as_account(account, None).await;
    assert_eq!((joined.kind, joined.session.unwrap().id), (VisitKind::Joined, account));
    fixture.advance_micros(1);
    let answer = visit(fixture, fixture.account_ticket(&joined)).await;
    assert_eq!(answer.kind, VisitKind::Renewed);
    fixture.account_ticket(&answer)
}

/// A visit with a ticket, as polls are: the token was verified before.
async fn visit(fixture: &LineFixture<'_>, ticket: Ticket) -> VisitAnswer {
    fixture.ask(Some(ticket), None).await
}

fn preserved(fixture: &LineFixture<'_>, at: Micros) -> PreTicket {
    let visit = FirstVisit { preserved: true, ..FirstVisit::new(1, SessionId::random(), at) };
    fixture.stores.pre_ticket(&fixture.queue, &visit, [None; 2])
}

async fn redeem(fixture: &LineFixture<'_>, pre_ticket: PreTicket, account: SessionId) -> VisitAnswer {
    let visit = Visit { account: Some(account), join: Some(account), ..Visit::redeeming(pre_ticket) };
    fixture.store().visit(&fixture.queue, visit).await.unwrap()
}

pub(super) async fn rule_24_account_joins_once(stores: &StoreFixture) {
    let (fixture, account) = (closed(stores).await, SessionId::random());
    let ticket = join(&fixture, account).await;
    fixture.join_and_confirm().await;
    for _ in 0..20 {
        fixture.advance_seconds(1);
        let answer = fixture.visit_as_account(account, None).await;
        let session = answer.session.unwrap();
        assert_eq!((answer.kind, session.id, session.arrival), (VisitKind::Renewed, account, ticket.arrival()));
    }
    assert_eq!((fixture.stats().await.waiting, fixture.stats().await.counters.joined), (2, 2));
}

pub(super) async fn rule_24_account_that_left_joins_again_at_the_end(stores: &StoreFixture) {
    let (fixture, account) = (closed(stores).await, SessionId::random());
    let ticket = join(&fixture, account).await;
    fixture.join_and_confirm().await;
    fixture.advance_seconds(1);
    assert_eq!(fixture.store().leave(&fixture.queue, ticket.clone()).await.unwrap(), Removed::Waiting);
    fixture.advance_seconds(1);
    assert_eq!(visit(&fixture, ticket.clone()).await.session, None, "the ticket is void");
    let again = fixture.visit_as_account(account, Some(ticket.clone())).await;
    assert_eq!((again.kind, again.session.unwrap().position), (VisitKind::Joined, 2));
    fixture.advance_seconds(1);
    assert_eq!(
        fixture.store().leave(&fixture.queue, ticket).await.unwrap(),
        Removed::Absent,
        "it is void for that too"
    );
    let renewed = visit(&fixture, fixture.account_ticket(&again)).await;
    assert_eq!((renewed.kind, renewed.session.unwrap().position), (VisitKind::Renewed, 2));
}

/// However many first visits the account has kept.
pub(super) async fn rule_24_first_visit_before_the_end_grants_no_arrival(stores: &StoreFixture) {
    let (fixture, account) = (closed(stores).await, SessionId::random());
    let kept = [10, 20].map(|seconds| preserved(&fixture, fixture.now().add_seconds(seconds)));
    fixture.advance_seconds(60);
    let mut ticket = join(&fixture, account).await;
    for pre_ticket in kept {
        let ahead = fixture.join_and_confirm().await;
        fixture.advance_seconds(1);
        fixture.store().leave(&fixture.queue, ticket).await.unwrap();
        fixture.advance_seconds(1);
        let again = redeem(&fixture, pre_ticket, account).await;
        assert_eq!((again.kind, again.session.unwrap().arrival), (VisitKind::Joined, fixture.now()));
        assert!(again.session.unwrap().arrival > ahead.arrival);
        ticket = fixture.account_ticket(&again);
    }
    fixture.advance_seconds(1);
    fixture.store().end(&fixture.queue, account).await.unwrap();
    fixture.advance_seconds(1);
    let later = preserved(&fixture, fixture.now());
    fixture.advance_seconds(1);
    let ahead = fixture.join_and_confirm().await;
    let again = redeem(&fixture, later, account).await.session.unwrap();
    assert!(
        again.arrival == later.first_visit() && again.arrival < ahead.arrival,
        "a first visit after the end counts"
    );
}

pub(super) async fn rule_24_ticket_from_before_the_end_is_void(stores: &StoreFixture) {
    let (fixture, account) = (closed(stores).await, SessionId::random());
    let old = join(&fixture, account).await;
    fixture.advance_seconds(1);
    fixture.store().end(&fixture.queue, account).await.unwrap();
    fixture.advance_seconds(1);
    fixture.join_and_confirm().await;
    let again = fixture.visit_as_account(account, None).await;
    let held = fixture.account_ticket(&again);
    fixture.advance_seconds(1);
    assert_eq!(visit(&fixture, old.clone()).await.session, None, "also while the account is in line again");
    assert_eq!(visit(&fixture, held.clone()).await.session.unwrap().position, 2);
    // The account is away: its ticket returns it, and the old one does not.
    fixture.store().away(&fixture.queue, held.clone()).await.unwrap();
    assert_eq!(visit(&fixture, old).await.session, None);
    let returned = visit(&fixture, held).await;
    assert_eq!((returned.kind, returned.session.unwrap().position), (VisitKind::Restored, 2));
}

pub(super) async fn rule_24_account_joins_again_once_its_slot_is_free(stores: &StoreFixture) {
    let redirect = json!({ "kind": "redirect", "origin": "https://www.example.com" });
    let fixture = stores.open(json!({ "quota": 2, "handover": redirect })).await;
    let account = SessionId::random();
    let ticket = join(&fixture, account).await;
    fixture.advance_seconds(1);
    assert_eq!(fixture.store().leave(&fixture.queue, ticket).await.unwrap(), Removed::Active);
    fixture.advance_seconds(1);
    let early = fixture.visit_as_account(account, None).await;
    assert_eq!((early.kind, early.active), (VisitKind::Absent, 1), "a pass is still valid");
    fixture.advance_seconds(60);
    let again = fixture.visit_as_account(account, None).await;
    assert!(again.session.unwrap().admitted_at.is_some(), "it joined and was admitted");
    fixture.advance_seconds(1);
    let renewed = visit(&fixture, fixture.account_ticket(&again)).await;
    assert_eq!((renewed.kind, renewed.active), (VisitKind::Renewed, 1), "the tombstone is of the stay before");
    assert!(fixture.store().find(&fixture.queue, account).await.unwrap().is_some());
}

pub(super) async fn rule_24_older_ticket_of_the_account_moves_it_ahead(stores: &StoreFixture) {
    let (fixture, account) = (closed(stores).await, SessionId::random());
    let old = join(&fixture, account).await;
    fixture.join_and_confirm().await;
    // The first device sleeps; the second one joins as the account is absent.
    fixture.store().away(&fixture.queue, old.clone()).await.unwrap();
    fixture.advance_seconds(1);
    let second = fixture.visit_as_account(account, None).await;
    assert_eq!((second.kind, second.session.unwrap().position), (VisitKind::Joined, 2));
    fixture.advance_seconds(1);
    let woken = visit(&fixture, old.clone()).await.session.unwrap();
    assert_eq!((woken.position, woken.arrival), (1, old.arrival()));
    let other = visit(&fixture, fixture.account_ticket(&second)).await.session.unwrap();
    assert_eq!((other.position, other.arrival), (1, old.arrival()), "on all devices");
    assert_eq!(fixture.stats().await.waiting, 2);
}

pub(super) async fn rule_24_signing_in_takes_over_the_session(stores: &StoreFixture) {
    let (fixture, account) = (closed(stores).await, SessionId::random());
    let anonymous = fixture.join_and_confirm().await;
    fixture.join_and_confirm().await;
    fixture.advance_seconds(5);
    let answer = fixture.visit_as_account(account, Some(anonymous.ticket.clone())).await;
    let session = answer.session.unwrap();
    assert_eq!((session.id, session.arrival, session.position), (account, anonymous.arrival, 1));
    assert_eq!((fixture.stats().await.waiting, fixture.stats().await.counters.joined), (2, 2), "nobody joined");
    assert_eq!(fixture.keepalive(&anonymous).await.session, None, "the other session has ended");
    // A session that is away is restored first.
    let (away, other) = (fixture.join_and_confirm().await, SessionId::random());
    fixture.store().away(&fixture.queue, away.ticket.clone()).await.unwrap();
    let answer = fixture.visit_as_account(other, Some(away.ticket.clone())).await;
    assert_eq!(answer.session.map(|session| (session.id, session.arrival)), Some((other, away.arrival)));
}

pub(super) async fn rule_24_signing_in_takes_over_the_slot(stores: &StoreFixture) {
    let (fixture, account) = (stores.open(json!({ "quota": 1 })).await, SessionId::random());
    let anonymous = fixture.join_and_confirm().await;
    let answer = fixture.visit_as_account(account, Some(anonymous.ticket.clone())).await;
    let session = answer.session.unwrap();
    assert_eq!((session.id, session.admitted_at.is_some(), answer.active), (account, true, 1));
    assert_eq!(fixture.keepalive(&anonymous).await.session, None);
}

/// The account's session on a phone ends while a laptop is active, which signs in later.
pub(super) async fn rule_24_earlier_end_of_the_account_does_not_end_the_slot(stores: &StoreFixture) {
    let (fixture, account) = (stores.open(json!({ "quota": 2 })).await, SessionId::random());
    let laptop = fixture.join_and_confirm().await;
    fixture.advance_seconds(50);
    let phone = join(&fixture, account).await;
    assert_eq!(fixture.store().leave(&fixture.queue, phone).await.unwrap(), Removed::Active);
    fixture.advance_seconds(20);
    let answer = fixture.visit_as_account(account, Some(laptop.ticket.clone())).await;
    assert_eq!(answer.session.unwrap().admitted_at, laptop.ticket.admitted_at());
    fixture.advance_seconds(1);
    let renewed = visit(&fixture, fixture.account_ticket(&answer)).await;
    assert_eq!((renewed.kind, renewed.active), (VisitKind::Renewed, 1));
    assert!(fixture.store().find(&fixture.queue, account).await.unwrap().is_some());
}

pub(super) async fn rule_24_account_with_a_session_keeps_it(stores: &StoreFixture) {
    let (fixture, account) = (closed(stores).await, SessionId::random());
    let ticket = join(&fixture, account).await;
    let anonymous = fixture.join_and_confirm().await;
    let answer = fixture.visit_as_account(account, Some(anonymous.ticket.clone())).await;
    let session = answer.session.unwrap();
    assert_eq!((session.id, session.arrival, answer.waiting), (account, ticket.arrival(), 1));
    assert_eq!(fixture.keepalive(&anonymous).await.session, None, "the other session has ended");
}

/// A code grants its head start once, whatever accounts use it.
pub(super) async fn rule_24_session_of_a_code_stays_that_of_the_code(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0, "hold_ttl": 60, "active_ttl": 60 })).await;
    let (account, code) = (SessionId::random(), SessionId::random());
    let own = join(&fixture, account).await;
    let with_code = Visit::invited(code, 600 * MICROS_PER_SECOND);
    let mut answer = fixture.store().visit(&fixture.queue, with_code.clone()).await.unwrap();
    for _ in 0..6 {
        fixture.advance_seconds(15);
        let ticket = fixture.account_ticket_in_batch(&answer, Some(7));
        answer = fixture.visit_as_account(account, Some(ticket)).await;
        let session = answer.session.unwrap();
        assert_eq!((answer.kind, session.id, session.position), (VisitKind::Renewed, code, 1));
    }
    let again = fixture.store().visit(&fixture.queue, with_code).await.unwrap();
    assert_eq!((again.kind, again.session.unwrap().id), (VisitKind::Renewed, code), "it is one session still");
    let ticket = fixture.account_ticket_in_batch(&answer, Some(7));
    assert_eq!(fixture.store().leave(&fixture.queue, ticket.clone()).await.unwrap(), Removed::Waiting);
    fixture.advance_seconds(1);
    assert_eq!(visit(&fixture, ticket.clone()).await.session, None, "its tickets are void as those of any session");
    let joined = fixture.visit_as_account(account, Some(ticket)).await.session.unwrap();
    assert_eq!(joined.id, account, "the account has its own session");
    assert!(joined.arrival > own.arrival());
}

pub(super) async fn rule_24_preserved_first_visit_counts_for_one_account(stores: &StoreFixture) {
    let fixture = closed(stores).await;
    let came_at = fixture.now();
    fixture.advance_seconds(60);
    let ahead = fixture.join_and_confirm().await;
    let pre_ticket = preserved(&fixture, came_at);
    let mut earlier = 0;
    for _ in 0..100 {
        let joined = redeem(&fixture, pre_ticket, SessionId::random()).await;
        assert_eq!((joined.kind, joined.session.unwrap().confirmed), (VisitKind::Joined, true));
        earlier += u64::from(joined.session.unwrap().arrival < ahead.arrival);
    }
    assert_eq!((earlier, fixture.stats().await.waiting), (1, 101));
}

pub(super) async fn rule_24_ended_pre_ticket_grants_no_arrival(stores: &StoreFixture) {
    let (fixture, account) = (closed(stores).await, SessionId::random());
    let came_at = fixture.now();
    fixture.advance_seconds(60);
    let pre_ticket = preserved(&fixture, came_at);
    // Redeemed without an account, the session is handed over.
    let anonymous = fixture.redeem(pre_ticket).await.session.unwrap();
    let handed = redeem(&fixture, pre_ticket, account).await.session.unwrap();
    assert_eq!((handed.id, handed.arrival), (account, anonymous.arrival));
    let other = redeem(&fixture, pre_ticket, SessionId::random()).await.session.unwrap();
    assert_eq!((other.arrival, fixture.stats().await.waiting), (fixture.now(), 2));
}

pub(super) async fn rule_24_tokens_are_counted(stores: &StoreFixture) {
    let fixture = closed(stores).await;
    for (accepted, rejected) in [(2, 0), (0, 3), (0, 0)] {
        let visit = Visit { identities: Identities { accepted, rejected }, ..Visit::default() };
        fixture.store().visit(&fixture.queue, visit).await.unwrap();
    }
    let counters = fixture.stats().await.counters;
    assert_eq!((counters.identities_accepted, counters.identities_rejected), (2, 3));
}

/// The ticket keys of a deployment before, while and after another key begins to sign; the first of them stays.
const ROTATION: [&[&str]; 3] = [&["k1"], &["k2", "k1"], &["k3", "k2", "k1"]];
/// The key that the queue names (`key_id`).
const KEY_ID: &str = "k1";
const ACCOUNTS: usize = 12;
const STEPS: usize = 400;
const SEED: u64 = 24;

/// Processes with different ticket keys, 12 accounts and some preserved first visits, at random.
pub(super) async fn rule_24_random_accounts_have_one_session_each(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 5, "max_session": 90 })).await;
    let signers = ROTATION.map(|kids| {
        let key = |kid: &&str| KeyList::of_bytes(kid, [kid.as_bytes()[1]; 32]).expose();
        TicketSigner::new(&kids.iter().map(key).collect::<Vec<_>>().join(",").parse().unwrap()).unwrap()
    });
    let session = |signer: usize, account: usize| {
        let account = Account {
            issuer: "https://www.example.com".to_owned(),
            subject: account.to_string(),
            expires_at: Micros(0),
        };
        signers[signer].account_sessions(&fixture.queue, 1, Some(KEY_ID), &account)[0]
    };
    let mut random = SmallRng::seed_from_u64(SEED);
    let mut tickets: HashMap<usize, Ticket> = HashMap::new();
    let mut pre_tickets: Vec<(PreTicket, Vec<SessionId>)> = Vec::new();
    for step in 0..STEPS {
        fixture.advance_micros(random.random_range(1..3_000_000));
        let account = random.random_range(0..ACCOUNTS);
        let (process, other) = (random.random_range(0..signers.len()), random.random_range(0..signers.len()));
        let id = session(process, account);
        assert_eq!(id, session(other, account), "the same session, whichever key signs");
        let held = tickets.get(&account).cloned().filter(|_| random.random_bool(0.7));
        let answer = match random.random_range(0..10) {
            0 => {
                pre_tickets.push((preserved(&fixture, Micros(fixture.now().0 - 60_000_000)), Vec::new()));
                continue;
            }
            1 => {
                if let Some(ticket) = tickets.get(&account) {
                    fixture.store().leave(&fixture.queue, ticket.clone()).await.unwrap();
                }
                continue;
            }
            2 | 3 if !pre_tickets.is_empty() => {
                let index = random.random_range(0..pre_tickets.len());
                let (pre_ticket, earlier) = &mut pre_tickets[index];
                let answer = redeem(&fixture, *pre_ticket, id).await;
                let is_earlier = |session: &SessionState| session.arrival == pre_ticket.first_visit();
                if answer.kind == VisitKind::Joined && answer.session.as_ref().is_some_and(is_earlier) {
                    earlier.push(id);
                    assert_eq!(earlier.len(), 1, "step {step}: one account has the arrival of a first visit");
                }
                answer
            }
            _ => fixture.visit_as_account(id, held).await,
        };
        if let Some(session) = answer.session {
            assert_eq!(session.id, id, "step {step}");
            tickets.insert(account, fixture.account_ticket(&answer));
        }
        let stats = fixture.stats().await;
        assert!(stats.waiting + stats.active <= ACCOUNTS as u64 && stats.active <= 5, "step {step}: {stats:?}");
    }
    assert!(pre_tickets.iter().any(|(_, earlier)| !earlier.is_empty()), "some first visit counted");
}

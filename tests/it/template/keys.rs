//! The keys that the template makes, as the functions read them.

use vestibule_core::line::{Line, LineRules, Visit};
use vestibule_core::settings::Protection;
use vestibule_core::{
    KeyList, Micros, PassSigner, SaleKeys, SessionId, ShownStatus, TicketOrigin, TicketSigner, verify_pass,
};
use vestibule_metrics::MetricsToken;

use super::stack::Stack;

/// Once around: every step of a change of keys, and the next change back.
const STEPS: [&str; 7] = ["A", "A+B", "B+A", "B", "B+A", "A+B", "A"];
/// Sets of secrets that are tried: not every text of letters would do as a key.
const SETS: usize = 50;

const NOW: Micros = Micros(1_700_000_000_000_000);

/// What a gate of a deployment signs, verifies and draws with.
struct Keys {
    tickets: TicketSigner,
    passes: PassSigner,
    sales: SaleKeys,
}

impl Keys {
    fn of(stack: &Stack) -> Self {
        let environment = stack.environment("Gate");
        let list = |name: &str| environment[name].parse::<KeyList>().unwrap();
        Self {
            tickets: TicketSigner::new(&list("VESTIBULE_TICKET_KEYS")).unwrap(),
            passes: PassSigner::new(&list("VESTIBULE_PASS_KEYS")).unwrap(),
            sales: SaleKeys::new(&list("VESTIBULE_SALE_KEYS")).unwrap(),
        }
    }

    fn ticket(&self) -> String {
        let rules = LineRules { protection: Protection::without_pre_tickets(), ..LineRules::with_quota(1) };
        let answer = Line::new(rules, NOW, false).visit(NOW, &Visit::joining(SessionId::from_bytes([1; 14])));
        self.tickets.sign(&"acme".parse().unwrap(), &answer, ShownStatus::default(), TicketOrigin::default()).unwrap()
    }

    fn takes(&self, ticket: &str) -> bool {
        self.tickets.verify(&"acme".parse().unwrap(), ticket.as_bytes()).is_ok()
    }

    fn pass(&self) -> String {
        self.passes.sign(&"acme".parse().unwrap(), SessionId::from_bytes([1; 14]), None, NOW, 60).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let jwks = self.passes.jwks();
        jwks["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect()
    }
}

fn is_good(pass: &str, at: &Keys) -> bool {
    verify_pass(&at.passes.jwks(), pass, NOW).is_ok()
}

#[test]
fn generated_secrets_are_valid_keys() {
    let mut stack = Stack::deploy(&[("KeysInUse", "A+B")]);
    for _ in 0..SETS {
        let keys = Keys::of(&stack);
        assert!(keys.takes(&keys.ticket()) && is_good(&keys.pass(), &keys));
        let token = &stack.environment("Metrics")["VESTIBULE_METRICS_TOKEN"];
        assert!(token.parse::<MetricsToken>().is_ok(), "{token}");
        // Both go and come again as others.
        stack = stack.update(&[("KeysInUse", "A")]).update(&[("KeysInUse", "B")]).update(&[("KeysInUse", "A+B")]);
    }
}

#[test]
fn consecutive_rotation_steps_accept_each_other() {
    let mut stack = Stack::deploy(&[("KeysInUse", STEPS[0])]);
    for pair in STEPS.windows(2) {
        let next = stack.update(&[("KeysInUse", pair[1])]);
        let (before, after) = (Keys::of(&stack), Keys::of(&next));
        for (one, other) in [(&before, &after), (&after, &before)] {
            assert!(other.takes(&one.ticket()), "{pair:?}");
            assert!(is_good(&one.pass(), other), "{pair:?}");
            let first = one.sales.ids().next();
            assert!(other.sales.ids().any(|known| Some(known) == first), "{pair:?}: a new draw needs its key");
        }
        stack = next;
    }
}

#[test]
fn after_a_change_of_keys_the_old_ones_are_void() {
    let first = Stack::deploy(&[]);
    let last = STEPS[1..4].iter().fold(first.update(&[]), |stack, step| stack.update(&[("KeysInUse", *step)]));
    let (before, after) = (Keys::of(&first), Keys::of(&last));
    assert!(!after.takes(&before.ticket()) && !is_good(&before.pass(), &after));
    assert_ne!(
        first.environment("Metrics")["VESTIBULE_METRICS_TOKEN"],
        last.environment("Metrics")["VESTIBULE_METRICS_TOKEN"]
    );
}

#[test]
fn a_new_key_never_has_the_name_of_an_old_one() {
    let first = Stack::deploy(&[("KeysInUse", STEPS[0])]);
    let around = STEPS[1..].iter().fold(first.update(&[]), |stack, step| stack.update(&[("KeysInUse", *step)]));
    let (before, after) = (Keys::of(&first).names(), Keys::of(&around).names());
    assert_eq!((before.len(), after.len()), (1, 1));
    assert_ne!(before, after, "an origin that kept the old key would hold on to it");
}

#[test]
fn backoffice_has_the_sale_keys_of_the_gate() {
    for step in STEPS {
        let stack = Stack::deploy_all(&[("KeysInUse", step)]);
        let [gate, admin] =
            ["Gate", "Admin"].map(|function| stack.environment(function)["VESTIBULE_SALE_KEYS"].clone());
        assert_eq!(gate, admin, "{step}");
    }
}

#[test]
fn metrics_have_the_names_of_the_sale_keys_only() {
    for step in STEPS {
        let stack = Stack::deploy_all(&[("KeysInUse", step)]);
        let given = stack.environment("Gate")["VESTIBULE_SALE_KEYS"].clone();
        let mut keys: Vec<&str> =
            given.split(',').filter_map(|key| key.split(':').next()).filter(|id| !id.is_empty()).collect();
        let named = stack.environment("Metrics")["VESTIBULE_SALE_KEY_IDS"].clone();
        let mut ids: Vec<&str> = named.split(',').filter(|id| !id.is_empty()).collect();
        keys.sort_unstable();
        ids.sort_unstable();
        assert_eq!(ids, keys, "{step}");
    }
}

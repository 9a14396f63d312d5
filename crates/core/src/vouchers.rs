//! What a process remembers of whom it let in, so that it can vouch for them when the store loses everything.
//!
//! Who was let in and has not asked since still holds a waiting ticket. If the state is lost, nothing says any more that they
//! were let in, while somebody who was let in after them and has asked holds an admitted ticket. So whoever hears from the
//! store whom it let in keeps that for a while, and says it along with the ticket ([`Vouchers::vouch`]). When the rules
//! listen is told at [`Visit`](crate::line::Visit).
//!
//! Each process vouches for those whom it let in itself. The options turned down: to keep it in the store, where it is
//! lost together with the rest; and beside it, which is a second round trip.

use std::collections::{HashMap, VecDeque};

use crate::line::LetIn;
use crate::ticket::VerifiedTicket;
use crate::time::Micros;
use crate::{QueueId, SessionId};

/// Most sessions that a process remembers, in all queues together; beyond it the ones let in longest ago are forgotten.
/// At 100 bytes each these are 7 MB, and 2000 admissions a second for half a minute.
pub const VOUCHERS_MAX: usize = 65_536;

/// Whom this process let in of late: for as long as their places stand unclaimed.
#[derive(Debug, Default)]
pub struct Vouchers {
    of: HashMap<SessionId, Voucher>,
    /// In the order in which they were let in. Who was forgotten since, or let in again, is here and not in `of`.
    order: VecDeque<(SessionId, Micros, Micros)>,
}

#[derive(Debug)]
struct Voucher {
    queue: QueueId,
    epoch: u64,
    let_in_at: Micros,
}

impl Vouchers {
    /// Keeps whom an operation on this queue let in, and forgets whose time to show up is over.
    pub fn remember(&mut self, queue: &QueueId, let_in: &LetIn) {
        let LetIn { epoch, at, until, .. } = *let_in;
        while self.order.front().is_some_and(|(_, _, until)| *until <= at) {
            self.forget_oldest();
        }
        for session in &let_in.sessions {
            if self.order.len() >= VOUCHERS_MAX {
                self.forget_oldest();
            }
            self.of.insert(*session, Voucher { queue: queue.clone(), epoch, let_in_at: at });
            self.order.push_back((*session, at, until));
        }
    }

    /// Forgets a session that ended: nobody vouches for it any more.
    pub fn forget(&mut self, queue: &QueueId, session: SessionId) {
        if self.of.get(&session).is_some_and(|voucher| voucher.queue == *queue) {
            self.of.remove(&session);
        }
    }

    /// The ticket, vouched for if it is a waiting one of a session that was let in.
    #[must_use]
    pub fn vouch(&self, queue: &QueueId, ticket: VerifiedTicket) -> VerifiedTicket {
        let known = self.of.get(&ticket.session()).filter(|_| ticket.admitted_at().is_none());
        match known.filter(|voucher| voucher.queue == *queue && voucher.epoch == ticket.epoch()) {
            Some(voucher) => ticket.vouched(voucher.let_in_at),
            None => ticket,
        }
    }

    fn forget_oldest(&mut self) {
        let Some((session, at, _)) = self.order.pop_front() else { return };
        if self.of.get(&session).is_some_and(|voucher| voucher.let_in_at == at) {
            self.of.remove(&session);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Place;
    use crate::{KeyList, TicketSigner};

    fn queue() -> QueueId {
        "acme-tour".parse().unwrap()
    }

    fn session(number: u64) -> SessionId {
        let mut bytes = [7; 14];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        SessionId::from_bytes(bytes)
    }

    /// A ticket of the first epoch.
    fn ticket(number: u64, admitted_at: Option<Micros>) -> VerifiedTicket {
        let signer = TicketSigner::new(&KeyList::of_bytes("k1", [1; 32])).unwrap();
        let (session, arrival) = (session(number), Micros(5));
        let place = Place { session, arrival, admitted_at, rank: 1, expires_at: Micros(0), granted: true };
        let token = signer.sign(&queue(), 1, Micros(6), &place, None).unwrap();
        signer.verify(&queue(), token.as_bytes()).unwrap()
    }

    fn let_in(at: u64, sessions: impl IntoIterator<Item = u64>) -> LetIn {
        LetIn {
            epoch: 1,
            at: Micros(at),
            until: Micros(at + 30),
            sessions: sessions.into_iter().map(session).collect(),
        }
    }

    fn word_for(vouchers: &Vouchers, number: u64) -> Option<Micros> {
        vouchers.vouch(&queue(), ticket(number, None)).let_in_at()
    }

    #[test]
    fn who_was_let_in_is_vouched_for_until_the_claim_ends() {
        let mut vouchers = Vouchers::default();
        vouchers.remember(&queue(), &let_in(100, [1, 2]));
        vouchers.remember(&queue(), &let_in(129, [3]));
        assert_eq!([1, 3, 4].map(|number| word_for(&vouchers, number)), [Some(Micros(100)), Some(Micros(129)), None]);
        vouchers.remember(&queue(), &let_in(130, [1]));
        assert_eq!([1, 2].map(|number| word_for(&vouchers, number)), [Some(Micros(130)), None]);
    }

    #[test]
    fn an_admitted_ticket_another_queue_and_another_epoch_get_no_word() {
        let mut vouchers = Vouchers::default();
        vouchers.remember(&queue(), &let_in(100, [1]));
        assert_eq!(vouchers.vouch(&queue(), ticket(1, Some(Micros(100)))).let_in_at(), None);
        assert_eq!(vouchers.vouch(&"other".parse().unwrap(), ticket(1, None)).let_in_at(), None);
        vouchers.remember(&queue(), &LetIn { epoch: 2, ..let_in(101, [1]) });
        assert_eq!(word_for(&vouchers, 1), None, "the ticket is of the first epoch");
    }

    #[test]
    fn who_ended_is_forgotten_there_and_nowhere_else() {
        let mut vouchers = Vouchers::default();
        vouchers.remember(&queue(), &let_in(100, [1]));
        vouchers.forget(&"other".parse().unwrap(), session(1));
        assert_eq!(word_for(&vouchers, 1), Some(Micros(100)));
        vouchers.forget(&queue(), session(1));
        assert_eq!(word_for(&vouchers, 1), None);
    }

    #[test]
    fn the_memory_is_bounded_and_the_latest_stay() {
        let mut vouchers = Vouchers::default();
        vouchers.remember(&queue(), &let_in(100, 0..2 * VOUCHERS_MAX as u64));
        assert_eq!((vouchers.of.len(), vouchers.order.len()), (VOUCHERS_MAX, VOUCHERS_MAX));
        let last = 2 * VOUCHERS_MAX as u64 - 1;
        assert_eq!([0, last].map(|number| word_for(&vouchers, number).is_some()), [false, true]);
    }
}

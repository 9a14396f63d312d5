//! Limits how many requests stay open, in all and per operator, so that one of them leaves connections for the others.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::access::OperatorName;

/// Maximum number of open requests of a kind.
const OPEN_MAX: usize = 200;
/// Maximum number of those of one operator, with all sign-ins and tokens.
const PER_OPERATOR_MAX: usize = 20;

/// The open requests of a kind. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct OpenRequests {
    of_operators: Arc<Mutex<HashMap<OperatorName, usize>>>,
}

/// An open request, which counts as long as this exists.
pub(crate) struct OpenRequest {
    open: OpenRequests,
    operator: OperatorName,
}

impl OpenRequests {
    /// Counts a request of an operator; `None` if there are too many.
    pub(crate) fn begin(&self, operator: &OperatorName) -> Option<OpenRequest> {
        let mut counts = self.of_operators.lock();
        let own = counts.get(operator).copied().unwrap_or_default();
        if own >= PER_OPERATOR_MAX || counts.values().sum::<usize>() >= OPEN_MAX {
            return None;
        }
        counts.insert(operator.clone(), own + 1);
        Some(OpenRequest { open: self.clone(), operator: operator.clone() })
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let mut counts = self.open.of_operators.lock();
        if let Some(count) = counts.get_mut(&self.operator) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.operator);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_limited_in_all_and_per_operator() {
        let open = OpenRequests::default();
        let name = |number: usize| -> OperatorName { format!("operator{number}").parse().unwrap() };
        let mut held: Vec<_> = (0..PER_OPERATOR_MAX).map(|_| open.begin(&name(0)).unwrap()).collect();
        assert!(open.begin(&name(0)).is_none(), "one operator");
        held.extend((PER_OPERATOR_MAX..OPEN_MAX).map(|number| open.begin(&name(number)).unwrap()));
        assert!(open.begin(&name(1)).is_none(), "in all");
        held.remove(0);
        assert!(open.begin(&name(0)).is_some(), "one has ended");
        drop(held);
        assert!(open.of_operators.lock().is_empty());
    }
}

//! Proofs of work: the load test solves the challenges of its clients for real, with its own processor cores.

use tokio::sync::Semaphore;
use vestibule_core::{Challenge, Proof};

use crate::workload::Workload;

/// Solves challenges. Each visitor has a device of their own; a group of hostile clients shares its cores. So the challenges of a
/// farm wait for each other, and not those of visitors for a farm.
pub(crate) struct Solver {
    visitors: Semaphore,
    /// The first client of each group and its cores, in ascending order.
    groups: Vec<(u32, Semaphore)>,
}

impl Solver {
    pub(crate) fn new(workload: &Workload) -> Self {
        let machine = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut first = workload.visitors;
        let mut groups = Vec::new();
        for group in &workload.hostile {
            groups.push((first, Semaphore::new(machine.min(group.cores as usize))));
            first += group.clients();
        }
        Self { visitors: Semaphore::new(machine), groups }
    }

    fn cores_of(&self, client: u32) -> &Semaphore {
        self.groups.iter().rfind(|(first, _)| *first <= client).map_or(&self.visitors, |(_, cores)| cores)
    }

    /// The proof of a client; `None` if the challenge has no solution.
    pub(crate) async fn solve(&self, client: u32, challenge: Challenge) -> Option<Proof> {
        let _core = self.cores_of(client).acquire().await.ok()?;
        let solved = tokio::task::spawn_blocking(move || {
            let solution = challenge.solve()?;
            Some(Proof { challenge, solution })
        });
        solved.await.ok().flatten()
    }
}

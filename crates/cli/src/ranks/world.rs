//! The ranks of MPI.

use std::fmt;
use std::sync::Arc;
use std::thread::{self, ThreadId};

use bilevel::{BoxError, Exchange, Ranks};
use mpi::datatype::PartitionMut;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use mpi::{Count, Threading};

/// The exit code of a program that has panicked.
const PANICKED: i32 = 101;

/// MPI from its start to its end.
pub(super) struct World {
    universe: Universe,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").finish_non_exhaustive()
    }
}

impl World {
    /// Starts MPI.
    pub(super) fn start() -> Result<Self, String> {
        let started = mpi::initialize_with_threading(Threading::Funneled);
        let (universe, threading) = started.ok_or("MPI has been started already")?;
        if threading < Threading::Funneled {
            return Err("MPI does not support threads: use another MPI library".to_owned());
        }
        Ok(Self { universe })
    }

    /// Returns the place of this process among all ranks.
    pub(super) fn ranks(&self) -> Ranks {
        let world = self.universe.world();
        match (usize::try_from(world.rank()), world.size()) {
            (Ok(rank), 2..) => {
                let thread = thread::current().id();
                Ranks::new(rank, Arc::new(AllGather { world, thread }))
            }
            _ => Ranks::default(),
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // the regular end waits for the other ranks, which would wait for this one
        if thread::panicking() {
            self.universe.world().abort(PANICKED);
        }
    }
}

/// The exchange of numbers between all ranks of MPI. An error of MPI ends all ranks.
struct AllGather {
    world: SimpleCommunicator,
    /// The thread that has started MPI. Other threads must not use it.
    thread: ThreadId,
}

impl Exchange for AllGather {
    fn gather(&self, own: &[f64]) -> Result<Vec<Vec<f64>>, BoxError> {
        if thread::current().id() != self.thread {
            return Err("MPI was called by a thread that has not started it".into());
        }
        let num_ranks = usize::try_from(self.world.size())?;
        let mut counts: Vec<Count> = vec![0; num_ranks];
        self.world
            .all_gather_into(&Count::try_from(own.len())?, &mut counts[..]);
        let mut first: Count = 0;
        let mut offsets = Vec::with_capacity(num_ranks);
        for count in &counts {
            offsets.push(first);
            first = first
                .checked_add(*count)
                .ok_or("a message is too long for MPI")?;
        }
        let mut all = vec![0.0; usize::try_from(first)?];
        let mut parts = PartitionMut::new(&mut all[..], &counts[..], &offsets[..]);
        self.world.all_gather_varcount_into(own, &mut parts);
        let mut rest = &all[..];
        (counts.into_iter())
            .map(|count| {
                let (part, after) = rest.split_at(usize::try_from(count)?);
                rest = after;
                Ok(part.to_vec())
            })
            .collect()
    }
}
